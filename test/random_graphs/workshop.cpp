#include "random_graphs/workshop.hpp"

#include <algorithm>

#include <tenon/core/with_element.hpp>

namespace random_graphs {

element_type workshop::any_element() {
    if (chance(0.6)) return floating_element();
    if (chance(0.06)) return element_type::string;
    return one_of({element_type::float16, element_type::bfloat16, element_type::int8, element_type::int16,
                   element_type::int32, element_type::int32, element_type::int64, element_type::uint8,
                   element_type::uint16, element_type::uint32, element_type::uint64, element_type::boolean});
}

std::int64_t workshop::any_size() { return chance(0.04) ? 0 : one_of({1, 2, 2, 3, 3, 4, 5, 7, 17}); }

std::int64_t workshop::index(std::int64_t size) {
    if (size == 0 || chance(0.02)) return chance(0.5) ? size : -1 - below(3);
    return below(static_cast<int>(size));
}

tn::extents workshop::any_sizes(int most_rank) {
    tn::extents sizes;
    const int rank = below(most_rank + 1);
    for (int i = 0; i < rank; ++i) sizes.push_back(tn::extent(any_size()));
    return sizes;
}

tn::any_array workshop::numbers(element_type e, const tn::extents& sizes) {
    tn::any_array a(e, sizes);
    const bool plain = chance(0.8);
    tn::detail::with_element(e, [&]<class T>(const T&) {
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            T& x = a.data<T>()[i];
            if constexpr (std::is_same_v<T, std::string>)
                x = one_of({"", "a", "tensor", "a longer text than fits in place"});
            else if constexpr (std::is_same_v<T, bool>) x = chance(0.5);
            else if constexpr (std::is_unsigned_v<T>) x = static_cast<T>(below(6));
            else if constexpr (std::is_integral_v<T>) x = static_cast<T>(below(9) - 4);
            else x = static_cast<T>(plain ? 0.5 * (below(17) - 8) : std::normal_distribution<double>()(random));
        }
    });
    return a;
}

tn::any_tensor workshop::pick(const std::function<bool(const tn::any_tensor&)>& fits) {
    for (int tries = 0; tries < 12 && !tensors.empty(); ++tries) {
        // Late ones more often, so that graphs become deep.
        const auto n = static_cast<int>(tensors.size());
        const int i = chance(0.5) ? below(n) : n - 1 - below(std::min(n, 6));
        const tn::any_tensor& t = tensors[static_cast<std::size_t>(i)];
        if (fits(t)) return t;
    }
    return {};
}
tn::any_tensor workshop::pick_floating(int least_rank) {
    return pick([&](const tn::any_tensor& t) {
        return tn::is_floating(t.element()) && tn::compute_type(t.element()) == t.element() && t.rank() >= least_rank;
    });
}
tn::any_tensor workshop::pick_numeric() {
    return pick([](const tn::any_tensor& t) { return tn::is_numeric(t.element()); });
}
tn::any_tensor workshop::pick_static_floating(int rank) {
    return pick([&](const tn::any_tensor& t) {
        return (t.element() == element_type::float32 || t.element() == element_type::float64) && t.rank() == rank &&
               t.extents().is_static();
    });
}

tn::any_tensor workshop::beside(const tn::any_tensor& x) {
    if (chance(0.7)) {
        const tn::any_tensor y = pick([&](const tn::any_tensor& t) {
            return t.element() == x.element() && tn::broadcast(t.extents(), x.extents()).what == tn::fault::none;
        });
        if (y.node()) return y;
    }
    tn::extents sizes;
    if (x.rank() > 0 && x.extents()[x.rank() - 1].is_number() && chance(0.5))
        sizes.push_back(x.extents()[x.rank() - 1]);
    return constant(x.element(), sizes);
}

tn::any_tensor workshop::tamed(const tn::any_tensor& x, double most) {
    const tn::any_tensor below = u::minimum(x, u::scalar(most, x.element()));
    if (!tn::is_floating(x.element()) && !tn::is_signed_integer(x.element())) return below;
    return u::maximum(below, u::scalar(-most, x.element()));
}

tn::operation workshop::with_an_optimizer(const std::function<tn::operation(const tn::optimizer&)>& make) {
    switch (below(6)) {
    case 0: return make(tn::momentum(0.25, 0.5, {.nesterov = chance(0.5)}));
    case 1: return make(tn::adagrad(0.25));
    case 2: return make(tn::rmsprop(0.25, {.momentum = chance(0.5) ? 0.5 : 0, .centered = chance(0.5)}));
    case 3: return make(tn::adam(0.25, {.weight_decay = chance(0.5) ? 0.5 : 0}));
    default: return make(tn::gradient_descent(0.25));
    }
}

void workshop::keep_optimisation(const tn::operation& made) {
    operations.push_back(made);
    for (tn::node* n : made.node()->controls) {
        if (!n->op->is(tn::op_flags::updates)) continue; // of the scopes around it
        const tn::any_tensor after(tn::node_output{n, 0});
        updates.push_back(after);
        keep(*this, after);
        const tn::any_tensor v(tn::node_output{n->inputs[0].node, 0});
        const auto is_it = [&](const tn::any_tensor& t) { return t.node() == v.node(); };
        if (std::none_of(variables.begin(), variables.end(), is_it)) variables.push_back(v);
    }
}

void keep(workshop& w, const tn::any_tensor& t) { w.tensors.push_back(t); }

const std::vector<family>& families() {
    static const std::vector<family> all = [] {
        std::vector<family> list;
        const std::pair<std::vector<family>, int> parts[] = {{elementwise_families(), 4}, {array_families(), 1},
                                                             {model_families(), 1},       {state_families(), 3},
                                                             {late_families(), 1},        {flow_families(), 3}};
        for (const auto& [some, weight] : parts)
            for (int n = 0; n < weight; ++n) list.insert(list.end(), some.begin(), some.end());
        return list;
    }();
    return all;
}

} // namespace random_graphs
