#pragma once

#include <algorithm>
#include <cmath>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/diagonal.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that change sizes, join, and make tensors; and those that say sizes, whose results are followed as sizes, since
/// a graph's ranks are known when it is built.

namespace tenon::detail::onnx {

inline bool all_numbers(const std::vector<extent>& sizes) {
    return std::none_of(sizes.begin(), sizes.end(), [](const extent& e) { return e.is_named(); });
}

inline void shape(const call& c) {
    const int rank = c.x().rank();
    const auto bound = [&](const char* name, std::int64_t otherwise) {
        const std::int64_t i = c.integer(name, otherwise);
        return static_cast<int>(std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank));
    };
    const int from = bound("start", 0), to = std::max(bound("end", rank), from);
    std::vector<extent> sizes;
    std::vector<std::int64_t> numbers;
    bool known = true;
    for (int i = from; i < to; ++i) c.name_size(0, i);
    const any_tensor x = c.x();
    for (int i = from; i < to; ++i) {
        sizes.push_back(x.extents()[i].is_dynamic() ? unnamed_size : x.extents()[i]);
        numbers.push_back(x.extents()[i].size);
        known = known && x.extents()[i].is_number();
    }
    if (known) return c.give(integer_constant(numbers, {static_cast<std::int64_t>(numbers.size())}));
    std::vector<any_tensor> counted;
    for (int i = from; i < to; ++i)
        counted.push_back(tenon::add<element_count_op>({index_list(i), element_type::int64}, {x}));
    c.give(value{untyped::stack(counted), {}, sizes}, 0);
}
inline void size(const call& c) {
    const any_tensor x = c.x();
    if (x.extents().is_static()) return c.give(untyped::scalar(x.extents().elements(), element_type::int64));
    c.give(tenon::add<element_count_op>({index_list(), element_type::int64}, {x}));
}

// The result t, and, where an input is followed as sizes, what becomes of those.
template <class F> void give_sizes(const call& c, const any_tensor& t, F&& sizes) {
    value v{t, {}, {}};
    if (c.in(0).sizes) v.sizes = sizes(*c.in(0).sizes);
    c.give(std::move(v), 0);
}
inline std::vector<extent> same_sizes(const std::vector<extent>& s) { return s; }

