#pragma once

#include <algorithm>
#include <functional>
#include <limits>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_windows.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/windows.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Pools of ONNX. Tenon's own do what they can; the others (indices, integers, means that count padding, norms) are put together
/// of the elements at each place of a window, which are strided slices.

namespace tenon::detail::onnx {

struct pool_windows {
    explicit pool_windows(const call& of) : c(of), kernel(c.integers("kernel_shape")) {
        rank = c.is_last(0) ? 4 : c.x().rank();
        if (rank < 3 || rank > 5) c.wrong("its input has " + std::to_string(rank) + " dimensions; 3 to 5 are needed");
        if (kernel.size() != static_cast<std::size_t>(rank) - 2)
            c.wrong("its window has " + std::to_string(kernel.size()) + " sizes");
        for (const std::int64_t k : kernel)
            if (small(c, k, "a size of its window") < 1) c.wrong("a size of its window is 0");
        const any_tensor x = rank == 4 && c.is_last(0) ? c.last() : c.x();
        for (int i = 2; i < rank; ++i) sizes.push_back(x.extents()[rank == 4 && c.is_last(0) ? i - 1 : i]);
        sides = window_sides(c, sizes, kernel);
        inner = sides;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            padded = padded || sides[i].before != 0 || sides[i].after != 0;
            far = far || sides[i].before >= reach(i) || sides[i].after >= reach(i);
        }
        if (c.integer("ceil_mode", 0) != 0)
            for (std::size_t i = 0; i < kernel.size(); ++i) round_up(i);
    }
    std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * sides[i].dilation + 1; }
    std::int64_t size(std::size_t i) const {
        return within(c, number_of(c, sizes[i], "a size of the image"), 0, std::int64_t{1} << 30,
                      "a size of the image");
    }
    // A window for what is left over, but none that would begin in the padding behind the image.
    void round_up(std::size_t i) {
        window_side& s = sides[i];
        if (!sizes[i].is_number()) { // the last window is cut off nowhere if it begins in the image whatever its size
            if (s.after + s.stride > reach(i)) (void)size(i); // which complains
            s.after += s.stride - 1;
            far = far || s.after >= reach(i);
            return;
        }
        const std::int64_t room = size(i) + s.before + s.after - reach(i);
        if (room < 0) return;
        std::int64_t windows = (room + s.stride - 1) / s.stride + 1;
        if ((windows - 1) * s.stride >= size(i) + s.before) --windows;
        const std::int64_t more = (windows - 1) * s.stride - room;
        s.after += std::max<std::int64_t>(more, 0);
        far = far || s.after >= reach(i);
    }
    std::int64_t windows(std::size_t i) const {
        const std::int64_t room = size(i) + sides[i].before + sides[i].after - reach(i);
        if (room < 0) c.wrong("its window is larger than the image");
        return room / sides[i].stride + 1;
    }
    // f with the elements at each place of the windows, row after row, and how far that place is from the first one in an image, whose
    // dimensions are `steps` apart.
    template <class F> void each_place(const number& outside, const std::vector<std::int64_t>& steps, F&& f) const {
        std::vector<margin> around(static_cast<std::size_t>(rank));
        for (std::size_t i = 0; i < kernel.size(); ++i) around[i + 2] = {sides[i].before, sides[i].after};
        const any_tensor x = untyped::pad(c.x(), around, outside);
        std::vector<std::int64_t> at(kernel.size());
        std::int64_t places = 1;
        for (const std::int64_t k : kernel) places = within(c, places * k, 1, 4096, "the number of places in a window");
        for (std::int64_t p = 0; p < places; ++p) {
            std::vector<range> ranges(static_cast<std::size_t>(rank));
            std::int64_t left = p, distance = 0;
            for (std::size_t i = kernel.size(); i-- > 0; left /= kernel[i]) {
                const std::int64_t from = left % kernel[i] * sides[i].dilation;
                distance += from * steps[i];
                ranges[i + 2] = {from, from + (windows(i) - 1) * sides[i].stride + 1, sides[i].stride};
            }
            f(untyped::slice(x, ranges), distance);
        }
    }
    any_tensor sum_of_places(const std::function<any_tensor(const any_tensor&)>& of) const {
        any_tensor sum;
        each_place(0, std::vector<std::int64_t>(kernel.size()),
                   [&](const any_tensor& x, std::int64_t) { sum = sum.node() ? untyped::add(sum, of(x)) : of(x); });
        return sum;
    }
    // How many elements of the image, or of it and what was asked to be around it, each window has.
    any_tensor counts(bool padding, element_type e) const {
        any_tensor all;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            const std::int64_t low = padding ? -inner[i].before : 0, high = size(i) + (padding ? inner[i].after : 0);
            std::vector<double> list;
            const std::int64_t all_windows = within(c, windows(i), 0, max_computed, "the number of windows");
            (void)within(c, (checked_size(all_windows) * kernel[i]).saturated(), 0, max_folded,
                         "the places of all windows");
            for (std::int64_t w = 0; w < all_windows; ++w) {
                std::int64_t n = 0;
                for (std::int64_t k = 0; k < kernel[i]; ++k) {
                    const std::int64_t at = w * sides[i].stride - sides[i].before + k * sides[i].dilation;
                    n += at >= low && at < high;
                }
                list.push_back(static_cast<double>(n));
            }
            extents beside;
            for (std::size_t k = i; k < kernel.size(); ++k)
                beside.push_back(k == i ? static_cast<std::int64_t>(list.size()) : 1);
            const any_tensor along = float_constant(list, beside, e);
            all = all.node() ? untyped::multiply(all, along) : along;
        }
        return all;
    }

    // By Tenon's own; what was asked to be around the image is left out, or counts as zeros.
    any_tensor plain(bool average, bool zeros = false) const {
        const auto of = [&](std::int64_t n) { return small(c, n, "a number of the window"); };
        const auto at = [&](const auto& list, std::size_t i) { return of(list[i]); };
        any_tensor x = rank == 4 ? c.last() : channels_last(c.x());
        std::vector<window_side> left = sides;
        if (zeros) {
            std::vector<margin> around(static_cast<std::size_t>(rank));
            for (std::size_t i = 0; i < kernel.size(); ++i) {
                around[i + 1] = {inner[i].before, inner[i].after};
                left[i].before -= inner[i].before;
                left[i].after -= inner[i].after;
            }
            x = untyped::pad(x, around, 0);
        }
        if (rank == 3) {
            const pool1d_options o{at(kernel, 0), of(left[0].stride),
                                   tenon::pad(0, 0, of(left[0].before), of(left[0].after)), false,
                                   of(left[0].dilation)};
            return average ? untyped::average_pool1d(x, o) : untyped::max_pool1d(x, o);
        }
        const window_side &h = left[left.size() - 2], &w = left.back();
        const padding plane = tenon::pad(of(h.before), of(h.after), of(w.before), of(w.after));
        if (rank == 4) {
            const pool2d_options o{{at(kernel, 0), at(kernel, 1)},
                                   {of(h.stride), of(w.stride)},
                                   plane,
                                   false,
                                   {of(h.dilation), of(w.dilation)}};
            return average ? untyped::average_pool2d(x, o) : untyped::max_pool2d(x, o);
        }
        const pool3d_options o{{at(kernel, 0), at(kernel, 1), at(kernel, 2)},
                               {of(left[0].stride), of(h.stride), of(w.stride)},
                               {plane, of(left[0].before), of(left[0].after)},
                               false,
                               {of(left[0].dilation), of(h.dilation), of(w.dilation)}};
        return average ? untyped::average_pool3d(x, o) : untyped::max_pool3d(x, o);
    }
    void give_plain(const any_tensor& y) const { rank == 4 ? c.give_last(y) : c.give(channels_second(y)); }

    const call& c;
    int rank = 0;
    std::vector<std::int64_t> kernel;
    std::vector<extent> sizes;
    std::vector<window_side> sides, inner; // with and without what is rounded up
    bool padded = false, far = false;
};

