#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_windows.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/windows.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Convolutions of ONNX, and transposed ones.

namespace tenon::detail::onnx {

TENON_INLINE int small(const call& c, std::int64_t n, const char* what) {
    if (n < 0 || n > (1 << 20)) c.wrong(std::string(what) + " is " + std::to_string(n));
    return static_cast<int>(n);
}
TENON_INLINE std::vector<window_side> window_sides(const call& c, const std::vector<extent>& sizes,
                                                   const std::vector<std::int64_t>& kernel) {
    const std::size_t count = kernel.size();
    const auto list = [&](const char* name, std::int64_t otherwise, std::size_t n) {
        std::vector<std::int64_t> l = c.integers(name);
        if (l.empty()) l.assign(n, otherwise);
        if (l.size() != n)
            c.wrong(std::string(name) + " has " + std::to_string(l.size()) + " numbers; " + std::to_string(n) +
                    " are needed");
        for (const std::int64_t v : l) (void)small(c, v, name);
        return l;
    };
    const auto strides = list("strides", 1, count), dilations = list("dilations", 1, count),
               pads = list("pads", 0, 2 * count);
    const std::string automatic = c.text("auto_pad", "NOTSET");
    std::vector<window_side> sides(count);
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        s = {strides[i], dilations[i], 0, 0};
        if (s.stride < 1 || s.dilation < 1) c.wrong("a stride or dilation is 0");
        if (automatic == "NOTSET") {
            s.before = pads[i];
            s.after = pads[i + count];
        } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
            const std::int64_t reach = (kernel[i] - 1) * s.dilation + 1;
            std::int64_t all = reach - 1; // of stride 1, whatever the size
            if (s.stride != 1) {
                const std::int64_t n = within(c, number_of(c, sizes[i], "a size of the image"), 0,
                                              std::int64_t{1} << 30, "a size of the image");
                all = std::max<std::int64_t>((std::max<std::int64_t>(n, 1) - 1) / s.stride * s.stride + reach - n, 0);
            }
            s.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
            s.after = all - s.before;
        } else if (automatic != "VALID") c.wrong("auto_pad is \"" + automatic + '"');
    }
    return sides;
}

TENON_INLINE any_tensor moved_windows(const call& c, const any_tensor& x, const any_tensor& w,
                                      const std::vector<window_side>& sides, int groups, bool transposed) {
    const auto of = [&](std::int64_t n) { return small(c, n, "a number of the window"); };
    if (sides.size() == 1) {
        const window_side& s = sides[0];
        const conv1d_options o{of(s.stride), tenon::pad(0, 0, of(s.before), of(s.after)), of(s.dilation), groups};
        return transposed ? untyped::conv1d_transpose(x, w, o) : untyped::conv1d(x, w, o);
    }
    const window_side &h = sides[sides.size() - 2], &v = sides.back();
    const padding plane = tenon::pad(of(h.before), of(h.after), of(v.before), of(v.after));
    if (sides.size() == 2) {
        const conv2d_options o{{of(h.stride), of(v.stride)}, plane, {of(h.dilation), of(v.dilation)}, groups};
        return transposed ? untyped::conv2d_transpose(x, w, o) : untyped::conv2d(x, w, o);
    }
    const window_side& d = sides[0];
    const conv3d_options o{{of(d.stride), of(h.stride), of(v.stride)},
                           {plane, of(d.before), of(d.after)},
                           {of(d.dilation), of(h.dilation), of(v.dilation)},
                           groups};
    return transposed ? untyped::conv3d_transpose(x, w, o) : untyped::conv3d(x, w, o);
}

