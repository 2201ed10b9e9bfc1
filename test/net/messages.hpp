#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <net/wire/frame.hpp>

/// Messages to test with, and what they are as bytes.

namespace net_test {

namespace tn = tenon;
using namespace tenon::net;

inline bytes to_bytes(std::string_view text) {
    bytes b(text.size());
    if (!text.empty()) std::memcpy(b.data(), text.data(), text.size());
    return b;
}
inline std::string to_text(const bytes& b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

/// Numbers first, first + 1, ...
inline tn::any_array numbers(std::int64_t count, std::int32_t first = 0) {
    tn::any_array a(tn::element_type::int32, {count});
    for (std::int64_t i = 0; i < count; ++i) a.data<std::int32_t>()[i] = first + static_cast<std::int32_t>(i);
    return a;
}

inline message note(std::string_view body, std::uint64_t sequence = 0) {
    return message{.type = message_type::note, .sequence = sequence, .body = to_bytes(body)};
}

template <class... Arrays> message note_with(std::string_view body, Arrays... arrays) {
    message m = note(body);
    (m.arrays.push_back(std::move(arrays)), ...);
    return m;
}

inline bool equal(const message& a, const message& b) {
    if (a.type != b.type || a.verb != b.verb || a.sequence != b.sequence || a.acknowledged != b.acknowledged ||
        a.request != b.request || a.body != b.body || a.arrays.size() != b.arrays.size())
        return false;
    for (std::size_t i = 0; i < a.arrays.size(); ++i) {
        const tn::any_array &x = a.arrays[i], &y = b.arrays[i];
        if (x.type() != y.type()) return false;
        if (x.element() == tn::element_type::string || !x) {
            if (x && !(x == y)) return false;
        } else if (x.bytes() > 0 && std::memcmp(x.data(), y.data(), x.bytes()) != 0) return false; // NaNs too
    }
    return true;
}

inline void append(bytes& to, const std::vector<std::span<const std::byte>>& pieces) {
    for (const auto piece : pieces) to.insert(to.end(), piece.begin(), piece.end());
}

/// All frames of a message, one after another.
inline bytes frames_of(message m, std::uint32_t stream = 0, std::size_t most_payload = std::size_t{1} << 20) {
    message_encoder e(std::move(m), stream, most_payload);
    bytes all;
    while (!e.ended()) {
        std::vector<std::span<const std::byte>> pieces;
        e.next_frame(pieces);
        append(all, pieces);
    }
    return all;
}

struct collector final : message_sink {
    std::vector<message> messages;
    bytes beside; // the stream, from where it has been read to
    void read_beside(std::span<std::byte> to) override {
        if (beside.size() < to.size()) return message_sink::read_beside(to);
        std::copy_n(beside.begin(), to.size(), to.begin());
        beside.erase(beside.begin(), beside.begin() + static_cast<std::ptrdiff_t>(to.size()));
    }
    message_limits most;
    message_limits limits() override { return most; }
    void received(message m) override { messages.push_back(std::move(m)); }
};

/// What bytes hold, given in pieces of so many.
inline std::vector<message> decoded(std::span<const std::byte> all, std::size_t piece = ~std::size_t{0}) {
    collector c;
    message_decoder d;
    for (; !all.empty(); all = all.subspan(std::min(piece, all.size())))
        d.push(all.first(std::min(piece, all.size())), c);
    return std::move(c.messages);
}

} // namespace net_test
