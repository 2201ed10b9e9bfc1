#include "op_table/table.hpp"

#include <tenon/ops/linear/diagonal.hpp>

namespace op_table {
namespace {

sample taken(std::int64_t k) {
    return {.about = "diagonal " + std::to_string(k),
            .operands = {x("n=2 m=3 l=4")},
            .attributes = diagonal_op::attributes{k},
            .expected = [k](const setting& at, const arguments& in) -> arguments {
                std::vector<std::int64_t> rows;
                for (std::int64_t i = 0; i < at["m"]; ++i)
                    if (i + k >= 0 && i + k < at["l"]) rows.push_back(i);
                return {tabulate({at["n"], static_cast<std::int64_t>(rows.size())}, [&](const index& i) {
                    const std::int64_t row = rows[static_cast<std::size_t>(i[1])];
                    return in[0](i[0], row, row + k);
                })};
            }};
}
double on_diagonal(const plain& v, const index& i, std::int64_t k) {
    return i[2] == i[1] + k ? v(i[0], k < 0 ? i[2] : i[1]) : 0.0;
}

const add_entries diagonals{
    {.op = "diagonal", .samples = {taken(0), taken(2), taken(-1), taken(7)}},
    {.op = "put_diagonal",
     .samples = {{.operands = {x("n=2 2"), x("n 3 4").without_slope()},
                  .attributes = diagonal_op::attributes{2},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[1].sizes, [&](const index& i) { return on_diagonal(in[0], i, 2); })};
                  }}}},
    {.op = "diag",
     .samples =
         {{.operands = {x("n=2 m=3")},
           .attributes = diagonal_op::attributes{0},
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({at["n"], at["m"], at["m"]}, [&](const index& i) { return on_diagonal(in[0], i, 0); })};
           }},
          {.about = "below the main one",
           .operands = {x("n=2 m=3")},
           .attributes = diagonal_op::attributes{-2},
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({at["n"], at["m"] + 2, at["m"] + 2},
                                [&](const index& i) { return on_diagonal(in[0], i, -2); })};
           }}}},
};

} // namespace
} // namespace op_table
