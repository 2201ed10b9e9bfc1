#include "op_table/table.hpp"

#include <tenon/ops/control/sized.hpp>

namespace op_table {
namespace {

const add_entries of_sizes{
    {.op = "fill_sizes",
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes =
                      [](const setting& at) {
                          return fill_sizes_op::attributes{
                              at.element, index_list(4, fill_sizes_op::copied(0, 1), fill_sizes_op::copied(0, 0)), 1};
                      },
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {tabulate({4, at["m"], at["n"]}, [](const index&) { return 1.0; })};
                  }}},
     .no_gradient = "its result depends on no value"},
    {.op = "arange_like",
     .elements = numeric,
     .samples = {{.operands = {x("n=2 m=5")},
                  .attributes =
                      [](const setting& at) {
                          return arange_like_op::attributes{at.element, -1, 3, 2};
                      },
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {
                          tabulate({at["m"]}, [](const index& i) { return 3.0 + 2.0 * static_cast<double>(i[0]); })};
                  }}},
     .no_gradient = "its result depends on no value"},
};

} // namespace
} // namespace op_table
