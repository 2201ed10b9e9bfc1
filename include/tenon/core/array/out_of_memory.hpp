#pragma once

#include <new>
#include <stdexcept>

#include <tenon/core/error.hpp>

/// What is said where there is no memory: std::bad_alloc names neither what needed it nor what to do.

namespace tenon::detail {

/// Throws resource_exhausted_error, "WHO: no memory for it; ...", where the exception in flight is std::bad_alloc, or a container's
/// std::length_error, for a size that no memory has; else that exception. `who` is asked for its words only then.
template <class Who> [[noreturn]] void rethrow_out_of_memory(const Who& who) {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        throw resource_exhausted_error(who() + ": no memory for it; use smaller sizes, or free what is not needed");
    } catch (const std::length_error&) {
        throw resource_exhausted_error(who() + ": it needs more elements than there is memory for; use smaller sizes");
    }
}

/// f(), where want of memory is as rethrow_out_of_memory() says.
template <class Who, class F> decltype(auto) naming_out_of_memory(const Who& who, const F& f) {
    try {
        return f();
    } catch (...) {
        rethrow_out_of_memory(who);
    }
}

} // namespace tenon::detail
