#pragma once

#include <tenon/ops/control.hpp>

/// Constants and variables.
///
///     auto w = tn::variable<float, tn::shape<784, 300>>("w", tn::glorot_uniform());
///     auto n = tn::variable(3.0f);
///     sess.run(tn::initialize_variables());
///     sess.run(n.assign_add(1.0f));
///     sess.run(table.scatter_add(ids, rows));   // [1000, 64] by int32 [batch] and float [batch, 64]
///     auto twin = tn::variable("twin", w.initialized_value() * 2.0f);   // begins as twice what w begins as

namespace tenon {

/// A tensor whose value is written in the graph.
struct constant_op {
    static constexpr const char* name = "constant";
    struct attributes {
        std::shared_ptr<const any_array> value;
        static constexpr void fields(auto&& field) { field("value", &attributes::value); }
    };
    static inferred infer(const attributes& a, type_list, int) { return inferred(a.value->type()); }
    static kernel_pointer prepare(const kernel_setup& s);
};

/// The value of a variable, a resource that outlives steps. A step that reads and updates it reads the value
/// from before the update, unless the read is made to run after the update (SEMANTICS 15).
struct variable_op {
    static constexpr const char* name = "variable";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful;
    using attributes = placeholder_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list, int) {
        if (!a.shape.is_static()) return fault::size_must_be_known;
        return inferred(a.element, a.shape);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};

/// Writes input 1 to the variable that is input 0; its output is the variable after that.
struct assign_op {
    static constexpr const char* name = "assign";
    static constexpr op_flags flags = op_flags::stateful | op_flags::updates;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[0].element != in[1].element) return fault::element_types_differ;
        return equal_shapes(in[0].extents, in[1].extents).what == fault::none
                   ? inferred(in[0])
                   : inferred(fault::value_does_not_fit_variable);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input == 1; }
    static kernel_pointer prepare(const kernel_setup& s);
};

/// in: variable, indices (int32 or int64), updates. Row indices[i] of the variable is changed by updates[i], one i
/// after the other: the updates have the sizes of the indices, then those of a row, or are one number for all. Its
/// output is the variable after that. An index outside 0 .. size - 1 fails the step, and the variable stays as it was.
/// What is fed for the variable does not matter.
struct scatter_op {
    static constexpr const char* name = "scatter";
    static constexpr op_flags flags = op_flags::stateful | op_flags::updates;
    enum class way { update, add, subtract, multiply, divide, minimum, maximum, count_ };
    struct attributes {
        way how = way::update;
        static constexpr void fields(auto&& field) { field("how", &attributes::how); }
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
    };
    static int outputs(const attributes& a, int inputs);
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        const tensor_type &variable = in[0], &indices = in[1], &updates = in[2];
        if (variable.element == element_type::string) return fault::element_type_not_supported;
        if (a.how != way::update && !is_numeric(variable.element)) return fault::element_type_must_be_numeric;
        if (indices.element != element_type::int32 && indices.element != element_type::int64)
            return fault::element_type_must_be_integer;
        if (variable.element != updates.element) return fault::element_types_differ;
        if (variable.extents.rank() == 0) return fault::rank_too_low;
        if (updates.extents.rank() == 0) return variable;
        extents rows = indices.extents;
        for (int i = 1; i < variable.extents.rank(); ++i) rows.push_back(variable.extents[i]);
        if (rows.overfull()) return fault::rank_too_high;
        return equal_shapes(rows, updates.extents).what == fault::none ? inferred(variable)
                                                                       : inferred(fault::value_does_not_fit_variable);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input > 0; }
    static kernel_pointer prepare(const kernel_setup& s);
};

/// A number in the graph.
template <Element T> tensor<T, shape<>> constant(const T& value) {
    any_array a(element_type_of<T>, {});
    *static_cast<T*>(a.data()) = value;
    return tensor<T, shape<>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(a))}, {}));
}
inline tensor<std::string, shape<>> constant(const char* text) { return constant(std::string(text)); }
inline ill_shaped constant(ill_shaped) { return {}; }

