#pragma once

#include <tenon/core/array/array.hpp>
#include <tenon/core/array/nested_values.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon::detail {

// Writes the elements one after the other.
struct nested_value::writer {
    const tensor_type& type; // whose sizes are those of the lists' first entries
    const tensor_type& wanted;
    const std::string& who;

    template <class T> T* write(const nested_value& v, int depth, T* out) const {
        const std::int64_t found = v.is_list_ ? static_cast<std::int64_t>(v.list_.size()) : -1;
        if (found != (depth < type.extents.rank() ? type.extents[depth].size : -1)) ragged(depth, found);
        if (v.is_list_)
            for (const nested_value& inner : v.list_) out = write(inner, depth + 1, out);
        else put(v, *out++);
        return out;
    }

private:
    [[noreturn]] void ragged(int depth, std::int64_t found) const {
        throw invalid_argument_error(who + " is " + to_string(wanted) + ", but " +
                                     how_ragged(type.extents, depth, found));
    }
    template <class T> void put(const nested_value& v, T& to) const {
        if (v.is_text_ != std::is_same_v<T, std::string>)
            throw invalid_argument_error(who + " is " + to_string(wanted) + ", but " +
                                         (v.is_text_ ? "\"" + v.text_ + "\"" : to_string(v.number_)) +
                                         " is given in braces");
        if constexpr (std::is_same_v<T, std::string>) to = v.text_;
        else {
            require_fits(v.number_, type.element, who.c_str());
            to = v.number_.to<T>();
        }
    }
};

TENON_INLINE any_array array_of(const nested_value& values, const tensor_type& type, const std::string& who) {
    tensor_type given{type.element, {}};
    for (const nested_value* v = &values; v && v->is_list_; v = v->list_.size() > 0 ? v->list_.begin() : nullptr)
        given.extents.push_back(static_cast<std::int64_t>(v->list_.size()));
    if (given.extents.overfull())
        throw invalid_argument_error(who + " is " + to_string(type) + ", but the braces are nested more than " +
                                     std::to_string(max_rank) + " deep");
    // Ragged lists are told of first: their sizes are a guess.
    any_array a(given.element, given.extents);
    const nested_value::writer to{given, type, who};
    with_element(given.element, [&]<class T>(const T&) { to.write(values, 0, static_cast<T*>(a.data())); });
    if (const std::string why = misfit(given, type); !why.empty()) throw invalid_argument_error(who + ": " + why);
    return a;
}

} // namespace tenon::detail
