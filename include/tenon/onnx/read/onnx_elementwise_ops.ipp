#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/shape/bit_cast.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/text/strings.hpp>

/// Operators of ONNX that compute each element by itself.

namespace tenon::detail::onnx {

// A function of each element keeps the order of dimensions.
template <class F> void each(const call& c, F&& f, int output = 0) {
    const value& v = c.in(0);
    if (v.last.node() && !v.first.node()) c.give_last(f(v.last), output);
    else c.give(f(c.x()), output);
}

// Operand i. Before set 7 an axis says where the second one's dimensions stand in the first's, and slopes are of channels.
inline any_tensor operand(const call& c, int i) {
    const any_tensor t = c.x(i);
    const bool slopes = c.node().op == "PRelu" && t.rank() == 1 && !(t.extents()[0] == extent(1));
    if (i != 1 || c.opset() >= 7 || t.rank() == 0 || !(slopes || c.attribute("axis"))) return t;
    const int rank = c.is_last(0) ? 4 : c.x(0).rank(), axis = axis_in(c, slopes ? 1 : c.integer("axis", 0), rank);
    if (axis + t.rank() > rank)
        c.wrong("its second input, of " + std::to_string(t.rank()) +
                " dimensions, does not lie within the first from axis " + std::to_string(axis) + " on");
    std::vector<std::int64_t> sizes = copied_sizes(0, t.rank());
    sizes.resize(static_cast<std::size_t>(rank - axis), 1);
    return reshaped(t, sizes);
}
// The same with channels last beside an image that is: scalars, images, and what is broadcast to them along channels and on.
inline std::optional<any_tensor> beside_last(const call& c, int i) {
    if (c.is_last(i)) return c.last(i);
    const any_tensor t = operand(c, i);
    if (t.rank() == 0) return t;
    if (t.rank() == 4) return c.x(i).rank() == 4 ? c.last(i) : untyped::transpose(t, {0, 2, 3, 1});
    if (t.rank() == 3) return untyped::transpose(t, {1, 2, 0});
    return std::nullopt;
}
inline bool any_last_only(const call& c) {
    for (int i = 0; i < c.inputs(); ++i)
        if (c.has(i) && c.is_last(i) && !c.in(i).first.node()) return true;
    return false;
}

// Calls f with all operands in one order of dimensions.
template <class F> void together(const call& c, F&& f) {
    std::vector<any_tensor> xs;
    if (any_last_only(c)) {
        for (int i = 0; i < c.inputs(); ++i) {
            const auto t = beside_last(c, i);
            if (!t) break;
            xs.push_back(*t);
        }
        if (static_cast<int>(xs.size()) == c.inputs()) return c.give_last(f(agreed(c, xs)));
        xs.clear();
    }
    for (int i = 0; i < c.inputs(); ++i) xs.push_back(operand(c, i));
    c.give(f(agreed(c, xs)));
}

template <any_tensor (*F)(const any_tensor&, called_from)> void unary(const call& c) {
    each(c, [](const any_tensor& x) { return F(x, caller()); });
}
template <any_tensor (*F)(const any_tensor&, const any_tensor&, called_from)> void binary(const call& c) {
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.size() != 2) c.wrong("it has " + std::to_string(x.size()) + " inputs; 2 are needed");
        return F(x[0], x[1], caller());
    });
}
// Of what is followed as sizes: sums, products, quotients and what these leave.
inline extent computed_of(const call& c, char op, const extent& a, const extent& b) {
    const auto p = sum_of(a), q = sum_of(b);
    if (!p || !q) return computed_size;
    std::optional<size_sum> r;
    if (op == '+') r = plus(*p, *q);
    else if (op == '-') r = plus(*p, *q, -1);
    else if (op == '*') r = times(*p, *q);
    else if (p->is_number() && q->is_number()) {
        const std::int64_t n = p->number(), d = q->number();
        if (d != 0) r = sum_of(size_entry(op == '/' ? n / d : (n % d + d) % d));
    } else if (q->is_number() && q->number() > 0) {
        r = part_of(c, *p, q->number(), op == '/');
        if (op == '%' && r) r = plus(*p, *r, -q->number());
    } else if (*p == *q) r = op == '/' ? sum_of(extent(1)) : size_sum{};
    return r ? size_of(c, *r) : computed_size;
}
template <char Op, any_tensor (*F)(const any_tensor&, const any_tensor&, called_from)> void arithmetic(const call& c) {
    if (c.inputs() != 2 || (!c.in(0).sizes && !c.in(1).sizes) || !is_integer(c.x().element())) return binary<F>(c);
    const auto a = c.sizes(0), b = c.sizes(1);
    if (!a || !b || a->empty() || b->empty() || (a->size() != b->size() && a->size() != 1 && b->size() != 1))
        return binary<F>(c);
    std::vector<extent> all;
    for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i)
        all.push_back(computed_of(c, Op, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
    c.give(value{F(c.x(0), c.x(1), caller()), {}, std::move(all)}, 0);
}
inline void negative(const call& c) {
    if (!c.in(0).sizes) return unary<untyped::negative>(c);
    std::vector<extent> all;
    for (const extent& e : *c.in(0).sizes) all.push_back(computed_of(c, '-', extent(0), e));
    c.give(value{untyped::negative(c.x()), {}, std::move(all)}, 0);
}
template <any_tensor (*F)(const any_tensor&, const any_tensor&, called_from)> void fold(const call& c) {
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.empty()) c.wrong("it has no inputs");
        any_tensor all = x[0];
        for (std::size_t i = 1; i < x.size(); ++i) all = F(all, x[i], caller());
        return all;
    });
}

