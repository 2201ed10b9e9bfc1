#include <cuda/kernels/shape/one_hot.hpp>
#include <cuda/kernels/shape/tile_gradient.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tenon::cuda {

namespace {

// Of a range of a dimension that gives `count` indices: the first of them, and the step to the next.
struct taken {
    taken(const range& r, const extent& of, std::int64_t count) :
        first(count > 0 ? tenon::detail::bound_range(r, of).first : 0),
        // A step of which none is taken may be of any size.
        step(count > 1 ? r.step : 1) {}
    std::int64_t first, step;
};

kernel_pointer slice_of(const slice_op::attributes& a, const kernel_setup& s) {
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    const regular_part part = slice_op::part(a, x, out);
    const tenon::detail::copied_view v = tenon::detail::part_view(part, out);
    const std::size_t bytes = size_of(s.outputs[0].element);
    return std::make_unique<strided_copy_kernel>(strided_copy(v.dims, v.rank, bytes), bytes, part.first);
}
kernel_pointer prepare_slice(const kernel_setup& s) { return slice_of(decode<slice_op::attributes>(s.attrs), s); }
kernel_pointer prepare_slice_gradient(const kernel_setup& s) {
    const auto a = decode<slice_op::attributes>(s.attrs);
    const extents &part = s.inputs[0].extents, &out = s.outputs[0].extents;
    const row_major_steps from(part);
    std::int64_t offset = 0;
    framed_dimension dims[max_rank];
    for (int i = 0; i < out.rank(); ++i) {
        const std::int64_t count = part[i].size;
        const taken t(a.of(i), out[i], count);
        if (t.step > 0) dims[i] = {out[i].size, t.first, count, t.step, from[i]};
        else { // from the last on
            dims[i] = {out[i].size, t.first + (count - 1) * t.step, count, -t.step, -from[i]};
            offset += (count - 1) * from[i];
        }
    }
    const std::size_t bytes = size_of(s.outputs[0].element);
    return std::make_unique<framed_copy_kernel>(framed_copy(dims, out.rank(), bytes, 0), bytes, offset);
}
kernel_pointer prepare_reverse(const kernel_setup& s) {
    const extents& x = s.inputs[0].extents;
    const tenon::detail::axis_set axes =
        tenon::detail::axes_or_all(decode<reverse_op::attributes>(s.attrs).axes, x.rank());
    slice_op::attributes a;
    for (int i = 0; i < x.rank(); ++i) {
        a.begins.push_back(unbounded);
        a.ends.push_back(unbounded);
        a.steps.push_back(axes.has(i) ? -1 : 1);
    }
    return slice_of(a, s);
}

kernel_pointer prepare_pad(const kernel_setup& s) {
    const auto a = decode<pad_op::attributes>(s.attrs);
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    const row_major_steps from(x);
    framed_dimension dims[max_rank];
    for (int i = 0; i < x.rank(); ++i)
        dims[i] = {out[i].size, i < a.before.count ? a.before[i] : 0, x[i].size, 1, from[i]};
    const element_type e = s.outputs[0].element;
    return std::make_unique<framed_copy_kernel>(framed_copy(dims, x.rank(), size_of(e), bits_of(a.value, e)),
                                                size_of(e));
}

kernel_pointer prepare_tile(const kernel_setup& s) {
    const index_list counts = decode<tile_op::attributes>(s.attrs).counts;
    return prepare_copy(tenon::detail::tiled_view(s.inputs[0].extents, counts, s.outputs[0].extents), s);
}

struct tile_gradient_kernel final : kernel {
    explicit tile_gradient_kernel(const kernel_setup& s) : element(s.outputs[0].element) {
        const index_list counts = decode<tile_op::attributes>(s.attrs).counts;
        for (const extent& e : s.outputs[0].extents) {
            sizes.sizes[sizes.rank] = e.size;
            sizes.counts[sizes.rank] = counts[sizes.rank];
            ++sizes.rank;
        }
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) sum_repetitions(element, r.in[0], r.out[0], sizes, r.stream);
    }

    const element_type element;
    tiled_sizes sizes;
};
struct one_hot_kernel final : kernel {
    explicit one_hot_kernel(const kernel_setup& s) :
        indices(s.inputs[0].element),
        element_bytes(size_of(s.outputs[0].element)),
        one(bits_of(1, s.outputs[0].element)) {
        const auto a = decode<one_hot_op::attributes>(s.attrs);
        const extents& x = s.inputs[0].extents;
        const int axis = tenon::detail::axis_of(a.axis, x.rank() + 1);
        depth = a.depth;
        for (int i = 0; i < x.rank(); ++i) (i < axis ? outer : inner) *= x[i].size;
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) one_hot(indices, r.in[0], r.out[0], element_bytes, one, outer, depth, inner, r.stream);
    }

    const element_type indices;
    const std::size_t element_bytes;
    const std::uint64_t one;
    std::int64_t outer = 1, depth = 0, inner = 1;
};
} // namespace

void register_indexing() {
    enter({{"slice", prepare_slice},
           {"slice_gradient", prepare_slice_gradient},
           {"reverse", prepare_reverse},
           {"pad", prepare_pad},
           {"tile", prepare_tile},
           {"tile_gradient", prepare<tile_gradient_kernel>},
           {"one_hot", prepare<one_hot_kernel>}});
}

} // namespace tenon::cuda
