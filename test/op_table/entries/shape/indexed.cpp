#include "op_table/table.hpp"

#include <tenon/ops/shape/indexed.hpp>

namespace op_table {
namespace {

std::int64_t whole(double index) { return static_cast<std::int64_t>(index); }

// Bools are not added up.
bool adds(const setting& at) { return at.element != element_type::boolean; }

// x with what `put` does to it for each element of the updates, in their order.
template <class Put> arguments changed(const arguments& in, const Put& put) {
    plain out = in[0];
    index i(in[2].sizes.size(), 0);
    for (std::size_t n = 0; n < in[2].values.size(); ++n) {
        std::int64_t rest = static_cast<std::int64_t>(n);
        for (std::size_t d = i.size(); d-- > 0; rest /= in[2].sizes[d]) i[d] = rest % in[2].sizes[d];
        put(out, i, in[2].values[n]);
    }
    return {out};
}
void put_along(const arguments& in, plain& out, const index& i, double v, bool add) {
    double& at = out.values[out.place({i[0], whole(in[1].at(i)), i[2]})];
    at = add ? at + v : v;
}
void put_row(const arguments& in, plain& out, const index& i, double v, bool add) {
    double& at = out.values[out.place({whole(in[1](i[0], 0)), whole(in[1](i[0], 1)), i[1]})];
    at = add ? at + v : v;
}

const add_entries of_indices{
    {.op = "take_along_axis",
     .samples = {{.operands = {x("n=2 m=4 k=2"), places("n j=3 k", {3, 0, 1, 1, 0, 2, 3, 3, 0, 1, 2, 0})},
                  .attributes = take_along_axis_op::attributes{1},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {
                          tabulate(in[1].sizes, [&](const index& i) { return in[0](i[0], whole(in[1].at(i)), i[2]); })};
                  },
                  .not_empty = "m"},
                 {.about = "along the last axis, by indices of 64 bits",
                  .operands = {x("n=3 m=4"), places("n j=2", {3, 0, 1, 1, 0, 2}, element_type::int64)},
                  .attributes = take_along_axis_op::attributes{-1},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[1].sizes, [&](const index& i) { return in[0](i[0], whole(in[1].at(i))); })};
                  },
                  .not_empty = "m"}}},
    {.op = "scatter_along_axis",
     .samples =
         {{.operands = {x("n=2 m=4 k=2"), places("n j=3 k", {3, 0, 1, 1, 3, 2, 3, 3, 0, 1, 2, 3}), x("n j k")},
           .attributes = scatter_along_axis_op::attributes{1, false},
           .expected =
               [](const setting&, const arguments& in) {
                   return changed(in, [&](plain& out, const index& i, double v) { put_along(in, out, i, v, false); });
               },
           .not_empty = "m"},
          {.about = "added up",
           .operands = {x("n=2 m=4 k=2"), places("n j=3 k", {3, 0, 1, 1, 3, 2, 3, 3, 0, 1, 2, 3}, element_type::int64),
                        x("n j k")},
           .attributes =
               [](const setting& at) {
                   return scatter_along_axis_op::attributes{-2, adds(at)};
               },
           .expected =
               [](const setting& at, const arguments& in) {
                   return changed(in,
                                  [&](plain& out, const index& i, double v) { put_along(in, out, i, v, adds(at)); });
               },
           .not_empty = "m"}}},
    {.op = "gather_nd",
     .samples = {{.operands = {x("n=3 m=2 k=4"), places("j=4 2", {2, 1, 0, 0, 2, 1, 1, 0})},
                  .attributes = gather_nd_op::attributes{0},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["j"], at["k"]}, [&](const index& i) {
                          return in[0](whole(in[1](i[0], 0)), whole(in[1](i[0], 1)), i[1]);
                      })};
                  },
                  .not_empty = "n m"},
                 {.about = "of elements of a batch, by indices of 64 bits",
                  .operands = {x("n=2 m=3"), places("n j=2 1", {2, 1, 0, 2}, element_type::int64)},
                  .attributes = gather_nd_op::attributes{1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["j"]},
                                       [&](const index& i) { return in[0](i[0], whole(in[1](i[0], i[1], 0))); })};
                  },
                  .not_empty = "m"}}},
    {.op = "scatter_nd",
     .samples =
         {{.operands = {x("n=3 m=2 k=4"), places("j=4 2", {2, 1, 0, 0, 2, 1, 1, 0}), x("j k")},
           .attributes = scatter_nd_op::attributes{0, false},
           .expected =
               [](const setting&, const arguments& in) {
                   return changed(in, [&](plain& out, const index& i, double v) { put_row(in, out, i, v, false); });
               },
           .not_empty = "n m"},
          {.about = "added up",
           .operands = {x("n=3 m=2 k=4"), places("j=4 2", {2, 1, 0, 0, 2, 1, 2, 1}, element_type::int64), x("j k")},
           .attributes =
               [](const setting& at) {
                   return scatter_nd_op::attributes{0, adds(at)};
               },
           .expected =
               [](const setting& at, const arguments& in) {
                   return changed(in, [&](plain& out, const index& i, double v) { put_row(in, out, i, v, adds(at)); });
               },
           .not_empty = "n m"}}},
};

} // namespace
} // namespace op_table
