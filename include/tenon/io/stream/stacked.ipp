#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/core/with_element.hpp>
#include <tenon/io/stream/stacked.hpp>

namespace tenon::detail {

TENON_INLINE const any_array* of_other_sizes(const std::vector<const any_array*>& parts) {
    for (const any_array* p : parts)
        if (!(p->extents() == parts.front()->extents())) return p;
    return nullptr;
}

// `from` to the part of `to`, of a rank more, that begins at each dimension's beginning of row i.
inline void copy_into_corner(any_array& to, std::int64_t i, const any_array& from) {
    if (from.elements() == 0) return;
    const int rank = from.rank();
    const std::int64_t row = rank == 0 ? 1 : from.extents()[rank - 1].size;
    std::int64_t at[max_rank] = {};
    for (std::int64_t begin = 0; begin < from.elements(); begin += row) {
        std::int64_t offset = i;
        for (int d = 0; d < rank; ++d) offset = offset * to.extents()[d + 1].size + at[d];
        if (from.element() == element_type::string)
            std::copy_n(from.data<std::string>() + begin, row, to.data<std::string>() + offset);
        else {
            const std::size_t bytes = size_of(from.element());
            std::memcpy(static_cast<std::byte*>(to.data()) + static_cast<std::size_t>(offset) * bytes,
                        static_cast<const std::byte*>(from.data()) + static_cast<std::size_t>(begin) * bytes,
                        static_cast<std::size_t>(row) * bytes);
        }
        for (int d = rank - 2; d >= 0 && ++at[d] == from.extents()[d].size; --d) at[d] = 0;
    }
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
        const std::int64_t each = parts.empty() ? 0 : parts.front()->elements();
        const std::size_t bytes = parts.empty() ? 0 : parts.front()->bytes();
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (type.element == element_type::string)
                std::copy_n(parts[i]->data<std::string>(), each,
                            made.data<std::string>() + static_cast<std::int64_t>(i) * each);
            else if (bytes > 0) std::memcpy(static_cast<std::byte*>(made.data()) + i * bytes, parts[i]->data(), bytes);
        }
        return made;
    }
    if (fill) fill_with(made, *fill);
    else if (type.element == element_type::string) fill_with(made, any_array(element_type::string, {}));
    else std::memset(made.data(), 0, made.bytes());
    for (std::size_t i = 0; i < parts.size(); ++i) copy_into_corner(made, static_cast<std::int64_t>(i), *parts[i]);
    return made;
}

} // namespace tenon::detail
