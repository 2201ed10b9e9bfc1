#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/tensor.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/runtime/session/session.hpp>

/// Gradients against central differences, for tensors of double whose shapes are known at run time.

namespace tenon::test {

/// What is compared: the sum of the elements of `results`, each times a weight of its own, as a function of `of`.
struct slopes {
    std::vector<any_tensor> gradients; ///< what tenon::gradients gives
    std::vector<any_tensor> weights;   ///< placeholders, one for each result
    std::string defect;                ///< empty where each element agrees with the difference, else the worst one
};

/// A weight: a number that every floating type holds, other for each element.
inline double weight(std::int64_t i) { return 0.5 + static_cast<double>(i * 5 % 9) / 8; }

/// All tensors are of the session's graph; `feeds` holds a value for each of `of`, and for what else is needed.
inline slopes compare_slopes(session& s, std::vector<fed_value>& feeds, const std::vector<any_tensor>& results,
                             const std::vector<any_tensor>& of) {
    const auto run = [&](const std::vector<any_tensor>& fetched) {
        std::vector<fed_value> f;
        for (const fed_value& v : feeds) f.push_back({v.tensor, v.value.share()});
        return s.run_untyped(std::move(f), fetched);
    };
    const auto value_of = [&](const any_tensor& t) -> any_array& {
        for (fed_value& v : feeds)
            if (v.tensor.output() == t.output()) return v.value;
        throw std::runtime_error("compare_slopes: " + t.name() + " is not fed");
    };
    slopes r;
    any_tensor loss;
    for (const any_array& a : run(results)) { // the weights are fed, since sizes may be known in the run only
        const any_tensor& y = results[r.weights.size()];
        any_array w(element_type::float64, a.extents());
        for (std::int64_t i = 0; i < w.elements(); ++i) w.data<double>()[i] = weight(i);
        r.weights.push_back(untyped::placeholder(element_type::float64, y.extents()));
        feeds.push_back({r.weights.back(), std::move(w)});
        const any_tensor part = untyped::multiply(y, r.weights.back());
        const any_tensor total = part.rank() == 0 ? part : untyped::sum(part);
        loss = loss.node() ? untyped::add(loss, total) : total;
    }
    r.gradients = tenon::gradients(loss, of);
    const std::vector<any_array> exact = run(r.gradients);
    double worst = 1;
    for (std::size_t k = 0; k < of.size(); ++k) {
        any_array& at = value_of(of[k]);
        const std::string what = "input " + std::to_string(k) + " " + to_string(at.type());
        if (exact[k].extents() != at.extents()) {
            r.defect = what + ": the gradient is " + to_string(exact[k].type());
            return r;
        }
        double* x = at.data<double>();
        for (std::int64_t i = 0; i < at.elements(); ++i) {
            const double here = x[i], h = 1e-6 * std::fmax(1.0, std::fabs(here));
            x[i] = here + h;
            const double above = run({loss})[0].data<double>()[0];
            x[i] = here - h;
            const double below = run({loss})[0].data<double>()[0];
            x[i] = here;
            const double wanted = (above - below) / (2 * h), found = exact[k].data<double>()[i];
            // Rounding of the loss limits a difference to about 1e-16 / h.
            const double allowed = 1e-7 + 1e-6 * std::fabs(wanted) + 2e-9 * std::fabs(above);
            const double error =
                std::isfinite(found) && std::isfinite(wanted) ? std::fabs(found - wanted) / allowed : 1e300;
            if (error <= worst) continue;
            worst = error;
            char text[200];
            std::snprintf(text, sizeof text, ", element %lld: gradient %.12g, central difference %.12g",
                          static_cast<long long>(i), found, wanted);
            r.defect = what + text;
        }
    }
    return r;
}

} // namespace tenon::test
