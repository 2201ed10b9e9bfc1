#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include <tenon/core/array.hpp>
#include <tenon/kernel/function_ref.hpp>
#include <tenon/kernel/memory_account.hpp>
#include <tenon/kernel/memory_allocator.hpp>

/// What outlives a step: variables, counters and others, in named containers.

namespace tenon {

/// Something that outlives steps. Whoever uses it owns it with others, so that one whose container was cleared stays until
/// the last step that knows it has ended.
class resource {
public:
    virtual ~resource() = default;
    /// The memory of its device that it takes, and for what.
    virtual memory_holder holding() const { return {}; }
    /// Its container was cleared: nobody finds it any more. Who waits for it should be told.
    virtual void forgotten() noexcept {}
};

/// A variable's value. Its memory is made once and stays where it is.
class variable_resource final : public resource {
public:
    static constexpr const char* kind = "variable";

    /// A view of memory that `from` gave, which outlives it, and whose bytes `counted` counts; without `from`, or for
    /// strings, an array of the host.
    variable_resource(std::string variable, any_array memory, memory_allocator* from,
                      std::shared_ptr<std::atomic<std::size_t>> counted);
    ~variable_resource() override;
    variable_resource(const variable_resource&) = delete;
    variable_resource& operator=(const variable_resource&) = delete;
    memory_holder holding() const override;

    const std::string name;
    any_array value;
    /// Held shared by steps that read the variable and alone by steps that update it, for the whole step: no
    /// reader sees half an update.
    std::shared_timed_mutex guard;
    std::atomic<bool> initialized{false};

private:
    std::size_t counted_bytes() const { return from_ && !value.is_view() ? 0 : value.bytes(); }
    memory_allocator* from_;
    std::shared_ptr<std::atomic<std::size_t>> counted_;
};

/// A number that starts at 0 and lives as long as its container: what random ops count their runs with.
class run_counter final : public resource {
public:
    static constexpr const char* kind = "counter";
    std::atomic<std::uint64_t> runs{0};
};

/// The resources of one device. Identity is container, kind and name. Thread-safe.
class resource_manager {
public:
    /// Variables lie in memory that `memory` gives, which outlives them; nullptr: in the host's, as strings always do.
    /// `memory` is asked while the manager is locked: of the manager it may ask bytes() only.
    explicit resource_manager(memory_allocator* memory = nullptr);
    ~resource_manager();
    resource_manager(const resource_manager&) = delete;
    resource_manager& operator=(const resource_manager&) = delete;

    /// The resource of this identity, made by make() when it is new.
    template <class R>
    std::shared_ptr<R> find_or_make(const std::string& container, const std::string& name,
                                    function_ref<std::shared_ptr<resource>()> make) {
        return std::static_pointer_cast<R>(find_or_make(container, R::kind, name, make));
    }
    /// Throws invalid_argument_error naming both types when the variable exists with another element type or other sizes
    /// (SEMANTICS 26), resource_exhausted_error, which names the largest variables, when there is no memory for it.
    std::shared_ptr<variable_resource> variable(const std::string& container, const std::string& name,
                                                const tensor_type& type);
    std::shared_ptr<run_counter> counter(const std::string& container, const std::string& name);
    /// Forgets what a container holds; who asks later gets new ones.
    void clear(const std::string& container);
    /// Bytes of the device's memory that variables take, until the last who uses them is gone; the host's strings are not
    /// among them.
    std::size_t bytes() const noexcept;
    /// Those that take most of them.
    std::vector<memory_holder> largest() const;

private:
    struct state;
    std::shared_ptr<resource> find_or_make(const std::string& container, const char* kind, const std::string& name,
                                           function_ref<std::shared_ptr<resource>()> make);
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/kernel/resources.ipp>
#endif
