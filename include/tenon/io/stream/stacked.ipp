#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/dense/strided_copy.hpp>
#include <tenon/io/stream/stacked.hpp>

namespace tenon::detail {

TENON_INLINE const any_array* of_other_sizes(const std::vector<const any_array*>& parts) {
    for (const any_array* p : parts)
        if (!(p->extents() == parts.front()->extents())) return p;
    return nullptr;
}

// `from` to the part of `to`, of a rank more, that begins at each dimension's beginning of row i.
inline void copy_into_corner(any_array& to, std::int64_t i, const any_array& from) {
    const row_major_steps in_to(to.extents());
    if (from.rank() < 2) // a third of the time of a copy that is planned
        return copy_elements(from.element(), to.data(), i * in_to[0], from.data(), 0, from.elements());
    const std::size_t bytes = size_of(from.element());
    const row_major_steps in_from(from.extents());
    copied_dimension dims[max_rank];
    for (int d = 0; d < from.rank(); ++d) dims[d] = {from.extents()[d].size, in_from[d], in_to[d + 1]};
    strided_copy(dims, from.rank(), bytes)
        .run(from.data(), static_cast<std::byte*>(to.data()) + static_cast<std::size_t>(i * in_to[0]) * bytes, nullptr);
}

inline void fill_with(any_array& to, const any_array& value) {
    with_element(to.element(), [&]<class T>(T) {
        std::fill_n(static_cast<T*>(to.data()), to.elements(), *static_cast<const T*>(value.data()));
    });
}

TENON_INLINE any_array stacked(const tensor_type& type, const std::vector<const any_array*>& parts,
                               const any_array* fill, any_array* to) {
    const bool uneven = of_other_sizes(parts) != nullptr;
    extents sizes = parts.empty() ? type.extents : parts.front()->extents();
    for (int d = 0; d < sizes.rank(); ++d) {
        std::int64_t largest = parts.empty() && sizes[d].is_number() ? sizes[d].size : 0;
        for (const any_array* p : parts) largest = std::max(largest, p->extents()[d].size);
        sizes[d] = extent(largest);
    }
    sizes.insert(0, static_cast<std::int64_t>(parts.size()));
    any_array made;
    if (to && to->is_unique() && to->element() == type.element && to->extents() == sizes) made = to->share();
    else {
        made = any_array(type.element, sizes);
        if (to) *to = made.share();
    }
    if (!uneven) {
        std::int64_t at = 0;
        for (const any_array* p : parts) {
            copy_elements(type.element, made.data(), at, p->data(), 0, p->elements());
            at += p->elements();
        }
        return made;
    }
    if (fill) fill_with(made, *fill);
    else if (type.element == element_type::string) fill_with(made, any_array(element_type::string, {}));
    else std::memset(made.data(), 0, made.bytes());
    for (std::size_t i = 0; i < parts.size(); ++i) copy_into_corner(made, static_cast<std::int64_t>(i), *parts[i]);
    return made;
}

TENON_INLINE any_array with_room(any_array from, std::int64_t count, std::int64_t room) {
    extents sizes = from.extents();
    const std::int64_t row = from.elements() / std::max<std::int64_t>(1, sizes[0].size);
    sizes[0] = extent(room);
    any_array to(from.element(), sizes);
    if (from.element() == element_type::string)
        std::move(from.data<std::string>(), from.data<std::string>() + count * row, to.data<std::string>());
    else if (count * row > 0)
        std::memcpy(to.data(), from.data(), static_cast<std::size_t>(count * row) * size_of(from.element()));
    return to;
}

} // namespace tenon::detail
