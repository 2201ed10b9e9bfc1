// Whatever the bytes, parse_idx returns an array that has what they promise, or throws a tenon::error.
// covers: data/idx io/files/file

#include <tenon/data/idx.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    fuzz::is_read<tenon::error>([&] {
        const tenon::any_array a = tenon::parse_idx(in.bytes());
        // Deflate packs at most 1032 times.
        if (!a || a.bytes() > 1032 * (in.size() + 1)) std::abort();
    });
}
