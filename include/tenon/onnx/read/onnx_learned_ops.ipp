#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ai.onnx.ml: linear models, and what scales and mends their columns. Rows are [n, columns]; results are float.

namespace tenon::detail::onnx {

TENON_INLINE std::vector<double> numbers_of(const call& c, const char* list, const char* tensor) {
    if (const attribute_message* a = c.attribute(tensor)) {
        const any_array values = c.read(*a);
        std::vector<double> all;
        with_element(values.element(), [&]<class T>(const T&) {
            if constexpr (std::is_same_v<T, std::string>) c.wrong(std::string(tensor) + " are texts");
            else
                for (std::int64_t i = 0; i < values.elements(); ++i)
                    all.push_back(static_cast<double>(values.data<T>()[i]));
        });
        return all;
    }
    const attribute_message* a = c.attribute(list);
    return a ? std::vector<double>(a->floats.begin(), a->floats.end()) : std::vector<double>();
}

TENON_INLINE any_tensor transformed_scores(const call& c, const any_tensor& scores, const std::string& how) {
    if (how == "NONE") return scores;
    if (how == "LOGISTIC") return untyped::sigmoid(scores);
    if (how == "PROBIT") return untyped::ndtri(scores);
    if (how == "SOFTMAX") return untyped::softmax(scores, -1);
    if (how != "SOFTMAX_ZERO") c.wrong("its post_transform is \"" + how + '"');
    // What is 0 stays so.
    const any_tensor largest = untyped::max(scores, {-1}, true);
    const any_tensor e = untyped::select(untyped::greater(untyped::abs(scores), scalar_like(1e-7, scores)),
                                         untyped::exp(untyped::subtract(scores, largest)),
                                         untyped::multiply(scores, untyped::exp(untyped::negative(largest))));
    return untyped::divide(e, untyped::sum(e, {-1}, true));
}

TENON_INLINE void give_labels(const call& c, const any_tensor& scores) {
    if (!c.wants(0)) return;
    const extent classes = scores.extents()[1];
    const auto give = [&](const auto& labels, element_type e) {
        const auto count = static_cast<std::int64_t>(labels.size());
        if (!(classes == extent(count)))
            c.wrong("it has " + std::to_string(count) + " labels for " + to_string(classes) + " classes");
        any_array all(e, {count});
        std::copy(labels.begin(), labels.end(), all.data<typename std::remove_cvref_t<decltype(labels)>::value_type>());
        c.give(untyped::gather(untyped::constant(std::move(all)), untyped::argmax(scores, {1}), 0), 0);
    };
    const attribute_message* texts = c.attribute("classlabels_strings");
    if (texts && !texts->strings.empty()) return give(texts->strings, element_type::string);
    std::vector<std::int64_t> labels = c.integers("classlabels_int64s");
    give(labels.empty() ? c.integers("classlabels_ints") : labels, element_type::int64);
}

TENON_INLINE any_tensor float_rows(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() < 1 || x.rank() > 2 || x.element() == element_type::string)
        c.wrong("its input is " + to_string(tensor_type{x.element(), x.extents()}) + "; it needs rows of numbers");
    const any_tensor rows = x.rank() == 1 ? untyped::expand_dims(x, {0}) : x;
    return untyped::cast(rows, element_type::float32);
}
// One for each column, or one for all.
inline any_tensor by_column(const call& c, const char* name, double otherwise) {
    const attribute_message* a = c.attribute(name);
    if (!a || a->floats.empty()) return float_constant({otherwise}, {}, element_type::float32);
    return float_constant({a->floats.begin(), a->floats.end()}, {static_cast<std::int64_t>(a->floats.size())},
                          element_type::float32);
}

// rows * coefficients^T + intercepts, [n, targets].
inline any_tensor linear(const call& c, std::int64_t targets) {
    const any_tensor x = float_rows(c);
    const std::vector<double> all = numbers_of(c, "coefficients", "");
    const auto count = static_cast<std::int64_t>(all.size());
    if (targets < 1 || count == 0 || count % targets != 0)
        c.wrong("it has " + std::to_string(count) + " coefficients for " + std::to_string(targets) + " results");
    any_tensor y =
        untyped::matmul(x, float_constant(all, {targets, count / targets}, element_type::float32), false, true);
    if (const std::vector<double> b = numbers_of(c, "intercepts", ""); !b.empty()) {
        if (static_cast<std::int64_t>(b.size()) != targets)
            c.wrong("it has " + std::to_string(b.size()) + " intercepts for " + std::to_string(targets) + " results");
        y = untyped::add(y, float_constant(b, {targets}, element_type::float32));
    }
    return y;
}
inline void linear_regression(const call& c) {
    c.give(transformed_scores(c, linear(c, c.integer("targets", 1)), c.text("post_transform", "NONE")));
}
inline void linear_classification(const call& c) {
    const auto classes = static_cast<std::int64_t>(numbers_of(c, "intercepts", "").size());
    if (classes < 2) c.refuse("a classifier of " + std::to_string(classes) + " scores, where each class has one");
    const any_tensor scores = linear(c, classes);
    give_labels(c, scores);
    c.give(transformed_scores(c, scores, c.text("post_transform", "NONE")), 1);
}

inline void scale_columns(const call& c) {
    const any_tensor x = float_rows(c);
    c.give(untyped::multiply(untyped::subtract(x, by_column(c, "offset", 0)), by_column(c, "scale", 1)));
}
inline void normalize_rows(const call& c) {
    const any_tensor x = float_rows(c);
    const std::string by = c.text("norm", "MAX");
    if (by != "MAX" && by != "L1" && by != "L2") c.wrong("its norm is \"" + by + '"');
    const any_tensor norm = by == "MAX"  ? untyped::max(x, {1}, true)
                            : by == "L1" ? untyped::sum(untyped::abs(x), {1}, true)
                                         : untyped::sqrt(untyped::sum(untyped::square(x), {1}, true));
    c.give(untyped::select(untyped::equal(norm, scalar_like(0, norm)), x, untyped::divide(x, norm)));
}
// What stands for a value that is missing is replaced.
inline void impute(const call& c) {
    const any_tensor x = c.x();
    if (!is_floating(x.element())) c.refuse("integers");
    const double missing = c.real("replaced_value_float", 0);
    const any_tensor is = std::isnan(missing) ? untyped::is_nan(x) : untyped::equal(x, scalar_like(missing, x));
    c.give(untyped::select(is, untyped::cast(by_column(c, "imputed_value_floats", 0), x.element()), x));
}
inline void join_columns(const call& c) { // FeatureVectorizer
    std::vector<any_tensor> xs;
    for (int i = 0; i < c.inputs(); ++i) {
        const any_tensor x = c.x(i);
        xs.push_back(untyped::cast(x.rank() == 1 ? untyped::expand_dims(x, {1}) : x, element_type::float32));
    }
    if (xs.empty()) c.wrong("it has no inputs");
    c.give(xs.size() == 1 ? xs[0] : untyped::concat(xs, 1));
}

TENON_INLINE std::vector<entry> learned_operators() {
    return {{"ai.onnx.ml.FeatureVectorizer", join_columns},
            {"ai.onnx.ml.Imputer", impute},
            {"ai.onnx.ml.LinearClassifier", linear_classification},
            {"ai.onnx.ml.LinearRegressor", linear_regression},
            {"ai.onnx.ml.Normalizer", normalize_rows},
            {"ai.onnx.ml.Scaler", scale_columns}};
}

} // namespace tenon::detail::onnx
