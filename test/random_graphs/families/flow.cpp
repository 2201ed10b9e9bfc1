#include "random_graphs/workshop.hpp"

// Loops, branches and scans, in each other too, of bodies that become one tape and of others.

namespace random_graphs {

namespace {

tn::any_tensor looped(workshop& w, const tn::any_tensor& x, int depth);

// As x in element and sizes, and no larger; in a body, of what is around it too.
tn::any_tensor once(workshop& w, const tn::any_tensor& x, int depth) {
    const tn::extents& e = x.extents();
    switch (depth > 0 ? w.below(9) : w.below(7)) {
    case 0: return u::tanh(u::add(x, w.beside(x)));
    case 1: return u::multiply(u::sin(x), 0.5);
    case 2: return u::subtract(u::multiply(x, 0.5), u::mean(x));
    case 3:
        if (x.rank() > 0 && e[x.rank() - 1].is_number()) return u::softmax(x);
        return u::multiply(x, -0.5);
    case 4:
        if (x.rank() == 2 && e[1].is_number())
            return u::tanh(u::matmul(x, w.constant(x.element(), tn::extents(e[1].size, e[1].size))));
        return u::minimum(x, 0.5);
    case 5:
        if (x.rank() > 0 && e[0].is_number() && e[0].size > 0) {
            tn::any_array at(element_type::int32, tn::extents(e[0].size));
            for (std::int64_t i = 0; i < e[0].size; ++i)
                at.data<std::int32_t>()[i] = static_cast<std::int32_t>(w.below(static_cast<int>(e[0].size)));
            return u::gather(x, u::constant(std::move(at)));
        }
        return u::abs(x);
    case 6: return u::select(u::less(x, 0.25), u::multiply(x, 0.75), u::tanh(x));
    default: return looped(w, x, depth - 1);
    }
}

tn::any_tensor looped(workshop& w, const tn::any_tensor& x, int depth) {
    using tensors = std::vector<tn::any_tensor>;
    switch (w.below(4)) {
    case 0: {
        const tn::any_tensor yes = u::less(u::sum(x), 0.25);
        return u::cond(
            yes, [&] { return tensors{once(w, x, depth)}; }, [&] { return tensors{once(w, x, depth)}; })[0];
    }
    case 1:
        if (x.rank() > 0) {
            const tn::any_tensor first = u::sum(x, {0});
            const auto made = u::scan(
                [&](const tensors& carried, const tensors& slices) {
                    const tn::any_tensor next = u::tanh(u::add(carried[0], slices[0]));
                    return tn::detail::carried_and_given{{next}, {once(w, next, depth)}};
                },
                {first}, {x}, {.reversed = w.chance(0.4)});
            return made[1];
        }
        [[fallthrough]];
    default: {
        const int most = w.below(5);
        const bool also_value = w.chance(0.3); // so that the condition is no counter's alone
        return u::while_loop(
            [&](const tensors& c) {
                const tn::any_tensor counted = u::less(c[0], most);
                return also_value ? u::logical_and(counted, u::less(u::sum(u::abs(c[1])), 1000.0)) : counted;
            },
            [&](const tensors& c) {
                return tensors{u::add(c[0], 1), once(w, c[1], depth)};
            },
            {u::scalar(0, element_type::int32), x})[1];
    }
    }
}

void flow(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) {
        return t.element() == element_type::float32 || t.element() == element_type::float64;
    });
    if (!x.node()) return;
    const tn::any_tensor y = looped(w, w.tamed(x), w.chance(0.3) ? 1 : 0);
    keep(w, y);
    if (w.chance(0.4))
        for (const tn::any_tensor& g : tn::gradients(u::mean(u::square(y)), {x})) keep(w, g);
}

} // namespace

std::vector<family> flow_families() { return {flow, flow, flow}; }

} // namespace random_graphs
