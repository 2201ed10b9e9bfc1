#include "op_table/table.hpp"

#include <tenon/ops/shape/continued.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>

// Parts of tensors, and tensors around tensors.

namespace op_table {
namespace {

slice_op::attributes slicing(std::initializer_list<range> ranges) {
    return slice_op::attributes_of(ranges.begin(), static_cast<int>(ranges.size()));
}

const add_entries slices{
    {.op = "slice",
     .elements = all_elements,
     .samples =
         {{.about = "some rows, columns backwards",
           .operands = {x("n=4 m=3")},
           .attributes = slicing({{1, 3, 1}, {unbounded, unbounded, -1}}),
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({2, at["m"]}, [&](const index& i) { return in[0](1 + i[0], at["m"] - 1 - i[1]); })};
           },
           .not_empty = "n"},
          {.about = "every other from the last on",
           .operands = {x("n=5")},
           .attributes = slicing({{unbounded, unbounded, -2}}),
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({(at["n"] + 1) / 2}, [&](const index& i) { return in[0](at["n"] - 1 - 2 * i[0]); })};
           }}}},
    {.op = "slice_gradient",
     .samples = {{.operands = {x("2 m=3"), x("n=4 m").without_slope()},
                  .attributes = slicing({{1, 3, 1}}),
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]}, [&](const index& i) {
                          return i[0] >= 1 && i[0] < 3 ? in[0](i[0] - 1, i[1]) : 0.0;
                      })};
                  },
                  .not_empty = "n"}}},
    {.op = "reverse",
     .elements = all_elements,
     .samples =
         {{.operands = {x("n=2 m=3")},
           .attributes = reverse_op::attributes{index_list(-1)},
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({at["n"], at["m"]}, [&](const index& i) { return in[0](i[0], at["m"] - 1 - i[1]); })};
           }}}},
    {.op = "pad",
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes = pad_op::attributes{index_list(1, 0), index_list(0, 2), 1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"] + 1, at["m"] + 2}, [&](const index& i) {
                          return i[0] >= 1 && i[1] < at["m"] ? in[0](i[0] - 1, i[1]) : 1.0;
                      })};
                  }}}},
    {.op = "tile",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes = tile_op::attributes{index_list(2, 3)},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({2 * at["n"], 3 * at["m"]},
                                       [&](const index& i) { return in[0](i[0] % at["n"], i[1] % at["m"]); })};
                  }}}},
    {.op = "tile_gradient",
     .elements = numeric,
     .samples = {{.operands = {x("4 n=3"), x("2 n").without_slope()},
                  .attributes = tile_op::attributes{index_list(2, 1)},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({2, at["n"]},
                                       [&](const index& i) { return in[0](i[0], i[1]) + in[0](i[0] + 2, i[1]); })};
                  }}}},
    {.op = "one_hot",
     .elements = integers,
     .samples = {{.operands = {x("n=4").given({1, 3, 0, 7})},
                  .attributes = one_hot_op::attributes{3, -1, element_type::float32},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], 3}, [&](const index& i) {
                          return in[0](i[0]) == static_cast<double>(i[1]) ? 1.0 : 0.0;
                      })};
                  }}},
     .no_gradient = "its operand is not floating"},
};

// Where place i of n comes from, said by walking there step by step.
std::int64_t walked(std::int64_t i, std::int64_t n, pad_mode mode) {
    std::int64_t at = 0, way = i < 0 ? -1 : 1;
    for (std::int64_t steps = i < 0 ? -i : i; steps > 0; --steps) {
        if (at + way >= 0 && at + way < n) at += way;
        else if (mode == pad_mode::wrap) at = way > 0 ? 0 : n - 1;
        else if (mode == pad_mode::reflect && n > 1) {
            way = -way;
            at += way;
        }
    }
    return at;
}
sample continued(const std::string& about, const continue_axis_op::attributes& a) {
    return {.about = about,
            .operands = {x("n=2 m=3 k=2")},
            .attributes = a,
            .expected = [a](const setting& at, const arguments& in) -> arguments {
                return {tabulate({at["n"], at["m"] + a.before + a.after, at["k"]}, [&](const index& i) {
                    return in[0](i[0], walked(i[1] - a.before, at["m"], a.mode), i[2]);
                })};
            },
            .not_empty = "m"};
}
sample of_continued(const std::string& about, const continue_axis_op::attributes& a) {
    return {.about = about,
            .operands = {x("n=2 " + std::to_string(3 + a.before + a.after) + " k=2"), x("n 3 k").without_slope()},
            .attributes = a,
            .expected = [a](const setting&, const arguments& in) -> arguments {
                return {tabulate(in[1].sizes, [&](const index& i) {
                    double sum = 0;
                    for (std::int64_t p = 0; p < in[0].sizes[1]; ++p)
                        if (walked(p - a.before, 3, a.mode) == i[1]) sum += in[0](i[0], p, i[2]);
                    return sum;
                })};
            }};
}

