#include <span>

#include <tenon/io/audio/wav.hpp>

#include "tests.hpp"

namespace {

std::string little(std::uint64_t v, int n) {
    std::string s;
    for (int i = 0; i < n; ++i) s += static_cast<char>(v >> (8 * i));
    return s;
}
std::string chunk(const std::string& id, const std::string& data) {
    return id + little(data.size(), 4) + data + (data.size() % 2 ? std::string(1, '\0') : "");
}
std::string wav(unsigned tag, unsigned channels, unsigned rate, unsigned bits, const std::string& data,
                const std::string& more = {}) {
    const std::string format = little(tag, 2) + little(channels, 2) + little(rate, 4) +
                               little(rate * channels * bits / 8, 4) + little(channels * bits / 8, 2) +
                               little(bits, 2) + more;
    const std::string all = "WAVE" + chunk("LIST", "INFOx") + chunk("fmt ", format) + chunk("data", data);
    return "RIFF" + little(all.size(), 4) + all;
}
tn::wav_sound parse(const std::string& s) { return tn::parse_wav(std::as_bytes(std::span(s)), "x"); }

} // namespace

TEST_CASE("samples of each format are the numbers that they stand for") {
    const tn::wav_sound s =
        parse(wav(1, 2, 44100, 16, little(0x8000, 2) + little(0x4000, 2) + little(0xFFFF, 2) + little(0, 2)));
    CHECK(s.sample_rate == 44100);
    CHECK(s.samples.untyped() == tn::array<float>{{-1, 0.5f}, {-1.0f / 32768, 0}}.untyped());
    CHECK(parse(wav(1, 1, 8000, 8, std::string("\x00\x80\xC0\xFF", 4))).samples.untyped() ==
          tn::array<float>{{-1}, {0}, {0.5f}, {127.0f / 128}}.untyped());
    CHECK(parse(wav(1, 1, 8000, 24, little(0x800000, 3) + little(0x400000, 3))).samples.untyped() ==
          tn::array<float>{{-1}, {0.5f}}.untyped());
    CHECK(parse(wav(1, 1, 8000, 32, little(0x80000000, 4) + little(0x20000000, 4))).samples.untyped() ==
          tn::array<float>{{-1}, {0.25f}}.untyped());
    CHECK(parse(wav(3, 1, 8000, 32, little(0x3FC00000, 4))).samples.untyped() == tn::array<float>{{1.5f}}.untyped());
    CHECK(parse(wav(3, 1, 8000, 64, little(0xBFF8000000000000, 8))).samples.untyped() ==
          tn::array<float>{{-1.5f}}.untyped());
    // G.711: the least and the largest steps, and both signs.
    CHECK(parse(wav(7, 1, 8000, 8, "\xFF\xFE\x7E\x80\xAB\x2B")).samples.untyped() ==
          tn::array<float>{
              {0}, {8.0f / 32768}, {-8.0f / 32768}, {32124.0f / 32768}, {5116.0f / 32768}, {-5116.0f / 32768}}
              .untyped());
    CHECK(parse(wav(6, 1, 8000, 8, "\xD5\x55\xAA\x2A\x80\xC5")).samples.untyped() ==
          tn::array<float>{{8.0f / 32768},
                           {-8.0f / 32768},
                           {32256.0f / 32768},
                           {-32256.0f / 32768},
                           {5504.0f / 32768},
                           {264.0f / 32768}}
              .untyped());
    // The extensible form, whose GUID begins with the tag.
    CHECK(parse(wav(0xFFFE, 1, 8000, 16, little(0x4000, 2),
                    little(22, 2) + little(16, 2) + little(4, 4) + little(1, 2) + std::string(14, '\0')))
              .samples.untyped() == tn::array<float>{{0.5f}}.untyped());
}

