#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include <tenon/concurrency/thread_pool.hpp>

/// Loops over records, or other elements that may be wrong.

namespace tenon::detail {

/// f(i) for each i of [0, n), by the threads of a pool, which may be null, where they are worth it. Throws what the first i
/// threw, of those whose f did, as a loop would.
template <class F> void for_each_record(thread_pool* pool, std::int64_t n, double nanoseconds, const F& f) {
    std::mutex guard; // of what comes next
    std::int64_t first = n;
    std::exception_ptr failure;
    const auto some = [&](std::int64_t begin, std::int64_t end) {
        std::int64_t i = begin;
        try {
            for (; i < end; ++i) f(i);
        } catch (...) {
            const std::lock_guard lock(guard);
            if (i < first) first = i, failure = std::current_exception();
        }
    };
    const auto grain = static_cast<std::int64_t>(20000 / std::max(nanoseconds, 1.0)) + 1;
    parallel_for(pool, n, grain, some);
    if (failure) std::rethrow_exception(failure);
}

} // namespace tenon::detail
