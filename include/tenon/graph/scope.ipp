#pragma once

#include <atomic>
#include <memory>
#include <unordered_set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/graph/scope.hpp>

namespace tenon {

namespace detail {

TENON_INLINE node* node_of(const operation& o) { return o.node(); }
TENON_INLINE node* node_of(const any_tensor& t) { return t.node(); }

// A scope of a thread's stack. The scope and the stack hold it; what only the stack holds has ended, and leaves when nothing stands
// above it. So scopes may end in any order, and in other threads than theirs.
struct open_scope {
    scope_state* state;
    open_scope* below;
    std::atomic<int> holders{2};

    bool has_ended() const noexcept { return holders.load(std::memory_order_acquire) == 1; }
    void let_go() noexcept {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
        release(state);
        delete this;
    }
};

// What is in force in this thread: the latest of its scopes, or, where there is none, those of an expression that becomes a node.
struct scopes_in_force {
    open_scope* top = nullptr;
    const scope_state* written = nullptr;
};
inline scopes_in_force& in_force() noexcept {
    thread_local scopes_in_force scopes;
    return scopes;
}
// Null at the bottom.
inline const scope_state* innermost() noexcept {
    scopes_in_force& all = in_force();
    while (all.top && all.top->has_ended()) std::exchange(all.top, all.top->below)->let_go();
    return all.top ? all.top->state : all.written;
}

inline const scope_state& no_scopes() {
    static const auto& none = *new scope_state;
    return none;
}

inline graph_state* default_graph() {
    // Never destroyed: handles in static objects may outlive it.
    static graph_state* g = [] {
        auto* s = new graph_state;
        retain(s);
        return s;
    }();
    return g;
}

TENON_INLINE source_place& place_in_force() noexcept {
    static thread_local source_place here;
    return here;
}

TENON_INLINE const scope_state& current_scopes() noexcept {
    const scope_state* s = innermost();
    return s ? *s : no_scopes();
}

TENON_INLINE graph_state* current_graph() {
    graph_state* g = current_scopes().graph;
    return g ? g : default_graph();
}

TENON_INLINE void retain(const scope_state* s) noexcept {
    if (s) s->references.fetch_add(1, std::memory_order_relaxed);
}
TENON_INLINE void release(const scope_state* s) noexcept {
    if (s && s->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete s;
}

TENON_INLINE written_scopes::written_scopes(std::initializer_list<source_place> parts) noexcept :
    state_(innermost()), at_(place_in_force()) {
    retain(state_);
    for (auto part = parts.begin(); !at_.file && part != parts.end(); ++part) at_ = {part->file, part->line, nullptr};
}

TENON_INLINE as_written::as_written(const written_scopes& scopes) noexcept :
    interrupted_(in_force().top), written_before_(in_force().written), made_before_(place_in_force()) {
    in_force() = {nullptr, scopes.get()};
    if (scopes.at().file) place_in_force() = scopes.at();
}
TENON_INLINE as_written::~as_written() {
    in_force() = {interrupted_, written_before_};
    place_in_force() = made_before_;
}

TENON_INLINE scope_base::scope_base(bool changes) : open_(nullptr) {
    if (!changes) return;
    auto state = std::make_unique<scope_state>(current_scopes());
    open_ = new open_scope{state.get(), in_force().top};
    (void)state.release();
    in_force().top = open_;
}
TENON_INLINE scope_base::~scope_base() {
    if (!open_) return;
    open_->let_go();
    (void)innermost();
}
TENON_INLINE scope_state& scope_base::state() noexcept { return *open_->state; }

// A number that no other stack of device scopes has.
inline std::uint64_t number_of_scopes() {
    static std::atomic<std::uint64_t> made{0};
    return ++made;
}

// Adds to the nodes that a scope names those that it does not name yet.
inline void add_named(const std::vector<node*>& nodes, std::vector<node*>& to, const char* scope) {
    std::unordered_set<const node*> there(to.begin(), to.end());
    for (node* n : nodes) {
        if (!n) throw_empty((std::string(scope) + ": an operation or tensor").c_str());
        if (n->graph != current_graph())
            throw invalid_argument_error(std::string(scope) + ": " + n->name + " belongs to another graph");
        if (there.insert(n).second) to.push_back(n);
    }
}

inline bool is_of_this_graph(const node* n) { return n && n->graph == current_graph(); }

// For messages.
inline std::string function_asked_for(const placed_op& op) {
    return "the placement function, asked for " + op.name + " (" + op.type + "), ";
}

TENON_INLINE void throw_no_text(const placed_op& op) {
    throw invalid_argument_error(function_asked_for(op) + "answers a null pointer");
}

TENON_INLINE device_name read_answer(std::string_view answer, const placed_op& op) {
    try {
        return answer;
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error(function_asked_for(op) + "answers no device's name: " + e.what());
    }
}

TENON_INLINE device_name device_of(const scope_state& scopes, placed_op op) {
    thread_local bool asking = false;
    struct answering {
        ~answering() { asking = false; }
    };
    for (const device_layer* layer = scopes.devices.get(); layer; layer = layer->outer.get()) {
        if (!layer->by) {
            op.device = op.device.filled_from(layer->device);
            continue;
        }
        if (asking)
            throw invalid_argument_error(op.name + " (" + op.type +
                                         "): a placement function makes a node, for whose place it would be asked");
        asking = true;
        const answering until_it_answers;
        op.device = op.device.filled_from(layer->by(op));
    }
    return op.device;
}

} // namespace detail

TENON_INLINE detail::absolute_names::absolute_names() { state().prefix.clear(); }

TENON_INLINE detail::names_below::names_below(const std::string& name, const std::string& wished) {
    state().prefix = name + "/";
    state().wished_prefix += wished + "/";
}

TENON_INLINE detail::no_controls::no_controls() { state().controls.clear(); }

TENON_INLINE detail::follow_scope::follow_scope(node* n) : scope_base(detail::is_of_this_graph(n)) {
    if (detail::is_of_this_graph(n)) state().follows = n;
}

TENON_INLINE making::making(source_place here, const char* function) noexcept : before_(detail::place_in_force()) {
    if (!before_.file && here.file) detail::place_in_force() = {here.file, here.line, function};
}

TENON_INLINE detail::owned_scope::owned_scope(const any_tensor& owner, part of) :
    scope_base(detail::is_of_this_graph(owner.node())) {
    if (!detail::is_of_this_graph(owner.node())) return;
    state().follows = owner.node();
    state().prefix = owner.node()->name + "/";
    if (of == part::update) return;
    state().controls.clear();
    // Functions are asked for every node. Otherwise the device is the variable's, also where that is not what it asked for.
    if (state().devices && !state().devices->asked) state().devices.reset();
}

TENON_INLINE detail::variable_policy_scope::variable_policy_scope(variable_policy* policy) {
    state().variables = policy;
    state().wished_prefix.clear();
}

TENON_INLINE name_scope::name_scope(const std::string& name) {
    detail::scope_state& s = state();
    graph_state* g = detail::current_graph();
    const std::lock_guard lock(g->guard);
    // A prefix is taken like a name, so that two layers called alike do not mix.
    std::string wanted = s.prefix + name + "/";
    for (std::int64_t n = g->used_names[wanted]++; n > 0 && g->used_names.contains(wanted); ++n)
        wanted = s.prefix + name + "_" + std::to_string(n) + "/";
    if (g->used_names[wanted] == 0) g->used_names[wanted] = 1;
    s.prefix = wanted;
    s.wished_prefix += name + "/";
}

TENON_INLINE partition_scope::partition_scope(const partitioned& how) {
    (void)how.count(1, 1);
    state().partition = how;
}

TENON_INLINE container_scope::container_scope(const std::string& name) { state().container = name; }

TENON_INLINE control_dependencies::control_dependencies(const std::vector<node*>& nodes) {
    detail::add_named(nodes, state().controls, "control_dependencies");
}

TENON_INLINE device_scope::device_scope(const device_name& device) {
    std::shared_ptr<const detail::device_layer>& devices = state().devices;
    if (device.empty()) devices.reset();
    else
        devices = std::make_shared<detail::device_layer>(
            detail::device_layer{device, {}, devices, devices && devices->asked ? detail::number_of_scopes() : 0});
}

TENON_INLINE device_scope::device_scope(shared_function<device_name(const placed_op&)> by) {
    std::shared_ptr<const detail::device_layer>& devices = state().devices;
    devices = std::make_shared<detail::device_layer>(
        detail::device_layer{{}, std::move(by), devices, detail::number_of_scopes()});
}

TENON_INLINE colocation_scope::colocation_scope(node* with) {
    detail::add_named({with}, state().colocated, "colocate_with");
    state().devices.reset();
}

} // namespace tenon
