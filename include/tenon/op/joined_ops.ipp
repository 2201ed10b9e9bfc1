#pragma once

#include <map>
#include <mutex>

#include <tenon/op/joined_ops.hpp>

namespace tenon {

namespace detail {
struct registered_joined_ops {
    std::mutex guard;
    std::map<const op_definition*, joined_ops> by_op;
    static registered_joined_ops& get() {
        static auto& r = *new registered_joined_ops;
        return r;
    }
};
} // namespace detail

TENON_INLINE void register_joined_ops(const op_definition& of, const joined_ops& joined) {
    auto& r = detail::registered_joined_ops::get();
    const std::lock_guard lock(r.guard);
    r.by_op[&of] = joined;
}

TENON_INLINE joined_ops find_joined_ops(const op_definition& of) {
    auto& r = detail::registered_joined_ops::get();
    const std::lock_guard lock(r.guard);
    const auto at = r.by_op.find(&of);
    return at == r.by_op.end() ? joined_ops{} : at->second;
}

} // namespace tenon
