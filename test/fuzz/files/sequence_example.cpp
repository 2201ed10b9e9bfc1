// Whatever the bytes, a sequence example that is parsed is written and parsed again as the same, or a tenon::error is thrown.
// covers: io/example/example io/example/example_wire

#include <tenon/io/example/example.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto e = tenon::sequence_example::parse({reinterpret_cast<const char*>(data), size});
        const std::string again = e.serialize();
        if (tenon::sequence_example::parse(again).serialize() != again) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
