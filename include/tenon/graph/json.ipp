#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <queue>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/attribute.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/graph/json_parse.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon {

namespace detail {

// One mistake in a text, wherever it is; the reader adds the place.
[[noreturn]] inline void json_mistake(const std::string& words) { throw invalid_argument_error(words); }

template <class T> const T& json_get(const json_value& v, const char* wanted, const std::string& of) {
    if (const T* found = v.get<T>()) return *found;
    json_mistake(of + " must be " + wanted + ", not " + v.described());
}

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

inline tensor_type type_of_json(const json_value& v) {
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
    json_mistake("\"" + name + "\" is no instruction");
}

inline tape tape_of_json(const json_value& v) {
    tape t;
    const auto member = [&](const char* name, std::size_t most) -> const json_value::list& {
        static const json_value::list none;
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

inline attribute attribute_of_json(const json_value& v) {
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
        if (kind == "array") return std::make_shared<const any_array>(array_of_json(value));
        if (kind == "tape") return share_tape(tape_of_json(value));
        if (kind == "hex") return text_of_json(v);
    }
    json_mistake(
        "it must be an integer, a text, a list, or an object with one of number, element, shape, array, tape, hex, "
        "not " +
        v.described());
}

// How many letters must be changed, put in or taken out to make one name of the other.
inline std::size_t distance_of(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

inline const op_definition& op_of_json(const std::string& name) {
    if (const op_definition* op = find_op(name)) return *op;
    std::string similar;
    for (const op_definition* op : all_ops()) {
        const std::string other = op->name;
        if (name.size() < 64 &&
            (distance_of(name, other) <= 2 ||
             (name.size() > 2 && (other.find(name) != std::string::npos || name.find(other) != std::string::npos))))
            similar += (similar.empty() ? "; similar ones: " : ", ") + other;
    }
    json_mistake("op \"" + name + "\" is not known to this program" + similar +
                 "; include the header that defines it (Tenon's own: tenon/tenon.hpp) in one of the program's files");
}

class graph_reader {
public:
    explicit graph_reader(const std::string& text) : root_(parse_json(text, "graph JSON")) {}

    graph read() {
        try {
            read_header();
            list_nodes();
            find_edges();
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("graph JSON: " + std::string(e.what()));
        }
        for (const std::size_t n : order()) add(n);
        try {
            read_collections();
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("graph JSON: " + std::string(e.what()));
        }
        return graph_;
    }

private:
    struct entry {
        std::string name, op;
        const json_value* source = nullptr;
        std::vector<std::pair<std::size_t, int>> inputs; // entry, output
        std::vector<std::size_t> controls, colocated;
        std::vector<std::size_t> follows; // one, or none
        node* made = nullptr;
    };

    static void allow_only(const json_value& v, std::initializer_list<const char*> names, const std::string& of) {
        for (const json_member& m : *v.get<json_value::object>())
            if (std::none_of(names.begin(), names.end(), [&](const char* n) { return m.name == n; })) {
                std::string known;
                for (const char* n : names) known += (known.empty() ? "" : ", ") + std::string(n);
                json_mistake(of + " has no member \"" + m.name + "\"; there are " + known);
            }
    }

    void read_header() {
        (void)json_get<json_value::object>(root_, "an object", "a graph");
        const json_value* format = root_.find("format");
        if (!format || !format->get<std::string>() || *format->get<std::string>() != "tenon graph")
            json_mistake("it does not say \"format\": \"tenon graph\"");
        const json_value* version = root_.find("version");
        if (!version || !version->get<std::int64_t>() || *version->get<std::int64_t>() != graph_format_version)
            json_mistake("its version is " + (version ? version->described() : std::string("not given")) +
                         "; this program reads version " + std::to_string(graph_format_version));
        allow_only(root_, {"format", "version", "seed", "nodes", "collections"}, "a graph");
        if (const json_value* seed = root_.find("seed")) {
            if (const auto* i = seed->get<std::int64_t>(); i && *i >= 0)
                graph_.set_seed(static_cast<std::uint64_t>(*i));
            else graph_.set_seed(json_get<std::uint64_t>(*seed, "a number from 0", "\"seed\""));
        }
    }

    void list_nodes() {
        const json_value* nodes = root_.find("nodes");
        if (!nodes) json_mistake("it has no \"nodes\"");
        for (const json_value& v : json_get<json_value::list>(*nodes, "a list", "\"nodes\"")) {
            const std::string place = "node " + std::to_string(entries_.size());
            (void)json_get<json_value::object>(v, "an object", place);
            entry e;
            e.source = &v;
            const auto text = [&](const char* member, std::string& to) {
                const json_value* found = v.find(member);
                if (!found) json_mistake(place + " has no \"" + member + "\"");
                to = json_get<std::string>(*found, "a text", "\"" + std::string(member) + "\" of " + place);
                if (to.empty()) json_mistake("\"" + std::string(member) + "\" of " + place + " is empty");
            };
            text("name", e.name);
            text("op", e.op);
            allow_only(v,
                       {"name", "op", "inputs", "controls", "attributes", "colocated", "follows", "device", "container",
                        "outputs"},
                       "node \"" + e.name + "\"");
            if (!by_name_.emplace(e.name, entries_.size()).second)
                json_mistake("there are two nodes called \"" + e.name + "\"");
            entries_.push_back(std::move(e));
        }
    }

    // "name" or "name:1".
    std::pair<std::size_t, int> resolve(const json_value& v, const std::string& who) const {
        const std::string& text = json_get<std::string>(v, "a text", who);
        std::string name = text;
        int index = 0;
        const std::size_t colon = text.rfind(':');
        if (colon != std::string::npos && colon + 1 < text.size() && text.size() - colon <= 6 &&
            text.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
            name = text.substr(0, colon);
            index = std::stoi(text.substr(colon + 1));
        }
        const auto at = by_name_.find(name);
        if (at != by_name_.end()) return {at->second, index};
        std::string similar;
        int shown = 0;
        for (const entry& e : entries_)
            if (shown < 4 && e.name.size() < 64 && name.size() < 64 && distance_of(e.name, name) <= 2) {
                similar += (shown++ ? ", " : "; similar names: ") + e.name;
            }
        json_mistake(who + " is \"" + text + "\", but no node has this name" + similar);
    }

    void find_edges() {
        const auto each = [](const entry& e, const char* member, const auto& f) {
            if (const json_value* list = e.source->find(member))
                for (const json_value& v : json_get<json_value::list>(
                         *list, "a list", "\"" + std::string(member) + "\" of node \"" + e.name + "\""))
                    f(v);
        };
        for (entry& e : entries_) {
            each(e, "inputs", [&](const json_value& v) {
                e.inputs.push_back(
                    resolve(v, "input " + std::to_string(e.inputs.size()) + " of node \"" + e.name + "\""));
            });
            each(e, "controls", [&](const json_value& v) {
                e.controls.push_back(resolve(v, "a control input of node \"" + e.name + "\"").first);
            });
            each(e, "colocated", [&](const json_value& v) {
                e.colocated.push_back(resolve(v, "a node colocated with \"" + e.name + "\"").first);
            });
            if (const json_value* v = e.source->find("follows"))
                e.follows.push_back(resolve(*v, "the node that \"" + e.name + "\" follows").first);
        }
    }

    // Entries in the text's order, except where that would put one before its inputs.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> waiting(entries_.size());
        std::vector<std::vector<std::size_t>> after(entries_.size());
        for (std::size_t n = 0; n < entries_.size(); ++n) {
            for (const auto& [from, index] : entries_[n].inputs) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].controls) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].colocated) after[from].push_back(n), ++waiting[n];
            for (const std::size_t from : entries_[n].follows) after[from].push_back(n), ++waiting[n];
        }
        std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
        for (std::size_t n = 0; n < entries_.size(); ++n)
            if (waiting[n] == 0) ready.push(n);
        std::vector<std::size_t> result;
        while (!ready.empty()) {
            const std::size_t n = ready.top();
            ready.pop();
            result.push_back(n);
            for (const std::size_t next : after[n])
                if (--waiting[next] == 0) ready.push(next);
        }
        if (result.size() < entries_.size()) name_cycle(waiting);
        return result;
    }

    [[noreturn]] void name_cycle(const std::vector<std::size_t>& waiting) const {
        // From any entry that waits, backwards along what it waits for: the walk must come back to where it was.
        std::size_t n = 0;
        while (waiting[n] == 0) ++n;
        std::vector<std::size_t> path, seen_at(entries_.size(), SIZE_MAX);
        while (seen_at[n] == SIZE_MAX) {
            seen_at[n] = path.size();
            path.push_back(n);
            std::size_t next = SIZE_MAX;
            for (const auto& [from, index] : entries_[n].inputs)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].controls)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].colocated)
                if (waiting[from] > 0) next = from;
            for (const std::size_t from : entries_[n].follows)
                if (waiting[from] > 0) next = from;
            n = next;
        }
        std::string cycle = "\"" + entries_[n].name + "\"";
        constexpr std::size_t shown = 12;
        for (std::size_t at = path.size(), k = 0; at-- > seen_at[n]; ++k) {
            if (k == shown) cycle += " -> ...";
            if (k < shown || at == seen_at[n]) cycle += " -> \"" + entries_[path[at]].name + "\"";
        }
        throw invalid_argument_error("graph JSON: there is a cycle: " + cycle);
    }

    void add(std::size_t number) {
        entry& e = entries_[number];
        const auto place = [&] { return "graph JSON: node \"" + e.name + "\" (" + e.op + "): "; };
        try {
            node n;
            n.name = e.name;
            n.op = &op_of_json(e.op);
            for (const auto& [from, index] : e.inputs) {
                node* source = entries_[from].made;
                if (index >= static_cast<int>(source->outputs.size()))
                    json_mistake("it takes output " + std::to_string(index) + " of \"" + source->name +
                                 "\", which has " + std::to_string(source->outputs.size()));
                n.inputs.push_back({source, index});
            }
            for (const std::size_t from : e.controls) n.controls.push_back(entries_[from].made);
            for (const std::size_t from : e.colocated) n.colocated.push_back(entries_[from].made);
            for (const std::size_t from : e.follows) n.follows = entries_[from].made;
            if (const json_value* v = e.source->find("device"))
                n.device = json_get<std::string>(*v, "a text", "\"device\"");
            if (const json_value* v = e.source->find("container"))
                n.container = json_get<std::string>(*v, "a text", "\"container\"");
            read_attributes(e, n);
            e.made = restore_node(graph_, std::move(n));
            compare_outputs(e);
        } catch (const data_loss_error& x) {
            throw data_loss_error(place() + x.what());
        } catch (const invalid_argument_error& x) {
            throw invalid_argument_error(place() + x.what());
        }
    }

    static void read_attributes(const entry& e, node& n) {
        attributes given;
        const json_value* all = e.source->find("attributes");
        if (all)
            for (const json_member& m : json_get<json_value::object>(*all, "an object", "\"attributes\"")) {
                const auto words = [&](const std::exception& x) { return "attribute \"" + m.name + "\": " + x.what(); };
                try {
                    given.set(m.name.c_str(), attribute_of_json(m.value));
                } catch (const data_loss_error& x) {
                    throw data_loss_error(words(x));
                } catch (const invalid_argument_error& x) {
                    throw invalid_argument_error(words(x));
                }
            }
        if (!n.op->checked) {
            n.attributes = std::move(given);
            return;
        }
        n.attributes = n.op->checked(given);
        for (const auto& [name, v] : given)
            if (!n.attributes.find(name.c_str())) {
                std::string known;
                for (const auto& [k, x] : n.attributes) known += (known.empty() ? " it has " : ", ") + k;
                json_mistake("the op has no attribute \"" + name + "\";" + (known.empty() ? " it has none" : known));
            }
    }

    static void compare_outputs(const entry& e) {
        const json_value* stated = e.source->find("outputs");
        if (!stated) return;
        const auto& list = json_get<json_value::list>(*stated, "a list", "\"outputs\"");
        // A text may be older than variables' second output.
        const bool older = e.made->op->is(op_flags::variable) && list.size() == 1;
        if (list.size() != e.made->outputs.size() && !older)
            json_mistake("the text states " + std::to_string(list.size()) + " outputs, the op's rule gives " +
                         std::to_string(e.made->outputs.size()));
        for (std::size_t o = 0; o < list.size(); ++o) {
            const tensor_type t = type_of_json(list[o]);
            if (!(t == e.made->outputs[o]))
                json_mistake("the text states that output " + std::to_string(o) + " is " + to_string(t) +
                             ", the op's rule gives " + to_string(e.made->outputs[o]));
        }
    }

    void read_collections() {
        const json_value* all = root_.find("collections");
        if (!all) return;
        for (const auto& [name, members] : json_get<json_value::object>(*all, "an object", "\"collections\""))
            for (const json_value& v : json_get<json_value::list>(members, "a list", "collection \"" + name + "\"")) {
                const auto [from, index] = resolve(v, "a member of collection \"" + name + "\"");
                node* n = entries_[from].made;
                if (index > 0 && index >= static_cast<int>(n->outputs.size()))
                    json_mistake("collection \"" + name + "\" has output " + std::to_string(index) + " of \"" +
                                 n->name + "\", which has " + std::to_string(n->outputs.size()));
                graph_.add_to_collection(name, any_tensor({n, index}));
            }
    }

    json_value root_;
    graph graph_;
    std::vector<entry> entries_;
    std::unordered_map<std::string, std::size_t> by_name_;
};

} // namespace detail

TENON_INLINE graph graph_from_json(const std::string& text) { return detail::graph_reader(text).read(); }

} // namespace tenon
