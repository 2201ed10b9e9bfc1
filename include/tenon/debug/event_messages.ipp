#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include <tenon/core/with_element.hpp>
#include <tenon/debug/event_messages.hpp>
#include <tenon/io/example/example_wire.hpp>
#include <tenon/io/json/json_value.hpp>
#include <tenon/io/records/tfrecord.hpp>

namespace tenon::detail {

TENON_INLINE wire_message& wire_message::number(std::uint32_t field, std::int64_t value) {
    write_tag(all_, field, wire_type::varint);
    write_varint(all_, static_cast<std::uint64_t>(value));
    return *this;
}

template <class Bits> void put_fixed(std::string& to, Bits bits) {
    char bytes[sizeof bits];
    put_little_endian(bits, bytes);
    to.append(bytes, sizeof bytes);
}

TENON_INLINE wire_message& wire_message::real(std::uint32_t field, double value) {
    write_tag(all_, field, wire_type::fixed64);
    put_fixed(all_, std::bit_cast<std::uint64_t>(value));
    return *this;
}
TENON_INLINE wire_message& wire_message::real(std::uint32_t field, float value) {
    write_tag(all_, field, wire_type::fixed32);
    put_fixed(all_, std::bit_cast<std::uint32_t>(value));
    return *this;
}
TENON_INLINE wire_message& wire_message::bytes(std::uint32_t field, std::string_view value) {
    write_field(all_, field, value);
    return *this;
}
TENON_INLINE wire_message& wire_message::text(std::uint32_t field, std::string_view value) {
    std::string t(value);
    if (!is_utf8(t))
        for (char& c : t)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    return bytes(field, t);
}

TENON_INLINE wire_message event_at(double seconds, std::int64_t step) {
    return std::move(wire_message().real(1, seconds).number(2, step));
}

// Summary, of one value: what it is, in this field.
inline wire_message summary_of(std::string_view tag, wire_message&& value) {
    return std::move(wire_message().message(1, value.text(1, tag)));
}

// DataType of framework/types.proto.
inline std::int64_t data_type_of(element_type t) {
    switch (t) {
    case element_type::none: break;
    case element_type::float32: return 1;
    case element_type::float64: return 2;
    case element_type::float16: return 19;
    case element_type::bfloat16: return 14;
    case element_type::int8: return 6;
    case element_type::int16: return 5;
    case element_type::int32: return 3;
    case element_type::int64: return 9;
    case element_type::uint8: return 4;
    case element_type::uint16: return 17;
    case element_type::uint32: return 22;
    case element_type::uint64: return 23;
    case element_type::boolean: return 10;
    case element_type::string: return 7;
    }
    return 0;
}

// Buckets have numbers: 0 is what is smaller than 1e-12, on each side of it they grow by a tenth.
inline constexpr double least_of_histogram = 1e-12;
inline double end_of_bucket(int k) {
    const double size = least_of_histogram * std::pow(1.1, k < 0 ? -k - 1 : k);
    return std::copysign(std::min(size, std::numeric_limits<double>::max()), k < 0 ? -1.0 : 1.0);
}
inline int bucket_of(double value) {
    const double size = std::fabs(value);
    if (size < least_of_histogram) return 0;
    const double grown = (std::log(size) - std::log(least_of_histogram)) / std::log(1.1);
    return value > 0 ? static_cast<int>(std::floor(grown)) + 1 : -std::max(static_cast<int>(std::ceil(grown)), 1);
}

TENON_INLINE wire_message scalar_summary(std::string_view tag, float value) {
    return summary_of(tag, std::move(wire_message().real(2, value)));
}

TENON_INLINE wire_message histogram_summary(std::string_view tag, const any_array& values) {
    double least = 0, most = 0, count = 0, sum = 0, squares = 0;
    std::map<int, double> buckets; // how many, by number
    with_element(values.element(), [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>)
            for (std::int64_t i = 0; i < values.elements(); ++i) {
                const auto v = static_cast<double>(static_cast<const T*>(values.data())[i]);
                if (!std::isfinite(v)) continue;
                least = count == 0 ? v : std::min(least, v);
                most = count == 0 ? v : std::max(most, v);
                ++count;
                sum += v;
                squares += v * v;
                ++buckets[bucket_of(v)];
            }
    });
    // A bucket reaches from the limit of the one before it: where that is empty, and left out, it has to be there.
    std::string limits, counts;
    const auto put = [&](double limit, double n) {
        put_fixed(limits, std::bit_cast<std::uint64_t>(limit));
        put_fixed(counts, std::bit_cast<std::uint64_t>(n));
    };
    int before = 0;
    for (const auto& [k, n] : buckets) {
        if (limits.empty() || before < k - 1) put(end_of_bucket(k - 1), 0);
        put(end_of_bucket(k), n);
        before = k;
    }
    wire_message histogram;
    histogram.real(1, least)
        .real(2, most)
        .real(3, count)
        .real(4, sum)
        .real(5, squares)
        .bytes(6, limits)
        .bytes(7, counts);
    return summary_of(tag, std::move(wire_message().message(5, histogram)));
}

TENON_INLINE wire_message image_summary(std::string_view tag, std::int64_t height, std::int64_t width,
                                        std::int64_t channels, std::string_view png) {
    wire_message image;
    image.number(1, height).number(2, width).number(3, channels).bytes(4, png);
    return summary_of(tag, std::move(wire_message().message(4, image)));
}

TENON_INLINE wire_message text_summary(std::string_view tag, std::string_view text) {
    wire_message tensor, plugin, metadata;
    tensor.number(1, data_type_of(element_type::string)).message(2, {}).text(8, text);
    plugin.text(1, "text");
    metadata.message(1, plugin).number(4, 2); // of DataClass: tensors
    return summary_of(tag, std::move(wire_message().message(8, tensor).message(9, metadata)));
}

TENON_INLINE std::string graph_message(const graph& g) {
    wire_message all;
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const node& n = *g.at(i);
        wire_message m;
        m.text(1, n.name).text(2, shown_op(n));
        for (const node_output& in : n.inputs)
            m.text(3, in.index == 0 ? in.node->name : in.node->name + ":" + std::to_string(in.index));
        for (const node* before : n.controls) m.text(3, "^" + before->name);
        m.text(4, to_string(n.device));
        wire_message shapes;
        for (const tensor_type& t : n.outputs) {
            wire_message shape;
            for (int d = 0; d < t.extents.rank(); ++d)
                shape.message(2, wire_message().number(1, t.extents[d].size >= 0 ? t.extents[d].size : -1));
            shapes.message(7, shape);
        }
        m.message(5, wire_message().text(1, "_output_shapes").message(2, wire_message().message(1, shapes)));
        if (!n.outputs.empty())
            m.message(5, wire_message()
                             .text(1, "dtype")
                             .message(2, wire_message().number(6, data_type_of(n.outputs[0].element))));
        all.message(1, m);
    }
    all.message(4, wire_message().number(1, 27)); // versions: who makes it
    return all.str();
}

} // namespace tenon::detail
