#pragma once

#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/kernel/resources.hpp>

namespace tenon {

struct resource_manager::state {
    mutable std::mutex guard;
    // Nodes of a map stay where they are: kernels keep references.
    std::map<std::pair<std::string, std::string>, variable_resource> variables;
    std::map<std::pair<std::string, std::string>, std::atomic<std::uint64_t>> counters;
};

TENON_INLINE resource_manager::resource_manager() : state_(new state) {}
TENON_INLINE resource_manager::~resource_manager() = default;

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
    any_array memory;
    try {
        memory = any_array(type.element, type.extents);
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error(named() + ": " + e.what());
    }
    variable_resource& made = state_->variables[key];
    made.name = name;
    made.value = std::move(memory);
    return made;
}

TENON_INLINE std::atomic<std::uint64_t>& resource_manager::counter(const std::string& container,
                                                                   const std::string& name) {
    const std::lock_guard lock(state_->guard);
    return state_->counters[{container, name}];
}

TENON_INLINE std::size_t resource_manager::bytes() const {
    const std::lock_guard lock(state_->guard);
    std::size_t n = 0;
    for (const auto& [key, v] : state_->variables) n += v.value.bytes();
    return n;
}

} // namespace tenon
