// x with a x = b for symmetric, positive definite a, by conjugate gradients.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;

auto conjugate_gradient(const auto& a, const auto& b, double tolerance) {
    const auto on = [&](const auto&, const auto& r, const auto&) { return tn::norm<2>(r) > tolerance; };
    const auto body = [&](const auto& x, const auto& r, const auto& p) {
        const auto ap = matmul(a, p);
        const auto step = matmul(r, r) / matmul(p, ap);
        const auto left = r - step * ap;
        return std::tuple(x + step * p, left, left + matmul(left, left) / matmul(r, r) * p);
    };
    return std::get<0>(tn::while_loop(on, body, tn::zeros_like(b), b, b));
}

} // namespace models
