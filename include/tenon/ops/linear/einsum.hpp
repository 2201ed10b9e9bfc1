#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Sums of products, said by letters for dimensions (Einstein's convention, as NumPy's einsum).
///
///     auto c = tn::einsum<"bij,bjk->bik">(a, b);       // products of a batch of matrices
///     auto s = tn::einsum<"bihd,bjhd->bhij">(q, k);    // [b, n, heads, 64] x [b, m, heads, 64] -> [b, heads, n, m]
///     auto d = tn::einsum<"ii->i">(m);                 // the diagonal; "ii->" is the trace, "ij->ji" the transpose
///     auto y = tn::einsum<"bi,oij,bj->bo">(x, w, z);   // a bilinear form for each output
///     auto p = tn::einsum<"...ij,jk->...ik">(a, b);    // whatever dimensions stand before
///
///     y[letters of the result] = sum over all other letters of the product of the operands at their letters
///
/// Each operand has a letter a dimension, a to z or A to Z; blanks do not count. A letter has one size wherever it stands, and what
/// the compiler does not know of it is checked in the step. A letter that stands twice in an operand takes its diagonal. Without
/// `->` the result has the letters that stand once, in the order of the alphabet, as NumPy has it. `...` stands for dimensions
/// without letters, which are aligned at the last and broadcast; the result has them, in front where no `->` says otherwise.
///
/// At most 8 operands of one type of numbers, which is the result's. It becomes transposes, products of matrices (float, double,
/// half, bfloat16, int32, int64; else an elementwise product) and sums, and runs where those do, with their gradients. Of three or
/// more operands the two are multiplied first whose product takes the fewest operations.

namespace tenon {

namespace detail {

/// What an einsum's text says of operands. Letters are numbered: a .. z, A .. Z, then the dimensions of `...`, from the first.
struct einsum_reading {
    static constexpr int most_operands = 8, letters = 52, most_dimensions = letters + max_rank;
    enum class problem { none, text, operands, ranks, sizes, result_lacks, result_twice, elements, numbers };

    problem what = problem::none;
    char letter = 0;                   ///< that the problem is about
    int count = 0;                     ///< of operands
    index_list terms[most_operands]{}; ///< the letters of each operand
    index_list result;
    extent sizes[most_dimensions]{}; ///< of each letter: what is known of it
    element_type element = element_type::none;

    constexpr extents result_sizes() const {
        extents e;
        for (const std::int64_t l : result) e.push_back(sizes[l]);
        return e;
    }
};

constexpr int number_of_letter(char c) noexcept {
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}
constexpr char letter_of_number(std::int64_t n) noexcept {
    return static_cast<char>(n < 26 ? 'a' + n : n < einsum_reading::letters ? 'A' + (n - 26) : '.');
}

/// One list of letters of a text, up to a comma, an arrow or the end.
struct einsum_list {
    int letters[max_rank]{}, count = 0;
    int ellipsis = -1; ///< how many letters stand before it; -1: there is none
    bool possible = true;

