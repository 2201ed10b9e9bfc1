#pragma once

#include <tenon/dense/convolution_implementation.hpp>
#include <tenon/dense/onednn_version.hpp>

#if TENON_ONEDNN

#include <algorithm>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/onednn_support.hpp>

namespace tenon::dense::detail {

/// Convolution by oneDNN: activations stay channels-last, weights are copied to the primitive's order each
/// run. Images are divided among our threads, each running a primitive of its own.
class onednn_convolution final : public convolution_implementation {
public:
    onednn_convolution(convolution_product which, const convolution_description& d) :
        convolution_implementation(backend::onednn),
        which_(which),
        d_(d),
        shares_(share_count(which, d)),
        images_((d.batch + shares_ - 1) / shares_) {
        shares_ = (d.batch + images_ - 1) / images_;
        const std::int64_t rest = d.batch - (shares_ - 1) * images_;
        whole_ = make(images_);
        if (!whole_) return;
        if (rest != images_) {
            last_ = make(rest);
            // Both must agree on the order of the weights, which are copied once.
            if (!last_ || !dnnl_memory_desc_equal(&weights_of(last_), &weights_of(whole_))) return;
        }
        const auto plain = plain_weights();
        reorder_ = which == convolution_product::backward_weights ? make_reorder(weights_of(whole_), plain)
                                                                  : make_reorder(plain, weights_of(whole_));
        ordered_bytes_ = (dnnl_memory_desc_get_size(&weights_of(whole_)) + 63) / 64 * 64;
        usable_ = true;
        give_back(borrow());
    }
    bool usable() const noexcept { return usable_; }

    void run(const void* first, const void* second, void* third, void* result, thread_pool* pool) const override {
        auto mine = borrow();
        const bool of_weights = which_ == convolution_product::backward_weights;
        if (!of_weights) mine->reorder->run({second, mine->ordered(0)});
        const auto body = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) share(*mine, s, first, second, third, result);
        };
        if (pool == nullptr || shares_ == 1) {
            body(0, shares_);
        } else {
            pool->parallel_for(shares_, 1, body);
        }
        if (of_weights) sum_up(*mine, static_cast<float*>(third), static_cast<float*>(result));
        give_back(std::move(mine));
    }

    std::size_t scratch_bytes() const noexcept override { return whole_.scratch_bytes() + ordered_bytes_; }

