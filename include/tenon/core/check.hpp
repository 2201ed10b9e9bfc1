#pragma once

#include <limits>

#include <tenon/core/fault.hpp>
#include <tenon/core/members.hpp>
#include <tenon/core/sizes/shape.hpp>

/// The compile-time complaint: one mistake gives one error, whose first line names the op and both shapes.
/// The result of a mistaken call is `ill_shaped`, which every op absorbs in silence. A function on operands asks its rule,
/// complains and answers with
///     using verdict = detail::verdict_of<Rule, Static, detail::operand_of_t<Xs>...>;
///     static_assert(verdict::agree, "tenon: shapes do not agree");
///     if constexpr (!verdict::fits) return ill_shaped{};
/// in the function itself: each template between these lines and the user's takes lines of the error. What is asked for
/// beside the operands, the sizes or axes in Static, is shown too.

namespace tenon {

/// What a call with a shape mistake returns. Every op takes it and returns it again, and what a tensor, a variable or
/// an array can be asked for it answers with itself, so that one mistake gives one error. Nothing of it is ever defined.
struct ill_shaped {
    using element_type = float;
    using value_type = float;
    using shape_type = shape<>;

    template <class... A> ill_shaped operator()(const A&...) const;
    template <class I> ill_shaped operator[](const I&) const;
    template <class A> ill_shaped& operator=(const A&);
    const ill_shaped* operator->() const;
    /// As anything that it is declared to be: tensor<float, shape<batch, 10>> h = matmul(x, w).
    template <class T>
        requires(!std::is_pointer_v<T>)
    operator T() const; // NOLINT
    template <class Stream>
        requires requires { typename Stream::char_type; }
    friend Stream& operator<<(Stream& to, const ill_shaped&) { return to; }
    template <class A> friend A& operator+=(A& to, const ill_shaped&) { return to; }
    template <class A> friend A& operator-=(A& to, const ill_shaped&) { return to; }
    template <class A> friend A& operator*=(A& to, const ill_shaped&) { return to; }
    template <class A> friend A& operator/=(A& to, const ill_shaped&) { return to; }
    friend std::string to_string(const ill_shaped&);
    const ill_shaped* begin() const;
    const ill_shaped* end() const;

