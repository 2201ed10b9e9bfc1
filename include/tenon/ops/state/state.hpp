#pragma once

#include <tenon/core/options.hpp>
#include <tenon/expr/tree.hpp>
#include <tenon/graph/tensor_or_number.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/random/initializers.hpp>
#include <tenon/ops/shape/scatter.hpp>
#include <tenon/ops/control/control.hpp>

/// Variables.
///
///     auto w = tn::variable<float, tn::shape<784, 300>>("w", tn::glorot_uniform());
///     auto n = tn::variable(3.0f);
///     sess.run(tn::initialize_variables());
///     sess.run(n.assign_add(1.0f));
///     sess.run(table.scatter_add(ids, rows));   // [1000, 64] by int32 [batch] and float [batch, 64]
///     auto wide = tn::variable<float, tn::shape<1000000, 64>>("wide", tn::zeros(), {.partition = {.parts = 8}});
///     auto twin = tn::variable("twin", w.initialized_value() * 2.0f);   // begins as twice what w begins as

namespace tenon {

/// The value of a variable, a resource that outlives steps. A step that reads and updates it reads the value
/// from before the update, unless the read is made to run after the update (SEMANTICS 15). Output 1 is its current value,
/// for the arithmetic of updates alone: what an update is computed of it, through any nodes without effects, is computed of
/// what the updates of the step that were made before left, or, where several updates take their values from one node, that
/// were made before the first of them. Others who read it read output 0.
struct variable_op {
    static constexpr const char* name = "variable";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource | op_flags::variable;
    static constexpr element_types gpu_types = element_types{}
                                                   .with(element_type::float32)
                                                   .with(element_type::float64)
                                                   .with(element_type::float16)
                                                   .with(element_type::bfloat16)
                                                   .with(element_type::int64);
    using attributes = placeholder_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list, int) {
        if (!a.shape.is_static()) return fault::size_must_be_known;
        return inferred(a.element, a.shape);
    }
    static constexpr int outputs(const attributes&, int) { return 2; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(state, variable);

/// Writes input 1 to the variable that is input 0; its output is the variable after that.
struct assign_op {
    static constexpr const char* name = "assign";
    static constexpr op_flags flags = op_flags::stateful | op_flags::updates | op_flags::replaces;
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
TENON_OP(state, assign);

/// in: a variable. Whether it has a value, when this runs: what the step itself assigns may count or not.
struct is_initialized_op {
    static constexpr const char* name = "is_initialized";
    static constexpr op_flags flags = op_flags::stateful | op_flags::uses;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? inferred(element_type::boolean, {}) : inferred(fault::expects_more_operands);
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(state, is_initialized);

namespace detail {
// What has this type is said elsewhere.
struct said_in_partition {
    constexpr said_in_partition() = default;
    template <std::integral N> constexpr said_in_partition(N) { // NOLINT: it takes what is given
        static_assert(is_mistake<N>, "tenon: how many parts a variable has is said as {.partition = {.parts = 4}}");
    }
};
} // namespace detail

struct variable_options {
    bool trainable = true;
    /// False: it enters no collection, so it is neither initialised, trained nor saved with the others
    /// (SEMANTICS 20).
    bool collected = true;
    /// In how many parts it is, which may lie on different tasks (ops/shape/partition.hpp): {.parts = 3}. Not said: in one, or as the
    /// partition_scope around it says.
    partitioned partition{};
    detail::said_in_partition parts{}; ///< no option: it is {.partition = {.parts = 3}}
};

namespace detail {
/// Decides for the variables that are made inside its variable_policy_scope, on the thread that opened it: how
/// replicated training keeps a copy of each on every device.
class variable_policy {
public:
    virtual ~variable_policy() = default;
    /// A new variable. `wished` is its name after those of the name scopes inside the policy's, without the numbers
    /// that keep names apart.
    virtual any_tensor make(const std::string& name, const std::string& wished, const tensor_type& type,
                            const variable_options& o) = 0;
    /// What a variable begins with that is given this initial value.
    virtual any_tensor initial_value(const any_tensor& variable, const any_tensor& value) = 0;
    /// The one that stands for a variable here, and the one that it is a copy of: itself where it has no copies.
    virtual any_tensor here(const any_tensor& variable) = 0;
    virtual any_tensor original(const any_tensor& variable) = 0;
};
/// Of the policy in force; `variable` where there is none.
any_tensor variable_here(const any_tensor& variable);
any_tensor original_variable(const any_tensor& variable);
/// What add_variable does where there is no policy.
any_tensor enter_variable(const std::string& name, const tensor_type& type, const variable_options& o);
/// The collection of a variable's copies on other devices, which begin and are loaded as it is.
inline std::string copies_of(const std::string& variable) { return variable + "/copies"; }

any_tensor add_variable(const std::string& name, const tensor_type& type, const variable_options& o);
/// What its updates are computed of (variable_op): so that none is lost where a step runs several.
any_tensor current_value(const any_tensor& variable);
template <class T, class S> inline constexpr tensor_type type_of{element_type_of<T>, S::extents};
// A variable and what it begins with: what an initialiser makes, a tensor, or an array.
any_tensor new_variable(std::string_view name, const tensor_type& type, const initializer& how,
                        const variable_options& o);
any_tensor new_variable(std::string_view name, const tensor_type& type, const any_tensor& initial,
                        const variable_options& o);
any_tensor new_variable(std::string_view name, any_array initial, const variable_options& o);
/// Gives a variable its initialising assignment.
operation set_initial_value(const any_tensor& variable, const any_tensor& value, const variable_options& o);
operation initializer_of(const any_tensor& variable);
any_tensor initialized_value_of(const any_tensor& variable);
any_tensor add_assign(const any_tensor& variable, const any_tensor& value, const char* name);
any_tensor add_scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                       const any_tensor& updates);
// Of a variable in parts (ops/shape/partition.hpp): each part is changed by its own rows.
bool is_in_parts(const any_tensor& variable);
any_tensor change_parts(opcode op, const any_tensor& variable, const any_tensor& by, const char* name);

// Seen in the error where a variable is declared that is a tensor.
struct not_a_variable_declare_auto {};

struct assign_rule {
    static constexpr const char* name = "assign";
    static constexpr inferred infer(const no_attributes& a, type_list in, int o) { return assign_op::infer(a, in, o); }
};
} // namespace detail

/// A variable of element type T and sizes S: a tensor that can be assigned to.
template <class T, class S> class variable_tensor : public tensor<T, S> {
public:
    explicit variable_tensor(const any_tensor& t) : tensor<T, S>(tensor<T, S>::unchecked(t)) {}
    // clang-format off
    /// A variable has the type that it was made with.
    template <class T2, class S2>
        requires(!std::is_same_v<variable_tensor<T2, S2>, variable_tensor>)
    variable_tensor(const variable_tensor<T2, S2>&, detail::declare_auto_or_the_type_it_has = {}) = delete;
    /// What is computed is no variable: make one that begins as it, variable(name, x).
    template <class T2, class S2>
    variable_tensor(const tensor<T2, S2>&, detail::not_a_variable_declare_auto = {}) = delete;
    /// Nor does it take a value while the graph is built.
    template <detail::Typed X>
    void operator=(const X&) = delete; // run what changes it: w.assign(x)
    template <class X>
        requires(!std::is_same_v<X, ill_shaped>)
    void operator+=(const X&) = delete; // run what changes it: w.assign_add(x)
    template <class X>
        requires(!std::is_same_v<X, ill_shaped>)
    void operator-=(const X&) = delete; // run what changes it: w.assign_sub(x)
    // clang-format on

    /// The operation that gives it its initial value.
    operation initializer() const { return detail::initializer_of(*this); }
    /// What its initializer assigns, to begin other variables with: a step that runs both initialisers gives both the
    /// same numbers, random ones too, whichever comes first. It does not change with the variable, and reading it
    /// neither needs nor gives the variable a value; alone, random numbers are drawn anew.
    tensor<T, S> initialized_value() const { return tensor<T, S>::unchecked(detail::initialized_value_of(*this)); }
    /// Each of these is the variable after the update, when run or used. The update and its sum are computed where the
    /// variable is; a scope may put the sum elsewhere. Several updates in one step are applied one after another, in the
    /// order in which they were made: assign_add and assign_sub change what those before left. What is given to them is
    /// computed from the values before the step, the variable's own too: v.assign(v + 1) twice adds 1.
    template <class V = detail::in_braces> auto assign(const V& value, called_from here = caller()) const {
        const making made(here);
        return update(value_of(value), "assign");
    }
    template <class V> auto assign_add(const V& value, called_from here = caller()) const {
        const making made(here);
        const detail::owned_scope there(*this);
        return update(elementwise<opcode::add>(current(), value), "assign_add", opcode::add, &value);
    }
    template <class V> auto assign_sub(const V& value, called_from here = caller()) const {
        const making made(here);
        const detail::owned_scope there(*this);
        return update(elementwise<opcode::subtract>(current(), value), "assign_sub", opcode::subtract, &value);
    }

    /// The variable after its rows indices[i] were changed by updates[i], for each i in order; indices (int32 or int64)
    /// of any sizes I, updates of sizes I and those of a row, or one number. Rows that are not named are not touched,
    /// and take no time. Where an index occurs again, update keeps the last, the others change what the first left. An
    /// index outside 0 .. size - 1 is an invalid_argument_error, and nothing is written.
    template <class I, class U>
    auto scatter_update(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::update>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_add(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::add>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_sub(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::subtract>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_mul(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::multiply>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_div(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::divide>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_min(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::minimum>(indices, value_of(updates));
    }
    template <class I, class U>
    auto scatter_max(const I& indices, const U& updates, called_from here = caller()) const {
        const making made(here);
        return scatter<scatter_op::way::maximum>(indices, value_of(updates));
    }

private:
    tensor<T, S> current() const { return tensor<T, S>::unchecked(detail::current_value(*this)); }
    template <class V> static decltype(auto) value_of(const V& v) {
        if constexpr (detail::Number<V>) {
            static_assert(detail::Literal<V, T>,
                          "tenon::assign: the number would lose its fraction in the variable's type");
            return constant(detail::nested<T>(v).value());
        } else return (v);
    }
    // `by`: what the value is made of, with the variable's own; each part is changed by its own rows of that.
    template <class V, class By = V>
    auto update(const V& value, const char* name, opcode op = {}, const By* by = nullptr) const {
        using verdict = detail::verdict_on_operands<detail::assign_rule, tensor<T, S>, V>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return tensor<T, S>::unchecked(by && detail::is_in_parts(*this)
                                               ? detail::change_parts(op, *this, detail::as_tensor(value_of(*by)), name)
                                               : detail::add_assign(*this, detail::as_tensor(value), name));
    }
    template <scatter_op::way How, class I, class U> auto scatter(const I& indices, const U& updates) const {
        using verdict =
            detail::verdict_of<scatter_op, detail::constant_attributes<scatter_op::attributes{How}>,
                               detail::operand_type<T, S>, detail::operand_of_t<I>, detail::operand_of_t<U>>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return tensor<T, S>::unchecked(
                detail::add_scatter(How, *this, detail::as_tensor(indices), detail::as_tensor(updates)));
    }
};

namespace detail {
template <class A>
concept TypedArray = !Operand<A> && requires(const A& a) {
    typename A::value_type;
    a.untyped().copy();
};
// The sizes that an array's type says; of one that says none an unknown one.
template <class A> struct sizes_said { using type = shape<dyn>; };
template <class A>
    requires requires { A::shape_type::extents; }
struct sizes_said<A> {
    using type = typename A::shape_type;
};
// What a variable is given where it is not said how it begins: nothing, values in braces, or a function that is not called.
struct not_said {
    not_said() = default;
    not_said(std::initializer_list<double>) {}
    not_said(initializer::random_function) {} // normal(..), uniform(..), ..
    not_said(initializer (*)()) {}            // zeros(), ones()
};
// A variable that begins with a value.
template <class V> inline constexpr bool is_initial_value = Operand<V> || TypedArray<V> || Element<V>;
template <class V> auto variable_of(std::string_view name, const V& initial, const variable_options& o) {
    if constexpr (std::is_same_v<V, ill_shaped>) return ill_shaped{};
    else if constexpr (Element<V>) {
        any_array value(element_type_of<V>, {});
        *static_cast<V*>(value.data()) = initial;
        return variable_tensor<V, shape<>>(new_variable(name, std::move(value), o));
    } else {
        using S = typename sizes_said<V>::type;
        static_assert(S::extents.is_static(),
                      "tenon::variable: the sizes of a variable must be numbers; of an array whose type does not say "
                      "them: a.as<shape<2, 3>>()");
        if constexpr (Operand<V>)
            return variable_tensor<typename V::element_type, S>(
                new_variable(name, type_of<typename V::element_type, S>, as_tensor(initial), o));
        else
            return variable_tensor<typename V::value_type, canonical_t<S>>(
                new_variable(name, initial.untyped().copy(), o));
    }
}
} // namespace detail

/// A variable of type T and sizes S, all of them numbers, that begins as an initializer says: variable<float, shape<784, 10>>("w", glorot_uniform()).
/// Or one that begins with a value, which says both: a host tensor whose type says its sizes, variable("w", array<float, shape<3>>{1, 2, 3}), a
/// number, or a tensor, of random numbers, fed when the initialiser runs, or computed from other variables' initialized_value(). (A variable
/// itself is read before it begins, which is an error in the step that initialises both.) Without a name it is "variable".
// One function, so that a compiler that refuses a call has little to say.
template <class T = void, class S = void, class Name, class How = detail::not_said>
auto variable(const Name& name, const How& how = {}, const variable_options& o = {}, called_from here = caller()) {
    const making made(here);
    constexpr bool is_said = !std::is_same_v<How, detail::not_said>;
    constexpr bool has_name = std::is_convertible_v<const Name&, std::string_view>;
    if constexpr (std::is_void_v<T> && detail::is_initial_value<Name> && !is_said)
        return detail::variable_of("variable", name, o);
    else if constexpr (std::is_void_v<T> && detail::is_initial_value<How> && has_name)
        return detail::variable_of(name, how, o);
    else {
        constexpr bool good = Element<T> && Shape<S> && is_said && has_name;
        static_assert(
            good, "tenon::variable: give type, sizes, name and how it begins, zeros(), normal(), glorot_uniform(), ..: "
                  "variable<float, shape<784, 10>>(\"w\", zeros()), or a name and a value, a tensor or an array: "
                  "variable(\"w\", constant({1.0f, 2.0f}))");
        if constexpr (!good) return ill_shaped{};
        else {
            static_assert(S::extents.is_static(), "tenon::variable: the sizes of a variable must be numbers");
            const initializer begins = how;
            return variable_tensor<T, canonical_t<S>>(
                detail::new_variable(name, detail::type_of<T, canonical_t<S>>, begins, o));
        }
    }
}
#if TENON_TAKES_BRACES_FOR_ARRAYS
template <class T, class S, class How, std::size_t N>
void variable(const detail::in_braces&, const How&, detail::other_braces_than<variable_options, N>&) = delete;
#endif
/// The same in so many parts (ops/shape/partition.hpp), which the compiler holds against its rows. Where their number is known when
/// the program runs, it is an option: {.partition = {.parts = n}}; then there are no more than there are rows.
template <Element T, Shape S, int Parts>
variable_tensor<T, canonical_t<S>> partitioned_variable(std::string_view name, const initializer& how,
                                                        variable_options o = {}, called_from here = caller()) {
    const making made(here);
    static_assert(S::extents.is_static(), "tenon::variable: the sizes of a variable must be numbers");
    static_assert(S::rank > 0, "tenon::partitioned_variable: a scalar has no rows to part");
    static_assert(Parts > 0, "tenon::partitioned_variable: there must be a part");
    if constexpr (S::rank > 0)
        static_assert(Parts <= S::extents[0].size || Parts == 1,
                      "tenon::partitioned_variable: there are more parts than rows");
    o.partition = {.parts = Parts};
    return variable_tensor<T, canonical_t<S>>(detail::new_variable(name, detail::type_of<T, canonical_t<S>>, how, o));
}
/// The operation that gives all of the current graph's variables their initial values.
operation initialize_variables();
/// Or just these.
template <class... V> operation initialize_variables(const V&... variables) {
    return group(variables.initializer()...);
}

namespace untyped {
any_tensor variable(const std::string& name, const any_tensor& initial, const variable_options& o = {},
                    called_from here = caller());
/// All sizes are numbers.
any_tensor variable(const std::string& name, const tensor_type& type, const initializer& how,
                    const variable_options& o = {}, called_from here = caller());
/// The operation that gives these variables their initial values.
operation initialize_variables(const std::vector<any_tensor>& variables, called_from here = caller());
any_tensor initialized_value(const any_tensor& variable, called_from here = caller());
/// The variable after the update, when run or used. A number is one of its element type.
any_tensor assign(const any_tensor& variable, const tensor_or_number& value, called_from here = caller());
any_tensor assign_add(const any_tensor& variable, const tensor_or_number& value, called_from here = caller());
any_tensor assign_sub(const any_tensor& variable, const tensor_or_number& value, called_from here = caller());
/// The variable after its rows indices[i] were changed by updates[i], or all of them by one number.
any_tensor scatter_update(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                          called_from here = caller());
any_tensor scatter_add(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter_sub(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter_mul(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter_div(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter_min(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter_max(const any_tensor& variable, const any_tensor& indices, const tensor_or_number& updates,
                       called_from here = caller());
any_tensor scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                   const any_tensor& updates, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_state)

#include <tenon/ops/state/state.inl>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor variable(const std::string& name, const any_tensor& initial, const variable_options& o,
                                 called_from here) {
    const making made(here);
    return detail::new_variable(name, initial.type(), initial, o);
}
TENON_INLINE any_tensor variable(const std::string& name, const tensor_type& type, const initializer& how,
                                 const variable_options& o, called_from here) {
    const making made(here);
    return detail::new_variable(name, type, how, o);
}
TENON_INLINE operation initialize_variables(const std::vector<any_tensor>& variables, called_from here) {
    const making made(here);
    std::vector<operation> all;
    for (const any_tensor& v : variables) all.push_back(detail::initializer_of(v));
    return tenon::group(all);
}
TENON_INLINE any_tensor initialized_value(const any_tensor& variable, called_from here) {
    const making made(here);
    return detail::initialized_value_of(variable);
}

TENON_INLINE any_tensor assign(const any_tensor& variable, const tensor_or_number& value, called_from here) {
    const making made(here);
    return detail::add_assign(variable, detail::update_of(variable, value, "assign"), "assign");
}
TENON_INLINE any_tensor assign_add(const any_tensor& variable, const tensor_or_number& value, called_from here) {
    const making made(here);
    return detail::add_computed(opcode::add, variable, value, "assign_add");
}
TENON_INLINE any_tensor assign_sub(const any_tensor& variable, const tensor_or_number& value, called_from here) {
    const making made(here);
    return detail::add_computed(opcode::subtract, variable, value, "assign_sub");
}
#define TENON_SCATTER(NAME, HOW)                                                                                   \
    TENON_INLINE any_tensor NAME(const any_tensor& variable, const any_tensor& indices,                            \
                                 const tensor_or_number& updates, called_from here) {                              \
        const making made(here);                                                                                   \
        return scatter(scatter_op::way::HOW, variable, indices,                                                    \
                       tenon::detail::update_of(variable, updates, tenon::detail::name_of(scatter_op::way::HOW))); \
    }
TENON_SCATTER(scatter_update, update)
TENON_SCATTER(scatter_add, add)
TENON_SCATTER(scatter_sub, subtract)
TENON_SCATTER(scatter_mul, multiply)
TENON_SCATTER(scatter_div, divide)
TENON_SCATTER(scatter_min, minimum)
TENON_SCATTER(scatter_max, maximum)
#undef TENON_SCATTER
TENON_INLINE any_tensor scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                                const any_tensor& updates, called_from here) {
    const making made(here);
    detail::check_is_variable(variable, detail::name_of(how));
    return detail::add_scatter(how, variable, indices, updates);
}
} // namespace untyped

TENON_INLINE operation initialize_variables() {
    std::vector<operation> all;
    for (const any_tensor& a : graph::current().collection(detail::initializers)) all.push_back(a.operation());
    return group(all, "initialize_variables");
}

TENON_KERNEL(variable, detail::variable_kernel);
TENON_KERNEL(is_initialized, detail::is_initialized_kernel);
TENON_KERNEL(assign, detail::assign_kernel);
} // namespace tenon

#endif
