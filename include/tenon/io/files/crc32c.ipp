#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

#include <tenon/io/files/crc32c.hpp>

namespace tenon {

namespace detail {

inline constexpr std::uint32_t crc32c_polynomial = 0x82F63B78; // bits from low to high

// Table k gives what a byte becomes when k more bytes have followed it: eight bytes are eight look-ups.
inline constexpr auto crc32c_tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t r = i;
        for (int bit = 0; bit < 8; ++bit) r = r >> 1 ^ (r & 1 ? crc32c_polynomial : 0);
        t[0][i] = r;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xFF];
    return t;
}();

inline std::uint64_t eight_bytes(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) inline std::uint32_t crc32c_by_instruction(std::span<const std::byte> of,
                                                                             std::uint32_t before) noexcept {
    std::uint64_t sum = ~before;
    const std::byte* at = of.data();
    std::size_t left = of.size();
    for (; left >= 8; left -= 8, at += 8) sum = _mm_crc32_u64(sum, eight_bytes(at));
    auto last = static_cast<std::uint32_t>(sum);
    for (; left > 0; --left, ++at) last = _mm_crc32_u8(last, static_cast<std::uint8_t>(*at));
    return ~last;
}

// Entry i is x^(64 i - 33) modulo the polynomial. A product without carries of a checksum and it is what the crc32 instruction,
// which multiplies by x^32 and takes the remainder, makes the checksum of as much with i zero words behind it: the bits of
// the product lie one place lower than those of a word.
inline constexpr std::size_t crc32c_longest_third = 128; // words
inline constexpr auto crc32c_shifts = [] {
    std::array<std::uint32_t, 2 * crc32c_longest_third + 1> t{};
    t[1] = 1; // x^31
    for (std::size_t i = 2; i < t.size(); ++i) {
        t[i] = t[i - 1];
        for (int bit = 0; bit < 64; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? crc32c_polynomial : 0);
    }
    return t;
}();

// An instruction can begin each cycle but takes three: three thirds of a piece go side by side.
__attribute__((target("sse4.2,pclmul"))) inline std::uint32_t crc32c_by_thirds(std::span<const std::byte> of,
                                                                               std::uint32_t before) noexcept {
    std::uint64_t sum = ~before;
    const std::byte* at = of.data();
    std::size_t left = of.size();
    while (left >= 120) { // below, putting them together takes longer than it saves
        const std::size_t words = std::min(left / 24, crc32c_longest_third);
        const std::byte *const second = at + 8 * words, *const third = second + 8 * words;
        std::uint64_t b = 0, c = 0;
        for (std::size_t i = 0; i < 8 * words; i += 8) {
            sum = _mm_crc32_u64(sum, eight_bytes(at + i));
            b = _mm_crc32_u64(b, eight_bytes(second + i));
            c = _mm_crc32_u64(c, eight_bytes(third + i));
        }
        const auto times = [](std::uint64_t crc, std::uint32_t shift) __attribute__((target("sse4.2,pclmul"))) {
            return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                                        _mm_cvtsi64_si128(static_cast<long long>(shift)), 0);
        };
        const __m128i moved = _mm_xor_si128(times(sum, crc32c_shifts[2 * words]), times(b, crc32c_shifts[words]));
        sum = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(moved))) ^ c;
        at += 24 * words;
        left -= 24 * words;
    }
    return crc32c_by_instruction({at, left}, ~static_cast<std::uint32_t>(sum));
}
#endif

using crc32c_function = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

inline crc32c_function best_crc32c() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2"))
        return __builtin_cpu_supports("pclmul") ? crc32c_by_thirds : crc32c_by_instruction;
#endif
    return crc32c_by_table;
}

TENON_INLINE std::uint32_t crc32c_by_table(std::span<const std::byte> of, std::uint32_t before) noexcept {
    std::uint32_t sum = ~before;
    const std::byte* at = of.data();
    std::size_t left = of.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t word = eight_bytes(at) ^ sum;
        sum = 0;
        for (std::size_t k = 0; k < 8; ++k) sum ^= crc32c_tables[7 - k][word >> (8 * k) & 0xFF];
    }
    for (; left > 0; --left, ++at) sum = sum >> 8 ^ crc32c_tables[0][(sum ^ static_cast<std::uint32_t>(*at)) & 0xFF];
    return ~sum;
}

} // namespace detail

TENON_INLINE std::uint32_t crc32c(std::span<const std::byte> of, std::uint32_t before) noexcept {
    static const detail::crc32c_function chosen = detail::best_crc32c();
    return chosen(of, before);
}

} // namespace tenon