    // Reads from text[at] on, and leaves `at` where the list ends.
    constexpr einsum_list(const char* text, int& at) {
        for (; text[at] && text[at] != ',' && text[at] != '-'; ++at) {
            if (text[at] == ' ') continue;
            if (text[at] == '.' && text[at + 1] == '.' && text[at + 2] == '.' && ellipsis < 0) {
                ellipsis = count;
                at += 2;
                continue;
            }
            const int l = number_of_letter(text[at]);
            if (l < 0 || count == max_rank) {
                possible = false;
                return;
            }
            letters[count++] = l;
        }
    }
    /// The letters with `dimensions` for the ellipsis, the last of which is the last of all.
    constexpr index_list with(int dimensions) const {
        index_list all;
        for (int i = 0; i <= count; ++i) {
            if (i == ellipsis)
                for (int d = max_rank - dimensions; d < max_rank; ++d) all.push_back(einsum_reading::letters + d);
            if (i < count) all.push_back(letters[i]);
        }
        return all;
    }
};

constexpr einsum_reading read_einsum(const char* text, type_list in) {
    using problem = einsum_reading::problem;
    einsum_reading r;
    const auto failed = [&r](problem what, std::int64_t letter = 0) {
        r.what = what;
        r.letter = letter_of_number(letter);
        return r;
    };
    int at = 0, widest = 0, times[einsum_reading::most_dimensions]{};
    bool dots = false;
    for (;; ++at) {
        const einsum_list list(text, at);
        if (!list.possible) return failed(problem::text);
        if (r.count == in.size() || r.count == einsum_reading::most_operands) return failed(problem::operands);
        const tensor_type& x = in[r.count];
        if (!is_numeric(x.element)) return failed(problem::numbers);
        if (r.count > 0 && x.element != r.element) return failed(problem::elements);
        r.element = x.element;
        const int more = x.extents.rank() - list.count;
        if (more < 0 || (more > 0 && list.ellipsis < 0)) return failed(problem::ranks);
        dots = dots || list.ellipsis >= 0;
        widest = more > widest ? more : widest;
        const index_list term = list.with(more);
        r.terms[r.count++] = term;
        for (int i = 0; i < term.count; ++i) {
            extent& size = r.sizes[term[i]];
            const bool first = times[term[i]]++ == 0;
            const merged_extent m = first                                ? merged_extent{fault::none, x.extents[i]}
                                    : term[i] >= einsum_reading::letters ? broadcast_sizes(size, x.extents[i])
                                                                         : equal_sizes(size, x.extents[i]);
            if (m.what != fault::none) return failed(problem::sizes, term[i]);
            size = m.size;
        }
        if (text[at] != ',') break;
    }
    if (r.count != in.size()) return failed(problem::operands);
    if (!text[at]) { // no result is said
        for (int d = max_rank - widest; d < max_rank; ++d) r.result.push_back(einsum_reading::letters + d);
        for (int l = 0; l < einsum_reading::letters; ++l) {
            // A before a, as in the alphabet of characters.
            const int letter = (l + 26) % einsum_reading::letters;
            if (times[letter] != 1) continue;
            if (r.result.count == max_rank) return failed(problem::ranks);
            r.result.push_back(letter);
        }
        return r;
    }
    if (text[at + 1] != '>') return failed(problem::text);
    at += 2;
    const einsum_list list(text, at);
    if (!list.possible || text[at] || (list.ellipsis < 0) == dots) return failed(problem::text);
    if (list.count + widest > max_rank) return failed(problem::ranks);
    r.result = list.with(widest);
    for (int i = 0; i < r.result.count; ++i) {
        const std::int64_t l = r.result[i];
        if (times[l] == 0) return failed(problem::result_lacks, l);
        for (int j = 0; j < i; ++j)
            if (r.result[j] == l) return failed(problem::result_twice, l);
    }
    return r;
}

// What is said of letter C, which a complaint of the compiler names.
template <char C> struct einsum_letter {
    static constexpr char has_two_sizes[] = {C,   ' ', 'h', 'a', 's', ' ', 't', 'w',
                                             'o', ' ', 's', 'i', 'z', 'e', 's', '\0'};
    static constexpr char is_in_the_result_only[] = {C,   ' ', 'i', 's', ' ', 'i', 'n', ' ', 't', 'h', 'e', ' ',
                                                     'r', 'e', 's', 'u', 'l', 't', ' ', 'o', 'n', 'l', 'y', '\0'};
    static constexpr char is_twice_in_the_result[] = {C,   ' ', 'i', 's', ' ', 't', 'w', 'i', 'c', 'e', ' ', 'i', 'n',
                                                      ' ', 't', 'h', 'e', ' ', 'r', 'e', 's', 'u', 'l', 't', '\0'};
};
inline constexpr char not_lists_of_letters[] = "the text is a list of letters an operand, and one of the result, as in "
                                               "ij,jk->ik, with ... in it where operands have it";
inline constexpr char not_a_list_an_operand[] =
    "there is not a list of letters for each operand, of which there are at most 8";
inline constexpr char not_a_letter_a_dimension[] = "an operand or the result has not a dimension for each letter";

/// The answer to a reading; `words_about(table of words by letter)` are those of its letter.
template <class WordsAbout> constexpr inferred answer_of(const einsum_reading& r, const WordsAbout& words_about) {
    using problem = einsum_reading::problem;
    switch (r.what) {
    case problem::none: return inferred(r.element, r.result_sizes());
    case problem::text: return not_lists_of_letters;
    case problem::operands: return not_a_list_an_operand;
    case problem::ranks: return not_a_letter_a_dimension;
    case problem::elements: return fault::element_types_differ;
    case problem::numbers: return fault::element_type_must_be_numeric;
    default: return words_about(r.what, r.letter);
    }
}
template <char C> constexpr const char* words_about_letter(einsum_reading::problem what) {
    return what == einsum_reading::problem::sizes          ? einsum_letter<C>::has_two_sizes
           : what == einsum_reading::problem::result_lacks ? einsum_letter<C>::is_in_the_result_only
                                                           : einsum_letter<C>::is_twice_in_the_result;
}

// "einsum ij,jk->ik"
template <fixed_string Text> struct einsum_name {
    static constexpr auto whole = [] {
        fixed_string<sizeof(Text.text) + 7> name;
        int at = 0;
        for (const char* c = "einsum "; *c; ++c) name.text[at++] = *c;
        for (const char c : Text.text) name.text[at++] = c;
        return name;
    }();
};

/// The rule of einsum<Text>.
template <fixed_string Text> struct einsum_rule {
    static constexpr const char* name = einsum_name<Text>::whole.text;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return answer_of(read_einsum(Text.text, in), [](einsum_reading::problem what, char letter) -> const char* {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                const char* words = nullptr;
                ((words = !words && Text.text[I] == letter ? words_about_letter<Text.text[I]>(what) : words), ...);
                return words;
            }
            (std::make_index_sequence<sizeof(Text.text)>{});
        });
    }
};

} // namespace detail

