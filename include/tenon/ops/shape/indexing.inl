#pragma once

#include <cstring>
#include <memory>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/dense/strided_copy.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/shape/copied_view.hpp>
#include <tenon/ops/shape/placed_copy_kernel.hpp>

/// The CPU kernels of ops/shape/indexing.hpp.

namespace tenon {

namespace detail {

/// x's slice and a tensor of the slice's sizes: copied from the slice, or into it (then the rest of x is zero).
inline kernel_pointer prepare_slice(const slice_op::attributes& a, const tensor_type& x, const extents& part,
                                    bool into) {
    const regular_part in_x = slice_op::part(a, x.extents, part);
    const row_major_steps part_steps(part);
    copied_dimension dims[max_rank];
    for (int i = 0; i < part.rank(); ++i)
        dims[i] = {part[i].size, into ? part_steps[i] : in_x.strides[i], into ? in_x.strides[i] : part_steps[i]};
    const std::size_t bytes = size_of(x.element);
    return std::make_unique<placed_copy_kernel>(strided_copy(dims, part.rank(), bytes), bytes, into ? 0 : in_x.first,
                                                into ? in_x.first : 0, into ? x.extents.elements() : 0, 0);
}

template <class T> class tile_gradient_kernel final : public kernel {
    using C = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

public:
    explicit tile_gradient_kernel(const kernel_setup& s) :
        sizes_(s.inputs[1].extents), counts_(decode<tile_op::attributes>(s.attrs).counts), steps_(s.inputs[0].extents) {
        if (s.inputs[0].extents.elements() == 0) repetitions_ = 0;
        for (int i = 0; i < counts_.count && repetitions_ > 0; ++i) repetitions_ *= counts_[i];
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const T* g = r.input<T>(0);
        T* out = r.output<T>(0);
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                std::int64_t at = 0, rest = i;
                for (int d = sizes_.rank(); d-- > 0; rest /= sizes_[d].size) at += rest % sizes_[d].size * steps_[d];
                C sum{};
                for (std::int64_t k = 0; k < repetitions_; ++k) {
                    std::int64_t shift = 0;
                    rest = k;
                    for (int d = sizes_.rank(); d-- > 0; rest /= counts_[d])
                        shift += rest % counts_[d] * sizes_[d].size * steps_[d];
                    sum = static_cast<C>(sum + static_cast<C>(g[at + shift]));
                }
                out[i] = static_cast<T>(sum);
            }
        };
        const std::int64_t n = sizes_.elements();
        parallel_for(r.pool, n, 1 + 8192 / (repetitions_ + 1), some);
    }
    double cost() const override { return 50 + 4.0 * static_cast<double>(sizes_.elements() * (1 + repetitions_)); }

private:
    extents sizes_;
    index_list counts_;
    row_major_steps steps_;
    std::int64_t repetitions_ = 1;
};

template <class T> class one_hot_kernel final : public kernel {
public:
    explicit one_hot_kernel(const kernel_setup& s) : type_(s.outputs[0]) {
        const auto a = decode<one_hot_op::attributes>(s.attrs);
        const int axis = axis_of(a.axis, type_.extents.rank());
        depth_ = a.depth;
        for (int i = axis + 1; i < type_.extents.rank(); ++i) inner_ *= type_.extents[i].size;
        count_ = s.inputs[0].extents.elements();
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::size_t bytes = size_of(type_.element);
        fill_memory(r.out[0], type_.extents.elements(), bytes, 0, r.pool);
        const std::uint64_t unit = bits_of_number(1, type_.element);
        for (std::int64_t i = 0; i < count_; ++i) {
            const T k = r.input<T>(0)[i];
            if (!(k >= T{0} && static_cast<std::uint64_t>(k) < static_cast<std::uint64_t>(depth_))) continue;
            const std::int64_t at = (i / inner_ * depth_ + static_cast<std::int64_t>(k)) * inner_ + i % inner_;
            std::memcpy(r.output<std::byte>(0) + static_cast<std::size_t>(at) * bytes, &unit, bytes);
        }
    }
    double cost() const override {
        return 50 + 2 * static_cast<double>(count_) + 0.1 * static_cast<double>(count_ * depth_);
    }

private:
    tensor_type type_;
    std::int64_t depth_ = 0, inner_ = 1, count_ = 0;
};

} // namespace detail

TENON_INLINE regular_part slice_op::part(const attributes& a, const extents& x, const extents& sliced) {
    const detail::row_major_steps steps(x);
    regular_part p;
    for (int i = 0; i < x.rank(); ++i) {
        const range r = a.of(i);
        // A step of which none is taken may be of any size.
        p.strides.push_back(sliced[i].size > 1 ? r.step * steps[i] : steps[i]);
        if (sliced[i].size > 0) p.first += detail::bound_range(r, x[i]).first * steps[i];
    }
    return p;
}
TENON_INLINE kernel_pointer slice_op::prepare(const kernel_setup& s) {
    return detail::prepare_slice(decode<attributes>(s.attrs), s.inputs[0], s.outputs[0].extents, false);
}
TENON_INLINE kernel_pointer slice_gradient_op::prepare(const kernel_setup& s) {
    return detail::prepare_slice(decode<attributes>(s.attrs), s.inputs[1], s.inputs[0].extents, true);
}
TENON_INLINE kernel_pointer reverse_op::prepare(const kernel_setup& s) {
    const extents& x = s.inputs[0].extents;
    const detail::axis_set axes = detail::axes_or_all(decode<attributes>(s.attrs).axes, x.rank());
    slice_op::attributes a;
    for (int i = 0; i < x.rank(); ++i) {
        a.begins.push_back(unbounded);
        a.ends.push_back(unbounded);
        a.steps.push_back(axes.has(i) ? -1 : 1);
    }
    return detail::prepare_slice(a, s.inputs[0], x, false);
}
TENON_INLINE kernel_pointer pad_op::prepare(const kernel_setup& s) {
    const attributes a = decode<attributes>(s.attrs);
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    const detail::row_major_steps x_steps(x), out_steps(out);
    std::int64_t offset = 0;
    detail::copied_dimension dims[max_rank];
    for (int i = 0; i < x.rank(); ++i) {
        dims[i] = {x[i].size, x_steps[i], out_steps[i]};
        if (i < a.before.count) offset += a.before[i] * out_steps[i];
    }
    const element_type e = s.inputs[0].element;
    const bool changes = !(x == out);
    return std::make_unique<detail::placed_copy_kernel>(detail::strided_copy(dims, x.rank(), size_of(e)), size_of(e), 0,
                                                        x.elements() == 0 ? 0 : offset, changes ? out.elements() : 0,
                                                        detail::bits_of_number(a.value, e));
}
TENON_INLINE kernel_pointer tile_op::prepare(const kernel_setup& s) {
    const detail::copied_view v =
        detail::tiled_view(s.inputs[0].extents, decode<attributes>(s.attrs).counts, s.outputs[0].extents);
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<detail::placed_copy_kernel>(detail::strided_copy(v.dims, v.rank, bytes), bytes, 0, 0, 0, 0);
}
TENON_INLINE kernel_pointer tile_gradient_op::prepare(const kernel_setup& s) {
    const element_type e = detail::without_sign(s.inputs[0].element);
    return detail::kernel_for<detail::tile_gradient_kernel>(detail::signless_list{}, e, s);
}
TENON_INLINE kernel_pointer one_hot_op::prepare(const kernel_setup& s) {
    return detail::kernel_for<detail::one_hot_kernel>(detail::integer_list{}, s.inputs[0].element, s);
}

} // namespace tenon
