// Whatever the bytes, parse_npy and parse_npz return arrays that have what they promise, or throw a tenon::error.
// covers: io/numpy/npy io/numpy/npz io/numpy/elements

#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/numpy/npz.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    const auto bytes = in.bytes();
    // Deflate packs at most 1032 times.
    const std::size_t most = 1032 * (in.size() + 1);
    // A text is a byte at least, and takes more where it is an element.
    const auto held = [](const tenon::any_array& a) {
        return a.element() == tenon::element_type::string ? static_cast<std::size_t>(a.elements()) : a.bytes();
    };
    fuzz::is_read<tenon::error>([&] {
        if (const tenon::any_array a = tenon::parse_npy(bytes); !a || held(a) > most) std::abort();
    });
    fuzz::is_read<tenon::error>([&] {
        std::size_t all = 0;
        for (const auto& [name, a] : tenon::parse_npz(bytes)) all += held(a);
        if (all > most) std::abort();
    });
}
