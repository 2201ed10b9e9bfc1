// NVIDIA's libraries of versions that are not those of CUDA 13, as far as they are asked before anything else.

#include <cstddef>

extern "C" {
std::size_t cublasLtGetVersion();
std::size_t cublasLtGetVersion() { return 120803; }
std::size_t cudnnGetVersion();
std::size_t cudnnGetVersion() { return 8907; }
int ncclGetVersion(int* version);
int ncclGetVersion(int* version) {
    *version = 1342;
    return 0;
}
int cufftGetVersion(int* version);
int cufftGetVersion(int* version) {
    *version = 11303;
    return 0;
}
int cusolverGetVersion(int* version);
int cusolverGetVersion(int* version) {
    *version = 11702;
    return 0;
}
int nvrtcVersion(int* major, int* minor);
int nvrtcVersion(int* major, int* minor) {
    *major = 12;
    *minor = 8;
    return 0;
}
int nvrtcGetNumSupportedArchs(int* count);
int nvrtcGetNumSupportedArchs(int* count) {
    *count = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int* all);
int nvrtcGetSupportedArchs(int* all) {
    *all = 90;
    return 0;
}
// Not called.
#define TENON_FUNCTION(NAME) \
    void NAME();             \
    void NAME() {}
TENON_FUNCTION(nvrtcGetErrorString)
TENON_FUNCTION(nvrtcCreateProgram)
TENON_FUNCTION(nvrtcDestroyProgram)
TENON_FUNCTION(nvrtcCompileProgram)
TENON_FUNCTION(nvrtcGetProgramLogSize)
TENON_FUNCTION(nvrtcGetProgramLog)
TENON_FUNCTION(nvrtcGetCUBINSize)
TENON_FUNCTION(nvrtcGetCUBIN)
TENON_FUNCTION(nvrtcGetPTXSize)
TENON_FUNCTION(nvrtcGetPTX)
}
