#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/graph/add_node.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

/// Texts as tensors' elements: taken apart, put together, compared, read as numbers, counted. Elementwise over any sizes, but for
/// string_split. No gradient flows. What an element should not be is an invalid_argument_error that names it by its index.
///
///     auto words = tn::string_split<tn::dyn>(lines, " ");         // string[batch] -> string[batch, ?]
///     auto ids = tn::to_hash_bucket(tn::string_lower(words), 1000);
///     auto year = tn::to_number<std::int32_t>(tn::substr(date, 0, 4));

namespace tenon {

namespace detail {

// Ops that make an element of type `Result` of each text.
template <element_type Result> struct of_texts {
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements;
    static constexpr inferred each(type_list in) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::string) return fault::element_type_not_supported;
        return inferred(Result, in[0].extents);
    }
    template <class A> static constexpr inferred infer(const A&, type_list in, int) { return each(in); }
};
// The rule of Op, whatever its attributes are.
template <class Op> struct text_rule {
    static constexpr const char* name = Op::name;
    static constexpr inferred infer(const no_attributes&, type_list in, int) { return Op::each(in); }
};

} // namespace detail

/// in: x. Without the spaces, tabs and line ends (ASCII) that it begins and ends with.
struct string_strip_op : detail::of_texts<element_type::string> {
    static constexpr const char* name = "string_strip";
    using attributes = no_attributes;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_strip);

/// in: x. With small letters for capital ones, of ASCII; other bytes stay.
struct string_lower_op : detail::of_texts<element_type::string> {
    static constexpr const char* name = "string_lower";
    using attributes = no_attributes;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_lower);

/// in: x. With capital letters for small ones, of ASCII; other bytes stay.
struct string_upper_op : detail::of_texts<element_type::string> {
    static constexpr const char* name = "string_upper";
    using attributes = no_attributes;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_upper);

/// What texts are counted in.
enum class text_unit {
    bytes,
    utf8, ///< characters (code points): bytes that do not go on with one
};

/// in: x. How long each is, int64.
struct string_length_op : detail::of_texts<element_type::int64> {
    static constexpr const char* name = "string_length";
    struct attributes {
        text_unit unit = text_unit::bytes;
    };
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_length);

/// in: x. The part of each that begins at `position`, of -1 and so on counted from the end, and is `length` long, or less at
/// the end.
struct substr_op : detail::of_texts<element_type::string> {
    static constexpr const char* name = "substr";
    struct attributes {
        std::int64_t position = 0, length = 0;
        text_unit unit = text_unit::bytes;
    };
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, substr);