inline any_tensor equal_of(const any_tensor& a, const any_tensor& b, called_from) {
    return a.element() == element_type::string ? untyped::string_equal(a, b) : untyped::equal(a, b);
}

// A conversion to bool asks whether a number is 0, also where it is a fraction.
inline any_tensor converted(const any_tensor& x, element_type to) {
    if (to == element_type::boolean && x.element() != element_type::boolean)
        return untyped::not_equal(x, scalar_like(0, x));
    return untyped::cast(x, to);
}

TENON_INLINE any_tensor saturated_cast(const any_tensor& x, element_type to) {
    return with_element(to, [&]<class T>(const T&) -> any_tensor {
        if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
            const auto low = static_cast<double>(std::numeric_limits<T>::min()),
                       high = static_cast<double>(std::numeric_limits<T>::max());
            return untyped::cast(untyped::minimum(untyped::maximum(x, scalar_like(low, x)), scalar_like(high, x)), to);
        } else return untyped::cast(x, to);
    });
}

inline element_type wanted_type(const call& c, std::int64_t data_type) {
    const element_type e = element_of(data_type);
    if (e == element_type::none || e == element_type::string)
        c.refuse("elements of ONNX's data type " + std::to_string(data_type) + " are asked for");
    return e;
}

// TensorProto.DataType in words.
inline const std::array<std::string_view, 17>& names_of_types() {
    static constexpr std::array<std::string_view, 17> names{
        "UNDEFINED", "FLOAT",   "UINT8",  "INT8",   "UINT16", "INT16",     "INT32",      "INT64",   "STRING",
        "BOOL",      "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
    return names;
}

inline void cast_to(const call& c, element_type to) {
    if (c.x().element() == element_type::string) c.refuse("texts are not converted");
    const value& from = c.in(0);
    if (from.sizes && to != element_type::boolean) {
        value v{converted(c.x(), to), {}, from.sizes};
        return c.give(std::move(v), 0);
    }
    each(c, [&](const any_tensor& x) { return converted(x, to); });
}

// a^b in a's type. Integers are raised as doubles: exact below 2^53.
inline any_tensor power(const any_tensor& a, const any_tensor& b, called_from) {
    if (is_floating(a.element())) return untyped::pow(a, untyped::cast(b, a.element()));
    const auto wide = element_type::float64;
    return untyped::cast(untyped::round(untyped::pow(untyped::cast(a, wide), untyped::cast(b, wide))), a.element());
}

inline void mod(const call& c) {
    const bool c_like = c.integer("fmod", 0) != 0;
    if (!c_like && c.inputs() == 2 && (c.in(0).sizes || c.in(1).sizes)) return arithmetic<'%', untyped::mod>(c);
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.size() != 2) c.wrong("it needs 2 inputs");
        return c_like ? untyped::fmod(x[0], x[1]) : untyped::mod(x[0], x[1]);
    });
}

inline void clip(const call& c) {
    each(c, [&](any_tensor x) {
        const auto bound = [&](int i, const char* name) -> std::optional<any_tensor> {
            if (c.has(i)) return c.x(i);
            if (const attribute_message* a = c.attribute(name)) return scalar_like(static_cast<double>(a->f), x);
            return std::nullopt;
        };
        if (const auto low = bound(1, "min")) x = untyped::maximum(x, *low);
        if (const auto high = bound(2, "max")) x = untyped::minimum(x, *high);
        return x;
    });
}

