#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/variant.hpp>

/// What a JSON text says, and the text of what is to be said. Texts are read by nlohmann's parser (json_parse.ipp), but into a tree of our own:
/// - its header takes 2.5 s to compile and this one 0.3, in each of the 17 files that make or read JSON;
/// - a graph of 1e5 nodes, 19 MB, is read in 1.05 s and given up in 0.4 s; into nlohmann::ordered_json in 1.45 and 0.95 s;
/// - hostile texts are refused while they are read, for their depth and for doubled names. nlohmann's own tree has only callbacks for that,
///   with which the time grows by the square of a list's length: 25 s for that graph.

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
    variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, list, object> held;

    // Defined once: variants of many alternatives are much code.
    json_value() noexcept;
    json_value(const json_value&);
    json_value(json_value&&) noexcept;
    json_value& operator=(const json_value&);
    json_value& operator=(json_value&&) noexcept;
    ~json_value();
    json_value(bool v);
    json_value(double v);
    template <std::integral T>
    json_value(T v) :
        json_value(whole{}, static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(v)) {}
    json_value(const char* text);
    json_value(std::string text);
    json_value(list items);
    json_value(object members);

    template <class T> const T* get() const noexcept { return std::get_if<T>(&held); }
    bool is_null() const noexcept { return held.index() == 0; }
    /// The member of an object; nullptr where it has none of this name, or where this is no object.
    const json_value* find(const char* name) const noexcept;
    /// What it is, in words: "a list", "the text \"batch\"".
    std::string described() const;

private:
    struct whole {};
    json_value(whole, std::int64_t v);
    json_value(whole, std::uint64_t v);
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

/// The value as JSON, in one line, or with lines that are indented by `indent` blanks a level. A double is written with the
/// fewest digits from which it comes back, with a point or an exponent; one that is not finite as null. Throws
/// invalid_argument_error for a text that is not UTF-8.
std::string json_text(const json_value& v, int indent = -1);
/// Whether the text is well-formed UTF-8.
bool is_utf8(const std::string& text) noexcept;

/// Base 64 as in RFC 4648, with padding.
std::string to_base64(const void* data, std::size_t bytes);
/// Reads exactly `bytes` bytes; false where the text holds another number of them or is no base 64. Nothing is written
/// unless the text has the right length.
bool from_base64(const std::string& text, void* data, std::size_t bytes);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/json/json_value.ipp>
#endif
