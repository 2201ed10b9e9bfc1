// Whatever the bytes, parse_wav gives samples that are in them, or throws a tenon::error.
// covers: io/audio/wav

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tenon/io/audio/wav.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const tenon::wav_sound s = tenon::parse_wav(std::as_bytes(std::span(data, size)));
        if (s.samples.untyped().rank() != 2 || s.samples.untyped().elements() > static_cast<std::int64_t>(size))
            std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
