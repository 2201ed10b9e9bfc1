#include <doctest/doctest.h>

#include "emulator/control.hpp"
#include "environment.hpp"
#include "trained_variables.hpp"

using namespace tenon;
using test::environment, test::drawn_seed, test::named_optimizer, test::numbers, test::optimizers, test::trained;

TEST_CASE("an optimiser's step on a GPU is one pass for all small variables; where it is interpreted, one for each") {
    std::mt19937_64 random(drawn_seed());
    for (const char* way : {"compiled", "interpreted"}) {
        const environment tapes("TENON_CUDA_TAPES", way);
        for (const named_optimizer& o : optimizers()) {
            const auto launches_with = [&](const std::vector<extents>& sizes) {
                trained t("/gpu:0", *o.of, element_type::float32, sizes);
                std::vector<any_array> gradients;
                for (const extents& s : sizes) gradients.push_back(numbers<float>(s, random));
                const auto before = emulator::count_calls("cudaLaunchKernel");
                const auto copies = emulator::count_calls("cudaMemcpyAsync");
                t.step(gradients); // the first one is not recorded
                return std::pair(emulator::count_calls("cudaLaunchKernel") - before,
                                 emulator::count_calls("cudaMemcpyAsync") - copies);
            };
            const auto [one, copies_of_one] = launches_with({{9, 5}});
            const auto [four, copies_of_four] = launches_with({{9, 5}, {64, 30}, {7}, {3, 2, 5}});
            INFO(o.name, ", ", way);
            CHECK(four == one + (way[0] == 'c' ? 0 : 3));
            CHECK(copies_of_four == copies_of_one + 3); // the gradients that are fed
        }
    }
}

TEST_CASE("an optimiser's step for more variables than a launch has room for gives what each variable's own gives") {
    std::mt19937_64 random(drawn_seed());
    const environment tapes("TENON_CUDA_TAPES", "compiled");
    std::vector<extents> sizes;
    for (int i = 0; i < 70; ++i)
        sizes.push_back(extents(std::uniform_int_distribution<int>(1, 300)(random), 1 + i % 4));
    std::vector<std::vector<any_array>> steps(3);
    for (auto& gradients : steps)
        for (const extents& s : sizes) gradients.push_back(numbers<float>(s, random));
    const auto by = adam(0.01);
    trained all("/gpu:0", by, element_type::float32, sizes);
    const auto before = emulator::count_calls("cudaLaunchKernel");
    for (const auto& gradients : steps) all.step(gradients);
    CHECK(emulator::count_calls("cudaLaunchKernel") - before < 70);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        trained alone("/gpu:0", by, element_type::float32, {sizes[i]});
        for (auto& gradients : steps) {
            std::vector<any_array> own;
            own.push_back(gradients[i].share());
            alone.step(own);
        }
        CHECK(test::same_bits(all.value(i), alone.value(0)));
    }
}
