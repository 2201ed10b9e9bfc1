#pragma once

#include <tenon/graph/graph.hpp>
#include <tenon/graph/tensor.hpp>

/// Ops that steer a graph rather than compute: placeholders, identities, groups, printing, assertions.
///
///     auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");   // fed in every step
///     auto both = tn::group(train, update);                          // an operation that runs both

namespace tenon {

/// A tensor that is fed in every step that needs it. Type: as declared.
struct placeholder_op {
    static constexpr const char* name = "placeholder";
    static constexpr op_flags flags = op_flags::source | op_flags::fed;
    struct attributes {
        element_type element = element_type::none;
        extents shape;
    };
    static constexpr inferred infer(const attributes& a, type_list, int) { return inferred(a.element, a.shape); }
};
TENON_OP(control, placeholder);

/// The value of its input, unless it is fed.
struct placeholder_with_default_op {
    static constexpr const char* name = "placeholder_with_default";
    static constexpr op_flags flags = op_flags::source | op_flags::identity;
    using attributes = placeholder_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != a.element) return fault::element_types_differ;
        const merged_extents m = equal_shapes(in[0].extents, a.shape);
        return m.what == fault::none ? inferred(a.element, a.shape) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, placeholder_with_default);

/// Its input, under another name.
struct identity_op {
    static constexpr const char* name = "identity";
    static constexpr op_flags flags = op_flags::alike | op_flags::identity;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? inferred(in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, identity);

/// Its input, in the memory of another device. The planner makes these.
struct transfer_op : identity_op {
    static constexpr const char* name = "transfer";
    static constexpr op_flags flags = op_flags::alike;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, transfer);

/// Its input, whose sizes are those of the attribute, or the step fails: a number is checked, a named size has one
/// value.
struct ensure_shape_op {
    static constexpr const char* name = "ensure_shape";
    static constexpr op_flags flags = op_flags::identity;
    struct attributes {
        extents shape;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const merged_extents m = equal_shapes(in[0].extents, a.shape);
        return m.what == fault::none ? inferred(in[0].element, m.extents) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, ensure_shape);

/// Its input, through which no gradient flows.
struct stop_gradient_op {
    static constexpr const char* name = "stop_gradient";
    static constexpr op_flags flags = op_flags::identity;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int o) { return identity_op::infer(a, in, o); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, stop_gradient);

/// Nothing; runs after its control inputs.
struct no_op_op {
    static constexpr const char* name = "no_op";
    static constexpr op_flags flags = op_flags::source;
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list, int) { return fault::none; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, no_op);

/// A tensor of the sizes of its input, whose value does not matter, filled with one number.
struct fill_like_op {
    static constexpr const char* name = "fill_like";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        number value = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        return a.value.fits(in[0].element) ? inferred(in[0]) : inferred(fault::number_does_not_fit);
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, fill_like);

/// Its first input; writes a message and all its inputs to standard error when it runs.
struct print_op {
    static constexpr const char* name = "print";
    static constexpr element_types gpu_types = no_elements; // it needs the host
    static constexpr op_flags flags = op_flags::stateful | op_flags::shows;
    struct attributes {
        std::string message;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() > 0 ? inferred(in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, print);

/// Checks that all elements of input 0 (bool) are true; else fails the step with invalid_argument_error: the
/// message and the first elements of the other inputs.
struct assert_op {
    static constexpr const char* name = "assert";
    static constexpr element_types gpu_types = no_elements; // it needs the host
    static constexpr op_flags flags = op_flags::stateful;
    using attributes = print_op::attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() == 0) return fault::expects_more_operands;
        return in[0].element == element_type::boolean ? inferred() : inferred(fault::element_type_must_be_bool);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(control, assert);

namespace untyped {
any_tensor placeholder(element_type element, const extents& shape, std::string_view name = {},
                       called_from here = caller());
} // namespace untyped

/// A tensor that is fed in every step that needs it. `name` says which in errors.
template <Element T, Shape S = shape<>>
tensor<T, canonical_t<S>> placeholder(std::string_view name = {}, called_from here = caller()) {
    const making made(here);
    return tensor<T, canonical_t<S>>::unchecked(untyped::placeholder(element_type_of<T>, S::extents, name));
}

/// The value of x unless it is fed; may ask for less static sizes than x has, so that others can be fed.
template <Shape S, Operand X>
auto placeholder_with_default(const X& x, const std::string& name = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        using T = typename X::element_type;
        static_assert(detail::is_less_static(canonical_t<S>::extents, X::shape_type::extents),
                      "tenon::placeholder_with_default: the default does not have the sizes asked for");
        return tensor<T, canonical_t<S>>::unchecked(
            tenon::add<placeholder_with_default_op>({element_type_of<T>, S::extents}, {detail::as_tensor(x)},
                                                    name.empty() ? "placeholder_with_default" : name));
    }
}
template <Operand X>
auto placeholder_with_default(const X& x, const std::string& name = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else return placeholder_with_default<typename X::shape_type>(x, name);
}

/// x itself, as a node of its own: made inside scopes, with another name.
template <OperandOrIllShaped X> auto identity(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<identity_op, no_attributes{}>(x);
}
template <Operand X> auto identity(const X& x, const std::string& name, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        const auto t = detail::as_tensor(x);
        return std::remove_cvref_t<decltype(t)>::unchecked(tenon::add<identity_op>({}, {t}, name));
    }
}

/// x, seen as a constant by gradients.
template <OperandOrIllShaped X> auto stop_gradient(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<stop_gradient_op, no_attributes{}>(x);
}

/// Zeros of x's element type and sizes.
template <OperandOrIllShaped X> auto zeros_like(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<fill_like_op, detail::default_attributes<fill_like_op>>(fill_like_op::attributes{0}, x);
}
/// Ones of x's element type and sizes.
template <OperandOrIllShaped X> auto ones_like(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<fill_like_op, detail::default_attributes<fill_like_op>>(fill_like_op::attributes{1}, x);
}

namespace detail {
/// The kernel of ops that give one value everywhere.
kernel_pointer make_fill_kernel(const tensor_type& type, const number& value);
operation add_group(const std::vector<node*>& members, const std::string& name);
template <class...> inline constexpr bool begins_with_operations = false;
template <class... N> inline constexpr bool begins_with_operations<std::vector<operation>, N...> = true;
template <class N>
inline constexpr bool is_grouped = std::is_same_v<N, operation> || std::is_base_of_v<any_tensor, N> || Operand<N>;
template <class N> node* node_of(const N& n) {
    if constexpr (requires { n.materialize(); }) return n.materialize().node();
    else if constexpr (std::is_same_v<N, ill_shaped>) return nullptr;
    else return n.node();
}
} // namespace detail

/// An operation that does nothing.
operation no_op(const std::string& name = {});

/// An operation that has run when all the given operations and tensors have.
template <class... N>
    requires(!detail::begins_with_operations<N...>)
operation group(const N&... members) {
    constexpr bool good = (detail::is_grouped<N> && ...);
    static_assert(good, "tenon::group: it takes operations and tensors");
    if constexpr (good) return detail::add_group({detail::node_of(members)...}, {});
    else return {};
}
operation group(const std::vector<operation>& members, const std::string& name = {});

namespace untyped {
any_tensor zeros_like(const any_tensor& x, called_from here = caller());
any_tensor ones_like(const any_tensor& x, called_from here = caller());
any_tensor identity(const any_tensor& x, const std::string& name = {}, called_from here = caller());
any_tensor stop_gradient(const any_tensor& x, called_from here = caller());
/// The value of x unless it is fed; `shape`, where it is given, may leave open what x says of its sizes.
any_tensor placeholder_with_default(const any_tensor& x, const std::string& name = {}, called_from here = caller());
any_tensor placeholder_with_default(const any_tensor& x, const extents& shape, const std::string& name = {},
                                    called_from here = caller());
any_tensor print(const any_tensor& x, const std::string& message, const std::vector<any_tensor>& more = {},
                 called_from here = caller());
operation assert_true(const any_tensor& condition, const std::string& message,
                      const std::vector<any_tensor>& shown = {}, called_from here = caller());
operation group(const std::vector<any_tensor>& members, const std::string& name = {}, called_from here = caller());
} // namespace untyped

/// x; prints "message" and the values of x and of more when it runs.
template <Operand X, Operand... More> auto print(const X& x, const located<std::string>& message, const More&... more) {
    const making made(message.at);
    if constexpr (detail::any_ill_shaped<X, More...>) return ill_shaped{};
    else {
        const auto t = detail::as_tensor(x);
        return std::remove_cvref_t<decltype(t)>::unchecked(
            untyped::print(t, message.value, {any_tensor(detail::as_tensor(more))...}));
    }
}

/// An operation that fails the step unless every element of `condition` is true. Run it, or make what it guards
/// under control_dependencies of it.
template <Operand C, Operand... Shown>
operation assert_true(const C& condition, const located<std::string>& message, const Shown&... shown) {
    const making made(message.at);
    if constexpr (detail::any_ill_shaped<C, Shown...>) return {};
    else {
        static_assert(std::is_same_v<typename C::element_type, bool>, "tenon::assert_true: the condition must be bool");
        return untyped::assert_true(detail::as_tensor(condition), message.value,
                                    {any_tensor(detail::as_tensor(shown))...});
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_control)

#include <cstdio>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/gradient_context.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor zeros_like(const any_tensor& x, called_from here) {
    return tenon::add<fill_like_op>({0}, {x}, here);
}
TENON_INLINE any_tensor ones_like(const any_tensor& x, called_from here) {
    return tenon::add<fill_like_op>({1}, {x}, here);
}
TENON_INLINE any_tensor identity(const any_tensor& x, const std::string& name, called_from here) {
    const making made(here);
    return tenon::add<identity_op>({}, {x}, name);
}
TENON_INLINE any_tensor stop_gradient(const any_tensor& x, called_from here) {
    return tenon::add<stop_gradient_op>({}, {x}, here);
}
TENON_INLINE any_tensor placeholder(element_type element, const extents& shape, std::string_view name,
                                    called_from here) {
    const making made(here);
    return tenon::add<placeholder_op>({element, shape}, {}, std::string(name.empty() ? "placeholder" : name));
}
TENON_INLINE any_tensor placeholder_with_default(const any_tensor& x, const std::string& name, called_from here) {
    return placeholder_with_default(x, x.extents(), name, here);
}
TENON_INLINE any_tensor placeholder_with_default(const any_tensor& x, const extents& shape, const std::string& name,
                                                 called_from here) {
    const making made(here);
    if (!detail::is_less_static(shape, x.extents()))
        throw invalid_argument_error("placeholder_with_default: the default, " + x.name() + ", is " +
                                     to_string(x.type()) + " and does not have the sizes " + to_string(shape));
    return tenon::add<placeholder_with_default_op>({x.element(), shape}, {x},
                                                   name.empty() ? "placeholder_with_default" : name);
}
TENON_INLINE any_tensor print(const any_tensor& x, const std::string& message, const std::vector<any_tensor>& more,
                              called_from here) {
    const making made(here);
    std::vector<any_tensor> shown{x};
    shown.insert(shown.end(), more.begin(), more.end());
    return tenon::add<print_op>({message}, std::move(shown), "print");
}
TENON_INLINE operation assert_true(const any_tensor& condition, const std::string& message,
                                   const std::vector<any_tensor>& shown, called_from here) {
    const making made(here);
    std::vector<any_tensor> inputs{condition};
    inputs.insert(inputs.end(), shown.begin(), shown.end());
    return operation(
        add_node(definition_of<assert_op>(), std::move(inputs), encode(assert_op::attributes{message}), "assert"));
}
TENON_INLINE operation group(const std::vector<any_tensor>& members, const std::string& name, called_from here) {
    const making made(here);
    std::vector<node*> nodes;
    for (const any_tensor& t : members) nodes.push_back(t.node());
    return detail::add_group(nodes, name);
}
} // namespace untyped

namespace detail {
TENON_INLINE any_tensor checked_as(const any_tensor& t, const tensor_type& asked) {
    const merged_extents both = equal_shapes(t.extents(), asked.extents);
    if (t.element() != asked.element || both.what != fault::none)
        throw invalid_argument_error("as: " + t.name() + " is " + to_string(t.type()) + ", not " + to_string(asked));
    if (both.extents == t.extents()) return t;
    const home_scope scope{graph(t.node()->graph)};
    return tenon::add<ensure_shape_op>({both.extents}, {t});
}

TENON_INLINE operation add_group(const std::vector<node*>& members, const std::string& name) {
    if (members.empty()) return operation(add_node(definition_of<no_op_op>(), {}, {}, name.empty() ? "group" : name));
    for (node* n : members) require_node(n, "group: a member");
    const home_scope scope{graph(members[0]->graph)};
    const control_dependencies after(members);
    return operation(add_node(definition_of<no_op_op>(), {}, {}, name.empty() ? "group" : name));
}

// Copies its input where the plan could not let both lie in one place.
struct identity_kernel final : kernel {
    explicit identity_kernel(const kernel_setup& s, bool may_vanish = true) : type(s.inputs[0]), vanishes(may_vanish) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && r.in[0] != r.out[0])
            copy_elements(type.element, r.out[0], 0, r.in[0], 0, type.extents.elements());
    }
    double cost() const override { return 20 + static_cast<double>(type.extents.elements()) * 0.1; }
    bool may_share(int i, int) const override { return i == 0 && vanishes; }
    tensor_type type;
    bool vanishes;
};

