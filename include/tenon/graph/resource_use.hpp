#pragma once

#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/graph/tensor.hpp>

// What the ops have in common that use something which outlives steps, in a container or of a session: queues, accumulators, leases.

namespace tenon::detail {

/// The node of such a use, where the resource is. Its name begins with the resource's, and goes on with the op's without the
/// kind of resource, Op::of_kind: "jobs/size".
template <class Op>
node* add_use(const any_tensor& of, const std::vector<any_tensor>& values, const typename Op::attributes& a) {
    std::vector<any_tensor> inputs{of};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const owned_scope there(of);
    const std::string name = Op::name, kind = Op::of_kind;
    return add_node(definition_of<Op>(), std::move(inputs), encode(a),
                    name.starts_with(kind) ? name.substr(kind.size()) : name);
}

/// Which resource a node stands for. With a shared name it is that of the node's container, else the session's own.
struct resource_identity {
    std::string name, container;
    bool shared = false;

    resource_identity(const node& n, const std::string& shared_name, const kernel_setup& s) :
        name(shared_name.empty() ? n.name : shared_name),
        container(shared_name.empty() ? s.session_container : n.container),
        shared(!shared_name.empty()) {}
    /// "jobs", or "jobs" in container "a", in quotes.
    std::string shown() const {
        return "\"" + name + "\"" + (container.empty() || !shared ? "" : " in container \"" + container + "\"");
    }
};

/// Throws invalid_argument_error where the node that a kernel takes for a `what` is none.
template <class Op> void require_made_by(const node& n, const kernel_setup& s, const char* what) {
    if (n.op != &definition_of<Op>())
        throw invalid_argument_error(s.node.name + ": its input 0, " + n.name + ", is no " + what + " but made by " +
                                     shown_op(n));
}

} // namespace tenon::detail