/// in: x, further operands for their sizes. x, where all sizes of each letter are equal, else the step fails. The attribute is an
/// einsum's text, whose result does not matter: "ij,jk->".
struct einsum_operand_op {
    static constexpr const char* name = "einsum_operand";
    static constexpr op_flags flags = op_flags::identity;
    struct attributes {
        std::string letters;
    };
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static inferred infer(const attributes& a, type_list in, int);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(einsum, einsum_operand);

namespace untyped {
/// The sum of products that `text` says. invalid_argument_error where it does not fit the operands.
any_tensor einsum(const std::string& text, const std::vector<any_tensor>& operands, called_from here = caller());
} // namespace untyped

namespace detail {
template <fixed_string Text, class... X> auto einsum_of(const X&... x) {
    using rule = detail::einsum_rule<Text>;
    using verdict = detail::verdict_on_operands<rule, X...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using result = detail::op_result_t<rule, detail::without_attributes, 0, void, detail::operand_of_t<X>...>;
        return as<typename result::element_type, typename result::shape_type>(
            untyped::einsum(Text.text, {detail::as_tensor(x)...}));
    }
}
} // namespace detail

/// The sum of products that Text says of the operands: einsum<"bij,jk->bik">(a, w). Element type: that of all operands, a number.
template <fixed_string Text, OperandOrIllShaped... X>
    requires(sizeof...(X) > 0)
auto einsum(const X&... x) { return detail::einsum_of<Text>(x...); }
template <fixed_string Text, OperandOrIllShaped A, detail::OperandIfGiven B = detail::not_given,
          detail::OperandIfGiven C = detail::not_given, detail::OperandIfGiven D = detail::not_given>
auto einsum(const A& a, const B& b = {}, const C& c = {}, const D& d = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (!detail::is_given<B>) return detail::einsum_of<Text>(a);
    else if constexpr (!detail::is_given<C>) return detail::einsum_of<Text>(a, b);
    else if constexpr (!detail::is_given<D>) return detail::einsum_of<Text>(a, b, c);
    else return detail::einsum_of<Text>(a, b, c, d);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_einsum)
#include <tenon/ops/linear/einsum.inl>
#endif
