#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include <tenon/core/with_element.hpp>
#include <tenon/graph/json_read.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon::detail {

inline element_type element_of_json(const json_value& v) {
    const std::string& name = json_get<std::string>(v, "the name of an element type", "an element type");
    for (int e = 0; e <= static_cast<int>(element_type::string); ++e)
        if (name == name_of(static_cast<element_type>(e))) return static_cast<element_type>(e);
    json_mistake("\"" + name + "\" is no element type");
}

// The names are those of the text: restore_node makes them the graph's own.
inline extents sizes_of_json(const json_value& v) {
    extents sizes;
    for (const json_value& e : json_get<json_value::list>(v, "a list of sizes", "a shape")) {
        if (e.is_null()) sizes.push_back(dynamic_extent);
        else if (const auto* name = e.get<std::string>()) {
            if (name->empty() || name->find('\0') != std::string::npos) json_mistake("a size has an empty name");
            sizes.push_back(extent::named(name->c_str()));
        } else if (const auto* n = e.get<std::int64_t>(); n && *n >= 0) sizes.push_back(extent(*n));
        else json_mistake("a size must be a number from 0, a name or null, not " + e.described());
    }
    if (sizes.overfull()) json_mistake("a shape has more than " + std::to_string(max_rank) + " sizes");
    if (!is_countable({element_type::uint8, sizes}))
        json_mistake("the sizes " + to_string(sizes) + " overflow: no tensor is that large");
    return sizes;
}

TENON_INLINE tensor_type type_of_json(const json_value& v) {
    const json_value *element = v.find("element"), *shape = v.find("shape");
    if (!element || !shape) json_mistake("a type must be {\"element\": ..., \"shape\": [...]}, not " + v.described());
    return {element_of_json(*element), sizes_of_json(*shape)};
}

inline int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

inline double number_of_json(const json_value& v) {
    if (const auto* d = v.get<double>()) return *d;
    if (const auto* i = v.get<std::int64_t>()) return static_cast<double>(*i);
    if (const auto* u = v.get<std::uint64_t>()) return static_cast<double>(*u);
    if (const auto* s = v.get<std::string>()) {
        if (*s == "inf") return std::numeric_limits<double>::infinity();
        if (*s == "-inf") return -std::numeric_limits<double>::infinity();
        if (*s == "nan") return std::numeric_limits<double>::quiet_NaN();
        std::uint64_t bits = 0;
        bool good = s->size() == 20 && s->starts_with("nan:");
        for (std::size_t i = 4; i < 20 && good; ++i) {
            const int digit = digit_of((*s)[i]);
            good = digit >= 0;
            bits = bits << 4 | static_cast<std::uint64_t>(digit);
        }
        if (good && std::isnan(std::bit_cast<double>(bits))) return std::bit_cast<double>(bits);
    }
    json_mistake("a number, \"inf\", \"-inf\" or \"nan\" is needed, not " + v.described());
}

inline std::string text_of_json(const json_value& v) {
    if (const auto* s = v.get<std::string>()) return *s;
    const json_value* hex = v.find("hex");
    const std::string* digits = hex ? hex->get<std::string>() : nullptr;
    if (!digits) json_mistake("a text is needed, not " + v.described());
    std::string text;
    for (std::size_t i = 0; i + 1 < digits->size(); i += 2) {
        const int high = digit_of((*digits)[i]), low = digit_of((*digits)[i + 1]);
        if (high < 0 || low < 0) break;
        text += static_cast<char>(high << 4 | low);
    }
    if (text.size() * 2 != digits->size()) json_mistake("\"hex\" must hold pairs of the digits 0-9 and a-f");
    return text;
}

