#include <doctest/doctest.h>

#include "emulator/control.hpp"
#include "trained_variables.hpp"

using namespace tenon;
using test::drawn_seed, test::named_optimizer, test::numbers, test::optimizers, test::trained;

TEST_CASE("an optimiser's step on a GPU is one pass for each variable") {
    std::mt19937_64 random(drawn_seed());
    for (const named_optimizer& o : optimizers()) {
        const auto launches_with = [&](int count) {
            const std::vector<extents> sizes(static_cast<std::size_t>(count), extents(9, 5));
            trained t("/gpu:0", *o.of, element_type::float32, sizes);
            std::vector<any_array> gradients;
            for (const extents& s : sizes) gradients.push_back(numbers<float>(s, random));
            const auto before = emulator::count_calls("cudaLaunchKernel");
            const auto copies = emulator::count_calls("cudaMemcpyAsync");
            t.step(gradients); // the first one is not recorded
            return std::pair(emulator::count_calls("cudaLaunchKernel") - before,
                             emulator::count_calls("cudaMemcpyAsync") - copies);
        };
        const auto [one, copies_of_one] = launches_with(1);
        const auto [four, copies_of_four] = launches_with(4);
        INFO(o.name);
        CHECK(four == one + 3);
        CHECK(copies_of_four == copies_of_one + 3); // the gradients that are fed
    }
}
