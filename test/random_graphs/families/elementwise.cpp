#include "random_graphs/workshop.hpp"

// Elementwise nodes, short ones and long tapes.

namespace random_graphs {

namespace {

using tn::opcode;

void function_of_one(workshop& w) {
    const tn::any_tensor x = w.pick_floating();
    if (!x.node()) return;
    const auto op =
        w.one_of({opcode::tanh, opcode::sigmoid, opcode::sin,   opcode::cos,      opcode::erf,   opcode::softplus,
                  opcode::relu, opcode::relu,    opcode::abs,   opcode::negative, opcode::sign,  opcode::floor,
                  opcode::ceil, opcode::round,   opcode::trunc, opcode::atan,     opcode::asinh, opcode::expm1,
                  opcode::exp,  opcode::exp2,    opcode::sqrt,  opcode::log1p,    opcode::cbrt});
    keep(w, tn::detail::add_instruction(op, {op == opcode::exp || op == opcode::expm1 || op == opcode::exp2 ? w.tamed(x)
                                             : op == opcode::sqrt || op == opcode::log1p                    ? u::abs(x)
                                                                                                            : x}));
}

void arithmetic(workshop& w) {
    const tn::any_tensor x = w.pick_numeric();
    if (!x.node()) return;
    const tn::any_tensor y = w.beside(x);
    const auto op = w.one_of({opcode::add, opcode::add, opcode::subtract, opcode::multiply, opcode::minimum,
                              opcode::maximum, opcode::divide, opcode::mod, opcode::fmod});
    const tn::any_tensor z =
        w.chance(0.5) ? tn::detail::add_instruction(op, {x, y}) : tn::detail::add_instruction(op, {y, x});
    keep(w, op == opcode::multiply && tn::is_floating(z.element()) ? w.tamed(z, 64) : z);
}

void sum_of_product(workshop& w) {
    const tn::any_tensor x = w.pick_numeric();
    if (!x.node()) return;
    keep(w, u::fma(x, w.beside(x), w.beside(x)));
}

void integers(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return tn::is_integer(t.element()); });
    if (!x.node()) return;
    const auto op = w.one_of({opcode::bit_and, opcode::bit_or, opcode::bit_xor, opcode::shift_left, opcode::shift_right,
                              opcode::abs, opcode::negative, opcode::sign, opcode::bit_not});
    if (tn::info_of(op).operands == 1) keep(w, tn::detail::add_instruction(op, {x}));
    else keep(w, tn::detail::add_instruction(op, {x, w.beside(x)}));
}

void choice(workshop& w) {
    const tn::any_tensor x = w.pick_numeric();
    if (!x.node()) return;
    const tn::any_tensor y = w.beside(x);
    const auto op = w.one_of(
        {opcode::equal, opcode::not_equal, opcode::less, opcode::less_equal, opcode::greater, opcode::greater_equal});
    const tn::any_tensor c = tn::detail::add_instruction(op, {x, y});
    keep(w, w.chance(0.3) ? c : u::select(c, x, w.beside(x)));
}

void truth(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.element() == element_type::boolean; });
    if (!x.node()) return;
    const auto op = w.one_of({opcode::logical_and, opcode::logical_or, opcode::logical_xor, opcode::logical_not});
    if (op == opcode::logical_not) keep(w, u::logical_not(x));
    else keep(w, tn::detail::add_instruction(op, {x, w.beside(x)}));
}

void conversion(workshop& w) {
    tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.element() != element_type::string; });
    if (!x.node()) return;
    const element_type to = w.any_element();
    if (tn::is_floating(x.element()) && !tn::is_floating(to)) {
        // Within what every type holds; a NaN is converted to nothing in particular.
        x = u::select(u::is_nan(x), u::zeros_like(x), w.tamed(x, 100));
        if (!tn::is_signed_integer(to)) x = u::abs(x);
    }
    keep(w, u::cast(x, to));
}

// Expressions as they are written in C++: tapes of several instructions, with constants beside them.
template <class S> void typed(workshop& w, const tn::any_tensor& x, const tn::any_tensor& y) {
    const auto a = tn::tensor<float, S>::unchecked(x), b = tn::tensor<float, S>::unchecked(y);
    switch (w.below(5)) {
    case 0: return keep(w, (a * b + 1.5f).materialize());
    case 1: return keep(w, (tn::tanh(a) * 2.5f - b * b).materialize());
    case 2: return keep(w, tn::select(a > b, a - b, tn::sigmoid(b)).materialize());
    case 3: return keep(w, (tn::relu(a * 0.5f + b) - tn::minimum(a, 2.0f)).materialize());
    default: return keep(w, ((a + b) * (a - b) / (1.0f + tn::abs(a))).materialize());
    }
}
void expression(workshop& w) {
    const auto fits = [](int rank) {
        return [rank](const tn::any_tensor& t) { return t.element() == element_type::float32 && t.rank() == rank; };
    };
    const int rank = 1 + w.below(2);
    const tn::any_tensor x = w.pick(fits(rank));
    const tn::any_tensor y = x.node() ? w.pick([&](const tn::any_tensor& t) {
        return fits(rank)(t) && tn::equal_shapes(t.extents(), x.extents()).what == tn::fault::none;
    })
                                      : x;
    if (!y.node()) return;
    if (rank == 1) typed<tn::shape<tn::dyn>>(w, x, y);
    else typed<tn::shape<tn::dyn, tn::dyn>>(w, x, y);
}

void chain(workshop& w) {
    tn::any_tensor x = w.pick_floating();
    if (!x.node()) return;
    for (int n = 2 + w.below(5); n > 0; --n) {
        const tn::any_tensor y = w.beside(x);
        x = w.one_of({0, 1, 2}) == 0 ? u::tanh(u::add(x, y)) : w.chance(0.5) ? u::subtract(y, x) : u::add(u::sin(x), y);
        if (w.chance(0.2)) keep(w, x);
    }
    keep(w, x);
}

} // namespace

std::vector<family> elementwise_families() {
    return {function_of_one, arithmetic, arithmetic, sum_of_product, integers,
            choice,          truth,      conversion, expression,     chain};
}

} // namespace random_graphs
