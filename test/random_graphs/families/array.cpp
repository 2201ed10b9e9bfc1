#include "random_graphs/workshop.hpp"

// Views, what moves elements, what gathers and joins them, reductions and scans.

namespace random_graphs {

namespace {

tn::index_list some_axes(workshop& w, int rank) {
    tn::index_list axes;
    for (int i = 0; i < rank; ++i)
        if (w.chance(0.5)) axes.push_back(i);
    return axes;
}
bool any(const tn::any_tensor&) { return true; }

void view(workshop& w) {
    const tn::any_tensor x = w.pick(any);
    if (!x.node()) return;
    switch (w.below(7)) {
    case 0: return keep(w, u::identity(x));
    case 1: return keep(w, u::stop_gradient(x));
    case 2: return keep(w, tn::add<tn::ensure_shape_op>({x.extents()}, {x}));
    case 3: {
        tn::index_list axes;
        axes.push_back(w.below(x.rank() + 1));
        return x.rank() < 5 ? keep(w, u::expand_dims(x, axes)) : void();
    }
    case 4: {
        for (int i = 0; i < x.rank(); ++i)
            if (x.extents()[i] == tn::extent(1)) {
                tn::index_list axes;
                axes.push_back(i);
                return keep(w, u::squeeze(x, axes));
            }
        return;
    }
    case 5: { // all in one row, or two in one
        if (!x.extents().is_static()) return;
        tn::extents flat;
        if (x.rank() == 3) {
            flat.push_back(tn::extent(x.extents()[0].size * x.extents()[1].size));
            flat.push_back(x.extents()[2]);
        } else flat.push_back(tn::extent(x.extents().elements()));
        return keep(w, u::reshape(x, flat));
    }
    default: return keep(w, tn::add<tn::placeholder_with_default_op>({x.element(), x.extents()}, {x}));
    }
}

void movement(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
    if (!x.node()) return;
    const int axis = w.below(x.rank());
    switch (w.below(7)) {
    case 0: return keep(w, u::transpose(x));
    case 1: return keep(w, u::reverse(x, tn::index_list(axis)));
    case 2: {
        std::vector<tn::range> ranges(static_cast<std::size_t>(axis) + 1);
        ranges.back() = {w.one_of<std::int64_t>({0, 1, -2, tn::unbounded}),
                         w.one_of<std::int64_t>({-1, 2, 3, tn::unbounded}), w.one_of<std::int64_t>({1, 1, 2})};
        return keep(w, u::slice(x, ranges));
    }
    case 3: {
        std::vector<tn::margin> margins(static_cast<std::size_t>(x.rank()));
        margins[static_cast<std::size_t>(axis)] = {w.below(2), w.below(3)};
        return keep(w, u::pad(x, margins, 1));
    }
    case 4: {
        tn::index_list counts;
        for (int i = 0; i < x.rank(); ++i) counts.push_back(i == axis ? 2 : 1);
        return x.extents().is_static() && x.extents().elements() < 500 ? keep(w, u::tile(x, counts)) : void();
    }
    case 5: {
        tn::extents more(2);
        for (const tn::extent& e : x.extents()) more.push_back(e);
        return x.rank() < 5 ? keep(w, u::broadcast_to(x, more)) : void();
    }
    default: return keep(w, w.chance(0.5) ? u::zeros_like(x) : u::ones_like(x));
    }
}

void joined(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
    if (!x.node()) return;
    const tn::any_tensor y = w.pick([&](const tn::any_tensor& t) { return t.type() == x.type(); });
    if (tn::is_numeric(x.element()) && w.chance(0.2)) return keep(w, u::add_n({x, y.node() ? y : x, x}));
    if (w.chance(0.4)) return x.rank() < 5 ? keep(w, u::stack({x, y.node() ? y : x}, w.below(x.rank() + 1))) : void();
    const int axis = w.below(x.rank());
    if (x.extents()[axis].is_number()) keep(w, u::concat({x, y.node() ? y : x}, axis));
}

void parted(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
    if (!x.node()) return;
    const int axis = w.below(x.rank());
    if (!x.extents()[axis].is_number()) return;
    const std::int64_t size = x.extents()[axis].size;
    std::vector<tn::any_tensor> parts;
    if (size % 2 == 0 && w.chance(0.3)) parts = u::split_evenly(x, 2, axis);
    else if (size >= 2 && size <= 4 && w.chance(0.5)) parts = u::unstack(x, static_cast<int>(size), axis);
    else if (size >= 1) parts = u::split_sizes(x, tn::index_list(size / 2, size - size / 2), axis);
    for (const tn::any_tensor& p : parts) keep(w, p);
}

void gathered(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.rank() > 0; });
    if (!x.node()) return;
    const int axis = w.below(x.rank());
    if (!x.extents()[axis].is_number() || x.rank() > 3) return;
    tn::any_array at(w.chance(0.5) ? element_type::int32 : element_type::int64, tn::extents(w.one_of({1, 2, 3})));
    for (std::int64_t i = 0; i < at.elements(); ++i) {
        const std::int64_t index = w.index(x.extents()[axis].size);
        if (at.element() == element_type::int32) at.data<std::int32_t>()[i] = static_cast<std::int32_t>(index);
        else at.data<std::int64_t>()[i] = index;
    }
    keep(w, u::gather(x, u::constant(std::move(at)), axis));
}

