// Attention on a GPU against its formula in float64.

#include "tests.hpp"
#include "attended_on_gpu.hpp"

using namespace tenon;
using test::same_bits;

TEST_CASE_TEMPLATE("GPU: attention and its gradients are the formulas; the same in every run", T, float, double, half,
                   bfloat16) {
    const std::vector<test::attention_problem> problems{
        {.n = 1, .m = 1},
        {.batch = 2, .heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 9, .lengths = {60, 7}},
        {.heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 8},
        {.batch = 2, .heads = 4, .key_heads = 2, .n = 70, .m = 101, .d = 17, .e = 33},
        {.heads = 2, .key_heads = 1, .n = 65, .m = 64, .d = 70, .e = 130, .scale = -0.2},
        {.heads = 2, .key_heads = 1, .n = 150, .m = 97, .d = 20, .e = 12, .causal = true},
        {.n = 33, .m = 200, .d = 6, .e = 6, .causal = true},
        {.batch = 4, .heads = 2, .key_heads = 2, .n = 9, .m = 100, .d = 5, .e = 7, .lengths = {0, 100, 1, 49}},
        {.batch = 3, .heads = 2, .n = 80, .m = 100, .d = 5, .e = 7, .causal = true, .lengths = {64, 0, 61}},
        {.batch = 2,
         .heads = 4,
         .key_heads = 2,
         .n = 9,
         .m = 30,
         .d = 5,
         .e = 7,
         .lengths = {30, 11},
         .mask = {2, 4, 9, 30}},
        {.n = 33, .m = 40, .d = 6, .e = 6, .causal = true, .mask = {1, 1, 33, 40}},
        {.batch = 0, .n = 2, .m = 3, .d = 4, .e = 5},
        {.n = 0, .m = 3, .d = 4, .e = 5},
        {.n = 2, .m = 0, .d = 4, .e = 5},
        {.n = 2, .m = 3, .d = 0, .e = 5},
        {.n = 2, .m = 3, .d = 4, .e = 0},
    };
    for (const test::attention_problem& p : problems) {
        CAPTURE(to_string(p.of_queries(p.d)));
        CAPTURE(to_string(p.of_keys(p.e)));
        CAPTURE(p.causal);
        const auto o = test::attention_operands::of<T>(p);
        const auto found = test::attended_on_gpu(p, o);
        CHECK(test::difference_from_formula<T>(p, o, found) == "");
        const auto again = test::attended_on_gpu(p, o);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], again[i]));
    }
}

TEST_CASE_TEMPLATE("GPU: a key length that cannot be is refused with node, number and sizes", T, float, half) {
    test::attention_problem p{.batch = 3, .n = 4, .m = 5, .d = 8, .e = 8, .lengths = {5, 6, 0}};
    const auto o = test::attention_operands::of<T>(p);
    CHECK_ERROR(invalid_argument_error,
                "attention: key length 6 of sequence 1 is not one of 0 to 5, the number of keys",
                test::attended_on_gpu(p, o));
}
