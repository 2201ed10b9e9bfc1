#pragma once

#include <algorithm>
#include <map>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/einsum.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/solve.hpp>

/// Operators of ONNX that are products of matrices and sums of products, and what is computed of whole matrices.

namespace tenon::detail::onnx {

inline void matmul(const call& c) { c.give(product_of_agreed(c, c.x(0), c.x(1))); }

inline void gemm(const call& c) {
    const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
    any_tensor y = untyped::matmul(c.x(0), c.x(1), c.integer("transA", 0) != 0, c.integer("transB", 0) != 0);
    if (alpha != 1) y = untyped::multiply(y, scalar_like(alpha, y));
    if (c.has(2) && beta != 0) {
        const any_tensor b = c.x(2);
        y = untyped::add(y, beta == 1 ? b : untyped::multiply(b, scalar_like(beta, b)));
    }
    c.give(y);
}

inline void einsum(const call& c) {
    std::vector<any_tensor> xs;
    for (int i = 0; i < c.inputs(); ++i) xs.push_back(c.x(i));
    // A letter has one size.
    std::string said = c.text("equation", "");
    said.erase(std::remove(said.begin(), said.end(), ' '), said.end());
    std::map<char, std::pair<std::size_t, int>> first;
    std::size_t at = 0;
    int axis = 0;
    for (const char letter : said.substr(0, said.find('-'))) {
        if (letter == '.') break;
        if (letter == ',') ++at, axis = 0;
        else if (at < xs.size() && axis < xs[at].rank()) {
            const auto [known, is_new] = first.emplace(letter, std::pair(at, axis));
            if (const auto [other, there] = known->second; !is_new && other != at)
                agree(c, xs[other], there, xs[at], axis);
            ++axis;
        }
    }
    c.give(untyped::einsum(c.text("equation", ""), xs));
}
inline void determinant(const call& c) {
    const any_tensor x = c.x();
    const element_type wide = x.element() == element_type::float64 ? x.element() : element_type::float32;
    c.give(untyped::cast(untyped::determinant(untyped::cast(x, wide)), x.element()));
}

TENON_INLINE std::vector<entry> layer_operators() {
    return {{"Det", onnx::determinant}, {"Einsum", onnx::einsum}, {"Gemm", gemm}, {"MatMul", onnx::matmul}};
}

} // namespace tenon::detail::onnx