inline void max_pool(const call& c) {
    const pool_windows w(c);
    const element_type e = (c.is_last(0) ? c.last() : c.x()).element();
    if (!w.far && is_floating(e) && !c.wants(1)) return w.give_plain(w.plain(false));
    const number least = with_element(e, [&]<class T>(const T&) -> number {
        if constexpr (is_floating(element_type_of<T>)) return -std::numeric_limits<double>::infinity();
        else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return std::numeric_limits<T>::lowest();
        else c.wrong("its elements are no numbers");
    });
    const std::size_t count = w.kernel.size();
    std::vector<std::int64_t> steps(count, 1); // of places in the memory of an image
    const bool by_columns = c.integer("storage_order", 0) != 0;
    checked_size volume = 1;
    if (c.wants(1)) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t axis = by_columns ? i : count - 1 - i;
            steps[axis] = volume.saturated();
            volume *= w.size(axis);
        }
        (void)within(c, volume.saturated(), 0, std::int64_t{1} << 40, "the size of an image");
    }
    any_tensor best, where;
    w.each_place(least, steps, [&](const any_tensor& x, std::int64_t distance) {
        const any_tensor here = untyped::scalar(distance, element_type::int64);
        if (!best.node()) return void((best = x, where = here));
        if (c.wants(1)) where = untyped::select(untyped::greater(x, best), here, where);
        best = untyped::maximum(best, x);
    });
    c.give(best, 0);
    if (!c.wants(1)) return;
    const any_tensor images = untyped::arange_like(c.x(), element_type::int64, 0),
                     channels = untyped::arange_like(c.x(), element_type::int64, 1);
    any_tensor first = untyped::multiply(
        untyped::add(untyped::multiply(untyped::expand_dims(images, {1}), size_of_axis(c.x(), 1)), channels),
        volume.saturated());
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::int64_t> list;
        for (std::int64_t k = 0; k < within(c, w.windows(i), 0, max_computed, "the number of windows"); ++k)
            list.push_back((k * w.sides[i].stride - w.sides[i].before) * steps[i]);
        first = untyped::add(untyped::expand_dims(first, {-1}),
                             integer_constant(list, {static_cast<std::int64_t>(list.size())}));
    }
    c.give(untyped::add(first, where), 1);
}
inline void average_pool(const call& c) {
    const pool_windows w(c);
    const bool all = c.integer("count_include_pad", 0) != 0 && w.padded;
    if (!w.far) return w.give_plain(w.plain(true, all));
    const any_tensor sum = w.sum_of_places([](const any_tensor& x) { return x; });
    c.give(untyped::divide(sum, w.counts(all, sum.element())));
}
// Before set 2 it is a fraction.
inline double order_of_norm(const call& c) {
    const attribute_message* p = c.attribute("p");
    const double n = !p                                   ? 2
                     : p->type == attribute_message::real ? static_cast<double>(p->f)
                                                          : static_cast<double>(p->i);
    if (!(n >= 1 && n <= 1 << 20)) c.wrong("p is " + detail::text_of_number(n) + "; it may be from 1 to 2^20");
    return n;
}
inline any_tensor to_power(const any_tensor& x, double p) { // of what is not negative
    return p == 1 ? x : p == 2 ? untyped::multiply(x, x) : untyped::pow(x, scalar_like(p, x));
}
inline void norm_pool(const call& c) {
    const pool_windows w(c);
    const double p = order_of_norm(c);
    const any_tensor sum = w.sum_of_places([&](const any_tensor& x) { return to_power(untyped::abs(x), p); });
    c.give(p == 2 ? untyped::sqrt(sum) : to_power(sum, 1 / p));
}

