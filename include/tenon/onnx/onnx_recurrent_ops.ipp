#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that go through a sequence: RNN, GRU, LSTM. X: [steps, batch, inputs]; each step is nodes of its own, so the
/// number of steps is known.

namespace tenon::detail::onnx {

struct recurrent {
    explicit recurrent(const call& of, int of_gates) : c(of), gates(of_gates) {
        layout = c.integer("layout", 0) != 0;
        x = layout ? untyped::transpose(c.x(), {1, 0, 2}) : c.x();
        if (x.rank() != 3) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 3 are needed");
        steps = number_of(c, x.extents()[0], "the number of steps");
        batch = number_of(c, x.extents()[1], "the number of sequences");
        const any_tensor w = c.x(1);
        if (w.rank() != 3 || c.x(2).rank() != 3)
            c.wrong("its weights have " + std::to_string(w.rank()) + " dimensions; 3 are needed");
        directions = static_cast<int>(
            within(c, number_of(c, w.extents()[0], "the number of directions"), 1, 2, "the number of directions"));
        hidden = within(c, c.integer("hidden_size", number_of(c, c.x(2).extents()[2], "the hidden size")), 1, 1 << 24,
                        "the hidden size");
        if (steps > 4096) c.refuse("more than 4096 steps");
        if (c.has(4)) { // lengths: only those that are whole
            for (const std::int64_t n : c.integers(4, "the lengths of the sequences"))
                if (n != steps) c.refuse("sequences of several lengths");
        }
        if (c.attribute("clip")) c.refuse("clip");
        const std::string way = c.text("direction", "forward");
        backward = way == "reverse";
        if ((way == "bidirectional") != (directions == 2))
            c.wrong("its direction is " + way + ", its weights have " + std::to_string(directions));
        if (const attribute_message* a = c.attribute("activations")) activations = a->strings;
    }

    const call& c;
    int gates;
    bool layout = false, backward = false;
    any_tensor x;
    std::int64_t steps = 0, batch = 0, hidden = 0;
    int directions = 1;
    std::vector<std::string> activations;

