#pragma once

#include <algorithm>

#include <Eigen/Core>

#include <tenon/kernel/dense/gemm_implementation.hpp>
#include <tenon/kernel/thread_pool.hpp>

namespace tenon::dense::detail {

template <class T> using eigen_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using eigen_map = Eigen::Map<eigen_matrix<T>>;
template <class T> using eigen_const_map = Eigen::Map<const eigen_matrix<T>>;

// The product by Eigen, rows divided among the threads. Eigen is compiled for the instruction set of the whole
// program, so with plain -O2 it is far from the machine's peak: the way out where oneDNN is absent.
template <class T> class eigen_gemm final : public gemm::implementation {
public:
    explicit eigen_gemm(const gemm_description& d) : gemm::implementation(backend::eigen), d_(d) {}

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
        eigen_map<T> out(c + first * d_.n, count, d_.n);
        const auto multiply = [&](const auto& left, const auto& right) {
            if (d_.scale != 1) {
                if (d_.accumulate) out.noalias() += T(d_.scale) * left * right;
                else out.noalias() = T(d_.scale) * left * right;
            } else if (d_.accumulate) out.noalias() += left * right;
            else out.noalias() = left * right;
        };
        const auto with_right = [&](const auto& left) {
            if (d_.transpose_b) multiply(left, eigen_const_map<T>(b, d_.n, d_.k).transpose());
            else multiply(left, eigen_const_map<T>(b, d_.k, d_.n));
        };
        if (d_.k == 0) {
            if (!d_.accumulate) out.setZero();
        } else if (d_.transpose_a) with_right(eigen_const_map<T>(a, d_.k, d_.m).middleCols(first, count).transpose());
        else with_right(eigen_const_map<T>(a + first * d_.k, count, d_.k));
        if (adds_bias(d_.after)) out.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(bias, d_.n);
        if (clips(d_.after)) out = out.cwiseMax(T(0));
    }

    gemm_description d_;
};

TENON_INLINE std::unique_ptr<gemm::implementation> make_eigen_gemm(const gemm_description& d) {
    if (d.element == element_type::float32) return std::make_unique<eigen_gemm<float>>(d);
    return std::make_unique<eigen_gemm<double>>(d);
}

} // namespace tenon::dense::detail
