#pragma once

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A member of what is in an intrusive_list: its neighbours there.
template <class T> struct list_links { T *before = nullptr, *after = nullptr; };

/// Objects in their order, linked by a member of their own, so that no memory is needed to enter. Who has the list guards it.
template <class T, list_links<T> T::*Links> struct intrusive_list {
    T *first = nullptr, *last = nullptr;

    void push(T& e) noexcept {
        e.*Links = {last, nullptr};
        (last ? (last->*Links).after : first) = &e;
        last = &e;
    }
    void remove(T& e) noexcept {
        const auto [before, after] = e.*Links;
        (before ? (before->*Links).after : first) = after;
        (after ? (after->*Links).before : last) = before;
    }
    /// Takes out the first, where there is one.
    T* pop() noexcept {
        T* const e = first;
        if (e) remove(*e);
        return e;
    }
    /// f(element) of each, which may remove or end it.
    template <class F> void for_each(const F& f) const {
        for (T *e = first, *next = nullptr; e; e = next) {
            next = (e->*Links).after;
            f(*e);
        }
    }
};

} // namespace tenon::detail
