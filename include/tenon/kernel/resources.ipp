#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/kernel/resources.hpp>

namespace tenon {

TENON_INLINE variable_resource::variable_resource(std::string variable, any_array memory, memory_allocator* from,
                                                  std::shared_ptr<std::atomic<std::size_t>> counted) :
    name(std::move(variable)), value(std::move(memory)), from_(from), counted_(std::move(counted)) {
    counted_->fetch_add(counted_bytes(), std::memory_order_relaxed);
}
TENON_INLINE variable_resource::~variable_resource() {
    counted_->fetch_sub(counted_bytes(), std::memory_order_relaxed);
    if (value.is_view()) from_->deallocate(value.data(), value.bytes());
}
TENON_INLINE memory_holder variable_resource::holding() const {
    if (from_ && !value.is_view()) return {};
    return {value.bytes(), name + " " + to_string(value.type()) + ", variable"};
}

struct resource_manager::state {
    explicit state(memory_allocator* m) : memory(m) {}

    memory_allocator* const memory;
    const std::shared_ptr<std::atomic<std::size_t>> bytes = std::make_shared<std::atomic<std::size_t>>(0);
    mutable std::mutex guard; // of what follows
    using kind_and_name = std::pair<std::string, std::string>;
    std::map<std::string, std::map<kind_and_name, std::shared_ptr<resource>>> containers;

    any_array make(const tensor_type& type) const {
        if (!memory || type.element == element_type::string) return any_array(type.element, type.extents);
        const auto elements = static_cast<std::size_t>(checked_elements(type.element, type.extents));
        return any_array::view(memory->allocate(elements * size_of(type.element)), type.element, type.extents);
    }
    std::vector<memory_holder> largest() const {
        std::vector<memory_holder> list;
        for (const auto& [container, all] : containers)
            for (const auto& [key, r] : all)
                if (memory_holder h = r->holding(); !h.second.empty()) list.push_back(std::move(h));
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

TENON_INLINE std::shared_ptr<resource> resource_manager::find_or_make(const std::string& container, const char* kind,
                                                                      const std::string& name,
                                                                      function_ref<std::shared_ptr<resource>()> make) {
    const std::lock_guard lock(state_->guard);
    auto& all = state_->containers[container];
    const auto at = all.find({kind, name});
    return at != all.end() ? at->second : all.emplace(state::kind_and_name(kind, name), make()).first->second;
}

TENON_INLINE std::shared_ptr<variable_resource>
resource_manager::variable(const std::string& container, const std::string& name, const tensor_type& type) {
    const auto named = [&] {
        return "variable \"" + name + "\"" + (container.empty() ? "" : " in container \"" + container + "\"");
    };
    auto v = find_or_make<variable_resource>(container, name, [&] {
        try {
            return std::make_shared<variable_resource>(name, state_->make(type), state_->memory, state_->bytes);
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error(state_->refusal(named(), type, e.what()));
        }
    });
    if (!(v->value.type() == type))
        throw invalid_argument_error(named() + " exists as " + to_string(v->value.type()) + ", not as " +
                                     to_string(type));
    return v;
}

TENON_INLINE std::shared_ptr<run_counter> resource_manager::counter(const std::string& container,
                                                                    const std::string& name) {
    return find_or_make<run_counter>(container, name, [] { return std::make_shared<run_counter>(); });
}

TENON_INLINE void resource_manager::clear(const std::string& container) {
    std::map<state::kind_and_name, std::shared_ptr<resource>> cleared;
    {
        const std::lock_guard lock(state_->guard);
        const auto at = state_->containers.find(container);
        if (at == state_->containers.end()) return;
        cleared = std::move(at->second);
        state_->containers.erase(at);
    }
    for (const auto& [key, r] : cleared) r->forgotten();
}

TENON_INLINE std::size_t resource_manager::bytes() const noexcept {
    return state_->bytes->load(std::memory_order_relaxed);
}

TENON_INLINE std::vector<memory_holder> resource_manager::largest() const {
    const std::lock_guard lock(state_->guard);
    return state_->largest();
}

} // namespace tenon
