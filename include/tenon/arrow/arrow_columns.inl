// Values of Arrow's arrays as elements of a component. Included by table_reading.ipp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon::detail {

// What a column is beneath extension types, such as tensors of a fixed shape, which are lists.
inline const ::arrow::DataType& storage_type_of(const ::arrow::DataType& t) {
    if (t.id() != ::arrow::Type::EXTENSION) return t;
    return storage_type_of(*static_cast<const ::arrow::ExtensionType&>(t).storage_type());
}
inline const ::arrow::Array& storage_of(const ::arrow::Array& a) {
    if (a.type_id() != ::arrow::Type::EXTENSION) return a;
    return storage_of(*static_cast<const ::arrow::ExtensionArray&>(a).storage());
}

inline bool holds_lists(const ::arrow::DataType& t) {
    return t.id() == ::arrow::Type::LIST || t.id() == ::arrow::Type::LARGE_LIST ||
           t.id() == ::arrow::Type::FIXED_SIZE_LIST || t.id() == ::arrow::Type::LIST_VIEW ||
           t.id() == ::arrow::Type::LARGE_LIST_VIEW;
}
inline const ::arrow::DataType& listed_type(const ::arrow::DataType& list) {
    return storage_type_of(*list.field(0)->type());
}

// What the lists of an array hold, and where in it list i lies.
struct lists_of {
    explicit lists_of(const ::arrow::Array& a) : lists(a), values(storage_of(*all(a))) {}
    const ::arrow::Array& lists;
    const ::arrow::Array& values;

    std::pair<std::int64_t, std::int64_t> operator[](std::int64_t i) const {
        switch (lists.type_id()) {
        case ::arrow::Type::LIST: return place(static_cast<const ::arrow::ListArray&>(lists), i);
        case ::arrow::Type::LARGE_LIST: return place(static_cast<const ::arrow::LargeListArray&>(lists), i);
        case ::arrow::Type::LIST_VIEW: return place(static_cast<const ::arrow::ListViewArray&>(lists), i);
        case ::arrow::Type::LARGE_LIST_VIEW: return place(static_cast<const ::arrow::LargeListViewArray&>(lists), i);
        default: return place(static_cast<const ::arrow::FixedSizeListArray&>(lists), i);
        }
    }

private:
    template <class A> static std::pair<std::int64_t, std::int64_t> place(const A& a, std::int64_t i) {
        const auto begin = static_cast<std::int64_t>(a.value_offset(i));
        return {begin, begin + static_cast<std::int64_t>(a.value_length(i))};
    }
    // Which the array holds.
    static const ::arrow::Array* all(const ::arrow::Array& a) {
        switch (a.type_id()) {
        case ::arrow::Type::LIST: return static_cast<const ::arrow::ListArray&>(a).values().get();
        case ::arrow::Type::LARGE_LIST: return static_cast<const ::arrow::LargeListArray&>(a).values().get();
        case ::arrow::Type::LIST_VIEW: return static_cast<const ::arrow::ListViewArray&>(a).values().get();
        case ::arrow::Type::LARGE_LIST_VIEW: return static_cast<const ::arrow::LargeListViewArray&>(a).values().get();
        default: return static_cast<const ::arrow::FixedSizeListArray&>(a).values().get();
        }
    }
};

