#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/variant.hpp>

/// The values of a node's attributes, for those that read all of them: equality, hashes, JSON.

namespace tenon {

struct tape;

/// Arrays and tapes are shared and never changed.
struct attribute
    : detail::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, element_type, extents,
                      std::vector<tensor_type>, std::shared_ptr<const any_array>, std::shared_ptr<const tape>> {
    using variant::variant;
};

struct named_attribute {
    std::string name;
    attribute value;
};

bool same_attribute(const attribute& a, const attribute& b);
std::size_t hash_attribute(const attribute& a);
std::string to_string(const attribute& a);

namespace detail {
/// As a double where that is exact, else as an integer, or as the digits of what 64 bits hold only without a sign: one
/// number is written in one way.
attribute attribute_of(const number& value);
} // namespace detail

} // namespace tenon
