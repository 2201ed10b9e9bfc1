#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/graph/add_node.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/io/text/csv.hpp>
#include <tenon/io/text/json_lines.hpp>
#include <tenon/ops/queue/component.hpp>

/// What records hold, as tensors. A record is a string; of a tensor of records each output has its sizes, and behind them those
/// of what one record gives. What a record should not hold is an invalid_argument_error that names the record by its index,
/// the column or member, and the text: the first of them, however many threads decode.
///
///     auto [price, rooms, town] = tn::decode_csv(record, 0.f, tn::required<std::int32_t>, "unknown");
///     auto [pixels, label] = tn::decode_csv<tn::component<float, tn::shape<784>>, std::int32_t>(lines);   // lines: string[batch]
///     auto image = tn::decode_raw<std::uint8_t, tn::shape<28, 28>>(bytes);
///     auto [id, scores] = tn::decode_json(line, tn::member<std::int64_t>("id"), tn::member<float, tn::shape<3>>("scores", 0.f));

namespace tenon {

namespace detail {

inline bool is_text_list(const std::shared_ptr<const any_array>& a) {
    return a && a->element() == element_type::string && a->rank() == 1;
}
// Sizes of records and behind them those of what one holds.
constexpr inferred behind_records(const tensor_type& records, element_type e, const extents& sizes) {
    extents all = records.extents;
    for (const extent& size : sizes) all.push_back(size);
    return inferred(e, all);
}
// What ops on records have in common.
struct decodes {
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements;
    static constexpr inferred records(type_list in) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::string) return fault::element_type_not_supported;
        return in[0];
    }
};
// Columns or members in a node's attributes: types, the texts of defaults, and which of them there are.
struct decoded_columns {
    std::vector<tensor_type> types;
    std::shared_ptr<const any_array> defaults;
    std::vector<std::int64_t> has_default;
    inferred check(type_list in, int output) const;
};

} // namespace detail