// Calls f with the array as what it is, and with how its value at a place is read: a number, a bool, or a text. False: of no such type.
template <class F> bool with_values(const ::arrow::Array& a, F f) {
    const auto plain = [&]<class A>(const A& values) {
        f([&](std::int64_t i) { return values.Value(i); });
        return true;
    };
    const auto texts = [&]<class A>(const A& values) {
        f([&](std::int64_t i) { return std::string_view(values.GetView(i)); });
        return true;
    };
    using ::arrow::Type;
    switch (a.type_id()) {
    case Type::BOOL: return plain(static_cast<const ::arrow::BooleanArray&>(a));
    case Type::INT8: return plain(static_cast<const ::arrow::Int8Array&>(a));
    case Type::INT16: return plain(static_cast<const ::arrow::Int16Array&>(a));
    case Type::INT32: return plain(static_cast<const ::arrow::Int32Array&>(a));
    case Type::INT64: return plain(static_cast<const ::arrow::Int64Array&>(a));
    case Type::UINT8: return plain(static_cast<const ::arrow::UInt8Array&>(a));
    case Type::UINT16: return plain(static_cast<const ::arrow::UInt16Array&>(a));
    case Type::UINT32: return plain(static_cast<const ::arrow::UInt32Array&>(a));
    case Type::UINT64: return plain(static_cast<const ::arrow::UInt64Array&>(a));
    case Type::DATE32: return plain(static_cast<const ::arrow::Date32Array&>(a));
    case Type::DATE64: return plain(static_cast<const ::arrow::Date64Array&>(a));
    case Type::TIME32: return plain(static_cast<const ::arrow::Time32Array&>(a));
    case Type::TIME64: return plain(static_cast<const ::arrow::Time64Array&>(a));
    case Type::TIMESTAMP: return plain(static_cast<const ::arrow::TimestampArray&>(a));
    case Type::DURATION: return plain(static_cast<const ::arrow::DurationArray&>(a));
    case Type::FLOAT: return plain(static_cast<const ::arrow::FloatArray&>(a));
    case Type::DOUBLE: return plain(static_cast<const ::arrow::DoubleArray&>(a));
    case Type::HALF_FLOAT: {
        const auto& values = static_cast<const ::arrow::HalfFloatArray&>(a);
        f([&](std::int64_t i) { return float(half::from_bits(values.Value(i))); });
        return true;
    }
    case Type::DECIMAL128: {
        const auto& values = static_cast<const ::arrow::Decimal128Array&>(a);
        const auto scale = static_cast<const ::arrow::Decimal128Type&>(*a.type()).scale();
        f([&, scale](std::int64_t i) { return ::arrow::Decimal128(values.GetValue(i)).ToDouble(scale); });
        return true;
    }
    case Type::DECIMAL256: {
        const auto& values = static_cast<const ::arrow::Decimal256Array&>(a);
        const auto scale = static_cast<const ::arrow::Decimal256Type&>(*a.type()).scale();
        f([&, scale](std::int64_t i) { return ::arrow::Decimal256(values.GetValue(i)).ToDouble(scale); });
        return true;
    }
    case Type::STRING: return texts(static_cast<const ::arrow::StringArray&>(a));
    case Type::STRING_VIEW: return texts(static_cast<const ::arrow::StringViewArray&>(a));
    case Type::BINARY_VIEW: return texts(static_cast<const ::arrow::BinaryViewArray&>(a));
    case Type::LARGE_STRING: return texts(static_cast<const ::arrow::LargeStringArray&>(a));
    case Type::BINARY: return texts(static_cast<const ::arrow::BinaryArray&>(a));
    case Type::LARGE_BINARY: return texts(static_cast<const ::arrow::LargeBinaryArray&>(a));
    case Type::FIXED_SIZE_BINARY: return texts(static_cast<const ::arrow::FixedSizeBinaryArray&>(a));
    default: return false;
    }
}

enum class value_kind { none, boolean, integer, number, text };
inline value_kind kind_of_values(const ::arrow::DataType& t) {
    using ::arrow::Type;
    switch (t.id()) {
    case Type::BOOL: return value_kind::boolean;
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::HALF_FLOAT:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return value_kind::number;
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::FIXED_SIZE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return value_kind::text;
    case Type::DICTIONARY: return kind_of_values(*static_cast<const ::arrow::DictionaryType&>(t).value_type());
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIME32:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION: return value_kind::integer;
    default: return value_kind::none;
    }
}

// Whether elements can be values of such a column, all of them or those that fit.
inline bool can_hold(element_type e, const ::arrow::DataType& t) {
    switch (kind_of_values(t)) {
    case value_kind::boolean: return e == element_type::boolean || is_integer(e);
    case value_kind::integer: return is_numeric(e);
    case value_kind::number: return is_floating(e);
    case value_kind::text: return e == element_type::string;
    case value_kind::none: break;
    }
    return t.id() == ::arrow::Type::NA; // all null
}

// Why rows of this column cannot be of this component's type; empty: they can.
inline std::string misfit_of_column(const ::arrow::DataType& column, const tensor_type& wanted) {
    const ::arrow::DataType* t = &storage_type_of(column);
    int depth = 0;
    for (; holds_lists(*t); t = &listed_type(*t), ++depth) {
        if (depth == wanted.extents.rank()) return "it holds lists";
        const extent size = wanted.extents[depth];
        if (t->id() != ::arrow::Type::FIXED_SIZE_LIST || !size.is_number()) continue;
        const std::int64_t there = static_cast<const ::arrow::FixedSizeListType&>(*t).list_size();
        std::int64_t elements = size.size; // of one list that holds all
        if (!holds_lists(listed_type(*t)))
            for (int k = depth + 1; k < wanted.extents.rank(); ++k) elements *= wanted.extents[k].size;
        if (there != elements) return "its lists hold " + std::to_string(there) + ", not " + std::to_string(elements);
    }
    if (depth == 0 && wanted.extents.rank() > 0) return "it holds no lists";
    if (depth > 1 && depth < wanted.extents.rank()) return "its lists are " + std::to_string(depth) + " deep";
    if (!can_hold(wanted.element, *t)) return "its values are no " + std::string(name_of(wanted.element));
    return {};
}