// What -1 stands for: the product of x's sizes by that of the others; as it is where that is not known.
inline void solve(const call& c, const extents& x, std::vector<extent>& target) {
    size_product left;
    extent* open = nullptr;
    for (const extent& e : x) {
        const auto p = product_of(e);
        if (!p || p->number > max_folded || left.number > max_folded) return;
        left.number *= p->number;
        left.names.insert(p->names.begin(), p->names.end());
    }
    if (left.number == 0) return;
    for (extent& e : target) {
        const auto p = product_of(e);
        if (e.is_dynamic() && !open) open = &e;
        else if (!p || p->number == 0 || left.number % p->number != 0) return;
        else {
            left.number /= p->number;
            for (const std::string& n : p->names) {
                const auto at = left.names.find(n);
                if (at == left.names.end()) return;
                left.names.erase(at);
            }
        }
    }
    if (open && left.names.size() <= max_rank) *open = size_of(c, left);
}
// What -1 stands for where it is known in the step only.
inline extent size_left(const call& c, const any_tensor& x, std::vector<extent> whole) {
    *std::find(whole.begin(), whole.end(), dynamic_extent) = extent(1);
    const any_tensor like = c.of_sizes(whole, element_type::boolean, 0);
    if (!like.node()) return {};
    const auto count = [](const any_tensor& t) {
        return tenon::add<element_count_op>({index_list(), element_type::int64}, {t});
    };
    return c.size_in_step(untyped::divide(count(x), untyped::maximum(count(like), 1)));
}
inline void reshape(const call& c) {
    std::optional<std::vector<extent>> target;
    if (c.has(1)) {
        const extents own = c.x().extents();
        const auto open = [&](const extent& e) {
            return !e.is_number() &&
                   std::none_of(own.begin(), own.end(), [&](const extent& o) { return e.is_named() && o == e; });
        };
        target = c.sizes(1);
        if (!target || std::count_if(target->begin(), target->end(), open) > 1) {
            target = c.sizes_in_step(1);
            for (int i = 0; i < c.x().rank(); ++i) c.name_size(0, i);
        }
        if (!target) (void)c.known(1, "the new shape"); // which complains
    } else {
        target.emplace();
        for (const std::int64_t n : c.integers("shape")) target->push_back(size_entry(n));
    }
    const any_tensor x = c.x();
    if (target->size() > max_rank)
        c.refuse("a result of " + std::to_string(target->size()) + " dimensions; 8 are the most");
    const bool zeros = c.integer("allowzero", 0) != 0;
    const auto copies = [&](std::size_t i) { return (*target)[i] == size_entry(0) && !zeros; };
    std::vector<extent> whole = *target;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i].size < -1) c.wrong("a size is " + std::to_string(whole[i].size));
        if (!copies(i)) continue;
        if (static_cast<int>(i) >= x.rank())
            c.wrong("it copies size " + std::to_string(i) + " of " + to_string(x.extents()));
        whole[i] = x.extents()[static_cast<int>(i)];
    }
    solve(c, x.extents(), whole);
    reshape_op::attributes a;
    bool used[max_rank]{};
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const extent& e = whole[i];
        std::int64_t found = copies(i)       ? reshape_op::copied(static_cast<int>(i))
                             : e.is_number() ? e.size
                                             : reshape_op::deduced;
        if (copies(i)) used[i] = true;
        for (int k = 0; k < x.rank() && found == reshape_op::deduced && e.is_named(); ++k)
            if (!used[k] && x.extents()[k] == e) {
                used[k] = true;
                found = reshape_op::copied(k);
            }
        a.sizes.push_back(found);
        a.declared.push_back(is_nameless(e) ? dynamic_extent : e);
    }
    if (std::count(a.sizes.begin(), a.sizes.end(), reshape_op::deduced) > 1) { // those that inputs have
        if (const auto left = std::find(whole.begin(), whole.end(), dynamic_extent); left != whole.end())
            *left = size_left(c, x, whole);
        if (const any_tensor like = c.of_sizes(whole, element_type::boolean, 0); like.node())
            return c.give(untyped::reshape_like(x, like));
        c.refuse("more than one of the new sizes is known in the step only; name sizes in onnx_read_options::sizes");
    }
    give_sizes(c, tenon::add<reshape_op>(a, {x}), same_sizes);
}

inline std::vector<std::int64_t> axes_of(const call& c) {
    return c.has(1) ? c.integers(1, "the axes") : c.integers("axes");
}
inline void squeeze(const call& c) {
    const any_tensor x = c.x();
    const std::vector<std::int64_t> axes = axes_of(c);
    if (axes.empty() && !c.has(1) && !c.attribute("axes")) return give_sizes(c, untyped::squeeze(x), same_sizes);
    give_sizes(c, axes.empty() ? x : untyped::squeeze(x, axes_in(c, axes, x.rank())), same_sizes);
}
inline void unsqueeze(const call& c) {
    const any_tensor x = c.x();
    const std::vector<std::int64_t> axes = axes_of(c);
    if (axes.size() + static_cast<std::size_t>(x.rank()) > max_rank) c.refuse("a result of more than 8 dimensions");
    index_list list = axes_in(c, axes, x.rank() + static_cast<int>(axes.size()));
    std::sort(list.values, list.values + list.count);
    give_sizes(c, list.count == 0 ? x : untyped::expand_dims(x, list), same_sizes);
}
inline void flatten(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t a = c.integer("axis", 1);
    const int axis = static_cast<int>(a == x.rank() ? a : axis_in(c, a, std::max(x.rank(), 1)));
    if (x.rank() == 0) return c.give(reshaped(x, {1, 1}));
    const extents& e = x.extents();
    const auto product = [&](int from, int to) {
        checked_size n = 1;
        for (int i = from; i < to; ++i) {
            if (!e[i].is_number()) return std::int64_t{-1};
            n *= e[i].size;
        }
        return n.saturated();
    };
    std::int64_t rows = product(0, axis), columns = product(axis, x.rank());
    if (rows < 0 && columns < 0) {
        if (axis != 1) c.refuse("sizes before and after its axis are known in the step only");
        rows = reshape_op::copied(0);
    }
    const auto or_deduced = [](std::int64_t n) { return n == -1 ? reshape_op::deduced : n; };
    if (rows == -1 && axis == 1) rows = reshape_op::copied(0); // it keeps its name
    c.give(reshaped(x, {or_deduced(rows), or_deduced(columns)}));
}
inline void transpose(const call& c) {
    const any_tensor x = c.x();
    const auto moved = [&](const any_tensor& t) {
        return t.rank() < 2 ? t : untyped::transpose(t, axes_in(c, c.integers("perm"), t.rank()));
    };
    c.give(value{moved(x), {}, moved_sizes(c, moved)}, 0);
}

