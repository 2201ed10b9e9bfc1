#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/linear/einsum.hpp>
#include <tenon/ops/linear/matmul_float8.hpp>

// Products of matrices; what einsum makes of several operands is made of these, and tested in ops/linear/einsum.cpp.

namespace op_table {
namespace {

double dot(std::int64_t k, const std::function<double(std::int64_t)>& term) {
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += term(l);
    return sum;
}

// x as matmul_float8 rounds it; ops/linear/matmul_float8.cpp has the rounding.
plain in_8_bits(const plain& x, float8_format f) {
    float most = 0;
    for (const double v : x.values) most = std::fmax(most, std::fabs(static_cast<float>(v)));
    const float scale = scale_of(f, most);
    return each(x, [&](double v) {
        return static_cast<double>(rounded_to(f, static_cast<float>(v) * scale)) / static_cast<double>(scale);
    });
}

const element_types multiplied_alike = floating.with(element_type::int32).with(element_type::int64);
const element_types multiplied = multiplied_alike.with(element_type::int8);

const add_entries products{
    {.op = "matmul",
     .elements = multiplied,
     .samples = {{.operands = {x("m=3 k=4"), x("k n=5")},
                  .attributes = matmul_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["m"], at["n"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return in[0](i[0], l) * in[1](l, i[1]); });
                      })};
                  }},
                 {.about = "both transposed",
                  .operands = {x("k=4 m=3"), x("n=5 k")},
                  .attributes = transpose_a | transpose_b,
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["m"], at["n"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return in[0](l, i[0]) * in[1](i[1], l); });
                      })};
                  }},
                 {.about = "a batch by one matrix",
                  .operands = {x("b=2 m=3 k=4"), x("k n=2")},
                  .attributes = matmul_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], at["m"], at["n"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return in[0](i[0], i[1], l) * in[1](l, i[2]); });
                      })};
                  }},
                 {.about = "a matrix by a vector",
                  .operands = {x("m=3 k=4"), x("k")},
                  .attributes = matmul_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["m"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return in[0](i[0], l) * in[1](l); });
                      })};
                  }},
                 // ops/linear/matmul.cpp has the values of these.
                 {.about = "the first transposed", .operands = {x("k=4 m=3"), x("k n=2")}, .attributes = transpose_a},
                 {.about = "vectors", .operands = {x("k=4"), x("k")}, .attributes = matmul_op::attributes{}},
                 {.about = "a vector by a batch, transposed",
                  .operands = {x("k=4"), x("b=3 n=2 k")},
                  .attributes = transpose_b},
                 {.about = "batches that are repeated",
                  .operands = {x("b=2 1 m=2 k=3"), x("c=4 k n=2")},
                  .attributes = matmul_op::attributes{}}}},
    {.op = "matmul_bias",
     .elements = multiplied_alike,
     .samples = {{.operands = {x("m=3 k=4"), x("k n=5"), x("n")},
                  .attributes = matmul_bias_op::attributes{false, false, true},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["m"], at["n"]}, [&](const index& i) {
                          return std::fmax(0, in[2](i[1]) + dot(at["k"], [&](std::int64_t l) {
                                                  return in[0](i[0], l) * in[1](l, i[1]);
                                              }));
                      })};
                  }}}},
    {.op = "matmul_float8",
     .elements = element_types{}.with(element_type::float32).with(element_type::float16).with(element_type::bfloat16),
     .samples = {{.operands = {x("m=3 k=4"), x("k n=5")},
                  .attributes = matmul_float8_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const plain a = in_8_bits(in[0], float8_format::e4m3), b = in_8_bits(in[1], float8_format::e4m3);
                      return {tabulate({at["m"], at["n"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return a(i[0], l) * b(l, i[1]); });
                      })};
                  }},
                 {.about = "what flows in, by an operand that lies transposed, in a batch",
                  .operands = {x("b=2 k=4 m=3"), x("n=5 k")},
                  .attributes = matmul_float8_op::attributes{true, true, true, false},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const plain a = in_8_bits(in[0], float8_format::e5m2), b = in_8_bits(in[1], float8_format::e4m3);
                      return {tabulate({at["b"], at["m"], at["n"]}, [&](const index& i) {
                          return dot(at["k"], [&](std::int64_t l) { return a(i[0], l, i[1]) * b(i[2], l); });
                      })};
                  }}},
     .steps = "rounding has steps: ops/linear/matmul_float8.cpp"},
    {.op = "einsum_operand",
     .elements = numeric,
     .samples = {{.operands = {x("m=3 k=4"), x("k n=2").without_slope(), x("n n").without_slope()},
                  .attributes = einsum_operand_op::attributes{"ij,jk,kk->"},
                  .expected = [](const setting&, const arguments& in) -> arguments { return {in[0]}; }},
                 {.about = "with dimensions without letters",
                  .operands = {x("b=2 m=3 k=4"), x("k m").without_slope()},
                  .attributes = einsum_operand_op::attributes{"...ij,ji->..."},
                  .expected = [](const setting&, const arguments& in) -> arguments { return {in[0]}; }}}},
};

} // namespace
} // namespace op_table
