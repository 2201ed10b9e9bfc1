// Whatever the bytes, parse_idx returns an array that has what they promise, or throws a tenon::error.
// covers: data/idx io/files/file

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tenon/data/idx.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const tenon::any_array a = tenon::parse_idx(std::as_bytes(std::span(data, size)));
        // Deflate packs at most 1032 times.
        if (!a || a.bytes() > 1032 * (size + 1)) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
