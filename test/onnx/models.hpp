#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

// ONNX models put together field by field (onnx/onnx.proto), with nothing of what is tested.

namespace made {

inline std::string varint(std::uint64_t v) {
    std::string s;
    for (; v >= 0x80; v >>= 7) s += static_cast<char>(v | 0x80);
    return s + static_cast<char>(v);
}
inline std::string number(int field, std::uint64_t v) {
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(v);
}
inline std::string bytes(int field, const std::string& v) {
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(v.size()) + v;
}
template <class T> std::string raw(const std::vector<T>& v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T));
}

inline std::string dims(std::initializer_list<std::uint64_t> list) {
    std::string s;
    for (const auto d : list) s += number(1, d);
    return s;
}
inline std::string floats(const std::string& name, std::initializer_list<std::uint64_t> sizes,
                          const std::vector<float>& v) {
    return dims(sizes) + number(2, 1) + bytes(8, name) + bytes(9, raw(v));
}
inline std::string integers(const std::string& name, std::initializer_list<std::uint64_t> sizes,
                            const std::vector<std::int64_t>& v) {
    return dims(sizes) + number(2, 7) + bytes(8, name) + bytes(9, raw(v));
}
inline std::string int_attribute(const std::string& name, std::int64_t v) {
    return bytes(5, bytes(1, name) + number(3, static_cast<std::uint64_t>(v)) + number(20, 2));
}
inline std::string ints_attribute(const std::string& name, std::initializer_list<std::int64_t> v) {
    std::string packed;
    for (const auto i : v) packed += varint(static_cast<std::uint64_t>(i));
    return bytes(5, bytes(1, name) + bytes(8, packed) + number(20, 7));
}
inline std::string text_attribute(const std::string& name, const std::string& v) {
    return bytes(5, bytes(1, name) + bytes(4, v) + number(20, 3));
}
inline std::string graph_attribute(const std::string& name, const std::string& graph) {
    return bytes(5, bytes(1, name) + bytes(6, graph) + number(20, 5));
}
inline std::string node(const std::string& op, std::initializer_list<std::string> in,
                        std::initializer_list<std::string> out, const std::string& attributes = {},
                        const std::string& domain = {}) {
    std::string n;
    for (const auto& i : in) n += bytes(1, i);
    for (const auto& o : out) n += bytes(2, o);
    n += bytes(4, op) + attributes;
    if (!domain.empty()) n += bytes(7, domain);
    return bytes(1, n);
}
// A size is a number, or a name.
inline std::string value(const std::string& name, int data_type, std::initializer_list<std::string> sizes) {
    std::string shape;
    for (const auto& s : sizes) shape += bytes(1, s[0] >= '0' && s[0] <= '9' ? number(1, std::stoull(s)) : bytes(2, s));
    return bytes(1, name) + bytes(2, bytes(1, number(1, static_cast<std::uint64_t>(data_type)) + bytes(2, shape)));
}
inline std::string truth(const std::string& name, bool v) {
    return number(2, 9) + bytes(8, name) + bytes(9, std::string(1, v ? '\1' : '\0'));
}
inline std::string initializer(const std::string& t) { return bytes(5, t); }
inline std::string input(const std::string& v) { return bytes(11, v); }
inline std::string output(const std::string& v) { return bytes(12, v); }
inline std::string model(const std::string& graph, std::uint64_t opset = 17) {
    return number(1, 8) + bytes(2, "by hand") + bytes(8, number(2, opset)) + bytes(7, graph);
}
inline std::span<const std::byte> span(const std::string& s) { return std::as_bytes(std::span(s)); }

} // namespace made
