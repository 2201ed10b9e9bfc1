#include "op_table/table.hpp"

#include <cmath>

#include <tenon/expr/fused.hpp>
#include <tenon/ops/elementwise/fused_group.hpp>
#include <tenon/ops/elementwise/fused_parts.hpp>
#include <tenon/ops/elementwise/fused_reductions.hpp>

// The one elementwise op. What its instructions do is in ../instructions.cpp.

namespace op_table {
namespace {

// a * b + a, where b is repeated.
const auto program = [](const setting& at) {
    const element_type e = is_numeric(at.element) ? at.element : element_type::float32;
    tape t;
    t.add_input(e);
    t.add_input(e);
    const int a = t.emit_input(0), b = t.emit_input(1);
    const int product = t.emit(opcode::multiply, compute_type(e), a, b);
    t.add_output(t.emit(opcode::add, compute_type(e), product, a), e);
    return fused_op::attributes{std::make_shared<const tape>(t), {}, {}};
};

const add_entries fused{
    {.op = "fused",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=5"), x("m")},
                  .attributes = program,
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]},
                                       [&](const index& i) { return in[0].at(i) * in[1](i[1]) + in[0].at(i); })};
                  }}}},
    {.op = "fused_group",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=5"), x("m"), x("k=2"), x("k")},
                  .attributes =
                      [](const setting& at) {
                          return fused_group_op::attributes{program(at).tape, {}, 2};
                      },
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {
                          tabulate({at["n"], at["m"]},
                                   [&](const index& i) { return in[0].at(i) * in[1](i[1]) + in[0].at(i); }),
                          tabulate({at["k"]}, [&](const index& i) { return in[2].at(i) * in[3].at(i) + in[2].at(i); })};
                  }}},
     .no_gradient = "the planner makes it, of nodes that have theirs"},
    {.op = "fused_parts",
     .elements = numeric,
     .samples = {{.operands = {x("4 7"), x("m=5")}, // of the first, from [1, 1] on
                  .attributes =
                      [](const setting& at) {
                          const fused_op::attributes a = program(at);
                          return fused_parts_op::attributes{
                              a.tape,
                              {},
                              {},
                              {{a.tape->inputs[0], {3, at["m"]}}, {a.tape->inputs[1], {at["m"]}}},
                              {1, 8, 7, 1, 0}};
                      },
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({3, at["m"]}, [&](const index& i) {
                          const double a = in[0](i[0] + 1, i[1] + 1);
                          return a * in[1](i[1]) + a;
                      })};
                  },
                  .numbers_only = "*"}},
     .no_gradient = "the planner makes it, of nodes that have theirs"},
    {.op = "fused_reductions",
     .elements = floating,
     .samples =
         {{.operands = {x("n=3 m=5"), x("m")}, // the sums of columns, the largest of each row, and the mean
           .attributes =
               [](const setting& at) {
                   fused_reductions_op::attributes a{program(at).tape, {}, {}, {}};
                   const element_type e = a.tape->outputs[0].type;
                   const std::int64_t sums[] = {0, 0, 0, 0, 1}, largest[] = {0, 2, 0, 0, 2}, mean[] = {0, 0, 1, 0, 3};
                   a.add(0, sums, {e, {at["m"]}});
                   a.add(0, largest, {e, {at["n"], 1}});
                   a.add(0, mean, {e, {}});
                   return a;
               },
           .expected = [](const setting& at, const arguments& in) -> arguments {
               const auto of = [&](std::int64_t i, std::int64_t j) { return in[0](i, j) * in[1](j) + in[0](i, j); };
               double all = 0;
               for (std::int64_t i = 0; i < at["n"]; ++i)
                   for (std::int64_t j = 0; j < at["m"]; ++j) all += of(i, j);
               return {tabulate({at["m"]},
                                [&](const index& k) {
                                    double sum = 0;
                                    for (std::int64_t i = 0; i < at["n"]; ++i) sum += of(i, k[0]);
                                    return sum;
                                }),
                       tabulate({at["n"], 1},
                                [&](const index& k) {
                                    double most = of(k[0], 0);
                                    for (std::int64_t j = 1; j < at["m"]; ++j) most = std::fmax(most, of(k[0], j));
                                    return most;
                                }),
                       tabulate({}, [&](const index&) { return all / static_cast<double>(at["n"] * at["m"]); })};
           },
           .not_empty = "m",
           .numbers_only = "*"}},
     .no_gradient = "the planner makes it, of nodes that have theirs",
     .cpu_only = true},
};

} // namespace
} // namespace op_table
