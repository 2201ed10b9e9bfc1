#pragma once

#include <numeric>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Support vector machines (ai.onnx.ml): how alike each row is to each vector, weighed.

namespace tenon::detail::onnx {

inline any_tensor float_matrix(const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
    return float_constant(values, {rows, columns}, element_type::float32);
}

// [n, vectors].
inline any_tensor likeness(const call& c, const any_tensor& x, std::int64_t vectors) {
    const std::vector<double> all = numbers_of(c, "support_vectors", ""), p = numbers_of(c, "kernel_params", "");
    const auto count = static_cast<std::int64_t>(all.size());
    if (count == 0 || count % vectors != 0)
        c.wrong("it has " + std::to_string(count) + " numbers for " + std::to_string(vectors) + " support vectors");
    const any_tensor v = float_matrix(all, vectors, count / vectors);
    const std::string kernel = c.text("kernel_type", "LINEAR");
    if (kernel != "LINEAR" && p.size() != 3) c.wrong("its kernel_params are " + std::to_string(p.size()) + ", not 3");
    if (kernel == "RBF") {
        const any_tensor apart = untyped::subtract(untyped::expand_dims(x, {1}), v);
        return untyped::exp(untyped::multiply(untyped::sum(untyped::square(apart), {2}), scalar_like(-p[0], x)));
    }
    const any_tensor product = untyped::matmul(x, v, false, true);
    if (kernel == "LINEAR") return product;
    const any_tensor y = untyped::add(untyped::multiply(product, scalar_like(p[0], x)), scalar_like(p[1], x));
    if (kernel == "POLY") return untyped::pow(y, scalar_like(p[2], x));
    if (kernel != "SIGMOID") c.wrong("its kernel_type is \"" + kernel + '"');
    return untyped::tanh(y);
}

inline std::vector<double> offsets(const call& c, std::int64_t least) {
    std::vector<double> rho = numbers_of(c, "rho", "");
    if (static_cast<std::int64_t>(rho.size()) < least)
        c.wrong("it has " + std::to_string(rho.size()) + " numbers rho, and needs " + std::to_string(least));
    rho.resize(static_cast<std::size_t>(least));
    return rho;
}
inline void require_coefficients(const call& c, const std::vector<double>& w, std::int64_t wanted) {
    if (static_cast<std::int64_t>(w.size()) != wanted || w.empty())
        c.wrong("it has " + std::to_string(w.size()) + " coefficients, and needs " + std::to_string(wanted));
}
// Without support vectors: rows are weighed themselves.
inline any_tensor weighed_rows(const call& c, const any_tensor& x, const std::vector<double>& w, std::int64_t results) {
    const auto count = static_cast<std::int64_t>(w.size());
    if (count == 0 || count % results != 0)
        c.wrong("it has " + std::to_string(count) + " coefficients for " + std::to_string(results) + " results");
    return untyped::add(untyped::matmul(x, float_matrix(w, results, count / results), false, true),
                        scalar_like(offsets(c, 1)[0], x));
}

inline void vector_regression(const call& c) { // SVMRegressor
    const any_tensor x = float_rows(c);
    const std::int64_t vectors = within(c, c.integer("n_supports", 0), 0, max_computed, "n_supports");
    const std::vector<double> w = numbers_of(c, "coefficients", "");
    any_tensor y;
    if (vectors == 0) y = weighed_rows(c, x, w, 1);
    else {
        require_coefficients(c, w, vectors);
        y = untyped::add(untyped::matmul(likeness(c, x, vectors), float_matrix(w, vectors, 1)),
                         scalar_like(offsets(c, 1)[0], x));
    }
    if (c.integer("one_class", 0) != 0)
        y = untyped::select(untyped::greater(y, scalar_like(0, y)), scalar_like(1, y), scalar_like(-1, y));
    c.give(transformed_scores(c, y, c.text("post_transform", "NONE")));
}

// Pairs of classes, in the order of their scores.
struct class_pairs {
    std::int64_t classes;
    std::int64_t count() const { return classes * (classes - 1) / 2; }
    template <class F> void each(F f) const {
        for (std::int64_t i = 0, p = 0; i < classes; ++i)
            for (std::int64_t j = i + 1; j < classes; ++j) f(i, j, p++);
    }
    // [pairs, classes]: 1 where a class is the first of a pair, -1 where it is the second.
    any_tensor won() const {
        std::vector<double> all(static_cast<std::size_t>(count() * classes));
        each([&](std::int64_t i, std::int64_t j, std::int64_t p) {
            all[static_cast<std::size_t>(p * classes + i)] = 1;
            all[static_cast<std::size_t>(p * classes + j)] = -1;
        });
        return float_matrix(all, count(), classes);
    }
};

// Chances of classes, [n, classes], that fit chances of pairs, [n, pairs], best, as far as other programs go: to 0.005 / classes, or 100 rounds
// (T.-F. Wu, C.-J. Lin, R. Weng, "Probability estimates for multi-class classification by pairwise coupling", 2004, algorithm 2).
inline any_tensor coupled_chances(const class_pairs& pairs, const any_tensor& of_first) {
    const std::int64_t k = pairs.classes, most = 100;
    const any_tensor one = scalar_like(1, of_first);
    // Chance of class t against class u, 0 against itself.
    std::vector<std::int64_t> places(static_cast<std::size_t>(k * k), 2 * pairs.count());
    pairs.each([&](std::int64_t i, std::int64_t j, std::int64_t p) {
        places[static_cast<std::size_t>(i * k + j)] = p;
        places[static_cast<std::size_t>(j * k + i)] = p + pairs.count();
    });
    const any_tensor nothing = untyped::multiply(part_along(of_first, 1, 0, 1), scalar_like(0, of_first)),
                     all = untyped::concat({of_first, untyped::subtract(one, of_first), nothing}, 1);
    const any_tensor r = untyped::gather(all, integer_constant(places, {k, k}), 1); // [n, k, k]
    const any_tensor squares = untyped::sum(untyped::square(r), {1}, true);
    const any_tensor q = untyped::subtract(untyped::multiply(untyped::eye(r.element(), k), squares),
                                           untyped::multiply(r, untyped::transpose(r, {0, 2, 1})));
    std::vector<any_tensor> row, self; // of q: [n, k] and [n, 1]
    for (std::int64_t t = 0; t < k; ++t) {
        row.push_back(untyped::squeeze(part_along(q, 1, t, t + 1), {1}));
        self.push_back(part_along(row.back(), 1, t, t + 1));
    }
    const any_tensor even = untyped::multiply(untyped::ones_like(row[0]), scalar_like(1.0 / static_cast<double>(k), r));
    return untyped::while_loop(
        [&](const std::vector<any_tensor>& x) { return untyped::logical_and(untyped::less(x[0], most), x[1]); },
        [&](const std::vector<any_tensor>& x) {
            any_tensor p = x[2], qp = untyped::sum(untyped::multiply(q, untyped::expand_dims(p, {1})), {2}),
                       pqp = untyped::sum(untyped::multiply(p, qp), {1}, true);
            const any_tensor open =
                untyped::greater_equal(untyped::max(untyped::abs(untyped::subtract(qp, pqp)), {1}, true),
                                       scalar_like(0.005 / static_cast<double>(k), p));
            for (std::int64_t t = 0; t < k; ++t) {
                const any_tensor here = part_along(qp, 1, t, t + 1), own = self[static_cast<std::size_t>(t)],
                                 more = untyped::divide(untyped::subtract(pqp, here), own),
                                 sum = untyped::add(more, one);
                std::vector<double> at(static_cast<std::size_t>(k));
                at[static_cast<std::size_t>(t)] = 1;
                p = untyped::divide(untyped::add(p, untyped::multiply(more, float_matrix(at, 1, k))), sum);
                const any_tensor gained =
                    untyped::add(untyped::multiply(more, own), untyped::multiply(scalar_like(2, here), here));
                pqp = untyped::divide(untyped::add(pqp, untyped::multiply(more, gained)), untyped::square(sum));
                qp = untyped::divide(untyped::add(qp, untyped::multiply(more, row[static_cast<std::size_t>(t)])), sum);
            }
            return std::vector<any_tensor>{untyped::add(x[0], 1), untyped::any(open), untyped::select(open, p, x[2])};
        },
        {untyped::scalar(0, element_type::int64), untyped::scalar(1, element_type::boolean), even})[2];
}

inline void vector_classification(const call& c) { // SVMClassifier
    const any_tensor x = float_rows(c);
    const attribute_message* const texts = c.attribute("classlabels_strings");
    const std::size_t labels =
        texts && !texts->strings.empty() ? texts->strings.size() : c.integers("classlabels_ints").size();
    const class_pairs pairs{within(c, static_cast<std::int64_t>(labels), 2, 200, "the number of labels")};
    const std::string how = c.text("post_transform", "NONE");
    const std::vector<double> w = numbers_of(c, "coefficients", "");
    const std::vector<std::int64_t> counts = c.integers("vectors_per_class");
    std::vector<std::int64_t> begin{0}; // of each class's vectors
    for (const std::int64_t n : counts)
        begin.push_back(begin.back() + within(c, n, 0, max_computed, "a number of vectors"));
    const std::int64_t vectors = begin.back();
    if (vectors == 0) {
        const any_tensor scores = weighed_rows(c, x, w, pairs.classes);
        give_labels(c, scores);
        return c.give(transformed_scores(c, scores, how), 1);
    }
    if (static_cast<std::int64_t>(counts.size()) != pairs.classes)
        c.wrong("it has " + std::to_string(counts.size()) + " vectors_per_class for " + std::to_string(labels) +
                " labels");
    require_coefficients(c, w, (pairs.classes - 1) * vectors);
    if (vectors * pairs.count() > max_folded) c.refuse("as many support vectors and classes as these");
    // Row i of the coefficients weighs vectors against class i, or i + 1 where they are of class i or of one before it.
    std::vector<double> weights(static_cast<std::size_t>(vectors * pairs.count()));
    pairs.each([&](std::int64_t i, std::int64_t j, std::int64_t p) {
        const auto put = [&](std::int64_t of, std::int64_t row) {
            for (auto v = begin[static_cast<std::size_t>(of)]; v < begin[static_cast<std::size_t>(of + 1)]; ++v)
                weights[static_cast<std::size_t>(v * pairs.count() + p)] =
                    w[static_cast<std::size_t>(row * vectors + v)];
        };
        put(i, j - 1);
        put(j, i);
    });
    const any_tensor scores =
        untyped::add(untyped::matmul(likeness(c, x, vectors), float_matrix(weights, vectors, pairs.count())),
                     float_matrix(offsets(c, pairs.count()), 1, pairs.count()));
    const any_tensor won = untyped::cast(untyped::greater(scores, scalar_like(0, scores)), element_type::float32);
    // Where a pair's first class won, it is ahead of the second by 1, which all second ones have before.
    std::vector<double> before(static_cast<std::size_t>(pairs.classes));
    std::iota(before.begin(), before.end(), 0.0);
    give_labels(c, untyped::add(untyped::matmul(won, pairs.won()), float_matrix(before, 1, pairs.classes)));
    const std::vector<double> a = numbers_of(c, "prob_a", ""), b = numbers_of(c, "prob_b", "");
    if (a.empty()) // of two classes the second stands for what is said of the first
        return c.give(transformed_scores(
                          c, pairs.count() > 1 ? scores : untyped::concat({untyped::negative(scores), scores}, 1), how),
                      1);
    if (static_cast<std::int64_t>(a.size()) != pairs.count() || a.size() != b.size())
        c.wrong("it has " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                " numbers prob_a and prob_b for " + std::to_string(pairs.count()) + " pairs of classes");
    const any_tensor turned =
        untyped::add(untyped::multiply(scores, float_matrix(a, 1, pairs.count())), float_matrix(b, 1, pairs.count()));
    const any_tensor chances = untyped::clip(untyped::sigmoid(untyped::negative(turned)), 1e-7, 1 - 1e-7);
    c.give(transformed_scores(c, coupled_chances(pairs, chances), how), 1);
}

TENON_INLINE std::vector<entry> vector_operators() {
    return {{"ai.onnx.ml.SVMClassifier", vector_classification}, {"ai.onnx.ml.SVMRegressor", vector_regression}};
}

} // namespace tenon::detail::onnx
