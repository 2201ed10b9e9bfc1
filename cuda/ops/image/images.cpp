#include <algorithm>
#include <optional>

#include <cuda/kernels/image/moves.hpp>
#include <cuda/kernels/image/resize.hpp>
#include <cuda/kernels/image/transform.hpp>
#include <cuda/ops/image/images.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_mixing.hpp>
#include <tenon/ops/image/image_resize.hpp>
#include <tenon/ops/image/image_transform.hpp>

namespace tenon::cuda {

namespace {

kernel_pointer prepare_per_image(const kernel_setup& s) { return std::make_unique<fill_kernel>(s.outputs[0], 0); }

// ---- moved pixels ----

struct flip_images_kernel final : kernel {
    explicit flip_images_kernel(const kernel_setup& s) :
        sizes(sizes_of_images(s.outputs[0].extents)),
        element_bytes(size_of(s.outputs[0].element)),
        upside_down(decode<flip_images_op::attributes>(s.attrs).upside_down) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) flip_images(r.in[0], r.out[0], element_bytes, sizes, r.input<bool>(1), upside_down, r.stream);
    }

    const image_sizes sizes;
    const std::size_t element_bytes;
    const bool upside_down;
};
// Along one dimension: elements put before, those of the input that are left out, those that are kept.
struct overlap {
    overlap(std::int64_t from, std::int64_t to) :
        before(to > from ? (to - from) / 2 : 0), skipped(from > to ? (from - to) / 2 : 0), common(std::min(from, to)) {}
    std::int64_t before, skipped, common;
};
kernel_pointer fitted(const kernel_setup& s, const number& value) {
    const image_sizes from = sizes_of_images(s.inputs[0].extents), to = sizes_of_images(s.outputs[0].extents);
    const overlap rows(from.height, to.height), columns(from.width, to.width);
    const framed_dimension dims[] = {{to.batch, 0, to.batch, 1, from.image()},
                                     {to.height, rows.before, rows.common, 1, from.row()},
                                     {to.row(), columns.before * to.channels, columns.common * to.channels, 1, 1}};
    const element_type e = s.outputs[0].element;
    return std::make_unique<framed_copy_kernel>(framed_copy(dims, 3, size_of(e), bits_of(value, e)), size_of(e),
                                                rows.skipped * from.row() + columns.skipped * from.channels);
}
kernel_pointer prepare_fit_images(const kernel_setup& s) {
    return fitted(s, decode<fit_images_op::attributes>(s.attrs).value);
}
kernel_pointer prepare_fit_images_like(const kernel_setup& s) { return fitted(s, 0); }

// ---- boxes ----

struct box_kernel : kernel {
    box_kernel(const kernel_setup& s, const box_mask_op::attributes& a) :
        sizes(sizes_of_images(s.outputs[0].extents)),
        boxes{.boxes = nullptr,
              .numbers = a.says_sizes() ? 2 : 4,
              .height = a.height,
              .width = a.width,
              .inside = a.inside} {}
    box_options boxes_in(const kernel_run& r) const {
        box_options o = boxes;
        o.boxes = r.input<float>(1);
        return o;
    }

    const image_sizes sizes;
    const box_options boxes;
};

struct box_mask_kernel final : box_kernel {
    explicit box_mask_kernel(const kernel_setup& s) : box_kernel(s, decode<box_mask_op::attributes>(s.attrs)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) mask_boxes(r.output<bool>(0), sizes, boxes_in(r), r.stream);
    }
};
struct fill_boxes_kernel final : box_kernel {
    explicit fill_boxes_kernel(const kernel_setup& s) :
        box_kernel(s, decode<fill_boxes_op::attributes>(s.attrs).boxes()),
        element_bytes(size_of(s.outputs[0].element)),
        value(bits_of(decode<fill_boxes_op::attributes>(s.attrs).value, s.outputs[0].element)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) fill_boxes(r.in[0], r.out[0], element_bytes, sizes, boxes_in(r), value, r.stream);
    }
    bool may_share(int i, int) const override { return i == 0; }

    const std::size_t element_bytes;
    const std::uint64_t value;
};
// ---- other sizes ----

