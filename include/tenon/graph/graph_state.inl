#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/core/sizes/size_name.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partitioned.hpp>

/// What a graph holds, and what the scopes of a thread say: for the functions of graph/ that are no templates.

namespace tenon {

struct placed_op; // of graph/scope.hpp
namespace detail {
class variable_policy; // of ops/state/state.hpp
class body_builder;    // of graph/body.hpp
// A tensor of a graph around a body as one of the body.
any_tensor taken_by(body_builder& b, const any_tensor& t);
} // namespace detail

// A graph's nodes. Guarded by `guard`: graphs may be built from several threads; nodes never change once
// they are in.
class graph_state {
public:
    // A node that is found again by its content, and the device scopes that were asked for its device: 0 where none of
    // them was a function.
    struct shared_node {
        node* made;
        std::uint64_t asked;
    };

    std::atomic<std::int64_t> references{0};
    mutable std::mutex guard;
    std::deque<node> nodes;
    std::unordered_map<std::string, node*> by_name;
    std::unordered_multimap<std::size_t, shared_node> by_content;
    std::unordered_multimap<std::size_t, attributes> attribute_lists; // by content: equal ones are one
    std::unordered_map<std::string, std::int64_t> used_names;         // next number of a taken name
    std::map<std::string, std::vector<node_output>> collections;
    std::uint64_t seed = 0;
    // Names of its nodes' sizes, and what holds those that do not live for ever.
    std::unordered_map<const char*, std::shared_ptr<const char>> size_names;
    std::unordered_set<std::string> files;                // of which its nodes are
    std::vector<std::shared_ptr<const void>> attachments; // what nodes refer to by number: data sets
    // While it is made as a body of control flow, by the thread that makes it: the graph around it, and who makes it.
    graph_state* around = nullptr;
    detail::body_builder* builder = nullptr;

    // The caller holds `guard`.
    std::string unique_name(const std::string& wanted) {
        if (!by_name.contains(wanted)) return wanted;
        std::int64_t& next = used_names[wanted];
        for (;;) {
            std::string name = wanted + "_" + std::to_string(++next);
            if (!by_name.contains(name)) return name;
        }
    }
};

namespace detail {

// A device scope, and those around it. Never changed once made.
struct device_layer {
    device_name device;
    shared_function<device_name(const placed_op&)> by; // if there is one, it says the device
    std::shared_ptr<const device_layer> outer;
    std::uint64_t asked; // a number of its own where this or an outer one is a function, else 0
};

// What the scopes of a thread say. The thread that makes it changes it until its scope is open; then never again, so
// expressions that are passed to other threads may hold it.
struct scope_state {
    graph_state* graph = nullptr; // null: the process's own
    std::string prefix;
    std::string wished_prefix; // the same without the numbers that keep prefixes apart
    std::string container;
    variable_policy* variables = nullptr; // lives while its scope is open: who makes variables is inside
    partitioned partition;
    std::shared_ptr<const device_layer> devices;
    std::vector<node*> controls, colocated;
    node* follows = nullptr;
    mutable std::atomic<std::int64_t> references{1};

    scope_state() = default;
    scope_state(const scope_state& o) :
        graph(o.graph),
        prefix(o.prefix),
        wished_prefix(o.wished_prefix),
        container(o.container),
        variables(o.variables),
        partition(o.partition),
        devices(o.devices),
        controls(o.controls),
        colocated(o.colocated),
        follows(o.follows) {
        retain(graph);
    }
    scope_state& operator=(const scope_state&) = delete;
    ~scope_state() { release(graph); }

    // As if no scope were open but one of this graph.
    void begin_again(graph_state* of) {
        retain(of);
        release(graph);
        graph = of;
        prefix.clear();
        wished_prefix.clear();
        container.clear();
        variables = nullptr;
        partition = {};
        devices.reset();
        controls.clear();
        colocated.clear();
        follows = nullptr;
    }
};

// Those in force in this thread.
const scope_state& current_scopes() noexcept;
graph_state* current_graph();

// The device that these scopes give a node. Asks their functions.
device_name device_of(const scope_state& scopes, placed_op op);

} // namespace detail
} // namespace tenon
