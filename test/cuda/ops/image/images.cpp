#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_mixing.hpp>
#include <tenon/ops/image/image_resize.hpp>
#include <tenon/ops/image/image_transform.hpp>

#include "../on_both.hpp"

// Ops on images give on a GPU what they give on the host.

namespace {

using namespace tenon;
using namespace tenon::test;

const element_type floats[] = {element_type::float32, element_type::float64, element_type::float16,
                               element_type::bfloat16};

std::int64_t up_to(std::mt19937& random, unsigned n) { return 1 + static_cast<std::int64_t>(random() % n); }

// A batch, or a single image.
extents random_images(std::mt19937& random) {
    const std::int64_t height = up_to(random, 12), width = up_to(random, 12), channels = up_to(random, 4);
    if (random() % 4 == 0) return {height, width, channels};
    return {static_cast<std::int64_t>(random() % 4), height, width, channels};
}
// Of each image n numbers; n = 0: one.
extents beside(const extents& images, std::int64_t n) {
    extents e;
    if (images.rank() == 4) e.push_back(images[0]);
    if (n > 0) e.push_back(n);
    return e;
}
any_array uniform(const extents& sizes, std::mt19937& random, double low, double high, element_type e) {
    any_array a(e, sizes);
    std::uniform_real_distribution<double> numbers(low, high);
    for (std::int64_t i = 0; i < a.elements(); ++i) op_table::set_number(a, i, numbers(random));
    return a;
}

} // namespace

TEST_CASE("images of any sizes resized to any, and the gradients of that") {
    std::mt19937 random = test::seeded();
    for (const element_type e : floats)
        for (const interpolation how : {interpolation::nearest, interpolation::bilinear, interpolation::area})
            for (int round = 0; round < 6; ++round) {
                const extents from = random_images(random);
                extents to = from;
                to[from.rank() - 3] = static_cast<std::int64_t>(random() % 15);
                to[from.rank() - 2] = up_to(random, 40);
                const tenon::detail::resize_attributes a{how, to[from.rank() - 3].size, to[from.rank() - 2].size};
                if (how == interpolation::nearest)
                    check_same("resize_nearest", resize_nearest_op::attributes{a.height, a.width},
                               arrays(uniform(from, random, -2, 2, e)));
                else check_close("resize_images", a, arrays(uniform(from, random, -2, 2, e)));
                check_close("resize_images_gradient", a,
                            arrays(uniform(to, random, -2, 2, e), uniform(from, random, -2, 2, e)));
            }
    for (const element_type e : of_each_size)
        check_same("resize_nearest", resize_nearest_op::attributes{9, 31},
                   arrays(random_array(e, {2, 5, 7, 3}, random)));
}

TEST_CASE("images turned and stretched by any matrices, and the gradients of that") {
    std::mt19937 random = test::seeded();
    for (const element_type e : floats)
        for (const interpolation how : {interpolation::nearest, interpolation::bilinear})
            for (int round = 0; round < 8; ++round) {
                const extents sizes = random_images(random);
                any_array matrices = uniform(beside(sizes, 6), random, -1.5, 1.5, element_type::float32);
                float* const m = matrices.data<float>();
                for (std::int64_t i = 0; i + 6 <= matrices.elements(); i += 6) {
                    const auto kind = random() % 8;
                    const float turned = static_cast<float>(random() % 4) * 1.57079633f;
                    const float all[][6] = {
                        {1, 0, 0, 0, 1, 0}, // the same
                        {std::cos(turned), std::sin(turned), 0, -std::sin(turned), std::cos(turned), 0},
                        {0, 0, 0, 0, 0, 0}, // one pixel everywhere
                        {1, 1, 0, 1, 1, 0}, // a line
                        {std::numeric_limits<float>::quiet_NaN(), 0, 0, 0, 1, 0},
                        {1, 0, 0, 0, 1, std::numeric_limits<float>::infinity()}};
                    if (kind < 6) std::copy_n(all[kind], 6, m + i);
                }
                const tenon::detail::transform_attributes a{how, 0.75};
                const any_array x = uniform(sizes, random, -2, 2, e);
                check_close("affine_transform", a, arrays(x.share(), matrices.share()));
                check_close("affine_transform_gradient", a, arrays(x.share(), matrices.share()));
            }
}