/// in: x. With `rewrite` in place of what matches a regular expression (io/text/regex_replacer.hpp).
struct regex_replace_op : detail::of_texts<element_type::string> {
    static constexpr const char* name = "regex_replace";
    struct attributes {
        std::string pattern, rewrite;
        bool replace_global = true; ///< each match, not the first only
    };
    static void of_before(const graph&, node& n) { n.attributes = renamed(n.attributes, {{"all", "replace_global"}}); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, regex_replace);

/// in: x. XXH64 with seed 0 of each text's bytes, modulo `buckets`: int64, the same on every machine.
struct to_hash_bucket_op : detail::of_texts<element_type::int64> {
    static constexpr const char* name = "to_hash_bucket";
    static constexpr char no_buckets[] = "there must be 1 bucket or more";
    struct attributes {
        std::int64_t buckets = 1;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return a.buckets < 1 ? inferred(no_buckets) : each(in);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, to_hash_bucket);

/// in: x. The number, or the bool, that all of each text says, spaces around it aside.
struct to_number_op : detail::of_texts<element_type::float32> {
    static constexpr const char* name = "to_number";
    struct attributes {
        element_type element = element_type::float32;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (const inferred r = each(in); !r) return r;
        if (!fixed_size_elements.has(a.element)) return fault::element_type_not_supported;
        return inferred(a.element, in[0].extents);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, to_number);

/// in: texts whose sizes broadcast. One after another, with a separator between.
struct string_join_op {
    static constexpr const char* name = "string_join";
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::string separator;
    };
    static constexpr inferred each(type_list in) {
        if (in.size() == 0) return fault::expects_more_operands;
        extents sizes;
        for (const tensor_type& t : in) {
            if (t.element != element_type::string) return fault::element_type_not_supported;
            const merged_extents m = broadcast(sizes, t.extents);
            if (m.what != fault::none) return m.what;
            sizes = m.extents;
        }
        return inferred(element_type::string, sizes);
    }
    static constexpr inferred infer(const attributes&, type_list in, int) { return each(in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_join);

/// in: two lots of texts whose sizes broadcast. True where they are the same bytes.
struct string_equal_op {
    static constexpr const char* name = "string_equal";
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[0].element != element_type::string || in[1].element != element_type::string)
            return fault::element_type_not_supported;
        const merged_extents m = broadcast(in[0].extents, in[1].extents);
        return m.what == fault::none ? inferred(element_type::boolean, m.extents) : inferred(m.what);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_equal);

/// in: a condition (bool), two lots of texts; all sizes broadcast. The first text where it is true, else the second.
struct string_where_op {
    static constexpr const char* name = "string_where";
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (in[0].element != element_type::boolean) return fault::element_type_must_be_bool;
        const inferred texts = string_equal_op::infer({}, type_list(in.begin() + 1, 2), 0);
        if (!texts) return texts;
        const merged_extents m = broadcast(in[0].extents, texts.type.extents);
        return m.what == fault::none ? inferred(element_type::string, m.extents) : inferred(m.what);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_where);

/// How texts are split.
struct split_options {
    bool skip_empty = false;  ///< pieces without characters are left out
    std::string padding = {}; ///< what stands behind the pieces of a text that has fewer than others
};

/// in: x. The pieces of each text between separators, behind x's sizes; without a separator, between spaces, tabs and line ends
/// (ASCII), and none is empty. They are as many as the text with most of them has, or as `count` says; the others are padded.
struct string_split_op {
    static constexpr const char* name = "string_split";
    static constexpr op_flags flags = op_flags::waits;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::string separator;
        bool skip_empty = false;
        std::string padding;
        extents count; ///< none: they tell
    };
    static constexpr inferred split(const extents& count, type_list in) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::string) return fault::element_type_not_supported;
        if (count.rank() > 1) return fault::rank_too_high;
        extents sizes = in[0].extents;
        sizes.push_back(count.rank() == 1 ? count[0] : extent());
        return inferred(element_type::string, sizes);
    }
    static constexpr inferred each(type_list in) { return split({}, in); }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return split(a.count, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(strings, string_split);

namespace untyped {
any_tensor string_strip(const any_tensor& x, called_from here = caller());
any_tensor string_lower(const any_tensor& x, called_from here = caller());
any_tensor string_upper(const any_tensor& x, called_from here = caller());
any_tensor string_length(const any_tensor& x, text_unit unit = text_unit::bytes, called_from here = caller());
any_tensor substr(const any_tensor& x, std::int64_t position, std::int64_t length, text_unit unit = text_unit::bytes,
                  called_from here = caller());
any_tensor regex_replace(const any_tensor& x, const std::string& pattern, const std::string& rewrite,
                         bool replace_global = true, called_from here = caller());
any_tensor to_hash_bucket(const any_tensor& x, std::int64_t buckets, called_from here = caller());
any_tensor to_number(const any_tensor& x, element_type element, called_from here = caller());
any_tensor string_join(const std::string& separator, const std::vector<any_tensor>& texts, called_from here = caller());
any_tensor string_equal(const any_tensor& a, const any_tensor& b, called_from here = caller());
/// `count`: what the types say of how many pieces there are: a name, or a number, which they are padded to and must not
/// exceed; not given: nothing.
any_tensor string_split(const any_tensor& x, const std::string& separator = {}, const split_options& o = {},
                        const extents& count = {}, called_from here = caller());
} // namespace untyped

namespace detail {
template <class X>
concept OfTexts = std::is_same_v<typename std::remove_cvref_t<X>::element_type, std::string>;
template <class T, class X> using like_texts = tensor<T, typename X::shape_type>;
template <auto Size, class S> struct with_pieces;
template <auto Size, auto... D> struct with_pieces<Size, shape<D...>> {
    using type = shape<D..., canonical_dim<Size>()>;
};
} // namespace detail

/// x without the spaces, tabs and line ends (ASCII) that it begins and ends with.
template <OperandOrIllShaped X> auto string_strip(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<string_strip_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<std::string, X>::unchecked(untyped::string_strip(detail::as_tensor(x)));
}
/// x with small letters for capital ones, of ASCII.
template <OperandOrIllShaped X> auto string_lower(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<string_lower_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<std::string, X>::unchecked(untyped::string_lower(detail::as_tensor(x)));
}
/// x with capital letters for small ones, of ASCII.
template <OperandOrIllShaped X> auto string_upper(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<string_upper_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<std::string, X>::unchecked(untyped::string_upper(detail::as_tensor(x)));
}
/// How many bytes, or characters, each text has: int64.
template <OperandOrIllShaped X>
auto string_length(const X& x, text_unit unit = text_unit::bytes, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<string_length_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<std::int64_t, X>::unchecked(untyped::string_length(detail::as_tensor(x), unit));
}
/// The part of each text that begins at a position, counted from the end where that is negative, and is so long, or less at the
/// end. A text that ends before the position is an invalid_argument_error.
template <OperandOrIllShaped X>
auto substr(const X& x, std::int64_t position, std::int64_t length, text_unit unit = text_unit::bytes,
            called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<substr_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::like_texts<std::string, X>::unchecked(
            untyped::substr(detail::as_tensor(x), position, length, unit));
}
/// x with `rewrite` in place of each match of a regular expression, or of the first only. Both are RE2's, as in TensorFlow: in
/// the rewrite, \1 is what the pattern's first group matched, \0 all of the match. A pattern that is none is an
/// invalid_argument_error, and one that is too large a resource_exhausted_error (io/text/regex_replacer.hpp); where this build has
/// no RE2, each is an unimplemented_error.
template <OperandOrIllShaped X>
auto regex_replace(const X& x, const std::string& pattern, const std::string& rewrite, bool replace_global = true,
                   called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<regex_replace_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::like_texts<std::string, X>::unchecked(
            untyped::regex_replace(detail::as_tensor(x), pattern, rewrite, replace_global));
}
/// A number below `buckets` for each text, int64: XXH64 (seed 0) of its bytes, modulo `buckets`; the same on every machine.
template <OperandOrIllShaped X> auto to_hash_bucket(const X& x, std::int64_t buckets, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<to_hash_bucket_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<std::int64_t, X>::unchecked(untyped::to_hash_bucket(detail::as_tensor(x), buckets));
}
/// The number of type T (or the bool) that each text says: decimal, rounded to nearest, spaces around it aside. What is no such
/// number, or out of T's range, is an invalid_argument_error.
template <Element T, OperandOrIllShaped X> auto to_number(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(!std::is_same_v<T, std::string>, "tenon::to_number: a string is a text already");
    using verdict = detail::verdict_on_operands<detail::text_rule<to_number_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::like_texts<T, X>::unchecked(untyped::to_number(detail::as_tensor(x), element_type_of<T>));
}
/// Texts one after another, with a separator between; sizes are repeated as in elementwise expressions.
template <OperandOrIllShaped... X> auto string_join(const located<std::string>& separator, const X&... texts) {
    const making made(separator.at);
    using rule = detail::text_rule<string_join_op>;
    using verdict = detail::verdict_on_operands<rule, X...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<rule, detail::without_attributes, 0, void, detail::operand_of_t<X>...>::unchecked(
            untyped::string_join(separator.value, {detail::as_tensor(texts)...}));
}
/// True where a text of a and one of b are the same bytes: the sizes of one are repeated to those of the other, as in elementwise
/// expressions.
template <OperandOrIllShaped A, OperandOrIllShaped B>
auto string_equal(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return apply_op<string_equal_op, no_attributes{}>(a, b);
}
/// The text of a where the condition (bool) is true, else that of b; sizes are repeated as in elementwise expressions.
template <detail::ForwardedOperand P, class A, class B>
    requires detail::ElementwiseChoice<A, B> && detail::OfTexts<A> && detail::OfTexts<B>
auto where(P&& condition, A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return apply_op<string_where_op, no_attributes{}>(condition, a, b);
}
/// The pieces of each text between separators, behind x's sizes, Size of them: dyn or a named size, as many as the text with
/// most has, or a number, which no text's may exceed. Shorter rows are padded. An empty separator: between spaces, tabs and line
/// ends (ASCII), and no piece is empty. (An empty text has one piece, which is empty, of a separator that is not.)
template <auto Size = dyn, OperandOrIllShaped X>
auto string_split(const X& x, const std::string& separator = {}, const split_options& o = {},
                  called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::text_rule<string_split_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        constexpr extent said = detail::extent_of<Size>();
        return tensor<std::string, typename detail::with_pieces<Size, typename X::shape_type>::type>::unchecked(
            untyped::string_split(detail::as_tensor(x), separator, o, said.is_dynamic() ? extents() : extents(said)));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_strings)

#include <tenon/ops/text/strings.inl>

namespace tenon {

TENON_KERNEL(string_strip, detail::text_kernel<detail::strip_text>);
TENON_KERNEL(string_lower, detail::text_kernel<detail::lower_text>);
TENON_KERNEL(string_upper, detail::text_kernel<detail::upper_text>);
TENON_KERNEL(string_length, detail::text_kernel<detail::length_of_text>);
TENON_KERNEL(substr, detail::text_kernel<detail::part_of_text>);
TENON_KERNEL(regex_replace, detail::text_kernel<detail::replace_in_text>);
TENON_KERNEL(to_hash_bucket, detail::text_kernel<detail::bucket_of_text>);
TENON_KERNEL(to_number, detail::text_kernel<detail::number_of_text>);
TENON_KERNEL(string_join, detail::string_join_kernel);
TENON_KERNEL(string_equal, detail::string_equal_kernel);
TENON_KERNEL(string_where, detail::string_where_kernel);
TENON_KERNEL(string_split, detail::immediate_kernel<detail::string_split_select>);

} // namespace tenon

#endif
