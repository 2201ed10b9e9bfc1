#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include <tenon/core/array/large_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/memory/memory_pool.hpp>

namespace tenon {

TENON_INLINE memory_source& host_memory() noexcept {
    struct host final : memory_source {
        void* take(std::size_t bytes) noexcept override {
            if (bytes >= detail::large_memory) return detail::new_large(bytes);
            return ::operator new (bytes, std::align_val_t{memory_pool::alignment}, std::nothrow);
        }
        void give(void* region, std::size_t bytes) noexcept override {
            if (bytes >= detail::large_memory) detail::delete_large(region, bytes);
            else ::operator delete (region, std::align_val_t{memory_pool::alignment});
        }
    };
    static auto& source = *new host; // pools may outlive everything that is static
    return source;
}

// What it knows of the memory lies on the host, since the memory itself may be out of the host's reach.
struct memory_pool::state {
    // By size, then address: the first that is large enough fits best.
    using idle_blocks = std::set<std::pair<std::size_t, std::byte*>>;
    struct block {
        std::size_t bytes;
        std::byte* region;            // where its region begins
        idle_blocks::node_type place; // while it is used: so that taking it back needs no memory
        bool idle() const noexcept { return place.empty(); }
    };
    using block_map = std::map<std::byte*, block>;

    static constexpr std::size_t first_region = std::size_t{2} << 20;
    static std::size_t round_up(std::size_t bytes) noexcept { return (bytes + alignment - 1) / alignment * alignment; }

    memory_source& source;
    std::mutex guard; // of what follows
    memory_statistics statistics;
    std::map<std::byte*, std::size_t> regions; // and their bytes
    block_map blocks;                          // of all regions, side by side
    idle_blocks idle;
    std::size_t next_region = first_region;

    state(memory_source& s, std::size_t limit) : source(s) {
        statistics.limit = std::min(limit, std::numeric_limits<std::size_t>::max() / 2); // sums of two stay numbers
    }
    ~state() {
        for (const auto& [region, bytes] : regions) source.give(region, bytes);
    }

    block_map::iterator add_used_block(std::byte* at, std::size_t bytes, std::byte* region) {
        idle_blocks one;
        return blocks.emplace(at, block{bytes, region, one.extract(one.emplace(bytes, at).first)}).first;
    }
    void make_idle(block_map::iterator at) noexcept {
        at->second.place.value() = {at->second.bytes, at->first};
        idle.insert(std::move(at->second.place));
    }
    void make_used(block_map::iterator at) noexcept { at->second.place = idle.extract({at->second.bytes, at->first}); }
    void remove_idle(block_map::iterator at) noexcept {
        idle.erase({at->second.bytes, at->first});
        blocks.erase(at);
    }

    bool add_region(std::size_t bytes) {
        auto* const region = static_cast<std::byte*>(source.take(bytes));
        if (!region) return false;
        try {
            regions.emplace(region, bytes);
            make_idle(add_used_block(region, bytes, region));
        } catch (...) {
            regions.erase(region);
            source.give(region, bytes);
            throw;
        }
        statistics.reserved += bytes;
        return true;
    }
    bool is_empty(const std::pair<std::byte* const, std::size_t>& region) const {
        const block& first = blocks.at(region.first);
        return first.idle() && first.bytes == region.second;
    }
    std::size_t empty_bytes() const {
        std::size_t bytes = 0;
        for (const auto& region : regions)
            if (is_empty(region)) bytes += region.second;
        return bytes;
    }
    bool give_back_empty() {
        const std::size_t before = statistics.reserved;
        for (auto at = regions.begin(); at != regions.end();) {
            if (!is_empty(*at)) {
                ++at;
                continue;
            }
            remove_idle(blocks.find(at->first));
            source.give(at->first, at->second);
            statistics.reserved -= at->second;
            at = regions.erase(at);
        }
        return statistics.reserved < before;
    }

    // Another region, with an idle block of so many bytes at least.
    bool grow(std::size_t bytes) {
        const auto left = [&] { return statistics.limit - statistics.reserved; };
        if (bytes > left()) {
            if (bytes > left() + empty_bytes()) return false;
            give_back_empty();
        }
        const std::size_t least = std::min(round_up(bytes), left());
        std::size_t size = std::min(std::max(next_region, least), left());
        while (!add_region(size)) {
            // The source has not what the limit allows.
            if (size > least) size = std::max(least, round_up(size / 2));
            else return give_back_empty() && add_region(least);
        }
        if (next_region <= statistics.limit / 2) next_region *= 2;
        return true;
    }

    void* allocate(std::size_t bytes) {
        auto fit = idle.lower_bound({bytes, nullptr});
        if (fit == idle.end()) {
            if (!grow(bytes)) return nullptr;
            fit = idle.lower_bound({bytes, nullptr});
        }
        const auto at = blocks.find(fit->second);
        // The last block of a region is smaller than the next multiple where the limit is none.
        const std::size_t used = std::min(round_up(bytes), at->second.bytes);
        if (used == at->second.bytes) make_used(at);
        else {
            const auto rest = add_used_block(at->first + used, at->second.bytes - used, at->second.region);
            make_used(at);
            at->second.bytes = used;
            make_idle(rest);
        }
        statistics.in_use += used;
        statistics.peak = std::max(statistics.peak, statistics.in_use);
        ++statistics.allocations;
        return at->first;
    }

    void deallocate(std::byte* address) noexcept {
        auto at = blocks.find(address);
        statistics.in_use -= at->second.bytes;
        const auto joins = [&](block_map::iterator other) {
            return other->second.idle() && other->second.region == at->second.region;
        };
        if (const auto next = std::next(at); next != blocks.end() && joins(next)) {
            at->second.bytes += next->second.bytes;
            remove_idle(next);
        }
        if (at != blocks.begin())
            if (const auto previous = std::prev(at); joins(previous)) {
                make_used(previous);
                previous->second.bytes += at->second.bytes;
                blocks.erase(at);
                at = previous;
            }
        make_idle(at);
    }
};

TENON_INLINE memory_pool::memory_pool(memory_source& source, std::size_t limit, bool growth) :
    state_(new state(source, limit)) {
    if (!growth && limit > 0 && !state_->add_region(state_->statistics.limit))
        throw resource_exhausted_error("memory_pool: no " + std::to_string(limit) +
                                       " bytes can be taken at once; give a smaller memory_policy::limit or fraction, "
                                       "or let memory grow (memory_policy::growth)");
}
TENON_INLINE memory_pool::~memory_pool() = default;

TENON_INLINE void* memory_pool::allocate(std::size_t bytes) noexcept {
    if (bytes == 0) return reinterpret_cast<void*>(alignment); // nothing lies there, of the host's or of a device's
    const std::lock_guard lock(state_->guard);
    if (bytes > state_->statistics.limit) return nullptr;
    try {
        return state_->allocate(bytes);
    } catch (const std::bad_alloc&) { // for what it must know; nothing was changed
        return nullptr;
    }
}

TENON_INLINE void memory_pool::deallocate(void* block, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    const std::lock_guard lock(state_->guard);
    state_->deallocate(static_cast<std::byte*>(block));
}

TENON_INLINE memory_statistics memory_pool::statistics() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->statistics;
}

TENON_INLINE void memory_pool::reset_peak() noexcept {
    const std::lock_guard lock(state_->guard);
    state_->statistics.peak = state_->statistics.in_use;
}

} // namespace tenon
