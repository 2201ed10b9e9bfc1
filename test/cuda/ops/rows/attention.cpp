// Attention on a GPU against its formula in float64.

#include <doctest/doctest.h>

#include <ops/rows/attention_formula.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/attention.hpp>

#include "../gpu_run.hpp"

using namespace tenon;
using test::difference;
using test::run_on_gpu;
using test::same_bits;
using test::spacing;

namespace {

// y, the logarithms and the gradients of q, k and v.
std::vector<any_array> attended(const test::attention_problem& p, const test::attention_operands& o) {
    std::vector<const any_array*> values{&o.q, &o.k, &o.v, &o.dy};
    if (!p.lengths.empty()) values.push_back(&o.lengths);
    return run_on_gpu(values, [&](const auto& in) {
        const attention_op::attributes how{p.causal, p.scale};
        const any_tensor y = in.size() > 4 ? untyped::attention(in[0], in[1], in[2], in[4], how)
                                           : untyped::attention(in[0], in[1], in[2], how);
        std::vector<any_tensor> out{y, any_tensor({y.node(), 1})};
        for (const any_tensor& d : detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]})) out.push_back(d);
        return out;
    });
}

} // namespace

TEST_CASE_TEMPLATE("GPU: attention and its gradients are the formulas; the same in every run", T, float, double, half,
                   bfloat16) {
    for (const test::attention_problem& p : {
             test::attention_problem{.n = 1, .m = 1},
             test::attention_problem{.batch = 2, .heads = 4, .key_heads = 2, .n = 70, .m = 101, .d = 17, .e = 33},
             test::attention_problem{.heads = 2, .key_heads = 1, .n = 65, .m = 64, .d = 70, .e = 130, .scale = -0.2},
             test::attention_problem{.heads = 2, .key_heads = 1, .n = 150, .m = 97, .d = 20, .e = 12, .causal = true},
             test::attention_problem{.n = 33, .m = 200, .d = 6, .e = 6, .causal = true},
             test::attention_problem{
                 .batch = 4, .heads = 2, .key_heads = 2, .n = 9, .m = 100, .d = 5, .e = 7, .lengths = {0, 100, 1, 49}},
             test::attention_problem{.batch = 3,
             .heads = 2,
             .key_heads = 1,
             .n = 80,
             .m = 100,
             .d = 5,
             .e = 7,
             .causal = true,
             .lengths = {64, 0, 61}},
             test::attention_problem{.batch = 0, .n = 2, .m = 3, .d = 4, .e = 5},
             test::attention_problem{.n = 0, .m = 3, .d = 4, .e = 5},
             test::attention_problem{.n = 2, .m = 0, .d = 4, .e = 5},
             test::attention_problem{.n = 2, .m = 3, .d = 0, .e = 5},
             test::attention_problem{.n = 2, .m = 3, .d = 4, .e = 0},
         }) {
        CAPTURE(to_string(p.of_queries(p.d)));
        CAPTURE(to_string(p.of_keys(p.e)));
        CAPTURE(p.causal);
        const auto o = test::attention_operands::of<T>(p);
        const auto found = attended(p, o);
        const auto wanted = test::attention_formula<T>(p, o.q, o.k, o.v, o.dy);
        const std::vector<double>* const all[] = {&wanted.y, &wanted.logs, &wanted.dq, &wanted.dk, &wanted.dv};
        for (std::size_t i = 0; i < 5; ++i) {
            CAPTURE(i);
            double most = 1;
            for (const double x : *all[i])
                if (std::isfinite(x)) most = std::max(most, std::fabs(x));
            CHECK(difference(found[i], *all[i], [&](std::int64_t) {
                      return most * (2 * spacing(o.q.element()) + 40 * spacing(found[1].element()));
                  }) == "");
        }
        const auto again = attended(p, o);
        for (std::size_t i = 0; i < 5; ++i) CHECK(same_bits(found[i], again[i]));
    }
}

TEST_CASE("GPU: a key length that cannot be is refused with node, number and sizes") {
    test::attention_problem p{.batch = 3, .n = 4, .m = 5, .d = 2, .e = 2, .lengths = {5, 6, 0}};
    const auto o = test::attention_operands::of<float>(p);
    CHECK_THROWS_WITH_AS(
        attended(p, o),
        doctest::Contains("attention: key length 6 of sequence 1 is not one of 0 to 5, the number of keys"),
        invalid_argument_error);
}