inline void concat(const call& c) {
    std::vector<any_tensor> xs;
    bool last = true;
    for (int i = 0; i < c.inputs(); ++i) last = last && c.is_last(i);
    const std::int64_t wanted = c.integer("axis", 1);
    if (last && c.inputs() > 0) {
        for (int i = 0; i < c.inputs(); ++i) xs.push_back(c.last(i));
        constexpr int places[] = {0, 3, 1, 2};
        return c.give_last(joined(c, xs, places[axis_in(c, wanted, 4)]));
    }
    std::optional<std::vector<extent>> sizes;
    bool open = false;
    for (int i = 0; i < c.inputs(); ++i) {
        xs.push_back(c.x(i));
        open = open || c.in(i).sizes.has_value();
    }
    if (xs.empty()) c.wrong("it has no inputs");
    if (open) {
        sizes.emplace();
        for (int i = 0; i < c.inputs() && sizes; ++i) {
            const extents& own = xs[static_cast<std::size_t>(i)].extents();
            if (const auto part = c.sizes(i)) sizes->insert(sizes->end(), part->begin(), part->end());
            else if (own.is_static() && own.elements() <= most_sizes)
                sizes->insert(sizes->end(), static_cast<std::size_t>(own.elements()), computed_size);
            else sizes.reset();
        }
    }
    c.give(value{xs.size() == 1 ? xs[0] : joined(c, xs, axis_in(c, wanted, xs[0].rank())), {}, sizes}, 0);
}

inline void expand(const call& c) {
    const auto followed = c.sizes(1), target = c.sizes_in_step(1);
    if (!target) (void)c.known(1, "the shape"); // which complains
    for (int i = 0; i < c.x().rank() && !all_numbers(*target); ++i) c.name_size(0, i);
    any_tensor x = c.x();
    if (target->size() > max_rank) c.refuse("a result of more than 8 dimensions");
    const int rank = std::max(x.rank(), static_cast<int>(target->size()));
    extents sizes;
    bool open = false;
    for (int i = 0; i < rank; ++i) {
        const int own = i - (rank - x.rank()), theirs = i - (rank - static_cast<int>(target->size()));
        extent e = theirs < 0 ? extent(1) : (*target)[static_cast<std::size_t>(theirs)];
        if (e == unnamed_size) e = dynamic_extent;
        if (own >= 0 && x.extents()[own].is_named() && !(e == extent(1)) && !(e == x.extents()[own])) {
            // They are equal, or one of them is 1.
            if (!followed || is_nameless((*followed)[static_cast<std::size_t>(theirs)])) {
                const any_tensor n = size_of_axis(x, own);
                e = c.size_in_step(untyped::select(untyped::equal(n, 1), int64_at(c.x(1), theirs), n));
            }
            if (e.is_number() || c.with_size(e)) x = part_along(x, own, 0, unbounded); // which has no name
        }
        const bool grows = own < 0 || x.extents()[own] == extent(1) ||
                           (x.extents()[own].is_dynamic() && (e.is_number() || c.with_size(e)));
        sizes.push_back(own < 0 || (grows && !(e == extent(1))) ? e : x.extents()[own]);
        if (e.is_number() && !(e == extent(1)) && own >= 0 && x.extents()[own].is_number() &&
            !(x.extents()[own] == e) && !(x.extents()[own] == extent(1)))
            c.wrong("size " + to_string(x.extents()[own]) + " is not repeated to " + to_string(e));
        if (sizes[i].is_number() || (own >= 0 && sizes[i] == x.extents()[own])) continue;
        open = true;
        if (!c.with_size(sizes[i]))
            c.refuse("size " + std::to_string(i) + " of its result, " + to_string(sizes[i]) +
                     ", is known in the step only");
    }
    if (sizes == x.extents()) return c.give(x);
    if (sizes.is_static() || !open) return c.give(untyped::broadcast_to(x, sizes));
    c.give(untyped::broadcast_like(x, c.of_sizes({sizes.begin(), sizes.end()}, element_type::boolean, 0)));
}

