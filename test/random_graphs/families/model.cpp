#include "random_graphs/workshop.hpp"

// What models are made of: products, convolutions, pooling, softmax, normalisation, random numbers, gradients.

namespace random_graphs {

namespace {

tn::any_tensor with_bias(workshop& w, tn::any_tensor y) {
    const tn::extent last = y.extents()[y.rank() - 1];
    if (last.is_number() && w.chance(0.6)) y = u::add(y, w.constant(y.element(), tn::extents(last.size)));
    return w.chance(0.4) ? u::relu(y) : y;
}

void product(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) {
        return (t.element() == element_type::float32 || t.element() == element_type::float64) && t.rank() == 2;
    });
    if (!x.node()) return;
    const bool tx = w.chance(0.2);
    const tn::extent inner = x.extents()[tx ? 0 : 1];
    tn::any_tensor y = w.pick([&](const tn::any_tensor& t) {
        return t.element() == x.element() && t.rank() == 2 && t.extents()[0] == inner;
    });
    if (!y.node() && inner.is_number()) y = w.constant(x.element(), tn::extents(inner.size, w.any_size()));
    if (y.node()) keep(w, w.tamed(with_bias(w, u::matmul(x, y, tx, false)), 256));
}

void image(workshop& w) {
    tn::any_tensor x = w.pick_static_floating(4);
    if (!x.node() || w.chance(0.3)) x = w.constant(w.floating_element(), tn::extents(w.one_of({1, 2}), 5, 4, 2));
    const tn::extents& e = x.extents();
    const tn::padding padding = w.chance(0.5) ? tn::same : tn::valid;
    const tn::height_width stride = w.one_of({1, 1, 2});
    std::vector<tn::any_tensor> of{x};
    tn::any_tensor y;
    switch (w.below(4)) {
    case 0: y = u::max_pool2d(x, {.window = 2, .stride = stride, .padding = padding}); break;
    case 1: y = u::average_pool2d(x, {.window = 2, .stride = stride, .padding = padding}); break;
    case 2:
        of.push_back(w.constant(x.element(), tn::extents(2, 2, 3, e[3].size)));
        y = w.tamed(u::conv2d_transpose(x, of[1], {.stride = stride, .padding = padding}), 64);
        break;
    default:
        of.push_back(w.constant(x.element(), tn::extents(2, 2, e[3].size, 3)));
        y = w.tamed(with_bias(w, u::conv2d(x, of[1], {.stride = stride, .padding = padding})), 64);
    }
    keep(w, y);
    if (w.chance(0.5))
        for (const tn::any_tensor& g : tn::gradients(u::mean(u::square(y)), of)) keep(w, g);
}

void probabilities(workshop& w) {
    const tn::any_tensor x = w.pick_floating(1);
    if (!x.node()) return;
    const tn::extent last = x.extents()[x.rank() - 1];
    switch (w.below(4)) {
    case 0: return keep(w, u::softmax(x, w.chance(0.7) ? -1 : w.below(x.rank())));
    case 1: return keep(w, u::log_softmax(x));
    case 2: {
        if (x.rank() != 2 || !x.extents().is_static()) return;
        tn::any_array labels(element_type::int32, tn::extents(x.extents()[0].size));
        for (std::int64_t i = 0; i < labels.elements(); ++i)
            labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(w.index(last.size));
        return keep(w, u::sparse_softmax_cross_entropy(x, u::constant(std::move(labels))));
    }
    default: return x.rank() == 2 ? keep(w, u::softmax_cross_entropy(x, u::softmax(x))) : void();
    }
}

void normalised(workshop& w) {
    const tn::any_tensor x = w.pick_floating(1);
    if (!x.node() || !x.extents()[x.rank() - 1].is_number()) return;
    const tn::extents last(x.extents()[x.rank() - 1].size);
    keep(w, u::layer_norm(x, w.constant(x.element(), last), w.constant(x.element(), last)));
}

