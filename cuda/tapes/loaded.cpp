#include <cuda/tapes/loaded.hpp>

#include <cuda/device/error.hpp>

namespace tenon::cuda::tapes {

loaded_kernels::~loaded_kernels() {
    for (const auto& [image, library] : libraries_) (void)cudaLibraryUnload(library);
}

const void* loaded_kernels::find(const std::string& name, const std::shared_ptr<const std::string>& image,
                                 const std::string& text) {
    const std::lock_guard lock(guard_);
    if (const auto known = kernels_.find({name, text}); known != kernels_.end()) return known->second;
    on_.use();
    cudaLibrary_t& library = libraries_[image];
    if (!library) {
        const cudaError_t answer =
            cudaLibraryLoadData(&library, image->data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
        if (answer != cudaSuccess) libraries_.erase(image);
        check(answer, "cudaLibraryLoadData");
    }
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, name.c_str()), "cudaLibraryGetKernel");
    // Asked for, it is loaded now: the first launch may be one that is recorded.
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return kernels_[{name, text}] = kernel;
}

} // namespace tenon::cuda::tapes
