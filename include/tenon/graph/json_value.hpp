#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/config.hpp>

/// What a JSON text says, for readers that trust none of it.

namespace tenon::detail {

/// The version of the graph format: raised when an older program would misread a text.
inline constexpr std::int64_t graph_format_version = 1;

/// Turns numbers of `element` bytes from this processor's byte order to little-endian, or back.
inline void swap_little_endian(void* data, std::size_t bytes, std::size_t element) {
    if (std::endian::native == std::endian::little || element < 2) return;
    auto* p = static_cast<unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; i += element)
        for (std::size_t k = 0; k < element / 2; ++k) std::swap(p[i + k], p[i + element - 1 - k]);
}

struct json_member;

/// A JSON value. Members are in the order of the text, and no name occurs twice.
struct json_value {
    using list = std::vector<json_value>;
    using object = std::vector<json_member>;
    /// Integers that fit into 64 bits are integers; other numbers are doubles.
    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, list, object> held;

    template <class T> const T* get() const noexcept { return std::get_if<T>(&held); }
    bool is_null() const noexcept { return held.index() == 0; }
    /// The member of an object; nullptr where it has none of this name, or where this is no object.
    const json_value* find(const char* name) const noexcept;
    /// What it is, in words: "a list", "the text \"batch\"".
    std::string described() const;
};

struct json_member {
    std::string name;
    json_value value;
};

inline const json_value* json_value::find(const char* name) const noexcept {
    if (const object* members = get<object>())
        for (const json_member& m : *members)
            if (m.name == name) return &m.value;
    return nullptr;
}

/// Reads a text of at most `deepest` nested lists and objects. Throws data_loss_error when it is no JSON,
/// invalid_argument_error when it is too deep or an object has a name twice; both begin with `what`.
json_value parse_json(const std::string& text, const std::string& what, int deepest = 32);

/// Base 64 as in RFC 4648, with padding.
std::string to_base64(const void* data, std::size_t bytes);
/// Reads exactly `bytes` bytes; false where the text holds another number of them or is no base 64. Nothing is written
/// unless the text has the right length.
bool from_base64(const std::string& text, void* data, std::size_t bytes);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/graph/json_value.ipp>
#endif
