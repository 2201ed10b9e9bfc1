#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/rows/ctc.hpp>

namespace op_table {
namespace {

// Every path of each sequence, one after another: what it reads as, and its probability.
arguments all_paths(const setting& at, const arguments& in, int blank) {
    const std::int64_t batch = at["b"], time = at["t"], classes = at["k"];
    std::vector<double> loss(static_cast<std::size_t>(batch));
    plain slope = tabulate({batch, time, classes}, [](const index&) { return 0; });
    for (std::int64_t s = 0; s < batch; ++s) {
        const auto steps = static_cast<std::int64_t>(in[2](s)), length = static_cast<std::int64_t>(in[3](s));
        const auto p = [&](std::int64_t t, std::int64_t c) {
            double sum = 0;
            for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(in[0](s, t, k));
            return std::exp(in[0](s, t, c)) / sum;
        };
        std::int64_t paths = 1;
        for (std::int64_t t = 0; t < steps; ++t) paths *= classes;
        double all = 0;
        std::vector<double> through(static_cast<std::size_t>(time * classes));
        for (std::int64_t number = 0; number < paths; ++number) {
            std::vector<std::int64_t> path, read;
            for (std::int64_t t = 0, left = number; t < steps; ++t, left /= classes) path.push_back(left % classes);
            double probability = 1;
            for (std::size_t t = 0; t < path.size(); ++t) {
                probability *= p(static_cast<std::int64_t>(t), path[t]);
                if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) read.push_back(path[t]);
            }
            bool right = static_cast<std::int64_t>(read.size()) == length;
            for (std::int64_t i = 0; right && i < length; ++i)
                right = read[static_cast<std::size_t>(i)] == static_cast<std::int64_t>(in[1](s, i));
            if (!right) continue;
            all += probability;
            for (std::size_t t = 0; t < path.size(); ++t)
                through[t * static_cast<std::size_t>(classes) + static_cast<std::size_t>(path[t])] += probability;
        }
        loss[static_cast<std::size_t>(s)] = -std::log(all);
        for (std::int64_t t = 0; all > 0 && t < steps; ++t)
            for (std::int64_t k = 0; k < classes; ++k)
                slope.values[slope.place({s, t, k})] =
                    p(t, k) - through[static_cast<std::size_t>(t * classes + k)] / all;
    }
    return {tabulate({batch}, [&](const index& i) { return loss[static_cast<std::size_t>(i[0])]; }), slope};
}

const operand times = x("b", element_type::int32).given({5, 4, 3}),
              lengths = x("b", element_type::int64).given({2, 2, 0});

const add_entries ctc{
    {.op = "ctc_loss",
     .elements = floating,
     .samples = {{.operands = {x("b=3 t=5 k=3"), x("b n=3", element_type::int32).given({1, 2, 0, 2, 2, 9, 9, 9, 9}),
                               times, lengths},
                  .attributes = ctc_loss_op::attributes{0},
                  .expected = [](const setting& at, const arguments& in) { return all_paths(at, in, 0); },
                  .not_empty = "t k n"},
                 {.about = "the blank last",
                  .operands = {x("b=3 t=5 k=3"), x("b n=2", element_type::int64).given({0, 1, 1, 1, 0, 0}), times,
                               lengths},
                  .attributes = ctc_loss_op::attributes{2},
                  .expected = [](const setting& at, const arguments& in) { return all_paths(at, in, 2); },
                  .not_empty = "t k n"}}},
};

} // namespace
} // namespace op_table
