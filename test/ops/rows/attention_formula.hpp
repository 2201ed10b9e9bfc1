#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ops/random/random_arrays.hpp>

/// Attention by its formula in double, for what is compared with it.

namespace tenon::test {

struct attention_problem {
    std::int64_t batch = 1, heads = 1, key_heads = 1, n = 0, m = 0, d = 1, e = 1;
    bool causal = false;
    double scale = 0;
    std::vector<std::int32_t> lengths = {}; ///< of each of the batch; empty: all keys count
    std::vector<std::int64_t> mask = {}; ///< sizes of what is added to scores, from the last on; empty: there is none

    extents of_queries(std::int64_t size) const { return {batch, heads, n, size}; }
    extents of_keys(std::int64_t size) const { return {batch, key_heads, m, size}; }
    std::int64_t seen(std::int64_t b, std::int64_t i) const {
        const std::int64_t all = lengths.empty() ? m : lengths[static_cast<std::size_t>(b)];
        return causal ? std::min(all, i + 1) : all;
    }
};

/// The formula and its gradients, one query after another, of elements of type T.
struct attention_numbers {
    std::vector<double> y, dq, dk, dv, logs, dmask; ///< dmask: as large as the scores
};
template <class T>
attention_numbers attention_formula(const attention_problem& p, const any_array& q, const any_array& k,
                                    const any_array& v, const any_array& dy, const any_array& mask = {}) {
    const auto at = [](const any_array& a, std::int64_t i) { return static_cast<double>(a.data<T>()[i]); };
    const auto zeros = [](const any_array& a) { return std::vector<double>(static_cast<std::size_t>(a.elements())); };
    attention_numbers r{zeros(dy), zeros(q), zeros(k), zeros(v), {}, {}};
    r.dmask.resize(static_cast<std::size_t>(p.batch * p.heads * p.n * p.m));
    const auto added = [&](std::int64_t row, std::int64_t j) {
        const std::int64_t places[] = {j, row % p.n, row / p.n % p.heads, row / p.n / p.heads};
        std::int64_t i = 0, step = 1;
        for (std::size_t d = 0; d < p.mask.size(); ++d) {
            const std::int64_t size = p.mask[p.mask.size() - 1 - d];
            i += size == 1 ? 0 : places[d] * step;
            step *= size;
        }
        return p.mask.empty() ? 0.0 : at(mask, i);
    };
    const auto in = [](std::vector<double>& x, std::int64_t i) -> double& { return x[static_cast<std::size_t>(i)]; };
    const double scale = p.scale != 0 ? p.scale : p.d == 0 ? 0 : 1 / std::sqrt(static_cast<double>(p.d));
    for (std::int64_t row = 0; row < p.batch * p.heads * p.n; ++row) {
        const std::int64_t head = row / p.n, b = head / p.heads, of = head / (p.heads / p.key_heads) * p.m;
        const std::int64_t seen = p.seen(b, row % p.n);
        std::vector<double> x(static_cast<std::size_t>(seen)), w(x.size()), dw(x.size());
        double most = -1e300, sum = 0, along = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
            for (std::int64_t l = 0; l < p.d; ++l) in(x, j) += scale * at(q, row * p.d + l) * at(k, (of + j) * p.d + l);
            in(x, j) += added(row, j);
            most = std::max(most, in(x, j));
        }
        for (std::int64_t j = 0; j < seen; ++j) sum += in(w, j) = std::exp(in(x, j) - most);
        for (std::int64_t j = 0; j < seen; ++j) {
            in(w, j) /= sum > 0 ? sum : 1;
            for (std::int64_t c = 0; c < p.e; ++c) {
                in(r.y, row * p.e + c) += in(w, j) * at(v, (of + j) * p.e + c);
                in(r.dv, (of + j) * p.e + c) += in(w, j) * at(dy, row * p.e + c);
                in(dw, j) += at(dy, row * p.e + c) * at(v, (of + j) * p.e + c);
            }
            along += in(w, j) * in(dw, j);
        }
        r.logs.push_back(seen == 0 ? -HUGE_VAL : most + std::log(sum));
        for (std::int64_t j = 0; j < seen; ++j) {
            const double dx = in(r.dmask, row * p.m + j) = in(w, j) * (in(dw, j) - along);
            for (std::int64_t l = 0; l < p.d; ++l) {
                in(r.dq, row * p.d + l) += dx * scale * at(k, (of + j) * p.d + l);
                in(r.dk, (of + j) * p.d + l) += dx * scale * at(q, row * p.d + l);
            }
        }
    }
    return r;
}

struct attention_operands {
    any_array q, k, v, dy, lengths, mask;
    template <class T> static attention_operands of(const attention_problem& p) {
        attention_operands o{random_array<T>(p.of_queries(p.d), 1),
                             random_array<T>(p.of_keys(p.d), 2),
                             random_array<T>(p.of_keys(p.e), 3),
                             random_array<T>(p.of_queries(p.e), 4),
                             {},
                             {}};
        if (!p.mask.empty()) { // of which every fifth hides its key, and the first row or two all
            extents sizes;
            for (const std::int64_t n : p.mask) sizes.push_back(n);
            o.mask = random_array<T>(sizes, 5);
            for (std::int64_t i = 0; i < o.mask.elements(); ++i)
                if (i % 5 == 1 || (p.mask.size() > 1 && i < p.mask.back() + 3))
                    o.mask.template data<T>()[i] = static_cast<T>(-HUGE_VALF);
        }
        if (p.lengths.empty()) return o;
        o.lengths = any_array(element_type::int32, {p.batch});
        std::copy(p.lengths.begin(), p.lengths.end(), o.lengths.data<std::int32_t>());
        return o;
    }
};

} // namespace tenon::test
