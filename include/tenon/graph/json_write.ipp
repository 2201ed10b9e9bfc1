#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/graph/json_value.hpp>
#include <tenon/graph/op.hpp>

namespace tenon {

namespace detail {

using ordered_json = nlohmann::ordered_json;

inline std::string hex_of(const std::string& bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

inline bool is_utf8(const std::string& text) {
    try {
        (void)ordered_json(text).dump();
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

inline ordered_json json_of_text(const std::string& text) {
    if (is_utf8(text)) return text;
    return {{"hex", hex_of(text)}};
}

// JSON has no infinities and NaNs: they are texts; a NaN that is not the usual one has its bits.
inline ordered_json json_of_number(double d) {
    if (std::isfinite(d)) return d;
    if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
    const auto bits = std::bit_cast<std::uint64_t>(d);
    if (bits == std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())) return "nan";
    char text[24];
    std::snprintf(text, sizeof text, "nan:%016llx", static_cast<unsigned long long>(bits));
    return text;
}

// The double with the fewest digits that is rounded to f: 0.1f is written as 0.1.
inline double shortest_double(float f) {
    char text[32];
    double d = static_cast<double>(f);
    const auto [end, fault] = std::to_chars(text, text + sizeof text, f);
    if (fault == std::errc()) (void)std::from_chars(text, end, d);
    // The largest float's shortest digits lie above it.
    return std::fabs(d) <= static_cast<double>(std::numeric_limits<float>::max()) && static_cast<float>(d) == f
               ? d
               : static_cast<double>(f);
}

inline ordered_json json_of_sizes(const extents& sizes) {
    ordered_json list = ordered_json::array();
    for (const extent& e : sizes) {
        if (e.is_number()) list.push_back(e.size);
        else if (e.is_named()) list.push_back(e.name);
        else list.push_back(nullptr);
    }
    return list;
}

inline ordered_json json_of_type(const tensor_type& t) {
    return {{"element", name_of(t.element)}, {"shape", json_of_sizes(t.extents)}};
}

// An element as a JSON value, from which it comes back bit by bit; null where it would not.
template <class T> ordered_json json_of_element(const T& v) {
    if constexpr (std::is_same_v<T, std::string>) return json_of_text(v);
    else if constexpr (std::is_integral_v<T>) return v;
    else {
        const double d = static_cast<double>(v);
        const T back = static_cast<T>(d);
        if (std::memcmp(&back, &v, sizeof v) != 0) return nullptr;
        if (std::isnan(d))
            return std::bit_cast<std::uint64_t>(d) ==
                           std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())
                       ? ordered_json("nan")
                       : ordered_json();
        if constexpr (std::is_same_v<T, float>)
            if (std::isfinite(d)) return shortest_double(v);
        return json_of_number(d);
    }
}

inline ordered_json json_of_array(const any_array& a) {
    constexpr std::int64_t readable = 32; // elements: more are written as bytes
    ordered_json out = json_of_type(a.type());
    if (a.elements() <= readable || a.element() == element_type::string) {
        ordered_json values = ordered_json::array();
        bool exact = true;
        with_element(a.element(), [&]<class T>(const T&) {
            const T* p = static_cast<const T*>(a.data());
            for (std::int64_t i = 0; i < a.elements() && exact; ++i) {
                values.push_back(json_of_element(p[i]));
                exact = !values.back().is_null();
            }
        });
        if (exact) {
            out["values"] = std::move(values);
            return out;
        }
    }
    if constexpr (std::endian::native == std::endian::big) {
        any_array swapped = a.copy();
        swap_little_endian(swapped.data(), swapped.bytes(), size_of(swapped.element()));
        out["base64"] = to_base64(swapped.data(), swapped.bytes());
    } else out["base64"] = to_base64(a.data(), a.bytes());
    return out;
}

inline ordered_json json_of_tape(const tape& t) {
    ordered_json inputs = ordered_json::array(), constants = inputs, code = inputs, outputs = inputs;
    for (int i = 0; i < t.input_count; ++i) inputs.push_back(name_of(t.inputs[i]));
    for (int i = 0; i < t.constant_count; ++i) constants.push_back(name_of(t.constants[i]));
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        ordered_json line = ordered_json::array({info_of(i.op).name, name_of(i.type)});
        if (i.op == opcode::literal) line.push_back(json_of_number(i.number));
        else if (i.op == opcode::input || i.op == opcode::constant) line.push_back(i.a);
        else
            for (int k = 0; k < register_operands(i); ++k) line.push_back(operand_of(i, k));
        code.push_back(std::move(line));
    }
    for (int o = 0; o < t.output_count; ++o) {
        ordered_json line = ordered_json::array({name_of(t.outputs[o].type), t.outputs[o].reg});
        if (t.outputs[o].like >= 0) line.push_back(t.outputs[o].like);
        outputs.push_back(std::move(line));
    }
    ordered_json out{{"inputs", std::move(inputs)}};
    if (t.constant_count) out["constants"] = std::move(constants);
    out["code"] = std::move(code);
    out["outputs"] = std::move(outputs);
    return out;
}

inline ordered_json json_of_attribute(const attribute& a) {
    if (const auto* i = std::get_if<std::int64_t>(&a)) return *i;
    if (const auto* d = std::get_if<double>(&a)) return {{"number", json_of_number(*d)}};
    if (const auto* s = std::get_if<std::string>(&a)) return json_of_text(*s);
    if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) return *l;
    if (const auto* e = std::get_if<element_type>(&a)) return {{"element", name_of(*e)}};
    if (const auto* e = std::get_if<extents>(&a)) return {{"shape", json_of_sizes(*e)}};
    if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a)) return {{"array", json_of_array(**x)}};
    return {{"tape", json_of_tape(*std::get<std::shared_ptr<const tape>>(a))}};
}

