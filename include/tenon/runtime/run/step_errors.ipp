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

TENON_INLINE std::exception_ptr after_updates(const std::exception_ptr& why, const std::vector<std::string>& variables,
                                              const std::vector<std::string>& others) noexcept {
    static constexpr std::size_t shown = 3;
    const auto listed = [](const std::vector<std::string>& names, const char* one, const char* several) {
        std::string text = std::string("; ") + (names.size() == 1 ? one : several);
        for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
            text += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
        if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
        return text + (names.size() == 1 ? " has" : " have");
    };
    if (variables.empty() && others.empty()) return why;
    try {
        std::string text;
        if (!others.empty()) text += listed(others, "", "") + " been changed all the same";
        if (!variables.empty()) text += listed(variables, "variable ", "variables ") + " been updated all the same";
        try {
            std::rethrow_exception(why);
        } catch (const error& e) {
            throw_error(e, e.what() + text);
        } catch (const std::bad_alloc&) {
            throw resource_exhausted_error("there was no memory for the step" + text);
        }
    } catch (const error&) {
        return std::current_exception();
    } catch (...) { // what is not ours, or no memory for words
        return why;
    }
}

TENON_INLINE bool is_shortage(const std::exception_ptr& what) noexcept {
    try {
        std::rethrow_exception(what);
    } catch (const resource_exhausted_error&) {
        return true;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (...) {
        return false;
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
