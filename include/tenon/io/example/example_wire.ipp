#pragma once

#include <tenon/io/example/example_wire.hpp>

namespace tenon::detail {

TENON_INLINE void write_varint(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
    to += static_cast<char>(value);
}
TENON_INLINE void write_tag(std::string& to, std::uint32_t field, wire_type type) {
    write_varint(to, field << 3 | static_cast<std::uint32_t>(type));
}
TENON_INLINE void write_field(std::string& to, std::uint32_t field, std::string_view bytes) {
    write_tag(to, field, wire_type::length);
    write_varint(to, bytes.size());
    to += bytes;
}

TENON_INLINE std::string wire_context::place() const {
    return feature.data() ? who + ": feature \"" + std::string(feature) + '"' : who;
}

TENON_INLINE void wire_reader::damaged(const std::string& how, std::size_t at) const {
    throw data_loss_error(in_->place() + ": these bytes are no " + in_->format + ": " + how + " (byte " +
                          std::to_string(at) + ")");
}

TENON_INLINE std::uint64_t wire_reader::long_varint() {
    const std::size_t begun = at();
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        if (next_ == end_) damaged("a number is cut off", begun);
        const auto byte = static_cast<unsigned char>(*next_++);
        if (shift == 63 && byte > 1) damaged("a number has more than 64 bits", begun);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

TENON_INLINE wire_tag wire_reader::tag() {
    const std::size_t begun = at();
    const std::uint64_t value = varint(), field = value >> 3;
    const auto type = static_cast<int>(value & 7);
    if (field == 0 || field >> 29 != 0) damaged("a field has the number " + std::to_string(field), begun);
    if (type == 3 || type == 4) damaged("a field is a group, which it does not have", begun);
    if (type > 5) damaged("a field is of wire type " + std::to_string(type) + ", which there is not", begun);
    return {static_cast<std::uint32_t>(field), static_cast<wire_type>(type)};
}

TENON_INLINE std::string_view wire_reader::take(std::uint64_t bytes) {
    const auto there = static_cast<std::size_t>(end_ - next_);
    if (bytes > there)
        damaged("a value of " + std::to_string(bytes) + " bytes begins where " + std::to_string(there) + " are left",
                at());
    const std::string_view taken(next_, static_cast<std::size_t>(bytes));
    next_ += bytes;
    return taken;
}
TENON_INLINE std::string_view wire_reader::length_delimited() { return take(varint()); }

TENON_INLINE void wire_reader::skip(wire_type t) {
    switch (t) {
    case wire_type::varint: varint(); break;
    case wire_type::fixed64: take(8); break;
    case wire_type::length: length_delimited(); break;
    case wire_type::fixed32: take(4); break;
    }
}

TENON_INLINE feature_kind kind_of(const feature_bytes& f, const wire_context& in, std::size_t& from) {
    feature_kind kind = feature_kind::none;
    from = 0;
    for (wire_reader r(f.message, f.at, in); r.more();) {
        const std::size_t here = r.at() - f.at;
        const wire_tag t = r.tag();
        if (t.type == wire_type::length && t.field <= 3 && static_cast<feature_kind>(t.field) != kind) {
            kind = static_cast<feature_kind>(t.field);
            from = here;
        }
        r.skip(t.type);
    }
    return kind;
}

} // namespace tenon::detail
