#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include <tenon/io/audio/wav.hpp>
#include <tenon/io/files/compressed.hpp>

namespace tenon {

namespace detail {

template <class T> T number_of_wav(std::string_view bytes, std::size_t at) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;)
        value = static_cast<T>(static_cast<std::uint64_t>(value) << 8 | static_cast<unsigned char>(bytes[at + i]));
    return value;
}

// A byte of G.711 as a 16-bit number: a sign, which is set where it is negative here, three bits that double a step, and four that count
// steps. Of mu-law all bits are turned around and each segment begins 33 quarters of its first step early; of A-law every other bit is.
inline int g711_sample(int byte, bool mu_law) {
    byte ^= mu_law ? 0xFF : 0xD5;
    const int doubled = byte >> 4 & 7, steps = byte & 15;
    const int size = mu_law         ? (((steps << 3) + 132) << doubled) - 132
                     : doubled == 0 ? (steps << 4) + 8
                                    : ((steps << 4) + 264) << (doubled - 1);
    return byte & 0x80 ? -size : size;
}
// The byte whose sample is nearest to v of 16 bits; of two as near that of the smaller size.
inline int g711_byte(double v, bool mu_law) {
    const int turned = mu_law ? 0xFF : 0xD5, sign = v < 0 ? 0x80 : 0;
    const double size = std::abs(v);
    int low = 0, high = 0x7F; // sizes grow with these bits
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (g711_sample(middle ^ turned, mu_law) <= size ? low : high) = middle;
    }
    const bool is_low = size - g711_sample(low ^ turned, mu_law) <= g711_sample(high ^ turned, mu_law) - size;
    return (sign | (is_low ? low : high)) ^ turned;
}

// Sample i of a stretch of samples that take `width` bytes.
inline float wav_sample(std::string_view data, std::int64_t i, unsigned width, wav_format format) {
    const std::size_t at = static_cast<std::size_t>(i) * width;
    if (format == wav_format::float32)
        return width == 4 ? std::bit_cast<float>(number_of_wav<std::uint32_t>(data, at))
                          : static_cast<float>(std::bit_cast<double>(number_of_wav<std::uint64_t>(data, at)));
    if (width == 1) {
        const int byte = static_cast<unsigned char>(data[at]);
        return format == wav_format::uint8
                   ? static_cast<float>(byte - 128) / 128
                   : static_cast<float>(g711_sample(byte, format == wav_format::mu_law)) / 32768;
    }
    std::uint32_t bits = 0; // at the upper end, so that the sign is where it should be
    for (unsigned b = 0; b < width; ++b)
        bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(data[at + b])) << (8 * (4 - width + b));
    return static_cast<float>(static_cast<double>(static_cast<std::int32_t>(bits)) / 2147483648.0);
}

// The tags that formats have in files: whole numbers, floats, A-law, mu-law.
inline unsigned tag_of(wav_format f) {
    return f == wav_format::float32 ? 3 : f == wav_format::a_law ? 6 : f == wav_format::mu_law ? 7 : 1;
}

inline wav_sound sound_of(std::string_view bytes, const std::string& name) {
    const auto say = [&](const std::string& what) { return "read_wav: '" + name + "': " + what; };
    if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE")
        throw invalid_argument_error(say("no WAV file: it does not begin with \"RIFF\" and \"WAVE\""));
    // A writer that could not go back to say how long it is, or was killed before, left a size that none has.
    const bool unfinished = number_of_wav<std::uint32_t>(bytes, 4) == 0;
    wav_sound sound;
    unsigned tag = 0, channels = 0, bits = 0, block = 0;
    std::string_view data;
    bool has_format = false, has_data = false;
    for (std::size_t at = 12; at + 8 <= bytes.size() && !has_data;) {
        const std::string_view id = bytes.substr(at, 4);
        const std::uint64_t size = number_of_wav<std::uint32_t>(bytes, at + 4), left = bytes.size() - at - 8;
        const bool stream = id == "data" && (size == 0xFFFFFFFF || (size == 0 && unfinished));
        if (size > left && !stream)
            throw data_loss_error(say("chunk \"" + std::string(id) + "\" at byte " + std::to_string(at) + " has " +
                                      std::to_string(size) + " bytes; " + std::to_string(left) + " are there"));
        const std::string_view chunk = bytes.substr(at + 8, static_cast<std::size_t>(stream ? left : size));
        if (id == "fmt ") {
            if (chunk.size() < 16)
                throw data_loss_error(
                    say("its chunk \"fmt \" has " + std::to_string(chunk.size()) + " bytes; 16 are needed"));
            tag = number_of_wav<std::uint16_t>(chunk, 0);
            channels = number_of_wav<std::uint16_t>(chunk, 2);
            sound.sample_rate = number_of_wav<std::uint32_t>(chunk, 4);
            block = number_of_wav<std::uint16_t>(chunk, 12);
            bits = number_of_wav<std::uint16_t>(chunk, 14);
            // The extensible form says the tag in the first bytes of a GUID.
            if (tag == 0xFFFE && chunk.size() >= 26) tag = number_of_wav<std::uint16_t>(chunk, 24);
            has_format = true;
        } else if (id == "data") {
            data = chunk;
            has_data = true;
        }
        at += 8 + static_cast<std::size_t>(std::min<std::uint64_t>(size + (size & 1), left));
    }
    if (!has_format || !has_data)
        throw data_loss_error(
            say(std::string("it has no chunk \"") + (has_format ? "data" : "fmt ") + "\" before its end"));
    if (sound.sample_rate == 0) throw data_loss_error(say("its sample rate is 0"));
    const bool integer = tag == 1 && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    const bool floating = tag == 3 && (bits == 32 || bits == 64), g711 = (tag == 6 || tag == 7) && bits == 8;
    if (!integer && !floating && !g711)
        throw unimplemented_error(say("its samples are of format " + std::to_string(tag) + " with " +
                                      std::to_string(bits) +
                                      " bits; PCM (1) of 8, 16, 24 and 32 bits, floats (3) of 32 and 64, A-law (6) and "
                                      "mu-law (7) are read"));
    const unsigned width = bits / 8;
    if (channels == 0 || block != channels * width)
        throw data_loss_error(say(std::to_string(channels) + " channels of " + std::to_string(bits) +
                                  " bits are no frames of " + std::to_string(block) + " bytes"));
    if (data.size() % block != 0)
        throw data_loss_error(
            say(std::to_string(data.size()) + " bytes are no whole frames of " + std::to_string(block)));
    const auto frames = static_cast<std::int64_t>(data.size() / block);
    sound.format = floating     ? wav_format::float32
                   : tag == 6   ? wav_format::a_law
                   : tag == 7   ? wav_format::mu_law
                   : width == 1 ? wav_format::uint8
                   : width == 2 ? wav_format::int16
                   : width == 3 ? wav_format::int24
                                : wav_format::int32;
    sound.samples = array<float>(extents{frames, static_cast<std::int64_t>(channels)});
    float* const to = sound.samples.data();
    for (std::int64_t i = 0; i < frames * static_cast<std::int64_t>(channels); ++i)
        to[i] = wav_sample(data, i, width, sound.format);
    return sound;
}

} // namespace detail

