#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ops/rows/attention_formula.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/attention.hpp>

#include "../gpu_run.hpp"

/// Attention on the GPU, and its formula in float64.

namespace tenon::test {

/// y, the logarithms and the gradients of q, k and v, and of a mask as large as the scores.
inline std::vector<any_array> attended_on_gpu(const attention_problem& p, const attention_operands& o) {
    std::vector<const any_array*> values{&o.q, &o.k, &o.v, &o.dy};
    if (!p.lengths.empty()) values.push_back(&o.lengths);
    if (!p.mask.empty()) values.push_back(&o.mask);
    return run_on_gpu(values, [&](const auto& in) {
        const any_tensor lengths = p.lengths.empty() ? any_tensor() : in[4],
                         mask = p.mask.empty() ? any_tensor() : in.back();
        const any_tensor y =
            untyped::attention(in[0], in[1], in[2], lengths, mask, attention_op::attributes{p.causal, p.scale});
        std::vector<any_tensor> out{y, any_tensor({y.node(), 1})}, xs{in[0], in[1], in[2]};
        if (mask.node()) xs.push_back(mask);
        for (const any_tensor& d : tenon::detail::add_gradients({y}, xs, {in[3]})) out.push_back(d);
        return out;
    });
}

/// "" where these results are the formula's, up to rounding.
template <class T>
std::string difference_from_formula(const attention_problem& p, const attention_operands& o,
                                    const std::vector<any_array>& found) {
    const attention_numbers wanted = attention_formula<T>(p, o.q, o.k, o.v, o.dy, o.mask);
    const std::vector<double>* const all[] = {&wanted.y,  &wanted.logs, &wanted.dq,
                                              &wanted.dk, &wanted.dv,   &wanted.dmask};
    for (std::size_t i = 0; i < found.size(); ++i) {
        double most = 1;
        for (const double x : *all[i])
            if (std::isfinite(x)) most = std::max(most, std::fabs(x));
        const double allowed = most * (2 * spacing(o.q.element()) + 40 * spacing(found[1].element()));
        const std::string text = difference(found[i], *all[i], [&](std::int64_t) { return allowed; });
        if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
    }
    return "";
}

} // namespace tenon::test
