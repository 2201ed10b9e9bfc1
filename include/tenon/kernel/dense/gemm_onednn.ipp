#pragma once

#include <tenon/kernel/dense/gemm_implementation.hpp>
#include <tenon/kernel/dense/onednn_version.hpp>

#if TENON_ONEDNN

#include <algorithm>

#include <tenon/kernel/dense/onednn_support.hpp>
#include <tenon/kernel/thread_pool.hpp>

namespace tenon::dense::detail {

/// The product by oneDNN's matmul. Rows are divided among our threads, each running a primitive of its own.
class onednn_gemm final : public gemm::implementation {
public:
    explicit onednn_gemm(const gemm_description& d) :
        gemm::implementation(backend::onednn),
        d_(d),
        shares_(std::max<std::int64_t>(1, std::min<std::int64_t>(d.threads, d.m / 8))),
        rows_((d.m + shares_ - 1) / shares_) {
        shares_ = (d.m + rows_ - 1) / rows_;
        whole_ = make(rows_);
        const std::int64_t rest = d.m - (shares_ - 1) * rows_;
        if (rest != rows_) last_ = make(rest);
        for (std::int64_t s = 0; s < shares_; ++s) calls(s).give_back(make_call(s));
    }
    bool usable() const {
        return static_cast<bool>(whole_) && (last_share_is_whole() || static_cast<bool>(last_));
    }

    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const override {
        const auto body = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) share(s, a, b, bias, c);
        };
        if (pool == nullptr || shares_ == 1) {
            body(0, shares_);
        } else {
            pool->parallel_for(shares_, 1, body);
        }
    }

    std::size_t scratch_bytes() const noexcept override { return whole_.scratch_bytes(); }

private:
    onednn_primitive make(std::int64_t rows) const {
        const auto a = left(rows);
        const auto b = right();
        const auto c = result(rows);
        const auto bias = strided({1, d_.n}, {d_.n, 1});
        dnnl_matmul_desc_t operation;
        require(dnnl_matmul_desc_init(&operation, &a, &b, adds_bias(d_.after) ? &bias : nullptr, &c),
                "dnnl_matmul_desc_init");
        const auto attributes = make_attributes(static_cast<float>(d_.scale), d_.accumulate, clips(d_.after));
        return onednn_primitive(&operation, attributes.get(), nullptr);
    }
    dnnl_memory_desc_t left(std::int64_t rows) const {
        return d_.transpose_a ? strided({rows, d_.k}, {1, d_.m}) : strided({rows, d_.k}, {d_.k, 1});
    }
    dnnl_memory_desc_t right() const {
        return d_.transpose_b ? strided({d_.k, d_.n}, {1, d_.k}) : strided({d_.k, d_.n}, {d_.n, 1});
    }
    dnnl_memory_desc_t result(std::int64_t rows) const { return strided({rows, d_.n}, {d_.n, 1}); }

    bool last_share_is_whole() const { return d_.m == shares_ * rows_; }
    bool is_whole(std::int64_t s) const { return s + 1 < shares_ || last_share_is_whole(); }
    context_pool<onednn_call>& calls(std::int64_t s) const {
        return is_whole(s) ? whole_calls_ : last_calls_;
    }

    std::unique_ptr<onednn_call> make_call(std::int64_t s) const {
        const bool whole = is_whole(s);
        const std::int64_t rows = whole ? rows_ : d_.m - s * rows_;
        const auto& primitive = whole ? whole_ : last_;
        if (!primitive) return nullptr;
        if (!adds_bias(d_.after)) {
            return std::make_unique<onednn_call>(
                primitive, std::initializer_list<onednn_call::operand>{{DNNL_ARG_SRC, left(rows)},
                                                                       {DNNL_ARG_WEIGHTS, right()},
                                                                       {DNNL_ARG_DST, result(rows)}});
        }
        return std::make_unique<onednn_call>(primitive, std::initializer_list<onednn_call::operand>{
                                                            {DNNL_ARG_SRC, left(rows)},
                                                            {DNNL_ARG_WEIGHTS, right()},
                                                            {DNNL_ARG_DST, result(rows)},
                                                            {DNNL_ARG_BIAS, strided({1, d_.n}, {d_.n, 1})}});
    }

    void share(std::int64_t s, const void* a, const void* b, const void* bias, void* c) const {
        auto call = calls(s).borrow([&] { return make_call(s); });
        for (std::int64_t i = 0; i < d_.batch; ++i) {
            const auto* pa = static_cast<const float*>(a) + i * d_.batch_stride_a +
                             s * rows_ * (d_.transpose_a ? 1 : d_.k);
            const auto* pb = static_cast<const float*>(b) + i * d_.batch_stride_b;
            auto* pc = static_cast<float*>(c) + (i * d_.m + s * rows_) * d_.n;
            if (adds_bias(d_.after)) {
                call->run({pa, pb, pc, bias});
            } else {
                call->run({pa, pb, pc});
            }
        }
        calls(s).give_back(std::move(call));
    }

    gemm_description d_;
    std::int64_t shares_;
    std::int64_t rows_; // of each share but perhaps the last
    onednn_primitive whole_;
    onednn_primitive last_;
    mutable context_pool<onednn_call> whole_calls_;
    mutable context_pool<onednn_call> last_calls_;
};

TENON_INLINE std::unique_ptr<gemm::implementation> make_onednn_gemm(const gemm_description& d) {
    if (d.element != element_type::float32 || d.batch == 0 || d.m == 0 || d.n == 0 || d.k == 0)
        return nullptr;
    if (d.scale != 1.0 && adds_bias(d.after)) return nullptr; // oneDNN would scale the bias too
    auto made = std::make_unique<onednn_gemm>(d);
    if (!made->usable()) return nullptr;
    return made;
}

} // namespace tenon::dense::detail

#else

namespace tenon::dense::detail {
TENON_INLINE std::unique_ptr<gemm::implementation> make_onednn_gemm(const gemm_description&) {
    return nullptr;
}
} // namespace tenon::dense::detail

#endif