    // Part `d` of dimension 0.
    static any_tensor part(const any_tensor& t, std::int64_t d) {
        return untyped::squeeze(untyped::slice(t, {{d, d + 1, 1}}), {0});
    }
    any_tensor initial(int input, int d) const {
        if (!c.has(input)) return untyped::zeros(x.element(), {batch, hidden});
        const any_tensor all = layout ? untyped::transpose(c.x(input), {1, 0, 2}) : c.x(input);
        return part(all, d);
    }
    any_tensor gate(const any_tensor& t, std::int64_t g) const { // of [batch, gates * hidden] or [gates * hidden]
        std::vector<range> ranges(static_cast<std::size_t>(t.rank()));
        ranges.back() = {g * hidden, (g + 1) * hidden, 1};
        return untyped::slice(t, ranges);
    }
    any_tensor rows(const any_tensor& w, std::int64_t from, std::int64_t to) const {
        return untyped::slice(w, {{from * hidden, to * hidden, 1}});
    }
    any_tensor activate(std::size_t which, const char* otherwise, const any_tensor& v) const {
        const std::string name = which < activations.size() ? activations[which] : otherwise;
        if (name == "Sigmoid") return untyped::sigmoid(v);
        if (name == "Tanh") return untyped::tanh(v);
        if (name == "Relu") return untyped::relu(v);
        c.refuse("the activation " + name);
    }
    // Both biases, input's and recurrence's, each [gates * hidden]; zeros where there are none.
    any_tensor bias(int d, bool recurrence) const {
        const std::int64_t n = gates * hidden;
        if (!c.has(3)) return untyped::zeros(x.element(), {n});
        return untyped::slice(part(c.x(3), d), {recurrence ? range{n, 2 * n, 1} : range{0, n, 1}});
    }
    // Runs step(x * W + bias, d) in each direction and gives Y and Y_h; `state` is the hidden state.
    template <class Begin, class Step>
    void run(Begin&& begin, Step&& step, std::vector<any_tensor>* last_cells = nullptr) const {
        std::vector<any_tensor> all, last;
        for (int d = 0; d < directions; ++d) {
            const any_tensor projected = untyped::add(untyped::matmul(x, part(c.x(1), d), false, true),
                                                      bias(d, false)); // [steps, batch, gates * hidden]
            begin(d);
            std::vector<any_tensor> ys(static_cast<std::size_t>(steps));
            any_tensor h = initial(5, d);
            for (std::int64_t i = 0; i < steps; ++i) {
                const std::int64_t t = backward || d == 1 ? steps - 1 - i : i;
                h = step(part(projected, t), h, d);
                ys[static_cast<std::size_t>(t)] = h;
            }
            all.push_back(untyped::stack(ys, 0));
            last.push_back(h);
        }
        const any_tensor y = untyped::stack(all, 1), h = untyped::stack(last, 0);
        c.give(layout ? untyped::transpose(y, {2, 0, 1, 3}) : y, 0);
        c.give(layout ? untyped::transpose(h, {1, 0, 2}) : h, 1);
        if (last_cells) {
            const any_tensor cells = untyped::stack(*last_cells, 0);
            c.give(layout ? untyped::transpose(cells, {1, 0, 2}) : cells, 2);
        }
    }
};

inline void rnn(const call& c) {
    const recurrent r(c, 1);
    any_tensor w, b;
    r.run([&](int d) { w = recurrent::part(c.x(2), d), b = r.bias(d, true); },
          [&](const any_tensor& x, const any_tensor& h, int d) {
              return r.activate(static_cast<std::size_t>(d), "Tanh",
                                untyped::add(x, untyped::add(untyped::matmul(h, w, false, true), b)));
          });
}
inline void gru(const call& c) {
    const recurrent r(c, 3); // update, reset, hidden
    const bool before = c.integer("linear_before_reset", 0) == 0;
    any_tensor w, b;
    r.run([&](int d) { w = recurrent::part(c.x(2), d), b = r.bias(d, true); },
          [&](const any_tensor& x, const any_tensor& h, int d) {
              const std::size_t f = 2 * static_cast<std::size_t>(d);
              const any_tensor hw = untyped::add(untyped::matmul(h, r.rows(w, 0, 2), false, true),
                                                 untyped::slice(b, {{0, 2 * r.hidden, 1}}));
              const any_tensor z = r.activate(f, "Sigmoid", untyped::add(r.gate(x, 0), r.gate(hw, 0)));
              const any_tensor reset = r.activate(f, "Sigmoid", untyped::add(r.gate(x, 1), r.gate(hw, 1)));
              const auto hidden = [&](const any_tensor& of) {
                  return untyped::add(untyped::matmul(of, r.rows(w, 2, 3), false, true), r.gate(b, 2));
              };
              const any_tensor inner =
                  before ? hidden(untyped::multiply(reset, h)) : untyped::multiply(reset, hidden(h));
              const any_tensor n = r.activate(f + 1, "Tanh", untyped::add(r.gate(x, 2), inner));
              return untyped::add(untyped::multiply(untyped::subtract(1, z), n), untyped::multiply(z, h));
          });
}
inline void lstm(const call& c) {
    if (c.integer("input_forget", 0) != 0) c.refuse("input_forget = 1");
    const recurrent r(c, 4); // input, output, forget, cell
    any_tensor w, b, cell, peep;
    std::vector<any_tensor> cells(static_cast<std::size_t>(r.directions));
    r.run(
        [&](int d) {
            w = recurrent::part(c.x(2), d);
            b = r.bias(d, true);
            cell = r.initial(6, d);
            if (c.has(7)) peep = recurrent::part(c.x(7), d);
        },
        [&](const any_tensor& x, const any_tensor& h, int d) {
            const std::size_t f = 3 * static_cast<std::size_t>(d);
            const any_tensor all = untyped::add(x, untyped::add(untyped::matmul(h, w, false, true), b));
            const auto with_peep = [&](std::int64_t gate, std::int64_t p, const any_tensor& of) {
                const any_tensor g = r.gate(all, gate);
                return peep.node() ? untyped::add(g, untyped::multiply(r.gate(peep, p), of)) : g;
            };
            const any_tensor i = r.activate(f, "Sigmoid", with_peep(0, 0, cell)),
                             forget = r.activate(f, "Sigmoid", with_peep(2, 2, cell)),
                             n = r.activate(f + 1, "Tanh", r.gate(all, 3));
            cell = untyped::add(untyped::multiply(forget, cell), untyped::multiply(i, n));
            cells[static_cast<std::size_t>(d)] = cell;
            return untyped::multiply(r.activate(f, "Sigmoid", with_peep(1, 1, cell)), r.activate(f + 2, "Tanh", cell));
        },
        &cells);
}

TENON_INLINE std::vector<entry> recurrent_operators() { return {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}}; }

} // namespace tenon::detail::onnx
