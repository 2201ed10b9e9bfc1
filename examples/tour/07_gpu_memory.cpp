// How much of a GPU a program has: one card as two devices with a gigabyte each; a part of a card; memory that is taken
// as it is needed. A step that needs too much is refused before it runs, with what takes the memory, and the session goes on.
//
//     one card, two devices:
//     /job:localhost/replica:0/task:0/device:GPU:0 1073741824 bytes
//     /job:localhost/replica:0/task:0/device:GPU:1 1073741824 bytes
//     3 + 4 on the second: 7
//     a fraction: 40 % of the card
//     growth: 0 bytes are in use before the first step, some after it
//     this step needs 16777216 bytes on /device:GPU:0, of which 8388608 may be used; the largest tensors:
//     ...
//     and then 3 + 4: 7
#include <tenon/tenon.hpp>

#include <cstdio>

#include "shared/devices.hpp"

namespace tn = tenon;

namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30;

using scalar = tn::tensor<float, tn::shape<>>;

scalar sum_on(const tn::device_name& device, const scalar& a, const scalar& b) {
    return tn::on(device, [&] { return tn::add_n(a, b); });
}

} // namespace

int main() {
    const auto cards = gpus(1, 4 * gigabyte);
    const auto a = tn::placeholder<float, tn::shape<>>("a"), b = tn::placeholder<float, tn::shape<>>("b");
    {
        // Of the first card two devices; a second one would be left out.
        tn::session sess({.gpus = cards, .gpu_devices = {.visible = {{0}}, .logical = {{gigabyte, gigabyte}}}});
        std::printf("one card, two devices:\n");
        for (const tn::device_attributes& d : sess.list_logical_devices())
            if (d.name.type == "GPU")
                std::printf("%s %lld bytes\n", to_string(d.name).c_str(), static_cast<long long>(d.memory));
        const auto seven = sess.run(tn::feed(a, 3.0f), tn::feed(b, 4.0f), sum_on("/gpu:1", a, b));
        std::printf("3 + 4 on the second: %g\n", static_cast<double>(seven()));
    }
    {
        tn::session sess({.gpus = cards, .gpu_memory = {.fraction = 0.4}});
        const auto card = static_cast<double>(cards->physical()[0].memory);
        std::printf("a fraction: %.0f %% of the card\n",
                    100 * static_cast<double>(sess.memory_info("/gpu:0").limit) / card);
    }

    // As the environment variable TENON_GPU_ALLOW_GROWTH says, where it is set.
    tn::session sess({.gpus = cards, .gpu_memory = {.growth = true, .limit = 8 << 20}});
    std::printf("growth: %zu bytes are in use before the first step, ", sess.memory_info("/gpu:0").in_use);
    const auto sum = sum_on("/gpu:0", a, b);
    (void)sess.run(tn::feed(a, 3.0f), tn::feed(b, 4.0f), sum);
    std::printf("%s after it\n", sess.memory_info("/gpu:0").in_use > 0 ? "some" : "none");

    const auto large = tn::placeholder<float, tn::shape<2048, 2048>>("large"); // 16 MB
    const auto too_much = tn::on("/gpu:0", [&] { return tn::add_n(large, large); });
    try {
        const tn::array<float, tn::shape<2048, 2048>> zeros;
        (void)sess.run(tn::feed(large, zeros), too_much);
    } catch (const tn::resource_exhausted_error& e) {
        std::printf("%s\n", e.what());
    }
    std::printf("and then 3 + 4: %g\n", static_cast<double>(sess.run(tn::feed(a, 3.0f), tn::feed(b, 4.0f), sum)()));
    return 0;
}
