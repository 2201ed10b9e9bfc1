#include "op_table/table.hpp"

#include <algorithm>
#include <numeric>

#include <tenon/ops/reduce/top_k.hpp>

namespace op_table {
namespace {

// The places of a row's elements, the largest first.
std::vector<std::int64_t> sorted(const plain& x, std::int64_t i) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(x.sizes[1]));
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) { return x(i, a) > x(i, b); });
    return places;
}

const add_entries largest{
    {.op = "top_k",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=5")},
                  .attributes = top_k_op::attributes{2},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      const auto place = [&](const index& i) {
                          return sorted(in[0], i[0])[static_cast<std::size_t>(i[1])];
                      };
                      return {
                          tabulate({in[0].sizes[0], 2}, [&](const index& i) { return in[0](i[0], place(i)); }),
                          tabulate({in[0].sizes[0], 2}, [&](const index& i) { return static_cast<double>(place(i)); })};
                  },
                  .not_empty = "m"}},
     .slopes = 1},
    {.op = "take_places",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 m=5"), x("n k=2", element_type::int32).given({4, 0, 1, 1, 2, 3})},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[1].sizes, [&](const index& i) {
                          return in[0](i[0], static_cast<std::int64_t>(in[1](i[0], i[1])));
                      })};
                  },
                  .not_empty = "m"}}},
    {.op = "put_places",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 k=2"), x("n k", element_type::int32).given({4, 0, 1, 1, 2, 3}),
                               x("n m=5").without_slope()},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[2].sizes, [&](const index& i) {
                          double sum = 0;
                          for (std::int64_t j = 0; j < in[0].sizes[1]; ++j)
                              if (static_cast<std::int64_t>(in[1](i[0], j)) == i[1]) sum += in[0](i[0], j);
                          return sum;
                      })};
                  },
                  .not_empty = "m"}}},
};

} // namespace
} // namespace op_table
