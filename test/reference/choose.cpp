#include "reference/choose.hpp"

#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/ops/shape/partition.hpp>

namespace tn = tenon;

namespace reference {

namespace {

using list = std::vector<std::int64_t>;

// Parts i of x, those after its first `before` sizes, on one another.
shared_array parts(const tn::any_array& x, int before, const list& which) {
    tn::extents sizes(static_cast<std::int64_t>(which.size()));
    std::int64_t part = 1;
    for (int d = before; d < x.rank(); ++d) {
        sizes.push_back(x.extents()[d]);
        part *= x.extents()[d].size;
    }
    auto made = std::make_shared<tn::any_array>(x.element(), sizes);
    tn::detail::with_element(x.element(), [&]<class T>(const T&) {
        for (std::size_t i = 0; i < which.size(); ++i)
            for (std::int64_t k = 0; k < part; ++k)
                made->data<T>()[static_cast<std::int64_t>(i) * part + k] = x.data<T>()[which[i] * part + k];
    });
    return made;
}

list integers(const tn::any_array& a) {
    list all;
    for (std::int64_t i = 0; i < a.elements(); ++i)
        all.push_back(a.element() == tn::element_type::int32 ? a.data<std::int32_t>()[i] : a.data<std::int64_t>()[i]);
    return all;
}

shared_array array_of(const list& all, tn::element_type e, const tn::extents& sizes) {
    auto made = std::make_shared<tn::any_array>(e, sizes);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (e == tn::element_type::int32) made->data<std::int32_t>()[i] = static_cast<std::int32_t>(all[i]);
        else made->data<std::int64_t>()[i] = all[i];
    return made;
}

shared_array masked(const tn::any_array& x, const tn::any_array& mask) {
    list which;
    for (std::int64_t i = 0; i < mask.elements(); ++i)
        if (mask.data<bool>()[i]) which.push_back(i);
    return parts(x, mask.rank(), which);
}

shared_array places_of_nonzero(const tn::any_array& x) {
    list all;
    tn::detail::with_element(x.element(), [&]<class T>(const T&) {
        for (std::int64_t i = 0; i < x.elements(); ++i) {
            if (x.data<T>()[i] == T()) continue;
            std::int64_t below = x.elements(), left = i;
            for (int d = 0; d < x.rank(); ++d) {
                below /= x.extents()[d].size;
                all.push_back(left / below);
                left %= below;
            }
        }
    });
    const std::int64_t rank = x.rank();
    return array_of(all, tn::element_type::int64, {static_cast<std::int64_t>(all.size()) / rank, rank});
}

shared_array numbers_to(const tn::any_array& n) {
    list all;
    while (static_cast<std::int64_t>(all.size()) < integers(n)[0]) all.push_back(static_cast<std::int64_t>(all.size()));
    return array_of(all, tn::element_type::int64, {static_cast<std::int64_t>(all.size())});
}

std::vector<shared_array> different(const tn::any_array& x, tn::element_type index) {
    list first, where;
    tn::detail::with_element(x.element(), [&]<class T>(const T&) {
        const T* const p = x.data<T>();
        for (std::int64_t i = 0; i < x.elements(); ++i) {
            std::size_t n = 0;
            while (n < first.size() && !(p[first[n]] == p[i])) ++n;
            if (n == first.size()) first.push_back(i);
            where.push_back(static_cast<std::int64_t>(n));
        }
    });
    return {parts(x, 1, first), array_of(where, index, x.extents())};
}

// Of each part of a variable: which indices are of its rows, and where its rows begin. The first parts have one row more
// where they are not even.
struct routed {
    std::vector<list> of;
    list begins;
};
routed route(const tn::attributes& a, const list& indices) {
    const auto of = tn::decode<tn::route_indices_op::attributes>(a);
    const std::int64_t rows = of.rows, count = of.parts;
    routed r;
    std::int64_t begin = 0;
    for (std::int64_t p = 0; p < count; ++p) {
        r.begins.push_back(begin);
        const std::int64_t end = begin + rows / count + (p < rows % count);
        list& mine = r.of.emplace_back();
        for (std::size_t i = 0; i < indices.size(); ++i) {
            if (indices[i] < 0 || indices[i] >= rows) throw tn::invalid_argument_error("an index is out of range");
            if (indices[i] >= begin && indices[i] < end) mine.push_back(static_cast<std::int64_t>(i));
        }
        begin = end;
    }
    return r;
}

std::vector<shared_array> routed_indices(const work& w) {
    const list indices = integers(*w.values[0]);
    const routed r = route(w.attributes, indices);
    std::vector<shared_array> made;
    for (std::size_t p = 0; p < r.of.size(); ++p) {
        list own;
        for (const std::int64_t i : r.of[p]) own.push_back(indices[static_cast<std::size_t>(i)] - r.begins[p]);
        made.push_back(array_of(own, w.values[0]->element(), tn::extents(static_cast<std::int64_t>(own.size()))));
    }
    return made;
}

std::vector<shared_array> routed_rows(const work& w) {
    std::vector<shared_array> made;
    for (const list& mine : route(w.attributes, integers(*w.values[0])).of)
        made.push_back(parts(*w.values[1], w.values[0]->rank(), mine));
    return made;
}

std::vector<shared_array> joined_rows(const work& w) {
    const tn::any_array &indices = *w.values[0], &first = *w.values[1];
    const routed r = route(w.attributes, integers(indices));
    tn::extents sizes = indices.extents();
    std::int64_t row = 1;
    for (int d = 1; d < first.rank(); ++d) {
        sizes.push_back(first.extents()[d]);
        row *= first.extents()[d].size;
    }
    auto made = std::make_shared<tn::any_array>(first.element(), sizes);
    for (std::size_t p = 0; p < r.of.size(); ++p) {
        const tn::any_array& from = *w.values[p + 1];
        if (from.extents()[0].size != static_cast<std::int64_t>(r.of[p].size()))
            throw tn::invalid_argument_error(w.node.name + ": a part has other rows than indices");
        tn::detail::with_element(from.element(), [&]<class T>(const T&) {
            for (std::size_t i = 0; i < r.of[p].size(); ++i)
                for (std::int64_t k = 0; k < row; ++k)
                    made->data<T>()[r.of[p][i] * row + k] = from.data<T>()[static_cast<std::int64_t>(i) * row + k];
        });
    }
    return {made};
}

} // namespace

std::vector<shared_array> chosen(const work& w) {
    const std::string_view op = w.node.op->name;
    if (op == "boolean_mask") return {masked(*w.values[0], *w.values[1])};
    if (op == "nonzero") return {places_of_nonzero(*w.values[0])};
    if (op == "arange_to") return {numbers_to(*w.values[0])};
    if (op == "unique") return different(*w.values[0], w.attributes.get<tn::element_type>("index"));
    if (op == "route_indices") return routed_indices(w);
    if (op == "route_rows") return routed_rows(w);
    if (op == "join_rows") return joined_rows(w);
    return {};
}

} // namespace reference
