#pragma once

#include <algorithm>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/eigen_product.hpp>
#include <tenon/dense/gemm_implementation.hpp>

namespace tenon::dense::detail {

// The product by Eigen, rows divided among the threads. Eigen is compiled for the instruction set of the whole
// program, so with plain -O2 it is far from the machine's peak: the way out where oneDNN is absent.
template <class T> class eigen_gemm final : public gemm_implementation {
public:
    explicit eigen_gemm(const gemm_description& d) : gemm_implementation(backend::eigen), d_(d) {}

    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const override {
        const auto* pa = static_cast<const T*>(a);
        const auto* pb = static_cast<const T*>(b);
        auto* pc = static_cast<T*>(c);
        // A thread is worth waking for some ten microseconds of work.
        const std::int64_t row_work = std::max<std::int64_t>(1, d_.n * d_.k);
        const std::int64_t rows = d_.batch * d_.m;
        const auto block = [&](std::int64_t begin, std::int64_t end) {
            while (begin < end) {
                const std::int64_t i = begin / d_.m, first = begin % d_.m;
                const std::int64_t count = std::min(d_.m - first, end - begin);
                part(pa + i * d_.batch_stride_a, pb + i * d_.batch_stride_b, static_cast<const T*>(bias),
                     pc + i * d_.m * d_.n, first, count);
                begin += count;
            }
        };
        if (rows == 0 || d_.n == 0) return;
        if (pool == nullptr || d_.threads == 1) block(0, rows);
        else pool->parallel_for(rows, std::max<std::int64_t>(8, (1 << 18) / row_work), block);
    }
    std::size_t scratch_bytes() const noexcept override { return 0; }

private:
    void part(const T* a, const T* b, const T* bias, T* c, std::int64_t first, std::int64_t count) const {
        const std::int64_t stride = d_.from_row_to_row();
        const matrix_operand<T> left{a + first * (d_.transpose_a ? 1 : stride), stride, d_.transpose_a};
        const matrix_operand<T> right{b, d_.transpose_b ? d_.k : d_.n, d_.transpose_b};
        T* to = c + first * d_.n;
        eigen_product(left, right, to, d_.n, count, d_.n, d_.k, static_cast<T>(d_.scale), d_.accumulate);
        if (d_.after != epilogue::none)
            eigen_epilogue(to, d_.n, count, d_.n, adds_bias(d_.after) ? bias : nullptr, clips(d_.after));
    }

    gemm_description d_;
};

TENON_INLINE std::unique_ptr<gemm_implementation> make_eigen_gemm(const gemm_description& d) {
    if (d.element == element_type::float32) return std::make_unique<eigen_gemm<float>>(d);
    return std::make_unique<eigen_gemm<double>>(d);
}

} // namespace tenon::dense::detail
