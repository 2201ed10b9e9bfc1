#include <cuda/solver/solver.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>

#include <cuda/device/wish.hpp>
#include <tenon/core/error.hpp>

#if defined(TENON_WITH_CUSOLVER)
#include <cusolverDn.h>

#include <cuda/device/library.hpp>
#endif

namespace tenon::cuda {

namespace {

void say_once(const std::string& why) {
    static std::once_flag said;
    std::call_once(said, [&] {
        std::fprintf(stderr,
                     "tenon: large matrices are decomposed on GPUs by Tenon's own kernels, which are slower: %s\n",
                     why.c_str());
    });
}

#if defined(TENON_WITH_CUSOLVER)

// clang-format off
#define TENON_FUNCTIONS(F) \
    F(cusolverDnCreate) F(cusolverDnDestroy) F(cusolverDnSetStream) F(cusolverDnSpotrf_bufferSize) \
    F(cusolverDnDpotrf_bufferSize) F(cusolverDnSpotrf) F(cusolverDnDpotrf) F(cusolverDnSgetrf_bufferSize) \
    F(cusolverDnDgetrf_bufferSize) F(cusolverDnSgetrf) F(cusolverDnDgetrf) F(cusolverDnSgetrs) \
    F(cusolverDnDgetrs) F(cusolverDnDgeqrf_bufferSize) F(cusolverDnDgeqrf) F(cusolverDnDorgqr_bufferSize) \
    F(cusolverDnDorgqr) F(cusolverDnDsyevd_bufferSize) F(cusolverDnDsyevd) F(cusolverDnDgesvd_bufferSize) \
    F(cusolverDnDgesvd)
// clang-format on

TENON_LIBRARY_FUNCTIONS(functions, TENON_FUNCTIONS);
#undef TENON_FUNCTIONS

const functions* found_functions() {
    const auto version = [](library& l) {
        return toolkit_version<decltype(::cusolverGetVersion)>(l, "cusolverGetVersion");
    };
    return toolkit_functions<functions>("cuSOLVER", {"libcusolver.so.12", "libcusolver.so"}, library_folders::cusolver,
                                        version, CUSOLVER_VER_MAJOR, say_once);
}

void require(cusolverStatus_t answer, const char* call) {
    if (answer == CUSOLVER_STATUS_SUCCESS) return;
    const std::string text =
        std::string(call) + " answered " + std::to_string(static_cast<int>(answer)) + " (cusolverStatus_t)";
    if (answer == CUSOLVER_STATUS_ALLOC_FAILED) throw resource_exhausted_error(text + ": memory is short");
    throw internal_error(text);
}
#define TENON_CALL(name, ...) require(f_.name(handle_, __VA_ARGS__), #name)

// A handle of one GPU: one call at a time, since it has a stream.
class loaded_solver final : public solver {
public:
    explicit loaded_solver(gpu_context& on) : on_(on) {
        on_.use();
        require(f_.cusolverDnCreate(&handle_), "cusolverDnCreate");
    }
    loaded_solver(loaded_solver&&) = delete;
    ~loaded_solver() override { (void)f_.cusolverDnDestroy(handle_); }

    std::size_t cholesky_bytes(element_type e, std::int64_t n) override {
        int count = 0;
        const auto lock = turn();
        if (is_double(e))
            TENON_CALL(cusolverDnDpotrf_bufferSize, CUBLAS_FILL_MODE_UPPER, int_of(n), nullptr, int_of(n), &count);
        else TENON_CALL(cusolverDnSpotrf_bufferSize, CUBLAS_FILL_MODE_UPPER, int_of(n), nullptr, int_of(n), &count);
        return bytes_of(count, e);
    }
    void cholesky(element_type e, void* a, std::int64_t n, std::byte* work, int* info, void* stream) override {
        const int count = static_cast<int>(cholesky_bytes(e, n) / size_of(e));
        const auto lock = turn(stream);
        if (is_double(e))
            TENON_CALL(cusolverDnDpotrf, CUBLAS_FILL_MODE_UPPER, int_of(n), static_cast<double*>(a), int_of(n),
                       reinterpret_cast<double*>(work), count, info);
        else
            TENON_CALL(cusolverDnSpotrf, CUBLAS_FILL_MODE_UPPER, int_of(n), static_cast<float*>(a), int_of(n),
                       reinterpret_cast<float*>(work), count, info);
    }

    std::size_t pivots_bytes(element_type e, std::int64_t n) override {
        int count = 0;
        const auto lock = turn();
        if (is_double(e)) TENON_CALL(cusolverDnDgetrf_bufferSize, int_of(n), int_of(n), nullptr, int_of(n), &count);
        else TENON_CALL(cusolverDnSgetrf_bufferSize, int_of(n), int_of(n), nullptr, int_of(n), &count);
        return bytes_of(count, e);
    }
    void factor(element_type e, void* a, std::int64_t n, std::byte* work, int* pivots, int* info,
                void* stream) override {
        const auto lock = turn(stream);
        if (is_double(e))
            TENON_CALL(cusolverDnDgetrf, int_of(n), int_of(n), static_cast<double*>(a), int_of(n),
                       reinterpret_cast<double*>(work), pivots, info);
        else
            TENON_CALL(cusolverDnSgetrf, int_of(n), int_of(n), static_cast<float*>(a), int_of(n),
                       reinterpret_cast<float*>(work), pivots, info);
    }
    void solve(element_type e, const void* lu, const int* pivots, void* b, std::int64_t n, std::int64_t m,
               bool transposed, int* info, void* stream) override {
        const auto lock = turn(stream);
        const cublasOperation_t way = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        if (is_double(e))
            TENON_CALL(cusolverDnDgetrs, way, int_of(n), int_of(m), static_cast<const double*>(lu), int_of(n), pivots,
                       static_cast<double*>(b), int_of(n), info);
        else
            TENON_CALL(cusolverDnSgetrs, way, int_of(n), int_of(m), static_cast<const float*>(lu), int_of(n), pivots,
                       static_cast<float*>(b), int_of(n), info);
    }