inline void tile(const call& c) {
    const bool in_step = c.inputs() == 2 && !c.known(1) && c.sizes_in_step(1);
    for (int i = 0; in_step && i < c.x().rank(); ++i) c.name_size(0, i);
    any_tensor x = c.x();
    if (in_step) { // as often as sizes say
        const std::vector<extent> often = *c.in(1).sizes;
        if (static_cast<int>(often.size()) != x.rank()) c.wrong("it has " + std::to_string(often.size()) + " repeats");
        for (int i = 0; i < x.rank(); ++i) {
            const extent &e = often[static_cast<std::size_t>(i)], &own = x.extents()[i];
            if (e == extent(1)) continue;
            const auto n = sum_of(e), d = own.is_dynamic() ? std::nullopt : sum_of(own),
                       all = n && d ? times(*n, *d) : std::nullopt;
            const any_tensor places = all ? counted_to(c, *all, element_type::int64, {}) : any_tensor();
            if (!places.node()) (void)c.known(1, "the repeats"); // which complains
            x = untyped::gather(x, untyped::mod(places, size_of_axis(x, i)), i);
        }
        return c.give(x);
    }
    if (c.inputs() != 3) return c.give(untyped::tile(x, index_list(c.integers(1, "the repeats"))));
    // Of set 1: how often, and along which axis, of x's type.
    const double n = c.real(1, "how often it is repeated"), axis = c.real(2, "the axis");
    if (!(n >= 0 && n < 1e9) || !(std::abs(axis) <= max_rank))
        c.wrong("it is repeated " + detail::text_of_number(n) + " times along axis " + detail::text_of_number(axis));
    std::vector<std::int64_t> repeats(static_cast<std::size_t>(x.rank()), 1);
    repeats[static_cast<std::size_t>(axis_in(c, static_cast<std::int64_t>(axis), x.rank()))] =
        static_cast<std::int64_t>(n);
    c.give(untyped::tile(x, index_list(repeats)));
}

inline void constant(const call& c) {
    if (const attribute_message* t = c.attribute("value")) return c.give(untyped::constant(c.read(*t)));
    if (const attribute_message* f = c.attribute("value_float"))
        return c.give(float_constant({static_cast<double>(f->f)}, {}, element_type::float32));
    if (const attribute_message* i = c.attribute("value_int")) return c.give(integer_constant({i->i}, {}));
    if (const attribute_message* l = c.attribute("value_ints"))
        return c.give(integer_constant(l->ints, {static_cast<std::int64_t>(l->ints.size())}));
    if (const attribute_message* l = c.attribute("value_floats"))
        return c.give(float_constant({l->floats.begin(), l->floats.end()},
                                     {static_cast<std::int64_t>(l->floats.size())}, element_type::float32));
    c.refuse("a constant that is neither a tensor nor numbers");
}

