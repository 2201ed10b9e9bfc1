#include <tenon/runtime/plan/rewrite/rewrite.hpp>

#include "tests.hpp"
#include "ops/rows/summed_rows.hpp"
#include "runtime/plan/handmade.hpp"

// Sums and the normalisations of them, which one kernel makes where it may.

using handmade::maker, tn::opcode;
using tn::extents, tn::test::summed_rows, tn::test::summed_rows_step;

namespace {

template <class T> summed_rows_step run(const summed_rows& of, bool fuse) {
    return tn::test::run_summed_rows<T>(of, "/cpu:0", fuse, 7);
}

} // namespace

TEST_CASE_TEMPLATE(
    "a sum and its normalisation are one pass, and so are their gradients, to the bits of each by itself", T, float,
    double) {
    tn::test::each_summed_rows({extents(7), extents(3, 1), extents(5, 70), extents(2, 3, 33), extents(100, 16)},
                               [&](const summed_rows& of) {
                                   INFO(of.shown());
                                   const summed_rows_step joined = run<T>(of, true), apart = run<T>(of, false);
                                   CHECK(tn::test::difference_of_steps(joined, apart) == "");
                                   CHECK(joined.runs("layer_norm_of_sum") == !of.is_circle);
                                   CHECK(joined.runs("layer_norm_gradient_plus") == of.has_gradient);
                                   CHECK(!apart.runs("layer_norm_of_sum"));
                                   CHECK(!apart.runs("layer_norm_gradient_plus"));
                               });
}

TEST_CASE_TEMPLATE("on CPUs sums of 16 bits are rounded before they are normalised: by themselves", T, tn::half,
                   tn::bfloat16) {
    tn::test::each_summed_rows({extents(5, 70)}, [&](const summed_rows& of) {
        INFO(of.shown());
        const summed_rows_step joined = run<T>(of, true);
        CHECK(tn::test::difference_of_steps(joined, run<T>(of, false)) == "");
        CHECK(!joined.runs("layer_norm_of_sum"));
    });
}

namespace {

int norm_of(maker& m, int x, const handmade::with& w = {}) {
    return m.item(tn::layer_norm_definition, tn::encode(tn::layer_norm_op::attributes{}), {x, m.feed({4}), m.feed({4})},
                  w);
}
std::string op_of(maker& m, int value) { return m.item_of(value).op->name; }

} // namespace

TEST_CASE("rewrite: a sum that is normalised is made by the normalisation, which keeps it for others") {
    maker m;
    const int x = m.feed({3, 4}), y = m.feed({3, 4}), sum = m.fused(opcode::add, {x, y});
    const int before = m.fused(opcode::exp, {sum}), norm = norm_of(m, sum), after = m.fused(opcode::sin, {sum});
    for (const int v : {before, norm, after}) m.fetch(v);
    rewrite(m.program, m.options);
    CHECK(m.left() == 3);
    CHECK(op_of(m, norm) == "layer_norm_of_sum");
    CHECK(m.program.value(sum).producer == m.number_of(norm));
    CHECK(m.item_of(norm).inputs[0] == x);
    CHECK(m.item_of(norm).inputs[3] == y);
    CHECK(m.item_of(before).inputs[0] == sum);
}

TEST_CASE(
    "rewrite: a sum is made by itself where it is ordered, on another device, of other sizes or twice normalised") {
    const auto left = [](const auto& make) {
        maker m(2);
        const int norm = make(m);
        m.fetch(norm);
        rewrite(m.program, m.options);
        return op_of(m, norm);
    };
    CHECK(left([](maker& m) {
              const int sum = m.fused(opcode::add, {m.feed({3, 4}), m.feed({3, 4})});
              m.fetch(m.fused(opcode::sin, {m.feed()}, {.after = {m.number_of(sum)}}));
              return norm_of(m, sum);
          }) == "layer_norm");
    CHECK(left([](maker& m) {
              const int other = m.fused(opcode::exp, {m.feed()}),
                        sum = m.fused(opcode::add, {m.feed({3, 4}), m.feed({3, 4})});
              m.fetch(other);
              return norm_of(m, sum, {.after = {m.number_of(other)}});
          }) == "layer_norm");
    CHECK(left([](maker& m) {
              return norm_of(m, m.fused(opcode::add, {m.feed({3, 4}), m.feed({3, 4})}, {.device = 1}));
          }) == "layer_norm");
    CHECK(left([](maker& m) {
              return norm_of(m, m.fused(opcode::add, {m.feed({3, 4}), m.feed({4})}));
          }) == "layer_norm");
    CHECK(left([](maker& m) {
              const int sum = m.fused(opcode::add, {m.feed({3, 4}), m.feed({3, 4})});
              m.fetch(norm_of(m, sum));
              return norm_of(m, sum);
          }) == "layer_norm");
    CHECK(left([](maker& m) {
              return norm_of(m, m.fused(opcode::subtract, {m.feed({3, 4}), m.feed({3, 4})}));
          }) == "layer_norm");
}

TEST_CASE("rewrite: what is added to a normalisation's gradient is added with it, where it cannot be computed of it") {
    for (const bool is_before : {true, false}) {
        maker m;
        const auto more = [&] { return m.fused(opcode::exp, {m.feed({3, 4})}); };
        const int early = is_before ? more() : -1;
        const int dx = m.item(tn::layer_norm_gradient_definition, tn::encode(tn::layer_norm_op::attributes{}),
                              {m.feed({3, 4}), m.feed({4}), m.feed({3, 4}), m.feed({3}), m.feed({3})});
        const int addend = is_before ? early : more();
        const int sum = m.fused(opcode::add, {dx, addend}), half = m.fused(opcode::sin, {sum});
        m.fetch(addend);
        m.fetch(half);
        rewrite(m.program, m.options);
        CHECK(op_of(m, dx) == (is_before ? "layer_norm_gradient_plus" : "layer_norm_gradient"));
        CHECK(m.left() == 3);
    }
}