// The channels, dimension `from`, at `to`.
inline any_tensor moved_channels(const any_tensor& x, int from, int to) { return untyped::moveaxis(x, from, to); }
TENON_INLINE any_tensor channels_last(const any_tensor& x) { return moved_channels(x, 1, -1); }
TENON_INLINE any_tensor channels_second(const any_tensor& x) { return moved_channels(x, -1, 1); }
TENON_INLINE any_tensor beside_channels(const any_tensor& t, int rank) {
    index_list behind;
    for (int i = 1; i < rank - 1; ++i) behind.push_back(i);
    return behind.count == 0 ? t : untyped::expand_dims(t, behind);
}
TENON_INLINE any_tensor beside_outputs(const any_tensor& t, int rank) {
    return t.rank() == 0 ? t : beside_channels(t, rank + 1);
}
// [outputs, inputs, spatial..] as [spatial.., inputs, outputs].
inline any_tensor spatial_first(const any_tensor& w) {
    index_list axes;
    for (int i = 2; i < w.rank(); ++i) axes.push_back(i);
    axes.push_back(1);
    axes.push_back(0);
    return untyped::transpose(w, axes);
}

// Sizes after those of batch and channels.
inline std::vector<extent> spatial_sizes(const any_tensor& x, bool last) {
    std::vector<extent> sizes;
    for (int i = last ? 1 : 2; i < (last ? x.rank() - 1 : x.rank()); ++i) sizes.push_back(x.extents()[i]);
    return sizes;
}
inline std::vector<std::int64_t> kernel_of(const call& c, const any_tensor& x, const any_tensor& w) {
    if (x.rank() < 3 || x.rank() > 5)
        c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 3 to 5 are needed");
    if (w.rank() != x.rank())
        c.wrong("its weights have " + std::to_string(w.rank()) + " dimensions, its input " + std::to_string(x.rank()));
    std::vector<std::int64_t> kernel;
    for (int i = 2; i < w.rank(); ++i)
        kernel.push_back(small(c, number_of(c, w.extents()[i], "a size of the weights"), "a size of the weights"));
    return kernel;
}

TENON_INLINE any_tensor convolved(const call& c, const any_tensor& x, const any_tensor& w) {
    const std::vector<std::int64_t> kernel = kernel_of(c, x, w);
    return channels_second(moved_windows(c, channels_last(x), spatial_first(w),
                                         window_sides(c, spatial_sizes(x, false), kernel),
                                         small(c, c.integer("group", 1), "group"), false));
}

// Images are given with channels last, from where they are transposed when somebody asks for it.
inline void give_windows(const call& c, any_tensor y) {
    if (c.has(2)) y = untyped::add(y, c.x(2));
    if (y.rank() == 4) return c.give_last(y);
    c.give(channels_second(y));
}
inline void convolve(const call& c) {
    const any_tensor w = c.x(1);
    any_tensor x = w.rank() == 4 ? c.last() : channels_last(c.x());
    const std::vector<std::int64_t> kernel = kernel_of(c, x, w);
    const extent &channels = w.extents()[1], &own = x.extents()[x.rank() - 1];
    if (own.is_named() && channels.is_number()) // as the weights say, whatever the model calls it
        x = with_size_named(x, x.rank() - 1, channels.size * small(c, c.integer("group", 1), "group"));
    give_windows(c, moved_windows(c, x, spatial_first(w), window_sides(c, spatial_sizes(x, true), kernel),
                                  small(c, c.integer("group", 1), "group"), false));
}

