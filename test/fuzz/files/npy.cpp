// Whatever the bytes, parse_npy and parse_npz return arrays that have what they promise, or throw a tenon::error.
// covers: io/numpy/npy io/numpy/npz io/numpy/elements

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/numpy/npz.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    // Deflate packs at most 1032 times.
    const std::size_t most = 1032 * (size + 1);
    try {
        if (const tenon::any_array a = tenon::parse_npy(bytes); !a || a.bytes() > most) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    try {
        std::size_t all = 0;
        for (const auto& [name, a] : tenon::parse_npz(bytes)) all += a.bytes();
        if (all > most) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
