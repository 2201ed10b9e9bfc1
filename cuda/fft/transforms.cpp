#include <cuda/fft/transforms.hpp>

#include <cstdio>
#include <mutex>
#include <string>

#include <cuda/device/wish.hpp>
#include <tenon/core/error.hpp>

#if defined(TENON_WITH_CUFFT)
#include <cufft.h>

#include <cuda/device/error.hpp>
#include <cuda/device/library.hpp>
#endif

namespace tenon::cuda {

namespace {

void say_once(const std::string& why) {
    static std::once_flag said;
    std::call_once(said, [&] {
        std::fprintf(stderr,
                     "tenon: Fourier transforms on GPUs are made by Tenon's own kernels, which are slower: %s\n",
                     why.c_str());
    });
}

#if defined(TENON_WITH_CUFFT)

// clang-format off
#define TENON_FUNCTIONS(F) \
    F(cufftCreate) F(cufftDestroy) F(cufftSetAutoAllocation) F(cufftMakePlanMany64) F(cufftSetWorkArea) \
    F(cufftSetStream) F(cufftExecC2C) F(cufftExecR2C) F(cufftExecC2R) F(cufftExecZ2Z) F(cufftExecD2Z) F(cufftExecZ2D)
// clang-format on
TENON_LIBRARY_FUNCTIONS(functions, TENON_FUNCTIONS);
#undef TENON_FUNCTIONS

const functions* found_functions() {
    const auto version = [](library& l) { return toolkit_version<decltype(::cufftGetVersion)>(l, "cufftGetVersion"); };
    return toolkit_functions<functions>("cuFFT", {"libcufft.so.12", "libcufft.so"}, library_folders::cufft, version,
                                        CUFFT_VER_MAJOR, say_once);
}

// "[16, 256] of float".
std::string text_of(const fourier_transform& t, element_type e) {
    return "Fourier transforms of " + std::to_string(t.rows) + " rows of " + std::to_string(t.n) + " numbers of " +
           name_of(e);
}

class planned_transform final : public library_transform {
public:
    planned_transform(gpu_context& on, const fourier_transform& t, element_type e) : on_(on), t_(t), e_(e) {}
    planned_transform(planned_transform&&) = delete;
    ~planned_transform() override {
        if (plan_ == CUFFT_PLAN_NULL) return;
        try {
            on_.use();
        } catch (...) { // of a card that is lost
        }
        (void)f_.cufftDestroy(plan_);
    }