TEST_CASE_FIXTURE(in_folder, "what is written is read again, as near as its format allows") {
    tn::array<float> a{{0, 0.25f}, {-1, 0.9999f}, {2, -3}, {std::numeric_limits<float>::quiet_NaN(), 1e-3f}};
    for (const auto f : {tn::wav_format::uint8, tn::wav_format::int16, tn::wav_format::int24, tn::wav_format::int32,
                         tn::wav_format::float32}) {
        tn::write_wav(folder / "x.wav", a.untyped(), 16000, f);
        const tn::wav_sound s = tn::read_wav(folder / "x.wav");
        CHECK(s.sample_rate == 16000);
        CHECK(s.format == f);
        REQUIRE(s.samples.untyped().extents() == tn::extents{4, 2});
        const double step = f == tn::wav_format::uint8   ? 1.0 / 128
                            : f == tn::wav_format::int16 ? 1.0 / 32768
                                                         : 1e-6 + 1e-9;
        for (int i = 0; i < 8; ++i) {
            const float x = a.data()[i], y = s.samples.data()[i];
            if (f == tn::wav_format::float32) CHECK((x == y || std::isnan(y)));
            else
                CHECK(
                    std::abs(y - (std::isnan(x) ? 0.0 : std::fmin(std::fmax(static_cast<double>(x), -1), 1 - step))) <=
                    1.01 * step);
        }
        const std::string first = read_bytes(folder / "x.wav");
        tn::write_wav(folder / "y.wav", s);
        if (f != tn::wav_format::int32) CHECK(read_bytes(folder / "y.wav") == first); // float holds 24 bits
    }
    tn::array<float> mono{1, 2, 3};
    tn::write_wav(folder / "m.wav", mono.untyped(), 1, tn::wav_format::float32);
    CHECK(tn::read_wav(folder / "m.wav").samples.untyped() == tn::array<float>{{1}, {2}, {3}}.untyped());
}

TEST_CASE_FIXTURE(in_folder, "each byte of G.711 is written as it was read, and of other samples the nearest") {
    std::string bytes;
    for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
    for (const auto f : {tn::wav_format::mu_law, tn::wav_format::a_law}) {
        const tn::wav_sound s = parse(wav(f == tn::wav_format::mu_law ? 7 : 6, 1, 8000, 8, bytes));
        CHECK(s.format == f);
        tn::write_wav(folder / "all.wav", s);
        std::string again = read_bytes(folder / "all.wav");
        again = again.substr(again.size() - 256);
        if (f == tn::wav_format::mu_law) again[0x7F] = '\x7F'; // of its two zeros that without a sign
        CHECK(again == bytes);
        std::vector<float> there(s.samples.data(), s.samples.data() + 256);
        tn::array<float> x(tn::extents{2001});
        for (int i = 0; i <= 2000; ++i) x.data()[i] = std::sin(static_cast<float>(i)) * static_cast<float>(i) / 1900;
        x.data()[7] = std::numeric_limits<float>::quiet_NaN();
        tn::write_wav(folder / "x.wav", x.untyped(), 8000, f);
        const tn::wav_sound y = tn::read_wav(folder / "x.wav");
        int off = 0;
        for (int i = 0; i <= 2000; ++i) {
            const float is = std::isnan(x.data()[i]) ? 0 : x.data()[i];
            float nearest = 9;
            for (const float t : there) nearest = std::min(nearest, std::abs(t - is));
            off += std::abs(y.samples.data()[i] - is) != nearest;
        }
        CHECK(off == 0);
    }
}

TEST_CASE("samples go up to the file's end where its writer could not say how many there are") {
    const std::string good = wav(1, 1, 44100, 16, little(0x4000, 2) + little(0x8000, 2));
    const std::size_t size = good.size() - 8; // that of the data
    for (const std::uint64_t unknown : {std::uint64_t{0}, std::uint64_t{0xFFFFFFFF}}) {
        std::string s = good;
        s.replace(4, 4, little(unknown, 4)).replace(size, 4, little(unknown, 4));
        CHECK(parse(s).samples.untyped() == tn::array<float>{{0.5f}, {-1}}.untyped());
    }
    // A file that is whole may have none.
    CHECK(parse(wav(1, 1, 44100, 16, "")).samples.size() == 0);
}

TEST_CASE("what is no WAV file, or cut off, says so") {
    const auto said = [](const std::string& s) { return message_of<tn::error>([&] { parse(s); }); };
    const std::string good = wav(1, 2, 44100, 16, std::string(8, '\1'));
    CHECK(said("RIFX") == "read_wav: 'x': no WAV file: it does not begin with \"RIFF\" and \"WAVE\"");
    CHECK(said(good.substr(0, good.size() - 1)) == "read_wav: 'x': chunk \"data\" at byte 50 has 8 bytes; 7 are there");
    CHECK(said(good.substr(0, 50)) == "read_wav: 'x': it has no chunk \"data\" before its end");
    CHECK(contains(said(wav(2, 1, 8000, 4, "x")), "its samples are of format 2 with 4 bits; PCM (1) of"));
    CHECK(said(wav(1, 2, 0, 16, "1234")) == "read_wav: 'x': its sample rate is 0");
    CHECK(contains(said(wav(1, 2, 44100, 16, "123456")), "6 bytes are no whole frames of 4"));
    CHECK_ERROR(tn::invalid_argument_error, "samples are float[frames, channels] or float[frames], not int16[3]",
                tn::write_wav("x", tn::any_array::zeros(tn::element_type::int16, {3}), 8000));
}
