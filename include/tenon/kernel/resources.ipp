#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/kernel/resources.hpp>

namespace tenon {

struct resource_manager::state {
    explicit state(memory_allocator* m) : memory(m) {}
    ~state() {
        for (auto& [key, v] : variables)
            if (v.value.is_view()) memory->deallocate(v.value.data(), v.value.bytes());
    }

    memory_allocator* const memory;
    std::atomic<std::size_t> bytes{0}; // changed under the guard, read by anyone
    mutable std::mutex guard;          // of what follows
    // Nodes of a map stay where they are: kernels keep references.
    std::map<std::pair<std::string, std::string>, variable_resource> variables;
    std::map<std::pair<std::string, std::string>, std::atomic<std::uint64_t>> counters;

    bool counts(const any_array& value) const { return !memory || value.is_view(); }
    any_array make(const tensor_type& type) const {
        if (!memory || type.element == element_type::string) return any_array(type.element, type.extents);
        const auto elements = static_cast<std::size_t>(checked_elements(type.element, type.extents));
        return any_array::view(memory->allocate(elements * size_of(type.element)), type.element, type.extents);
    }
    std::vector<memory_holder> largest() const {
        std::vector<memory_holder> list;
        for (const auto& [key, v] : variables)
            if (counts(v.value))
                list.emplace_back(v.value.bytes(), v.name + " " + to_string(v.value.type()) + ", variable");
        keep_largest(list);
        return list;
    }
    // Why a variable was not made, where `why` is what the memory said.
    std::string refusal(const std::string& variable, const tensor_type& type, std::string_view why) const {
        if (!memory) return variable + ": " + std::string(why);
        if (why.starts_with(memory->name() + ": ")) why.remove_prefix(memory->name().size() + 2);
        return variable + ", " + to_string(type) + ": " + std::string(why) + largest_holders(largest()) +
               "\nuse smaller variables, or let " + memory->name() + " have more memory";
    }
};

TENON_INLINE resource_manager::resource_manager(memory_allocator* memory) : state_(new state(memory)) {}
TENON_INLINE resource_manager::~resource_manager() = default;

TENON_INLINE variable_resource& resource_manager::variable(const std::string& container, const std::string& name,
                                                           const tensor_type& type) {
    const std::lock_guard lock(state_->guard);
    const auto named = [&] {
        return "variable \"" + name + "\"" + (container.empty() ? "" : " in container \"" + container + "\"");
    };
    const auto [at, is_new] = state_->variables.try_emplace({container, name});
    variable_resource& v = at->second;
    if (!is_new) {
        if (!(v.value.type() == type))
            throw invalid_argument_error(named() + " exists as " + to_string(v.value.type()) + ", not as " +
                                         to_string(type));
        return v;
    }
    try {
        v.name = name;
        v.value = state_->make(type);
    } catch (const resource_exhausted_error& e) {
        state_->variables.erase(at);
        throw resource_exhausted_error(state_->refusal(named(), type, e.what()));
    } catch (...) {
        state_->variables.erase(at);
        throw;
    }
    if (state_->counts(v.value)) state_->bytes.fetch_add(v.value.bytes(), std::memory_order_relaxed);
    return v;
}

TENON_INLINE std::atomic<std::uint64_t>& resource_manager::counter(const std::string& container,
                                                                   const std::string& name) {
    const std::lock_guard lock(state_->guard);
    return state_->counters[{container, name}];
}

TENON_INLINE std::size_t resource_manager::bytes() const noexcept {
    return state_->bytes.load(std::memory_order_relaxed);
}

TENON_INLINE std::vector<memory_holder> resource_manager::largest() const {
    const std::lock_guard lock(state_->guard);
    return state_->largest();
}

} // namespace tenon
