#include "random_graphs/workshop.hpp"

// Variables and their updates, placeholders, constants, and nodes that only wait.

namespace random_graphs {

namespace {

void constant(workshop& w) { keep(w, w.constant(w.any_element(), w.any_sizes())); }

void variable(workshop& w) {
    if (w.variables.size() > 5 || w.waits) return;
    const element_type e = with_strings && w.chance(0.05) ? element_type::string : w.any_element();
    const tn::any_tensor begins =
        w.chance(0.1) && tn::is_floating(e)
            ? u::random_normal(e, w.any_sizes(), 0, 1, static_cast<std::uint64_t>(1 + w.below(100)))
            : w.constant(e, w.any_sizes());
    const tn::any_tensor v = u::variable("v", begins);
    w.variables.push_back(v);
    keep(w, v);
}

void update(workshop& w) {
    if (w.variables.empty() || w.updates.size() > 7) return;
    const tn::any_tensor v = w.one_of(w.variables);
    tn::any_tensor made;
    const bool numeric = tn::is_numeric(v.element());
    const tn::any_tensor given =
        w.pick([&](const tn::any_tensor& t) { return t.type() == v.type() && t.node() != v.node(); });
    if (numeric && v.rank() > 0 && v.extents()[0].size > 0 && w.chance(0.3)) {
        tn::any_array at(element_type::int32, tn::extents(2));
        const int outside = w.chance(0.02) ? 1 : 0;
        for (int i = 0; i < 2; ++i)
            at.data<std::int32_t>()[i] = w.below(static_cast<int>(v.extents()[0].size) + outside);
        tn::extents rows(2);
        for (int d = 1; d < v.rank(); ++d) rows.push_back(v.extents()[d]);
        using way = tn::scatter_op::way;
        const way how = w.one_of({way::update, way::add, way::subtract, way::minimum, way::maximum});
        made = u::scatter(how, v, u::constant(std::move(at)),
                          w.constant(v.element(), w.chance(0.3) ? tn::extents{} : rows));
    } else if (given && w.chance(0.5)) made = u::assign(v, given);
    else if (numeric) {
        tn::any_tensor by = w.beside(v);
        if (!by.extents().is_static() || !(tn::broadcast(v.extents(), by.extents()).extents == v.extents()))
            by = w.constant(v.element(), {});
        const tn::any_tensor value = w.chance(0.6) ? u::add(v, by) : u::subtract(v, by);
        made = u::assign(v, tn::is_floating(v.element()) ? w.tamed(value, 64) : value);
    } else made = u::assign(v, w.constant(v.element(), v.extents()));
    w.updates.push_back(made);
    keep(w, made);
}

void placeholder(workshop& w) {
    if (w.placeholders.size() > 4) return;
    tn::extents sizes = w.any_sizes();
    for (int i = 0; i < sizes.rank(); ++i)
        if (w.chance(0.3)) sizes[i] = tn::extent::named(w.chance(0.8) ? "batch" : "time");
    const tn::any_tensor x = u::placeholder(w.any_element(), sizes, "x");
    w.placeholders.push_back(x);
    keep(w, x);
}

// Arithmetic right beside a variable and an update of it, where it matters most which value is read.
void old_and_new(workshop& w) {
    if (w.updates.empty()) return;
    const tn::any_tensor made = w.one_of(w.updates);
    const tn::any_tensor v(made.node()->inputs[0]);
    if (!tn::is_numeric(v.element())) return;
    const tn::any_tensor old = w.chance(0.3) ? u::identity(v) : w.chance(0.3) ? u::stop_gradient(v) : v;
    keep(w, w.chance(0.5) ? u::subtract(made, old) : u::fma(old, made, old));
}

void waiting(workshop& w) {
    if (w.tensors.empty()) return;
    w.operations.push_back(w.chance(0.5) ? tn::no_op()
                                         : tn::group(w.one_of(w.tensors).operation(), w.one_of(w.tensors).operation()));
}

} // namespace

std::vector<family> state_families() {
    return {constant, variable, update, update, update, placeholder, old_and_new, old_and_new, waiting};
}

} // namespace random_graphs
