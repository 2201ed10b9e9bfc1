// Attention on a GPU reads and writes heads where they lie.

#include <doctest/doctest.h>

#include <random>

#include <ops/rows/attention_orders.hpp>

#include "attended_on_gpu.hpp"

using namespace tenon;

TEST_CASE_TEMPLATE("GPU: attention of transposed operands, transposed, is the same to the bit", T, float, double, half,
                   bfloat16) {
    std::mt19937 random(static_cast<std::mt19937::result_type>(test::drawn_seed()));
    for (int round = 0; round < 8; ++round) {
        test::attention_problem p = test::drawn_problem(random, 80);
        if (round % 2 == 0) { // sizes that cuDNN takes
            p.lengths.clear();
            p.d = 8 * (1 + p.d % 2);
            p.e = 8 * (1 + p.e % 2);
        }
        CAPTURE(to_string(p.of_queries(p.d)));
        CAPTURE(to_string(p.of_keys(p.e)));
        CAPTURE(p.causal);
        const auto o = test::attention_operands::of<T>(p);
        const test::attention_orders orders(random);
        const any_array q = orders.lying(0, o.q), k = orders.lying(1, o.k), v = orders.lying(2, o.v),
                        dy = orders.lying(3, o.dy);
        std::vector<const any_array*> values{&q, &k, &v, &dy};
        if (!p.lengths.empty()) values.push_back(&o.lengths);
        const auto found = test::run_on_gpu(values, [&](const auto& in) {
            return test::attended_in_orders(in, orders, {p.causal, p.scale});
        });
        const auto wanted = test::attended_on_gpu(p, o); // y, the logarithms, gradients
        for (std::size_t k_of = 0; k_of < 4; ++k_of)
            CHECK(test::same_bits(found[k_of], test::permuted(wanted[k_of == 0 ? 0 : k_of + 1], orders.out[k_of])));
    }
}