inline void leaky_relu(const call& c) {
    const double slope = c.real("alpha", 0.01);
    each(c, [&](const any_tensor& x) { return untyped::leaky_relu(x, slope); });
}
inline void elu(const call& c) {
    const double alpha = c.real("alpha", 1);
    each(c, [&](const any_tensor& x) { return untyped::elu(x, alpha); });
}
inline void celu(const call& c) {
    const double alpha = c.real("alpha", 1);
    each(c, [&](const any_tensor& x) { return untyped::celu(x, alpha); });
}
inline void selu(const call& c) {
    const bool old = c.opset() < 6;
    const double alpha = c.real("alpha", old ? 1.6732 : 1.67326319217681884765625),
                 gamma = c.real("gamma", old ? 1.0507 : 1.05070102214813232421875);
    each(c, [&](const any_tensor& x) { return untyped::multiply(untyped::elu(x, alpha), scalar_like(gamma, x)); });
}
inline any_tensor hard_sigmoid_of(const any_tensor& x, double alpha, double beta) {
    const any_tensor line = untyped::add(untyped::multiply(x, scalar_like(alpha, x)), scalar_like(beta, x));
    return untyped::minimum(untyped::maximum(line, scalar_like(0, x)), scalar_like(1, x));
}
inline void hard_sigmoid(const call& c) {
    const double alpha = c.real("alpha", 0.2), beta = c.real("beta", 0.5);
    each(c, [&](const any_tensor& x) { return hard_sigmoid_of(x, alpha, beta); });
}
inline any_tensor hard_swish_of(const any_tensor& x, called_from) {
    return untyped::multiply(x, hard_sigmoid_of(x, 1.0 / 6, 0.5));
}
inline void gelu(const call& c) {
    const bool tanh = c.text("approximate", "none") == "tanh";
    each(c, [&](const any_tensor& x) { return tanh ? untyped::gelu_tanh(x) : untyped::gelu(x); });
}
inline void swish(const call& c) {
    const double alpha = c.real("alpha", 1);
    each(c, [&](const any_tensor& x) {
        return untyped::multiply(x, untyped::sigmoid(untyped::multiply(x, scalar_like(alpha, x))));
    });
}
inline void swiglu(const call& c) {
    const double alpha = c.real("alpha", 1);
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.size() != 2) c.wrong("it needs 2 inputs");
        return untyped::multiply(
            untyped::multiply(x[0], untyped::sigmoid(untyped::multiply(x[0], scalar_like(alpha, x[0])))), x[1]);
    });
}
inline void thresholded_relu(const call& c) {
    const double alpha = c.real("alpha", 1);
    each(c, [&](const any_tensor& x) {
        return untyped::select(untyped::greater(x, scalar_like(alpha, x)), x, scalar_like(0, x));
    });
}
inline void shrink(const call& c) {
    const double bias = c.real("bias", 0), width = c.real("lambd", 0.5);
    each(c, [&](const any_tensor& x) {
        const auto wide = is_floating(x.element()) ? x.element() : element_type::float32;
        const any_tensor v = untyped::cast(x, wide);
        const any_tensor high = untyped::select(untyped::greater(v, scalar_like(width, v)),
                                                untyped::subtract(v, scalar_like(bias, v)), scalar_like(0, v));
        return untyped::cast(
            untyped::select(untyped::less(v, scalar_like(-width, v)), untyped::add(v, scalar_like(bias, v)), high),
            x.element());
    });
}
inline any_tensor prelu(const any_tensor& x, const any_tensor& slope, called_from) {
    return untyped::select(untyped::less(x, scalar_like(0, x)), untyped::multiply(x, slope), x);
}
inline void is_inf(const call& c) {
    const bool negative = c.integer("detect_negative", 1) != 0, positive = c.integer("detect_positive", 1) != 0;
    each(c, [&](const any_tensor& x) {
        any_tensor y = untyped::is_inf(x);
        if (!positive) y = untyped::logical_and(y, untyped::less(x, scalar_like(0, x)));
        if (!negative) y = untyped::logical_and(y, untyped::greater(x, scalar_like(0, x)));
        return y;
    });
}
// What is not a number of a list of sizes is not equal to -1, which stands for "as it is" where a tensor is repeated.
inline void equal(const call& c) {
    const bool followed = c.inputs() == 2 && (c.in(0).sizes || c.in(1).sizes);
    const auto a = followed ? c.sizes(0) : std::nullopt, b = followed ? c.sizes(1) : std::nullopt;
    const any_tensor x0 = c.x(0);
    if (!a || !b || a->size() != b->size() || x0.rank() > 1 || x0.rank() != c.x(1).rank()) return binary<equal_of>(c);
    any_array same(element_type::boolean, x0.rank() == 0 ? extents() : extents(static_cast<std::int64_t>(a->size())));
    for (std::size_t i = 0; i < a->size(); ++i) {
        const extent &x = (*a)[i], &y = (*b)[i];
        const bool known = !x.is_named() && !y.is_named();
        if (!known && !(x.is_dynamic() || y.is_dynamic()) && !(x == y && !is_nameless(x))) return binary<equal_of>(c);
        same.data<bool>()[i] = x == y;
    }
    c.give(untyped::constant(std::move(same)));
}
inline void where(const call& c) {
    if (c.inputs() == 3 && (c.in(1).sizes || c.in(2).sizes)) {
        const auto a = c.sizes(1), b = c.sizes(2);
        const auto chosen = c.known(0);
        if (a && b && a->size() == b->size() && chosen && chosen->elements() == static_cast<std::int64_t>(a->size())) {
            std::vector<extent> all;
            for (std::size_t i = 0; i < a->size(); ++i) all.push_back((chosen->data<bool>()[i] ? *a : *b)[i]);
            return c.give(value{untyped::select(c.x(0), c.x(1), c.x(2)), {}, std::move(all)}, 0);
        }
    }
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.size() != 3) c.wrong("it needs 3 inputs");
        return untyped::select(x[0], x[1], x[2]);
    });
}
inline void bit_shift(const call& c) {
    const std::string to = c.text("direction", "");
    if (to != "LEFT" && to != "RIGHT") c.wrong("its direction is \"" + to + "\", neither LEFT nor RIGHT");
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.size() != 2) c.wrong("it needs 2 inputs");
        return to == "LEFT" ? untyped::shift_left(x[0], x[1]) : untyped::shift_right(x[0], x[1]);
    });
}
inline void mean(const call& c) {
    together(c, [&](const std::vector<any_tensor>& x) {
        if (x.empty()) c.wrong("it has no inputs");
        any_tensor sum = x[0];
        for (std::size_t i = 1; i < x.size(); ++i) sum = untyped::add(sum, x[i]);
        return untyped::divide(sum, scalar_like(static_cast<double>(x.size()), sum));
    });
}
inline void cast(const call& c) {
    if (c.integer("saturate", 1) == 0) c.refuse("saturate = 0, which elements of 8 bits have");
    const attribute_message* to = c.attribute("to");
    if (!to || to->type != attribute_message::text) return cast_to(c, wanted_type(c, c.integer("to", 0)));
    const auto& names = names_of_types(); // before set 6
    const auto named = std::find(names.begin(), names.end(), to->s);
    if (named == names.end()) c.wrong("it converts to \"" + to->s + "\", which is no element type");
    cast_to(c, wanted_type(c, named - names.begin()));
}
inline void cast_like(const call& c) { cast_to(c, c.x(1).element()); }
inline void bit_cast(const call& c) {
    const element_type to = wanted_type(c, c.integer("to", 0));
    each(c, [&](const any_tensor& x) {
        if (size_of(x.element()) != size_of(to))
            c.refuse("bits of " + std::string(name_of(x.element())) + " as " + name_of(to) +
                     ", which has another width");
        const bool truth = x.element() == element_type::boolean; // a byte that is 0 or 1
        if (to == element_type::boolean) return untyped::not_equal(x, scalar_like(0, x));
        return truth ? untyped::cast(x, to) : x.element() == to ? x : untyped::bit_cast(x, to);
    });
}
inline void identity(const call& c) { c.give(value(c.in(0)), 0); }
// In training each element is 0 with the ratio as probability; else, and where the ratio is 0, nothing is drawn.
inline void dropout(const call& c) {
    bool training = false;
    if (c.has(2)) {
        const any_array said = c.known(2, "whether it is training");
        if (said.element() != element_type::boolean || said.elements() != 1)
            c.wrong("whether it is training is no bool");
        training = *said.data<bool>();
    }
    double ratio = c.real("ratio", 0.5);
    if (c.has(1)) ratio = c.real(1, "the ratio");
    if (!(ratio >= 0 && ratio < 1)) c.wrong("its ratio is " + detail::text_of_number(ratio));
    if (!training || ratio == 0) {
        c.give(value(c.in(0)), 0);
        if (c.wants(1)) c.give(untyped::equal(untyped::zeros_like(c.x()), scalar_like(0, c.x())), 1);
        return;
    }
    const any_tensor x = c.x();
    const any_tensor kept = untyped::greater_equal(
        untyped::random_uniform_like(x, 0, 1, static_cast<std::uint64_t>(c.integer("seed", 0))), scalar_like(ratio, x));
    c.give(untyped::select(kept, untyped::multiply(x, scalar_like(1 / (1 - ratio), x)), scalar_like(0, x)), 0);
    c.give(kept, 1);
}

