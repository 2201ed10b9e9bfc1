#include <cuda/device/library.hpp>

// The stand-ins are linked: what lies in folders is not looked for.

namespace tenon::cuda {

const char* const library_folders::cublaslt = "";
const char* const library_folders::nvrtc = "";
const char* const library_folders::cudnn = "";
const char* const library_folders::nccl = "";
const char* const library_folders::cufft = "";
const char* const library_folders::cusolver = "";

} // namespace tenon::cuda
