#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <tenon/dense/convolution_description.hpp>

namespace tenon::dense {

struct convolution_implementation {
    explicit convolution_implementation(backend b) : chosen(b) {}
    virtual ~convolution_implementation() = default;
    /// Operands as in the public classes' run: (x, w, bias, y), (dy, w, null, dx) or (x, dy, dbias, dw).
    virtual void run(const void* first, const void* second, void* third, void* result, thread_pool* pool) const = 0;
    virtual std::size_t scratch_bytes() const noexcept = 0;

    backend chosen;
};

namespace detail {

enum class convolution_product : std::uint8_t { forward, backward_data, backward_weights };

/// The convolution in words, for messages.
TENON_INLINE std::string describe(const convolution_description& d);

/// By Eigen: any of them.
TENON_INLINE std::unique_ptr<convolution_implementation> make_eigen_convolution(convolution_product which,
                                                                                const convolution_description& d);

/// Null where this build has no oneDNN or oneDNN lacks the product.
TENON_INLINE std::unique_ptr<convolution_implementation> make_onednn_convolution(convolution_product which,
                                                                                 const convolution_description& d);

} // namespace detail
} // namespace tenon::dense
