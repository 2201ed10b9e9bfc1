#pragma once

#include <tenon/dense/gemm_implementation.hpp>
#include <tenon/dense/onednn_version.hpp>

#if TENON_ONEDNN

#include <algorithm>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/onednn_support.hpp>

namespace tenon::dense::detail {

/// The product by oneDNN's matmul, divided among our threads into shares: of the matrices of a batch, of the
/// rows of c or, where those are few, of its columns. Each share is run by a primitive for one thread.
class onednn_gemm final : public gemm_implementation {
public:
    explicit onednn_gemm(const gemm_description& d) : gemm_implementation(backend::onednn), d_(d) {
        // Matrices that follow each other and share b are one tall matrix.
        if (d_.batch_stride_b == 0 && d_.batch_stride_a == d_.m * d_.k && !d_.transpose_a && d_.row_stride_a == 0) {
            d_.m *= d_.batch;
            d_.batch = 1;
        }
        divide();
        whole_ = make(share_);
        const std::int64_t rest = divided() - (shares_ - 1) * share_;
        if (rest != share_) last_ = make(rest);
        usable_ = whole_ && (rest == share_ || last_);
        if (!usable_) return;
        for (std::int64_t s = 0; s < shares_; ++s) calls(s).give_back(make_call(s));
    }
    bool usable() const noexcept { return usable_; }

    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const override {
        const auto body = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) {
                run_share(s, static_cast<const float*>(a), static_cast<const float*>(b),
                          static_cast<const float*>(bias), static_cast<float*>(c));
            }
        };
        if (pool == nullptr || shares_ == 1) {
            body(0, shares_);
        } else {
            pool->parallel_for(shares_, 1, body);
        }
    }

    std::size_t scratch_bytes() const noexcept override {
        return static_cast<std::size_t>(shares_) * whole_.scratch_bytes();
    }

