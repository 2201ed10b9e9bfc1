#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/sizes/extents.hpp>

/// How an IDX file begins: two zero bytes, an element type, a rank and the sizes, big-endian.

namespace tenon::detail {

struct idx_element {
    std::uint8_t code;
    element_type element;
};
inline constexpr idx_element idx_elements[] = {{0x08, element_type::uint8},   {0x09, element_type::int8},
                                               {0x0B, element_type::int16},   {0x0C, element_type::int32},
                                               {0x0D, element_type::float32}, {0x0E, element_type::float64}};

/// What the elements are; `read(to, bytes)` says how many bytes there were, `say(what)` makes a message that names the file.
/// data_loss_error where the file ends within its header, invalid_argument_error where it is no IDX file.
tensor_type read_idx_header(const auto& read, const auto& say, std::size_t& header_bytes) {
    unsigned char bytes[4 + 4 * max_rank];
    const std::size_t got = read(bytes, std::size_t{4});
    if (got < 4) throw data_loss_error(say("the file ends after " + std::to_string(got) + " bytes, within its header"));
    if (bytes[0] != 0 || bytes[1] != 0)
        throw invalid_argument_error(say("not an IDX file: it does not start with two zero bytes"));
    tensor_type type;
    for (const idx_element& e : idx_elements)
        if (e.code == bytes[2]) type.element = e.element;
    if (type.element == element_type::none)
        throw invalid_argument_error(say("unknown IDX element type " + std::to_string(bytes[2])));
    const int rank = bytes[3];
    if (rank > max_rank)
        throw invalid_argument_error(say("rank " + std::to_string(rank) + " is more than " + std::to_string(max_rank)));
    const std::size_t size_bytes = 4 * static_cast<std::size_t>(rank);
    if (const std::size_t n = read(bytes + 4, size_bytes); n < size_bytes)
        throw data_loss_error(say("the file ends after " + std::to_string(4 + n) + " bytes, within its header of " +
                                  std::to_string(4 + size_bytes)));
    for (int i = 0; i < rank; ++i) {
        std::uint32_t size = 0;
        for (int j = 0; j < 4; ++j) size = size << 8 | bytes[4 + 4 * i + j];
        type.extents.push_back(static_cast<std::int64_t>(size));
    }
    header_bytes = 4 + size_bytes;
    return type;
}

} // namespace tenon::detail
