#pragma once

#include <cstddef>
#include <memory>

#include <tenon/dense/convolution_description.hpp>

namespace tenon::dense {

struct convolution_implementation; // one backend's way to run a product

/// One of a convolution's three products, planned once and run many times. Like gemm: memory is taken when it
/// is made, and it may be run by several threads at once.
class convolution_plan {
public:
    ~convolution_plan();
    convolution_plan(convolution_plan&&) noexcept;
    convolution_plan& operator=(convolution_plan&&) noexcept;

    backend chosen() const noexcept;
    std::size_t scratch_bytes() const noexcept;

protected:
    explicit convolution_plan(std::unique_ptr<convolution_implementation> made) noexcept;

    std::unique_ptr<convolution_implementation> implementation_;
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
#include <tenon/dense/convolution.ipp>
#endif
