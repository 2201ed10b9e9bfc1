#pragma once

#include <algorithm>

#include <tenon/core/array/large_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/memory/memory_budget.hpp>

namespace tenon {

TENON_INLINE void memory_client::take(std::size_t bytes) {
    if (!of_->take(bytes)) throw resource_exhausted_error(of_->refusal(bytes));
    held_.fetch_add(2 * bytes, std::memory_order_relaxed);
}
TENON_INLINE void memory_client::give(std::size_t bytes) noexcept {
    of_->give(bytes);
    if (held_.fetch_sub(2 * bytes, std::memory_order_acq_rel) == 2 * bytes && bytes > 0) end();
}
TENON_INLINE std::string memory_client::name() const {
    const std::lock_guard lock(of_->guard_);
    return name_;
}
TENON_INLINE void memory_client::rename(std::string name) {
    const std::lock_guard lock(of_->guard_);
    name_.swap(name);
}
TENON_INLINE void memory_client::end() noexcept {
    const std::shared_ptr<memory_budget> of = of_; // ends last
    const std::lock_guard lock(of->guard_);
    std::erase(of->clients_, this);
    delete this;
}

TENON_INLINE std::shared_ptr<memory_client> memory_budget::client(std::string name) {
    const auto let_go = [](memory_client* c) {
        if (c->held_.fetch_sub(1, std::memory_order_acq_rel) == 1) c->end();
    };
    std::shared_ptr<memory_client> made(new memory_client(shared_from_this(), std::move(name)), let_go);
    const std::lock_guard lock(guard_);
    clients_.push_back(made.get());
    return made;
}

TENON_INLINE bool memory_budget::take(std::size_t bytes) {
    if (!account_.take(bytes)) return false;
    if (const std::size_t limit = account_.limit()) {
        const std::size_t taken = account_.taken(), kept = detail::kept_large_memory();
        if (taken + kept > limit) detail::shrink_kept_large_memory(taken < limit ? limit - taken : 0);
    }
    return true;
}

TENON_INLINE std::vector<memory_holder> memory_budget::holders() const {
    std::vector<memory_holder> all;
    {
        const std::lock_guard lock(guard_);
        for (const memory_client* c : clients_)
            if (c->bytes() > 0) all.emplace_back(c->bytes(), c->name_);
    }
    std::sort(all.rbegin(), all.rend());
    return all;
}

TENON_INLINE void memory_client::require_room_for_steps(memory_payer* who) {
    const auto* const client = dynamic_cast<memory_client*>(who);
    if (!client) return;
    const memory_info now = client->of_->info();
    const std::size_t least = std::min(now.limit / 16, std::size_t{1} << 20);
    if (now.limit == 0 || now.in_use + least <= now.limit) return;
    if (client->of_->take(least))
        return client->of_->give(least); // others have given back what they kept for further use
    throw resource_exhausted_error(
        client->of_->refusal("the last " + std::to_string(least) + " bytes are for steps that take something out"));
}

TENON_INLINE std::string memory_budget::refusal(std::string text) const {
    const memory_info now = info();
    text += ": of the " + std::to_string(now.limit) +
            " that may be used (server_options::memory_limit, tenon serve --memory-limit), " +
            std::to_string(now.in_use) + " are in use";
    const std::vector<memory_holder> all = holders();
    return text + (all.empty() ? "" : ", most by:" + largest_holders(all));
}

} // namespace tenon
