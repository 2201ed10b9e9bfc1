#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include <net/wire/crc32c.hpp>

namespace tenon::net {

namespace {

constexpr std::uint32_t polynomial = 0x82F63B78; // bits from low to high

// Table k gives what a byte becomes when k more bytes have followed it: eight bytes are eight look-ups.
constexpr auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t r = i;
        for (int bit = 0; bit < 8; ++bit) r = r >> 1 ^ (r & 1 ? polynomial : 0);
        t[0][i] = r;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xFF];
    return t;
}();

std::uint64_t eight(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::span<const std::byte> of,
                                                                      std::uint32_t before) noexcept {
    std::uint64_t sum = ~before;
    const std::byte* at = of.data();
    std::size_t left = of.size();
    for (; left >= 8; left -= 8, at += 8) sum = _mm_crc32_u64(sum, eight(at));
    auto last = static_cast<std::uint32_t>(sum);
    for (; left > 0; --left, ++at) last = _mm_crc32_u8(last, static_cast<std::uint8_t>(*at));
    return ~last;
}
#endif

using function = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

function best() noexcept {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction;
#endif
    return detail::crc32c_by_table;
}

} // namespace

std::uint32_t detail::crc32c_by_table(std::span<const std::byte> of, std::uint32_t before) noexcept {
    std::uint32_t sum = ~before;
    const std::byte* at = of.data();
    std::size_t left = of.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t word = eight(at) ^ sum;
        sum = 0;
        for (std::size_t k = 0; k < 8; ++k) sum ^= tables[7 - k][word >> (8 * k) & 0xFF];
    }
    for (; left > 0; --left, ++at) sum = sum >> 8 ^ tables[0][(sum ^ static_cast<std::uint32_t>(*at)) & 0xFF];
    return ~sum;
}

std::uint32_t crc32c(std::span<const std::byte> of, std::uint32_t before) noexcept {
    static const function chosen = best();
    return chosen(of, before);
}

} // namespace tenon::net
