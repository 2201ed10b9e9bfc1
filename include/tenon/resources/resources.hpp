#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/concurrency/spin_lock.hpp>
#include <tenon/core/array/array.hpp>
#include <tenon/core/array/memory_payer.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/memory/memory_allocator.hpp>
#include <tenon/op/run_count.hpp>

/// What outlives a step: variables, counters and others, in named containers.

namespace tenon {

class held_variables;

/// What a person is told of one.
struct resource_info {
    std::string container, kind, name;
    std::string description;   ///< of a variable "float[784, 300]", of a queue what it holds
    std::size_t bytes = 0;     ///< of its device's memory
    std::uint64_t updates = 0; ///< of a variable: how many steps have updated it
};

/// Something that outlives steps. Whoever uses it owns it with others, so that one whose container was cleared stays until
/// the last step that knows it has ended.
class resource {
public:
    virtual ~resource() = default;
    /// The memory of its device that it takes, and for what.
    virtual memory_holder holding() const { return {}; }
    /// Fills in what it knows of itself.
    virtual void describe(resource_info& to) const { (void)to; }
    /// Its container was cleared: nobody finds it any more. Who waits for it should be told.
    virtual void forgotten() noexcept {}
};

/// A memory in which a variable's value lies, or lay: a step that reads it holds the one that was the value when it began to.
struct variable_buffer {
    any_array value;
    bool initialized = false;
    int readers = 0;                 ///< steps that hold it for as long as they read
    int row_readers = 0;             ///< that hold it while they read rows of it, and wait for nothing meanwhile
    variable_buffer* next = nullptr; ///< among those that are to go

    /// nullptr: it has no value.
    void* data() noexcept { return initialized ? value.data() : nullptr; }
};

class variable_resource;

/// What is said of who uses the variables of one device is said under one mutex, so that it is said of several at one
/// moment.
struct variables_guard {
    detail::spin_lock lock;                     ///< held for less time than it takes to wake a thread
    std::vector<variable_resource*> with_spare; ///< that keep memory for their next update beside a reader
    held_variables* waiting = nullptr;        ///< steps that wait for what others hold, whoever came first at the front
    held_variables** last_waiting = &waiting; ///< where the next is entered
};

/// A variable's value. Steps read and write it as held_variables says.
class variable_resource final : public resource {
public:
    static constexpr const char* kind = "variable";

    /// In memory that `from` gave, which outlives it, and whose bytes `counted` counts; without `from`, or for strings, in
    /// an array of the host. Throws what `from` throws.
    variable_resource(std::string variable, const tensor_type& type, memory_allocator* from,
                      std::shared_ptr<std::atomic<std::size_t>> counted, std::shared_ptr<variables_guard> guard);
    ~variable_resource() override;
    variable_resource(variable_resource&&) = delete;
    memory_holder holding() const override;
    void describe(resource_info& to) const override;

    const std::string name;
    const tensor_type& type() const noexcept { return type_; }
    /// Whether it has a value, at this moment.
    bool is_initialized() const noexcept;
    /// How many steps wait to read it, at this moment.
    int readers_waiting() const noexcept;
    /// What it holds while no step uses it.
    any_array& value() noexcept { return current_->value; }
    /// What its texts take, of who wrote them. Of the step that updates it.
    memory_charge of_texts;

private:
    friend class held_variables;
    friend class resource_manager;
    variable_buffer* make_buffer() const;
    void destroy(variable_buffer* b) const noexcept;
    std::size_t counted_bytes() const noexcept;
    // Both under the guard: the memory that is kept for the next update, and memory that nobody holds any more, which goes to
    // `gone` where there is a spare one.
    variable_buffer* take_spare() noexcept;
    void retire(variable_buffer* b, variable_buffer*& gone) noexcept;

    const tensor_type type_;
    memory_allocator* const from_;
    const std::shared_ptr<std::atomic<std::size_t>> counted_;
    const std::shared_ptr<variables_guard> guard_;
    // Under the guard:
    variable_buffer* current_;
    variable_buffer* spare_ = nullptr;
    std::size_t place_ = 0;   // of the spare among the guard's
    bool locked_ = false;     // a step updates it
    bool in_place_ = false;   // and writes where the value lies: no further step may read it
    int readers_waiting_ = 0; // for that to end
    std::uint64_t updates_ = 0;
};

/// Counts the runs of a random op's node.
class run_counter {
public:
    std::atomic<std::uint64_t> runs{0}; ///< in its session

    struct run {
        std::uint64_t number; ///< which its numbers are drawn by
        std::uint64_t here;   ///< in its session
    };
    run next() noexcept {
        const std::uint64_t here = runs.fetch_add(1, std::memory_order_relaxed);
        return {before_.load(std::memory_order_relaxed) + here, here};
    }
    /// The number of the next run.
    std::uint64_t number() const noexcept {
        return before_.load(std::memory_order_relaxed) + runs.load(std::memory_order_relaxed);
    }
    void go_on_from(std::uint64_t number) noexcept {
        before_.store(number - runs.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> before_{0}; // of the sessions that this one goes on from, less what it had run then
};

/// Those of a session, by the names of nodes. Thread-safe.
class run_counters final : public resource {
public:
    static constexpr const char* kind = "counter";
    std::shared_ptr<run_counter> of(const std::string& node);
    /// Those that have run, by name.
    std::vector<run_count> counts() const;
    void go_on_from(const std::vector<run_count>& counts);

private:
    mutable std::mutex guard_; // of what follows
    std::map<std::string, std::shared_ptr<run_counter>> by_node_;
};

/// The resources of one device. Identity is container, kind and name. Thread-safe.
class resource_manager {
public:
    /// Variables lie in memory that `memory` gives, which outlives them; nullptr: in the host's, as strings always do.
    /// `memory` is asked while the manager is locked: of the manager it may ask bytes() only.
    explicit resource_manager(memory_allocator* memory = nullptr);
    ~resource_manager();
    resource_manager(resource_manager&&) = delete;

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
    std::shared_ptr<run_counters> counters(const std::string& container);
    /// Forgets what a container holds; who asks later gets new ones.
    void clear(const std::string& container);
    /// Gives back memory that variables keep for updates beside readers. False where there was none. May be called by the
    /// device's memory while it is asked for more.
    bool give_back_spares() noexcept;
    /// Bytes of the device's memory that variables take, until the last who uses them is gone; the host's strings are not
    /// among them.
    std::size_t bytes() const noexcept;
    /// Those that take most of them.
    std::vector<memory_holder> largest() const;
    /// All, by container, kind and name.
    std::vector<resource_info> list() const;

private:
    struct state;
    std::shared_ptr<resource> find_or_make(const std::string& container, const char* kind, const std::string& name,
                                           function_ref<std::shared_ptr<resource>()> make);
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/resources.ipp>
#endif