// What the rows of a column are by themselves; element_type::none: nothing that a component can be.
inline tensor_type type_of_column(const ::arrow::DataType& column) {
    tensor_type made;
    const ::arrow::DataType* t = &storage_type_of(column);
    for (; holds_lists(*t) && made.extents.rank() < max_rank; t = &listed_type(*t)) {
        if (t->id() == ::arrow::Type::FIXED_SIZE_LIST)
            made.extents.push_back(static_cast<const ::arrow::FixedSizeListType&>(*t).list_size());
        else if (made.extents.rank() == 0) made.extents.push_back(dynamic_extent);
        else return {}; // lists in lists differ in length
    }
    if (t->id() == ::arrow::Type::DICTIONARY) t = static_cast<const ::arrow::DictionaryType&>(*t).value_type().get();
    switch (t->id()) {
    case ::arrow::Type::INT8: made.element = element_type::int8; break;
    case ::arrow::Type::INT16: made.element = element_type::int16; break;
    case ::arrow::Type::INT32:
    case ::arrow::Type::DATE32:
    case ::arrow::Type::TIME32: made.element = element_type::int32; break;
    case ::arrow::Type::UINT8: made.element = element_type::uint8; break;
    case ::arrow::Type::UINT16: made.element = element_type::uint16; break;
    case ::arrow::Type::UINT32: made.element = element_type::uint32; break;
    case ::arrow::Type::UINT64: made.element = element_type::uint64; break;
    case ::arrow::Type::HALF_FLOAT: made.element = element_type::float16; break;
    case ::arrow::Type::FLOAT: made.element = element_type::float32; break;
    default:
        switch (kind_of_values(*t)) {
        case value_kind::boolean: made.element = element_type::boolean; break;
        case value_kind::integer: made.element = element_type::int64; break;
        case value_kind::number: made.element = element_type::float64; break;
        case value_kind::text: made.element = element_type::string; break;
        case value_kind::none: return {};
        }
    }
    return made;
}

template <class T> class column_values {
public:
    // `missing`: what a null is; nullptr: it is an error.
    column_values(T* to, const T* missing) : to_(to), missing_(missing) {}

    // Rows begin .. end of an array, of elements of these sizes.
    void rows(const ::arrow::Array& a, std::int64_t begin, std::int64_t end, std::span<const std::int64_t> sizes) {
        if (!holds_lists(*a.type())) return values(a, begin, end);
        const lists_of lists(a);
        const bool deeper = holds_lists(*lists.values.type());
        std::int64_t all = 1;
        for (const std::int64_t s : sizes) all *= s;
        const std::int64_t wanted = deeper ? sizes[0] : all;
        for (std::int64_t i = begin; i < end; ++i) {
            if (a.IsNull(i)) {
                fill(all);
                continue;
            }
            const auto [first, last] = lists[i];
            if (last - first != wanted)
                throw invalid_argument_error("a list holds " + std::to_string(last - first) + " elements, not " +
                                             std::to_string(wanted));
            rows(lists.values, first, last, deeper ? sizes.subspan(1) : sizes.first(0));
        }
    }

private:
    void fill(std::int64_t count) {
        if (!missing_) throw invalid_argument_error("it is null, and no default says what that is");
        for (std::int64_t i = 0; i < count; ++i) *to_++ = *missing_;
    }
    void values(const ::arrow::Array& a, std::int64_t begin, std::int64_t end) {
        if (a.type_id() == ::arrow::Type::DICTIONARY) {
            const auto& coded = static_cast<const ::arrow::DictionaryArray&>(a);
            const ::arrow::Array& meant = *coded.dictionary();
            for (std::int64_t i = begin; i < end; ++i) {
                if (coded.IsNull(i)) fill(1);
                else values(meant, coded.GetValueIndex(i), coded.GetValueIndex(i) + 1);
            }
            return;
        }
        if (a.type_id() == ::arrow::Type::NA) return fill(end - begin);
        const bool nulls = a.null_count() > 0;
        const bool known = with_values(a, [&](const auto& value) {
            for (std::int64_t i = begin; i < end; ++i) {
                if (nulls && a.IsNull(i)) fill(1);
                else put(value(i));
            }
        });
        if (!known) throw internal_error("a column of type " + a.type()->ToString() + " was taken");
    }
    template <class V> void put(const V& v) {
        constexpr bool is_text = std::is_same_v<V, std::string_view>;
        if constexpr (std::is_same_v<T, std::string> && is_text) {
            (to_++)->assign(v.data(), v.size());
        } else if constexpr (!std::is_same_v<T, std::string> && !is_text) {
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<V> &&
                          !std::is_same_v<V, bool>) {
                if (!std::in_range<T>(v))
                    throw invalid_argument_error("the value " + std::to_string(v) + " does not fit " +
                                                 name_of(element_type_of<T>));
            }
            *to_++ = static_cast<T>(v);
        } else {
            throw internal_error("a column of another type was taken"); // misfit_of_column() has looked
        }
    }

    T* to_;
    const T* missing_;
};