/// A list in the graph: constant({1.f, 2.f}) is a tensor<float, shape<2>>.
template <Element T, std::size_t N> tensor<T, shape<static_cast<int>(N)>> constant(const T (&values)[N]) {
    any_array a(element_type_of<T>, extents{static_cast<std::int64_t>(N)});
    T* to = static_cast<T*>(a.data());
    for (const T& v : values) *to++ = v;
    return tensor<T, shape<static_cast<int>(N)>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(a))}, {}));
}
/// A matrix in the graph: constant({{1.f, 2.f}, {3.f, 4.f}}) is a tensor<float, shape<2, 2>>.
template <Element T, std::size_t N, std::size_t M>
tensor<T, shape<static_cast<int>(N), static_cast<int>(M)>> constant(const T (&rows)[N][M]) {
    any_array a(element_type_of<T>, extents{static_cast<std::int64_t>(N), static_cast<std::int64_t>(M)});
    T* to = static_cast<T*>(a.data());
    for (const auto& row : rows)
        for (const T& v : row) *to++ = v;
    return tensor<T, shape<static_cast<int>(N), static_cast<int>(M)>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(a))}, {}));
}
/// A host tensor in the graph.
template <Element T, Shape S> tensor<T, canonical_t<S>> constant(array<T, S> value) {
    return tensor<T, canonical_t<S>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(value).untyped())}, {}));
}
/// A host tensor whose sizes are known at run time, as the shape S it must have.
template <Shape S, Element T> tensor<T, canonical_t<S>> constant(array<T> value) {
    return constant(array<T, canonical_t<S>>(std::move(value).untyped()));
}

/// How a variable begins. A value: it says which distribution, and the variable says which sizes.
struct initializer {
    enum class distribution { constant, uniform, normal, truncated_normal };
    enum class scale { fixed, glorot, he };
    distribution kind = distribution::constant;
    scale scaled = scale::fixed; ///< with glorot and he, deviations follow from fan-in and fan-out
    double a = 0;                ///< the constant; lower bound; mean
    double b = 0;                ///< upper bound; standard deviation
    std::uint64_t seed = 0;      ///< 0: from the graph's seed and the variable's place in it
};

inline initializer zeros() { return {}; }
inline initializer ones() { return {.a = 1}; }
inline initializer constant_value(double v) { return {.a = v}; }
inline initializer uniform(double low, double high, std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::uniform, .a = low, .b = high, .seed = seed};
}
inline initializer normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::normal, .a = mean, .b = deviation, .seed = seed};
}
/// Normal, drawn again beyond two standard deviations.
inline initializer truncated_normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::truncated_normal, .a = mean, .b = deviation, .seed = seed};
}
/// Uniform in +-sqrt(6 / (fan_in + fan_out)). X. Glorot, Y. Bengio, AISTATS 2010.
inline initializer glorot_uniform(std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::uniform, .scaled = initializer::scale::glorot, .seed = seed};
}
inline initializer glorot_normal(std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::truncated_normal, .scaled = initializer::scale::glorot, .seed = seed};
}
/// Uniform in +-sqrt(6 / fan_in). K. He et al., ICCV 2015.
inline initializer he_uniform(std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::uniform, .scaled = initializer::scale::he, .seed = seed};
}
inline initializer he_normal(std::uint64_t seed = 0) {
    return {.kind = initializer::distribution::truncated_normal, .scaled = initializer::scale::he, .seed = seed};
}

struct variable_options {
    bool trainable = true;
    /// False: it enters no collection, so it is neither initialised, trained nor saved with the others
    /// (SEMANTICS 20).
    bool collected = true;
};

namespace detail {
any_tensor add_variable(const std::string& name, const tensor_type& type, const variable_options& o);
/// Gives a variable its initialising assignment.
operation set_initial_value(const any_tensor& variable, const any_tensor& value, const variable_options& o);
/// Throws invalid_argument_error, naming the variable, where `how` cannot begin a variable of this type.
void check_initializer(const std::string& name, const initializer& how, element_type element);
any_tensor initial_value(const initializer& how, const any_tensor& variable);
operation initializer_of(const any_tensor& variable);
any_tensor initialized_value_of(const any_tensor& variable);
any_tensor add_assign(const any_tensor& variable, const any_tensor& value, const char* name);
any_tensor add_scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                       const any_tensor& updates);