static_assert(static_cast<int>(sampling::nearest) == static_cast<int>(interpolation::nearest) &&
              static_cast<int>(sampling::bilinear) == static_cast<int>(interpolation::bilinear) &&
              static_cast<int>(sampling::area) == static_cast<int>(interpolation::area));

struct resize_nearest_kernel final : kernel {
    explicit resize_nearest_kernel(const kernel_setup& s) :
        from(sizes_of_images(s.inputs[0].extents)),
        to(sizes_of_images(s.outputs[0].extents)),
        element_bytes(size_of(s.outputs[0].element)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) resize_nearest(r.in[0], from, r.out[0], to, element_bytes, r.stream);
    }

    const image_sizes from, to;
    const std::size_t element_bytes;
};
struct resize_images_kernel final : kernel {
    resize_images_kernel(const kernel_setup& s, const extents& images, const extents& resized, bool backwards) :
        output(s.outputs[0]), spreads(backwards) {
        if (images.elements() > 0 && resized.elements() > 0)
            how.emplace(static_cast<sampling>(decode<tenon::detail::resize_attributes>(s.attrs).method), output.element,
                        sizes_of_images(images), sizes_of_images(resized));
    }
    std::size_t scratch_bytes() const override { return how ? how->scratch_bytes() : 0; }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (!how) fill(r.out[0], output.extents.elements(), size_of(output.element), 0, r.stream);
        else if (spreads) how->spread(r.in[0], r.out[0], r.scratch, r.stream);
        else how->resize(r.in[0], r.out[0], r.scratch, r.stream);
    }

    const tensor_type output;
    const bool spreads;
    std::optional<image_resizing> how; // none: one of them is without elements
};
kernel_pointer prepare_resize_images(const kernel_setup& s) {
    return std::make_unique<resize_images_kernel>(s, s.inputs[0].extents, s.outputs[0].extents, false);
}
kernel_pointer prepare_resize_images_gradient(const kernel_setup& s) {
    return std::make_unique<resize_images_kernel>(s, s.outputs[0].extents, s.inputs[0].extents, true);
}

// ---- affine transformations ----

struct affine_transform_kernel final : kernel {
    affine_transform_kernel(const kernel_setup& s, bool backwards) :
        sizes(sizes_of_images(s.outputs[0].extents)), element(s.outputs[0].element), gathers(backwards) {
        const auto a = decode<tenon::detail::transform_attributes>(s.attrs);
        how = {static_cast<sampling>(a.method), a.value};
    }
    void run(const kernel_run& r) override {
        if (r.out[0])
            (gathers ? affine_transform_gradient : affine_transform)(element, r.in[0], r.out[0], sizes,
                                                                     r.input<float>(1), how, r.stream);
    }

    const image_sizes sizes;
    const element_type element;
    const bool gathers;
    transform_options how;
};
kernel_pointer prepare_affine_transform(const kernel_setup& s) {
    return std::make_unique<affine_transform_kernel>(s, false);
}
kernel_pointer prepare_affine_transform_gradient(const kernel_setup& s) {
    return std::make_unique<affine_transform_kernel>(s, true);
}

} // namespace

void register_images() {
    enter({{"per_image", prepare_per_image},
           {"flip_images", prepare<flip_images_kernel>},
           {"fit_images", prepare_fit_images},
           {"fit_images_like", prepare_fit_images_like},
           {"box_mask", prepare<box_mask_kernel>},
           {"fill_boxes", prepare<fill_boxes_kernel>},
           {"resize_nearest", prepare<resize_nearest_kernel>},
           {"resize_images", prepare_resize_images},
           {"resize_images_gradient", prepare_resize_images_gradient},
           {"affine_transform", prepare_affine_transform},
           {"affine_transform_gradient", prepare_affine_transform_gradient}});
}

} // namespace tenon::cuda
