#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/fault.hpp>
#include <tenon/graph/called_from.hpp>
#include <tenon/op/attributes.hpp>

/// The untyped graph: nodes, and handles on their outputs.

namespace tenon {

struct op_definition;
struct node;
class graph_state;

/// Output `index` of a node.
struct node_output {
    tenon::node* node = nullptr;
    int index = 0;
    friend bool operator==(const node_output&, const node_output&) = default;
};

/// One operation of a graph. Its graph makes it and never changes it again.
struct node {
    const op_definition* op = nullptr;
    tenon::attributes attributes = {};
    std::vector<node_output> inputs = {};
    std::vector<node*> controls = {}; ///< run before this node, although no data flows
    std::vector<tensor_type> outputs = {};
    std::string name = {};
    std::vector<node*> colocated = {}; ///< share their device with this node
    /// The variable that it helps to update, or what it is the gradient of: where nothing else is asked for, it runs where
    /// that does, if there is a kernel for it.
    node* follows = nullptr;
    device_name device = {};    ///< as asked for; empty where nothing was
    std::string container = {}; ///< of the resource it holds; empty: the default
    source_place made_at = {};  ///< in the program's text, where that is known; the graph keeps the names
    std::int64_t number = 0;    ///< position in the graph: inputs have smaller ones
    graph_state* graph = nullptr;

    const tensor_type& input_type(int i) const {
        const node_output& in = inputs[static_cast<std::size_t>(i)];
        return in.node->outputs[static_cast<std::size_t>(in.index)];
    }
};

namespace detail {
[[noreturn]] void throw_empty(const char* what);
/// n, or invalid_argument_error("`what` is empty: ...") where a handle holds no node.
inline node* require_node(node* n, const char* what) {
    if (!n) throw_empty(what);
    return n;
}

void retain(graph_state*) noexcept;
void release(graph_state*) noexcept;

// Keeps the graph of a node alive.
class node_handle {
public:
    node_handle() = default;
    explicit node_handle(node* n) noexcept : node_(n) { hold(); }
    node_handle(const node_handle& o) noexcept : node_(o.node_) { hold(); }
    node_handle(node_handle&& o) noexcept : node_(o.node_) { o.node_ = nullptr; }
    node_handle& operator=(node_handle o) noexcept {
        node* n = node_;
        node_ = o.node_;
        o.node_ = n;
        return *this;
    }
    ~node_handle() {
        if (node_) release(node_->graph);
    }
    tenon::node* get() const noexcept { return node_; }

private:
    void hold() noexcept {
        if (node_) retain(node_->graph);
    }
    node* node_ = nullptr;
};
} // namespace detail

/// What a node's op is called to readers, in logs, traces, explanations and to placement functions: a fused node after its
/// last instruction, those of + - * / as "add", "sub", "mul", "div".
const char* shown_op(const node& n);

/// A handle on a node that is run for its effect.
class operation {
public:
    operation() = default;
    explicit operation(tenon::node* n) noexcept : handle_(n) {}
    tenon::node* node() const noexcept { return handle_.get(); }
    const std::string& name() const { return detail::require_node(node(), "operation")->name; }
    explicit operator bool() const noexcept { return handle_.get() != nullptr; }

private:
    detail::node_handle handle_;
};

/// A tensor whose element type and sizes are known at run time only: the escape from the typed world, for
/// models that come from files. Its ops run the same rules and say the same words, as exceptions.
class any_tensor {
public:
    any_tensor() = default;
    explicit any_tensor(node_output o) noexcept : handle_(o.node), index_(o.index) {}
    // clang-format off
    /// Numbers of the host are none.
    template <class X>
        requires(std::is_floating_point_v<typename X::value_type> && requires(const X& x) { x.data() + x.size(); } &&
                 !requires { typename X::shape_type; })
    any_tensor(const X&) = delete; // NOLINT: write untyped::constant(array<float>(values))
    // clang-format on

    tenon::node* node() const noexcept { return handle_.get(); }
    int index() const noexcept { return index_; }
    node_output output() const noexcept { return {handle_.get(), index_}; }
    /// A tensor is no condition. Whether the handle holds one is said by node() != nullptr.
    explicit operator bool() const = delete; // nothing runs here: select(condition, a, b), or fetch it in a session

    /// Throws invalid_argument_error where the handle is empty, here and below.
    const tensor_type& type() const {
        return detail::require_node(node(), "tensor")->outputs[static_cast<std::size_t>(index_)];
    }
    element_type element() const { return type().element; }
    const tenon::extents& extents() const { return type().extents; }
    int rank() const { return extents().rank(); }
    /// "x", or "split:1" for a later output.
    std::string name() const;
    /// The operation that makes it.
    tenon::operation operation() const { return tenon::operation(handle_.get()); }

private:
    detail::node_handle handle_;
    int index_ = 0;
};

/// A handle as text: what it is, for nothing runs. "x: float[batch, 784]", "train: group".
std::ostream& operator<<(std::ostream& out, const any_tensor& t);
std::ostream& operator<<(std::ostream& out, const operation& o);
namespace detail {
std::ostream& print_expression(std::ostream& out, const tensor_type& type);
}

} // namespace tenon
