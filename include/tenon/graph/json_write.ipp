#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/json_write.hpp>
#include <tenon/io/json/json_value.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/tape/tape.hpp>

namespace tenon {

namespace detail {

inline std::string hex_of(const std::string& bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

inline json_value json_of_text(const std::string& text) {
    if (is_utf8(text)) return text;
    return json_value::object{{"hex", hex_of(text)}};
}

// JSON has no infinities and NaNs: they are texts; a NaN that is not the usual one has its bits.
inline json_value json_of_number(double d) {
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
    if (fault == std::errc()) d = read_double(text, end);
    // The largest float's shortest digits lie above it.
    return std::fabs(d) <= static_cast<double>(std::numeric_limits<float>::max()) && static_cast<float>(d) == f
               ? d
               : static_cast<double>(f);
}

inline json_value json_of_sizes(const extents& sizes) {
    json_value::list list;
    for (const extent& e : sizes) {
        if (e.is_number()) list.push_back(e.size);
        else if (e.is_named()) list.push_back(std::string(e.name));
        else list.emplace_back();
    }
    return list;
}

inline json_value::object json_of_type(const tensor_type& t) {
    return json_value::object{{"element", name_of(t.element)}, {"shape", json_of_sizes(t.extents)}};
}

// An element as a JSON value, from which it comes back bit by bit; null where it would not.
template <class T> json_value json_of_element(const T& v) {
    if constexpr (std::is_same_v<T, std::string>) return json_of_text(v);
    else if constexpr (std::is_integral_v<T>) return v;
    else {
        const double d = static_cast<double>(v);
        const T back = static_cast<T>(d);
        if (std::memcmp(&back, &v, sizeof v) != 0) return {};
        if (std::isnan(d))
            return std::bit_cast<std::uint64_t>(d) ==
                           std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())
                       ? json_value("nan")
                       : json_value();
        if constexpr (std::is_same_v<T, float>)
            if (std::isfinite(d)) return shortest_double(v);
        return json_of_number(d);
    }
}

inline json_value json_of_array(const any_array& a) {
    constexpr std::int64_t readable = 32; // elements: more are written as bytes
    json_value::object out = json_of_type(a.type());
    if (a.elements() <= readable || a.element() == element_type::string) {
        json_value::list values;
        bool exact = true;
        with_element(a.element(), [&]<class T>(const T&) {
            const T* p = static_cast<const T*>(a.data());
            for (std::int64_t i = 0; i < a.elements() && exact; ++i) {
                values.push_back(json_of_element(p[i]));
                exact = !values.back().is_null();
            }
        });
        if (exact) {
            out.push_back({"values", std::move(values)});
            return out;
        }
    }
    if constexpr (std::endian::native == std::endian::big) {
        any_array swapped = a.copy();
        swap_little_endian(swapped.data(), swapped.bytes(), size_of(swapped.element()));
        out.push_back({"base64", to_base64(swapped.data(), swapped.bytes())});
    } else out.push_back({"base64", to_base64(a.data(), a.bytes())});
    return out;
}

inline json_value json_of_tape(const tape& t) {
    json_value::list inputs, constants, code, outputs;
    for (int i = 0; i < t.input_count; ++i) inputs.push_back(name_of(t.inputs[i]));
    for (int i = 0; i < t.constant_count; ++i) constants.push_back(name_of(t.constants[i]));
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        json_value::list line{info_of(i.op).name, name_of(i.type)};
        if (i.op == opcode::literal) {
            if (is_floating(i.type)) line.push_back(json_of_number(i.literal().as_double()));
            else if (is_signed_integer(i.type)) line.push_back(static_cast<std::int64_t>(i.bits));
            else line.push_back(i.bits);
        } else if (i.op == opcode::input || i.op == opcode::constant) line.push_back(i.a);
        else
            for (int k = 0; k < register_operands(i); ++k) line.push_back(operand_of(i, k));
        code.push_back(std::move(line));
    }
    for (int o = 0; o < t.output_count; ++o) {
        json_value::list line{name_of(t.outputs[o].type), t.outputs[o].reg};
        if (t.outputs[o].like >= 0) line.push_back(t.outputs[o].like);
        outputs.push_back(std::move(line));
    }
    json_value::object out{{"inputs", std::move(inputs)}};
    if (t.constant_count) out.push_back({"constants", std::move(constants)});
    out.push_back({"code", std::move(code)});
    out.push_back({"outputs", std::move(outputs)});
    return out;
}

inline json_value json_of_attribute(const attribute& a) {
    if (const auto* i = std::get_if<std::int64_t>(&a)) return *i;
    if (const auto* d = std::get_if<double>(&a)) return json_value::object{{"number", json_of_number(*d)}};
    if (const auto* s = std::get_if<std::string>(&a)) return json_of_text(*s);
    if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) return json_value::list(l->begin(), l->end());
    if (const auto* e = std::get_if<element_type>(&a)) return json_value::object{{"element", name_of(*e)}};
    if (const auto* e = std::get_if<extents>(&a)) return json_value::object{{"shape", json_of_sizes(*e)}};
    if (const auto* l = std::get_if<std::vector<tensor_type>>(&a)) {
        json_value::list types;
        for (const tensor_type& t : *l) types.emplace_back(json_of_type(t));
        return json_value::object{{"types", std::move(types)}};
    }
    if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a))
        return json_value::object{{"array", json_of_array(**x)}};
    return json_value::object{{"tape", json_of_tape(*std::get<std::shared_ptr<const tape>>(a))}};
}

// "name", or "name:1". A name that has a colon itself always gets its index.
inline std::string reference_to(const node_output& o) {
    return o.index == 0 && o.node->name.find(':') == std::string::npos ? o.node->name
                                                                       : o.node->name + ":" + std::to_string(o.index);
}

inline std::string line_of(const node& n) {
    json_value::object out{{"name", n.name}, {"op", n.op->name}};
    const auto add_list = [&](const char* name, const auto& items, const auto& written) {
        if (items.empty()) return;
        json_value::list list;
        for (const auto& item : items) list.push_back(written(item));
        out.push_back({name, std::move(list)});
    };
    const auto node_name = [](node* c) { return reference_to({c, 0}); };
    add_list("inputs", n.inputs, reference_to);
    add_list("controls", n.controls, node_name);
    json_value::object attributes;
    for (const auto& [name, a] : n.attributes) attributes.push_back({std::string(name), json_of_attribute(a)});
    if (!attributes.empty()) out.push_back({"attributes", std::move(attributes)});
    add_list("colocated", n.colocated, node_name);
    if (n.follows) out.push_back({"follows", node_name(n.follows)});
    if (!n.device.empty()) out.push_back({"device", to_string(n.device)});
    if (!n.container.empty()) out.push_back({"container", n.container});
    add_list("outputs", n.outputs, json_of_type);
    try {
        return json_text(std::move(out));
    } catch (const invalid_argument_error&) {
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
        detail::json_value::list list;
        for (const any_tensor& t : g.collection(name))
            if (t.node()->number < nodes) list.push_back(detail::reference_to(t.output()));
        if (!detail::is_utf8(name)) throw invalid_argument_error("to_json: the name of a collection is not UTF-8 text");
        text += (first ? "\n  " : ",\n  ") + detail::json_text(name) + ": " + detail::json_text(std::move(list));
        first = false;
    }
    return text + (first ? "}}\n" : "\n }}\n");
}

} // namespace tenon
