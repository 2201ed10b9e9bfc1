#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

/// What texts are told apart by: 128 bits, the same on every machine and in every version of the library.

namespace tenon::cuda::tapes {

struct hash128 {
    std::uint64_t low, high;

    /// 32 hexadecimal digits.
    std::string text() const {
        char digits[33];
        std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high),
                      static_cast<unsigned long long>(low));
        return digits;
    }
    friend constexpr bool operator==(const hash128&, const hash128&) = default;
};

/// FNV-1a in two lanes that start apart, each stirred by the finishing steps of MurmurHash3.
constexpr hash128 hash_of(std::string_view bytes) noexcept {
    std::uint64_t a = 0xcbf29ce484222325U, b = 0x9e3779b97f4a7c15U;
    for (const char c : bytes) {
        const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(c));
        a = (a ^ byte) * 0x100000001b3U;
        b = (b + byte) * 0xff51afd7ed558ccdU;
        b ^= b >> 29;
    }
    const auto stir = [](std::uint64_t h) {
        h = (h ^ h >> 33) * 0xff51afd7ed558ccdU;
        h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53U;
        return h ^ h >> 33;
    };
    return {stir(a), stir(b)};
}

} // namespace tenon::cuda::tapes
