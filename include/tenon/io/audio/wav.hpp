#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tenon/core/array/array.hpp>

/// Sound in WAV files: RIFF with a "fmt " and a "data" chunk, little-endian (Microsoft, Multimedia Programming Interface and Data
/// Specifications 1.0).

namespace tenon {

/// How samples are stored; mu_law and a_law are the bytes of telephones, ITU-T G.711, which stand for 14 and 13 bits.
enum class wav_format { uint8, int16, int24, int32, float32, mu_law, a_law };

struct wav_sound {
    /// [frames, channels]; integers are divided by the largest, so that they lie in [-1, 1); those of 32 bits become the nearest float, which
    /// may be 1.
    array<float> samples{};
    std::int64_t sample_rate = 0;          ///< frames a second
    wav_format format = wav_format::int16; ///< as it was stored; 64-bit floats are float32 here
};

/// Reads PCM of 8, 16, 24 and 32 bits, floats of 32 and 64, mu-law and A-law, with any number of channels; files packed by gzip, zlib or zstd,
/// too. Samples of a file whose writer could not say how many there are (sizes of 0, or of 2^32 - 1) go up to its end.
///
/// Throws invalid_argument_error when it is no WAV file, data_loss_error when it is cut off or does not agree with itself,
/// unimplemented_error, naming it, for another way to store samples, and what opening a file throws.
wav_sound read_wav(const std::string& path);
/// The same from memory; `name` stands in messages.
wav_sound parse_wav(std::span<const std::byte> bytes, const std::string& name = "WAV data");

/// Writes samples [frames, channels] or [frames], whole or not at all. Each is stored as the nearest that there is, those outside [-1, 1)
/// too; NaN is 0, but in floats. invalid_argument_error for other ranks, a rate below 1, more than 65535 channels, and more than 4 GiB.
void write_wav(const std::string& path, const any_array& samples, std::int64_t sample_rate,
               wav_format format = wav_format::int16);
inline void write_wav(const std::string& path, const wav_sound& s) {
    write_wav(path, s.samples.untyped(), s.sample_rate, s.format);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/audio/wav.ipp>
#endif
