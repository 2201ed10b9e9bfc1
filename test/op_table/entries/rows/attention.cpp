#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/rows/attention.hpp>

namespace op_table {
namespace {

// y and the logarithms of sums, where query i of a sequence sees so many keys.
arguments attention_of(const setting& at, const arguments& in, double scale,
                       const std::function<std::int64_t(std::int64_t sequence, std::int64_t i)>& seen) {
    const std::int64_t group = at["g"] == 0 ? 1 : at["h"] / at["g"];
    const auto score = [&](const index& i, std::int64_t j) {
        double s = 0;
        for (std::int64_t l = 0; l < at["d"]; ++l) s += in[0](i[0], i[1], i[2], l) * in[1](i[0], i[1] / group, j, l);
        return s == 0 ? 0 : s * scale;
    };
    const auto sum = [&](const index& i) {
        double s = 0;
        for (std::int64_t j = 0; j < seen(i[0], i[2]); ++j) s += std::exp(score(i, j));
        return s;
    };
    return {tabulate({at["b"], at["h"], at["n"], at["e"]},
                     [&](const index& i) {
                         double y = 0;
                         for (std::int64_t j = 0; j < seen(i[0], i[2]); ++j)
                             y += std::exp(score(i, j)) / sum(i) * in[2](i[0], i[1] / group, j, i[3]);
                         return y;
                     }),
            tabulate({at["b"], at["h"], at["n"]}, [&](const index& i) { return std::log(sum(i)); })};
}

const operand queries = x("b=2 h=4 n=3 d=3"), keys = x("b g=2 m=5 d"), values = x("b g m e=2");
const operand key_lengths = x("b", element_type::int32).given({4, 2});

// The inputs of the gradient: attention's outputs are two of them.
std::function<std::vector<any_tensor>(const std::vector<any_tensor>&)> after(const attention_op::attributes& a) {
    return [a](const std::vector<any_tensor>& in) -> std::vector<any_tensor> {
        const any_tensor y = in.size() > 4 ? untyped::attention(in[0], in[1], in[2], in[4], a)
                                           : untyped::attention(in[0], in[1], in[2], a);
        std::vector<any_tensor> all{in[0], in[1], in[2], y, any_tensor({y.node(), 1}), in[3]};
        if (in.size() > 4) all.push_back(in[4]);
        return all;
    };
}

const add_entries attentions{
    {.op = "attention",
     .elements = floating,
     .samples = {{.operands = {queries, keys, values},
                  .attributes = attention_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return attention_of(at, in, 1 / std::sqrt(static_cast<double>(at["d"])),
                                          [&](std::int64_t, std::int64_t) { return at["m"]; });
                  },
                  .not_empty = "g"},
                 {.about = "causal, of sequences of several lengths",
                  .operands = {queries, keys, values, key_lengths},
                  .attributes = attention_op::attributes{true, 0.4},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return attention_of(at, in, 0.4, [&](std::int64_t b, std::int64_t i) {
                          return std::min(i + 1, static_cast<std::int64_t>(in[3](b)));
                      });
                  },
                  .not_empty = "g m"},
                 {.about = "with a mask, the same for all queries",
                  .operands = {queries, keys, values, x("1 1 1 m")},
                  .attributes = attention_op::attributes{false, 0.4},
                  .not_empty = "g"},
                 {.about = "without heads, causal, of more queries than keys",
                  .operands = {x("n=4 d=2"), x("m=3 d"), x("m e=2")},
                  .attributes = attention_op::attributes{true, 0}}},
     .slopes = 1,
     .tolerance = 20},
    {.op = "attention_gradient",
     .elements = floating,
     .samples = {{.operands = {queries, keys, values, x("b h n e")},
                  .attributes = attention_gradient_op::attributes{},
                  .not_empty = "g",
                  .inputs = after({})},
                 {.about = "causal, of sequences of several lengths, one of which has none",
                  .operands = {queries, keys, values, x("b h n e"), x("b", element_type::int64).given({0, 2})},
                  .attributes = attention_gradient_op::attributes{true, 0.4},
                  .not_empty = "g m",
                  .inputs = after({true, 0.4})},
                 {.about = "with a mask of each head",
                  .operands = {queries, keys, values, x("b h n e"), x("1 h n m")},
                  .attributes = attention_gradient_op::attributes{false, 0.4, true},
                  .not_empty = "g",
                  .inputs = after({false, 0.4})}},
     .tolerance = 20},
};

} // namespace
} // namespace op_table
