#pragma once

#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/shape/indexing.hpp>

/// Padding with a tensor's own elements.
///
///     auto r = tn::pad<tn::margin{2, 1}>(x, tn::pad_mode::reflect); // [1, 2, 3] -> [3, 2, 1, 2, 3, 2]
///     auto e = tn::pad<tn::margin{2, 1}>(x, tn::pad_mode::edge);    // [1, 2, 3] -> [1, 1, 1, 2, 3, 3]
///     auto w = tn::pad<tn::margin{2, 1}>(x, tn::pad_mode::wrap);    // [1, 2, 3] -> [2, 3, 1, 2, 3, 1]
///
/// The names are NumPy's. (PyTorch says replicate for edge and circular for wrap.) pad with one value is in ops/shape/indexing.hpp.

namespace tenon {

/// What stands around a tensor that is padded.
enum class pad_mode {
    reflect, ///< what is mirrored at the first and the last element, which are not repeated: on and on, if need be
    edge,    ///< the first and the last element
    wrap,    ///< what comes in at the other end: on and on, if need be
    count_
};

namespace detail {
/// Which of n elements stands at place i, which may be outside 0 .. n-1.
constexpr std::int64_t continued_place(std::int64_t i, std::int64_t n, pad_mode mode) {
    if (mode == pad_mode::edge || n == 1) return i < 0 ? 0 : i < n ? i : n - 1;
    const std::int64_t period = mode == pad_mode::wrap ? n : 2 * (n - 1);
    const std::int64_t k = (i % period + period) % period;
    return k < n ? k : period - k;
}
} // namespace detail

/// in: x. x with elements before and after those of the axis, which are its own.
struct continue_axis_op {
    static constexpr const char* name = "continue_axis";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        int axis = 0;
        std::int64_t before = 0, after = 0;
        pad_mode mode = pad_mode::reflect;
    };
    static constexpr char nothing_to_continue[] = "an axis without elements cannot be padded with its own";
    static constexpr char padding_is_negative[] = "a padding is not negative";
    static int outputs(const attributes& a, int inputs);
    static constexpr inferred padded(const attributes& a, const tensor_type& x) {
        if (x.element == element_type::string) return fault::element_type_not_supported;
        const int axis = detail::axis_of(a.axis, x.extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        if (a.before < 0 || a.after < 0) return padding_is_negative;
        if (a.before == 0 && a.after == 0) return inferred(x);
        if (x.extents[axis] == extent(0)) return nothing_to_continue;
        const merged_extent more = extent_of_size(checked_size(a.before) + a.after);
        const merged_extent size = more.what == fault::none ? add_sizes(x.extents[axis], more.size) : more;
        if (size.what != fault::none) return size.what;
        extents sizes = x.extents;
        sizes[axis] = size.size;
        return inferred(x.element, sizes);
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 1 ? padded(a, in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(continued, continue_axis);

/// in: gradient of a continue_axis, x, whose value does not matter. What flows to each element of x: the sum of all places that it stands at,
/// in their order.
struct continue_axis_gradient_op {
    static constexpr const char* name = "continue_axis_gradient";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = continue_axis_op::attributes;
    static int outputs(const attributes& a, int inputs) { return continue_axis_op::outputs(a, inputs); }
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const inferred r = continue_axis_op::padded(a, in[1]);
        if (!r) return r;
        const merged_extents m = equal_shapes(r.type.extents, in[0].extents);
        return m.what == fault::none ? inferred(in[0].element, in[1].extents) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(continued, continue_axis_gradient);

namespace detail {
template <int Axis, margin First, margin... Rest, class X> auto continue_axes(const X& x, pad_mode mode) {
    using statics = constant_attributes<continue_axis_op::attributes{Axis, First.before, First.after}>;
    if constexpr (sizeof...(Rest) == 0)
        return apply_op<continue_axis_op, statics>({Axis, First.before, First.after, mode}, x);
    else
        return continue_axes<Axis + 1, Rest...>(
            apply_op<continue_axis_op, statics>({Axis, First.before, First.after, mode}, x), mode);
}
} // namespace detail

/// x with P.before and P.after elements around its leading dimensions, which are its own: `mode` says which. Sizes are x's and P's; of any
/// element type but strings. The gradient of an element is the sum over all places that it stands at. (One pass a dimension.)
template <margin... P, OperandOrIllShaped X> auto pad(const X& x, pad_mode mode, called_from here = caller()) {
    const making made(here);
    static_assert(((P.before >= 0 && P.after >= 0) && ...), "tenon::pad: a padding is not negative");
    static_assert(sizeof...(P) > 0 && sizeof...(P) <= max_rank, "tenon::pad: one to eight paddings are needed");
    return detail::continue_axes<0, P...>(x, mode);
}

namespace untyped {
any_tensor pad(const any_tensor& x, const std::vector<margin>& paddings, pad_mode mode, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_continued)

#include <algorithm>
#include <cstring>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor pad(const any_tensor& x, const std::vector<margin>& paddings, pad_mode mode, called_from here) {
    const making made(here);
    if (paddings.size() > max_rank) throw invalid_argument_error("pad: more than 8 paddings");
    any_tensor padded = x;
    for (std::size_t d = 0; d < paddings.size(); ++d)
        padded =
            tenon::add<continue_axis_op>({static_cast<int>(d), paddings[d].before, paddings[d].after, mode}, {padded});
    return padded;
}
} // namespace untyped

TENON_INLINE int continue_axis_op::outputs(const attributes& a, int) {
    if (a.mode < pad_mode::reflect || a.mode >= pad_mode::count_)
        detail::number_out_of_range("mode", static_cast<std::int64_t>(a.mode));
    return 1;
}
TENON_INLINE void continue_axis_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<continue_axis_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void continue_axis_gradient_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<continue_axis_op>(g.attributes<attributes>(), {g.output_gradient()}));
}

namespace detail {

// x and what it is padded to, as [outer, n, inner] and [outer, before + n + after, inner].
struct continued_axis {
    continued_axis(const kernel_setup& s, const extents& x) : how(decode<continue_axis_op::attributes>(s.attrs)) {
        const int axis = axis_of(how.axis, x.rank());
        n = x[axis].size;
        padded = how.before + n + how.after;
        for (int d = 0; d < x.rank(); ++d)
            if (d != axis) (d < axis ? outer : inner) *= x[d].size;
    }
    continue_axis_op::attributes how;
    std::int64_t outer = 1, n, padded, inner = 1;
};

struct continue_axis_kernel final : kernel {
    explicit continue_axis_kernel(const kernel_setup& s) :
        a(s, s.inputs[0].extents), bytes(static_cast<std::size_t>(a.inner) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || bytes == 0) return;
        const auto row = [&](std::int64_t o, std::int64_t from, std::int64_t to, std::int64_t count) {
            std::memcpy(r.output<std::byte>(0) + static_cast<std::size_t>(o * a.padded + to) * bytes,
                        r.input<std::byte>(0) + static_cast<std::size_t>(o * a.n + from) * bytes,
                        static_cast<std::size_t>(count) * bytes);
        };
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) {
                if (a.n > 0) row(o, 0, a.how.before, a.n);
                for (std::int64_t i = 0; i < a.padded; ++i) {
                    if (i == a.how.before) i += a.n;
                    if (i < a.padded) row(o, continued_place(i - a.how.before, a.n, a.how.mode), i, 1);
                }
            }
        };
        const auto row_bytes = static_cast<std::int64_t>(bytes) * a.padded;
        parallel_for(r.pool, a.outer, 1 + 65536 / (row_bytes + 1), some);
    }
    double cost() const override {
        return 30 + 0.1 * static_cast<double>(bytes) * static_cast<double>(a.outer * a.padded);
    }

