#include "op_table/table.hpp"

#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/bit_cast.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

// The same elements in other sizes and another order; joined and taken apart.

namespace op_table {
namespace {

// The elements of in[0] in the sizes of a list.
auto resized(std::vector<std::string> sizes) {
    return [sizes](const setting& at, const arguments& in) -> arguments {
        plain r{{}, in[0].values};
        for (const std::string& s : sizes) r.sizes.push_back(s == "1" ? 1 : at[s]);
        return {r};
    };
}

const add_entries reshapes{
    {.op = "reshape",
     .elements = all_elements,
     .samples = {{.about = "to numbers",
                  .operands = {x("n=2 m=6")},
                  .attributes = reshape_op::attributes{index_list(3, reshape_op::deduced), extents{3, dynamic_extent}},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {{{3, at["n"] * at["m"] / 3}, in[0].values}};
                  }},
                 {.about = "flatten from dimension 1 on",
                  .operands = {x("n=2 m=3 k=2")},
                  .attributes = reshape_op::attributes{index_list(reshape_op::copied(0), reshape_op::deduced),
                                                       extents{dynamic_extent, dynamic_extent}},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {{{at["n"], at["m"] * at["k"]}, in[0].values}};
                  }}}},
    {.op = "reshape_like",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=3"), x("m n").without_slope()}, .expected = resized({"m", "n"})}}},
    {.op = "squeeze",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 1 m=3 1")},
                  .attributes = squeeze_op::attributes{index_list(1, -1)},
                  .expected = resized({"n", "m"})}}},
    {.op = "expand_dims",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes = squeeze_op::attributes{index_list(1, -1)},
                  .expected = resized({"n", "1", "m", "1"})}}},
};

const add_entries orders{
    {.op = "transpose",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=3")},
                  .attributes = squeeze_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["m"], at["n"]}, [&](const index& i) { return in[0](i[1], i[0]); })};
                  }},
                 {.about = "channels first",
                  .operands = {x("b=2 h=3 w=2 c=2")},
                  .attributes = squeeze_op::attributes{index_list(0, 3, 1, 2)},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], at["c"], at["h"], at["w"]},
                                       [&](const index& i) { return in[0](i[0], i[2], i[3], i[1]); })};
                  }},
                 {.about = "axes in a ring",
                  .operands = {x("n=2 m=3 k=4")},
                  .attributes = squeeze_op::attributes{index_list(1, -1, 0)}}}},
    {.op = "broadcast_to",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3 1")},
                  .attributes =
                      reshape_op::attributes{index_list(2, reshape_op::copied(0), 4), extents{2, dynamic_extent, 4}},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({2, at["n"], 4}, [&](const index& i) { return in[0](i[1], 0); })};
                  }}}},
    {.op = "broadcast_like",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3"), x("n m=4").without_slope()},
                  .attributes = squeeze_op::attributes{index_list(1)},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]}, [&](const index& i) { return in[0](i[0]); })};
                  }}}},
    {.op = "cumsum",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=4")},
                  .attributes = detail::scan_attributes{1, false, false},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]}, [&](const index& i) {
                          double sum = 0;
                          for (std::int64_t j = 0; j <= i[1]; ++j) sum += in[0](i[0], j);
                          return sum;
                      })};
                  }},
                 {.about = "exclusive, from the end",
                  .operands = {x("n=4 m=2")},
                  .attributes = detail::scan_attributes{-2, true, true},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]}, [&](const index& i) {
                          double sum = 0;
                          for (std::int64_t j = i[0] + 1; j < at["n"]; ++j) sum += in[0](j, i[1]);
                          return sum;
                      })};
                  }}}},
};

// Columns [from, from + count) of a matrix.
plain columns(const plain& of, std::int64_t from, std::int64_t count) {
    return tabulate({of.sizes[0], count}, [&](const index& i) { return of(i[0], from + i[1]); });
}

