#pragma once

#include <cstdio>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

TENON_INLINE void exceed_limit(const tenon::step& in, const std::string& what) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", in.limit);
    throw deadline_exceeded_error(std::string("the step did not end within its ") + in.limit_source + " of " + seconds +
                                  " s; " + what);
}

TENON_INLINE void rethrow_at(const std::exception_ptr& what, const std::string& place) {
    const std::string node = " [node " + place + "]";
    try {
        std::rethrow_exception(what);
    } catch (const error& e) {
        throw_error(e.code(), e.what() + node);
    } catch (const std::bad_alloc&) {
        throw resource_exhausted_error("no memory for a kernel" + node);
    } catch (const std::exception& e) {
        throw internal_error(e.what() + node);
    }
}

} // namespace tenon::runtime
