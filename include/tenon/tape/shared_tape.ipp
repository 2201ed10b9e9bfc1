#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <tenon/core/hash.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon {

TENON_INLINE std::size_t hash_tape(const tape& t) {
    using detail::mix;
    const auto word = [](std::int16_t r) { return static_cast<std::size_t>(static_cast<std::uint16_t>(r)); };
    std::size_t h = static_cast<std::size_t>(t.length);
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        h = mix(h, static_cast<std::size_t>(i.op) << 8 | static_cast<std::size_t>(i.type));
        h = mix(h, word(i.a) << 32 | word(i.b) << 16 | word(i.c));
        if (i.op == opcode::literal) h = mix(h, static_cast<std::size_t>(i.bits));
    }
    for (int o = 0; o < t.output_count; ++o) h = mix(h, word(t.outputs[o].reg) << 16 | word(t.outputs[o].like));
    return h;
}

namespace detail {

struct tape_table {
    struct entry {
        const tape* made;
        std::weak_ptr<const tape> held;
    };
    std::mutex guard;
    std::unordered_multimap<std::size_t, entry> by_content;
};
inline tape_table& table_of_tapes() {
    // Never destroyed: graphs in static objects may outlive it.
    static auto& table = *new tape_table;
    return table;
}

// Whoever held the tape last takes it out of the table.
struct shared_tape_deleter {
    std::size_t content;
    void operator()(const tape* t) const noexcept {
        tape_table& table = table_of_tapes();
        {
            const std::lock_guard lock(table.guard);
            auto [at, last] = table.by_content.equal_range(content);
            while (at != last && at->second.made != t) ++at;
            if (at != last) table.by_content.erase(at);
        }
        delete t;
    }
};

TENON_INLINE std::size_t shared_tapes() {
    tape_table& table = table_of_tapes();
    const std::lock_guard lock(table.guard);
    return table.by_content.size();
}

} // namespace detail

TENON_INLINE std::shared_ptr<const tape> share_tape(const tape& t) {
    const std::size_t content = hash_tape(t);
    detail::tape_table& table = detail::table_of_tapes();
    const auto found = [&]() -> std::shared_ptr<const tape> {
        const auto [first, last] = table.by_content.equal_range(content);
        for (auto at = first; at != last; ++at)
            if (*at->second.made == t)
                if (std::shared_ptr<const tape> held = at->second.held.lock()) return held;
        return nullptr;
    };
    {
        const std::lock_guard lock(table.guard);
        if (std::shared_ptr<const tape> held = found()) return held;
    }
    // Made, and ended where it cannot be entered or is there meanwhile, while the lock is free: its deleter takes it.
    std::shared_ptr<const tape> made(new tape(t), detail::shared_tape_deleter{content});
    const std::lock_guard lock(table.guard);
    if (std::shared_ptr<const tape> held = found()) return held;
    table.by_content.emplace(content, detail::tape_table::entry{made.get(), made});
    return made;
}

} // namespace tenon