struct nothing_kernel final : kernel {
    void run(const kernel_run&) override {}
    double cost() const override { return 1; }
};

struct fill_kernel final : kernel {
    fill_kernel(const tensor_type& t, const number& v) : type(t), value(v) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t n = type.extents.elements();
        const auto fill = [&]<class T>(T v) {
            for (std::int64_t i = 0; i < n; ++i) r.output<T>(0)[i] = v;
        };
        with_element(type.element, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) fill(value.to<T>());
        });
    }
    double cost() const override { return 20 + static_cast<double>(type.extents.elements()) * 0.1; }
    tensor_type type;
    number value;
};

struct print_kernel final : kernel {
    explicit print_kernel(const kernel_setup& s) :
        message(s.attrs.get<std::string>("message")), types(s.inputs.begin(), s.inputs.end()), copy(s) {}
    void run(const kernel_run& r) override {
        std::string text = message;
        for (std::size_t i = 0; i < types.size(); ++i)
            text += (i || !message.empty() ? " " : "") +
                    to_string(any_array::view(const_cast<void*>(r.in[i]), types[i].element, types[i].extents));
        text += '\n';
        std::fwrite(text.data(), 1, text.size(), stderr); // one write: lines of parallel nodes do not mix
        copy.run(r);
    }
    double cost() const override { return 2e4; }
    std::string message;
    std::vector<tensor_type> types;
    identity_kernel copy;
};

