#pragma once

#include <cmath>
#include <numbers>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/fourier.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX of signals: Fourier transforms and what goes with them.

namespace tenon::detail::onnx {

// As many elements along an axis as there shall be: cut, or with zeros behind.
inline any_tensor of_length(const call& c, const any_tensor& x, int axis, std::int64_t n) {
    const std::int64_t own = number_of(c, x.extents()[axis], "the length");
    if (own == n) return x;
    if (own > n) return part_along(x, axis, 0, n);
    std::vector<margin> more(static_cast<std::size_t>(x.rank()));
    more[static_cast<std::size_t>(axis)].after = n - own;
    return untyped::pad(x, more);
}
// [.., n, 1 or 2], real or complex, to [.., n or n / 2 + 1, 2].
inline any_tensor spectrum(const call& c, const any_tensor& x, bool one_sided) {
    const int rank = x.rank();
    const bool real = x.extents()[rank - 1] == extent(1);
    if (!real && one_sided) c.wrong("one side is of real numbers");
    if (real && one_sided) return untyped::rfft(untyped::squeeze(x, {rank - 1}));
    return untyped::fft(real ? untyped::concat({x, untyped::zeros_like(x)}, rank - 1) : x);
}
inline any_tensor in_float(const any_tensor& x) {
    return x.element() == element_type::float64 ? x : untyped::cast(x, element_type::float32);
}

inline void fourier(const call& c) { // DFT
    const any_tensor given = in_float(c.x());
    const int rank = given.rank();
    if (rank < 2) c.wrong("its input has " + std::to_string(rank) + " dimensions; 2 are needed");
    const bool inverse = c.integer("inverse", 0) != 0, one_sided = c.integer("onesided", 0) != 0;
    std::int64_t said = c.integer("axis", 1);
    if (c.opset() >= 20) said = c.has(2) ? c.integer(2, "the axis") : -2;
    const int axis = axis_in(c, said, rank);
    if (axis == rank - 1) c.wrong("its axis is that of real and imaginary parts");
    any_tensor x = untyped::moveaxis(given, axis, rank - 2);
    const std::int64_t own = number_of(c, x.extents()[rank - 2], "the length");
    std::int64_t n = inverse && one_sided ? 2 * (own - 1) : own;
    if (c.has(1)) n = c.integer(1, "the length");
    (void)within(c, n, 1, std::int64_t{1} << 30, "the length");
    x = of_length(c, x, rank - 2, inverse && one_sided ? n / 2 + 1 : n);
    any_tensor y;
    if (!inverse) y = spectrum(c, x, one_sided);
    else {
        if (x.extents()[rank - 1] == extent(1)) x = untyped::concat({x, untyped::zeros_like(x)}, rank - 1);
        y = one_sided ? untyped::expand_dims(untyped::irfft(x, 1, n), {-1}) : untyped::ifft(x);
    }
    c.give(untyped::cast(untyped::moveaxis(y, rank - 2, axis), c.x().element()));
}

inline void short_time_fourier(const call& c) { // STFT
    if (c.x().rank() == 3) c.name_size(0, 1);
    const any_tensor x = in_float(c.x());
    if (x.rank() != 3) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 3 are needed");
    if (c.has(2) && c.x(2).rank() != 1) c.wrong("its window is no list");
    const std::int64_t step = within(c, c.integer(1, "the step"), 1, max_folded, "the step");
    std::int64_t length = 0;
    if (c.has(3)) length = c.integer(3, "the length of a frame");
    else length = number_of(c, c.has(2) ? c.x(2).extents()[0] : x.extents()[1], "the length of a frame");
    const extent& whole = x.extents()[1];
    if (within(c, length, 1, max_computed, "the length of a frame") > whole.size && whole.is_number())
        c.wrong("a frame is longer than the signal");
    const auto n = sum_of(whole), rest = n ? plus(*n, *sum_of(size_entry(length - step)), -1) : std::nullopt,
               frames = rest ? part_of(c, *rest, step, false) : std::nullopt; // (n - length) / step + 1
    const any_tensor first = frames ? counted_to(c, *frames, element_type::int64, {}) : any_tensor();
    if (!first.node()) (void)number_of(c, whole, "the length"); // which complains
    const any_tensor places =
        untyped::add(untyped::expand_dims(untyped::multiply(first, step), {1}), numbers_to(c, length));
    any_tensor all = untyped::gather(x, places, 1); // [batch, frames, length, parts]
    if (c.has(2)) all = untyped::multiply(all, untyped::expand_dims(untyped::cast(c.x(2), all.element()), {1}));
    const bool real = x.extents()[2] == extent(1);
    c.give(untyped::cast(spectrum(c, all, real && c.integer("onesided", 1) != 0), c.x().element()));
}

// a - b cos(2 pi i / n) + d cos(4 pi i / n)
inline void cosine_window(const call& c, double a, double b, double d) {
    const std::int64_t n = within(c, c.integer(0, "the size"), 0, max_computed, "the size");
    const element_type e = element_of(c.integer("output_datatype", 1));
    if (!is_floating(e)) c.refuse("windows of numbers that are not floating");
    const double period = static_cast<double>(c.integer("periodic", 1) != 0 ? n : n - 1);
    std::vector<double> list;
    for (std::int64_t i = 0; i < n; ++i) {
        const double at = period > 0 ? 2 * std::numbers::pi * static_cast<double>(i) / period : std::numbers::pi;
        list.push_back(a - b * std::cos(at) + d * std::cos(2 * at));
    }
    c.give(float_constant(list, {n}, e));
}

// Triangles over the frequencies of a transform, evenly far from each other on the mel scale.
inline void mel_weights(const call& c) {
    const std::int64_t bands = within(c, c.integer(0, "the number of bands"), 1, 1 << 16, "the number of bands"),
                       length = within(c, c.integer(1, "the length"), 1, 1 << 24, "the length"),
                       rate = within(c, c.integer(2, "the sample rate"), 1, std::int64_t{1} << 40, "the sample rate"),
                       bins = length / 2 + 1;
    const double low = c.real(3, "the lowest frequency"), high = c.real(4, "the highest frequency");
    if (!(low >= 0 && high >= low && high < 1e12)) c.wrong("its frequencies are none");
    const element_type e = element_of(c.integer("output_datatype", 1));
    if (!is_floating(e)) c.refuse("weights that are not floating");
    const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
    const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
    std::vector<std::int64_t> edges;
    for (std::int64_t i = 0; i < bands + 2; ++i) {
        const double f = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
        edges.push_back(within(
            c, static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * f / static_cast<double>(rate))),
            0, bins - 1, "a frequency's place"));
    }
    (void)within(c, (checked_size(bins) * bands).saturated(), 0, max_computed, "the number of weights");
    std::vector<double> weights(static_cast<std::size_t>(bins * bands));
    for (std::int64_t b = 0; b < bands; ++b) {
        const auto at = [&](std::int64_t k) { return edges[static_cast<std::size_t>(b + k)]; };
        const auto weight = [&](std::int64_t bin) -> double& {
            return weights[static_cast<std::size_t>(bin * bands + b)];
        };
        for (std::int64_t i = at(0); i <= at(1); ++i)
            weight(i) = at(1) == at(0) ? 1 : static_cast<double>(i - at(0)) / static_cast<double>(at(1) - at(0));
        for (std::int64_t i = at(1); i < at(2); ++i)
            weight(i) = static_cast<double>(at(2) - i) / static_cast<double>(at(2) - at(1));
    }
    c.give(float_constant(weights, {bins, bands}, e));
}

TENON_INLINE std::vector<entry> signal_operators() {
    return {{"BlackmanWindow", [](const call& c) { cosine_window(c, 0.42, 0.5, 0.08); }},
            {"DFT", fourier},
            {"HammingWindow", [](const call& c) { cosine_window(c, 25.0 / 46, 21.0 / 46, 0); }},
            {"HannWindow", [](const call& c) { cosine_window(c, 0.5, 0.5, 0); }},
            {"MelWeightMatrix", mel_weights},
            {"STFT", short_time_fourier}};
}

} // namespace tenon::detail::onnx
