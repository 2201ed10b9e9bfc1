#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/graph/body.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/prepared_body.hpp>

/// What cond, while_loop and scan have in common: functions that become bodies, their results, and gradients of bodies.

namespace tenon::detail {

template <class R> inline constexpr bool is_several = false;
template <class... T> inline constexpr bool is_several<std::tuple<T...>> = true;
template <class A, class B> inline constexpr bool is_several<std::pair<A, B>> = true;

// A tensor, an expression, or several as std::tuple.
template <class R> inline constexpr bool are_operands = Operand<R>;
template <class... T> inline constexpr bool are_operands<std::tuple<T...>> = (Operand<T> && ...);
template <class A, class B> inline constexpr bool are_operands<std::pair<A, B>> = Operand<A>&& Operand<B>;

/// What a function gives, a tensor, an expression, or several as std::tuple, as a tuple of tensors; made where it stands.
template <class R> auto tensors_of(const R& r) {
    if constexpr (is_several<R>) return std::apply([](const auto&... t) { return std::tuple(as_tensor(t)...); }, r);
    else return std::tuple(as_tensor(r));
}
template <class Tuple> std::vector<any_tensor> untyped_of(const Tuple& t) {
    return std::apply([](const auto&... x) { return std::vector<any_tensor>{x...}; }, t);
}
/// Tensors of the types that Tuple has, from t[first] on.
template <class Tuple, std::size_t... I>
Tuple typed_from(const std::vector<any_tensor>& t, std::size_t first, std::index_sequence<I...>) {
    return Tuple(std::tuple_element_t<I, Tuple>::unchecked(t[first + I])...);
}
template <class Tuple> Tuple typed_from(const std::vector<any_tensor>& t, std::size_t first = 0) {
    return typed_from<Tuple>(t, first, std::make_index_sequence<std::tuple_size_v<Tuple>>());
}
/// f of these, as const tensors: it may take them as auto&.
template <class Tuple, class F> auto result_of(const F& f, const std::vector<any_tensor>& t) {
    const Tuple given = typed_from<Tuple>(t);
    return std::apply(f, given);
}
/// As it was asked for: alone where R is no tuple.
template <class R, class Tuple> auto as_given(Tuple&& t) {
    if constexpr (is_several<R>) return std::forward<Tuple>(t);
    else return std::get<0>(std::forward<Tuple>(t));
}

template <class R> inline constexpr bool any_mistake = std::is_same_v<R, ill_shaped>;
template <class... T> inline constexpr bool any_mistake<std::tuple<T...>> = (any_mistake<T> || ...);
template <class A, class B> inline constexpr bool any_mistake<std::pair<A, B>> = any_mistake<A> || any_mistake<B>;

// What a function gives to tensors of the types that a tuple has; `nothing` where it does not take so many. No templates between, for a
// mistake in the function is told with all that lead to it.
struct nothing {};
template <> inline constexpr bool are_operands<nothing> = true; // it is told elsewhere
template <> inline constexpr bool any_mistake<nothing> = true;
template <class Tuple> inline constexpr const Tuple* to = nullptr;
template <class F, class... T>
auto given_by(const F& f, const std::tuple<T...>*) -> std::remove_cvref_t<decltype(f(std::declval<const T&>()...))>;
template <class F> nothing given_by(const F&, ...);

// A rule's verdict on operands, beside whether it fits: to ask the verdict itself is to complain.
template <class Rule, class... Operands> struct rule_on {
    static constexpr bool fits = inference<Rule, without_attributes, 0, Operands...>::answer.what == fault::none;
    using verdict = verdict_of<Rule, without_attributes, Operands...>;
};
/// Of several the first that does not fit, or one that does.
template <class... Judged> struct first_mistake { using type = fitting; };
template <class J, class... More> struct first_mistake<J, More...> {
    using type =
        typename std::conditional_t<J::fits, first_mistake<More...>, std::type_identity<typename J::verdict>>::type;
};

/// What a body gives goes on as what it was given: the first is of the type that it keeps.
template <class Of> struct carried_rule {
    static constexpr const char* name = Of::name;
    using attributes = no_attributes;
    static constexpr char gives_another_type_than_it_is_given[] =
        "the body gives another type than it is given, and is given it next: cast it, or declare the first value's "
        "sizes dyn";
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].element != in[1].element || !is_less_static(in[0].extents, in[1].extents))
            return gives_another_type_than_it_is_given;
        return in[0];
    }
};

// The same of all that a body carries.
template <class Op, class Cs, class Given> struct carries_on;
template <class Op, class... C, class... G> struct carries_on<Op, std::tuple<C...>, std::tuple<G...>> {
    using verdict = typename first_mistake<rule_on<carried_rule<Op>, operand_of_t<C>, operand_of_t<G>>...>::type;
};

// Where they are not as many, which is said elsewhere, it is silent.
struct not_as_many {
    static constexpr bool agree = true, fits = false;
};
template <class Op, class Carried, class Given, bool = std::tuple_size_v<Carried> == std::tuple_size_v<Given>>
struct carried_on {
    using verdict = not_as_many;
};
template <class Op, class Carried, class Given>
struct carried_on<Op, Carried, Given, true> : carries_on<Op, Carried, Given> {};
template <class Op, class Carried, class Given>
using carried_verdict = typename carried_on<Op, Carried, Given>::verdict;

/// Whether the two may be of one type; sizes that are not known yet fit all.
constexpr bool types_agree(const tensor_type& a, const tensor_type& b) {
    return a.element == b.element && equal_shapes(a.extents, b.extents).what == fault::none;
}

/// `words`, and the two types that do not agree, as words of a fault, which live as long as the program; `words` alone where there are
/// hundreds of such already.
const char* not_agreeing(const char* words, const tensor_type& a, const tensor_type& b);

/// A body's gradient, on the way: a copy of the body, which takes more and gives other things.
class body_gradient {
public:
    explicit body_gradient(const std::string& text) : of_(body::copy_of_text(text)) {}
    const body& of() const noexcept { return of_; }
    any_tensor add_argument(const tensor_type& type);
    /// Of `ys`, into which `flowing` flow, with respect to `xs`.
    std::vector<any_tensor> of(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& flowing,
                               const std::vector<any_tensor>& xs) const;
    any_tensor sum(const any_tensor& a, const any_tensor& b) const;
    /// The body of these.
    std::string text(const std::vector<any_tensor>& arguments, const std::vector<any_tensor>& results) const;

private:
    const body of_;
};

// Numbers of those that are floating: gradients flow through them alone.
inline std::vector<std::size_t> floating_of(const std::vector<any_tensor>& t, std::size_t first, std::size_t count) {
    std::vector<std::size_t> which;
    for (std::size_t k = first; k < first + count; ++k)
        if (is_floating(t[k].element())) which.push_back(k);
    return which;
}
template <class T> void append(std::vector<T>& to, const std::vector<T>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

inline std::size_t bytes_in(const tensor_type& t) { return static_cast<std::size_t>(bytes_of(t)); }
/// Bytes of a block in working memory.
constexpr std::size_t block_of(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

// The body of a text, planned with the kernel that runs it.
std::unique_ptr<prepared_body> planned(const kernel_setup& s, const std::string& text, type_list arguments);
// A loop may be long: it ends where nobody wants its result any more.
void require_wanted(const kernel_run& r);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/ops/flow/bodies.ipp>
#endif