template <any_tensor (*F)(const any_tensor&, const index_list&, bool, called_from)> void global_pool(const call& c) {
    if (c.is_last(0)) return c.give_last(F(c.last(), {1, 2}, true, caller()));
    const any_tensor x = c.x();
    index_list axes;
    for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
    c.give(axes.count == 0 ? x : F(x, axes, true, caller()));
}
inline void global_norm_pool(const call& c) {
    const any_tensor x = c.x();
    const double p = order_of_norm(c);
    index_list axes;
    for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
    c.give(axes.count == 0 ? untyped::abs(x) : to_power(untyped::sum(to_power(untyped::abs(x), p), axes, true), 1 / p));
}

// Elements go back to where the largest were found.
inline void max_unpool(const call& c) {
    const any_tensor x = c.x(), at = c.x(1);
    const std::vector<std::int64_t> kernel = c.integers("kernel_shape");
    if (x.rank() != static_cast<int>(kernel.size()) + 2 || kernel.empty())
        c.wrong("its window has " + std::to_string(kernel.size()) + " sizes");
    std::vector<extent> sizes;
    for (int i = 2; i < x.rank(); ++i) sizes.push_back(x.extents()[i]);
    const std::vector<window_side> sides = window_sides(c, sizes, kernel);
    extents whole{x.extents()[0], x.extents()[1]};
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        const std::int64_t n =
            within(c, number_of(c, sizes[i], "a size of the image"), 1, max_folded, "a size of the image");
        whole.push_back(within(c, (n - 1) * sides[i].stride - sides[i].before - sides[i].after + kernel[i], 0,
                               max_folded, "a size of the result"));
    }
    if (!whole.is_static()) c.refuse("sizes that are known in the step only");
    const any_tensor flat =
        untyped::zeros(x.element(), {within(c, whole.elements(), 0, std::int64_t{1} << 40, "the size of the result")});
    any_tensor y = untyped::reshape(
        untyped::scatter_along_axis(flat, reshaped(at, {reshape_op::deduced}), reshaped(x, {reshape_op::deduced}), 0),
        whole);
    if (c.has(2)) {
        const std::vector<std::int64_t> wanted = c.integers(2, "the new shape");
        if (wanted.size() != static_cast<std::size_t>(x.rank()))
            c.wrong("the new shape has " + std::to_string(wanted.size()) + " sizes");
        std::vector<margin> more;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            more.push_back(
                {0, within(c, wanted[i] - whole[static_cast<int>(i)].size, 0, max_folded, "what is added to a size")});
        y = untyped::pad(y, more);
    }
    c.give(y);
}

TENON_INLINE std::vector<entry> pool_operators() {
    return {{"AveragePool", average_pool},
            {"GlobalAveragePool", global_pool<untyped::mean>},
            {"GlobalLpPool", global_norm_pool},
            {"GlobalMaxPool", global_pool<untyped::max>},
            {"LpPool", norm_pool},
            {"MaxPool", max_pool},
            {"MaxUnpool", max_unpool}};
}

} // namespace tenon::detail::onnx
