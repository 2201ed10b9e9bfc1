#include "op_table/table.hpp"

#include <tenon/ops/state/state.hpp>

// Ops that steer a graph, constants and variables.

namespace op_table {
namespace {

arguments first(const setting&, const arguments& in) { return {in[0]}; }

const auto declared = [](const setting& at) { return placeholder_op::attributes{at.element, extents{2, 3}}; };
const auto ones = [](const setting& at) {
    any_array a(at.element, extents{2, 3});
    for (std::int64_t i = 0; i < 6; ++i) set_number(a, i, 1);
    return constant_op::attributes{std::make_shared<const any_array>(std::move(a))};
};

const add_entries control{
    {.op = "placeholder", .elements = all_elements, .samples = {{.attributes = declared}}, .no_gradient = "a source"},
    {.op = "variable", .elements = all_elements, .samples = {{.attributes = declared}}, .no_gradient = "a source"},
    {.op = "constant",
     .elements = all_elements,
     .samples = {{.attributes = ones,
                  .expected = [](const setting&, const arguments&) -> arguments {
                      return {{{2, 3}, {1, 1, 1, 1, 1, 1}}};
                  }}},
     .no_gradient = "a source"},
    {.op = "placeholder_with_default",
     .elements = all_elements,
     .samples = {{.operands = {x("2 3")}, .attributes = declared, .expected = first},
                 {.about = "whose sizes are left open",
                  .operands = {x("n=2 m=3")},
                  .attributes =
                      [](const setting& at) {
                          return placeholder_op::attributes{at.element, extents{dynamic_extent, dynamic_extent}};
                      },
                  .expected = first}}},
    {.op = "identity", .elements = all_elements, .samples = {{.operands = {x("n=2 m=3")}, .expected = first}}},
    {.op = "transfer", .elements = all_elements, .samples = {{.operands = {x("n=2 m=3")}, .expected = first}}},
    {.op = "ensure_shape",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 3")},
                  .attributes = ensure_shape_op::attributes{{dynamic_extent, 3}},
                  .expected = first}}},
    {.op = "stop_gradient",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=3")}, .expected = first}},
     .no_gradient = "it is there to stop it"},
    {.op = "fill_like",
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes = fill_like_op::attributes{1},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {each(in[0], [](double) { return 1.0; })};
                  }}},
     .no_gradient = "only sizes matter"},
    {.op = "print",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2"), x("m=2").without_slope()},
                  .attributes = print_op::attributes{"print:"},
                  .expected = first}},
     .cpu_only = true},
    {.op = "assert",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3", element_type::boolean).given({1}), x("m=2")},
                  .attributes = print_op::attributes{"assert:"}}},
     .no_gradient = "no results",
     .cpu_only = true},
    {.op = "no_op", .elements = all_elements, .samples = {{}}, .no_gradient = "no results"},
};

const add_entries updates{
    {.op = "is_initialized", .no_gradient = "of nothing that is computed", .apart = "ops/state/state.cpp"},
    {.op = "assign",
     .elements = all_elements,
     .samples = {{.operands = {held("n=2 m=3"), x("n m")},
                  .expected = [](const setting&, const arguments& in) -> arguments { return {in[1]}; },
                  .without_names = "*"}},
     .no_gradient = "an effect"},
    {.op = "scatter",
     .elements = numeric,
     .samples = {{.about = "rows added",
                  .operands = {held("n=3 m=2"), x("k=2", element_type::int32).given({2, 0}), x("k m")},
                  .attributes = scatter_op::attributes{scatter_op::way::add},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      plain r = in[0];
                      for (std::int64_t i = 0; i < at["k"]; ++i)
                          for (std::int64_t j = 0; j < at["m"]; ++j)
                              r.values[r.place({static_cast<std::int64_t>(in[1](i)), j})] += in[2](i, j);
                      return {r};
                  },
                  .not_empty = "n",
                  .without_names = "*"}},
     .no_gradient = "an effect"},
};

} // namespace
} // namespace op_table
