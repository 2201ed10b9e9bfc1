#pragma once

#include <bit>
#include <cstring>
#include <limits>

#include <tenon/core/with_element.hpp>
#include <tenon/io/example/example_wire.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/numpy/elements.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>

namespace tenon::detail::onnx {

TENON_INLINE element_type element_of(std::int64_t data_type) noexcept {
    constexpr element_type types[] = {
        element_type::none,    element_type::float32, element_type::uint8,  element_type::int8,   element_type::uint16,
        element_type::int16,   element_type::int32,   element_type::int64,  element_type::string, element_type::boolean,
        element_type::float16, element_type::float64, element_type::uint32, element_type::uint64, element_type::none,
        element_type::none,    element_type::bfloat16};
    return data_type > 0 && data_type <= 16 ? types[data_type] : element_type::none;
}
TENON_INLINE std::int64_t data_type_of(element_type e) noexcept {
    for (std::int64_t t = 1; t <= 16; ++t)
        if (element_of(t) == e) return t;
    return 0;
}

// A field's message, read from where it lies.
struct nested {
    std::string_view bytes;
    std::size_t at;
};
inline nested message_of(wire_reader& r) {
    const std::string_view bytes = r.length_delimited();
    return {bytes, r.at() - bytes.size()};
}
inline std::string text_of(wire_reader& r) { return std::string(r.length_delimited()); }

inline float float_of(std::string_view four) { return stored_float(four.data()); }

// Numbers that are packed, or one.
template <class F> void each_varint(wire_reader& r, wire_tag t, const wire_context& in, F&& f) {
    if (t.type == wire_type::varint) f(static_cast<std::int64_t>(r.varint()));
    else if (t.type == wire_type::length) {
        const nested m = message_of(r);
        for (wire_reader packed(m.bytes, m.at, in); packed.more();) f(static_cast<std::int64_t>(packed.varint()));
    } else r.skip(t.type);
}

// The deepest that graphs of attributes lie within each other.
inline constexpr int max_nested_graphs = 32;

inline graph_message read_graph(nested m, const wire_context& in, int depth);

inline tensor_message read_named_tensor(nested m, const wire_context& in) {
    tensor_message t{{}, m.bytes, m.at};
    for (wire_reader r(m.bytes, m.at, in); r.more();) {
        const wire_tag tag = r.tag();
        if (tag.is(8, wire_type::length)) t.name = text_of(r);
        else r.skip(tag.type);
    }
    return t;
}

inline attribute_message read_attribute(nested m, const wire_context& in, int depth) {
    attribute_message a;
    for (wire_reader r(m.bytes, m.at, in); r.more();) {
        const wire_tag t = r.tag();
        if (t.is(1, wire_type::length)) a.name = text_of(r);
        else if (t.is(2, wire_type::fixed32)) a.f = float_of(r.fixed(4));
        else if (t.is(3, wire_type::varint)) a.i = static_cast<std::int64_t>(r.varint());
        else if (t.is(4, wire_type::length)) a.s = text_of(r);
        else if (t.is(5, wire_type::length)) a.t = read_named_tensor(message_of(r), in);
        else if (t.is(6, wire_type::length))
            a.g = std::make_shared<graph_message>(read_graph(message_of(r), in, depth + 1));
        else if (t.is(7, wire_type::fixed32)) a.floats.push_back(float_of(r.fixed(4)));
        else if (t.is(7, wire_type::length)) {
            const nested packed = message_of(r);
            wire_reader numbers(packed.bytes, packed.at, in);
            while (numbers.more()) a.floats.push_back(float_of(numbers.fixed(4)));
        } else if (t.field == 8) each_varint(r, t, in, [&](std::int64_t i) { a.ints.push_back(i); });
        else if (t.is(9, wire_type::length)) a.strings.push_back(text_of(r));
        else if (t.is(20, wire_type::varint)) a.type = static_cast<std::int64_t>(r.varint());
        else if (t.is(21, wire_type::length)) a.of = text_of(r);
        else r.skip(t.type);
    }
    return a;
}

inline node_message read_node(nested m, const wire_context& in, int depth) {
    node_message n;
    for (wire_reader r(m.bytes, m.at, in); r.more();) {
        const wire_tag t = r.tag();
        if (t.is(1, wire_type::length)) n.inputs.push_back(text_of(r));
        else if (t.is(2, wire_type::length)) n.outputs.push_back(text_of(r));
        else if (t.is(3, wire_type::length)) n.name = text_of(r);
        else if (t.is(4, wire_type::length)) n.op = text_of(r);
        else if (t.is(5, wire_type::length)) n.attributes.push_back(read_attribute(message_of(r), in, depth));
        else if (t.is(7, wire_type::length)) n.domain = text_of(r);
        else r.skip(t.type);
    }
    return n;
}

inline value_message read_value(nested m, const wire_context& in) {
    value_message v;
    // Calls f(message) for each field of that number.
    const auto each = [&](nested of, std::uint32_t field, auto&& f) {
        for (wire_reader r(of.bytes, of.at, in); r.more();) {
            const wire_tag t = r.tag();
            if (t.is(field, wire_type::length)) f(message_of(r));
            else r.skip(t.type);
        }
    };
    each(m, 1, [&](nested name) { v.name = std::string(name.bytes); });
    each(m, 2, [&](nested type) {
        each(type, 1, [&](nested tensor) {
            for (wire_reader r(tensor.bytes, tensor.at, in); r.more();) {
                const wire_tag t = r.tag();
                if (t.is(1, wire_type::varint)) v.data_type = static_cast<std::int64_t>(r.varint());
                else r.skip(t.type);
            }
            each(tensor, 2, [&](nested shape) {
                v.has_sizes = true;
                each(shape, 1, [&](nested dim) {
                    value_message::size s;
                    for (wire_reader r(dim.bytes, dim.at, in); r.more();) {
                        const wire_tag t = r.tag();
                        if (t.is(1, wire_type::varint)) s.number = static_cast<std::int64_t>(r.varint());
                        else if (t.is(2, wire_type::length)) s.name = text_of(r);
                        else r.skip(t.type);
                    }
                    v.sizes.push_back(std::move(s));
                });
            });
        });
    });
    return v;
}

inline graph_message read_graph(nested m, const wire_context& in, int depth) {
    if (depth > max_nested_graphs)
        throw invalid_argument_error(in.who + ": graphs lie within each other more than " +
                                     std::to_string(max_nested_graphs) + " deep (byte " + std::to_string(m.at) + ")");
    graph_message g;
    for (wire_reader r(m.bytes, m.at, in); r.more();) {
        const wire_tag t = r.tag();
        if (t.is(1, wire_type::length)) g.nodes.push_back(read_node(message_of(r), in, depth));
        else if (t.is(2, wire_type::length)) g.name = text_of(r);
        else if (t.is(5, wire_type::length)) g.initializers.push_back(read_named_tensor(message_of(r), in));
        else if (t.is(11, wire_type::length)) g.inputs.push_back(read_value(message_of(r), in));
        else if (t.is(12, wire_type::length)) g.outputs.push_back(read_value(message_of(r), in));
        else {
            g.sparse = g.sparse || t.is(15, wire_type::length);
            r.skip(t.type);
        }
    }
    return g;
}

// An operator set: the version of ONNX's own operators, where it is theirs.
inline void read_opset(nested m, const wire_context& in, std::int64_t& own) {
    std::string domain;
    std::int64_t version = 0;
    for (wire_reader s(m.bytes, m.at, in); s.more();) {
        const wire_tag f = s.tag();
        if (f.is(1, wire_type::length)) domain = text_of(s);
        else if (f.is(2, wire_type::varint)) version = static_cast<std::int64_t>(s.varint());
        else s.skip(f.type);
    }
    if (domain.empty() || domain == "ai.onnx") own = version;
}

inline function_message read_function(nested m, const wire_context& in) {
    function_message f;
    for (wire_reader r(m.bytes, m.at, in); r.more();) {
        const wire_tag t = r.tag();
        if (t.is(1, wire_type::length)) f.name = text_of(r);
        else if (t.is(4, wire_type::length)) f.inputs.push_back(text_of(r));
        else if (t.is(5, wire_type::length)) f.outputs.push_back(text_of(r));
        else if (t.is(7, wire_type::length)) f.nodes.push_back(read_node(message_of(r), in, 1));
        else if (t.is(9, wire_type::length)) read_opset(message_of(r), in, f.opset);
        else if (t.is(10, wire_type::length)) f.domain = text_of(r);
        else if (t.is(11, wire_type::length)) f.otherwise.push_back(read_attribute(message_of(r), in, 1));
        else r.skip(t.type);
    }
    return f;
}

TENON_INLINE model_message read_model(std::string_view bytes, const std::string& who) {
    wire_context in{who};
    in.format = "ONNX model";
    model_message model;
    bool found = false;
    for (wire_reader r(bytes, 0, in); r.more();) {
        const wire_tag t = r.tag();
        if (t.is(1, wire_type::varint)) model.ir_version = static_cast<std::int64_t>(r.varint());
        else if (t.is(2, wire_type::length)) model.producer = text_of(r);
        else if (t.is(7, wire_type::length)) {
            model.graph = read_graph(message_of(r), in, 0);
            found = true;
        } else if (t.is(8, wire_type::length)) read_opset(message_of(r), in, model.opset);
        else if (t.is(25, wire_type::length)) model.functions.push_back(read_function(message_of(r), in));
        else r.skip(t.type);
    }
    if (!found) throw data_loss_error(who + ": these bytes are no ONNX model: there is no graph in them");
    return model;
}

// The part of a file beside the model where a tensor's elements are.
inline std::string external_bytes(const std::vector<std::pair<std::string, std::string>>& entries, std::uint64_t wanted,
                                  const std::string& what, const std::string& folder) {
    std::string location;
    std::uint64_t offset = 0, length = wanted;
    const auto number = [&](const std::string& key, const std::string& text) {
        std::uint64_t n = 0;
        for (const char c : text) {
            if (c < '0' || c > '9' || n > std::numeric_limits<std::uint64_t>::max() / 16)
                throw data_loss_error(what + ": its " + key + " in another file is \"" + text + "\", no number");
            n = n * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return n;
    };
    for (const auto& [key, value] : entries) {
        if (key == "location") location = value;
        else if (key == "offset") offset = number(key, value);
        else if (key == "length") length = number(key, value);
    }
    if (folder.empty())
        throw unimplemented_error(what + ": its elements are in the file \"" + location +
                                  "\" beside the model, which is read from memory; read_onnx(path) finds it");
    if (location.empty() || location[0] == '/' || ("/" + location + "/").find("/../") != std::string::npos)
        throw invalid_argument_error(what + ": its elements are in the file \"" + location +
                                     "\", which is not in the model's folder; it is not read");
    if (length != wanted)
        throw data_loss_error(what + ": it has " + std::to_string(length) + " bytes in the file \"" + location +
                              "\", of which its sizes need " + std::to_string(wanted));
    const mapped_file file("read_onnx", folder + "/" + location);
    if (offset > file.size() || length > file.size() - offset)
        throw data_loss_error(what + ": bytes " + std::to_string(offset) + " to " + std::to_string(offset + length) +
                              " of the file \"" + location + "\" are asked for, which has " +
                              std::to_string(file.size()));
    return std::string(reinterpret_cast<const char*>(file.data()) + offset, static_cast<std::size_t>(length));
}

TENON_INLINE any_array read_tensor(const tensor_message& t, const std::string& who, const std::string& folder) {
    wire_context in{who};
    in.format = "ONNX model";
    const std::string what = who + ": tensor \"" + t.name + '"';
    std::vector<std::int64_t> dims;
    std::int64_t data_type = 0;
    std::string_view raw, floats, doubles;
    bool has_raw = false;
    std::vector<std::int64_t> integers; // int32_data, int64_data, uint64_data
    std::vector<std::string_view> texts;
    std::string joined_floats, joined_doubles; // those that are not packed
    std::vector<std::pair<std::string, std::string>> external;
    bool is_external = false;
    for (wire_reader r(t.message, t.at, in); r.more();) {
        const wire_tag tag = r.tag();
        if (tag.field == 1) each_varint(r, tag, in, [&](std::int64_t d) { dims.push_back(d); });
        else if (tag.is(2, wire_type::varint)) data_type = static_cast<std::int64_t>(r.varint());
        else if (tag.is(4, wire_type::length)) joined_floats += r.length_delimited();
        else if (tag.is(4, wire_type::fixed32)) joined_floats += r.fixed(4);
        else if (tag.field == 5 || tag.field == 7 || tag.field == 11)
            each_varint(r, tag, in, [&](std::int64_t i) { integers.push_back(i); });
        else if (tag.is(6, wire_type::length)) texts.push_back(r.length_delimited());
        else if (tag.is(9, wire_type::length)) {
            raw = r.length_delimited();
            has_raw = true;
        } else if (tag.is(10, wire_type::length)) joined_doubles += r.length_delimited();
        else if (tag.is(10, wire_type::fixed64)) joined_doubles += r.fixed(8);
        else if (tag.is(13, wire_type::length)) {
            const nested entry = message_of(r);
            std::pair<std::string, std::string> e;
            for (wire_reader s(entry.bytes, entry.at, in); s.more();) {
                const wire_tag f = s.tag();
                if (f.is(1, wire_type::length)) e.first = text_of(s);
                else if (f.is(2, wire_type::length)) e.second = text_of(s);
                else s.skip(f.type);
            }
            external.push_back(std::move(e));
        } else if (tag.is(14, wire_type::varint)) is_external = r.varint() == 1;
        else r.skip(tag.type);
    }
    floats = joined_floats;
    doubles = joined_doubles;

    const element_type e = element_of(data_type);
    if (e == element_type::none)
        throw unimplemented_error(what + ": its elements are of ONNX's data type " + std::to_string(data_type) +
                                  ", which tensors here do not have");
    if (dims.size() > max_rank)
        throw unimplemented_error(what + ": it has " + std::to_string(dims.size()) + " dimensions; 8 are the most");
    extents sizes;
    for (const std::int64_t d : dims) {
        if (d < 0) throw data_loss_error(what + ": a size is " + std::to_string(d));
        sizes.push_back(d);
    }
    const tensor_type type{e, sizes};
    if (!is_countable(type)) throw data_loss_error(what + ": its sizes " + to_string(sizes) + " are too large");
    const std::int64_t n = sizes.elements();
    const auto wanted = static_cast<std::uint64_t>(n) * size_of(e);
    const auto complain = [&](std::uint64_t there, const char* unit, std::uint64_t needed) {
        throw data_loss_error(what + ": " + to_string(type) + " needs " + std::to_string(needed) + " " + unit +
                              "; there are " + std::to_string(there));
    };
    std::string beside;
    if (is_external && e != element_type::string) {
        beside = external_bytes(external, wanted, what, folder);
        raw = beside;
        has_raw = true;
    }
    if (e == element_type::string) {
        if (texts.size() != static_cast<std::uint64_t>(n))
            complain(texts.size(), "texts", static_cast<std::uint64_t>(n));
        any_array a(e, sizes);
        for (std::size_t i = 0; i < texts.size(); ++i) a.data<std::string>()[i] = std::string(texts[i]);
        return a;
    }
    const std::string_view packed = has_raw ? raw : e == element_type::float32 ? floats : doubles;
    if (has_raw || e == element_type::float32 || e == element_type::float64) {
        if (packed.size() != wanted) complain(packed.size(), "bytes", wanted);
        any_array a(e, sizes);
        if (wanted > 0) std::memcpy(a.data(), packed.data(), packed.size());
        if (e == element_type::boolean)
            for (std::int64_t i = 0; i < n; ++i) {
                auto* const byte = static_cast<unsigned char*>(a.data()) + i;
                *byte = *byte != 0;
            }
        if constexpr (std::endian::native == std::endian::big) swap_bytes(a);
        return a;
    }
    if (integers.size() != static_cast<std::uint64_t>(n))
        complain(integers.size(), "numbers", static_cast<std::uint64_t>(n));
    any_array a(e, sizes);
    with_element(e, [&]<class T>(const T&) {
        T* const to = static_cast<T*>(a.data());
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t v = integers[static_cast<std::size_t>(i)];
            if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
                to[i] = T::from_bits(static_cast<std::uint16_t>(v));
            else if constexpr (std::is_same_v<T, bool>) to[i] = v != 0;
            else if constexpr (std::is_integral_v<T>) to[i] = static_cast<T>(v);
        }
    });
    return a;
}

TENON_INLINE std::string tensor_bytes(const std::string& name, const any_array& a) {
    std::string t;
    for (const extent& d : a.extents()) {
        write_tag(t, 1, wire_type::varint);
        write_varint(t, static_cast<std::uint64_t>(d.size));
    }
    write_tag(t, 2, wire_type::varint);
    write_varint(t, static_cast<std::uint64_t>(data_type_of(a.element())));
    if (a.element() == element_type::string)
        for (std::int64_t i = 0; i < a.elements(); ++i) write_field(t, 6, a.data<std::string>()[i]);
    write_field(t, 8, name);
    if (a.element() != element_type::string) {
        any_array stored = a.share();
        if constexpr (std::endian::native == std::endian::big) {
            stored = a.copy();
            swap_bytes(stored);
        }
        write_field(t, 9, {static_cast<const char*>(stored.data()), stored.bytes()});
    }
    return t;
}

} // namespace tenon::detail::onnx