inline void copy_rows(const ::arrow::Array& column, std::int64_t begin, std::int64_t end,
                      std::span<const std::int64_t> sizes, element_type e, const any_array& missing, void* to) {
    with_element(e, [&]<class T>(T) {
        const T* const null = missing ? missing.data<T>() : nullptr;
        column_values<T>(static_cast<T*>(to), null).rows(storage_of(column), begin, end, sizes);
    });
}

template <class T> inline constexpr ::arrow::Type::type arrow_type_of = ::arrow::Type::NA;
template <> inline constexpr auto arrow_type_of<float> = ::arrow::Type::FLOAT;
template <> inline constexpr auto arrow_type_of<double> = ::arrow::Type::DOUBLE;
template <> inline constexpr auto arrow_type_of<half> = ::arrow::Type::HALF_FLOAT;
template <> inline constexpr auto arrow_type_of<std::int8_t> = ::arrow::Type::INT8;
template <> inline constexpr auto arrow_type_of<std::int16_t> = ::arrow::Type::INT16;
template <> inline constexpr auto arrow_type_of<std::int32_t> = ::arrow::Type::INT32;
template <> inline constexpr auto arrow_type_of<std::int64_t> = ::arrow::Type::INT64;
template <> inline constexpr auto arrow_type_of<std::uint8_t> = ::arrow::Type::UINT8;
template <> inline constexpr auto arrow_type_of<std::uint16_t> = ::arrow::Type::UINT16;
template <> inline constexpr auto arrow_type_of<std::uint32_t> = ::arrow::Type::UINT32;
template <> inline constexpr auto arrow_type_of<std::uint64_t> = ::arrow::Type::UINT64;

// Where the rows of a column lie in memory as a component has them: the first. nullptr: they do not, or some of it is null.
inline const std::byte* rows_in_memory(const ::arrow::Array& column, const tensor_type& row) {
    const ::arrow::Array* a = &storage_of(column);
    std::int64_t first = 0, elements = 1;
    for (int k = 0; k < row.extents.rank(); ++k) elements *= row.extents[k].size;
    std::int64_t held = 1; // by a row
    while (a->type_id() == ::arrow::Type::FIXED_SIZE_LIST) {
        if (a->null_count() > 0) return nullptr;
        const lists_of lists(*a);
        const auto size =
            static_cast<std::int64_t>(static_cast<const ::arrow::FixedSizeListArray&>(*a).value_length(0));
        first = a->length() > 0 ? lists[first].first : 0;
        held *= size;
        a = &lists.values;
    }
    if (held != elements || a->null_count() > 0) return nullptr;
    return with_element(row.element, [&]<class T>(T) -> const std::byte* {
        if constexpr (arrow_type_of<T> == ::arrow::Type::NA) return nullptr;
        else {
            if (a->type_id() != arrow_type_of<T> || !a->data()->buffers[1] || !a->data()->buffers[1]->is_cpu())
                return nullptr;
            const auto* const bytes = reinterpret_cast<const std::byte*>(a->data()->buffers[1]->data()) +
                                      static_cast<std::size_t>(a->offset() + first) * sizeof(T);
            return reinterpret_cast<std::uintptr_t>(bytes) % alignof(T) == 0 ? bytes : nullptr;
        }
    });
}

} // namespace tenon::detail
