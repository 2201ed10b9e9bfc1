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
        task_(task_of(variable.node()->device)) {}

private:
    static device_name task_of(device_name d) {
        d.type = {};
        d.index = -1;
        return d;
    }
    const graph_scope graph_;
    const container_scope container_;
    const device_scope outside_, task_;
};

} // namespace tenon::detail