inline void convolve_transposed(const call& c) {
    const any_tensor w = c.x(1), x = w.rank() == 4 ? c.last() : channels_last(c.x());
    const std::vector<std::int64_t> kernel = kernel_of(c, x, w);
    const std::size_t count = kernel.size();
    const std::vector<extent> sizes = spatial_sizes(x, true);
    std::vector<std::int64_t> more = c.integers("output_padding"), wanted = c.integers("output_shape");
    more.resize(count);
    for (const auto* list : {&more, &wanted})
        for (const std::int64_t n : *list) (void)small(c, n, "a size that is asked for");
    const std::string automatic = c.text("auto_pad", "NOTSET");
    std::vector<window_side> sides;
    if (automatic == "NOTSET" && wanted.empty()) sides = window_sides(c, sizes, kernel);
    else {
        std::vector<std::int64_t> strides = c.integers("strides"), dilations = c.integers("dilations");
        strides.resize(count, 1);
        dilations.resize(count, 1);
        if (wanted.size() > count) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(count));
        wanted.resize(wanted.empty() ? 0 : count, 1);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t n = within(c, number_of(c, sizes[i], "a size of the image"), 0, std::int64_t{1} << 30,
                                          "a size of the image");
            window_side s{small(c, strides[i], "a stride"), small(c, dilations[i], "a dilation"), 0, 0};
            const std::int64_t reach = (kernel[i] - 1) * s.dilation + 1;
            const std::int64_t target = !wanted.empty()        ? wanted[i]
                                        : automatic == "VALID" ? s.stride * (n - 1) + more[i] + reach
                                                               : n * s.stride;
            const std::int64_t all = s.stride * (n - 1) + more[i] + reach - target;
            s.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
            if (automatic == "NOTSET") s.before = all / 2;
            s.after = all - s.before;
            sides.push_back(s);
        }
    }
    std::vector<margin> outside(count + 2); // where more is asked for than windows reach
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        s.after -= more[i];
        if (s.after < 0) outside[i + 1].after = std::exchange(s.after, 0) * -1;
        if (s.before < 0) outside[i + 1].before = std::exchange(s.before, 0) * -1;
        any = any || outside[i + 1].after != 0 || outside[i + 1].before != 0;
    }
    const any_tensor y = moved_windows(c, x, spatial_first(w), sides, small(c, c.integer("group", 1), "group"), true);
    give_windows(c, any ? untyped::pad(y, outside) : y);
}

// Columns are put back to where windows took them, and added: a transposed convolution with each place of the window as a channel.
inline void columns_to_image(const call& c) {
    const any_tensor x = c.x();
    const std::vector<std::int64_t> image = c.integers(1, "the sizes of the image"),
                                    kernel = c.integers(2, "the window");
    const std::size_t count = kernel.size();
    if (x.rank() != 3 || image.size() != count || count < 1 || count > 3)
        c.refuse("columns of other than 1 to 3 dimensions");
    std::int64_t places = 1;
    std::vector<extent> sizes;
    for (std::size_t i = 0; i < count; ++i) {
        places = within(c, places * within(c, kernel[i], 1, 1 << 20, "a size of the window"), 1, 1 << 11,
                        "the window's size");
        sizes.emplace_back(within(c, image[i], 0, max_folded, "a size of the image"));
    }
    std::vector<window_side> sides = window_sides(c, sizes, kernel);
    const std::int64_t channels = number_of(c, x.extents()[1], "the number of channels");
    std::vector<std::int64_t> apart{reshape_op::deduced, places}, whole{reshape_op::copied(0), channels / places};
    std::vector<margin> outside(2 + count);
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        const std::int64_t room = image[i] + s.before + s.after - ((kernel[i] - 1) * s.dilation + 1);
        if (room < 0) c.wrong("its window is larger than the image");
        apart.push_back(room / s.stride + 1);
        whole.push_back(image[i]);
        if (const std::int64_t left = room % s.stride; left > s.after) {
            outside[1 + i].after = left - s.after; // pixels that no window saw
            s.after = 0;
        } else s.after -= left;
    }
    std::vector<std::int64_t> window = kernel;
    window.push_back(1);
    window.push_back(places);
    const any_tensor each = reshaped(untyped::eye(x.element(), places), window);
    any_tensor y = moved_windows(c, channels_last(reshaped(x, apart)), each, sides, 1, true);
    y = untyped::pad(y, outside);
    whole[0] = x.extents()[0].is_number() ? x.extents()[0].size : reshape_op::deduced;
    c.give(reshaped(y, whole));
}

TENON_INLINE std::vector<entry> window_operators() {
    return {{"Col2Im", columns_to_image}, {"Conv", convolve}, {"ConvTranspose", convolve_transposed}};
}

} // namespace tenon::detail::onnx