struct assign_rule {
    static constexpr const char* name = "assign";
    static constexpr inferred infer(const no_attributes& a, type_list in, int o) { return assign_op::infer(a, in, o); }
};
} // namespace detail

/// A variable of element type T and sizes S: a tensor that can be assigned to.
template <class T, class S> class variable_tensor : public tensor<T, S> {
public:
    explicit variable_tensor(const any_tensor& t) : tensor<T, S>(tensor<T, S>::unchecked(t)) {}

    /// The operation that gives it its initial value.
    operation initializer() const { return detail::initializer_of(*this); }
    /// What its initializer assigns, to begin other variables with: a step that runs both initialisers gives both the
    /// same numbers, random ones too, whichever comes first. It does not change with the variable, and reading it
    /// neither needs nor gives the variable a value; alone, random numbers are drawn anew.
    tensor<T, S> initialized_value() const { return tensor<T, S>::unchecked(detail::initialized_value_of(*this)); }
    /// Each of these is the variable after the update, when run or used.
    template <class V> auto assign(const V& value) const { return update(value_of(value), "assign"); }
    template <class V> auto assign_add(const V& value) const {
        return update(elementwise<opcode::add>(as_plain(), value), "assign_add");
    }
    template <class V> auto assign_sub(const V& value) const {
        return update(elementwise<opcode::subtract>(as_plain(), value), "assign_sub");
    }

    /// The variable after its rows indices[i] were changed by updates[i], for each i in order; indices (int32 or int64)
    /// of any sizes I, updates of sizes I and those of a row, or one number. Rows that are not named are not touched,
    /// and take no time. Where an index occurs again, update keeps the last, the others change what the first left. An
    /// index outside 0 .. size - 1 is an invalid_argument_error, and nothing is written.
    template <class I, class U> auto scatter_update(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::update>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_add(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::add>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_sub(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::subtract>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_mul(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::multiply>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_div(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::divide>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_min(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::minimum>(indices, value_of(updates));
    }
    template <class I, class U> auto scatter_max(const I& indices, const U& updates) const {
        return scatter<scatter_op::way::maximum>(indices, value_of(updates));
    }

private:
    const tensor<T, S>& as_plain() const { return *this; }
    template <class V> static auto value_of(const V& v) {
        if constexpr (detail::Number<V>) {
            static_assert(detail::Literal<V, T>,
                          "tenon::assign: the number would lose its fraction in the variable's type");
            return constant(detail::nested<T>(v).value());
        } else return v;
    }
    template <class V> auto update(const V& value, const char* name) const {
        if constexpr (std::is_same_v<V, ill_shaped>) return ill_shaped{};
        else {
            using given = detail::operand_of_t<V>;
            using own = detail::operand_type<T, S>;
            using rule =
                detail::inference<detail::assign_rule, detail::constant_attributes<no_attributes{}>, 0, own, given>;
            if constexpr (rule::answer.what != fault::none) {
                static_assert(detail::shapes_of<detail::assign_rule, rule::answer.what, detail::shown_of<own>,
                                                detail::shown_of<given>>::agree,
                              "tenon: shapes do not agree");
                return ill_shaped{};
            } else return tensor<T, S>::unchecked(detail::add_assign(*this, detail::as_tensor(value), name));
        }
    }
    template <scatter_op::way How, class I, class U> auto scatter(const I& indices, const U& updates) const {
        if constexpr (detail::any_ill_shaped<I, U>) return ill_shaped{};
        else {
            using own = detail::operand_type<T, S>;
            using rule = detail::inference<scatter_op, detail::constant_attributes<scatter_op::attributes{How}>, 0, own,
                                           detail::operand_of_t<I>, detail::operand_of_t<U>>;
            if constexpr (rule::answer.what != fault::none) {
                static_assert(detail::shapes_of<scatter_op, rule::answer.what, detail::shown_of<own>,
                                                detail::shown_of<detail::operand_of_t<I>>,
                                                detail::shown_of<detail::operand_of_t<U>>>::agree,
                              "tenon: shapes do not agree");
                return ill_shaped{};
            } else
                return tensor<T, S>::unchecked(
                    detail::add_scatter(How, *this, detail::as_tensor(indices), detail::as_tensor(updates)));
        }
    }
};

/// A variable that begins as `how` says. All its sizes are numbers.
template <Element T, Shape S>
variable_tensor<T, canonical_t<S>> variable(const std::string& name, const initializer& how,
                                            const variable_options& o = {}) {
    static_assert(S::extents.is_static(), "tenon::variable: the sizes of a variable must be numbers");
    const tensor_type type{element_type_of<T>, S::extents};
    detail::check_initializer(name, how, type.element); // before there is a node that nothing begins
    const any_tensor v = detail::add_variable(name, type, o);
    detail::set_initial_value(v, detail::initial_value(how, v), o);
    return variable_tensor<T, canonical_t<S>>(v);
}
/// A variable that begins with the value of a tensor: of random numbers, fed when the initialiser runs, or computed from
/// other variables' initialized_value(). (A variable itself is read before it begins, which is an error in the step that
/// initialises both.)
template <OperandOrIllShaped X>
auto variable(const std::string& name, const X& initial, const variable_options& o = {}) {
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        using T = typename X::element_type;
        using S = typename X::shape_type;
        static_assert(S::extents.is_static(), "tenon::variable: the sizes of a variable must be numbers");
        const any_tensor v = detail::add_variable(name, {element_type_of<T>, S::extents}, o);
        detail::set_initial_value(v, detail::as_tensor(initial), o);
        return variable_tensor<T, S>(v);
    }
}
template <OperandOrIllShaped X> auto variable(const X& initial) { return variable("variable", initial); }
template <Element T> auto variable(const T& initial) { return variable("variable", constant(initial)); }
template <Element T> auto variable(const std::string& name, const T& initial, const variable_options& o = {}) {
    return variable(name, constant(initial), o);
}

/// The operation that gives all of the current graph's variables their initial values.
operation initialize_variables();
/// Or just these.
template <class... V> operation initialize_variables(const V&... variables) {
    return group(variables.initializer()...);
}

namespace untyped {
any_tensor constant(any_array value);
any_tensor variable(const std::string& name, const any_tensor& initial, const variable_options& o = {});
any_tensor initialized_value(const any_tensor& variable);
any_tensor assign(const any_tensor& variable, const any_tensor& value);
any_tensor scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                   const any_tensor& updates);
} // namespace untyped

TENON_DECLARE_OP(constant_definition, constant_op);
TENON_DECLARE_OP(variable_definition, variable_op);
TENON_DECLARE_OP(assign_definition, assign_op);
TENON_DECLARE_OP(scatter_definition, scatter_op);

} // namespace tenon

#if TENON_KERNELS_OF(state)

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tenon/kernel/resources.hpp>
#include <tenon/kernel/thread_pool.hpp>
#include <tenon/ops/kernels/rows.hpp>
#include <tenon/ops/random.hpp>

namespace tenon {

TENON_DEFINE_OP(constant_op);
TENON_DEFINE_OP(variable_op);
TENON_DEFINE_OP(assign_op);
TENON_DEFINE_OP(scatter_op);

namespace detail {

// Where variables' nodes tell the collections and initialisers of their graph.
inline constexpr const char* initializers = "initializers";

TENON_INLINE any_tensor add_variable(const std::string& name, const tensor_type& type, const variable_options& o) {
    any_tensor v = tenon::add<variable_op>({type.element, type.extents}, {}, name.empty() ? "variable" : name);
    graph g(v.node()->graph);
    if (o.collected) {
        g.add_to_collection(global_variables, v);
        if (o.trainable) g.add_to_collection(trainable_variables, v);
    }
    return v;
}

TENON_INLINE operation set_initial_value(const any_tensor& variable, const any_tensor& value,
                                         const variable_options& o) {
    // An absolute name: the variable's own already has its scopes' prefix.
    const any_tensor a = any_tensor({add_node(definition_of<assign_op>(), {variable, value}, {}, {}), 0});
    graph g(variable.node()->graph);
    g.add_to_collection(variable.node()->name + "/initializer", a);
    if (o.collected) g.add_to_collection(initializers, a);
    return a.operation();
}

TENON_INLINE operation initializer_of(const any_tensor& variable) {
    require_node(variable.node(), "initializer: the variable");
    const std::vector<any_tensor> a = graph(variable.node()->graph).collection(variable.node()->name + "/initializer");
    if (a.empty()) throw not_found_error("variable " + variable.name() + " has no initial value; assign one");
    return a.front().operation();
}

TENON_INLINE any_tensor initialized_value_of(const any_tensor& variable) {
    return any_tensor(initializer_of(variable).node()->inputs[1]);
}

TENON_INLINE any_tensor add_assign(const any_tensor& variable, const any_tensor& value, const char*) {
    return any_tensor({add_node(definition_of<assign_op>(), {variable, value}, {}, {}), 0});
}

inline void check_is_variable(const any_tensor& variable, const std::string& op) {
    require_node(variable.node(), (op + ": the variable").c_str());
    if (!variable.node()->op->name || std::string(variable.node()->op->name) != variable_op::name)
        throw invalid_argument_error(op + ": " + variable.name() + " is no variable but a " +
                                     variable.node()->op->name);
}

inline const char* name_of(scatter_op::way how) {
    constexpr const char* names[] = {"scatter_update", "scatter_add", "scatter_sub", "scatter_mul",
                                     "scatter_div",    "scatter_min", "scatter_max"};
    return names[static_cast<int>(how)];
}

TENON_INLINE any_tensor add_scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                                    const any_tensor& updates) {
    return tenon::add<scatter_op>({how}, {variable, indices, updates}, name_of(how));
}

// Inputs and outputs per unit: of a matrix [in, out]; of a convolution's filter [..., in, out] times its window.
inline std::pair<double, double> fans(const extents& e) {
    if (e.rank() == 0) return {1, 1};
    if (e.rank() == 1) return {static_cast<double>(e[0].size), static_cast<double>(e[0].size)};
    double window = 1;
    for (int i = 0; i + 2 < e.rank(); ++i) window *= static_cast<double>(e[i].size);
    return {window * static_cast<double>(e[e.rank() - 2].size), window * static_cast<double>(e[e.rank() - 1].size)};
}

TENON_INLINE void check_initializer(const std::string& name, const initializer& how, element_type element) {
    using enum initializer::distribution;
    const std::string who = "variable \"" + name + "\"";
    if (element == element_type::string)
        throw invalid_argument_error(who + ": its elements are strings, which no initialiser makes; give a value");
    if (how.kind == constant) return;
    if (!is_floating(element))
        throw invalid_argument_error(who + ": its elements are " + name_of(element) +
                                     "; an initialiser that draws random numbers makes floating ones, so give a value, "
                                     "zeros() or the tensor random_integers<T, S>(low, high)");
    if (how.scaled != initializer::scale::fixed) return;
    if (how.kind == uniform) check_interval((who + ": uniform").c_str(), how.a, how.b);
    else check_deviation((who + (how.kind == normal ? ": normal" : ": truncated_normal")).c_str(), how.a, how.b);
}

TENON_INLINE any_tensor initial_value(const initializer& how, const any_tensor& variable) {
    const tensor_type& type = variable.type();
    using enum initializer::distribution;
    double a = how.a, b = how.b;
    if (how.scaled != initializer::scale::fixed) {
        const auto [in, out] = fans(type.extents);
        const double n = how.scaled == initializer::scale::he ? in : (in + out) / 2;
        const double deviation = std::sqrt((how.scaled == initializer::scale::he ? 2.0 : 1.0) / std::max(1.0, n));
        a = how.kind == uniform ? -deviation * std::sqrt(3.0) : 0;
        // A normal distribution cut at two deviations has 0.8796 of its deviation left.
        b = how.kind == uniform ? deviation * std::sqrt(3.0) : deviation / 0.87962566103423978;
    }
    switch (how.kind) {
    case uniform: return untyped::random_uniform(type.element, type.extents, a, b, how.seed);
    case normal: return untyped::random_normal(type.element, type.extents, a, b, how.seed);
    case truncated_normal: return untyped::truncated_normal(type.element, type.extents, a, b, how.seed);
    default: break;
    }
    return tenon::add<fill_like_op>({a}, {variable});
}

struct constant_kernel final : kernel {
    explicit constant_kernel(std::shared_ptr<const any_array> v) : value(std::move(v)) {}
    void run(const kernel_run&) override {}
    double cost() const override { return 1; }
    void* resident(int) const override { return const_cast<void*>(value->data()); }
    std::shared_ptr<const any_array> value;
};

inline variable_resource& resource_of(const node& variable, const kernel_setup& s) {
    return s.resources->variable(variable.container, variable.name, variable.outputs[0]);
}

struct variable_kernel final : kernel {
    explicit variable_kernel(const kernel_setup& s) : v(resource_of(s.node, s)) {}
    void run(const kernel_run&) override {
        if (!v.initialized.load(std::memory_order_acquire))
            throw failed_precondition_error("variable \"" + v.name +
                                            "\" is read before it has a value; run initialize_variables() or its "
                                            "initializer() first; another variable's initial value is computed from "
                                            "its initialized_value()");
    }
    double cost() const override { return 2; }
    void* resident(int) const override { return v.value.data(); }
    variable_resource& v;
};

struct assign_kernel final : kernel {
    explicit assign_kernel(const kernel_setup& s) : v(resource_of(*s.node.inputs[0].node, s)) {}
    void run(const kernel_run& r) override {
        if (r.in[1] != v.value.data()) {
            if (v.value.element() == element_type::string) {
                for (std::int64_t i = 0; i < v.value.elements(); ++i)
                    static_cast<std::string*>(v.value.data())[i] = r.input<std::string>(1)[i];
            } else if (v.value.bytes() > 0) std::memcpy(v.value.data(), r.in[1], v.value.bytes());
        }
        v.initialized.store(true, std::memory_order_release);
    }
    double cost() const override { return 20 + static_cast<double>(v.value.bytes()) * 0.05; }
    void* resident(int) const override { return v.value.data(); }
    variable_resource& v;
};

/// Each row is one thread's, which looks at all indices: the updates of a row keep their order.
class scatter_kernel final : public kernel {
public:
    explicit scatter_kernel(const kernel_setup& s) :
        how_(decode<scatter_op::attributes>(s.attrs).how),
        name_(std::string(name_of(how_)) + " (" + s.node.name + ")"),
        v_(resource_of(*s.node.inputs[0].node, s)),
        indices_(s.inputs[1]),
        size_(s.inputs[0].extents[0].size),
        inner_(size_ == 0 ? 0 : s.inputs[0].extents.elements() / size_),
        one_for_all_(s.inputs[2].extents.rank() == 0),
        bytes_(size_of(s.inputs[0].element)),
        compute_(s.inputs[0].element, opcode_of(how_)) {}
    void run(const kernel_run& r) override {
        if (!v_.initialized.load(std::memory_order_acquire))
            throw failed_precondition_error(name_ + ": variable \"" + v_.name +
                                            "\" is changed before it has a value; run initialize_variables() or its "
                                            "initializer() first");
        if (const std::int64_t i = indices_.first_outside(r.in[1], size_); i >= 0)
            throw invalid_argument_error(name_ + ": index " + indices_.shown(r.in[1], i) + " is out of range for the " +
                                         std::to_string(size_) + " rows of variable \"" + v_.name + "\"");
        const std::byte* updates = r.input<std::byte>(2);
        if (one_for_all_) {
            fill_elements(r.scratch, updates, bytes_, inner_);
            updates = r.scratch;
        }
        const std::size_t row_bytes = bytes_ * static_cast<std::size_t>(inner_);
        auto* const rows = static_cast<std::byte*>(v_.value.data());
        const auto parts = static_cast<std::uint64_t>(r.pool ? std::min<std::int64_t>(parts_, r.pool->size()) : 1);
        const auto change = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = 0; i < indices_.count; ++i) {
                const std::int64_t row = indices_.at(r.in[1], i);
                if (parts > 1) {
                    const auto part = static_cast<std::int64_t>((row_indices::hash(row) >> 32) * parts >> 32);
                    if (part < begin || part >= end) continue;
                }
                std::byte* to = rows + static_cast<std::size_t>(row) * row_bytes;
                const std::byte* from = one_for_all_ ? updates : updates + static_cast<std::size_t>(i) * row_bytes;
                if (how_ == scatter_op::way::update) std::memcpy(to, from, row_bytes);
                else compute_.apply(to, from, inner_);
            }
        };
        if (parts > 1) r.pool->parallel_for(static_cast<std::int64_t>(parts), 1, change);
        else change(0, 1);
    }
    std::size_t scratch_bytes() const override { return one_for_all_ ? bytes_ * static_cast<std::size_t>(inner_) : 0; }
    double cost() const override { return 30 + static_cast<double>(indices_.count) * (4 + 0.2 * row_bytes()); }
    void* resident(int) const override { return v_.value.data(); }

private:
    static opcode opcode_of(scatter_op::way how) {
        constexpr opcode ops[] = {opcode::input,  opcode::add,     opcode::subtract, opcode::multiply,
                                  opcode::divide, opcode::minimum, opcode::maximum};
        return ops[static_cast<int>(how)];
    }
    double row_bytes() const { return static_cast<double>(inner_) * static_cast<double>(bytes_); }

    scatter_op::way how_;
    std::string name_;
    variable_resource& v_;
    row_indices indices_;
    std::int64_t size_, inner_;
    bool one_for_all_;
    std::size_t bytes_;
    row_instruction compute_;
    std::int64_t parts_ = 1 + static_cast<std::int64_t>(cost() / 20000); // worth about 20 us each
};

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor constant(any_array value) {
    return tenon::add<constant_op>({std::make_shared<const any_array>(std::move(value))}, {});
}
TENON_INLINE any_tensor variable(const std::string& name, const any_tensor& initial, const variable_options& o) {
    const any_tensor v = tenon::detail::add_variable(name, initial.type(), o);
    tenon::detail::set_initial_value(v, initial, o);
    return v;
}
TENON_INLINE any_tensor initialized_value(const any_tensor& variable) {
    return tenon::detail::initialized_value_of(variable);
}
TENON_INLINE any_tensor assign(const any_tensor& variable, const any_tensor& value) {
    tenon::detail::check_is_variable(variable, "assign");
    return tenon::detail::add_assign(variable, value, "assign");
}
TENON_INLINE any_tensor scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                                const any_tensor& updates) {
    tenon::detail::check_is_variable(variable, tenon::detail::name_of(how));
    return tenon::detail::add_scatter(how, variable, indices, updates);
}
} // namespace untyped

TENON_INLINE operation initialize_variables() {
    std::vector<operation> all;
    for (const any_tensor& a : graph::current().collection(detail::initializers)) all.push_back(a.operation());
    return group(all, "initialize_variables");
}

TENON_INLINE kernel_pointer constant_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::constant_kernel>(s.attrs.get<std::shared_ptr<const any_array>>("value"));
}
TENON_INLINE kernel_pointer variable_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::variable_kernel>(s);
}
TENON_INLINE kernel_pointer assign_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::assign_kernel>(s);
}
TENON_INLINE int scatter_op::outputs(const attributes& a, int) {
    if (a.how < way::update || a.how >= way::count_)
        detail::number_out_of_range("how", static_cast<std::int64_t>(a.how));
    return 1;
}
TENON_INLINE kernel_pointer scatter_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::scatter_kernel>(s);
}

} // namespace tenon

#endif
