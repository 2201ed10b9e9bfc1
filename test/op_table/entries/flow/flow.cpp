#include "op_table/table.hpp"

#include <tenon/expr/fused.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/flow/cond.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/flow/while_loop.hpp>

// Ops of control flow; test/ops/flow has what bodies of several ops do.

namespace op_table {
namespace {

using tensors = std::vector<any_tensor>;

std::string body_of(const std::vector<tensor_type>& types, const std::function<tensors(const tensors&)>& f) {
    tenon::detail::captured_tensors none;
    tenon::detail::body_builder b(none);
    tensors in;
    for (const tensor_type& t : types) in.push_back(b.add_argument(t));
    tensors out;
    {
        const tenon::detail::body_scope scope(b);
        out = f(in);
    }
    return b.finish(out).text();
}
tensor_type open(const setting& at, int rank) {
    extents sizes;
    for (int d = 0; d < rank; ++d) sizes.push_back(dynamic_extent);
    return {at.element, sizes};
}
any_tensor sum_of(const any_tensor& a, const any_tensor& b) {
    return tenon::detail::add_instruction(opcode::add, {a, b});
}
any_tensor number(int n) { return tenon::detail::scalar_constant(n, element_type::int32); }
const tensor_type counter{element_type::int32, {}};

const auto doubled_or_not = [](const setting& at) {
    return cond_op::attributes{body_of({open(at, 2)}, [](const tensors& t) { return tensors{sum_of(t[0], t[0])}; }),
                               body_of({open(at, 2)}, [](const tensors& t) { return t; })};
};
const auto running_sum = [](bool reversed) {
    return [reversed](const setting& at) {
        return scan_op::attributes{body_of({open(at, 1), open(at, 1)},
                                           [](const tensors& t) {
                                               return tensors{sum_of(t[0], t[1]), t[0]};
                                           }),
                                   1, 1, reversed};
    };
};
arguments summed(const arguments& in, bool reversed) {
    plain last = in[0], stack = in[1];
    const std::int64_t steps = in[1].sizes[0], n = in[1].sizes[1];
    for (std::int64_t s = 0; s < steps; ++s)
        for (std::int64_t k = 0; k < n; ++k) {
            const std::size_t at = stack.place({reversed ? steps - 1 - s : s, k});
            const double x = stack.values[at];
            stack.values[at] = last.values[static_cast<std::size_t>(k)];
            last.values[static_cast<std::size_t>(k)] += x;
        }
    return {last, stack, stack};
}
const auto doubled_three_times = [](const setting& at) {
    const std::vector<tensor_type> types{open(at, 1), counter};
    return while_op::attributes{
        body_of(types,
                [](const tensors& t) {
                    return tensors{tenon::detail::add_instruction(opcode::less, {t[1], number(3)})};
                }),
        body_of(types,
                [](const tensors& t) {
                    return tensors{sum_of(t[0], t[0]), sum_of(t[1], number(1))};
                }),
        2};
};

const add_entries flow{
    {.op = "cond",
     .elements = numeric,
     .samples = {{.about = "true",
                  .operands = {truth("").given({1}), x("n=2 m=3")},
                  .attributes = doubled_or_not,
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {each(in[1], [](double v) { return 2 * v; })};
                  }},
                 {.about = "false",
                  .operands = {truth("").given({0}), x("n=2 m=3")},
                  .attributes = doubled_or_not,
                  .expected = [](const setting&, const arguments& in) -> arguments { return {in[1]}; }}}},
    {.op = "scan",
     .elements = numeric,
     .samples = {{.operands = {x("n=2"), x("t=3 n")},
                  .attributes = running_sum(false),
                  .expected = [](const setting&, const arguments& in) { return summed(in, false); }},
                 {.about = "backwards",
                  .operands = {x("n=2"), x("t=3 n")},
                  .attributes = running_sum(true),
                  .expected = [](const setting&, const arguments& in) { return summed(in, true); }}}},
    {.op = "while_loop",
     .elements = numeric,
     .samples = {{.operands = {x("n=2"), x("", element_type::int32).given({0})},
                  .attributes = doubled_three_times,
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {each(in[0], [](double v) { return 8 * v; }), {{}, {3}}, {{}, {3}}};
                  }}},
     .one_order = true},
    {.op = "while_gradient", .cpu_only = true, .apart = "it is made by while_loop's gradient: test/ops/flow"},
};

} // namespace
} // namespace op_table
