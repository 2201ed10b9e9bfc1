#pragma once

#include <tenon/dense/gemm_implementation.hpp>

#if TENON_WITH_LIBXSMM

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <type_traits>

#include <libxsmm.h>

#include <tenon/concurrency/exit_gate.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/eigen_product.hpp>
#include <tenon/dense/strided_copy.hpp>

namespace tenon::dense::detail {

inline tenon::detail::exit_gate& gate_of_libxsmm() {
    static tenon::detail::exit_gate gate;
    static const int is_told = [] {
        libxsmm_init(); // before us, so that it ends after us
        return std::atexit([] { gate.close(); });
    }();
    (void)is_told;
    return gate;
}

/// What libxsmm compiles, for a few rows of a product. It keeps each for ever, in some 10 KB: there are no more than `most`.
template <class T> class libxsmm_kernels {
public:
    using kernel = std::conditional_t<std::is_same_v<T, float>, libxsmm_smmfunction, libxsmm_dmmfunction>;

    /// c = a b, or c + a b, for `rows` rows of a and c; null where there is none.
    static kernel find(const gemm_description& d, std::int64_t rows) {
        constexpr std::size_t most = 4096;
        const tenon::detail::exit_gate::use inside(gate_of_libxsmm());
        // Its matrices are column-major: to it our product is b a, of which it transposes the second.
        const int n = static_cast<int>(d.n), m = static_cast<int>(rows), k = static_cast<int>(d.k);
        const int a_stride = static_cast<int>(d.from_row_to_row());
        const int flags = d.transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
        const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
        const T alpha = 1, beta = d.accumulate || adds_bias(d.after) ? T(1) : T(0);
        static std::mutex mutex;
        static auto& known = *new std::map<std::tuple<int, int, int, int, int, bool>, kernel>;
        const std::lock_guard guard(mutex);
        const std::tuple key(n, m, k, a_stride, flags, beta != 0);
        if (const auto at = known.find(key); at != known.end()) return at->second;
        if (known.size() == most) return nullptr;
        kernel made;
        if constexpr (std::is_same_v<T, float>)
            made = libxsmm_smmdispatch(n, m, k, &n, &a_stride, &n, &alpha, &beta, &flags, &prefetch);
        else made = libxsmm_dmmdispatch(n, m, k, &n, &a_stride, &n, &alpha, &beta, &flags, &prefetch);
        if (!made || !is_executable(reinterpret_cast<const void*>(made))) return nullptr; // for want of memory, perhaps
        return known.emplace(key, made).first->second;
    }
};

/// Elements of a b that is transposed on the stack: libxsmm compiles no product for it as it lies.
inline constexpr std::int64_t most_turned = 4096;

/// The product by libxsmm, which compiles code for its sizes: nothing is packed and nothing is chosen when it runs. Rows, in
/// pieces of one height, are divided among the threads.
template <class T> class libxsmm_gemm final : public gemm_implementation {
public:
    explicit libxsmm_gemm(const gemm_description& d) : gemm_implementation(backend::libxsmm), d_(d) {
        pieces_ = (d.m + tallest - 1) / tallest;
        rows_ = (d.m + pieces_ - 1) / pieces_;
        pieces_ = (d.m + rows_ - 1) / rows_;
        whole_ = libxsmm_kernels<T>::find(d, rows_);
        last_ = libxsmm_kernels<T>::find(d, d.m - (pieces_ - 1) * rows_);
    }
    bool usable() const noexcept { return whole_ && last_; }

    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const override {
        const tenon::detail::exit_gate::use inside(gate_of_libxsmm());
        const auto run_pieces = [&](std::int64_t begin, std::int64_t end) {
            alignas(64) T turned[most_turned];
            const T* there = nullptr; // which b is in it
            for (; begin < end; ++begin) {
                const std::int64_t i = begin / pieces_, piece = begin % pieces_;
                const T* const right = static_cast<const T*>(b) + i * d_.batch_stride_b;
                if (d_.transpose_b && there != right)
                    tenon::detail::transpose_matrix(there = right, d_.k, turned, d_.n, d_.n, d_.k);
                run_piece(static_cast<const T*>(a) + i * d_.batch_stride_a, d_.transpose_b ? turned : right,
                          static_cast<const T*>(bias), static_cast<T*>(c) + i * d_.m * d_.n, piece);
            }
        };
        // A thread is worth waking for some microseconds of work.
        const std::int64_t pieces = d_.batch * pieces_, work = rows_ * d_.n * d_.k;
        if (pool == nullptr || d_.threads == 1) run_pieces(0, pieces);
        else pool->parallel_for(pieces, std::max<std::int64_t>(1, (1 << 18) / work), run_pieces);
    }
    std::size_t scratch_bytes() const noexcept override { return 0; }

private:
    static constexpr std::int64_t tallest = 64;

    void run_piece(const T* a, const T* b, const T* bias, T* c, std::int64_t piece) const {
        const std::int64_t first = piece * rows_, rows = std::min(rows_, d_.m - first);
        c += first * d_.n;
        for (std::int64_t r = 0; r < rows && adds_bias(d_.after); ++r)
            std::memcpy(c + r * d_.n, bias, static_cast<std::size_t>(d_.n) * sizeof(T));
        (rows == rows_ ? whole_ : last_)(b, a + first * (d_.transpose_a ? 1 : d_.from_row_to_row()), c);
        if (clips(d_.after)) eigen_epilogue(c, rows * d_.n, 1, rows * d_.n, nullptr, true);
    }

    gemm_description d_;
    std::int64_t rows_ = 0, pieces_ = 0; // of each matrix of the batch; the last piece may have fewer
    typename libxsmm_kernels<T>::kernel whole_ = nullptr, last_ = nullptr;
};

TENON_INLINE std::unique_ptr<gemm_implementation> make_libxsmm_gemm(const gemm_description& d) {
    if (d.transpose_b && d.n * d.k > most_turned) return nullptr;
    if (d.batch == 0 || d.m == 0 || d.n == 0 || d.k == 0 || d.scale != 1.0) return nullptr;
    if (std::max({d.m, d.n, d.k, d.from_row_to_row()}) > std::numeric_limits<int>::max() || !may_run_written_code())
        return nullptr;
    const auto made = [&](auto of) -> std::unique_ptr<gemm_implementation> {
        auto product = std::make_unique<libxsmm_gemm<decltype(of)>>(d);
        if (!product->usable()) return nullptr;
        return product;
    };
    return d.element == element_type::float32 ? made(float()) : made(double());
}

} // namespace tenon::dense::detail

#else

namespace tenon::dense::detail {
TENON_INLINE std::unique_ptr<gemm_implementation> make_libxsmm_gemm(const gemm_description&) { return nullptr; }
} // namespace tenon::dense::detail

#endif
