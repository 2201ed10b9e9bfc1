#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that go through a sequence: RNN, GRU, LSTM. X: [steps, batch, inputs]. A few steps are nodes of their own; more, or a
/// number that is known in the step only, are a scan.

namespace tenon::detail::onnx {

inline constexpr std::int64_t max_unrolled_steps = 32;

struct recurrent {
    explicit recurrent(const call& of, int of_gates) : c(of), gates(of_gates) {
        layout = c.integer("layout", 0) != 0;
        x = layout ? untyped::transpose(c.x(), {1, 0, 2}) : c.x();
        if (x.rank() != 3) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 3 are needed");
        if (x.extents()[0].is_number()) steps = x.extents()[0].size;
        const any_tensor w = c.x(1);
        if (w.rank() != 3 || c.x(2).rank() != 3)
            c.wrong("its weights have " + std::to_string(w.rank()) + " dimensions; 3 are needed");
        directions = static_cast<int>(
            within(c, number_of(c, w.extents()[0], "the number of directions"), 1, 2, "the number of directions"));
        hidden = within(c, c.integer("hidden_size", number_of(c, c.x(2).extents()[2], "the hidden size")), 1, 1 << 24,
                        "the hidden size");
        if (c.has(4) && !all_whole())
            lengths = untyped::expand_dims(untyped::cast(c.x(4), element_type::int64), {1}); // [batch, 1]
        const std::string way = c.text("direction", "forward");
        backward = way == "reverse";
        if ((way == "bidirectional") != (directions == 2))
            c.wrong("its direction is " + way + ", its weights have " + std::to_string(directions));
        if (const attribute_message* a = c.attribute("activations")) activations = a->strings;
    }

    const call& c;
    int gates;
    bool layout = false, backward = false;
    any_tensor x, lengths;
    std::int64_t steps = -1, hidden = 0; // -1: known in the step
    int directions = 1;
    std::vector<std::string> activations;

