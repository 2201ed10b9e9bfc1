#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/session/options.hpp>

/// What sessions share: devices, the variables and other resources that live on them, and threads.
///
///     tn::task shared;
///     tn::session first(g, shared), second(other_graph, shared);
///     first.run(tn::initialize_variables());
///     second.run(x);      // what second's graph calls x, in the same container, is the same variable (SEMANTICS 25)
///     shared.reset();

namespace tenon {

namespace detail {
class task_state;
}

/// A handle: copies are the same task, which lives as long as one of them or a session. Thread-safe.
class task {
public:
    /// invalid_argument_error where an option makes no sense, naming it.
    task();
    explicit task(const task_options& o);

    /// Forgets what these containers hold, on all devices; "" is the default one, where resources are that were made
    /// outside of a container_scope. Steps that have begun end with what they know; later ones find a new container, in
    /// which no variable has a value. Memory is given back when no step that has begun and no idle callable needs it.
    void reset(const std::vector<std::string>& containers = {""});
    /// /device:CPU:0 first (SEMANTICS 12).
    std::vector<device_attributes> list_logical_devices() const;

private:
    friend class session;
    std::shared_ptr<detail::task_state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/task.ipp>
#endif