const add_entries assembly{
    {.op = "concat",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3 a=2"), x("n b=3")},
                  .attributes = axis_attributes{1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["a"] + at["b"]}, [&](const index& i) {
                          return i[1] < at["a"] ? in[0].at(i) : in[1](i[0], i[1] - at["a"]);
                      })};
                  }}}},
    {.op = "split",
     .elements = all_elements,
     .samples = {{.about = "into equal parts",
                  .operands = {x("n=2 m=4")},
                  .attributes = split_op::attributes{1, 2, {}},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {columns(in[0], 0, at["m"] / 2), columns(in[0], at["m"] / 2, at["m"] / 2)};
                  }},
                 {.about = "into parts of given sizes",
                  .operands = {x("n=2 m=5")},
                  .attributes = split_op::attributes{-1, 0, index_list(2, 0, 3)},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {columns(in[0], 0, 2), columns(in[0], 2, 0), columns(in[0], 2, 3)};
                  },
                  .not_empty = "m"}}},
    {.op = "split_evenly",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 m=5")},
                  .attributes = split_evenly_op::attributes{1, 2},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const std::int64_t left = (at["m"] + 1) / 2;
                      return {columns(in[0], 0, left), columns(in[0], left, at["m"] - left)};
                  }}}},
    {.op = "split_like",
     .elements = all_elements,
     .samples = {{.operands = {x("n=2 5"), x("n 2").without_slope(), x("n 3").without_slope()},
                  .attributes = axis_attributes{1},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {columns(in[0], 0, 2), columns(in[0], 2, 3)};
                  }}}},
    {.op = "add_n",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=2"), x("n m"), x("n m")},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["m"]},
                                       [&](const index& i) { return in[0].at(i) + in[1].at(i) + in[2].at(i); })};
                  }}}},
    {.op = "stack",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3"), x("n")},
                  .attributes = axis_attributes{1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], 2},
                                       [&](const index& i) { return in[static_cast<std::size_t>(i[1])](i[0]); })};
                  }}}},
    {.op = "unstack",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3 m=2")},
                  .attributes = unstack_op::attributes{1, 2},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const auto column = [&](std::int64_t j) {
                          return tabulate({at["n"]}, [&, j](const index& i) { return in[0](i[0], j); });
                      };
                      return {column(0), column(1)};
                  },
                  .not_empty = "m",
                  .without_names = "m"}}},
};

// The bytes of x's elements.
arguments bytes_of_numbers(const setting& at, const arguments& in) {
    any_array a(at.element, extents(static_cast<std::int64_t>(in[0].values.size())));
    for (std::int64_t i = 0; i < a.elements(); ++i) set_number(a, i, in[0].values[static_cast<std::size_t>(i)]);
    plain bytes{in[0].sizes, {}};
    const auto width = static_cast<std::int64_t>(size_of(at.element));
    if (width > 1) bytes.sizes.push_back(width);
    for (std::int64_t i = 0; i < a.elements() * width; ++i)
        bytes.values.push_back(static_cast<const unsigned char*>(a.data())[i]);
    return {bytes};
}

const add_entries bits{
    {.op = "bit_cast",
     .elements = numeric,
     .samples = {{.about = "as bytes",
                  .operands = {x("n=3 m=2")},
                  .attributes = bit_cast_op::attributes{element_type::uint8},
                  .expected = bytes_of_numbers},
                 {.about = "of bytes",
                  .operands = {x("n=3 m=2")},
                  .attributes = [](const setting& at) { return bit_cast_op::attributes{at.element}; },
                  .expected = [](const setting&, const arguments& in) { return in; },
                  .inputs =
                      [](const std::vector<any_tensor>& in) {
                          return std::vector{tenon::add<bit_cast_op>({element_type::uint8}, {in[0]})};
                      }}},
     .no_gradient = "bits are no numbers"},
};

} // namespace
} // namespace op_table
