#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include <tenon/core/array.hpp>
#include <tenon/kernel/memory_account.hpp>
#include <tenon/kernel/memory_allocator.hpp>

/// What outlives a step: variables and counters, in named containers.

namespace tenon {

/// A variable's value. Its memory is made once and stays where it is.
struct variable_resource {
    std::string name;
    any_array value; ///< a view of its device's memory; strings are objects of the host
    /// Held shared by steps that read the variable and alone by steps that update it, for the whole step: no
    /// reader sees half an update.
    std::shared_timed_mutex guard;
    std::atomic<bool> initialized{false};
};

/// The resources of one device. Thread-safe; what it returns stays until its container is cleared.
class resource_manager {
public:
    /// Variables lie in memory that `memory` gives, which outlives it; nullptr: in the host's, as strings always do.
    /// `memory` is asked while the manager is locked: of the manager it may ask bytes() only.
    explicit resource_manager(memory_allocator* memory = nullptr);
    ~resource_manager();
    resource_manager(const resource_manager&) = delete;
    resource_manager& operator=(const resource_manager&) = delete;

    /// The variable of this identity, made when it is new. Throws invalid_argument_error naming both types when
    /// it exists with another element type or other sizes (SEMANTICS 26), resource_exhausted_error, which names the
    /// largest variables, when there is no memory for it.
    variable_resource& variable(const std::string& container, const std::string& name, const tensor_type& type);
    /// A number that starts at 0 and lives as long as the container: what random ops count their runs with.
    std::atomic<std::uint64_t>& counter(const std::string& container, const std::string& name);
    /// Bytes of the device's memory that variables take; the host's strings are not among them.
    std::size_t bytes() const noexcept;
    /// The variables that take most of them.
    std::vector<memory_holder> largest() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/kernel/resources.ipp>
#endif
