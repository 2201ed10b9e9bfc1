#pragma once

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/indexing.hpp>

/// Operators that ONNX's first sets had and later ones have not, as models of those days have them.

namespace tenon::detail::onnx {

inline any_tensor line(const any_tensor& x, double factor, double offset) {
    return untyped::add(untyped::multiply(x, scalar_like(factor, x)), scalar_like(offset, x));
}
inline void affine(const call& c) { c.give(line(c.x(), c.real("alpha", 1), c.real("beta", 0))); }
inline void scale(const call& c) { c.give(line(c.x(), c.real("scale", 1), 0)); }
inline void scaled_tanh(const call& c) {
    const any_tensor y = untyped::tanh(line(c.x(), c.real("beta", 1), 0));
    c.give(untyped::multiply(y, scalar_like(c.real("alpha", 1), y)));
}
inline void parametric_softplus(const call& c) {
    const any_tensor y = untyped::softplus(line(c.x(), c.real("beta", 1), 0));
    c.give(untyped::multiply(y, scalar_like(c.real("alpha", 1), y)));
}

// An image times a number, and a number added for each channel.
inline void scale_image(const call& c) {
    const any_tensor x = c.last();
    const attribute_message* bias = c.attribute("bias");
    any_tensor y = line(x, c.real("scale", 1), 0);
    if (bias && !bias->floats.empty()) {
        const auto channels = static_cast<std::int64_t>(bias->floats.size());
        y = untyped::add(y, float_constant({bias->floats.begin(), bias->floats.end()}, {channels}, x.element()));
    }
    c.give_last(y);
}

// An image without its border: left, top, right, bottom; or so many rows and columns behind that.
inline void crop(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() != 4) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 4 are needed");
    const std::vector<std::int64_t> border = c.integers("border"), sizes = c.integers("scale");
    if (border.size() != 4 || (!sizes.empty() && sizes.size() != 2))
        c.wrong("it needs a border of 4 numbers, and a scale of 2 or none");
    const auto side = [&](int axis, std::size_t before, std::size_t after, std::size_t size) -> range {
        const std::int64_t n = number_of(c, x.extents()[axis], "a size of the image");
        const std::int64_t from = within(c, border[before], 0, n, "a border");
        if (!sizes.empty()) return {from, from + within(c, sizes[size], 0, n - from, "a size"), 1};
        return {from, n - within(c, border[after], 0, n - from, "a border"), 1};
    };
    c.give(untyped::slice(x, {{}, {}, side(2, 1, 3, 0), side(3, 0, 2, 1)}));
}

TENON_INLINE std::vector<entry> forgotten_operators() {
    return {{"Affine", affine},           {"Crop", crop},
            {"ImageScaler", scale_image}, {"ParametricSoftplus", parametric_softplus},
            {"Scale", onnx::scale},       {"ScaledTanh", scaled_tanh}};
}

} // namespace tenon::detail::onnx
