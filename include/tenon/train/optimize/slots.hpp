#pragma once

#include <string>

#include <tenon/ops/state/state.hpp>

/// What optimisers keep beside variables; included by .ipp files only.

namespace tenon::detail {

// The graph's collection of updates of variables that change nothing where a scalar bool is false, each before that.
inline constexpr const char* guarded_updates = "guarded_updates";

// A variable that is kept beside another one.
template <class Initial>
any_tensor add_slot_of(const any_tensor& variable, const char* name, const tensor_type& type, const Initial& initial) {
    const only_devices scope{graph(variable.node()->graph)};
    const container_scope container(variable.node()->container);
    const auto with_it = colocate_with(variable);
    const any_tensor slot =
        add_variable(original_variable(variable).node()->name + "/" + name, type, {.trainable = false});
    set_initial_value(slot, initial(slot), {.trainable = false});
    return slot;
}
inline any_tensor add_slot(const any_tensor& variable, const char* name, const tensor_type& type, double initial) {
    return add_slot_of(variable, name, type,
                       [&](const any_tensor& slot) { return initial_value(constant_value(initial), slot); });
}
// One that begins as the variable does.
inline any_tensor add_copy(const any_tensor& variable, const char* name, element_type as) {
    return add_slot_of(variable, name, {as, variable.extents()}, [&](const any_tensor& slot) {
        const owned_scope of(slot, owned_scope::part::initializer);
        const any_tensor begins = initialized_value_of(variable);
        return as == variable.element() ? begins : add_instruction(opcode::cast, {begins}, as);
    });
}
// A count of runs, of no variable's.
inline any_tensor add_count(const graph& g, const std::string& name) {
    const only_devices scope(g);
    const any_tensor count = add_variable(name, {element_type::int64, {}}, {.trainable = false});
    set_initial_value(count, initial_value(zeros(), count), {.trainable = false});
    return count;
}

} // namespace tenon::detail
