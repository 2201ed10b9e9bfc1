#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>

/// Resizing of ONNX, one dimension after the other: each new element is a sum of `taps` old ones by weights, which sizes alone decide.

namespace tenon::detail::onnx {

struct resized_axis {
    std::vector<std::int64_t> places; // taps times the new size
    std::vector<double> weights;
    std::vector<double> inside; // 1, or 0 for what is outside of the image: of a part of an image
    std::int64_t size = 0;
    int taps = 1;
};
struct resize_way {
    std::string mode, coordinates, nearest;
    double cubic = -0.75;
    bool exclude_outside = false, antialias = false;

    bool is_part() const { return coordinates == "tf_crop_and_resize"; }
};
// What becomes of one dimension: its sizes, how much larger it is, and the part of it that is looked at.
struct resize_side {
    std::int64_t from = 0, to = 0;
    double scale = 1, begin = 0, end = 1;

    // The place of a new element among the old ones.
    double place(const resize_way& how, double i) const {
        const auto n = static_cast<double>(from), m = static_cast<double>(to);
        const double middle = (i + 0.5) / scale - 0.5; // half_pixel
        if (how.coordinates == "asymmetric") return i / scale;
        if (how.coordinates == "align_corners") return scale * n > 1 ? i * (n - 1) / (scale * n - 1) : 0;
        if (how.coordinates == "pytorch_half_pixel") return to > 1 ? middle : 0;
        if (how.coordinates == "half_pixel_symmetric") return n / 2 * (1 - m / (scale * n)) + middle;
        if (how.is_part()) return (n - 1) * (begin + (to > 1 ? i * (end - begin) / (m - 1) : (end - begin) / 2));
        return middle;
    }
};

inline double nearest_of(double at, const std::string& how) {
    if (how == "floor") return std::floor(at);
    if (how == "ceil") return std::ceil(at);
    if (how == "round_prefer_ceil") return std::floor(at + 0.5);
    return std::ceil(at - 0.5); // round_prefer_floor
}
inline double cubic_weight(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
inline resized_axis resize_axis(const call& c, const resize_way& how, const resize_side& side) {
    resized_axis r;
    r.size = side.to;
    // Without aliasing, what is made smaller is a mean over as much as becomes one.
    const double narrow = how.antialias ? std::min(side.scale, 1.0) : 1;
    const int half = how.mode == "nearest" ? 0 : how.mode == "linear" ? 1 : 2;
    if (!(narrow > 0)) c.wrong("a scale is " + detail::text_of_number(side.scale));
    const auto reach = static_cast<int>(within(c, static_cast<std::int64_t>(std::min(std::ceil(half / narrow), 1e9)), 0,
                                               4096, "the number of elements that become one"));
    r.taps = half == 0 ? 1 : 2 * reach;
    (void)within(c, (checked_size(r.taps) * side.to).saturated(), 0, max_computed, "the number of weights");
    const auto n = static_cast<double>(side.from);
    const auto kept = [&](double place) { return static_cast<std::int64_t>(std::clamp(place, 0.0, n - 1)); };
    std::vector<double> weights(static_cast<std::size_t>(r.taps));
    for (std::int64_t i = 0; i < side.to; ++i) {
        const double at = side.place(how, static_cast<double>(i));
        r.inside.push_back(at >= 0 && at <= n - 1 ? 1 : 0);
        if (r.taps == 1) {
            r.places.push_back(kept(nearest_of(at, how.nearest)));
            r.weights.push_back(1);
            continue;
        }
        const double first = std::floor(at) - (reach - 1);
        double sum = 0;
        for (int t = 0; t < r.taps; ++t) {
            const double place = first + t, distance = (at - place) * narrow;
            double& w = weights[static_cast<std::size_t>(t)];
            w = half == 1 ? std::max(1 - std::abs(distance), 0.0) : cubic_weight(distance, how.cubic);
            if (how.exclude_outside && (place < 0 || place >= n)) w = 0;
            sum += w;
        }
        for (int t = 0; t < r.taps; ++t) {
            r.places.push_back(kept(first + t));
            r.weights.push_back(weights[static_cast<std::size_t>(t)] / sum);
        }
    }
    return r;
}
// A factor for each element along an axis.
inline any_tensor factors_along(const std::vector<double>& list, int axis, const any_tensor& x) {
    extents beside;
    for (int d = axis; d < x.rank(); ++d) beside.push_back(d == axis ? static_cast<std::int64_t>(list.size()) : 1);
    return float_constant(list, beside, x.element());
}
inline any_tensor resized(const any_tensor& x, int axis, const resized_axis& r) {
    any_tensor sum;
    for (int t = 0; t < r.taps; ++t) {
        std::vector<std::int64_t> places;
        std::vector<double> weights;
        for (std::size_t i = static_cast<std::size_t>(t); i < r.places.size(); i += static_cast<std::size_t>(r.taps)) {
            places.push_back(r.places[i]);
            weights.push_back(r.weights[i]);
        }
        const any_tensor part = untyped::gather(x, integer_constant(places, {r.size}), axis);
        if (r.taps == 1) return part;
        const any_tensor weighted = untyped::multiply(part, factors_along(weights, axis, x));
        sum = sum.node() ? untyped::add(sum, weighted) : weighted;
    }
    return sum;
}

// As many trues as there are new elements: sizes are those of a step, or a scale, which is a fraction of small numbers, says them.
inline any_tensor resized_like(const call& c, const any_tensor& x, int axis, const extent& to, double scale) {
    if (scale == 0) {
        if (to.is_number()) return untyped::zeros(element_type::boolean, {to.size});
        return c.of_sizes({to}, element_type::boolean, 0);
    }
    for (int q = 1; q <= 64; ++q) {
        const double p = std::round(scale * q);
        if (p < 1 || p > 4096 || std::abs(scale * q - p) > 1e-7 * p) continue;
        const any_tensor old =
            tenon::add<fill_sizes_op>({element_type::boolean, index_list{fill_sizes_op::copied(0, axis)}, 0}, {x});
        const any_tensor all = untyped::repeat(old, static_cast<int>(p), 0);
        if (q > 1) return untyped::slice(all, {{q - 1, unbounded, q}});
        return with_multiple(c, all, 0, x.extents()[axis], static_cast<std::int64_t>(p));
    }
    return {};
}
// A dimension of which a size is known in the step only: the places and weights of resize_axis are computed there, as doubles.
inline any_tensor resized_in_step(const call& c, const any_tensor& x, int axis, const resize_way& how, const extent& to,
                                  double scale) {
    const any_tensor like = resized_like(c, x, axis, to, scale);
    if (!like.node() || how.is_part() || how.exclude_outside || (how.antialias && how.mode != "nearest"))
        c.refuse("size " + to_string(x.extents()[axis]) + " becomes " + (scale == 0 ? to_string(to) : "another") +
                 ", which are known in the step only (say them in onnx_read_options::sizes)");
    using namespace untyped;
    constexpr auto wide = element_type::float64;
    const auto real = [](double v) { return scalar(v, wide); };
    const any_tensor i = arange_like(like, wide), n = untyped::cast(size_of_axis(x, axis), wide),
                     m = untyped::cast(size_of_axis(like, 0), wide), ratio = scale == 0 ? divide(m, n) : real(scale);
    any_tensor at = subtract(divide(add(i, real(0.5)), ratio), real(0.5)); // as resize_side::place
    if (how.coordinates == "asymmetric") at = divide(i, ratio);
    else if (how.coordinates == "align_corners")
        at = divide(multiply(i, subtract(n, real(1))),
                    untyped::maximum(subtract(multiply(ratio, n), real(1)), real(1e-30)));
    else if (how.coordinates == "pytorch_half_pixel") at = select(greater(m, real(1)), at, real(0));
    else if (how.coordinates == "half_pixel_symmetric")
        at = add(multiply(divide(n, real(2)), subtract(real(1), divide(m, multiply(ratio, n)))), at);
    const auto taken = [&](const any_tensor& place) {
        const any_tensor kept = untyped::minimum(untyped::maximum(place, real(0)), subtract(n, real(1)));
        return untyped::gather(x, untyped::cast(kept, element_type::int64), axis);
    };
    if (how.mode == "nearest") {
        if (how.nearest == "floor") return taken(floor(at));
        if (how.nearest == "ceil") return taken(ceil(at));
        if (how.nearest == "round_prefer_ceil") return taken(floor(add(at, real(0.5))));
        return taken(ceil(subtract(at, real(0.5))));
    }
    const any_tensor first = floor(at), right = subtract(at, first), left = subtract(real(1), right);
    std::vector<std::int64_t> beside{reshape_op::copied(0)};
    beside.resize(static_cast<std::size_t>(x.rank() - axis), 1);
    any_tensor sum;
    const auto add_tap = [&](double which, const any_tensor& weight) {
        const any_tensor w = reshaped(untyped::cast(weight, x.element()), beside);
        const any_tensor part = multiply(taken(add(first, real(which))), w);
        sum = sum.node() ? add(sum, part) : part;
    };
    if (how.mode == "linear") add_tap(0, left), add_tap(1, right);
    else { // cubic_weight of distances below 1, and from there to 2
        const double a = how.cubic;
        const auto near = [&](const any_tensor& d) {
            return add(multiply(subtract(multiply(d, real(a + 2)), real(a + 3)), multiply(d, d)), real(1));
        };
        const auto far = [&](const any_tensor& d) {
            const any_tensor line = add(multiply(subtract(multiply(d, real(a)), real(5 * a)), d), real(8 * a));
            return subtract(multiply(line, d), real(4 * a));
        };
        add_tap(-1, far(add(right, real(1))));
        add_tap(0, near(right));
        add_tap(1, near(left));
        add_tap(2, far(add(left, real(1))));
    }
    return sum;
}

// What a node says of the new sizes, a number for each axis that it names.
struct resize_request {
    /// own: the sizes before, in the model's order.
    resize_request(const call& c, const extents& own) : axes(c.integers("axes")) {
        const int rank = own.rank();
        if (axes.empty())
            for (int i = 0; i < rank; ++i) axes.push_back(i);
        for (std::int64_t& a : axes) a = axis_in(c, a, rank);
        const auto reals = [&](int i, const char* what) {
            const any_array a = c.known(i, what);
            std::vector<double> list;
            with_element(a.element(), [&]<class T>(const T&) {
                if constexpr (is_floating(element_type_of<T>))
                    for (std::int64_t k = 0; k < a.elements(); ++k) list.push_back(static_cast<double>(a.data<T>()[k]));
            });
            return list;
        };
        const int scale_input = c.node().op == "Upsample" || c.opset() < 11 ? 1 : 2;
        if (c.has(3)) {
            read_sizes(c, own);
            if (axes.empty()) return;
        }
        if (c.has(scale_input) && sizes.empty()) scales = reals(scale_input, "the scales");
        else if (const attribute_message* a = c.attribute("scales")) scales.assign(a->floats.begin(), a->floats.end());
        else if (c.attribute("height_scale") && rank == 4) // of set 1
            scales = {1, 1, c.real("height_scale", 1), c.real("width_scale", 1)};
        if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size())
            c.wrong("it says " + std::to_string(sizes.empty() ? scales.size() : sizes.size()) + " sizes for " +
                    std::to_string(axes.size()) + " dimensions");
        if (scale_input == 2 && c.has(1) && c.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
            part = reals(1, "the part");
            if (part.size() != 2 * axes.size()) c.wrong("its part has " + std::to_string(part.size()) + " numbers");
        }
    }
    // Sizes with names that stay as they are, as a batch's, need not be known.
    void read_sizes(const call& c, const extents& own) {
        const std::vector<std::int64_t> named = std::exchange(axes, {});
        const auto all = c.sizes_in_step(3);
        for (std::size_t i = 0; i < named.size(); ++i) {
            const extent& from = own[static_cast<int>(named[i])];
            const bool told = all && all->size() == named.size();
            if (told && from.is_named() && (*all)[i] == from) continue;
            axes.push_back(named[i]);
            if (told && ((*all)[i].is_number() || (*all)[i].is_named())) {
                sizes.push_back((*all)[i].size);
                said.push_back((*all)[i]);
            } else {
                sizes = c.integers(3, "the new sizes");
                said.assign(sizes.begin(), sizes.end());
                axes = named;
                return;
            }
        }
    }
    // One scale for all, so that nothing is larger than its size, or nothing smaller.
    void keep_proportions(const call& c, const any_tensor& x, const std::string& policy) {
        if (policy == "stretch" || sizes.empty()) return;
        if (policy != "not_larger" && policy != "not_smaller")
            c.wrong("its keep_aspect_ratio_policy is \"" + policy + '"');
        double scale = 0;
        const auto own = [&](std::size_t i) {
            return static_cast<double>(std::max<std::int64_t>(
                number_of(c, x.extents()[static_cast<int>(axes[i])], "a size that is changed"), 1));
        };
        for (std::size_t i = 0; i < axes.size(); ++i) {
            (void)number_of(c, said[i], "a new size");
            const double ratio = static_cast<double>(sizes[i]) / own(i);
            scale = i == 0 ? ratio : policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
        }
        for (std::size_t i = 0; i < axes.size(); ++i)
            sizes[i] = static_cast<std::int64_t>(std::min(std::floor(scale * own(i) + 0.5), 1e15));
        scales.assign(axes.size(), scale);
    }

    std::vector<std::int64_t> axes, sizes; // -1: known in the step
    std::vector<extent> said;              // where sizes are
    std::vector<double> scales, part;      // the part: where it begins, then where it ends
};

inline void resize(const call& c) {
    resize_way how{c.text("mode", "nearest"),
                   c.text("coordinate_transformation_mode", c.opset() < 11 ? "asymmetric" : "half_pixel"),
                   c.text("nearest_mode", c.opset() < 11 ? "floor" : "round_prefer_floor"),
                   c.real("cubic_coeff_a", -0.75),
                   c.integer("exclude_outside", 0) != 0,
                   c.integer("antialias", 0) != 0};
    if (how.mode == "bilinear") how.mode = "linear"; // of Upsample
    if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") c.refuse("mode \"" + how.mode + '"');
    const bool last = c.is_last(0);
    any_tensor x = last ? c.last() : c.x();
    extents own = x.extents();
    if (last) {
        own.insert(1, own[3]);
        own.erase(4);
    }
    resize_request asked(c, own);
    if (last)
        for (std::int64_t& a : asked.axes) a = a == 0 ? 0 : a == 1 ? 3 : a - 1;
    asked.keep_proportions(c, x, c.text("keep_aspect_ratio_policy", "stretch"));
    any_tensor inside;
    for (std::size_t i = 0; i < asked.axes.size(); ++i) {
        const int axis = static_cast<int>(asked.axes[i]);
        const bool by_scale = asked.sizes.empty();
        if (by_scale && asked.scales[i] == 1 && asked.part.empty()) continue;
        if (!x.extents()[axis].is_number() || (!by_scale && asked.sizes[i] < 0)) {
            x = resized_in_step(c, x, axis, how, by_scale ? extent{} : asked.said[i], by_scale ? asked.scales[i] : 0);
            continue;
        }
        resize_side side;
        side.from = number_of(c, x.extents()[axis], "a size that is changed");
        if (side.from < 1) c.wrong("there is nothing to resize along axis " + std::to_string(axis));
        if (!asked.part.empty()) {
            side.begin = asked.part[i];
            side.end = asked.part[asked.axes.size() + i];
        }
        const auto n = static_cast<double>(side.from);
        const double exact =
            by_scale ? n * (side.end - side.begin) * asked.scales[i] : static_cast<double>(asked.sizes[i]);
        if (!(exact >= 0 && exact <= static_cast<double>(max_folded)))
            c.wrong("a new size is " + detail::text_of_number(exact));
        side.to = static_cast<std::int64_t>(exact);
        side.scale = asked.scales.empty() ? exact / n : asked.scales[i];
        if (side.to == side.from && side.begin == 0 && side.end == 1 && (!by_scale || side.scale == 1)) continue;
        const resized_axis r = resize_axis(c, how, side);
        x = resized(x, axis, r);
        if (how.is_part() && std::count(r.inside.begin(), r.inside.end(), 0.0) > 0) {
            const any_tensor along = factors_along(r.inside, axis, x);
            inside = inside.node() ? untyped::multiply(inside, along) : along;
        }
    }
    if (inside.node())
        x = untyped::select(untyped::greater(inside, scalar_like(0, inside)), x,
                            scalar_like(c.real("extrapolation_value", 0), x));
    last ? c.give_last(x) : c.give(x);
}

TENON_INLINE std::vector<entry> resize_operators() { return {{"Resize", resize}, {"Upsample", resize}}; }

} // namespace tenon::detail::onnx
