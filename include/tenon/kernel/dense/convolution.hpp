#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tenon/core/element_type.hpp>
#include <tenon/kernel/dense/backend.hpp>

namespace tenon {
class thread_pool;
}

namespace tenon::dense {

/// A 2-D convolution (cross-correlation, as in all of deep learning) of fixed sizes:
///
///     y[b, i, j, o] = f(sum over p, q, c of x[b, u, v, c] * w[p, q, c, o] + bias[o])
///     u = i * stride_h + p * dilation_h - pad_top,  v = j * stride_w + q * dilation_w - pad_left
///
/// x: [batch, height, width, in_channels], zero outside; w: [kernel_h, kernel_w, in_channels / groups,
/// out_channels]; y: [batch, out_height(), out_width(), out_channels]; bias: [out_channels]. With groups > 1
/// output channel o sees the in_channels / groups channels of its group, o / (out_channels / groups). All are
/// dense and in that order.
struct convolution_description {
    std::int64_t batch = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t in_channels = 0;
    std::int64_t kernel_h = 1;
    std::int64_t kernel_w = 1;
    std::int64_t out_channels = 0;
    std::int64_t stride_h = 1;
    std::int64_t stride_w = 1;
    std::int64_t dilation_h = 1;
    std::int64_t dilation_w = 1;
    std::int64_t pad_top = 0;
    std::int64_t pad_bottom = 0;
    std::int64_t pad_left = 0;
    std::int64_t pad_right = 0;
    std::int64_t groups = 1;
    /// Of the forward product; none for the other two.
    epilogue after = epilogue::none;
    /// float32 or float64.
    element_type element = element_type::float32;
    /// The most threads to divide one product among.
    int threads = 1;
    backend with = backend::best;

    constexpr std::int64_t out_height() const noexcept {
        return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1;
    }
    constexpr std::int64_t out_width() const noexcept {
        return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1;
    }
};

/// One of a convolution's three products, planned once and run many times. Like gemm: memory is taken when it
/// is made, and it may be run by several threads at once.
class convolution_plan {
public:
    ~convolution_plan();
    convolution_plan(convolution_plan&&) noexcept;
    convolution_plan& operator=(convolution_plan&&) noexcept;

    backend chosen() const noexcept;
    std::size_t scratch_bytes() const noexcept;

    struct implementation;

protected:
    explicit convolution_plan(std::unique_ptr<implementation> made) noexcept;

    std::unique_ptr<implementation> implementation_;
};

/// y from x, w and, when the epilogue adds one, bias.
///
/// All three throw, when made, invalid_argument_error for sizes that make no convolution, and
/// unimplemented_error when `with` names a backend that this build lacks or that lacks the product. Operands
/// of run must not overlap results.
class convolution : public convolution_plan {
public:
    explicit convolution(const convolution_description& description);
    void run(const void* x, const void* w, const void* bias, void* y, thread_pool* pool) const;
};

/// dx, the gradient in x, from that in y: dx[b, u, v, c] = sum of dy[b, i, j, o] * w[p, q, c, o] over the i,
/// j, p, q, o that meet there.
class convolution_backward_data : public convolution_plan {
public:
    explicit convolution_backward_data(const convolution_description& description);
    void run(const void* dy, const void* w, void* dx, thread_pool* pool) const;
};

/// dw, the gradient in w, from that in y, and, unless `dbias` is null, dbias[o] = sum of dy[b, i, j, o] over
/// b, i, j.
class convolution_backward_weights : public convolution_plan {
public:
    explicit convolution_backward_weights(const convolution_description& description);
    void run(const void* x, const void* dy, void* dw, void* dbias, thread_pool* pool) const;
};

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/kernel/dense/convolution.ipp>
#endif