    std::size_t qr_bytes(std::int64_t m, std::int64_t n) override {
        return bytes_of(std::max(qr_count(m, n), q_count(m, n)), element_type::float64);
    }
    void reflect(double* a, double* taus, std::int64_t m, std::int64_t n, std::byte* work, int* info,
                 void* stream) override {
        const int count = qr_count(m, n);
        const auto lock = turn(stream);
        TENON_CALL(cusolverDnDgeqrf, int_of(m), int_of(n), a, int_of(m), taus, reinterpret_cast<double*>(work), count,
                   info);
    }
    void take_q(double* a, const double* taus, std::int64_t m, std::int64_t n, std::byte* work, int* info,
                void* stream) override {
        const int count = q_count(m, n), k = int_of(std::min(m, n));
        const auto lock = turn(stream);
        TENON_CALL(cusolverDnDorgqr, int_of(m), k, k, a, int_of(m), taus, reinterpret_cast<double*>(work), count, info);
    }

    std::size_t eigh_bytes(std::int64_t n) override { return bytes_of(eigh_count(n), element_type::float64); }
    void eigh(double* a, double* w, std::int64_t n, std::byte* work, int* info, void* stream) override {
        const int count = eigh_count(n);
        const auto lock = turn(stream);
        TENON_CALL(cusolverDnDsyevd, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, int_of(n), a, int_of(n), w,
                   reinterpret_cast<double*>(work), count, info);
    }

    std::size_t svd_bytes(std::int64_t m, std::int64_t n) override {
        return bytes_of(svd_count(m, n), element_type::float64);
    }
    void svd(double* a, double* u, double* s, double* vt, std::int64_t m, std::int64_t n, std::byte* work, int* info,
             void* stream) override {
        const int count = svd_count(m, n);
        const auto lock = turn(stream);
        const signed char which = u ? 'S' : 'N';
        TENON_CALL(cusolverDnDgesvd, which, which, int_of(m), int_of(n), a, int_of(m), s, u, int_of(m), vt, int_of(n),
                   reinterpret_cast<double*>(work), count, nullptr, info);
    }

private:
    static bool is_double(element_type e) { return e == element_type::float64; }
    static int int_of(std::int64_t n) { return static_cast<int>(n); } // of() has seen to it
    static std::size_t bytes_of(int count, element_type e) { return static_cast<std::size_t>(count) * size_of(e); }
    int qr_count(std::int64_t m, std::int64_t n) {
        int count = 0;
        const auto lock = turn();
        TENON_CALL(cusolverDnDgeqrf_bufferSize, int_of(m), int_of(n), nullptr, int_of(m), &count);
        return count;
    }
    int q_count(std::int64_t m, std::int64_t n) {
        int count = 0;
        const int k = int_of(std::min(m, n));
        const auto lock = turn();
        TENON_CALL(cusolverDnDorgqr_bufferSize, int_of(m), k, k, nullptr, int_of(m), nullptr, &count);
        return count;
    }
    int eigh_count(std::int64_t n) {
        int count = 0;
        const auto lock = turn();
        TENON_CALL(cusolverDnDsyevd_bufferSize, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, int_of(n), nullptr,
                   int_of(n), nullptr, &count);
        return count;
    }
    int svd_count(std::int64_t m, std::int64_t n) {
        int count = 0;
        const auto lock = turn();
        TENON_CALL(cusolverDnDgesvd_bufferSize, int_of(m), int_of(n), &count);
        return count;
    }
    std::unique_lock<std::mutex> turn() {
        std::unique_lock lock(guard_);
        on_.use(); // whichever GPU the caller had chosen
        return lock;
    }
    std::unique_lock<std::mutex> turn(void* stream) {
        auto lock = turn();
        TENON_CALL(cusolverDnSetStream, static_cast<cudaStream_t>(stream));
        return lock;
    }

    const functions& f_ = *found_functions();
    gpu_context& on_;
    cusolverDnHandle_t handle_ = nullptr;
    std::mutex guard_;
};
#undef TENON_CALL

struct solver_state {
    explicit solver_state(gpu_context& on) : made(std::make_shared<loaded_solver>(on)) {}
    std::shared_ptr<solver> made;
};

#endif

} // namespace

std::shared_ptr<solver> solver::of([[maybe_unused]] gpu_context& on, std::int64_t m, std::int64_t n,
                                   std::int64_t count) {
    const std::int64_t least = std::min(m, n), most = std::max(m, n);
    if (least < least_library_size || count > least / library_size_for_each ||
        most > std::numeric_limits<std::int32_t>::max() / most)
        return nullptr;
    if (is_wished("TENON_CUDA_MATRICES", "own")) return nullptr;
#if defined(TENON_WITH_CUSOLVER)
    if (found_functions()) return on.state<solver_state>().made;
#else
    say_once("this build has no cuSOLVER: configure it where cusolverDn.h can be found");
#endif
    return nullptr;
}

} // namespace tenon::cuda