/// in: records. Output c: the fields of column c, of the records' sizes, and behind them, where the column is a run of n fields,
/// n.
struct decode_csv_op : detail::decodes {
    static constexpr const char* name = "decode_csv";
    struct attributes {
        detail::decoded_columns columns;
        int delimiter = ',';
        bool quotes = true;
        std::shared_ptr<const any_array> na_values, header;
    };
    static int outputs(const attributes& a, int) { return static_cast<int>(a.columns.types.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (!detail::is_text_list(a.na_values) || !detail::is_text_list(a.header)) return fault::names_differ;
        for (const tensor_type& t : a.columns.types)
            if (t.extents.rank() > 1 || (t.extents.rank() == 1 && t.extents[0].size < 1)) return fault::rank_too_high;
        return a.columns.check(in, output);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode, decode_csv);

/// in: records. Output c: member c of each.
struct decode_json_op : detail::decodes {
    static constexpr const char* name = "decode_json";
    struct attributes {
        std::shared_ptr<const any_array> names;
        detail::decoded_columns columns;
    };
    static int outputs(const attributes& a, int) { return static_cast<int>(a.columns.types.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (!detail::is_text_list(a.names) || a.names->elements() != static_cast<std::int64_t>(a.columns.types.size()))
            return fault::names_differ;
        return a.columns.check(in, output);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode, decode_json);

enum class byte_order { little, big };

/// in: strings of bytes. The numbers that lie in each, as many as the sizes say.
struct decode_raw_op : detail::decodes {
    static constexpr const char* name = "decode_raw";
    struct attributes {
        element_type element = element_type::uint8;
        extents sizes;
        byte_order order = byte_order::little;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (const inferred r = records(in); !r) return r;
        if (!fixed_size_elements.has(a.element)) return fault::element_type_not_supported;
        if (!a.sizes.is_static()) return fault::size_must_be_known;
        return detail::behind_records(in[0], a.element, a.sizes);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode, decode_raw);

/// In place of a column's default: a field must not be missing.
template <Element T> struct required_field {};
template <Element T> inline constexpr required_field<T> required{};

/// What component<T, shape<N>>, N fields in succession as one output with a dimension of N behind those of the records, was called.
template <Element T, int N> using fields = component<T, shape<N>>;

/// A member of JSON objects: its name, and what each of its elements is where it is missing or null; without that it must be
/// there. S are the sizes of its lists.
template <Element T, Shape S = shape<>> class member {
public:
    explicit member(std::string name) : column_{std::move(name), element_type_of<T>, S::extents, {}} {
        static_assert(S::extents.is_static(), "tenon::member: sizes are numbers");
    }
    template <class V> member(std::string name, const V& otherwise);
    const json_column& column() const noexcept { return column_; }

private:
    json_column column_;
};

namespace untyped {
/// An output for each column.
std::vector<any_tensor> decode_csv(const any_tensor& records, const std::vector<csv_column>& columns,
                                   const csv_options& how = {}, called_from here = caller());
std::vector<any_tensor> decode_json(const any_tensor& records, const std::vector<json_column>& columns,
                                    called_from here = caller());
any_tensor decode_raw(const any_tensor& bytes, element_type element, const extents& sizes = {},
                      byte_order order = byte_order::little, called_from here = caller());
} // namespace untyped

namespace detail {

template <class A, class B> struct joined_shape;
template <auto... A, auto... B> struct joined_shape<shape<A...>, shape<B...>> { using type = shape<A..., B...>; };

template <class C> struct csv_column_of {
    using operand = component_t<C>;
    using element = typename operand::element;
    using sizes = typename operand::shape;
    static_assert(sizes::extents.rank() <= 1 && sizes::extents.is_static() && sizes::extents.elements() > 0,
                  "tenon::decode_csv: a column is a type, or component<T, shape<n>>: n of them, 1 or more");
    static constexpr std::int64_t fields = sizes::extents.elements();
};

// The column that a default speaks of by itself.
template <class D> struct column_of_default { using type = D; };
template <class T> struct column_of_default<required_field<T>> { using type = T; };
template <> struct column_of_default<const char*> { using type = std::string; };
template <class D> using column_of_default_t = typename column_of_default<std::decay_t<const D&>>::type;

// Whether a value of type V is of the kind that elements of type T are: text, a bool, a number, a whole one.
template <class T, class V>
inline constexpr bool is_default_of =
    std::is_same_v<T, V> || std::is_same_v<V, required_field<T>> ||
    (std::is_same_v<T, std::string> && std::is_convertible_v<const V&, std::string>) ||
    (is_floating(element_type_of<T>) && std::is_arithmetic_v<V> && !std::is_same_v<V, bool>) ||
    (is_integer(element_type_of<T>) && std::is_integral_v<V> && !std::is_same_v<V, bool> && !std::is_same_v<V, char>);

template <class T, class V> std::optional<std::string> text_of_default(const V& v) {
    if constexpr (std::is_same_v<V, required_field<T>>) return {};
    else if constexpr (std::is_same_v<T, std::string>) return std::string(v);
    else if constexpr (std::is_same_v<T, bool>) return v ? "1" : "0";
    else if constexpr (std::is_same_v<V, double>) return text_of_number(v);
    else if constexpr (std::is_integral_v<V>)
        return text_of_number(static_cast<std::conditional_t<std::is_signed_v<V>, std::int64_t, std::uint64_t>>(v));
    else return text_of_number(static_cast<float>(v));
}
template <class C, class D> csv_column column_with(const D& otherwise) {
    using T = typename csv_column_of<C>::element;
    return {element_type_of<T>, text_of_default<T>(otherwise), csv_column_of<C>::fields};
}

// Records are judged by themselves.
template <class Op> struct records_rule {
    static constexpr const char* name = Op::name;
    static constexpr inferred infer(const no_attributes&, type_list in, int) { return Op::records(in); }
};
template <class T, class X, class Sizes>
using tensor_behind = tensor<T, typename joined_shape<typename X::shape_type, canonical_t<Sizes>>::type>;

template <class... C, class X>
auto decode_columns(const X& records, std::vector<csv_column> columns, const csv_options& how) {
    const std::vector<any_tensor> made = untyped::decode_csv(as_tensor(records), columns, how);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(
            tensor_behind<typename csv_column_of<C>::element, X, typename csv_column_of<C>::sizes>::unchecked(
                made[I])...);
    }
    (std::index_sequence_for<C...>{});
}

// What decode_csv does, once it is known whether columns are named or are those of the defaults.
template <class> using absorbed = ill_shaped;
template <class... C> struct csv_decoding {
    using mistaken = std::tuple<absorbed<C>...>;
    template <class X, class... D> static auto of(const X& records, const csv_options& how, const D&... otherwise) {
        if constexpr (sizeof...(D) == 0)
            return decode_columns<C...>(records,
                                        {column_with<C>(required_field<typename csv_column_of<C>::element>{})...}, how);
        else return decode_columns<C...>(records, {column_with<C>(otherwise)...}, how);
    }
    template <class... D> static constexpr bool fit() {
        if constexpr (sizeof...(D) == sizeof...(C))
            return (is_default_of<typename csv_column_of<C>::element, D> && ...);
        else return sizeof...(D) == 0 || sizeof...(D) != sizeof...(C); // their number is complained of
    }
};
template <class Named, class FromDefaults> struct csv_columns { using type = Named; };
template <class FromDefaults> struct csv_columns<csv_decoding<>, FromDefaults> { using type = FromDefaults; };

} // namespace detail

/// The fields of records of comma-separated values (RFC 4180; io/text/csv.hpp says exactly), as a std::tuple of a tensor a column.
/// A column's type is given, or is that of its default, which is the value of a field that is missing; required<T> in its place
/// says that none may be. Without any defaults all are required.
///
///     tn::decode_csv(record, 5.f, 6.f, 7)
///     tn::decode_csv<float, float, std::int32_t>(record, tn::csv_options{.delimiter = '\t'}, 5, 6, 7)
template <class... Columns, OperandOrIllShaped X, class... D>
auto decode_csv(const X& records, const csv_options& how, const D&... defaults) {
    using columns = typename detail::csv_columns<detail::csv_decoding<Columns...>,
                                                 detail::csv_decoding<detail::column_of_default_t<D>...>>::type;
    constexpr std::size_t named = sizeof...(Columns), given = sizeof...(D);
    static_assert(named + given > 0, "tenon::decode_csv: give columns, decode_csv<float, int>(records), or defaults");
    static_assert(named == 0 || given <= named, "tenon::decode_csv: there are more defaults than columns");
    static_assert(named == 0 || given == 0 || given >= named,
                  "tenon::decode_csv: a default, or required<T>, for each column, or none at all");
    static_assert(columns::template fit<std::decay_t<const D&>...>(),
                  "tenon::decode_csv: a default is not of its column's kind");
    using verdict = detail::verdict_on_operands<detail::records_rule<decode_csv_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    constexpr bool right = named + given > 0 && (named == 0 || given == 0 || given == named);
    if constexpr (!verdict::fits || !right || !columns::template fit<std::decay_t<const D&>...>())
        return typename columns::mistaken{};
    else return columns::of(records, how, static_cast<const std::decay_t<const D&>&>(defaults)...);
}
template <class... Columns, OperandOrIllShaped X, class... D>
    requires(!(std::is_same_v<D, csv_options> || ...))
auto decode_csv(const X& records, const D&... defaults) {
    return decode_csv<Columns...>(records, csv_options(), defaults...);
}

/// The members of records that are JSON objects, one a line: a std::tuple of a tensor a member.
template <OperandOrIllShaped X, class... T, class... S>
auto decode_json(const X& records, const member<T, S>&... members) {
    static_assert(sizeof...(T) > 0, "tenon::decode_json: which members?");
    using verdict = detail::verdict_on_operands<detail::records_rule<decode_json_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<detail::absorbed<T>...>{};
    else {
        const std::vector<any_tensor> made = untyped::decode_json(detail::as_tensor(records), {members.column()...});
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple(detail::tensor_behind<T, X, S>::unchecked(made[I])...);
        }
        (std::index_sequence_for<T...>{});
    }
}

/// The numbers of type T that lie in strings of bytes: S, whose sizes are numbers, of them in each. Bools are bytes, of which
/// 0 is false. A string of another length is an invalid_argument_error.
template <Element T, Shape S = shape<>, OperandOrIllShaped X>
auto decode_raw(const X& bytes, byte_order order = byte_order::little, called_from here = caller()) {
    const making made(here);
    static_assert(!std::is_same_v<T, std::string>, "tenon::decode_raw: strings have no fixed size");
    static_assert(S::extents.is_static(), "tenon::decode_raw: sizes are numbers");
    using verdict = detail::verdict_on_operands<detail::records_rule<decode_raw_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::tensor_behind<T, X, S>::unchecked(
            untyped::decode_raw(detail::as_tensor(bytes), element_type_of<T>, S::extents, order));
}

template <Element T, Shape S>
template <class V>
member<T, S>::member(std::string name, const V& otherwise) : member(std::move(name)) {
    static_assert(detail::is_default_of<T, std::decay_t<const V&>>,
                  "tenon::member: a default is not of its member's kind");
    if constexpr (detail::is_default_of<T, std::decay_t<const V&>>)
        column_.otherwise = detail::text_of_default<T>(static_cast<const std::decay_t<const V&>&>(otherwise));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_decode)

#include <tenon/ops/input/decode.inl>

namespace tenon {

TENON_KERNEL(decode_csv, detail::decode_csv_kernel);
TENON_KERNEL(decode_json, detail::decode_json_kernel);
TENON_KERNEL(decode_raw, detail::decode_raw_kernel);

} // namespace tenon

#endif
