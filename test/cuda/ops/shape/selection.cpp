// What comes back from elements that a mask has chosen.

#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::array_of, test::difference_of_devices, test::drawn_seed, test::number_at, test::numbers, test::run_on_gpu;

namespace {

// Of so many percent trues.
any_array mask_of(const extents& sizes, unsigned percent, std::mt19937_64& random) {
    return array_of<bool>(sizes, [&](std::int64_t) { return random() % 100 < percent ? 1.0 : 0.0; });
}
std::int64_t trues_of(const any_array& mask) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < mask.elements(); ++i) n += mask.data<bool>()[i];
    return n;
}

// The gradient of boolean_mask on both devices, for x of the mask's sizes and behind them those of a part.
std::string difference_of(element_type e, const any_array& mask, const extents& part, std::mt19937_64& random) {
    extents of_gradient(trues_of(mask)), of_x = mask.extents();
    for (const extent& size : part) {
        of_gradient.push_back(size);
        of_x.push_back(size);
    }
    const any_array g = numbers(e, of_gradient, random);
    return difference_of_devices(3, 0, {&g, &mask}, [&](const auto& in) {
        const any_tensor x = untyped::placeholder(in[0].element(), of_x); // whose value nobody asks for
        return std::vector{add<boolean_mask_gradient_op>({}, {in[0], in[1], x})};
    });
}

} // namespace

TEST_CASE("the gradient of boolean_mask on a GPU has the host's bits") {
    std::mt19937_64 random(drawn_seed());
    const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (const unsigned percent : {0U, 3U, 50U, 100U}) {
            CHECK(difference_of(e, mask_of({size(3000)}, percent, random), {}, random) == "");
            CHECK(difference_of(e, mask_of({size(20), size(30)}, percent, random), {size(9)}, random) == "");
            CHECK(difference_of(e, mask_of({size(3), size(4), size(5)}, percent, random), {size(3), size(40)},
                                random) == "");
        }
        CHECK(difference_of(e, mask_of({0}, 50, random), {3}, random) == "");
        CHECK(difference_of(e, mask_of({5, 0}, 50, random), {}, random) == "");
        CHECK(difference_of(e, mask_of({7}, 50, random), {0}, random) == "");
    }
}

TEST_CASE("masks of many parts, whose last one ends anywhere") {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t n : {std::int64_t{2047}, std::int64_t{2048}, std::int64_t{2049}, std::int64_t{300'001}})
        for (const unsigned percent : {1U, 90U})
            CHECK(difference_of(element_type::float32, mask_of({n}, percent, random), {}, random) == "");
    // So long that there are no more parts, but longer ones.
    CHECK(difference_of(element_type::int8, mask_of({1024 * 2048 + 77}, 30, random), {}, random) == "");
}

TEST_CASE("a mask that chooses another number than the gradient has parts fails the step on a GPU as on the host") {
    std::mt19937_64 random(drawn_seed());
    const auto fail = [](const char* device, const any_array& g, const any_array& mask) {
        return message_of<invalid_argument_error>([&] {
            (void)test::steps_on(device, 1, 0, {&g, &mask}, [&](const auto& in) {
                const any_tensor x = untyped::placeholder(in[0].element(), mask.extents());
                return std::vector{add<boolean_mask_gradient_op>({}, {in[0], in[1], x})};
            });
        });
    };
    const auto without_place = [](const std::string& message) { return message.substr(0, message.find(" [node ")); };
    for (const std::int64_t n : {3, 5000}) {
        const any_array mask = mask_of({n}, 100, random);
        for (const std::int64_t parts : {n - 1, n + 1, std::int64_t{0}}) {
            const any_array g = numbers<float>({parts}, random);
            const std::string message = fail("/gpu:0", g, mask);
            CHECK(message.find("the mask chooses " + std::to_string(n) + " of " + std::to_string(n) +
                               ", and the gradient is of " + std::to_string(parts)) != std::string::npos);
            CHECK(without_place(message) == without_place(fail("/cpu:0", g, mask)));
        }
    }
    const any_array nowhere = mask_of({0}, 0, random), g = numbers<float>({1}, random);
    CHECK(fail("/gpu:0", g, nowhere).find("the mask chooses 0 of 0, and the gradient is of 1") != std::string::npos);
}

TEST_CASE("what a mask chooses on the host is differentiated on a GPU") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = numbers<double>({40, 3}, random), mask = mask_of({40}, 40, random);
    const auto slopes = run_on_gpu(
        {&x, &mask},
        [](const auto& in) {
            const any_tensor rows = untyped::boolean_mask(in[0], in[1]);
            return gradients(untyped::sum(untyped::multiply(rows, rows)), {in[0]});
        },
        true);
    for (std::int64_t i = 0; i < x.elements(); ++i)
        CHECK(number_at(slopes[0], i) == (mask.data<bool>()[i / 3] ? 2 * number_at(x, i) : 0));
}
