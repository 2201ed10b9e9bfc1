#pragma once

#include <tenon/core/fault.hpp>
#include <tenon/core/shape.hpp>

/// The compile-time complaint: one mistake gives one error, whose first line names the op and both shapes.
/// The result of a mistaken call is `ill_shaped`, which every op absorbs in silence. An op complains with
///     static_assert(detail::shapes_of<Op, what, detail::shown_of<Operands>...>::agree, "tenon: shapes do not agree");
/// in the function itself: each template between that line and the user's takes lines of the error. What is asked for
/// beside the operands, sizes or axes, is shown too where detail::asked_of<Static, what> follows them.

namespace tenon {

/// What a call with a shape mistake returns. Every op takes it and returns it again, and what a tensor, a variable or
/// an array can be asked for it answers with itself, so that one mistake gives one error. Nothing of it is ever called.
struct ill_shaped {
    template <class... A> ill_shaped operator()(const A&...) const;
    template <class I> ill_shaped operator[](const I&) const;
    /// As anything that it is declared to be: tensor<float, shape<batch, 10>> h = matmul(x, w).
    template <class T>
        requires(!std::is_pointer_v<T>)
    operator T() const; // NOLINT
    template <class Stream> friend Stream& operator<<(Stream& to, const ill_shaped&) { return to; }
    const ill_shaped* begin() const;
    const ill_shaped* end() const;

#define TENON_ABSORB(member) template <class... A> ill_shaped member(const A&...) const
    TENON_ABSORB(name);
    TENON_ABSORB(type);
    TENON_ABSORB(element);
    TENON_ABSORB(extents);
    TENON_ABSORB(extent);
    TENON_ABSORB(rank);
    TENON_ABSORB(size);
    TENON_ABSORB(node);
    TENON_ABSORB(output);
    TENON_ABSORB(operation);
    TENON_ABSORB(initializer);
    TENON_ABSORB(initialized_value);
    TENON_ABSORB(assign);
    TENON_ABSORB(assign_add);
    TENON_ABSORB(assign_sub);
    TENON_ABSORB(scatter_update);
    TENON_ABSORB(scatter_add);
    TENON_ABSORB(scatter_sub);
    TENON_ABSORB(scatter_mul);
    TENON_ABSORB(scatter_div);
    TENON_ABSORB(scatter_min);
    TENON_ABSORB(scatter_max);
    TENON_ABSORB(item);
    TENON_ABSORB(data);
    TENON_ABSORB(span);
    TENON_ABSORB(row);
    TENON_ABSORB(at);
    TENON_ABSORB(slice);
    TENON_ABSORB(copy);
    TENON_ABSORB(share);
    TENON_ABSORB(reshape);
    TENON_ABSORB(fill);
    TENON_ABSORB(untyped);
#undef TENON_ABSORB
    template <class S> ill_shaped as() const;
};

namespace detail {

template <class... X>
inline constexpr bool any_ill_shaped = (std::is_same_v<std::remove_cvref_t<X>, ill_shaped> || ...);

/// For `auto [a, b] = ...`: as many as there are Xs.
template <class X> using ill_shaped_for = ill_shaped;

#if defined(__clang__)

// clang prints values inside template arguments as numbers, but names of types and enumerators as they are.
template <int Number> struct size {};
struct unknown_size {};
template <auto D> struct shown_dim { using type = std::remove_cvref_t<decltype(D)>; };
template <> struct shown_dim<dyn> { using type = unknown_size; };
template <auto D>
    requires std::is_integral_v<std::remove_cvref_t<decltype(D)>>
struct shown_dim<D> {
    using type = size<static_cast<int>(D)>;
};

template <class T, class... Sizes> struct shown_tensor {};
template <class T, class S> struct shown;
template <class T, auto... D> struct shown<T, shape<D...>> {
    using type = shown_tensor<T, typename shown_dim<D>::type...>;
};

template <class Operand> using shown_of = typename shown<typename Operand::element, typename Operand::shape>::type;

template <class... Sizes> struct asked_sizes {};
template <int... Axes> struct asked_axes {};
struct nothing_asked {};

template <class Target> struct asked_shape { using type = nothing_asked; };
template <auto... D> struct asked_shape<shape<D...>> { using type = asked_sizes<typename shown_dim<D>::type...>; };

template <class Static> constexpr auto asked_axes_of() {
    using A = std::remove_cvref_t<decltype(Static::value)>;
    if constexpr (requires { A::axes.count; }) return []<std::size_t... I>(std::index_sequence<I...>) {
            return asked_axes<static_cast<int>(Static::value.axes.values[I])...>{};
        }
    (std::make_index_sequence<static_cast<std::size_t>(Static::value.axes.count)>{});
    else if constexpr (requires { A::axis; }) return asked_axes<static_cast<int>(Static::value.axis)>{};
    else return nothing_asked{}; }
template <class Static, bool Axes, class Target> struct asked : asked_shape<Target> {};
template <class Static, class Target> struct asked<Static, true, Target> {
    using type = decltype(asked_axes_of<Static>());
};
template <class Static, fault Fault, class Target = void>
using asked_of = typename asked<Static, is_about_axes(Fault), Target>::type;

template <class Op, fault Fault, class... Shown> struct shapes_of { static constexpr bool agree = false; };

#else

// g++ prints text in template arguments, so the complaint is a sentence: the one the graph says at run time.
struct sentence_writer {
    char* to;
    int at = 0;
    constexpr void put(char c) {
        if (to) to[at] = c;
        ++at;
    }
    constexpr void put(const char* s) {
        for (; *s; ++s) put(*s);
    }
    constexpr void put(std::int64_t n) {
        if (n < 0) {
            put('-');
            n = -n;
        }
        if (n >= 10) put(n / 10);
        put(static_cast<char>('0' + n % 10));
    }
    constexpr void put(const extents& e) {
        put('[');
        for (int i = 0; i < e.rank(); ++i) {
            if (i) put(", ");
            if (e[i].is_number()) put(e[i].size);
            else put(e[i].is_named() ? e[i].name : "?");
        }
        put(']');
    }
};

// What is shown of an attribute: sizes like an operand's, and axes where they are what is wrong.
struct attribute_writer {
    sentence_writer& to;
    fault what;
    const char* between;
    constexpr void put(const char*, const extents& e) const {
        if (is_about_elements(what)) return;
        to.put(between);
        to.put(e);
    }
    template <class V> constexpr void put(const char* name, const V& v) const {
        if (!is_about_axes(what)) return;
        if constexpr (requires { v.count; }) {
            if (!same_text(name, "axes")) return;
            for (int i = 0; i < v.count; ++i) {
                to.put(i ? ", " : v.count > 1 ? ", axes " : ", axis ");
                to.put(v.values[i]);
            }
        } else if constexpr (std::is_integral_v<V>) {
            if (!same_text(name, "axis")) return;
            to.put(", axis ");
            to.put(static_cast<std::int64_t>(v));
        }
    }
};

template <class Static, fault Fault> struct asked {
    static constexpr void show(sentence_writer& w, fault what, const char* between) {
        std::remove_cvref_t<decltype(Static::value)>::fields([&](const char* name, auto member) {
            attribute_writer{w, what, between}.put(name, Static::value.*member);
        });
    }
};
template <class Static, fault Fault, class Target = void> using asked_of = asked<Static, Fault>;

template <class Shown> constexpr void show(sentence_writer& w, fault what, const char* between) {
    if constexpr (requires { Shown::show(w, what, between); }) Shown::show(w, what, between);
    else {
        w.put(between);
        if (is_about_elements(what)) w.put(name_of(Shown::type.element));
        w.put(Shown::type.extents);
    }
}

template <class Op, fault Fault, class... Shown> constexpr int write_sentence(char* to) {
    sentence_writer w{to};
    w.put(Op::name);
    w.put(": ");
    w.put(words(Fault));
    w.put(": ");
    [[maybe_unused]] const char* between = "";
    ((show<Shown>(w, Fault, between), between = " x "), ...);
    return w.at;
}

template <class Op, fault Fault, class... Shown> constexpr auto sentence() {
    fixed_string<static_cast<std::size_t>(write_sentence<Op, Fault, Shown...>(nullptr)) + 1> text;
    write_sentence<Op, Fault, Shown...>(text.text);
    return text;
}

// Never defined, so that the line with the word error shows the sentence too.
template <fixed_string Complaint> struct shapes_do_not_agree;
template <fixed_string Complaint> struct complaint {
    static_assert(sizeof(shapes_do_not_agree<Complaint>) > 0);
    static constexpr bool agree = true; // it has been said
};
template <class Operand> using shown_of = Operand;
// An alias: one step less between the complaint and the user's line.
template <class Op, fault Fault, class... Shown> using shapes_of = complaint<sentence<Op, Fault, Shown...>()>;

#endif

/// Element type and shape of an operand, as a type.
template <class T, class S> struct operand_type {
    using element = T;
    using shape = S;
    static constexpr tensor_type type{element_type_of<T>, S::extents};
};

template <class Op, class Static, int Output, class... Operands> constexpr inferred infer_static() {
    constexpr tensor_type operands[] = {Operands::type..., tensor_type{}};
    return Op::infer(Static::value, type_list(operands, static_cast<int>(sizeof...(Operands))), Output);
}

template <class Op, class Static, int Output, class... Operands> struct inference {
    static constexpr inferred answer = infer_static<Op, Static, Output, Operands...>();
    static constexpr const extents& value = answer.type.extents;
};

/// Attributes of an op as a type: `Static::value`.
template <auto Attributes> struct constant_attributes { static constexpr auto value = Attributes; };

/// The defaults, for ops whose shapes do not depend on attributes.
template <class Op> struct default_attributes { static constexpr typename Op::attributes value{}; };

} // namespace detail

} // namespace tenon
