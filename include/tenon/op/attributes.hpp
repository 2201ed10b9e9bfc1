#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <type_traits>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/members.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/sizes/extents.hpp>

/// What a node knows besides its inputs: named values.

namespace tenon {

struct tape;
struct attribute;       // a value, in op/attribute.hpp: what programs seldom look at, and costs much to compile
struct named_attribute; // with its name

/// A node's attributes, in the order they were set. Copies share them until one is changed. A value is of one of the types
/// that set() takes; arrays and tapes are shared and never changed.
class attributes {
public:
    attributes() = default;

    void set(const char* name, std::int64_t value);
    void set(const char* name, double value);
    void set(const char* name, std::string value);
    void set(const char* name, std::vector<std::int64_t> value);
    void set(const char* name, element_type value);
    void set(const char* name, const extents& value);
    void set(const char* name, std::vector<tensor_type> value);
    void set(const char* name, std::shared_ptr<const any_array> value);
    void set(const char* name, std::shared_ptr<const tape> value);
    void set(const char* name, attribute value);
    /// nullptr where there is none of this name.
    const attribute* find(const char* name) const noexcept;

    /// The value of an attribute of type A; throws invalid_argument_error when it is missing or of another type.
    template <class A> const A& get(const char* name) const;

    const named_attribute* begin() const noexcept;
    const named_attribute* end() const noexcept;

    friend bool operator==(const attributes& a, const attributes& b);
    std::size_t hash() const; ///< computed once for a list

private:
    struct list;
    [[noreturn]] void missing(const char* name) const;
    std::shared_ptr<list> list_; // nullptr: none
};

namespace detail {

std::size_t hash_extents(const extents& e);

// A member whose members are attributes.
template <class V> inline constexpr bool is_group = std::is_class_v<V>&& std::is_aggregate_v<V>;

// A member of an attribute struct as one of the types that are stored, and back.
void set_number(attributes& to, const char* name, const number& value);
struct attribute_encoder {
    attributes& to;
    template <class V> void operator()(const char* name, const V& value) const {
        if constexpr (std::is_same_v<V, number>) set_number(to, name, value);
        else if constexpr (std::is_same_v<V, index_list>)
            to.set(name, std::vector<std::int64_t>(value.begin(), value.end()));
        else if constexpr (std::is_floating_point_v<V>) to.set(name, static_cast<double>(value));
        else if constexpr (std::is_integral_v<V> || (std::is_enum_v<V> && !std::is_same_v<V, element_type>))
            to.set(name, static_cast<std::int64_t>(value));
        else if constexpr (is_group<V>) each_member(value, *this);
        else to.set(name, value);
    }
};

[[noreturn]] void list_too_long(const char* name, std::size_t count);
[[noreturn]] void number_out_of_range(const char* name, std::int64_t value);
number number_attribute(const attributes& from, const char* name);

struct attribute_decoder {
    const attributes& from;
    template <class V> void operator()(const char* name, V& v) const {
        if constexpr (std::is_same_v<V, element_type>) v = from.get<element_type>(name);
        else if constexpr (std::is_same_v<V, number>) v = number_attribute(from, name);
        else if constexpr (std::is_integral_v<V> || std::is_enum_v<V>) {
            const std::int64_t n = from.get<std::int64_t>(name);
            v = static_cast<V>(n);
            if (static_cast<std::int64_t>(v) != n) number_out_of_range(name, n);
        } else if constexpr (std::is_floating_point_v<V>) v = static_cast<V>(from.get<double>(name));
        else if constexpr (std::is_same_v<V, index_list>) {
            const auto& list = from.get<std::vector<std::int64_t>>(name);
            if (list.size() > max_rank) list_too_long(name, list.size());
            v = index_list{};
            for (const std::int64_t i : list) v.push_back(i);
        } else if constexpr (is_group<V>) each_member(v, *this);
        else v = from.get<V>(name);
    }
};

} // namespace detail

/// An op's attribute struct, written out as a node's attributes: its members, in order, under their names.
template <class A> attributes encode(const A& a) {
    attributes out;
    each_member(a, detail::attribute_encoder{out});
    return out;
}

/// The reverse of encode; throws invalid_argument_error naming what is missing or of the wrong type.
template <class A> A decode(const attributes& from) {
    A a{};
    each_member(a, detail::attribute_decoder{from});
    return a;
}

/// The same under the names that they have today, each where it was: {"all", "replace_global"}. What op_definition::of_before
/// makes of attributes.
attributes renamed(const attributes& a, std::initializer_list<std::pair<const char*, const char*>> names);

/// For ops without attributes.
struct no_attributes {};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/op/attributes.ipp>
#endif
