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
    // A text is a byte at least, and takes more where it is an element.
    const auto held = [](const tenon::any_array& a) {
        return a.element() == tenon::element_type::string ? static_cast<std::size_t>(a.elements()) : a.bytes();
    };
    try {
        if (const tenon::any_array a = tenon::parse_npy(bytes); !a || held(a) > most) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    try {
        std::size_t all = 0;
        for (const auto& [name, a] : tenon::parse_npz(bytes)) all += held(a);
        if (all > most) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
