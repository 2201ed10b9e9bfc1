// Whatever the bytes, parse_wav gives samples that are in them, or throws a tenon::error.
// covers: io/audio/wav

#include <tenon/io/audio/wav.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    fuzz::is_read<tenon::error>([&] {
        const tenon::wav_sound s = tenon::parse_wav(in.bytes());
        if (s.samples.untyped().rank() != 2 || s.samples.untyped().elements() > static_cast<std::int64_t>(in.size()))
            std::abort();
    });
}
