#include <doctest/doctest.h>

#include "trained_variables.hpp"

using namespace tenon;
using test::drawn_seed, test::named_optimizer, test::numbers, test::optimizers, test::trained;

TEST_CASE("an optimiser's steps on a GPU leave what they leave on the host, in all floating types") {
    std::mt19937_64 random(drawn_seed());
    const std::vector<extents> sizes = {extents(7, 33), extents(5), extents(), extents(1030)};
    for (const named_optimizer& o : optimizers())
        for (const element_type e :
             {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16}) {
            trained host("/cpu:0", *o.of, e, sizes), gpu("/gpu:0", *o.of, e, sizes);
            for (int step = 0; step < 4; ++step) {
                std::vector<any_array> gradients;
                for (const extents& s : sizes) gradients.push_back(numbers(e, s, random));
                host.step(gradients);
                gpu.step(gradients);
            }
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const any_array wanted = host.value(i);
                std::vector<double> plain;
                for (std::int64_t k = 0; k < wanted.elements(); ++k) plain.push_back(test::number_at(wanted, k));
                INFO(o.name, ", ", std::string(name_of(e)), ", variable ", i);
                CHECK(test::difference(gpu.value(i), plain, [&](std::int64_t) { return 8 * test::spacing(e); }) == "");
            }
        }
}
