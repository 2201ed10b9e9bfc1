#pragma once

#include <chrono>

#include <tenon/resources/held_variables.hpp>

#include "tests.hpp"

// Variables of two devices, and what steps hold of them.

namespace variable_bank {

using tn::held_variables;

inline constexpr auto never = held_variables::clock::time_point::max();
inline held_variables::clock::time_point soon() { return held_variables::clock::now() + std::chrono::milliseconds(2); }

// Variables of two devices, each a number.
struct bank {
    explicit bank(int count) {
        for (int i = 0; i < count; ++i) {
            owned.push_back(
                (i % 2 == 0 ? first : second).variable("", std::to_string(i), {tn::element_type::int64, {}}));
            all.push_back(owned.back().get());
        }
        std::sort(all.begin(), all.end());
    }
    tn::resource_manager first, second;
    std::vector<std::shared_ptr<tn::variable_resource>> owned;
    std::vector<tn::variable_resource*> all; // by address
};

inline std::vector<tn::variable_use> readers(const std::vector<tn::variable_resource*>& of, bool by_rows = false) {
    std::vector<tn::variable_use> uses;
    for (tn::variable_resource* v : of) uses.push_back({.variable = v, .read = true, .by_rows = by_rows});
    return uses;
}
inline std::vector<tn::variable_use> updaters(const std::vector<tn::variable_resource*>& of, bool in_part = false) {
    std::vector<tn::variable_use> uses;
    for (tn::variable_resource* v : of) uses.push_back({.variable = v, .updated = true, .in_part = in_part});
    return uses;
}

inline std::int64_t at(const void* p) { return *static_cast<const std::int64_t*>(p); }

// One step that gives each variable a value.
inline void assign(const std::vector<tn::variable_resource*>& to, std::int64_t value) {
    const auto uses = updaters(to);
    held_variables h(uses);
    REQUIRE(h.begin_updates(never) == nullptr);
    for (std::size_t i = 0; i < to.size(); ++i) {
        *static_cast<std::int64_t*>(h.after(i)) = value;
        h.set_written(i);
    }
    h.end_updates();
}

// How often it was completed.
struct counted final : tn::completion {
    void completed(std::exception_ptr) noexcept override { ++times; }
    std::atomic<int> times{0};
};

} // namespace variable_bank
