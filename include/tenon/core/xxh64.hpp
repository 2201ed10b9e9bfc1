#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>

/// A hash that finds damage, of files mostly. It is no protection against who wants to mislead.

namespace tenon::detail {

/// XXH64 with seed 0 of what it is given, piece by piece: https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md.
class xxh64_hasher {
public:
    void add(const void* from, std::size_t bytes) noexcept;
    /// Of all that was added; more may be added afterwards.
    std::uint64_t value() const noexcept;

private:
    void take_stripe(const unsigned char* at) noexcept;

    std::uint64_t lanes_[4] = {0x60ea27eeadc0b5d6u, 0xc2b2ae3d27d4eb4fu, 0, 0x61c8864e7a143579u};
    std::uint64_t bytes_ = 0;
    unsigned char rest_[32]; // the last bytes_ % 32 of them
};

/// Of what is there at once.
std::uint64_t xxh64(std::string_view bytes) noexcept;
/// "xxh64:" and 16 digits, and back; false where the text is none.
std::string text_of_xxh64(std::uint64_t hash);
bool xxh64_of_text(std::string_view text, std::uint64_t& hash) noexcept;

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/xxh64.ipp>
#endif