struct assert_kernel final : kernel {
    explicit assert_kernel(const kernel_setup& s) :
        message(s.attrs.get<std::string>("message")), types(s.inputs.begin(), s.inputs.end()) {}
    void run(const kernel_run& r) override {
        const bool* p = r.input<bool>(0);
        const std::int64_t n = types[0].extents.elements();
        std::int64_t i = 0;
        while (i < n && p[i]) ++i;
        if (i == n) return;
        std::string text = "assertion failed at element " + std::to_string(i) + ": " + message;
        for (std::size_t k = 1; k < types.size(); ++k)
            text += " " + to_string(any_array::view(const_cast<void*>(r.in[k]), types[k].element, types[k].extents));
        throw invalid_argument_error(text);
    }
    std::string message;
    std::vector<tensor_type> types;
};
} // namespace detail

TENON_INLINE operation no_op(const std::string& name) {
    return operation(add_node(definition_of<no_op_op>(), {}, {}, name.empty() ? "no_op" : name));
}

TENON_INLINE operation group(const std::vector<operation>& members, const std::string& name) {
    std::vector<node*> nodes;
    for (const operation& o : members) nodes.push_back(o.node());
    return detail::add_group(nodes, name);
}

TENON_INLINE void identity_op::gradient(gradient_context& g) { g.set(0, g.output_gradient()); }
TENON_INLINE void ensure_shape_op::gradient(gradient_context& g) { g.set(0, g.output_gradient()); }
TENON_INLINE void placeholder_with_default_op::gradient(gradient_context& g) { g.set(0, g.output_gradient()); }
TENON_INLINE void print_op::gradient(gradient_context& g) { g.set(0, g.output_gradient()); }

TENON_KERNEL(placeholder_with_default, detail::identity_kernel);
TENON_KERNEL(identity, detail::identity_kernel);
TENON_INLINE kernel_pointer transfer_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::identity_kernel>(s, false);
}
TENON_KERNEL(ensure_shape, detail::identity_kernel);
TENON_KERNEL(stop_gradient, detail::identity_kernel);
TENON_INLINE kernel_pointer no_op_op::prepare(const kernel_setup&) {
    return std::make_unique<detail::nothing_kernel>();
}
TENON_INLINE kernel_pointer detail::make_fill_kernel(const tensor_type& type, const number& value) {
    return std::make_unique<fill_kernel>(type, value);
}
TENON_INLINE kernel_pointer fill_like_op::prepare(const kernel_setup& s) {
    return detail::make_fill_kernel(s.outputs[0], decode<attributes>(s.attrs).value);
}
TENON_KERNEL(print, detail::print_kernel);
TENON_KERNEL(assert, detail::assert_kernel);

} // namespace tenon

#endif
