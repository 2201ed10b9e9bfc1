#include <optional>

#include "random_graphs/workshop.hpp"
#include "reference/trip.hpp"

// What is known late or lies in parts: elements that values choose, variables in parts and rows of them, several optimisers
// of one table, and places where a step may be cut short.

namespace random_graphs {

namespace {

bool is_index(const tn::any_tensor& t) {
    return t.element() == element_type::int32 || t.element() == element_type::int64;
}

tn::extents count_of(workshop& w) {
    if (!w.chance(0.2)) return {};
    return {w.chance(0.8) ? tn::extent::named("kept") : tn::extent(w.below(4))};
}

void selected(workshop& w) {
    switch (w.below(5)) {
    case 0:
    case 1: {
        const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
        if (!x.node()) return;
        tn::any_tensor mask = w.pick([&](const tn::any_tensor& t) {
            return t.element() == element_type::boolean && t.rank() > 0 && t.rank() <= x.rank() &&
                   t.extents()[0] == x.extents()[0];
        });
        if (!mask.node() && w.chance(0.5) && tn::is_numeric(x.element()))
            mask = tn::detail::add_instruction(tn::opcode::greater, {x, u::scalar(0, x.element())});
        if (!mask.node() && x.extents()[0].is_number())
            mask = w.constant(element_type::boolean, tn::extents(x.extents()[0].size));
        return mask.node() ? keep(w, u::boolean_mask(x, mask, count_of(w))) : void();
    }
    case 2: {
        const tn::any_tensor x =
            w.pick([](const tn::any_tensor& t) { return t.rank() > 0 && t.element() != element_type::string; });
        return x.node() ? keep(w, u::nonzero(x, count_of(w))) : void();
    }
    case 3: {
        tn::any_tensor n = w.pick([](const tn::any_tensor& t) { return is_index(t) && t.rank() == 0; });
        if (!n.node()) n = w.constant(element_type::int64, {});
        const tn::any_tensor few = tn::detail::add_instruction(tn::opcode::mod, {n, u::scalar(4, n.element())});
        return keep(w, u::arange_to(few, count_of(w)));
    }
    default: {
        const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() == 1; });
        if (!x.node()) return;
        for (const tn::any_tensor& t : u::unique(x, w.one_of({element_type::int32, element_type::int64}), count_of(w)))
            keep(w, t);
    }
    }
}

// Indices of rows: some that are known, or some of which it is known late how many they are.
tn::any_tensor indices(workshop& w, std::int64_t rows) {
    const tn::any_tensor there = w.pick([](const tn::any_tensor& t) { return is_index(t) && t.rank() == 1; });
    tn::any_tensor all;
    if (there.node() && rows > 0 && w.chance(0.3)) {
        const tn::any_tensor size = u::scalar(static_cast<double>(rows), there.element());
        all = tn::detail::add_instruction(tn::opcode::mod, {there, size});
    } else {
        tn::any_array at(w.one_of({element_type::int32, element_type::int64}), tn::extents(w.one_of({0, 1, 3, 5})));
        for (std::int64_t i = 0; i < at.elements(); ++i) {
            const std::int64_t index = w.index(rows);
            if (at.element() == element_type::int32) at.data<std::int32_t>()[i] = static_cast<std::int32_t>(index);
            else at.data<std::int64_t>()[i] = index;
        }
        all = u::constant(std::move(at));
    }
    if (w.chance(0.3)) all = u::unique(all, element_type::int32, count_of(w))[0];
    if (w.chance(0.2))
        all =
            u::boolean_mask(all, tn::detail::add_instruction(tn::opcode::greater, {all, u::scalar(0, all.element())}));
    return all;
}

// A variable in parts, or one that has rows.
tn::any_tensor table(workshop& w, bool floating) {
    const auto fits = [&](const tn::any_tensor& t) {
        return t.rank() > 0 && t.extents()[0].size > 0 &&
               (floating ? t.element() == element_type::float32 || t.element() == element_type::float64
                         : tn::is_numeric(t.element()));
    };
    for (int tries = 0; tries < 4; ++tries) {
        const auto& from = !w.wholes.empty() && w.chance(0.7) ? w.wholes : w.variables;
        if (from.empty()) return {};
        if (const tn::any_tensor& t = w.one_of(from); fits(t)) return t;
    }
    return {};
}

void whole_variable(workshop& w) {
    if (w.wholes.size() > 2) return;
    tn::extents sizes = w.any_sizes(2);
    sizes.insert(0, tn::extent(w.one_of({2, 3, 5, 7})));
    element_type e = w.any_element();
    if (e == element_type::string) e = element_type::float32;
    const tn::variable_options o{.partition = {.parts = w.one_of({2, 3})}};
    const tn::any_tensor v = w.chance(0.7) || !tn::is_floating(e)
                                 ? u::variable("table", w.constant(e, sizes), o)
                                 : u::variable("table", {e, sizes}, tn::uniform(-1, 1, 3), o);
    w.wholes.push_back(v);
    keep(w, v);
    for (const tn::any_tensor& p : tn::parts_of(v)) {
        w.variables.push_back(p);
        keep(w, p);
    }
}

