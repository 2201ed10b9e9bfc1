#include "op_table/table.hpp"

#include <tenon/ops/input/epochs.hpp>
#include <tenon/ops/random/dropout.hpp>
#include <tenon/ops/random/random.hpp>

// Random numbers. All samples have a seed: every run of theirs in a new session gives the same numbers.

namespace op_table {
namespace {

const operand like = x("n=3 m=4");
const char* const drawn = "what is drawn has no slope";
const auto type_of = [](const setting& at) { return at.element; };

const add_entries randoms{
    {.op = "random_uniform",
     .elements = floating,
     .samples = {{.about = "of given sizes",
                  .attributes =
                      [](const setting& at) {
                          return random_uniform_op::attributes{type_of(at), extents{3, 4}, -1, 1, 7};
                      }},
                 {.about = "of an operand's sizes",
                  .operands = {like},
                  .attributes = random_uniform_op::attributes{element_type::none, {}, -1, 1, 7}}},
     .no_gradient = drawn},
    {.op = "random_normal",
     .elements = floating,
     .samples = {{.about = "of given sizes",
                  .attributes =
                      [](const setting& at) {
                          return random_normal_op::attributes{type_of(at), extents{3, 4}, 0, 1, true, 7};
                      }},
                 {.about = "of an operand's sizes",
                  .operands = {like},
                  .attributes = random_normal_op::attributes{element_type::none, {}, 0, 1, false, 7}}},
     .no_gradient = drawn},
    {.op = "random_part",
     .elements = floating,
     .samples = {{.attributes =
                      [](const setting& at) {
                          return random_part_op::attributes{
                              type_of(at), extents{3, 4}, random_part_op::distribution::normal, 0, 1, 7, 5, "w"};
                      }}},
     .no_gradient = drawn},
    {.op = "random_integers",
     .elements = integers,
     .samples = {{.about = "of given sizes",
                  .attributes =
                      [](const setting& at) {
                          return random_integers_op::attributes{type_of(at), extents{3, 4}, 1, 7, 7};
                      }},
                 {.about = "of an operand's sizes",
                  .operands = {like},
                  .attributes = random_integers_op::attributes{element_type::none, {}, 1, 7, 7}}},
     .no_gradient = drawn},
    {.op = "random_permutation",
     .elements = all_elements,
     .samples = {{.operands = {like}, .attributes = random_permutation_op::attributes{element_type::int32, {}, 7}}},
     .no_gradient = drawn},
    {.op = "random_shuffle",
     .elements = all_elements,
     .samples = {{.operands = {like}, .attributes = random_shuffle_op::attributes{7}}},
     .no_gradient = "its rows are drawn"},
    {.op = "epoch_order",
     .elements = all_elements,
     .samples = {{.about = "shuffled",
                  .operands = {like},
                  .attributes = epoch_order_op::attributes{0, 0, true, 7},
                  .not_empty = "n"},
                 {.about = "in order",
                  .operands = {x("n=3 m=2")},
                  .attributes = epoch_order_op::attributes{},
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {tabulate({at["n"]}, [](const index& i) { return static_cast<double>(i[0]); })};
                  },
                  .not_empty = "n"}},
     .no_gradient = "its numbers name elements",
     .cpu_only = true},
    {.op = "random_bernoulli",
     .elements = all_elements,
     .samples = {{.operands = {like}, .attributes = random_bernoulli_op::attributes{0.25, 7, {}}}},
     .no_gradient = drawn},
};

} // namespace
} // namespace op_table