private:
    enum class by : std::uint8_t { batch, rows, columns };

    /// What is divided: matrices, rows or columns.
    std::int64_t divided() const noexcept { return by_ == by::batch ? d_.batch : by_ == by::rows ? d_.m : d_.n; }

    /// Measured on two cores: columns lose a tenth, and so do shares of fewer than 64 rows where there could be fewer of
    /// them, since each packs the whole of b; a thread is worth waking for two microseconds of work; two shares a thread
    /// even out what else the machine does.
    void divide() {
        constexpr std::int64_t least = 1 << 18; // multiplications in a share
        const std::int64_t threads = std::max(1, d_.threads);
        const std::int64_t work = d_.batch * d_.m * d_.n * d_.k;
        const std::int64_t most = std::max<std::int64_t>(1, std::min(threads, work / least));
        const std::int64_t twice = work / (2 * most) >= 2 * least && most > 1 ? 2 * most : most;
        // oneDNN takes no batch that shares its left matrix.
        const bool batched = d_.batch > 1 && d_.batch_stride_a != 0;
        if (batched && (d_.batch >= most || d_.m < 16 * most)) {
            by_ = by::batch;
            shares_ = std::min(d_.batch, d_.batch >= 2 * twice ? twice : most);
        } else if (d_.m >= 16 * most || d_.m >= d_.n) {
            by_ = by::rows;
            shares_ = std::clamp<std::int64_t>(d_.m / 8, 1, d_.m >= 64 * twice ? twice : most);
        } else {
            by_ = by::columns;
            shares_ = std::clamp<std::int64_t>(d_.n / 32, 1, most);
        }
        share_ = (divided() + shares_ - 1) / shares_;
        if (by_ == by::columns) share_ = std::min(d_.n, (share_ + 15) / 16 * 16); // whole registers
        shares_ = (divided() + share_ - 1) / share_;
    }

    std::int64_t matrices(std::int64_t share) const noexcept { return by_ == by::batch ? share : 1; }
    // The operands of a share. One product is one of matrices: oneDNN has faster kernels for those than for a
    // batch of one.
    dnnl_memory_desc_t matrix(std::int64_t share, std::int64_t rows, std::int64_t columns, std::int64_t down,
                              std::int64_t right, std::int64_t each) const {
        const std::int64_t count = matrices(share);
        if (count == 1) return strided({rows, columns}, {down, right});
        if (each != 0) return strided({count, rows, columns}, {each, down, right});
        return strided({1, rows, columns}, {rows * columns, down, right});
    }
    std::int64_t rows_of(std::int64_t share) const noexcept { return by_ == by::rows ? share : d_.m; }
    std::int64_t columns_of(std::int64_t share) const noexcept { return by_ == by::columns ? share : d_.n; }
    dnnl_memory_desc_t left(std::int64_t share) const {
        const std::int64_t stride = d_.from_row_to_row();
        return d_.transpose_a ? matrix(share, rows_of(share), d_.k, 1, stride, d_.batch_stride_a)
                              : matrix(share, rows_of(share), d_.k, stride, 1, d_.batch_stride_a);
    }
    dnnl_memory_desc_t right(std::int64_t share) const {
        return d_.transpose_b ? matrix(share, d_.k, columns_of(share), 1, d_.k, d_.batch_stride_b)
                              : matrix(share, d_.k, columns_of(share), d_.n, 1, d_.batch_stride_b);
    }
    dnnl_memory_desc_t result(std::int64_t share) const {
        return matrix(share, rows_of(share), columns_of(share), d_.n, 1, d_.m * d_.n);
    }
    dnnl_memory_desc_t bias_of(std::int64_t share) const {
        return matrix(share, 1, columns_of(share), columns_of(share), 1, 0);
    }

    onednn_primitive make(std::int64_t share) const {
        const auto a = left(share), b = right(share), c = result(share), bias = bias_of(share);
        dnnl_matmul_desc_t operation;
        if (dnnl_matmul_desc_init(&operation, &a, &b, adds_bias(d_.after) ? &bias : nullptr, &c) != dnnl_success) {
            return {};
        }
        const auto attributes = make_attributes(static_cast<float>(d_.scale), d_.accumulate, clips(d_.after));
        return onednn_primitive(&operation, attributes.get(), nullptr);
    }

    bool is_whole(std::int64_t s) const noexcept { return (s + 1) * share_ <= divided(); }
    std::int64_t size_of_share(std::int64_t s) const noexcept { return std::min(share_, divided() - s * share_); }
    context_pool<onednn_call>& calls(std::int64_t s) const { return is_whole(s) ? whole_calls_ : last_calls_; }
    std::unique_ptr<onednn_call> make_call(std::int64_t s) const {
        const std::int64_t share = size_of_share(s);
        const auto& primitive = is_whole(s) ? whole_ : last_;
        using operands = std::initializer_list<onednn_call::operand>;
        if (!adds_bias(d_.after)) {
            return std::make_unique<onednn_call>(
                primitive,
                operands{{DNNL_ARG_SRC, left(share)}, {DNNL_ARG_WEIGHTS, right(share)}, {DNNL_ARG_DST, result(share)}},
                d_.memory);
        }
        return std::make_unique<onednn_call>(primitive,
                                             operands{{DNNL_ARG_SRC, left(share)},
                                                      {DNNL_ARG_WEIGHTS, right(share)},
                                                      {DNNL_ARG_DST, result(share)},
                                                      {DNNL_ARG_BIAS, bias_of(share)}},
                                             d_.memory);
    }

    void run_share(std::int64_t s, const float* a, const float* b, const float* bias, float* c) const {
        std::unique_ptr<onednn_call> call;
        const std::int64_t first = s * share_;
        const auto one = [&](const float* pa, const float* pb, float* pc) {
            try {
                if (!call) call = calls(s).borrow([&] { return make_call(s); });
                if (adds_bias(d_.after)) {
                    call->run({pa, pb, pc, by_ == by::columns ? bias + first : bias});
                } else {
                    call->run({pa, pb, pc});
                }
            } catch (...) {
                // What has begun to be added is added: oneDNN takes its memory before it writes.
                if (!d_.accumulate) throw;
                add_plainly(size_of_share(s), pa, pb, pc);
            }
        };
        if (by_ == by::batch) {
            one(a + first * d_.batch_stride_a, b + first * d_.batch_stride_b, c + first * d_.m * d_.n);
        } else {
            if (by_ == by::rows) {
                a += first * (d_.transpose_a ? 1 : d_.from_row_to_row());
                c += first * d_.n;
            } else {
                b += first * (d_.transpose_b ? d_.k : 1);
                c += first;
            }
            for (std::int64_t i = 0; i < d_.batch; ++i) {
                one(a + i * d_.batch_stride_a, b + i * d_.batch_stride_b, c + i * d_.m * d_.n);
            }
        }
        if (call) calls(s).give_back(std::move(call));
    }

    /// What a share adds to c, without memory of its own.
    void add_plainly(std::int64_t share, const float* a, const float* b, float* c) const noexcept {
        const std::int64_t rows = rows_of(share), columns = columns_of(share), stride = d_.from_row_to_row();
        for (std::int64_t i = 0; i < matrices(share);
             ++i, a += d_.batch_stride_a, b += d_.batch_stride_b, c += d_.m * d_.n)
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t q = 0; q < columns; ++q) {
                    float sum = 0;
                    for (std::int64_t p = 0; p < d_.k; ++p)
                        sum += a[d_.transpose_a ? p * stride + r : r * stride + p] *
                               b[d_.transpose_b ? q * d_.k + p : p * d_.n + q];
                    c[r * d_.n + q] += static_cast<float>(d_.scale) * sum;
                }
    }

    gemm_description d_;
    by by_ = by::rows;
    std::int64_t shares_ = 1;
    std::int64_t share_ = 0; // matrices, rows or columns of each share but perhaps the last
    bool usable_ = false;
    onednn_primitive whole_;
    onednn_primitive last_;
    mutable context_pool<onednn_call> whole_calls_;
    mutable context_pool<onednn_call> last_calls_;
};

TENON_INLINE std::unique_ptr<gemm_implementation> make_onednn_gemm(const gemm_description& d) {
    if (d.element != element_type::float32 || d.batch == 0 || d.m == 0 || d.n == 0 || d.k == 0) return nullptr;
    if (d.scale != 1.0 && adds_bias(d.after)) return nullptr; // oneDNN would scale the bias too
    if (!may_run_written_code()) return nullptr;
    auto made = std::make_unique<onednn_gemm>(d);
    if (!made->usable()) return nullptr;
    return made;
}

} // namespace tenon::dense::detail

#else

namespace tenon::dense::detail {
TENON_INLINE std::unique_ptr<gemm_implementation> make_onednn_gemm(const gemm_description&) { return nullptr; }
} // namespace tenon::dense::detail

#endif
