#pragma once

#include <exception>

#include <tenon/core/config.hpp>

namespace tenon {

/// The error that `make` gives, to be handed on from where nothing may throw; std::bad_alloc where there is no memory for its words.
template <class Make> std::exception_ptr failure_of(const Make& make) noexcept {
    try {
        return std::make_exception_ptr(make());
    } catch (...) {
        return std::current_exception();
    }
}

/// What `f` throws, where nothing may; nullptr where it ends.
template <class F> std::exception_ptr thrown_by(F&& f) noexcept {
    try {
        f();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

} // namespace tenon
