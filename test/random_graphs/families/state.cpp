#include <optional>

#include "random_graphs/workshop.hpp"
#include "reference/pause.hpp"

// Variables and their updates, optimisers, placeholders, constants, and nodes that only wait.

namespace random_graphs {

namespace {

void constant(workshop& w) { keep(w, w.constant(w.any_element(), w.any_sizes())); }

} // namespace

void variable(workshop& w) {
    if (w.variables.size() > 9) return;
    const element_type e = w.any_element();
    const tn::any_tensor begins =
        w.chance(0.1) && tn::is_floating(e)
            ? u::random_normal(e, w.any_sizes(), 0, 1, static_cast<std::uint64_t>(1 + w.below(100)))
            : w.constant(e, w.any_sizes());
    std::optional<tn::container_scope> elsewhere;
    if (w.chance(0.1)) elsewhere.emplace("elsewhere");
    const tn::any_tensor v = u::variable("v", begins);
    w.variables.push_back(v);
    keep(w, v);
}

namespace {

void update(workshop& w) {
    if (w.variables.empty() || w.updates.size() > 12) return;
    const tn::any_tensor v = w.one_of(w.variables);
    tn::any_tensor made;
    const bool numeric = tn::is_numeric(v.element());
    const tn::any_tensor given =
        w.pick([&](const tn::any_tensor& t) { return t.type() == v.type() && t.node() != v.node(); });
    if (numeric && v.rank() > 0 && v.extents()[0].size > 0 && w.chance(0.3)) {
        tn::any_array at(element_type::int32, tn::extents(2));
        for (int i = 0; i < 2; ++i)
            at.data<std::int32_t>()[i] = static_cast<std::int32_t>(w.index(v.extents()[0].size));
        tn::extents rows(2);
        for (int d = 1; d < v.rank(); ++d) rows.push_back(v.extents()[d]);
        using way = tn::scatter_op::way;
        const way how = w.one_of({way::update, way::add, way::subtract, way::minimum, way::maximum});
        made = u::scatter(how, v, u::constant(std::move(at)),
                          w.constant(v.element(), w.chance(0.3) ? tn::extents{} : rows));
    } else if (given.node() && w.chance(0.5)) made = u::assign(v, given);
    else if (numeric) {
        tn::any_tensor by = w.beside(v);
        if (!by.extents().is_static() || !(tn::broadcast(v.extents(), by.extents()).extents == v.extents()))
            by = w.constant(v.element(), {});
        // As assign_add does, or as a program does itself.
        const tn::any_tensor of = w.chance(0.7) ? tn::detail::current_value(v) : v;
        const tn::any_tensor value = w.chance(0.6) ? u::add(of, by) : u::subtract(of, by);
        made = u::assign(v, tn::is_floating(v.element()) ? w.tamed(value, 64) : value);
    } else made = u::assign(v, w.constant(v.element(), v.extents()));
    w.updates.push_back(made);
    keep(w, made);
}

void placeholder(workshop& w) {
    if (w.placeholders.size() > 4) return;
    tn::extents sizes = w.any_sizes();
    for (int i = 0; i < sizes.rank(); ++i)
        if (w.chance(0.1)) sizes[i] = tn::dynamic_extent;
        else if (w.chance(0.3)) sizes[i] = tn::extent::named(w.chance(0.8) ? "batch" : "time");
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

// The step is cut here.
void pause(workshop& w) {
    if (!w.with_pauses || w.tensors.empty()) return;
    const tn::any_tensor x = !w.updates.empty() && w.chance(0.3) ? w.one_of(w.updates) : w.one_of(w.tensors);
    keep(w,
         tn::add<reference::pause_op>({.elsewhere = w.chance(0.5), .hides = w.with_late_sizes && w.chance(0.5)}, {x}));
}

void waiting(workshop& w) {
    if (w.tensors.empty()) return;
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.element() == element_type::boolean; });
    if (x.node() && w.chance(0.3)) { // fails here and there
        w.operations.push_back(tn::operation(tn::add_node(tn::definition_of<tn::assert_op>(), {x},
                                                          tn::encode(tn::assert_op::attributes{"it is false"}))));
        return;
    }
    w.operations.push_back(w.chance(0.5) ? tn::no_op()
                                         : tn::group(w.one_of(w.tensors).operation(), w.one_of(w.tensors).operation()));
}

tn::operation step_of(workshop& w, const tn::optimizer& o) {
    const auto is_trained = [](const tn::any_tensor& t) { return tn::is_floating(t.element()); };
    std::vector<tn::any_tensor> of;
    for (const tn::any_tensor& v : w.variables)
        if (is_trained(v) && w.chance(0.7)) of.push_back(v);
    const tn::minimize_options options{.variables = of, .advance_global_step = w.chance(0.5)};
    if (w.chance(0.5)) { // of what the graph computes, or of rows of a variable
        tn::any_tensor x = w.pick_floating();
        if (!of.empty() && w.chance(0.5))
            if (const tn::any_tensor& v = w.one_of(of); v.rank() > 0 && v.extents()[0].size > 0) {
                tn::any_array at(element_type::int32, tn::extents(3));
                for (int i = 0; i < 3; ++i)
                    at.data<std::int32_t>()[i] = static_cast<std::int32_t>(w.index(v.extents()[0].size));
                x = u::gather(v, u::constant(std::move(at)));
            }
        if (!x.node() || of.empty()) return {};
        return o.minimize(u::mean(u::square(w.tamed(x))), options);
    }
    std::vector<tn::gradient_and_variable> gradients;
    for (const tn::any_tensor& v : of) {
        tn::any_tensor g = w.pick([&](const tn::any_tensor& t) { return t.type() == v.type(); });
        if (!g.node() || w.chance(0.2)) g = w.constant(v.element(), v.extents());
        gradients.push_back({w.tamed(g), v});
    }
    return gradients.empty() ? tn::operation() : o.apply_gradients(gradients, options);
}

void optimise(workshop& w) {
    if (w.variables.empty() || w.operations.size() > 5) return;
    if (const tn::operation made = w.with_an_optimizer([&](const tn::optimizer& o) { return step_of(w, o); }))
        w.keep_optimisation(made);
}

} // namespace

std::vector<family> state_families() {
    return {constant,    variable, update,   update,   update, placeholder, old_and_new,
            old_and_new, waiting,  optimise, optimise, pause,  pause,       pause};
}

} // namespace random_graphs
