#pragma once

#include <limits>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/dense/convolution.hpp>
#include <tenon/dense/convolution_implementation.hpp>

#if TENON_HEADER_ONLY
#include <tenon/dense/convolution_eigen.ipp>
#include <tenon/dense/convolution_onednn.ipp>
#endif

namespace tenon::dense {
namespace detail {

TENON_INLINE std::string describe(const convolution_description& d) {
    const auto list = [](auto... sizes) {
        std::string text;
        ((text += (text.empty() ? "[" : ", ") + std::to_string(sizes)), ...);
        return text + "]";
    };
    std::string text = "convolution of " + list(d.batch, d.height, d.width, d.in_channels) + " with " +
                       list(d.kernel_h, d.kernel_w, d.groups > 0 ? d.in_channels / d.groups : 0, d.out_channels) + " " +
                       name_of(d.element);
    if (d.stride_h != 1 || d.stride_w != 1) text += ", strides " + list(d.stride_h, d.stride_w);
    if (d.dilation_h != 1 || d.dilation_w != 1) text += ", dilations " + list(d.dilation_h, d.dilation_w);
    if (d.pad_top != 0 || d.pad_bottom != 0 || d.pad_left != 0 || d.pad_right != 0) {
        text += ", padding " + list(d.pad_top, d.pad_bottom, d.pad_left, d.pad_right);
    }
    if (d.groups != 1) text += ", " + std::to_string(d.groups) + " groups";
    return text;
}

inline void check(const convolution_description& d, convolution_product which) {
    const auto refuse = [&](const char* what) { throw invalid_argument_error(describe(d) + ": " + what); };
    if (d.batch < 0) refuse("the batch is negative");
    if (d.height < 1 || d.width < 1 || d.in_channels < 1) refuse("height, width and channels must be at least 1");
    if (d.kernel_h < 1 || d.kernel_w < 1 || d.out_channels < 1) refuse("sizes of the kernel must be at least 1");
    if (d.stride_h < 1 || d.stride_w < 1 || d.dilation_h < 1 || d.dilation_w < 1) {
        refuse("strides and dilations must be at least 1");
    }
    if (d.pad_top < 0 || d.pad_bottom < 0 || d.pad_left < 0 || d.pad_right < 0) refuse("a padding is negative");
    if (d.groups < 1 || d.in_channels % d.groups != 0 || d.out_channels % d.groups != 0) {
        refuse("groups must divide the channels that go in and those that come out");
    }
    if (d.height + d.pad_top + d.pad_bottom < d.dilation_h * (d.kernel_h - 1) + 1 ||
        d.width + d.pad_left + d.pad_right < d.dilation_w * (d.kernel_w - 1) + 1) {
        refuse("the kernel is larger than the padded image");
    }
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (d.height * d.width > most / d.in_channels || d.out_height() * d.out_width() > most / d.out_channels) {
        refuse("an image has more than 2^31 - 1 elements");
    }
    if (d.element != element_type::float32 && d.element != element_type::float64) {
        refuse("elements must be float or double");
    }
    if (which != convolution_product::forward && d.after != epilogue::none) {
        refuse("only the forward product has an epilogue");
    }
}

inline std::unique_ptr<convolution_implementation> make_convolution(convolution_product which,
                                                                    const convolution_description& d) {
    check(d, which);
    if (!has_backend(d.with)) {
        throw unimplemented_error(describe(d) + ": this build has no backend " + name_of(d.with) +
                                  "; build with TENON_WITH_ONEDNN=1");
    }
    if (d.with == backend::libxsmm)
        throw unimplemented_error(describe(d) + ": libxsmm has products of matrices alone here; use backend::best");
    if (d.with != backend::eigen)
        if (auto made = make_onednn_convolution(which, d)) return made;
    if (d.with == backend::onednn)
        throw unimplemented_error(describe(d) + ": oneDNN has no such product; use backend::best");
    return make_eigen_convolution(which, d);
}

} // namespace detail

TENON_INLINE convolution_plan::convolution_plan(std::unique_ptr<convolution_implementation> made) noexcept :
    implementation_(std::move(made)) {}
TENON_INLINE convolution_plan::~convolution_plan() = default;
TENON_INLINE convolution_plan::convolution_plan(convolution_plan&&) noexcept = default;
TENON_INLINE convolution_plan& convolution_plan::operator=(convolution_plan&&) noexcept = default;
TENON_INLINE backend convolution_plan::chosen() const noexcept { return implementation_->chosen; }
TENON_INLINE std::size_t convolution_plan::scratch_bytes() const noexcept { return implementation_->scratch_bytes(); }

TENON_INLINE convolution::convolution(const convolution_description& d) :
    convolution_plan(detail::make_convolution(detail::convolution_product::forward, d)) {}
TENON_INLINE void convolution::run(const void* x, const void* w, const void* bias, void* y, thread_pool* pool) const {
    implementation_->run(x, w, const_cast<void*>(bias), y, pool);
}

TENON_INLINE convolution_backward_data::convolution_backward_data(const convolution_description& d) :
    convolution_plan(detail::make_convolution(detail::convolution_product::backward_data, d)) {}
TENON_INLINE void convolution_backward_data::run(const void* dy, const void* w, void* dx, thread_pool* pool) const {
    implementation_->run(dy, w, nullptr, dx, pool);
}

TENON_INLINE convolution_backward_weights::convolution_backward_weights(const convolution_description& d) :
    convolution_plan(detail::make_convolution(detail::convolution_product::backward_weights, d)) {}
TENON_INLINE void convolution_backward_weights::run(const void* x, const void* dy, void* dw, void* dbias,
                                                    thread_pool* pool) const {
    implementation_->run(x, dy, dbias, dw, pool);
}

} // namespace tenon::dense