    bool all_whole() const {
        if (steps < 0 || !c.known(4)) return false;
        const std::vector<std::int64_t> all = c.integers(4, "the lengths of the sequences");
        return std::all_of(all.begin(), all.end(), [&](std::int64_t n) { return n == steps; });
    }
    // Part `d` of dimension 0.
    static any_tensor part(const any_tensor& t, std::int64_t d) {
        return untyped::squeeze(part_along(t, 0, d, d + 1), {0});
    }
    any_tensor initial(int input, int d) const {
        if (c.has(input)) return part(layout ? untyped::transpose(c.x(input), {1, 0, 2}) : c.x(input), d);
        if (x.extents()[1].is_dynamic())
            c.refuse("a number of sequences without a name, where nothing says the first state");
        return untyped::zeros(x.element(), {x.extents()[1], hidden}, {x});
    }
    any_tensor gate(const any_tensor& t, std::int64_t g) const { // of [batch, gates * hidden] or [gates * hidden]
        return part_along(t, t.rank() - 1, g * hidden, (g + 1) * hidden);
    }
    any_tensor rows(const any_tensor& w, std::int64_t from, std::int64_t to) const {
        return part_along(w, 0, from * hidden, to * hidden);
    }
    double parameter(const char* name, std::size_t which, double otherwise) const {
        const attribute_message* a = c.attribute(name);
        return a && which < a->floats.size() ? static_cast<double>(a->floats[which]) : otherwise;
    }
    any_tensor activate(std::size_t which, const char* otherwise, any_tensor v) const {
        if (c.attribute("clip")) {
            const double limit = c.real("clip", 0);
            v = untyped::minimum(untyped::maximum(v, scalar_like(-limit, v)), scalar_like(limit, v));
        }
        const std::string name = which < activations.size() ? activations[which] : otherwise;
        const auto alpha = [&](double d) { return scalar_like(parameter("activation_alpha", which, d), v); };
        const auto beta = [&](double d) { return scalar_like(parameter("activation_beta", which, d), v); };
        if (name == "Sigmoid") return untyped::sigmoid(v);
        if (name == "Tanh") return untyped::tanh(v);
        if (name == "Relu") return untyped::relu(v);
        if (name == "Softsign") return untyped::softsign(v);
        if (name == "Softplus") return untyped::softplus(v);
        if (name == "Affine") return untyped::add(untyped::multiply(v, alpha(1)), beta(0));
        if (name == "LeakyRelu") return untyped::leaky_relu(v, parameter("activation_alpha", which, 0.01));
        if (name == "Elu") return untyped::elu(v, parameter("activation_alpha", which, 1));
        if (name == "ScaledTanh") return untyped::multiply(alpha(1), untyped::tanh(untyped::multiply(v, beta(1))));
        if (name == "ThresholdedRelu") return untyped::select(untyped::greater(v, alpha(1)), v, scalar_like(0, v));
        if (name == "HardSigmoid") {
            const any_tensor line = untyped::add(untyped::multiply(v, alpha(0.2)), beta(0.5));
            return untyped::minimum(untyped::maximum(line, scalar_like(0, v)), scalar_like(1, v));
        }
        c.refuse("the activation " + name);
    }
    // Both biases, input's and recurrence's, each [gates * hidden]; zeros where there are none.
    any_tensor bias(int d, bool recurrence) const {
        const std::int64_t n = gates * hidden;
        if (!c.has(3)) return untyped::zeros(x.element(), {n});
        return untyped::slice(part(c.x(3), d), {recurrence ? range{n, 2 * n, 1} : range{0, n, 1}});
    }
    // Runs step(x * W + bias, state, d) in each direction, which changes the state, whose first is what the step gives; gives Y and the
    // last states.
    template <class Begin, class Step> void run(int states, Begin&& begin, Step&& step) const {
        std::vector<any_tensor> all;
        std::vector<std::vector<any_tensor>> last(static_cast<std::size_t>(states));
        for (int d = 0; d < directions; ++d) {
            const any_tensor projected = untyped::add(untyped::matmul(x, part(c.x(1), d), false, true),
                                                      bias(d, false)); // [steps, batch, gates * hidden]
            begin(d);
            std::vector<any_tensor> state;
            for (int k = 0; k < states; ++k) state.push_back(initial(5 + k, d));
            // Behind the end of a sequence its state stays, and it gives zeros.
            const auto one = [&](const any_tensor& now, const any_tensor& number) {
                const std::vector<any_tensor> before = state;
                step(now, state, d);
                if (!lengths.node()) return state[0];
                const any_tensor goes_on = untyped::less(number, lengths);
                const any_tensor y = untyped::select(goes_on, state[0], scalar_like(0, state[0]));
                for (std::size_t k = 0; k < state.size(); ++k) state[k] = untyped::select(goes_on, state[k], before[k]);
                return y;
            };
            const bool back = backward || d == 1;
            if (steps >= 0 && steps <= max_unrolled_steps) {
                std::vector<any_tensor> ys(static_cast<std::size_t>(steps));
                for (std::int64_t i = 0; i < steps; ++i) {
                    const std::int64_t t = back ? steps - 1 - i : i;
                    ys[static_cast<std::size_t>(t)] = one(part(projected, t), untyped::scalar(t, element_type::int64));
                }
                all.push_back(untyped::stack(ys, 0));
            } else {
                const std::vector<any_tensor> first = state;
                std::vector<any_tensor> made = untyped::scan(
                    [&](const std::vector<any_tensor>& carried, const std::vector<any_tensor>& slices) {
                        state = carried;
                        const any_tensor y = one(slices[0], slices[1]);
                        return carried_and_given{state, {y}};
                    },
                    first, {projected, untyped::arange_like(x, element_type::int64, 0)}, {.reversed = back});
                all.push_back(made.back());
                made.pop_back();
                state = made;
            }
            for (std::size_t k = 0; k < state.size(); ++k) last[k].push_back(state[k]);
        }
        const any_tensor y = untyped::stack(all, 1);
        c.give(layout ? untyped::transpose(y, {2, 0, 1, 3}) : y, 0);
        for (int k = 0; k < states; ++k) {
            const any_tensor s = untyped::stack(last[static_cast<std::size_t>(k)], 0);
            c.give(layout ? untyped::transpose(s, {1, 0, 2}) : s, 1 + k);
        }
    }
};

inline void rnn(const call& c) {
    const recurrent r(c, 1);
    any_tensor w, b;
    r.run(
        1, [&](int d) { w = recurrent::part(c.x(2), d), b = r.bias(d, true); },
        [&](const any_tensor& x, std::vector<any_tensor>& state, int d) {
            state[0] = r.activate(static_cast<std::size_t>(d), "Tanh",
                                  untyped::add(x, untyped::add(untyped::matmul(state[0], w, false, true), b)));
        });
}
inline void gru(const call& c) {
    const recurrent r(c, 3); // update, reset, hidden
    const bool before = c.integer("linear_before_reset", 0) == 0;
    any_tensor gates, gate_bias, own, own_bias;
    r.run(
        1,
        [&](int d) {
            const any_tensor w = recurrent::part(c.x(2), d), b = r.bias(d, true);
            gates = r.rows(w, 0, 2), gate_bias = r.rows(b, 0, 2), own = r.rows(w, 2, 3), own_bias = r.rows(b, 2, 3);
        },
        [&](const any_tensor& x, std::vector<any_tensor>& state, int d) {
            const std::size_t f = 2 * static_cast<std::size_t>(d);
            const any_tensor h = state[0], hw = untyped::add(untyped::matmul(h, gates, false, true), gate_bias);
            const any_tensor z = r.activate(f, "Sigmoid", untyped::add(r.gate(x, 0), r.gate(hw, 0)));
            const any_tensor reset = r.activate(f, "Sigmoid", untyped::add(r.gate(x, 1), r.gate(hw, 1)));
            const auto hidden = [&](const any_tensor& of) {
                return untyped::add(untyped::matmul(of, own, false, true), own_bias);
            };
            const any_tensor inner = before ? hidden(untyped::multiply(reset, h)) : untyped::multiply(reset, hidden(h));
            const any_tensor n = r.activate(f + 1, "Tanh", untyped::add(r.gate(x, 2), inner));
            state[0] = untyped::add(untyped::multiply(untyped::subtract(1, z), n), untyped::multiply(z, h));
        });
}
inline void lstm(const call& c) {
    if (c.integer("input_forget", 0) != 0) c.refuse("input_forget = 1");
    const recurrent r(c, 4); // input, output, forget, cell
    any_tensor w, b, peep;
    r.run(
        2,
        [&](int d) {
            w = recurrent::part(c.x(2), d);
            b = r.bias(d, true);
            if (c.has(7)) peep = recurrent::part(c.x(7), d);
        },
        [&](const any_tensor& x, std::vector<any_tensor>& state, int d) {
            const std::size_t f = 3 * static_cast<std::size_t>(d);
            any_tensor &h = state[0], &cell = state[1];
            const any_tensor all = untyped::add(x, untyped::add(untyped::matmul(h, w, false, true), b));
            const auto with_peep = [&](std::int64_t gate, std::int64_t p, const any_tensor& of) {
                const any_tensor g = r.gate(all, gate);
                return peep.node() ? untyped::add(g, untyped::multiply(r.gate(peep, p), of)) : g;
            };
            const any_tensor i = r.activate(f, "Sigmoid", with_peep(0, 0, cell)),
                             forget = r.activate(f, "Sigmoid", with_peep(2, 2, cell)),
                             n = r.activate(f + 1, "Tanh", r.gate(all, 3));
            cell = untyped::add(untyped::multiply(forget, cell), untyped::multiply(i, n));
            h = untyped::multiply(r.activate(f, "Sigmoid", with_peep(1, 1, cell)), r.activate(f + 2, "Tanh", cell));
        });
}

TENON_INLINE std::vector<entry> recurrent_operators() { return {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}}; }

} // namespace tenon::detail::onnx