const add_entries paddings{
    {.op = "continue_axis",
     .samples = {continued("mirrored", {1, 2, 1, pad_mode::reflect}), continued("far", {1, 5, 9, pad_mode::reflect}),
                 continued("edge", {-2, 1, 3, pad_mode::edge}), continued("around", {1, 2, 7, pad_mode::wrap})}},
    {.op = "continue_axis_gradient",
     .elements = numeric,
     .samples = {of_continued("mirrored", {1, 2, 1, pad_mode::reflect}),
                 of_continued("far", {1, 5, 9, pad_mode::reflect}), of_continued("edge", {-2, 1, 3, pad_mode::edge}),
                 of_continued("around", {1, 2, 7, pad_mode::wrap})}},
};

plain gathered(const setting& at, const arguments& in) {
    return tabulate({at["k"], at["m"]},
                    [&](const index& i) { return in[0](static_cast<std::int64_t>(in[1](i[0])), i[1]); });
}

const add_entries gathers{
    {.op = "gather",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3 m=2"), places("k=4", {2, 0, 2, 1})},
                  .attributes = gather_op::attributes{0},
                  .expected = [](const setting& at, const arguments& in) -> arguments { return {gathered(at, in)}; },
                  .not_empty = "n"},
                 {.about = "by indices of 64 bits",
                  .operands = {x("n=3 m=2"), places("k=2", {2, 1}, element_type::int64)},
                  .attributes = gather_op::attributes{0},
                  .expected = [](const setting& at, const arguments& in) -> arguments { return {gathered(at, in)}; },
                  .not_empty = "n"},
                 {.about = "along the last axis",
                  .operands = {x("n=2 m=3"), places("k=2 j=2", {2, 0, 1, 2})},
                  .attributes = gather_op::attributes{-1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["k"], at["j"]}, [&](const index& i) {
                          return in[0](i[0], static_cast<std::int64_t>(in[1](i[1], i[2])));
                      })};
                  },
                  .not_empty = "m"}}},
    {.op = "gather_gradient",
     .elements = numeric,
     .samples = {{.operands = {x("k=4 m=2"), places("k", {2, 0, 2, 1}), x("n=3 m").without_slope()},
                  .attributes = gather_op::attributes{0},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      plain r = tabulate({at["n"], at["m"]}, [](const index&) { return 0.0; });
                      for (std::int64_t i = 0; i < at["k"]; ++i)
                          for (std::int64_t j = 0; j < at["m"]; ++j)
                              r.values[r.place({static_cast<std::int64_t>(in[1](i)), j})] += in[0](i, j);
                      return {r};
                  },
                  .not_empty = "n"}}},
    {.op = "sum_equal_rows",
     .elements = floating,
     .samples = {{.operands = {x("k=4 m=2"), places("k", {2, 0, 2, 1})},
                  .attributes = sum_equal_rows_op::attributes{false},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["k"], at["m"]}, [&](const index& i) {
                          double sum = 0;
                          for (std::int64_t l = 0; l < at["k"]; ++l)
                              if (in[1](l) == in[1](i[0])) sum += in[0](l, i[1]);
                          return sum;
                      })};
                  }}},
     .no_gradient = "optimisers use it on gradients"},
};

} // namespace
} // namespace op_table
