// Whatever the bytes, a sequence example that is parsed is written and parsed again as the same, or a tenon::error is thrown.
// covers: io/example/example io/example/example_wire

#include <tenon/io/example/example.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    fuzz::is_read<tenon::error>([&] {
        const auto e = tenon::sequence_example::parse(in.view());
        const std::string again = e.serialize();
        if (tenon::sequence_example::parse(again).serialize() != again) std::abort();
    });
}
