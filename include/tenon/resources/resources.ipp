#pragma once

#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/resources/resources.hpp>

namespace tenon {

TENON_INLINE variable_resource::variable_resource(std::string variable, const tensor_type& t, memory_allocator* from,
                                                  std::shared_ptr<std::atomic<std::size_t>> counted,
                                                  std::shared_ptr<variables_guard> guard) :
    name(std::move(variable)),
    type_(t),
    from_(t.element == element_type::string ? nullptr : from),
    counted_(std::move(counted)),
    guard_(std::move(guard)),
    current_(make_buffer()) {}
TENON_INLINE variable_resource::~variable_resource() {
    {
        const detail::spin_guard lock(guard_->lock);
        if (variable_buffer* const spare = take_spare()) {
            spare->next = nullptr;
            current_->next = spare;
        } else current_->next = nullptr;
    }
    destroy(current_);
}
TENON_INLINE bool variable_resource::is_initialized() const noexcept {
    const detail::spin_guard lock(guard_->lock);
    return current_->initialized;
}
TENON_INLINE int variable_resource::readers_waiting() const noexcept {
    const detail::spin_guard lock(guard_->lock);
    return readers_waiting_;
}
// Where the host has no memory of its own for a device, its strings are objects, and none of what is counted.
TENON_INLINE std::size_t variable_resource::counted_bytes() const noexcept {
    return type_.element == element_type::string ? 0 : static_cast<std::size_t>(bytes_of(type_));
}
TENON_INLINE memory_holder variable_resource::holding() const {
    if (counted_bytes() == 0) return {};
    return {counted_bytes(), name + " " + to_string(type_) + ", variable"};
}
TENON_INLINE void variable_resource::describe(resource_info& to) const {
    to.description = to_string(type_);
    to.bytes = counted_bytes();
    const detail::spin_guard lock(guard_->lock);
    to.updates = updates_;
}
TENON_INLINE variable_buffer* variable_resource::make_buffer() const {
    auto b = std::make_unique<variable_buffer>();
    if (!from_) b->value = any_array(type_.element, type_.extents);
    else {
        const auto elements = static_cast<std::size_t>(checked_elements(type_.element, type_.extents));
        b->value = any_array::view(from_->allocate(elements * size_of(type_.element)), type_.element, type_.extents);
    }
    counted_->fetch_add(counted_bytes(), std::memory_order_relaxed);
    return b.release();
}
TENON_INLINE void variable_resource::destroy(variable_buffer* b) const noexcept {
    while (b) {
        const std::unique_ptr<variable_buffer> last(std::exchange(b, b->next));
        counted_->fetch_sub(counted_bytes(), std::memory_order_relaxed);
        if (from_) from_->deallocate(last->value.data(), last->value.bytes());
    }
}
TENON_INLINE variable_buffer* variable_resource::take_spare() noexcept {
    if (!spare_) return nullptr;
    variable_resource* const last = guard_->with_spare.back();
    guard_->with_spare[place_] = last;
    last->place_ = place_;
    guard_->with_spare.pop_back();
    return std::exchange(spare_, nullptr);
}
TENON_INLINE void variable_resource::retire(variable_buffer* b, variable_buffer*& gone) noexcept {
    b->initialized = false;
    if (!spare_ && type_.element != element_type::string) { // texts are not kept
        try {
            guard_->with_spare.push_back(this);
            place_ = guard_->with_spare.size() - 1;
            spare_ = b;
            return;
        } catch (const std::bad_alloc&) { // then it is not kept
        }
    }
    b->next = std::exchange(gone, b);
}

TENON_INLINE std::shared_ptr<run_counter> run_counters::of(const std::string& node) {
    const std::lock_guard lock(guard_);
    std::shared_ptr<run_counter>& found = by_node_[node];
    if (!found) found = std::make_shared<run_counter>();
    return found;
}
TENON_INLINE std::vector<run_count> run_counters::counts() const {
    std::vector<run_count> all;
    const std::lock_guard lock(guard_);
    for (const auto& [node, counter] : by_node_)
        if (const std::uint64_t number = counter->number(); number > 0) all.push_back({node, number});
    return all;
}
TENON_INLINE void run_counters::go_on_from(const std::vector<run_count>& counts) {
    for (const run_count& c : counts) of(c.node)->go_on_from(c.runs);
}

struct resource_manager::state {
    explicit state(memory_allocator* m) : memory(m) {}

    memory_allocator* const memory;
    const std::shared_ptr<std::atomic<std::size_t>> bytes = std::make_shared<std::atomic<std::size_t>>(0);
    const std::shared_ptr<variables_guard> of_variables = std::make_shared<variables_guard>();
    mutable std::mutex guard; // of what follows
    using kind_and_name = std::pair<std::string, std::string>;
    std::map<std::string, std::map<kind_and_name, std::shared_ptr<resource>>> containers;

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
            return std::make_shared<variable_resource>(name, type, state_->memory, state_->bytes, state_->of_variables);
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error(state_->refusal(named(), type, e.what()));
        }
    });
    if (!(v->type() == type))
        throw invalid_argument_error(named() + " exists as " + to_string(v->type()) + ", not as " + to_string(type));
    return v;
}

TENON_INLINE std::shared_ptr<run_counters> resource_manager::counters(const std::string& container) {
    return find_or_make<run_counters>(container, {}, [] { return std::make_shared<run_counters>(); });
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

TENON_INLINE bool resource_manager::give_back_spares() noexcept {
    bool any = false;
    const detail::spin_guard lock(state_->of_variables->lock);
    while (!state_->of_variables->with_spare.empty()) {
        variable_resource* const v = state_->of_variables->with_spare.back();
        variable_buffer* const spare = v->take_spare();
        spare->next = nullptr;
        v->destroy(spare);
        any = true;
    }
    return any;
}

TENON_INLINE std::size_t resource_manager::bytes() const noexcept {
    return state_->bytes->load(std::memory_order_relaxed);
}

TENON_INLINE std::vector<resource_info> resource_manager::list() const {
    std::vector<resource_info> all;
    const std::lock_guard lock(state_->guard);
    for (const auto& [container, held] : state_->containers)
        for (const auto& [key, r] : held) {
            resource_info& info = all.emplace_back();
            info.container = container;
            info.kind = key.first;
            info.name = key.second;
            r->describe(info);
        }
    return all;
}

TENON_INLINE std::vector<memory_holder> resource_manager::largest() const {
    const std::lock_guard lock(state_->guard);
    return state_->largest();
}

} // namespace tenon
