#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <tenon/core/xxh64.hpp>

namespace tenon::detail {

namespace xxh64_steps {
inline constexpr std::uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu, p3 = 0x165667b19e3779f9u,
                               p4 = 0x85ebca77c2b2ae63u, p5 = 0x27d4eb2f165667c5u;

// The next bytes as a little-endian number.
template <class T> std::uint64_t number_at(const unsigned char* at) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        T v;
        std::memcpy(&v, at, sizeof v);
        return v;
    } else {
        std::uint64_t v = 0;
        for (std::size_t i = sizeof(T); i-- > 0;) v = v << 8 | at[i];
        return v;
    }
}
inline std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
    return std::rotl(lane + input * p2, 31) * p1;
}
} // namespace xxh64_steps

TENON_INLINE void xxh64_hasher::take_stripe(const unsigned char* at) noexcept {
    for (std::size_t i = 0; i < 4; ++i)
        lanes_[i] = xxh64_steps::round(lanes_[i], xxh64_steps::number_at<std::uint64_t>(at + 8 * i));
}

TENON_INLINE void xxh64_hasher::add(const void* from, std::size_t bytes) noexcept {
    const auto* at = static_cast<const unsigned char*>(from);
    const auto kept = static_cast<std::size_t>(bytes_ % 32);
    bytes_ += bytes;
    if (kept > 0) {
        const std::size_t taken = std::min(bytes, 32 - kept);
        std::copy_n(at, taken, rest_ + kept);
        at += taken;
        bytes -= taken;
        if (kept + taken < 32) return;
        take_stripe(rest_);
    }
    for (; bytes >= 32; at += 32, bytes -= 32) take_stripe(at);
    std::copy_n(at, bytes, rest_);
}

TENON_INLINE std::uint64_t xxh64_hasher::value() const noexcept {
    using namespace xxh64_steps;
    std::uint64_t h = p5;
    if (bytes_ >= 32) {
        h = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
        for (const std::uint64_t lane : lanes_) h = (h ^ round(0, lane)) * p1 + p4;
    }
    h += bytes_;
    const unsigned char* at = rest_;
    auto left = static_cast<std::size_t>(bytes_ % 32);
    for (; left >= 8; at += 8, left -= 8) h = std::rotl(h ^ round(0, number_at<std::uint64_t>(at)), 27) * p1 + p4;
    if (left >= 4) {
        h = std::rotl(h ^ number_at<std::uint32_t>(at) * p1, 23) * p2 + p3;
        at += 4;
        left -= 4;
    }
    for (; left > 0; ++at, --left) h = std::rotl(h ^ *at * p5, 11) * p1;
    h = (h ^ h >> 33) * p2;
    h = (h ^ h >> 29) * p3;
    return h ^ h >> 32;
}

TENON_INLINE std::uint64_t xxh64(std::string_view bytes) noexcept {
    xxh64_hasher h;
    h.add(bytes.data(), bytes.size());
    return h.value();
}

TENON_INLINE std::string text_of_xxh64(std::uint64_t hash) {
    std::string text = "xxh64:";
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 15];
    return text;
}

TENON_INLINE bool xxh64_of_text(std::string_view text, std::uint64_t& hash) noexcept {
    constexpr std::string_view digits = "0123456789abcdef", kind = "xxh64:";
    if (!text.starts_with(kind) || text.size() != kind.size() + 16) return false;
    std::uint64_t found = 0;
    for (const char c : text.substr(kind.size())) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) return false;
        found = found << 4 | digit;
    }
    hash = found;
    return true;
}

} // namespace tenon::detail
