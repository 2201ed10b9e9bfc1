#pragma once

#include <functional>
#include <string>
#include <vector>

#if defined(TENON_WITH_NVRTC)
#include <nvrtc.h>
#endif

/// NVIDIA's compiler of CUDA C++ at run time.

namespace tenon::cuda::tapes {

/// Thread-safe.
class nvrtc {
public:
    /// `find` gives a function of the library by its name. What it throws is thrown; unavailable_error in a build that found no nvrtc.h.
    explicit nvrtc(const std::function<void*(const char*)>& find);

    int version() const noexcept { return version_; } ///< 13000 for 13.0
    /// Compute capabilities that it compiles for, in order: 75 for 7.5.
    const std::vector<int>& architectures() const noexcept { return architectures_; }

    /// "sm_90" for machine code for that GPU; "compute_120" for code that the driver goes on compiling, where the GPU is newer than this
    /// library. Throws unavailable_error where the GPU is too old.
    std::string target(int capability) const;
    /// What is said to the compiler, beside the target: no fast mathematics, products and sums not joined, denormal numbers kept.
    static const std::vector<std::string>& options();

    /// What the library makes when it first compiles is there afterwards, with what it has to do when the program ends.
    void prepare() const noexcept;
    /// Throws internal_error with the compiler's words, in which the source is called `file`, and resource_exhausted_error where memory
    /// runs out.
    std::string compile(const std::string& source, const std::string& target, const std::string& file = "tape.cu",
                        const std::vector<std::string>& how = options()) const;

private:
#if defined(TENON_WITH_NVRTC)
    std::string text_of(nvrtcResult answer) const;

    decltype(&nvrtcGetErrorString) error_string_;
    decltype(&nvrtcCreateProgram) create_;
    decltype(&nvrtcDestroyProgram) destroy_;
    decltype(&nvrtcCompileProgram) compile_;
    decltype(&nvrtcGetProgramLogSize) log_size_;
    decltype(&nvrtcGetProgramLog) log_;
    decltype(&nvrtcGetCUBINSize) cubin_size_;
    decltype(&nvrtcGetCUBIN) cubin_;
    decltype(&nvrtcGetPTXSize) ptx_size_;
    decltype(&nvrtcGetPTX) ptx_;
#endif
    int version_ = 0;
    std::vector<int> architectures_;
};

} // namespace tenon::cuda::tapes