void reduced(workshop& w) {
    const bool kept = w.chance(0.3);
    if (w.chance(0.2)) {
        const tn::any_tensor b = w.pick([](const tn::any_tensor& t) { return t.element() == element_type::boolean; });
        if (!b.node()) return;
        const tn::index_list axes = some_axes(w, b.rank());
        return keep(w, w.chance(0.5) ? u::any(b, axes, kept) : u::all(b, axes, kept));
    }
    const tn::any_tensor x = w.pick_numeric();
    if (!x.node()) return;
    const tn::index_list axes = some_axes(w, x.rank());
    const int which = w.below(12);
    if (which >= 7 && !tn::is_floating(x.element())) return;
    switch (which) {
    case 0:
    case 1: return keep(w, u::sum(x, axes, kept));
    case 2: return keep(w, u::max(x, axes, kept));
    case 3: return keep(w, u::min(x, axes, kept));
    case 4: {
        if (x.rank() == 0) return;
        const tn::index_list axis(w.below(x.rank()));
        return keep(w, w.chance(0.5) ? u::argmax(x, axis, kept) : u::argmin(x, axis, kept));
    }
    case 5: return keep(w, u::count_nonzero(x, axes, kept));
    case 6: return keep(w, u::prod(w.tamed(x, 2), axes, kept));
    case 7:
    case 8: return keep(w, u::mean(x, axes, kept));
    case 9: return keep(w, u::logsumexp(w.tamed(x, 8), axes, kept));
    case 10: return keep(w, u::variance(x, axes, kept));
    default: return keep(w, u::norm(x, 1 + w.below(2), axes, kept));
    }
}

void scanned(workshop& w) {
    const tn::any_tensor x =
        w.pick([](const tn::any_tensor& t) { return tn::is_numeric(t.element()) && t.rank() > 0; });
    if (!x.node()) return;
    const int axis = w.below(x.rank());
    const tn::scan_options how{w.chance(0.3), w.chance(0.3)};
    switch (w.below(6)) {
    case 0: return keep(w, u::cumprod(w.tamed(x, 2), axis, how));
    case 1: return keep(w, u::cummax(x, axis, how));
    case 2: return keep(w, u::cummin(x, axis, how));
    case 3: return tn::is_floating(x.element()) ? keep(w, u::cumlogsumexp(w.tamed(x, 8), axis, how)) : void();
    default: return keep(w, u::cumsum(x, axis, how));
    }
}

void hot(workshop& w) {
    const tn::any_tensor x = w.pick([](const tn::any_tensor& t) {
        return (t.element() == element_type::int32 || t.element() == element_type::int64) && t.rank() < 3;
    });
    if (x.node())
        keep(w, u::one_hot(x, 4, w.one_of({element_type::float32, element_type::int32, element_type::boolean})));
}

void text(workshop& w) {
    tn::any_tensor x = w.pick([](const tn::any_tensor& t) { return t.element() == element_type::string; });
    if (!x.node() || w.chance(0.3)) return keep(w, w.constant(element_type::string, w.any_sizes(2)));
    keep(w, u::identity(x));
}

} // namespace

std::vector<family> array_families() {
    return {view,   view,     view,    view,    movement, movement, joined, parted,
            parted, gathered, reduced, reduced, reduced,  scanned,  hot,    text};
}

} // namespace random_graphs
