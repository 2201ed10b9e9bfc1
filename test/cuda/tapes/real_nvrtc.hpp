#pragma once

#include <dlfcn.h>

#include <cuda/tapes/nvrtc.hpp>

#include "tests.hpp"

/// NVIDIA's own NVRTC, which needs no GPU; what the program has linked under its names is passed over.

namespace tape_test {

/// nullptr, after a word about it, where it is not installed.
inline std::shared_ptr<const tenon::cuda::tapes::nvrtc> real_nvrtc() {
    void* handle = nullptr;
    std::string why;
    for (const char* file : {"libnvrtc.so.13", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.13"})
        if (!handle && !(handle = dlopen(file, RTLD_NOW | RTLD_LOCAL))) why += std::string(dlerror()) + "; ";
    if (!handle) {
        MESSAGE("skipped, there is no NVRTC: ", why);
        return nullptr;
    }
    return std::make_shared<tenon::cuda::tapes::nvrtc>([handle](const char* name) { return dlsym(handle, name); });
}

} // namespace tape_test
