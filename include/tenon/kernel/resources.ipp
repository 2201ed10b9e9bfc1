#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/kernel/resources.hpp>

namespace tenon {

struct resource_manager::state {
    explicit state(memory_account* a) : account(a) {}
    memory_account* const account;
    std::size_t bytes = 0;
    mutable std::mutex guard;
    // Nodes of a map stay where they are: kernels keep references.
    std::map<std::pair<std::string, std::string>, variable_resource> variables;
    std::map<std::pair<std::string, std::string>, std::atomic<std::uint64_t>> counters;

    std::vector<std::pair<std::size_t, std::string>> largest() const {
        std::vector<std::pair<std::size_t, std::string>> list;
        for (const auto& [key, v] : variables)
            list.emplace_back(v.value.bytes(), v.name + " " + to_string(v.value.type()) + ", variable");
        std::sort(list.rbegin(), list.rend());
        if (list.size() > 8) list.resize(8);
        return list;
    }
};

TENON_INLINE resource_manager::resource_manager(memory_account* account) : state_(new state(account)) {}
TENON_INLINE resource_manager::~resource_manager() {
    if (state_->account) state_->account->give(state_->bytes);
}

TENON_INLINE variable_resource& resource_manager::variable(const std::string& container, const std::string& name,
                                                           const tensor_type& type) {
    const std::lock_guard lock(state_->guard);
    const std::pair key(container, name);
    const auto named = [&] {
        return "variable \"" + name + "\"" + (container.empty() ? "" : " in container \"" + container + "\"");
    };
    const auto at = state_->variables.find(key);
    if (at != state_->variables.end()) {
        if (!(at->second.value.type() == type))
            throw invalid_argument_error(named() + " exists as " + to_string(at->second.value.type()) + ", not as " +
                                         to_string(type));
        return at->second;
    }
    const std::size_t bytes =
        static_cast<std::size_t>(checked_elements(type.element, type.extents)) * size_of(type.element);
    if (state_->account && !state_->account->take(bytes)) {
        std::string text = named() + ", " + to_string(type) + ": " + state_->account->refusal(bytes, state_->bytes);
        for (const auto& [held, what] : state_->largest()) text += "\n  " + std::to_string(held) + " bytes: " + what;
        throw resource_exhausted_error(text + "\nuse smaller variables, or raise the limit");
    }
    any_array memory;
    try {
        memory = any_array(type.element, type.extents);
    } catch (const resource_exhausted_error& e) {
        if (state_->account) state_->account->give(bytes);
        throw resource_exhausted_error(named() + ": " + e.what());
    }
    variable_resource& made = state_->variables[key];
    made.name = name;
    made.value = std::move(memory);
    state_->bytes += bytes;
    return made;
}

TENON_INLINE std::atomic<std::uint64_t>& resource_manager::counter(const std::string& container,
                                                                   const std::string& name) {
    const std::lock_guard lock(state_->guard);
    return state_->counters[{container, name}];
}

TENON_INLINE std::size_t resource_manager::bytes() const {
    const std::lock_guard lock(state_->guard);
    return state_->bytes;
}

TENON_INLINE std::vector<std::pair<std::size_t, std::string>> resource_manager::largest() const {
    const std::lock_guard lock(state_->guard);
    return state_->largest();
}

} // namespace tenon
