#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/io/example/feature_kind.hpp>

/// The wire format of protocol buffers, as far as examples, event files and ONNX models need it: reading in place, and writing.

namespace tenon::detail {

enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };
struct wire_tag {
    std::uint32_t field = 0;
    wire_type type = wire_type::varint;
    bool is(std::uint32_t f, wire_type t) const noexcept { return field == f && type == t; }
};

void write_varint(std::string& to, std::uint64_t value);
void write_tag(std::string& to, std::uint32_t field, wire_type type);
/// A field of bytes that have a length: a text, a message, packed numbers.
void write_field(std::string& to, std::uint32_t field, std::string_view bytes);

/// What is being read, for messages, and what was put together on the way.
struct wire_context {
    std::string who;
    std::string_view feature = {}; // none yet
    std::deque<std::string> joined = {};
    const char* format = "example"; // what the bytes should be

    /// "who: feature "name""
    std::string place() const;
};

/// Reads a message, whose first byte is byte `at` of the whole. Throws data_loss_error for what is no message.
class wire_reader {
public:
    wire_reader(std::string_view bytes, std::size_t at, const wire_context& in) :
        in_(&in), at_(at), begin_(bytes.data()), next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    bool more() const noexcept { return next_ != end_; }
    std::size_t at() const noexcept { return at_ + static_cast<std::size_t>(next_ - begin_); }
    wire_tag tag();
    std::uint64_t varint() {
        if (next_ != end_ && static_cast<signed char>(*next_) >= 0) return static_cast<std::uint64_t>(*next_++);
        return long_varint();
    }
    std::string_view length_delimited();
    std::string_view fixed(std::uint64_t bytes) { return take(bytes); }
    void skip(wire_type t);
    [[noreturn]] void damaged(const std::string& how, std::size_t at) const;

private:
    std::uint64_t long_varint();
    std::string_view take(std::uint64_t bytes);

    const wire_context* in_;
    std::size_t at_; // of begin_
    const char *begin_, *next_, *end_;
};

/// A feature, or a list of features, where it lies.
struct feature_bytes {
    std::string_view message;
    std::size_t at = 0; ///< its first byte, in the whole
    bool found = false;
};

/// Calls f(name, feature_bytes) for each entry of the map that is field `field` of an example.
template <class F> void for_each_feature(std::string_view example, std::uint32_t field, wire_context& in, F&& f) {
    for (wire_reader whole(example, 0, in); whole.more();) {
        const wire_tag t = whole.tag();
        if (!t.is(field, wire_type::length)) {
            whole.skip(t.type);
            continue;
        }
        const std::string_view map = whole.length_delimited();
        for (wire_reader entries(map, whole.at() - map.size(), in); entries.more();) {
            const wire_tag e = entries.tag();
            if (!e.is(1, wire_type::length)) {
                entries.skip(e.type);
                continue;
            }
            const std::string_view entry = entries.length_delimited();
            std::string_view name;
            feature_bytes value{{}, entries.at(), true};
            for (wire_reader r(entry, entries.at() - entry.size(), in); r.more();) {
                const wire_tag part = r.tag();
                if (part.is(1, wire_type::length)) name = in.feature = r.length_delimited();
                else if (part.is(2, wire_type::length)) {
                    const std::string_view message = r.length_delimited();
                    // A message that comes in pieces is what the pieces say one after another.
                    if (value.message.empty()) value = {message, r.at() - message.size(), true};
                    else value.message = in.joined.emplace_back(std::string(value.message).append(message));
                } else r.skip(part.type);
            }
            f(name, value);
            in.feature = {};
        }
    }
}

/// Calls f(feature_bytes) for each feature of a list of features.
template <class F> void for_each_step(const feature_bytes& list, const wire_context& in, F&& f) {
    for (wire_reader r(list.message, list.at, in); r.more();) {
        const wire_tag t = r.tag();
        if (!t.is(1, wire_type::length)) {
            r.skip(t.type);
            continue;
        }
        const std::string_view message = r.length_delimited();
        f(feature_bytes{message, r.at() - message.size(), true});
    }
}

/// The kind of a feature: of several the last counts, and its lists are one. `from`: where the first of these begins.
feature_kind kind_of(const feature_bytes& f, const wire_context& in, std::size_t& from);

/// Gives the values of a feature, whose kind_of is `k`, to sink.bytes(text), sink.floats(raw bytes, how many) or
/// sink.int64(value).
template <class Sink>
void read_values(const feature_bytes& f, feature_kind k, std::size_t from, const wire_context& in, Sink& sink) {
    for (wire_reader lists(f.message.substr(from), f.at + from, in); lists.more();) {
        const wire_tag t = lists.tag();
        if (!t.is(static_cast<std::uint32_t>(k), wire_type::length)) {
            lists.skip(t.type);
            continue;
        }
        const std::string_view list = lists.length_delimited();
        for (wire_reader r(list, lists.at() - list.size(), in); r.more();) {
            const wire_tag v = r.tag();
            const std::size_t here = r.at();
            if (v.is(1, wire_type::length)) {
                const std::string_view values = r.length_delimited();
                if (k == feature_kind::bytes) sink.bytes(values);
                else if (k == feature_kind::floats) {
                    if (values.size() % 4 != 0)
                        r.damaged("floats take " + std::to_string(values.size()) + " bytes, which 4 do not divide",
                                  here);
                    sink.floats(values.data(), values.size() / 4);
                } else
                    for (wire_reader packed(values, r.at() - values.size(), in); packed.more();)
                        sink.int64(static_cast<std::int64_t>(packed.varint()));
            } else if (k == feature_kind::floats && v.is(1, wire_type::fixed32)) {
                const std::string_view four = r.fixed(4);
                sink.floats(four.data(), 1);
            } else if (k == feature_kind::int64s && v.is(1, wire_type::varint))
                sink.int64(static_cast<std::int64_t>(r.varint()));
            else r.skip(v.type);
        }
    }
}

/// Little-endian, as they are stored.
inline float stored_float(const char* four) noexcept {
    std::uint32_t bits = 0;
    for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<unsigned char>(four[i]);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/example/example_wire.ipp>
#endif
