#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/body.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/ops/state/state_parts.inl>
#include <tenon/resources/resources.hpp>

/// What the functions of ops/state/state.hpp do, and its kernels.

namespace tenon::detail {

// Where variables' nodes tell the collections and initialisers of their graph.
inline constexpr const char* initializers = "initializers";

TENON_INLINE any_tensor variable_here(const any_tensor& variable) {
    variable_policy* const policy = current_scopes().variables;
    if (!policy) return variable;
    const std::vector<any_tensor> parts = parts_of(variable);
    if (parts.empty()) return policy->here(variable);
    std::vector<any_tensor> here;
    for (const any_tensor& p : parts) here.push_back(policy->here(p));
    return enter_parts(variable.node()->name, here);
}
TENON_INLINE any_tensor original_variable(const any_tensor& variable) {
    variable_policy* const policy = current_scopes().variables;
    return policy ? policy->original(variable) : variable;
}

TENON_INLINE any_tensor add_variable(const std::string& name, const tensor_type& type, const variable_options& o) {
    const std::string shown = name.empty() ? "variable" : name;
    const scope_state& s = current_scopes();
    return s.variables ? s.variables->make(shown, s.wished_prefix + shown, type, o) : enter_variable(shown, type, o);
}

TENON_INLINE any_tensor enter_variable(const std::string& name, const tensor_type& type, const variable_options& o) {
    const no_controls apart;
    any_tensor v = tenon::add<variable_op>({type.element, type.extents}, {}, name);
    graph g(v.node()->graph);
    if (o.collected) {
        g.add_to_collection(global_variables, v);
        if (o.trainable) g.add_to_collection(trainable_variables, v);
    }
    return v;
}

TENON_INLINE any_tensor current_value(const any_tensor& variable) {
    const node* const n = variable.node();
    return n && n->op->is(op_flags::variable) ? any_tensor(node_output{variable.node(), 1}) : variable;
}

TENON_INLINE operation set_initial_value(const any_tensor& variable, const any_tensor& value,
                                         const variable_options& o) {
    variable_policy* const policy = current_scopes().variables;
    const any_tensor begins = policy ? policy->initial_value(variable, value) : value;
    const owned_scope of(variable, owned_scope::part::initializer);
    const any_tensor a = any_tensor({add_node(definition_of<assign_op>(), {variable, begins}, {}, "assign"), 0});
    graph g(variable.node()->graph);
    g.add_to_collection(variable.node()->name + "/initializer", a);
    if (o.collected) g.add_to_collection(initializers, a);
    return a.operation();
}

TENON_INLINE operation initializer_of(const any_tensor& variable) {
    require_node(variable.node(), "initializer: the variable");
    if (const std::vector<any_tensor> parts = parts_of(variable); !parts.empty())
        return untyped::initialize_variables(parts);
    const std::vector<any_tensor> a = graph(variable.node()->graph).collection(variable.node()->name + "/initializer");
    if (a.empty()) throw not_found_error("variable " + variable.name() + " has no initial value; assign one");
    return a.front().operation();
}

TENON_INLINE any_tensor initialized_value_of(const any_tensor& variable) {
    if (const std::vector<any_tensor> parts = parts_of(variable); !parts.empty()) {
        std::vector<any_tensor> values;
        for (const any_tensor& p : parts) values.push_back(initialized_value_of(p));
        return untyped::concat(values, 0);
    }
    return any_tensor(initializer_of(variable).node()->inputs[1]);
}

TENON_INLINE any_tensor initial_value(any_array value, const any_tensor& variable) {
    const owned_scope of(variable, owned_scope::part::initializer);
    return tenon::add<constant_op>({std::make_shared<const any_array>(std::move(value))}, {}, "initial_value");
}

TENON_INLINE any_tensor new_variable(std::string_view name, const tensor_type& type, const initializer& how,
                                     const variable_options& o) {
    const outside_of_bodies outside;
    const std::string called(name);
    check_initializer(called, how, type.element); // before there is a node that nothing begins
    if (const std::int64_t parts = parts_for(called, type, o); parts > 1)
        return new_parts(called, type, parts, o,
                         [&](const any_tensor& part, std::int64_t first, const std::string& whole) {
                             return initial_part(how, part, type.extents, first, whole);
                         });
    const any_tensor v = add_variable(called, type, o);
    set_initial_value(v, initial_value(how, v), o);
    return v;
}
TENON_INLINE any_tensor new_variable(std::string_view name, const tensor_type& type, const any_tensor& initial,
                                     const variable_options& o) {
    const outside_of_bodies outside;
    const std::string called(name);
    if (const std::int64_t parts = parts_for(called, type, o); parts > 1) {
        const any_tensor all = checked_as(initial, type);
        return new_parts(called, type, parts, o, [&](const any_tensor& part, std::int64_t first, const std::string&) {
            return rows_of_part(all, part, first);
        });
    }
    const any_tensor v = add_variable(called, type, o);
    set_initial_value(v, initial, o);
    return v;
}
TENON_INLINE any_tensor new_variable(std::string_view name, any_array initial, const variable_options& o) {
    const outside_of_bodies outside;
    const any_tensor v = add_variable(std::string(name), initial.type(), o);
    set_initial_value(v, initial_value(std::move(initial), v), o);
    return v;
}

TENON_INLINE any_tensor add_assign(const any_tensor& variable, const any_tensor& value, const char* name) {
    if (const std::vector<any_tensor> parts = parts_of(variable); !parts.empty())
        return assign_to_parts(variable, parts, value);
    const owned_scope there(variable);
    return any_tensor({add_node(definition_of<assign_op>(), {variable, value}, {}, name), 0});
}

inline void check_is_variable(const any_tensor& variable, const std::string& op) {
    require_node(variable.node(), (op + ": the variable").c_str());
    if (is_in_parts(variable)) return;
    if (!variable.node()->op->name || std::string(variable.node()->op->name) != variable_op::name)
        throw invalid_argument_error(op + ": " + variable.name() + " is no variable but a " +
                                     variable.node()->op->name);
}

// What an untyped variable is updated by; a number is a scalar of its element type, where the variable is.
inline any_tensor update_of(const any_tensor& variable, const untyped::tensor_or_number& value, const char* name) {
    check_is_variable(variable, name);
    if (value.tensor()) return *value.tensor();
    const owned_scope there(variable);
    return scalar_constant(value.number(), variable.element());
}
inline any_tensor add_computed(opcode op, const any_tensor& variable, const untyped::tensor_or_number& value,
                               const char* name) {
    const any_tensor by = update_of(variable, value, name);
    if (is_in_parts(variable)) return change_parts(op, variable, by, name);
    const owned_scope there(variable);
    return add_assign(variable, add_instruction(op, {current_value(variable), by}), name);
}

TENON_INLINE any_tensor add_scatter(scatter_op::way how, const any_tensor& variable, const any_tensor& indices,
                                    const any_tensor& updates) {
    if (const std::vector<any_tensor> parts = parts_of(variable); !parts.empty())
        return scatter_to_parts(how, variable, parts, indices, updates);
    const owned_scope there(variable);
    return tenon::add<scatter_op>({how}, {variable, indices, updates}, name_of(how));
}

struct variable_kernel final : kernel {
    explicit variable_kernel(const kernel_setup& s) : name(s.node.name) {}
    void run(const kernel_run& r) override {
        if (!r.out[0])
            throw failed_precondition_error("variable \"" + name +
                                            "\" is read before it has a value; run initialize_variables() or its "
                                            "initializer() first; another variable's initial value is computed from "
                                            "its initialized_value()");
    }
    double cost() const override { return 2; }
    std::string name;
};

struct is_initialized_kernel final : kernel {
    explicit is_initialized_kernel(const kernel_setup& s) {
        const tenon::node& v = *s.node.inputs[0].node;
        if (!v.op->is(op_flags::variable))
            throw invalid_argument_error(s.node.name + ": its input 0, " + v.name + ", is no variable but made by " +
                                         shown_op(v));
        variable = s.resources->variable(v.container, v.name, v.outputs[0]);
    }
    void run(const kernel_run& r) override { *r.output<bool>(0) = variable->is_initialized(); }
    double cost() const override { return 20; }
    std::shared_ptr<variable_resource> variable;
};

struct assign_kernel final : kernel {
    explicit assign_kernel(const kernel_setup& s) :
        elements(s.outputs[0].extents.elements()),
        bytes(static_cast<std::size_t>(bytes_of(s.outputs[0]))),
        strings(s.outputs[0].element == element_type::string) {
        const tenon::node& v = *s.node.inputs[0].node;
        if (strings) variable = s.resources->variable(v.container, v.name, v.outputs[0]);
    }
    void run(const kernel_run& r) override {
        if (strings) copy_texts(r);
        else if (r.in[1] != r.out[0] && bytes > 0) std::memcpy(r.out[0], r.in[1], bytes);
    }
    void copy_texts(const kernel_run& r) {
        const std::string* const from = r.input<std::string>(1);
        memory_charge paid;
        if (memory_payer* const payer = current_payer()) try {
                paid = memory_charge(payer, bytes_of_texts(from, static_cast<std::size_t>(elements)));
            } catch (const resource_exhausted_error& e) {
                throw resource_exhausted_error("the texts of variable \"" + variable->name + "\": " + e.what());
            }
        if (from != r.output<std::string>(0)) std::copy_n(from, elements, r.output<std::string>(0));
        variable->of_texts = std::move(paid);
    }
    double cost() const override { return 20 + static_cast<double>(bytes) * 0.05; }
    std::int64_t elements;
    std::size_t bytes;
    bool strings;
    std::shared_ptr<variable_resource> variable; // of texts
};

} // namespace tenon::detail