template <class T> T element_value(const json_value& v) {
    if constexpr (std::is_same_v<T, std::string>) return text_of_json(v);
    else if constexpr (std::is_same_v<T, bool>) return json_get<bool>(v, "true or false", "an element");
    else if constexpr (std::is_integral_v<T>) {
        if (const auto* i = v.get<std::int64_t>())
            if (std::in_range<T>(*i)) return static_cast<T>(*i);
        if constexpr (std::is_same_v<T, std::uint64_t>)
            if (const auto* u = v.get<std::uint64_t>()) return *u;
        json_mistake(v.described() + " is no " + name_of(element_type_of<T>));
    } else {
        const double d = number_of_json(v);
        const T value = static_cast<T>(d);
        if (std::isfinite(d) && !std::isfinite(static_cast<double>(value)))
            json_mistake(v.described() + " is too large for " + name_of(element_type_of<T>));
        return value;
    }
}
template <> inline float element_value<float>(const json_value& v) {
    const double d = number_of_json(v);
    if (std::isfinite(d) && std::fabs(d) > static_cast<double>(std::numeric_limits<float>::max()))
        json_mistake(v.described() + " is too large for float");
    return static_cast<float>(d);
}

inline number exact_number_of_json(const json_value& v) {
    if (const auto* i = v.get<std::int64_t>()) return *i;
    if (const auto* u = v.get<std::uint64_t>()) return *u;
    return number_of_json(v);
}

inline any_array array_of_json(const json_value& v) {
    const tensor_type type = type_of_json(v);
    const json_value *values = v.find("values"), *bytes = v.find("base64");
    if (!values == !bytes) json_mistake("an array has either \"values\" or \"base64\"");
    const std::int64_t elements = checked_elements(type.element, type.extents);
    // What the text holds is counted before memory is taken.
    if (values) {
        const auto& list = json_get<json_value::list>(*values, "a list", "\"values\"");
        if (static_cast<std::int64_t>(list.size()) != elements)
            throw data_loss_error("an array of type " + to_string(type) + " has " + std::to_string(elements) +
                                  " elements, but there are " + std::to_string(list.size()) + " values");
        any_array a(type.element, type.extents);
        with_element(type.element, [&]<class T>(const T&) {
            T* to = static_cast<T*>(a.data());
            for (const json_value& e : list) *to++ = element_value<T>(e);
        });
        return a;
    }
    if (type.element == element_type::string) json_mistake("an array of strings has \"values\"");
    const std::string& text = json_get<std::string>(*bytes, "a text", "\"base64\"");
    const std::size_t size = static_cast<std::size_t>(elements) * size_of(type.element);
    const auto wrong = [&]() {
        throw data_loss_error("an array of type " + to_string(type) + " has " + std::to_string(size) +
                              " bytes, but its base64 text of " + std::to_string(text.size()) +
                              " characters does not hold them");
    };
    if (text.size() / 4 != size / 3 + (size % 3 != 0)) wrong();
    any_array a(type.element, type.extents);
    if (!from_base64(text, a.data(), size)) wrong();
    if (type.element == element_type::boolean) {
        const auto* p = static_cast<const unsigned char*>(a.data());
        for (std::size_t i = 0; i < size; ++i)
            if (p[i] > 1) json_mistake("byte " + std::to_string(i) + " of an array of bool is neither 0 nor 1");
    }
    swap_little_endian(a.data(), size, size_of(type.element));
    return a;
}

inline std::int16_t index_of_json(const json_value& v, const char* of) {
    const auto* i = v.get<std::int64_t>();
    if (!i || *i < 0 || *i > 0x7fff) json_mistake(std::string(of) + " must be a number from 0, not " + v.described());
    return static_cast<std::int16_t>(*i);
}

