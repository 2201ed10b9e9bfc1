#pragma once

#include <tenon/core/fault.hpp>
#include <tenon/core/shape.hpp>

/// The compile-time complaint: one mistake gives one error, whose first line names the op and both shapes.
/// The result of a mistaken call is `ill_shaped`, which every op absorbs in silence. An op complains with
///     static_assert(detail::shapes_of<Op, what, detail::shown_of<Operands>...>::agree, "tenon: shapes do not agree");
/// in the function itself: each template between that line and the user's takes lines of the error.

namespace tenon {

/// What a call with a shape mistake returns; accepted by every op, which then returns it again.
struct ill_shaped {};

namespace detail {

#if defined(__clang__)

// clang prints values inside template arguments as numbers, but names of types and enumerators as they are.
template <int Number> struct size {};
struct unknown_size {};
template <auto D> struct shown_dim { using type = std::remove_cvref_t<decltype(D)>; };
template <> struct shown_dim<dyn> { using type = unknown_size; };
template <auto D>
    requires std::is_integral_v<std::remove_cvref_t<decltype(D)>>
struct shown_dim<D> { using type = size<static_cast<int>(D)>; };

template <class T, class... Sizes> struct shown_tensor {};
template <class T, class S> struct shown;
template <class T, auto... D> struct shown<T, shape<D...>> {
    using type = shown_tensor<T, typename shown_dim<D>::type...>;
};

template <class Operand> using shown_of = typename shown<typename Operand::element, typename Operand::shape>::type;

template <class Op, fault Fault, class... Operands> struct shapes_of {
    static constexpr bool agree = false;
};

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
    constexpr void put(const char* op, fault what, type_list operands) {
        put(op);
        put(": ");
        put(words(what));
        put(": ");
        for (int i = 0; i < operands.size(); ++i) {
            if (i) put(" x ");
            if (is_about_elements(what)) put(name_of(operands[i].element));
            put(operands[i].extents);
        }
    }
};

template <class Op, fault Fault, class... Operands> constexpr auto sentence() {
    constexpr tensor_type operands[] = {Operands::type..., tensor_type{}};
    constexpr int length = [&] {
        sentence_writer w{nullptr};
        w.put(Op::name, Fault, type_list(operands, static_cast<int>(sizeof...(Operands))));
        return w.at;
    }();
    fixed_string<static_cast<std::size_t>(length) + 1> text;
    sentence_writer w{text.text};
    w.put(Op::name, Fault, type_list(operands, static_cast<int>(sizeof...(Operands))));
    return text;
}

template <fixed_string Complaint> struct complaint {
    static_assert(Complaint.text[0] == 0, "tenon: the shapes of an operation do not agree");
    static constexpr bool agree = true; // it has been said
};
template <class Operand> using shown_of = Operand;
// An alias: one step less between the complaint and the user's line.
template <class Op, fault Fault, class... Operands> using shapes_of = complaint<sentence<Op, Fault, Operands...>()>;

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
template <auto Attributes> struct constant_attributes {
    static constexpr auto value = Attributes;
};

/// The defaults, for ops whose shapes do not depend on attributes.
template <class Op> struct default_attributes {
    static constexpr typename Op::attributes value{};
};

} // namespace detail

} // namespace tenon