    // Whether they are members or are called: x.extents()[0].size, a.size().
    static const ill_shaped name, type, element, extents, extent, rank, size, elements, index, is_static, is_number;
    static const ill_shaped node, op, output, operation, initializer, initialized_value;
    static const ill_shaped assign, assign_add, assign_sub, scatter_update, scatter_add, scatter_sub, scatter_mul,
        scatter_div, scatter_min, scatter_max;
    static const ill_shaped item, span, row, at, slice, copy, share, reshape, fill, untyped, empty;
    const char* c_str() const;
    template <class... T> ill_shaped data() const;
    template <class... S> ill_shaped as() const;
};

namespace detail {

template <class... X>
inline constexpr bool any_ill_shaped = (std::is_same_v<std::remove_cvref_t<X>, ill_shaped> || ...);

/// False, when it is asked: what a function that catches a common mistake asserts, with what to write instead.
template <class...> inline constexpr bool is_mistake = false;

/// What a function that catches mistakes takes: any argument, which it fits worse than what takes the argument as it is, or none.
struct any_argument {
    any_argument() = default;
    template <class X> constexpr any_argument(const X&) {} // NOLINT: it takes what is given
    // A function that is not called, such as tenon::relu: of those of that name the one that catches mistakes, which says so.
    using function = ill_shaped (*)(any_argument, any_argument);
    constexpr any_argument(function) {} // NOLINT
};

/// What a constructor was given where O stands, options. It takes them by a template parameter whose default is O, which braces make.
template <class O, class Given> O options_in(const Given& given) {
    constexpr bool good = std::is_base_of_v<O, Given>;
    static_assert(good, "tenon: here stand options, in braces and with their names: {.size = 32}");
    if constexpr (good) return given;
    else return {};
}

/// For `auto [a, b] = ...`: as many as there are Xs.
template <class X> using ill_shaped_for = ill_shaped;

/// A rule of others under another name. What derives from it has a name of its own, for compilers show that.
template <fixed_string Name, class Rule> struct named_rule : Rule { static constexpr const char* name = Name.text; };

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

// In place of the operand_type of what stands where one tensor should be: several, as a std::tuple; a value on the host; a tensor whose type
// is known at run time only. Of anything else it is void.
struct operand_tuple {};
struct host_value {};
struct untyped_operand {};

#if defined(__clang__)

struct not_agreed {
    static constexpr bool agree = false, fits = false;
};
// Templates, for clang shows other names as what stands for them.
template <int = 0> struct a_tuple_of_tensors_is_no_tensor_take_it_apart : not_agreed {};
template <int = 0> struct an_array_is_no_tensor_write_constant_of_its_copy_or_feed_a_placeholder : not_agreed {};
template <int = 0> struct an_untyped_tensor_gets_its_type_by_as_or_goes_to_functions_of_untyped : not_agreed {};
template <int = 0> struct what_is_given_is_no_tensor : not_agreed {};
using tuple_is_no_tensor = a_tuple_of_tensors_is_no_tensor_take_it_apart<>;
using array_is_no_tensor = an_array_is_no_tensor_write_constant_of_its_copy_or_feed_a_placeholder<>;
using this_is_untyped = an_untyped_tensor_gets_its_type_by_as_or_goes_to_functions_of_untyped<>;
using this_is_no_tensor = what_is_given_is_no_tensor<>;

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
template <class Static, bool Axes> struct asked { using type = nothing_asked; };
template <class Static> struct asked<Static, true> { using type = decltype(asked_axes_of<Static>()); };
template <class Static>
    requires requires { typename Static::target; }
struct asked<Static, false> : asked_shape<typename Static::target> {};
template <class Static, bool Axes>
    requires requires { typename Static::subject; }
struct asked<Static, Axes> {
    using type = shown_of<typename Static::subject>;
};

template <class Rule, fault Fault, class... Shown> struct shapes_of : not_agreed {};
template <class Rule, fault Fault, class Static, class... Operands>
using complaint_of = shapes_of<Rule, Fault, shown_of<Operands>..., typename asked<Static, is_about_axes(Fault)>::type>;

// Of words that an op brings, the name of the constant that has them, where one has.
template <const char* Words> struct in_words {};
struct in_words_without_a_name {};
template <class Inference> struct own_words { using type = in_words_without_a_name; };
template <class Inference>
    requires requires { typename in_words<Inference::answer.own>; }
struct own_words<Inference> {
    using type = in_words<Inference::answer.own>;
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
    constexpr void operator()(const char*, const extents& e) const {
        if (!is_about_sizes(what)) return;
        to.put(between);
        to.put(e);
    }
    template <class V> constexpr void operator()(const char* name, const V& v) const {
        if (!is_about_axes(what) && what != fault::slice_out_of_range) return;
        if constexpr (requires { v.count; }) {
            const bool axes = same_text(name, "axes");
            if (axes != is_about_axes(what)) return; // else "begins", "ends", "steps"
            for (int i = 0; i < v.count; ++i) {
                to.put(i ? ", " : !axes ? ", " : v.count > 1 ? ", axes " : ", axis ");
                if (!axes && !i) to.put(name), to.put(' ');
                if (v.values[i] == std::numeric_limits<std::int64_t>::min()) to.put("open");
                else to.put(v.values[i]);
            }
        } else if constexpr (std::is_integral_v<V>) {
            if (!is_about_axes(what) || !same_text(name, "axis")) return;
            to.put(", axis ");
            to.put(static_cast<std::int64_t>(v));
        }
    }
};

constexpr void show(sentence_writer& w, fault what, const tensor_type& operand, const char*& between) {
    w.put(between);
    between = " x ";
    if (is_about_elements(what)) w.put(name_of(operand.element));
    w.put(operand.extents);
}

template <class Static> constexpr void show_asked(sentence_writer& w, fault what, const char* between) {
    using attributes = std::remove_cvref_t<decltype(Static::value)>;
    if constexpr (requires { typename Static::subject; }) show(w, what, Static::subject::type, between);
    else if constexpr (std::is_aggregate_v<attributes>) each_member(Static::value, attribute_writer{w, what, between});
}

template <class Rule, fault Fault, class Static, class... Operands> constexpr int write_sentence(char* to) {
    sentence_writer w{to};
    w.put(Rule::name);
    w.put(": ");
    if constexpr (Fault == fault::in_own_words) w.put(inference<Rule, Static, 0, Operands...>::answer.words());
    else w.put(words(Fault));
    w.put(": ");
    const char* between = "";
    (show(w, Fault, Operands::type, between), ...);
    show_asked<Static>(w, Fault, between);
    return w.at;
}

template <class Rule, fault Fault, class Static, class... Operands> constexpr auto sentence() {
    fixed_string<static_cast<std::size_t>(write_sentence<Rule, Fault, Static, Operands...>(nullptr)) + 1> text;
    write_sentence<Rule, Fault, Static, Operands...>(text.text);
    return text;
}

// Never defined, so that the line with the word error shows the sentence too.
template <fixed_string Complaint> struct shapes_do_not_agree;
template <fixed_string Complaint> struct complaint {
    static_assert(sizeof(shapes_do_not_agree<Complaint>) > 0);
    static constexpr bool agree = true, fits = false; // it has been said
};
using tuple_is_no_tensor =
    complaint<"a tuple of tensors is no tensor: take it apart, auto [a, b] = t, or take std::get<0>(t)">;
using array_is_no_tensor = complaint<"an array is no tensor: write constant(a.copy()), or feed a placeholder">;
using this_is_untyped =
    complaint<"an untyped tensor has no type for the compiler: as<float, shape<batch, 10>>(x) gives it "
              "one, untyped::mean(x) needs none">;
using this_is_no_tensor = complaint<"what is given is no tensor: constant(x) makes one of a number or a text">;
template <class Rule, fault Fault, class Static, class... Operands>
using complaint_of = complaint<sentence<Rule, Fault, Static, Operands...>()>;

#endif

/// Attributes of an op as a type: `Static::value`.
template <auto Attributes> struct constant_attributes { static constexpr auto value = Attributes; };

/// The defaults, for ops whose shapes do not depend on attributes.
template <class Op> struct default_attributes { static constexpr typename Op::attributes value{}; };
// What a rule says, as a type that says it: `fits`, and `agree`, whose false is the complaint. Aliases that lead from one
// to the next are no steps between the complaint and the user's line.
struct fitting {
    static constexpr bool agree = true, fits = true;
};
struct mistaken_before {
    static constexpr bool agree = true, fits = false;
};

template <fault Fault> struct verdict_about {
    template <class Rule, class Static, class... Operands> using type = complaint_of<Rule, Fault, Static, Operands...>;
};
template <> struct verdict_about<fault::none> { template <class...> using type = fitting; };
#if defined(__clang__)
template <> struct verdict_about<fault::in_own_words> {
    template <class Rule, class Static, class... Operands>
    using type = shapes_of<Rule, fault::in_own_words, typename own_words<inference<Rule, Static, 0, Operands...>>::type,
                           shown_of<Operands>..., typename asked<Static, true>::type>;
};
#endif
template <class... Operands>
inline constexpr int first_of_all = any_ill_shaped<Operands...>                          ? 1
                                    : (std::is_same_v<Operands, operand_tuple> || ...)   ? 2
                                    : (std::is_same_v<Operands, host_value> || ...)      ? 3
                                    : (std::is_void_v<Operands> || ...)                  ? 4
                                    : (std::is_same_v<Operands, untyped_operand> || ...) ? 5
                                                                                         : 0;
template <int FirstOfAll> struct verdict_on {
    template <class Rule, class Static, class... Operands>
    using type =
        typename verdict_about<inference<Rule, Static, 0, Operands...>::answer.what>::template type<Rule, Static,
                                                                                                    Operands...>;
};
template <> struct verdict_on<1> { template <class...> using type = mistaken_before; };
template <> struct verdict_on<2> { template <class...> using type = tuple_is_no_tensor; };
template <> struct verdict_on<3> { template <class...> using type = array_is_no_tensor; };
template <> struct verdict_on<4> { template <class...> using type = this_is_no_tensor; };
template <> struct verdict_on<5> { template <class...> using type = this_is_untyped; };

/// What Rule says to attributes Static::value and operands (operand_types, ill_shaped, or what is none). Beside the operands a complaint
/// shows what is asked for: Static::subject, an operand_type, where there is one; else sizes (for clang, the shape
/// Static::target) or axes among the attributes.
template <class Rule, class Static, class... Operands>
using verdict_of = typename verdict_on<first_of_all<Operands...>>::template type<Rule, Static, Operands...>;

} // namespace detail

} // namespace tenon