TENON_INLINE std::vector<entry> elementwise_operators() {
    using namespace untyped;
    return {{"Abs", unary<untyped::abs>},
            {"Acos", unary<untyped::acos>},
            {"Acosh", unary<untyped::acosh>},
            {"Add", arithmetic<'+', untyped::add>},
            {"And", binary<untyped::logical_and>},
            {"Asin", unary<untyped::asin>},
            {"Asinh", unary<untyped::asinh>},
            {"Atan", unary<untyped::atan>},
            {"Atanh", unary<untyped::atanh>},
            {"BitCast", onnx::bit_cast},
            {"BitShift", onnx::bit_shift},
            {"BitwiseAnd", binary<untyped::bit_and>},
            {"BitwiseNot", unary<untyped::bit_not>},
            {"BitwiseOr", binary<untyped::bit_or>},
            {"BitwiseXor", binary<untyped::bit_xor>},
            {"Cast", onnx::cast},
            {"CastLike", onnx::cast_like},
            {"Ceil", unary<untyped::ceil>},
            {"Celu", onnx::celu},
            {"Clip", onnx::clip},
            {"Cos", unary<untyped::cos>},
            {"Cosh", unary<untyped::cosh>},
            {"Div", arithmetic<'/', untyped::divide>},
            {"Dropout", onnx::dropout},
            {"Elu", onnx::elu},
            {"Equal", equal},
            {"Erf", unary<untyped::erf>},
            {"Exp", unary<untyped::exp>},
            {"Floor", unary<untyped::floor>},
            {"Gelu", onnx::gelu},
            {"Greater", binary<untyped::greater>},
            {"GreaterOrEqual", binary<untyped::greater_equal>},
            {"HardSigmoid", onnx::hard_sigmoid},
            {"HardSwish", unary<hard_swish_of>},
            {"Identity", onnx::identity},
            {"IsInf", onnx::is_inf},
            {"IsNaN", unary<untyped::is_nan>},
            {"LeakyRelu", onnx::leaky_relu},
            {"Less", binary<untyped::less>},
            {"LessOrEqual", binary<untyped::less_equal>},
            {"Log", unary<untyped::log>},
            {"Max", fold<untyped::maximum>},
            {"Mean", onnx::mean},
            {"Min", fold<untyped::minimum>},
            {"Mish", unary<untyped::mish>},
            {"Mod", onnx::mod},
            {"Mul", arithmetic<'*', untyped::multiply>},
            {"Neg", onnx::negative},
            {"Not", unary<untyped::logical_not>},
            {"Or", binary<untyped::logical_or>},
            {"PRelu", binary<onnx::prelu>},
            {"Pow", binary<onnx::power>},
            {"Reciprocal", unary<untyped::reciprocal>},
            {"Relu", unary<untyped::relu>},
            {"Round", unary<untyped::round>},
            {"Selu", onnx::selu},
            {"Shrink", onnx::shrink},
            {"Sigmoid", unary<untyped::sigmoid>},
            {"Sign", unary<untyped::sign>},
            {"Sin", unary<untyped::sin>},
            {"Sinh", unary<untyped::sinh>},
            {"Softplus", unary<untyped::softplus>},
            {"Softsign", unary<untyped::softsign>},
            {"Sqrt", unary<untyped::sqrt>},
            {"Sub", arithmetic<'-', untyped::subtract>},
            {"Sum", fold<untyped::add>},
            {"SwiGLU", swiglu},
            {"Swish", onnx::swish},
            {"Tan", unary<untyped::tan>},
            {"Tanh", unary<untyped::tanh>},
            {"ThresholdedRelu", onnx::thresholded_relu},
            {"Where", onnx::where},
            {"Xor", binary<untyped::logical_xor>}};
}

} // namespace tenon::detail::onnx