// "name", or "name:1". A name that has a colon itself always gets its index.
inline std::string reference_to(const node_output& o) {
    return o.index == 0 && o.node->name.find(':') == std::string::npos ? o.node->name
                                                                       : o.node->name + ":" + std::to_string(o.index);
}

inline std::string line_of(const node& n) {
    ordered_json out{{"name", n.name}, {"op", n.op->name}};
    for (const node_output& in : n.inputs) out["inputs"].push_back(reference_to(in));
    for (node* c : n.controls) out["controls"].push_back(reference_to({c, 0}));
    for (const auto& [name, a] : n.attributes) out["attributes"][name] = json_of_attribute(a);
    for (node* c : n.colocated) out["colocated"].push_back(reference_to({c, 0}));
    if (!n.device.empty()) out["device"] = to_string(n.device);
    if (!n.container.empty()) out["container"] = n.container;
    for (const tensor_type& t : n.outputs) out["outputs"].push_back(json_of_type(t));
    try {
        return out.dump();
    } catch (const nlohmann::json::type_error&) {
        throw invalid_argument_error(
            "to_json: node " + std::to_string(n.number) + ", " + n.op->name +
            ": its name, or that of an input, a device, a container or a size, is not UTF-8 text");
    }
}

} // namespace detail

TENON_INLINE std::string to_json(const graph& g) {
    std::string text = "{\"format\": \"tenon graph\", \"version\": " + std::to_string(detail::graph_format_version) +
                       ", \"seed\": " + std::to_string(g.seed()) + ",\n \"nodes\": [";
    const std::int64_t nodes = g.size();
    for (std::int64_t n = 0; n < nodes; ++n) text += (n ? ",\n  " : "\n  ") + detail::line_of(*g.at(n));
    text += "\n ],\n \"collections\": {";
    bool first = true;
    for (const std::string& name : g.collections()) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const any_tensor& t : g.collection(name))
            if (t.node()->number < nodes) list.push_back(detail::reference_to(t.output()));
        if (!detail::is_utf8(name)) throw invalid_argument_error("to_json: the name of a collection is not UTF-8 text");
        text += (first ? "\n  " : ",\n  ") + nlohmann::ordered_json(name).dump() + ": " + list.dump();
        first = false;
    }
    return text + (first ? "}}\n" : "\n }}\n");
}

} // namespace tenon
