// Images that are cut at places which are numbers on the device: what is none is found there, and refused when the host learns of it.

#include <string>

#include <cuda/kernels/image/crop.hpp>
#include <cuda/ops/image/images.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/ops/image/image_geometry.hpp>

namespace tenon::cuda {

namespace {

class crop_kernel : public kernel {
public:
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return sizeof(bad_place); }
    void tell(std::byte* to) override { *found(to) = {-1, 0, 0}; }
    void refuse(const std::byte* told) const override {
        const bad_place& bad = *reinterpret_cast<const bad_place*>(told);
        if (bad.at < 0) return;
        const bool of_rows = bad.at % 2 == 0;
        const std::int64_t most =
            of_rows ? places_.large.height - places_.small.height : places_.large.width - places_.small.width;
        throw invalid_argument_error(
            "crop_at (" + node_ + "): image " + std::to_string(bad.at / 2) + " is cut from " +
            (of_rows ? "row " : "column ") +
            (places_.parts ? detail::text_of_number(bad.part) : std::to_string(bad.pixel)) + " on, which must be " +
            (places_.parts ? "a part of the places in [0, 1)" : "0 .. " + std::to_string(most)));
    }

protected:
    crop_kernel(const kernel_setup& s, const extents& large, const extents& small, const tensor_type& places) :
        bytes_(size_of(s.outputs[0].element)),
        places_{nullptr, places.element == element_type::float32, sizes_of_images(large), sizes_of_images(small)},
        node_(s.node.name) {}
    // The places of a run, which are looked at.
    crop_places checked(const kernel_run& r, int input) const {
        crop_places p = places_;
        p.places = r.in[input];
        check_places(p, found(r.told), r.stream);
        return p;
    }
    const std::size_t bytes_;

private:
    static bad_place* found(std::byte* told) { return reinterpret_cast<bad_place*>(told); }
    const crop_places places_;
    const std::string node_;
};

struct crop_images_kernel final : crop_kernel {
    explicit crop_images_kernel(const kernel_setup& s) :
        crop_kernel(s, s.inputs[0].extents, s.outputs[0].extents, s.inputs[1]) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) crop_images(checked(r, 1), r.in[0], r.out[0], bytes_, r.stream);
    }
};

struct crop_images_gradient_kernel final : crop_kernel {
    explicit crop_images_gradient_kernel(const kernel_setup& s) :
        crop_kernel(s, s.outputs[0].extents, s.inputs[0].extents, s.inputs[2]) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) uncrop_images(checked(r, 2), r.in[0], r.out[0], bytes_, r.stream);
    }
};

} // namespace

void register_crop_images() {
    enter(
        {{"crop_images", prepare<crop_images_kernel>}, {"crop_images_gradient", prepare<crop_images_gradient_kernel>}});
}

} // namespace tenon::cuda