private:
    /// What one run needs: a call a share, memory for weights in the primitive's order, one a share for their
    /// gradients.
    struct context {
        explicit context(memory_payer* payer) : memory(payer), plain(payer), bias(payer) {}
        std::vector<std::unique_ptr<onednn_call>> calls{};
        std::unique_ptr<onednn_call> reorder{};
        paid_vector<std::byte> memory;
        std::size_t ordered_bytes = 0;
        paid_vector<float> plain; // one share's weight gradient
        paid_vector<float> bias;  // a bias gradient a share

        std::byte* ordered(std::int64_t s) {
            const auto address = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64;
            return reinterpret_cast<std::byte*>(address) + static_cast<std::size_t>(s) * ordered_bytes;
        }
    };

    /// Two shares a thread even out what else the machine does; weights have a gradient a share, so one does.
    static std::int64_t share_count(convolution_product which, const convolution_description& d) {
        const std::int64_t threads = std::max<std::int64_t>(1, std::min<std::int64_t>(d.threads, d.batch));
        const bool twice = threads > 1 && d.batch >= 8 * threads;
        return twice && which != convolution_product::backward_weights ? 2 * threads : threads;
    }

    dnnl_memory_desc_t x(std::int64_t images) const {
        return strided({images, d_.in_channels, d_.height, d_.width},
                       {d_.height * d_.width * d_.in_channels, 1, d_.width * d_.in_channels, d_.in_channels});
    }
    dnnl_memory_desc_t y(std::int64_t images) const {
        const std::int64_t row = d_.out_width() * d_.out_channels;
        return strided({images, d_.out_channels, d_.out_height(), d_.out_width()},
                       {d_.out_height() * row, 1, row, d_.out_channels});
    }
    dnnl_memory_desc_t bias() const { return strided({d_.out_channels}, {1}); }
    dnnl_memory_desc_t plain_weights() const {
        const std::int64_t in = d_.in_channels / d_.groups;
        const std::int64_t out = d_.out_channels / d_.groups;
        const std::int64_t tap = in * d_.out_channels;
        if (d_.groups == 1) {
            return strided({out, in, d_.kernel_h, d_.kernel_w}, {1, d_.out_channels, d_.kernel_w * tap, tap});
        }
        return strided({d_.groups, out, in, d_.kernel_h, d_.kernel_w},
                       {out, 1, d_.out_channels, d_.kernel_w * tap, tap});
    }
    dnnl_memory_desc_t any_weights() const {
        const std::int64_t in = d_.in_channels / d_.groups;
        const std::int64_t out = d_.out_channels / d_.groups;
        if (d_.groups == 1) return in_any_order({out, in, d_.kernel_h, d_.kernel_w});
        return in_any_order({d_.groups, out, in, d_.kernel_h, d_.kernel_w});
    }

    onednn_primitive make(std::int64_t images) const {
        const auto of_x = x(images), of_y = y(images), of_w = any_weights(), of_bias = bias();
        const std::int64_t strides[] = {d_.stride_h, d_.stride_w};
        const std::int64_t dilates[] = {d_.dilation_h - 1, d_.dilation_w - 1};
        const std::int64_t before[] = {d_.pad_top, d_.pad_left};
        const std::int64_t after[] = {d_.pad_bottom, d_.pad_right};
        const bool forward = which_ == convolution_product::forward;
        const bool biased = forward ? adds_bias(d_.after) : true;

        dnnl_convolution_desc_t operation;
        if (dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, dnnl_convolution_direct,
                                                       &of_x, &of_w, biased ? &of_bias : nullptr, &of_y, strides,
                                                       dilates, before, after) != dnnl_success) {
            return {};
        }
        const auto attributes = make_attributes(1.0F, false, forward && clips(d_.after));
        onednn_primitive found(&operation, attributes.get(), nullptr);
        if (forward || !found) return found;

        const auto hint = std::move(found);
        const auto plain = make_attributes(1.0F, false, false);
        dnnl_status_t status = dnnl_success;
        if (which_ == convolution_product::backward_data) {
            status = dnnl_dilated_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct, &of_x, &of_w,
                                                                      &of_y, strides, dilates, before, after);
        } else {
            status = dnnl_dilated_convolution_backward_weights_desc_init(
                &operation, dnnl_convolution_direct, &of_x, &of_w, &of_bias, &of_y, strides, dilates, before, after);
        }
        if (status != dnnl_success) return {};
        return onednn_primitive(&operation, plain.get(), hint.description.get());
    }

    const dnnl_memory_desc_t& weights_of(const onednn_primitive& p) const {
        return p.operand(which_ == convolution_product::backward_weights ? dnnl_query_diff_weights_md
                                                                         : dnnl_query_weights_md);
    }

    std::unique_ptr<context> borrow() const {
        return contexts_.borrow([&] {
            auto made = std::make_unique<context>(d_.memory);
            for (std::int64_t s = 0; s < shares_; ++s) made->calls.push_back(make_call(s));
            made->ordered_bytes = ordered_bytes_;
            if (which_ == convolution_product::backward_weights) {
                made->reorder = std::make_unique<onednn_call>(
                    reorder_,
                    std::initializer_list<onednn_call::operand>{{DNNL_ARG_FROM, weights_of(whole_)},
                                                                {DNNL_ARG_TO, plain_weights()}},
                    d_.memory);
                made->memory.resize(ordered_bytes_ * static_cast<std::size_t>(shares_) + 64);
                made->plain.resize(static_cast<std::size_t>(weight_count()));
                made->bias.resize(static_cast<std::size_t>(shares_ * d_.out_channels));
            } else {
                made->reorder = std::make_unique<onednn_call>(
                    reorder_,
                    std::initializer_list<onednn_call::operand>{{DNNL_ARG_FROM, plain_weights()},
                                                                {DNNL_ARG_TO, weights_of(whole_)}},
                    d_.memory);
                made->memory.resize(ordered_bytes_ + 64);
            }
            return made;
        });
    }
    void give_back(std::unique_ptr<context> one) const { contexts_.give_back(std::move(one)); }

    std::int64_t weight_count() const noexcept {
        return d_.kernel_h * d_.kernel_w * (d_.in_channels / d_.groups) * d_.out_channels;
    }

    std::unique_ptr<onednn_call> make_call(std::int64_t s) const {
        const std::int64_t images = std::min(images_, d_.batch - s * images_);
        const auto& p = images == images_ ? whole_ : last_;
        const auto weights = weights_of(p);
        using operands = std::initializer_list<onednn_call::operand>;
        switch (which_) {
        case convolution_product::forward:
            if (adds_bias(d_.after)) {
                return std::make_unique<onednn_call>(p,
                                                     operands{{DNNL_ARG_SRC, x(images)},
                                                              {DNNL_ARG_WEIGHTS, weights},
                                                              {DNNL_ARG_DST, y(images)},
                                                              {DNNL_ARG_BIAS, bias()}},
                                                     d_.memory);
            }
            return std::make_unique<onednn_call>(
                p, operands{{DNNL_ARG_SRC, x(images)}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y(images)}},
                d_.memory);
        case convolution_product::backward_data:
            return std::make_unique<onednn_call>(
                p,
                operands{{DNNL_ARG_DIFF_DST, y(images)}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, x(images)}},
                d_.memory);
        default:
            return std::make_unique<onednn_call>(p,
                                                 operands{{DNNL_ARG_SRC, x(images)},
                                                          {DNNL_ARG_DIFF_DST, y(images)},
                                                          {DNNL_ARG_DIFF_WEIGHTS, weights},
                                                          {DNNL_ARG_DIFF_BIAS, bias()}},
                                                 d_.memory);
        }
    }

    void share(context& c, std::int64_t s, const void* first, const void* second, const void* third,
               void* result) const {
        const std::int64_t of_x = s * images_ * d_.height * d_.width * d_.in_channels;
        const std::int64_t of_y = s * images_ * d_.out_height() * d_.out_width() * d_.out_channels;
        auto& call = *c.calls[static_cast<std::size_t>(s)];
        switch (which_) {
        case convolution_product::forward: {
            const auto* from = static_cast<const float*>(first) + of_x;
            auto* to = static_cast<float*>(result) + of_y;
            if (adds_bias(d_.after)) {
                call.run({from, c.ordered(0), to, third});
            } else {
                call.run({from, c.ordered(0), to});
            }
            break;
        }
        case convolution_product::backward_data:
            call.run({static_cast<const float*>(first) + of_y, c.ordered(0), static_cast<float*>(result) + of_x});
            break;
        default:
            call.run({static_cast<const float*>(first) + of_x, static_cast<const float*>(second) + of_y, c.ordered(s),
                      c.bias.data() + s * d_.out_channels});
        }
    }

    void sum_up(context& c, float* dbias, float* dw) const {
        c.reorder->run({c.ordered(0), dw});
        for (std::int64_t s = 1; s < shares_; ++s) {
            c.reorder->run({c.ordered(s), c.plain.data()});
            for (std::size_t i = 0; i < c.plain.size(); ++i) dw[i] += c.plain[i];
        }
        if (dbias == nullptr) return;
        for (std::int64_t o = 0; o < d_.out_channels; ++o) {
            dbias[o] = 0.0F;
            for (std::int64_t s = 0; s < shares_; ++s) {
                dbias[o] += c.bias[static_cast<std::size_t>(s * d_.out_channels + o)];
            }
        }
    }

    convolution_product which_;
    convolution_description d_;
    std::int64_t shares_;
    std::int64_t images_; // of each share but perhaps the last
    bool usable_ = false;
    onednn_primitive whole_;
    onednn_primitive last_;
    onednn_primitive reorder_;
    std::size_t ordered_bytes_ = 0;
    mutable context_pool<context> contexts_;
};

TENON_INLINE std::unique_ptr<convolution_implementation> make_onednn_convolution(convolution_product which,
                                                                                 const convolution_description& d) {
    if (d.element != element_type::float32 || d.batch == 0 || !may_run_written_code()) return nullptr;
    auto made = std::make_unique<onednn_convolution>(which, d);
    if (!made->usable()) return nullptr;
    return made;
}

} // namespace tenon::dense::detail

#else

namespace tenon::dense::detail {
TENON_INLINE std::unique_ptr<convolution_implementation> make_onednn_convolution(convolution_product,
                                                                                 const convolution_description&) {
    return nullptr;
}
} // namespace tenon::dense::detail

#endif
