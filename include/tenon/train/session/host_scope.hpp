#pragma once

#include <tenon/graph/scope.hpp>
#include <tenon/graph/tensor.hpp>

namespace tenon::detail {

/// What is made while it lives is on the host of a variable's task, in the variable's container, whatever scopes are open.
class host_scope {
public:
    explicit host_scope(const any_tensor& variable) :
        graph_(graph(variable.node()->graph)),
        container_(variable.node()->container),
        outside_(device_name()),
        task_(of(variable)) {}
    /// The variable's task.
    static device_name of(const any_tensor& variable) {
        device_name d = variable.node()->device;
        d.type = {};
        d.index = -1;
        return d;
    }

private:
    const graph_scope graph_;
    const container_scope container_;
    const device_scope outside_, task_;
};

} // namespace tenon::detail