inline extents known_sizes(const call& c, int i) {
    const std::vector<std::int64_t> numbers = c.integers(i, "the shape");
    if (numbers.size() > max_rank) c.refuse("a result of more than 8 dimensions");
    extents e;
    for (const std::int64_t n : numbers) {
        if (n < 0) c.wrong("a size is " + std::to_string(n));
        e.push_back(n);
    }
    return e;
}
inline void constant_of_shape(const call& c) {
    any_array value = any_array::zeros(element_type::float32, {});
    if (const attribute_message* t = c.attribute("value")) value = c.read(*t);
    if (value.elements() != 1) c.wrong("its value has " + std::to_string(value.elements()) + " elements");
    const any_tensor one = untyped::constant(std::move(value).reshape({}));
    if (const auto said = c.sizes_in_step(0); said && !all_numbers(*said))
        if (const any_tensor like = c.of_sizes(*said, element_type::boolean, 0); like.node())
            return c.give(untyped::broadcast_like(one, like));
    const extents sizes = known_sizes(c, 0);
    c.give(sizes.rank() == 0 ? one : untyped::broadcast_to(one, sizes));
}
inline void range_of(const call& c) {
    const any_tensor x = c.x();
    const auto from = c.sizes(0), to = c.sizes(1);
    if (from && to && from->size() == 1 && to->size() == 1 && !(all_numbers(*from) && all_numbers(*to)) && c.known(2) &&
        c.real(2, "the step") == 1)
        if (const auto n = distance(from->at(0), to->at(0))) {
            const any_tensor start = from->at(0) == extent(0) ? any_tensor() : x;
            if (const any_tensor all = counted_to(c, *n, x.element(), start); all.node()) return c.give(all);
        }
    if (!c.known(0) || !c.known(1) || !c.known(2)) { // of any type, as many as the step says
        const any_tensor step = c.x(2), n = untyped::ceil(untyped::divide(
                                            untyped::cast(untyped::subtract(c.x(1), x), element_type::float64),
                                            untyped::cast(step, element_type::float64)));
        const any_tensor count = untyped::cast(untyped::maximum(n, 0), element_type::int64);
        if (const auto like = c.with_size(c.size_in_step(reshaped(count, {}))))
            return c.give(untyped::add(untyped::multiply(untyped::arange_like(like->first, x.element()), step), x));
    }
    const double first = c.real(0, "the start"), limit = c.real(1, "the limit"), step = c.real(2, "the step");
    if (step == 0) c.wrong("its step is 0");
    const double n = std::max(std::ceil((limit - first) / step), 0.0);
    constexpr auto most = static_cast<double>(max_folded);
    if (!(n <= most)) c.wrong("it has " + detail::text_of_number(n) + " elements");
    if (!is_floating(x.element()) && !(std::abs(first) < 1e15 && std::abs(step) < 1e9))
        c.refuse("numbers as large as these");
    const auto count = static_cast<std::int64_t>(n);
    if (is_floating(x.element())) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i) * step);
        return c.give(float_constant(values, {count}, x.element()));
    }
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<std::int64_t>(first) + i * static_cast<std::int64_t>(step));
    c.give(untyped::cast(integer_constant(values, {count}), x.element()));
}
inline void eye_like(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() != 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 2 are needed");
    const element_type e = c.attribute("dtype") ? element_of(c.integer("dtype", 0)) : x.element();
    if (e == element_type::none || e == element_type::string) c.refuse("elements of that data type");
    if (c.integer("k", 0) == 0 && is_numeric(e)) return c.give(untyped::eye_like(x, e));
    const std::int64_t n = number_of(c, x.extents()[0], "the number of rows"),
                       m = number_of(c, x.extents()[1], "the number of columns"),
                       k = within(c, c.integer("k", 0), -max_folded, max_folded, "k");
    if ((checked_size(n) * m).saturated() > max_folded) c.refuse("a matrix of more than 2^26 elements");
    std::vector<std::int64_t> ones(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i)
        if (i + k >= 0 && i + k < m) ones[static_cast<std::size_t>(i * m + i + k)] = 1;
    c.give(untyped::cast(integer_constant(ones, {n, m}), e));
}

