#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <tenon/io/image/image.hpp>

/// Images for tests.

namespace images {

namespace tn = tenon;

/// Samples of height rows, row by row, of `channels` each.
struct picture {
    std::int64_t height = 0, width = 0;
    int channels = 0, bits = 8;
    std::vector<std::uint32_t> samples;

    std::uint32_t at(std::int64_t y, std::int64_t x, int c) const {
        return samples[static_cast<std::size_t>((y * width + x) * channels + c)];
    }
};

inline picture random_picture(std::mt19937_64& random, std::int64_t height, std::int64_t width, int channels,
                              int bits) {
    picture p{height, width, channels, bits, {}};
    p.samples.resize(static_cast<std::size_t>(height * width * channels));
    for (std::uint32_t& s : p.samples) s = static_cast<std::uint32_t>(random()) & ((1U << bits) - 1);
    return p;
}

/// An array whose sample at [y, x, c] is f(y, x, c).
template <class T, class F> tn::any_array tabulate(std::int64_t height, std::int64_t width, int channels, F f) {
    tn::any_array a(tn::element_type_of<T>, {height, width, channels});
    T* to = a.data<T>();
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) *to++ = static_cast<T>(f(y, x, c));
    return a;
}

/// The largest difference of two images of one type.
inline int farthest(const tn::any_array& a, const tn::any_array& b) {
    if (a.type() != b.type()) return 1 << 20;
    int most = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const auto value = [&](const tn::any_array& of) -> int {
            return of.element() == tn::element_type::uint8 ? of.data<std::uint8_t>()[i] : of.data<std::uint16_t>()[i];
        };
        most = std::max(most, std::abs(value(a) - value(b)));
    }
    return most;
}

} // namespace images
