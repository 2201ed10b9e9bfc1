#include "reference/values.hpp"

#include <algorithm>

#include <tenon/core/with_element.hpp>

namespace tn = tenon;

namespace reference {

int values::number_of(shared_array a) {
    std::string key = tn::to_string(a->type()) + ":";
    tn::detail::with_element(a->element(), [&]<class T>(const T&) {
        if constexpr (std::is_same_v<T, std::string>)
            for (std::int64_t i = 0; i < a->elements(); ++i)
                key += std::to_string(a->data<T>()[i].size()) + "," + a->data<T>()[i];
        else
            key.append(reinterpret_cast<const char*>(a->data<T>()),
                       static_cast<std::size_t>(a->elements()) * sizeof(T));
    });
    const auto [at, isnew] = known_.try_emplace(std::move(key), static_cast<int>(all_.size()));
    if (isnew) all_.push_back(std::move(a));
    return at->second;
}

shared_array stacked(const std::vector<shared_array>& rows, const tn::tensor_type& type) {
    tn::extents row = type.extents;
    for (int d = 0; d < row.rank(); ++d)
        if (!row[d].is_number()) {
            std::int64_t largest = 0;
            for (const shared_array& r : rows) largest = std::max(largest, r->extents()[d].size);
            row[d] = tn::extent(largest);
        }
    tn::extents sizes = row;
    sizes.insert(0, tn::extent(static_cast<std::int64_t>(rows.size())));
    auto made = std::make_shared<tn::any_array>(tn::any_array::zeros(type.element, sizes));
    tn::detail::with_element(type.element, [&]<class T>(const T&) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            T* const to = made->data<T>() + static_cast<std::int64_t>(r) * row.elements();
            for (std::int64_t i = 0; i < rows[r]->elements(); ++i) {
                std::int64_t left = i, at = 0, stride = 1;
                for (int d = row.rank(); d-- > 0;) {
                    const std::int64_t size = rows[r]->extents()[d].size;
                    at += left % size * stride;
                    left /= size;
                    stride *= row[d].size;
                }
                to[at] = rows[r]->data<T>()[i];
            }
        }
    });
    return made;
}

} // namespace reference