void attended(workshop& w) {
    const tn::any_tensor x = w.pick_floating(2);
    if (!x.node()) return;
    // Of two heads, which lie side by side in each position as projections leave them, or without heads.
    const bool has_heads = x.rank() == 2 && w.chance(0.6);
    const auto swapped = [&](const tn::any_tensor& t) { return has_heads ? u::transpose(t, {1, 0, 2}) : t; };
    const tn::any_tensor of = has_heads ? swapped(u::stack({x, u::negative(x)}, 1)) : x;
    const tn::attention_op::attributes how{w.chance(0.5), w.one_of({0.0, 0.3})};
    const bool masked = w.chance(0.4); // by numbers that depend on the key, or on the query too
    tn::any_tensor mask;
    if (masked)
        mask =
            x.rank() == 2 && w.chance(0.5) ? u::transpose(u::sum(x, {-1}, true), {1, 0}) : u::matmul(x, x, false, true);
    const tn::any_tensor y = masked ? u::attention(of, of, of, mask, how) : u::attention(of, of, of, how);
    keep(w, swapped(y));
    if (has_heads && w.chance(0.3)) keep(w, y);
    if (w.chance(0.5))
        for (const tn::any_tensor& g : tn::gradients(u::sum(y), {x})) keep(w, g);
}

void random_numbers(workshop& w) {
    const std::uint64_t seed = w.chance(0.7) ? static_cast<std::uint64_t>(1 + w.below(1000)) : 0;
    const tn::extents sizes = w.any_sizes(2);
    switch (w.below(7)) {
    case 0: return keep(w, u::random_uniform(w.floating_element(), sizes, -1, 2, seed));
    case 1: return keep(w, u::random_normal(w.floating_element(), sizes, 0, 1, seed));
    case 2: return keep(w, u::random_integers(element_type::int32, sizes, -3, 9, seed));
    case 3: return keep(w, u::random_permutation(element_type::int64, w.one_of({0, 1, 5}), seed));
    case 4: {
        const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
        return x.node() ? keep(w, u::random_shuffle(x, seed)) : void();
    }
    case 5: {
        const tn::any_tensor x = w.pick_floating();
        return x.node() ? keep(w, u::random_normal_like(x, 0, 1, seed)) : void();
    }
    default: {
        const tn::any_tensor x = w.pick_floating();
        return x.node() ? keep(w, u::dropout(x, 0.5, seed)) : void();
    }
    }
}

void derived(workshop& w) {
    const tn::any_tensor y = w.pick_floating();
    if (!y.node()) return;
    std::vector<tn::any_tensor> xs;
    for (int n = 1 + w.below(3); n > 0; --n)
        if (const tn::any_tensor x = w.chance(0.5) && !w.variables.empty() ? w.one_of(w.variables) : w.pick_floating();
            x.node() && tn::is_floating(x.element()) && x.element() == y.element())
            xs.push_back(x);
    if (xs.empty()) return;
    const tn::any_tensor loss = w.chance(0.5) ? u::sum(y) : u::mean(u::square(y));
    for (const tn::any_tensor& g : tn::gradients(loss, xs)) keep(w, g);
}

// With respect to what it is computed of, near or further off, so that each op's gradient occurs.
void derived_of_inputs(workshop& w) {
    const auto is_derived = [](const tn::any_tensor& t) {
        return t.element() == element_type::float32 || t.element() == element_type::float64;
    };
    const tn::any_tensor y = w.pick(is_derived);
    tn::any_tensor x = y;
    for (int n = 1 + w.below(4); x.node() && n > 0; --n) {
        std::vector<tn::any_tensor> further;
        for (const tn::node_output& in : x.node()->inputs)
            if (const tn::any_tensor t(in); t.element() == y.element()) further.push_back(t);
        if (further.empty()) break;
        x = w.one_of(further);
    }
    if (!x.node() || x.output() == y.output()) return;
    for (const tn::any_tensor& g : tn::gradients(w.chance(0.5) ? u::sum(y) : u::mean(u::square(y)), {x})) keep(w, g);
}

} // namespace

std::vector<family> model_families() {
    return {product,        product,        image,   probabilities, normalised,        attended,
            random_numbers, random_numbers, derived, derived,       derived_of_inputs, derived_of_inputs};
}

} // namespace random_graphs
