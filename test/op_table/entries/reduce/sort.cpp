#include "op_table/table.hpp"

#include <algorithm>
#include <numeric>

#include <tenon/ops/reduce/sort.hpp>

namespace op_table {
namespace {

// Where the elements of x[o, ., i] are, in order.
std::vector<std::int64_t> places_in_order(const plain& x, std::int64_t o, std::int64_t i, bool descending) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(x.sizes[1]));
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        return descending ? x(o, a, i) > x(o, b, i) : x(o, a, i) < x(o, b, i);
    });
    return places;
}
arguments sorted(const plain& x, bool descending) {
    const auto place = [&](const index& i) {
        return places_in_order(x, i[0], i[2], descending)[static_cast<std::size_t>(i[1])];
    };
    return {tabulate(x.sizes, [&](const index& i) { return x(i[0], place(i), i[2]); }),
            tabulate(x.sizes, [&](const index& i) { return static_cast<double>(place(i)); })};
}

const add_entries in_order{
    {.op = "sort",
     .elements = numeric,
     .samples = {{.operands = {x("n=2 m=5 k=3")},
                  .attributes = sort_op::attributes{1, false},
                  .expected = [](const setting&, const arguments& in) { return sorted(in[0], false); }},
                 {.about = "the largest first",
                  .operands = {x("n=2 m=7 1")},
                  .attributes = sort_op::attributes{-2, true},
                  .expected = [](const setting&, const arguments& in) { return sorted(in[0], true); }}},
     .slopes = 1},
    {.op = "searchsorted",
     .elements = numeric,
     .samples = {{.operands = {x("5").given({1, 2, 2, 4, 7}), x("n=2 m=4").given({2, 0, 9, 7, 3, 1, 4, 8})},
                  .attributes = searchsorted_op::attributes{false},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {each(in[1], [&](double v) {
                          double count = 0;
                          for (const double s : in[0].values) count += s < v ? 1 : 0;
                          return count;
                      })};
                  }},
                 {.about = "a row for each, behind equal ones",
                  .operands = {x("n=2 4").given({1, 2, 2, 4, 0, 0, 3, 9}), x("n m=4").given({2, 0, 9, 4, 3, 1, 0, 8})},
                  .attributes = searchsorted_op::attributes{true},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[1].sizes, [&](const index& i) {
                          double count = 0;
                          for (std::int64_t j = 0; j < in[0].sizes[1]; ++j)
                              count += in[0](i[0], j) <= in[1].at(i) ? 1 : 0;
                          return count;
                      })};
                  }}},
     .no_gradient = "its result is a place"},
};

} // namespace
} // namespace op_table
