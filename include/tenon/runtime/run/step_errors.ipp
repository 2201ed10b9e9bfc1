#pragma once

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>

#include <tenon/core/error.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

TENON_INLINE void set_limit(tenon::step& in, double of_run, double of_session) {
    in.limit = of_run > 0 ? of_run : of_session;
    if (in.limit <= 0) return;
    in.deadline = in.now() + std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(in.limit, 1e9) * 1e9));
    in.limit_source = of_run > 0 ? "run's time limit" : "session's operation_timeout";
}

TENON_INLINE void exceed_limit(const tenon::step& in, const std::string& what) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", in.limit);
    throw deadline_exceeded_error(std::string("the step did not end within its ") + in.limit_source + " of " + seconds +
                                  " s; " + what);
}

TENON_INLINE std::exception_ptr after_updates(const std::exception_ptr& why,
                                              const std::vector<std::string>& names) noexcept {
    constexpr std::size_t shown = 3;
    if (names.empty()) return why;
    try {
        std::rethrow_exception(why);
    } catch (const error& e) {
        try {
            std::string text = e.what();
            text += names.size() == 1 ? "; variable " : "; variables ";
            for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
                text += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
            if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
            throw_error(e, text + (names.size() == 1 ? " has" : " have") + " been updated all the same");
        } catch (...) {
            return std::current_exception();
        }
    } catch (...) {
        return why;
    }
}

TENON_INLINE void rethrow_at(const std::exception_ptr& what, const std::string& place) {
    const std::string node = " [node " + place + "]";
    try {
        std::rethrow_exception(what);
    } catch (const error& e) {
        throw_error(e, e.what() + node);
    } catch (const std::bad_alloc&) {
        throw resource_exhausted_error("no memory for a kernel" + node);
    } catch (const std::length_error&) {
        throw resource_exhausted_error("a kernel needs more elements than there is memory for" + node);
    } catch (const std::exception& e) {
        throw internal_error(e.what() + node);
    }
}

} // namespace tenon::runtime