    /// False where cuFFT has no such transform.
    bool plan() {
        on_.use();
        require(f_.cufftCreate(&plan_), "cufftCreate");
        require(f_.cufftSetAutoAllocation(plan_, 0), "cufftSetAutoAllocation"); // its working memory is the plan's
        long long n = t_.n;
        const cufftResult answer =
            f_.cufftMakePlanMany64(plan_, 1, &n, nullptr, 1, 0, nullptr, 1, 0, type(), t_.rows, &library_bytes_);
        if (answer == CUFFT_INVALID_SIZE || answer == CUFFT_NOT_SUPPORTED || answer == CUFFT_INVALID_VALUE)
            return false;
        require(answer, "cufftMakePlanMany64");
        return true;
    }
    std::size_t workspace_bytes() const noexcept override { return area_bytes() + weighed_bytes() + real_bytes(); }
    void run(const void* x, void* y, std::byte* workspace, void* stream) override {
        void *const real = workspace + area_bytes() + weighed_bytes(), *to = y;
        if (t_.from == spectrum::real && !is_for_complex(x)) {
            copy(real, x, stream);
            x = real;
        }
        if (t_.to == spectrum::real && !is_for_complex(y)) to = real;
        if (t_.from == spectrum::half) { // which cuFFT may write over
            void* const weighed = workspace + area_bytes();
            scale_half_spectrum(t_, e_, x, weighed, stream);
            x = weighed;
        }
        {
            const std::lock_guard lock(guard_);
            on_.use();
            require(f_.cufftSetStream(plan_, static_cast<cudaStream_t>(stream)), "cufftSetStream");
            if (library_bytes_ > 0) require(f_.cufftSetWorkArea(plan_, workspace), "cufftSetWorkArea");
            execute(const_cast<void*>(x), to);
        }
        if (to != y) copy(y, to, stream);
        if (t_.to == spectrum::half) {
            if (t_.scale != 1 || t_.paired != 1) scale_half_spectrum(t_, e_, y, y, stream);
        } else if (t_.to == spectrum::complex && t_.scale != 1)
            scale_numbers(t_.scale, e_, y, 2 * t_.numbers(), stream);
    }

private:
    bool is_double() const { return e_ == element_type::float64; }
    cufftType type() const {
        if (t_.from == spectrum::real) return is_double() ? CUFFT_D2Z : CUFFT_R2C;
        if (t_.from == spectrum::half) return is_double() ? CUFFT_Z2D : CUFFT_C2R;
        return is_double() ? CUFFT_Z2Z : CUFFT_C2C;
    }
    std::size_t area_bytes() const { return (library_bytes_ + 255) / 256 * 256; }
    std::size_t weighed_bytes() const {
        return t_.from == spectrum::half ? static_cast<std::size_t>(2 * t_.rows * t_.half()) * size_of(e_) : 0;
    }
    // cuFFT reads and writes real numbers, too, only where complex ones may lie. A tensor does, and a part of one, a slice of a loop, say, but
    // for parts of an odd number of elements: those are copied.
    std::size_t real_bytes() const {
        const bool odd = t_.numbers() % 2 != 0 && (t_.from == spectrum::real || t_.to == spectrum::real);
        return odd ? static_cast<std::size_t>(t_.numbers()) * size_of(e_) : 0;
    }
    bool is_for_complex(const void* p) const { return reinterpret_cast<std::uintptr_t>(p) % (2 * size_of(e_)) == 0; }
    void copy(void* to, const void* from, void* stream) const {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(t_.numbers()) * size_of(e_), cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(stream)),
              "cudaMemcpyAsync");
    }
    void execute(void* x, void* y) {
        const int direction = t_.inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
        switch (type()) {
        case CUFFT_C2C:
            return require(
                f_.cufftExecC2C(plan_, static_cast<cufftComplex*>(x), static_cast<cufftComplex*>(y), direction),
                "cufftExecC2C");
        case CUFFT_R2C:
            return require(f_.cufftExecR2C(plan_, static_cast<cufftReal*>(x), static_cast<cufftComplex*>(y)),
                           "cufftExecR2C");
        case CUFFT_C2R:
            return require(f_.cufftExecC2R(plan_, static_cast<cufftComplex*>(x), static_cast<cufftReal*>(y)),
                           "cufftExecC2R");
        case CUFFT_D2Z:
            return require(
                f_.cufftExecD2Z(plan_, static_cast<cufftDoubleReal*>(x), static_cast<cufftDoubleComplex*>(y)),
                "cufftExecD2Z");
        case CUFFT_Z2D:
            return require(
                f_.cufftExecZ2D(plan_, static_cast<cufftDoubleComplex*>(x), static_cast<cufftDoubleReal*>(y)),
                "cufftExecZ2D");
        default:
            return require(f_.cufftExecZ2Z(plan_, static_cast<cufftDoubleComplex*>(x),
                                           static_cast<cufftDoubleComplex*>(y), direction),
                           "cufftExecZ2Z");
        }
    }
    void require(cufftResult answer, const char* call) const {
        if (answer == CUFFT_SUCCESS) return;
        const std::string text =
            text_of(t_, e_) + ": " + call + " answered " + std::to_string(static_cast<int>(answer)) + " (cufftResult)";
        if (answer == CUFFT_ALLOC_FAILED) throw resource_exhausted_error(text + ": memory is short");
        throw internal_error(text);
    }

    const functions& f_ = *found_functions();
    gpu_context& on_;
    const fourier_transform t_;
    const element_type e_;
    cufftHandle plan_ = CUFFT_PLAN_NULL;
    std::size_t library_bytes_ = 0;
    std::mutex guard_; // of the plan, which has a stream and working memory
};

#endif

} // namespace

std::unique_ptr<library_transform> library_transform::make([[maybe_unused]] gpu_context& on,
                                                           [[maybe_unused]] const fourier_transform& t,
                                                           [[maybe_unused]] element_type e) {
    if (is_wished("TENON_CUDA_TRANSFORMS", "own")) return nullptr;
#if defined(TENON_WITH_CUFFT)
    if (t.rows == 0 || !found_functions()) return nullptr;
    auto made = std::make_unique<planned_transform>(on, t, e);
    if (made->plan()) return made;
#else
    say_once("this build has no cuFFT: configure it where cufft.h can be found");
#endif
    return nullptr;
}

} // namespace tenon::cuda
