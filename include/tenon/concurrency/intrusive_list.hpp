#pragma once

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// Attempts that wait, or that are to be completed, in their order: linked by themselves (before_, after_), so that no memory is
/// needed to wait. Who has it guards it.
template <class Attempt> struct intrusive_list {
    Attempt *first = nullptr, *last = nullptr;
    void push(Attempt& a) noexcept {
        a.before_ = last;
        a.after_ = nullptr;
        (last ? last->after_ : first) = &a;
        last = &a;
    }
    void remove(Attempt& a) noexcept {
        (a.before_ ? a.before_->after_ : first) = a.after_;
        (a.after_ ? a.after_->before_ : last) = a.before_;
    }
};

} // namespace tenon::detail