TEST_CASE("images mirrored, fitted, and hidden in boxes") {
    std::mt19937 random = test::seeded();
    for (const element_type e : of_each_size)
        for (int round = 0; round < 10; ++round) {
            const extents sizes = random_images(random);
            const any_array x = random_array(e, sizes, random);
            any_array which(element_type::boolean, beside(sizes, 0));
            for (std::int64_t i = 0; i < which.elements(); ++i) op_table::set_number(which, i, random() % 2 ? 1 : 0);
            check_same("flip_images", flip_images_op::attributes{random() % 2 == 0}, arrays(x.share(), which.share()));
            check_same(
                "fit_images",
                fit_images_op::attributes{static_cast<std::int64_t>(random() % 16), up_to(random, 16), true, true, 3},
                arrays(x.share()));
            extents like = sizes;
            like[sizes.rank() - 3] = up_to(random, 16);
            like[sizes.rank() - 2] = up_to(random, 16);
            check_same("fit_images_like", no_attributes{}, arrays(x.share(), random_array(e, like, random)));
            const bool inside = random() % 2 == 0;
            const any_array boxes = uniform(beside(sizes, 4), random, -0.2, 1.2, element_type::float32);
            check_same("box_mask", box_mask_op::attributes{0, 0, inside}, arrays(x.share(), boxes.share()));
            check_same("fill_boxes", fill_boxes_op::attributes{0, 0, inside, 5}, arrays(x.share(), boxes.share()));
            const any_array places = uniform(beside(sizes, 2), random, 0, 1, element_type::float32);
            const std::int64_t height = up_to(random, 15), width = up_to(random, 15);
            check_same("box_mask", box_mask_op::attributes{height, width, inside}, arrays(x.share(), places.share()));
            check_same("fill_boxes", fill_boxes_op::attributes{height, width, inside, 5},
                       arrays(x.share(), places.share()));
            check_same("per_image", per_image_op::attributes{index_list(3, 2)}, arrays(x.share()));
        }
}

TEST_CASE("images cut at places that are pixels or parts, and the gradients of that") {
    std::mt19937 random = test::seeded();
    for (const element_type e : of_each_size)
        for (int round = 0; round < 8; ++round) {
            const extents sizes = random_images(random);
            const int rank = sizes.rank();
            const crop_images_op::attributes a{up_to(random, static_cast<unsigned>(sizes[rank - 3].size)),
                                               up_to(random, static_cast<unsigned>(sizes[rank - 2].size))};
            extents cut = sizes;
            cut[rank - 3] = a.height;
            cut[rank - 2] = a.width;
            any_array pixels(element_type::int32, beside(sizes, 2));
            for (std::int64_t i = 0; i < pixels.elements(); ++i) {
                const std::int64_t most = i % 2 ? sizes[rank - 2].size - a.width : sizes[rank - 3].size - a.height;
                pixels.data<std::int32_t>()[i] =
                    static_cast<std::int32_t>(up_to(random, static_cast<unsigned>(most + 1)) - 1);
            }
            const any_array parts = uniform(beside(sizes, 2), random, 0, 0.999, element_type::float32);
            for (const any_array* places : {&std::as_const(pixels), &parts}) {
                check_same("crop_images", a, arrays(random_array(e, sizes, random), places->share()));
                check_same("crop_images_gradient", a,
                           arrays(random_array(e, cut, random), random_array(e, sizes, random), places->share()));
            }
        }
}

TEST_CASE("a place at which an image cannot be cut is refused on a GPU with the host's words") {
    std::mt19937 random = test::seeded();
    const crop_images_op::attributes a{3, 4};
    const any_array images = random_array(element_type::float32, {300, 5, 9, 1}, random);
    const auto words = [&](const char* device, const any_array& places) {
        const std::string all = message_of<invalid_argument_error>(
            [&] { on_device(device, "crop_images", encode(a), arrays(images.share(), places.share()), {}); });
        return all.substr(0, all.find(" [node")); // which says the device
    };
    for (const auto& [at, value] : std::vector<std::pair<std::int64_t, std::int32_t>>{{4, 3}, {5, -1}, {599, 6}}) {
        any_array places(element_type::int32, {300, 2});
        std::fill_n(places.data<std::int32_t>(), 600, 0);
        CHECK(words("/gpu:0", places) == "nothing was thrown");
        places.data<std::int32_t>()[at] = value;
        CHECK(words("/cpu:0", places) != "nothing was thrown");
        CHECK(words("/gpu:0", places) == words("/cpu:0", places));
    }
    any_array parts(element_type::float32, {300, 2});
    std::fill_n(parts.data<float>(), 600, 0.5f);
    parts.data<float>()[77] = 1;
    CHECK(words("/gpu:0", parts) == words("/cpu:0", parts));
    parts.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    CHECK(words("/gpu:0", parts).find("image 1 is cut from column") != std::string::npos);
}