    continued_axis a;
    std::size_t bytes; // of what lies inside the axis
};

template <class T> struct continue_axis_gradient_kernel final : kernel {
    using C = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
    explicit continue_axis_gradient_kernel(const kernel_setup& s) : a(s, s.inputs[1].extents) {}
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(a.outer * a.n * a.inner) * sizeof(C); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        C* const sums = reinterpret_cast<C*>(r.scratch);
        parallel_for(r.pool, a.outer, 1 + 16384 / (a.padded * a.inner + 1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) {
                C* const to = sums + o * a.n * a.inner;
                std::fill_n(to, a.n * a.inner, C{});
                for (std::int64_t i = 0; i < a.padded; ++i) {
                    const T* const from = r.input<T>(0) + (o * a.padded + i) * a.inner;
                    C* const at = to + continued_place(i - a.how.before, a.n, a.how.mode) * a.inner;
                    for (std::int64_t k = 0; k < a.inner; ++k) at[k] = wrapping_sum(at[k], static_cast<C>(from[k]));
                }
                for (std::int64_t k = 0; k < a.n * a.inner; ++k)
                    r.output<T>(0)[o * a.n * a.inner + k] = static_cast<T>(to[k]);
            }
        });
    }
    double cost() const override { return 30 + static_cast<double>(a.outer * a.padded * a.inner); }

    continued_axis a;
};

} // namespace detail

TENON_KERNEL(continue_axis, detail::continue_axis_kernel);
TENON_INLINE kernel_pointer continue_axis_gradient_op::prepare(const kernel_setup& s) {
    return detail::kernel_for<detail::continue_axis_gradient_kernel>(detail::signless_list{},
                                                                     detail::without_sign(s.inputs[0].element), s);
}

} // namespace tenon

#endif
