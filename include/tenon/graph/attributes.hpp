#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/array.hpp>
#include <tenon/core/extents.hpp>
#include <tenon/core/hash.hpp>
#include <tenon/core/number.hpp>
#include <tenon/tape/shared_tape.hpp>

/// What a node knows besides its inputs: named values.

namespace tenon {

/// A value of a node's attribute. Arrays and tapes are shared and never changed.
using attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, element_type, extents,
                               std::shared_ptr<const any_array>, std::shared_ptr<const tape>>;

bool same_attribute(const attribute& a, const attribute& b);
std::size_t hash_attribute(const attribute& a);
std::string to_string(const attribute& a);

/// A node's attributes, in the order they were set. Copies share them until one is changed.
class attributes {
public:
    attributes() = default;

    void set(const char* name, attribute value);
    /// nullptr where there is none of this name.
    const attribute* find(const char* name) const noexcept;

    /// The value of an attribute of type A; throws invalid_argument_error when it is missing or of another type.
    template <class A> const A& get(const char* name) const {
        const attribute* a = find(name);
        const A* value = a ? std::get_if<A>(a) : nullptr;
        if (!value) missing(name);
        return *value;
    }

    auto begin() const noexcept { return values().begin(); }
    auto end() const noexcept { return values().end(); }

    friend bool operator==(const attributes& a, const attributes& b);
    std::size_t hash() const; ///< computed once for a list

private:
    using named_values = std::vector<std::pair<std::string, attribute>>;
    struct list;
    const named_values& values() const noexcept;
    [[noreturn]] void missing(const char* name) const;
    std::shared_ptr<list> list_; // nullptr: none
};

namespace detail {

std::size_t hash_extents(const extents& e);

inline attribute to_attribute(bool v) { return std::int64_t{v}; }
inline attribute to_attribute(int v) { return std::int64_t{v}; }
inline attribute to_attribute(std::int64_t v) { return v; }
inline attribute to_attribute(float v) { return double{v}; }
inline attribute to_attribute(double v) { return v; }
attribute to_attribute(const number& v);
inline attribute to_attribute(const std::string& v) { return v; }
inline attribute to_attribute(element_type v) { return v; }
inline attribute to_attribute(const extents& v) { return v; }
inline attribute to_attribute(const index_list& v) { return std::vector<std::int64_t>(v.begin(), v.end()); }
inline attribute to_attribute(const std::vector<std::int64_t>& v) { return v; }
inline attribute to_attribute(std::shared_ptr<const any_array> v) { return v; }
inline attribute to_attribute(std::shared_ptr<const tape> v) { return v; }
template <class E>
    requires std::is_enum_v<E> attribute to_attribute(E v) { return static_cast<std::int64_t>(v); }

[[noreturn]] void list_too_long(const char* name, std::size_t count);
[[noreturn]] void number_out_of_range(const char* name, std::int64_t value);
number number_attribute(const attributes& from, const char* name);

template <class V> void from_attribute(const attributes& from, const char* name, V& v) {
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
    } else v = from.get<V>(name);
}

} // namespace detail

/// An op's attribute struct, written out as a node's attributes. The struct lists its members once, in
///     static constexpr void fields(auto&& field) { field("transpose_a", &attributes::transpose_a); ... }
template <class A> attributes encode(const A& a) {
    attributes out;
    A::fields([&](const char* name, auto member) { out.set(name, detail::to_attribute(a.*member)); });
    return out;
}

/// The reverse of encode; throws invalid_argument_error naming what is missing or of the wrong type.
template <class A> A decode(const attributes& from) {
    A a{};
    A::fields([&](const char* name, auto member) { detail::from_attribute(from, name, a.*member); });
    return a;
}

/// For ops without attributes.
struct no_attributes {
    static constexpr void fields(auto&&) {}
    friend constexpr bool operator==(const no_attributes&, const no_attributes&) = default;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/attributes.ipp>
#endif
