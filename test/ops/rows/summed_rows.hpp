#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <tenon/graph/scope.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/runtime/session/session.hpp>

#include "own_graph.hpp"
#include "ops/random/random_arrays.hpp"

/// Sums that are normalised, as before the parts of a transformer's blocks: steps in which the planner joins what it can, beside the same
/// node by node.

namespace tenon::test {

struct summed_rows {
    extents sizes;
    bool has_bias = false; ///< x + (y + bias)
    bool is_read = false;  ///< the sum, too
    bool is_fetched = false;
    bool has_gradient = false;
    bool is_circle = false; ///< what the norm is multiplied by is computed of the sum

    std::string shown() const {
        return to_string(sizes) + (has_bias ? ", bias" : "") + (is_read ? ", read" : "") +
               (is_fetched ? ", fetched" : "") + (has_gradient ? ", gradient" : "") + (is_circle ? ", circle" : "");
    }
};

/// What a step gives, and which kernels ran.
struct summed_rows_step {
    std::vector<any_array> values;
    std::string order;
    int nodes = 0;
    bool runs(const std::string& op) const { return order.find("(" + op + ")") != std::string::npos; }
};

template <class T>
summed_rows_step run_summed_rows(const summed_rows& of, const char* device, bool fuse, std::uint64_t seed) {
    const own_graph g;
    std::vector<fed_value> feeds;
    const extents along{of.sizes[of.sizes.rank() - 1]};
    const auto fed = [&](const extents& s) {
        feeds.push_back({untyped::placeholder(element_type_of<T>, s), random_array<T>(s, ++seed)});
        return feeds.back().tensor;
    };
    const any_tensor x = fed(of.sizes), y = fed(of.sizes), bias = fed(along), gamma = fed(along), beta = fed(along),
                     dn = fed(of.sizes), ds = fed(of.sizes);
    std::vector<any_tensor> fetches;
    {
        const device_scope there{device_name(std::string(device))};
        using namespace untyped;
        // As layers leave them: each a node.
        const any_tensor sum = add(x, of.has_bias ? add(y, bias) : y);
        const any_tensor read = of.is_read ? tanh(sum) : sum;
        any_tensor gain = gamma;
        if (of.is_circle) {
            index_list rows;
            for (int i = 0; i + 1 < sum.rank(); ++i) rows.push_back(i);
            gain = rows.count == 0 ? multiply(gamma, sum) : multiply(gamma, mean(sum, rows));
        }
        const any_tensor norm = layer_norm(sum, gain, beta, 1e-3);
        fetches.push_back(norm);
        if (of.is_read) fetches.push_back(read);
        if (of.is_fetched) fetches.push_back(sum);
        if (of.has_gradient)
            for (const any_tensor& d : detail::add_gradients({norm, sum}, {x, y, bias, gamma, beta}, {dn, ds}))
                if (d.node()) fetches.push_back(multiply(d, 2));
    }
    session s(g, {.fuse = fuse});
    const auto again = [&] {
        std::vector<fed_value> all;
        for (const fed_value& f : feeds) all.push_back({f.tensor, f.value.share()});
        return all;
    };
    summed_rows_step step;
    const step_report r = s.report_untyped(again(), fetches);
    for (const std::string& line : r.order) step.order += line + "\n";
    step.nodes = r.nodes;
    step.values = s.run_untyped(again(), fetches);
    return step;
}

/// "" where both have the same bits.
inline std::string difference_of_steps(const summed_rows_step& a, const summed_rows_step& b) {
    for (std::size_t i = 0; i < a.values.size(); ++i)
        if (std::memcmp(a.values[i].data(), b.values[i].data(), a.values[i].bytes()) != 0)
            return "result " + std::to_string(i) + " differs:\n" + a.order + "\n" + b.order;
    return a.values.size() == b.values.size() ? "" : "more results";
}

/// Every kind of such a step.
template <class F> void each_summed_rows(const std::vector<extents>& sizes, const F& f) {
    for (const extents& s : sizes)
        for (int kind = 0; kind < 32; ++kind)
            f(summed_rows{s, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0, (kind & 8) != 0, (kind & 16) != 0});
}

} // namespace tenon::test