void keep_update(workshop& w, const tn::any_tensor& made) {
    keep(w, made);
    if (made.node()->op->is(tn::op_flags::updates)) return w.updates.push_back(made);
    for (const tn::node_output& part : made.node()->inputs) w.updates.emplace_back(part);
}

void whole_update(workshop& w) {
    if (w.updates.size() > 12) return;
    const tn::any_tensor v = table(w, false);
    if (!v.node()) return;
    if (w.chance(0.5)) {
        const tn::any_tensor at = indices(w, v.extents()[0].size);
        using way = tn::scatter_op::way;
        const way how = w.one_of({way::update, way::add, way::subtract, way::minimum, way::maximum});
        tn::any_tensor rows = u::scalar(w.below(5) - 1, v.element());
        if (w.chance(0.6)) rows = u::gather(w.chance(0.5) ? v : w.constant(v.element(), v.extents()), at);
        return keep_update(w, u::scatter(how, v, at, rows));
    }
    tn::any_tensor by = w.beside(v);
    if (!by.extents().is_static() || !(tn::broadcast(v.extents(), by.extents()).extents == v.extents()))
        by = w.constant(v.element(), {});
    keep_update(w, w.chance(0.4)   ? u::assign_add(v, by)
                   : w.chance(0.5) ? u::assign_sub(v, by)
                                   : u::assign(v, u::broadcast_to(by, v.extents())));
}

void rows(workshop& w) {
    const tn::any_tensor v = table(w, false);
    if (v.node()) keep(w, u::gather(v, indices(w, v.extents()[0].size)));
}

// Reads of it beside and after updates of it, or of a part.
void read_whole(workshop& w) {
    if (w.wholes.empty()) return;
    const tn::any_tensor v = w.one_of(w.wholes);
    if (!tn::is_numeric(v.element())) return;
    std::optional<tn::control_dependencies> after;
    if (!w.updates.empty() && w.chance(0.7)) after.emplace(w.one_of(w.updates).operation());
    switch (w.below(4)) {
    case 0: return keep(w, u::sum(v, tn::index_list(0), false));
    case 1: return keep(w, u::add(v, u::scalar(1, v.element())));
    case 2: return keep(w, u::gather(v, indices(w, v.extents()[0].size)));
    default: return keep(w, u::identity(v));
    }
}

// Of one table, each by the rows that a loss gathers or by all of it.
void optimise_table(workshop& w) {
    const tn::any_tensor v = table(w, true);
    if (!v.node() || w.together.size() > 1) return;
    std::vector<tn::operation> all;
    for (int n = 1 + w.below(3); n > 0; --n) {
        const tn::any_tensor x = w.chance(0.7)   ? u::gather(v, indices(w, v.extents()[0].size))
                                 : w.chance(0.7) ? v
                                                 : w.pick_floating();
        if (!x.node()) continue;
        const tn::any_tensor loss = w.chance(0.5) ? u::sum(u::square(w.tamed(x))) : u::sum(u::tanh(x));
        std::vector<tn::gradient_and_variable> gradients = tn::optimizer::compute_gradients(loss, {v});
        if (w.chance(0.3))
            gradients = w.chance(0.5) ? tn::clip_by_global_norm(gradients, 0.5) : tn::clip_by_norm(gradients, 0.5);
        all.push_back(w.with_an_optimizer([&](const tn::optimizer& o) {
            return o.apply_gradients(gradients, {.advance_global_step = w.chance(0.3)});
        }));
        w.keep_optimisation(all.back());
    }
    if (!all.empty()) w.together.push_back(std::move(all));
}

void trip(workshop& w) {
    if (!w.with_trips || w.tensors.empty()) return;
    const tn::any_tensor x = !w.updates.empty() && w.chance(0.5) ? w.one_of(w.updates) : w.one_of(w.tensors);
    if (x.element() == element_type::string) return;
    const tn::any_tensor made = tn::add<reference::trip_op>({}, {x});
    keep(w, made);
    // Behind it there is often something to lose.
    if (w.variables.empty() || w.updates.size() > 12 || !w.chance(0.7)) return;
    const tn::control_dependencies after(made);
    const tn::any_tensor v = w.one_of(w.variables);
    keep_update(w, tn::is_numeric(v.element()) && !tn::is_floating(v.element())
                       ? u::assign_add(v, u::scalar(1, v.element()))
                       : u::assign(v, w.constant(v.element(), v.extents())));
}

} // namespace

std::vector<family> late_families() {
    return {selected,   selected,       whole_variable, whole_update, whole_update, rows, read_whole,
            read_whole, optimise_table, optimise_table, trip,         trip,         trip};
}

} // namespace random_graphs