TENON_INLINE wav_sound read_wav(const std::string& path) {
    return detail::sound_of(detail::unpacked_text("read_wav", path), path);
}

TENON_INLINE wav_sound parse_wav(std::span<const std::byte> bytes, const std::string& name) {
    return detail::sound_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
}

TENON_INLINE void write_wav(const std::string& path, const any_array& samples, std::int64_t sample_rate,
                            wav_format format) {
    const auto mistake = [&](const std::string& what) {
        throw invalid_argument_error("write_wav: '" + path + "': " + what);
    };
    if (samples.element() != element_type::float32 || (samples.rank() != 1 && samples.rank() != 2))
        mistake("samples are float[frames, channels] or float[frames], not " + to_string(samples.type()));
    const std::int64_t channels = samples.rank() == 1 ? 1 : samples.extents()[1].size;
    if (channels < 1 || channels > 65535) mistake(std::to_string(channels) + " channels; 1 to 65535 are possible");
    if (sample_rate < 1 || sample_rate > 0xFFFFFFFF) mistake("a sample rate of " + std::to_string(sample_rate));
    const bool floating = format == wav_format::float32, whole = detail::tag_of(format) == 1;
    const std::int64_t width = format == wav_format::uint8 || (!whole && !floating) ? 1
                               : format == wav_format::int16                        ? 2
                               : format == wav_format::int24                        ? 3
                                                                                    : 4;
    const std::int64_t bytes = samples.elements() * width, most = 0xFFFFFFFF - 128;
    if (samples.elements() > most / width || channels * width > 65535)
        mistake(to_string(samples.type()) + " takes " + std::to_string(bytes) +
                " bytes; a WAV file has less than 4 GiB, and frames less than 64 KiB");
    std::string out;
    const auto put = [&](std::uint64_t v, int n) {
        for (int i = 0; i < n; ++i) out += static_cast<char>(v >> (8 * i));
    };
    // What is not PCM says that it has nothing more to say, and how many frames there are.
    out += "RIFF";
    put(static_cast<std::uint64_t>(4 + (whole ? 24 : 38) + 8 + bytes + (bytes & 1)), 4);
    out += "WAVEfmt ";
    put(whole ? 16 : 18, 4);
    put(detail::tag_of(format), 2);
    put(static_cast<std::uint64_t>(channels), 2);
    put(static_cast<std::uint64_t>(sample_rate), 4);
    put(static_cast<std::uint64_t>(sample_rate * channels * width), 4);
    put(static_cast<std::uint64_t>(channels * width), 2);
    put(static_cast<std::uint64_t>(8 * width), 2);
    if (!whole) {
        put(0, 2);
        out += "fact";
        put(4, 4);
        put(static_cast<std::uint64_t>(samples.elements() / channels), 4);
    }
    out += "data";
    put(static_cast<std::uint64_t>(bytes), 4);
    const double scale = std::ldexp(1.0, static_cast<int>(8 * (whole ? width : 2) - 1));
    const float* const from = samples.data<float>();
    for (std::int64_t i = 0; i < samples.elements(); ++i) {
        const double scaled = std::isnan(from[i]) ? 0 : static_cast<double>(from[i]) * scale;
        if (floating) put(std::bit_cast<std::uint32_t>(from[i]), 4);
        else if (!whole) put(static_cast<std::uint64_t>(detail::g711_byte(scaled, format == wav_format::mu_law)), 1);
        else {
            const double near = std::clamp(std::nearbyint(scaled), -scale, scale - 1);
            put(static_cast<std::uint64_t>(static_cast<std::int64_t>(near) + (width == 1 ? 128 : 0)),
                static_cast<int>(width));
        }
    }
    if (bytes & 1) out += '\0';
    detail::said_by("write_wav", [&] {
        const std::unique_ptr<writable_file> file = packed(file_system_of(path).create(path), path);
        file->write(out.data(), out.size());
        file->commit();
    });
}

} // namespace tenon