inline opcode opcode_of_json(const json_value& v) {
    const std::string& name = json_get<std::string>(v, "a name", "an instruction");
    for (int op = 0; op < opcode_count; ++op)
        if (name == info_of(static_cast<opcode>(op)).name) return static_cast<opcode>(op);
#define TENON_FORMER_NAME(was, is) \
    if (name == #was) return opcode::is;
#include <tenon/tape/instructions.inl>
    json_mistake("\"" + name + "\" is no instruction");
}

inline tape tape_of_json(const json_value& v) {
    tape t;
    const auto member = [&](const char* name, std::size_t most) -> const json_value::list& {
        static const auto& none = *new json_value::list;
        const json_value* found = v.find(name);
        if (!found) return none;
        const auto& list = json_get<json_value::list>(*found, "a list", "\"" + std::string(name) + "\" of a tape");
        if (list.size() > most)
            json_mistake("a tape has " + std::to_string(list.size()) + " " + name + ", at most " +
                         std::to_string(most) + " can be");
        return list;
    };
    for (const json_value& e : member("inputs", max_tape_inputs)) t.inputs[t.input_count++] = element_of_json(e);
    for (const json_value& e : member("constants", max_tape_inputs))
        t.constants[t.constant_count++] = element_of_json(e);
    for (const json_value& e : member("code", max_tape_length)) {
        const auto& line = json_get<json_value::list>(e, "a list", "an instruction");
        if (line.size() < 2) json_mistake("an instruction has a name, a type and operands");
        instruction& i = t.code[t.length++];
        i.op = opcode_of_json(line[0]);
        i.type = element_of_json(line[1]);
        const bool source = info_of(i.op).group == opcode_group::source;
        const std::size_t operands = source ? 1 : static_cast<std::size_t>(register_operands(i));
        if (line.size() != 2 + operands)
            json_mistake(std::string("instruction ") + info_of(i.op).name + " takes " + std::to_string(operands) +
                         " operands, not " + std::to_string(line.size() - 2));
        if (i.op == opcode::literal) {
            const number n = exact_number_of_json(line[2]);
            if (!n.fits(i.type))
                json_mistake("a literal of type " + std::string(name_of(i.type)) + " cannot be " + to_string(n));
            i.bits = n.bits_in(i.type);
        } else {
            i.a = index_of_json(line[2], "an operand");
            if (operands > 1) i.b = index_of_json(line[3], "an operand");
            if (operands > 2) i.c = index_of_json(line[4], "an operand");
        }
    }
    for (const json_value& e : member("outputs", max_tape_outputs)) {
        const auto& line = json_get<json_value::list>(e, "a list", "an output of a tape");
        if (line.size() != 2 && line.size() != 3)
            json_mistake("an output of a tape has a type, a register and an input it is like");
        tape_output& o = t.outputs[t.output_count++];
        o.type = element_of_json(line[0]);
        o.reg = index_of_json(line[1], "a register");
        if (line.size() == 3) o.like = index_of_json(line[2], "the input that an output is like");
    }
    if (const char* defect = tape_defect(t)) json_mistake(std::string("the tape is not sound: ") + defect);
    return t;
}

TENON_INLINE attribute attribute_of_json(const json_value& v) {
    if (const auto* i = v.get<std::int64_t>()) return *i;
    if (const bool* b = v.get<bool>()) return std::int64_t{*b};
    if (const auto* d = v.get<double>()) return *d;
    if (const auto* s = v.get<std::string>()) return *s;
    if (const auto* list = v.get<json_value::list>()) {
        std::vector<std::int64_t> numbers;
        for (const json_value& e : *list)
            numbers.push_back(json_get<std::int64_t>(e, "an integer", "an element of a list"));
        return numbers;
    }
    const auto* object = v.get<json_value::object>();
    if (object && object->size() == 1) {
        const auto& [kind, value] = object->front();
        if (kind == "number") return attribute_of(exact_number_of_json(value));
        if (kind == "element") return element_of_json(value);
        if (kind == "shape") return sizes_of_json(value);
        if (kind == "types") {
            std::vector<tensor_type> types;
            for (const json_value& t : json_get<json_value::list>(value, "a list of types", "\"types\""))
                types.push_back(type_of_json(t));
            return types;
        }
        if (kind == "array") return std::make_shared<const any_array>(array_of_json(value));
        if (kind == "tape") return share_tape(tape_of_json(value));
        if (kind == "hex") return text_of_json(v);
    }
    json_mistake(
        "it must be an integer, a text, a list, or an object with one of number, element, shape, types, array, "
        "tape, hex, not " +
        v.described());
}

} // namespace tenon::detail
