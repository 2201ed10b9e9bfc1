#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tenon/core/check.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/graph/called_from.hpp>
#include <tenon/graph/partitioned.hpp>

/// The scopes in which nodes are made: their graph, names, containers, devices, and what they wait for. A scope is of the
/// thread that opened it, and is in force there until it ends; of several the one that was opened last, with what it took from those
/// around it then, in whatever order they end: an object may hold one as a member. An expression that has a name is a node
/// of the scopes in which it was written, wherever it is used first; one that is taken into another is part of that.
///
///     const auto gpu = tn::on("/gpu:0");                            // until the end of the block
///     const auto y = tn::on("/job:ps/task:1", [&] { return x + 1.0f; });
///     const auto mixed = tn::on([](const tn::placed_op& op) { return op.extents.rank() > 1 ? "/gpu:0" : "/cpu:0"; });

namespace tenon {

class graph;
class graph_state;
class any_tensor;
class operation;
struct node;

/// What a placement function is told of a node that is about to be made.
struct placed_op {
    const char* type;              ///< what its op is called: "matmul", or "mul" of a product of elements (shown_op)
    const std::string& name;       ///< the node's, as wished: a number is added where it is taken
    element_type element;          ///< of its first output; none where it has none
    const tenon::extents& extents; ///< of its first output, as far as they are known
    bool holds_resource;           ///< a variable, a queue: op_flags::resource, but not of_program
    device_name device;            ///< what the scopes inside this one have set
    /// The variable that it helps to update, or the node that it is the gradient of: it runs where that does unless it is
    /// given a device. Empty of other nodes.
    std::string_view follows{};
};

/// A function that answers where a node goes: a device's name or its text, of which the scopes inside take what they leave
/// unset.
template <class F>
concept PlacementFunction = requires(F& f, const placed_op& op) {
    { f(op) } -> std::convertible_to<device_name>;
};

namespace detail {

struct scope_state;
struct open_scope;
class variable_policy; // of ops/state/state.hpp

void retain(const scope_state*) noexcept;
void release(const scope_state*) noexcept;

// The scopes that were in force in this thread when it was made, null where none was open; and where in the program that was: in the
// call of a function that knows its place, else at the first of `parts` that is known.
class written_scopes {
public:
    written_scopes(std::initializer_list<source_place> parts = {}) noexcept;
    written_scopes(const written_scopes& o) noexcept : state_(o.state_), at_(o.at_) {
        if (state_) retain(state_);
    }
    written_scopes(written_scopes&& o) noexcept : state_(o.state_), at_(o.at_) { o.state_ = nullptr; }
    written_scopes& operator=(written_scopes o) noexcept {
        const scope_state* s = state_;
        state_ = o.state_;
        o.state_ = s;
        at_ = o.at_;
        return *this;
    }
    ~written_scopes() {
        if (state_) release(state_);
    }
    const scope_state* get() const noexcept { return state_; }
    source_place at() const noexcept { return at_; }

private:
    const scope_state* state_;
    source_place at_;
};

// While it lives, those scopes are in force in this thread instead of its own, and what it makes is made there, where that is known.
class as_written {
public:
    explicit as_written(const written_scopes& scopes) noexcept;
    as_written(as_written&&) = delete;
    ~as_written();

private:
    open_scope* interrupted_;
    const scope_state* written_before_;
    source_place made_before_;
};

// A scope: what the scopes around it say, changed by the constructor that derives from it; or none, where it changes
// nothing.
class scope_base {
public:
    scope_base(scope_base&&) = delete;

protected:
    explicit scope_base(bool changes = true);
    ~scope_base();
    scope_state& state() noexcept;

private:
    open_scope* open_; // null where it changes nothing
};

[[noreturn]] void throw_no_text(const placed_op& op);
device_name read_answer(std::string_view answer, const placed_op& op);

// What a placement function answers, which may be text.
template <class F> device_name answer_of(F& f, const placed_op& op) {
    using answer = std::remove_cvref_t<decltype(f(op))>;
    if constexpr (std::is_convertible_v<const answer&, std::string_view>) {
        const auto& text = f(op);
        if constexpr (std::is_pointer_v<answer>)
            if (!text) throw_no_text(op);
        return read_answer(text, op);
    } else return f(op);
}

// The node of a tensor, an operation or an expression.
node* node_of(const operation& o);
node* node_of(const any_tensor& t);
template <class E>
    requires(!std::is_base_of_v<any_tensor, E> && requires(const E& e) { e.materialize(); })
node* node_of(const E& e) { return e.materialize().node(); }

template <class X>
concept HasNode = requires(const X& x) {
    node_of(x);
};

// What body returns; an expression becomes its node.
template <class Body> auto result_of(Body& body) {
    if constexpr (requires { body().materialize(); }) return body().materialize();
    else return body();
}

} // namespace detail

/// Nodes made while it lives go to this graph; the scopes around it do not count.
class graph_scope : detail::scope_base {
public:
    [[nodiscard]] explicit graph_scope(const graph& g);
};

namespace detail {

// For what is computed of tensors that a caller gives: their graph, in the scopes around where those are of it.
class home_scope : scope_base {
public:
    explicit home_scope(const graph& g);
};

// The same, but of the scopes around it only those of devices and of variables count: for variables that belong to no
// place in a program.
class only_devices : scope_base {
public:
    explicit only_devices(const graph& g);
};

// The names of nodes made inside have no prefix.
class absolute_names : scope_base {
public:
    absolute_names();
};

// The names of nodes made inside begin with this one, which nobody else has, and a slash; `wished` is the same without the
// numbers that keep names apart.
class names_below : scope_base {
public:
    names_below(const std::string& name, const std::string& wished);
};

// Nodes made inside wait for nothing.
class no_controls : scope_base {
public:
    no_controls();
};

// Nodes made inside run where n does, unless the scopes say otherwise (node::follows). Without effect where n is of
// another graph than theirs.
class follow_scope : scope_base {
public:
    explicit follow_scope(node* n);
};

// The same for what belongs to a node, a variable mostly: it bears its name. An initialiser waits for nothing.
class owned_scope : scope_base {
public:
    enum class part { update, initializer };
    explicit owned_scope(const any_tensor& owner, part of = part::update);
};

// Variables made inside are what the policy makes of them; nullptr: as they are where none is. The names that it is
// told begin here.
class variable_policy_scope : scope_base {
public:
    explicit variable_policy_scope(variable_policy* policy);
};

} // namespace detail

/// Prefixes the names of nodes made inside: "layer1/". A used prefix gets a number.
class name_scope : detail::scope_base {
public:
    [[nodiscard]] explicit name_scope(const std::string& name);
};

/// Variables made inside are parted like this where they do not say it themselves (variable_options); what an optimiser keeps
/// beside one is parted as that is.
class partition_scope : detail::scope_base {
public:
    [[nodiscard]] explicit partition_scope(const partitioned& how);
};

/// Resources made inside live in this container.
class container_scope : detail::scope_base {
public:
    [[nodiscard]] explicit container_scope(const std::string& name);
};

/// Nodes made while it lives run after the given operations and tensors (SEMANTICS 15).
class control_dependencies : detail::scope_base {
public:
    template <class... N>
    [[nodiscard]] explicit control_dependencies(const N&... nodes) : control_dependencies(of(nodes...)) {
        static_assert(((detail::HasNode<N> || std::is_same_v<N, ill_shaped>)&&...),
                      "tenon::control_dependencies: it takes the operations and tensors that run before");
    }
    /// As many as there are at run time.
    [[nodiscard]] explicit control_dependencies(const std::vector<node*>& nodes);

private:
    template <class... N> static std::vector<node*> of(const N&... nodes) {
        std::vector<node*> all;
        (add(all, nodes), ...);
        return all;
    }
    template <class N> static void add(std::vector<node*>& to, const N& n) {
        if constexpr (detail::HasNode<N>) to.push_back(detail::node_of(n));
    }
};

/// What on() opens: nodes made while it lives ask for a device.
class [[nodiscard]] device_scope : detail::scope_base {
public:
    explicit device_scope(const device_name& device);
    explicit device_scope(shared_function<device_name(const placed_op&)> by);
};

/// Nodes made while the scope lives are placed on this device. The innermost scope that sets a field decides it; what is
/// unset comes from the scopes around it, but an index never without its type; "" ends all device scopes around it.
/// Text that is no device's name does not compile, or throws invalid_argument_error.
[[nodiscard]] inline device_scope on(const device_name& device) { return device_scope(device); }

/// The same by a function. It is asked once for each node that is made, outside any lock; what it throws passes on, and
/// nothing was made.
template <PlacementFunction F> [[nodiscard]] device_scope on(F policy) {
    return device_scope(
        [f = static_cast<F&&>(policy)](const placed_op& op) mutable { return detail::answer_of(f, op); });
}

/// body(), run inside such a scope. An expression that it returns is a node.
template <class Body> auto on(const device_name& device, Body&& body) {
    constexpr bool good = std::is_invocable_v<Body&>;
    static_assert(good, "tenon::on: what is made there is a function: on(\"/gpu:0\", [&] { return x * 2.0f; })");
    if constexpr (!good) return ill_shaped{};
    else {
        const device_scope inside(device);
        return detail::result_of(body);
    }
}
// A function of something else, or that gives no device: worse than what takes the argument as it is.
template <auto..., class X = void> ill_shaped on(detail::any_argument, detail::any_argument = {}) {
    static_assert(
        detail::is_mistake<X>,
        "tenon::on: a device, \"/gpu:0\", or a function of a placed_op that gives one: on([](const placed_op&) "
        "{ return \"/cpu:0\"; }); behind it what is made there: [&] { return x * 2.0f; }");
    return {};
}
template <std::integral Number, class... Body> ill_shaped on(Number, const Body&...) {
    static_assert(detail::is_mistake<Number>, "tenon::on: a device has a name: on(\"/gpu:0\")");
    return {};
}
template <PlacementFunction F, class Body>
    requires std::is_invocable_v<Body&>
auto on(F policy, Body&& body) {
    const device_scope inside = on(static_cast<F&&>(policy));
    return detail::result_of(body);
}

/// What colocate_with() opens.
class [[nodiscard]] colocation_scope : detail::scope_base {
public:
    explicit colocation_scope(node* with);
};

/// Nodes made while the scope lives share the device of this tensor or operation. Scopes nest: all count; device scopes
/// around it do not, those inside it do.
template <detail::HasNode With> [[nodiscard]] colocation_scope colocate_with(const With& with) {
    return colocation_scope(detail::node_of(with));
}
template <class... Body> ill_shaped colocate_with(ill_shaped, const Body&...) { return {}; }
template <detail::HasNode With, class Body>
    requires std::is_invocable_v<Body&>
auto colocate_with(const With& with, Body&& body) {
    const colocation_scope inside(detail::node_of(with));
    return detail::result_of(body);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/scope.ipp>
#endif