inline void trilu(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() < 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 2 are needed");
    const bool upper = c.integer("upper", 1) != 0;
    if (c.has(1) && !c.known(1)) { // a diagonal of the step, as where what is past ends
        const any_tensor row = untyped::arange_like(x, element_type::int64, x.rank() - 2),
                         column = untyped::arange_like(x, element_type::int64, x.rank() - 1),
                         place = untyped::subtract(column, untyped::expand_dims(row, {1})),
                         k = reshaped(untyped::cast(c.x(1), element_type::int64), {});
        return c.give(untyped::select(upper ? untyped::greater_equal(place, k) : untyped::less_equal(place, k), x,
                                      untyped::zeros_like(x)));
    }
    const std::int64_t k = c.has(1) ? within(c, c.integer(1, "k"), -max_folded, max_folded, "k") : 0;
    c.give(upper ? untyped::triu(x, k) : untyped::tril(x, k));
}

// Blocks of an image's pixels to channels, and back. [n, c, h, w]
inline void depth_to_space(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t b = within(c, c.integer("blocksize", 1), 1, 1 << 15, "its block");
    if (x.rank() != 4) c.wrong("it needs an image of 4 dimensions");
    const std::int64_t channels = number_of(c, x.extents()[1], "the number of channels");
    if (channels % (b * b) != 0) c.wrong(std::to_string(channels) + " channels are no blocks of " + std::to_string(b));
    const std::int64_t out = channels / (b * b), n = reshape_op::copied(0), h = reshape_op::copied(2),
                       w = reshape_op::copied(3);
    const bool columns_first = c.text("mode", "DCR") == "CRD";
    const any_tensor apart = columns_first ? reshaped(x, {n, out, b, b, h, w}) : reshaped(x, {n, b, b, out, h, w});
    const any_tensor moved =
        columns_first ? untyped::transpose(apart, {0, 1, 4, 2, 5, 3}) : untyped::transpose(apart, {0, 3, 4, 1, 5, 2});
    const auto times = [&](const extent& e) { return e.is_number() ? e.size * b : reshape_op::deduced; };
    const any_tensor high = reshaped(moved, {n, out, times(x.extents()[2]), reshape_op::copied(4), b});
    const any_tensor y = reshaped(high, {n, out, reshape_op::copied(2), times(x.extents()[3])});
    c.give(with_multiple(c, with_multiple(c, y, 2, x.extents()[2], b), 3, x.extents()[3], b));
}
inline void space_to_depth(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t b = within(c, c.integer("blocksize", 1), 1, 1 << 15, "its block"), n = reshape_op::copied(0);
    if (x.rank() != 4) c.wrong("it needs an image of 4 dimensions");
    const std::int64_t channels = number_of(c, x.extents()[1], "the number of channels");
    for (int d = 2; d < 4; ++d)
        if (x.extents()[d].is_number() && x.extents()[d].size % b != 0)
            c.wrong("the image is not made of blocks of " + std::to_string(b));
    const std::int64_t h = reshape_op::copied(2), w = reshape_op::deduced;
    const any_tensor columns = reshaped(x, {n, channels, h, w, b}),
                     apart = reshaped(columns, {n, channels, reshape_op::deduced, b, reshape_op::copied(3), b});
    // DCR puts the place in the block before the channel, CRD behind it.
    const bool behind = c.text("mode", "DCR") == "CRD";
    const any_tensor moved =
        untyped::transpose(apart, behind ? index_list{0, 1, 3, 5, 2, 4} : index_list{0, 3, 5, 1, 2, 4});
    c.give(reshaped(moved,
                    {n, (checked_size(channels) * b * b).saturated(), reshape_op::copied(4), reshape_op::copied(5)}));
}

TENON_INLINE std::vector<entry> shape_operators() {
    return {{"Concat", onnx::concat},
            {"Constant", onnx::constant},
            {"ConstantOfShape", constant_of_shape},
            {"DepthToSpace", depth_to_space},
            {"Expand", expand},
            {"EyeLike", eye_like},
            {"Flatten", onnx::flatten},
            {"Range", range_of},
            {"Reshape", onnx::reshape},
            {"Shape", onnx::shape},
            {"Size", onnx::size},
            {"SpaceToDepth", space_to_depth},
            {"Squeeze", onnx::squeeze},
            {"Tile", onnx::tile},
            {"Transpose", onnx::transpose},
            {"Trilu", trilu},
            {"Unsqueeze", unsqueeze}};
}

} // namespace tenon::detail::onnx
