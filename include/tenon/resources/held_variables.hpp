#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tenon/op/wait.hpp>
#include <tenon/resources/resources.hpp>

/// How a step reads and writes variables beside other steps (SEMANTICS 20).
///
/// - What a step reads of several variables is of one moment: it holds the memory where their values lie then, and nobody
///   writes there meanwhile.
/// - Who updates variables locks them all, one after another by address, for as long as its updates take. What it writes is
///   the variables' value from when it has written all, at one moment.
/// - It writes in place where nobody else reads the value; then a step that begins to read waits for its updates to end. Else
///   it writes other memory, the variable's spare one if there is one, and neither waits for the other.
/// - A value that is handed out to who outlives the step, to be sent, say, is held by that array: a reader as others are.
/// - Who waits is a completion in a list, which is told when what it waits for is over, not when something else has changed; a thread that
///   sleeps meanwhile is one more of them.
/// - Who reads rows of a variable before its own updates, and waits for nothing meanwhile, is no reader to an update that changes
///   a part of it: that waits for it and writes in place, instead of copying the rest.

namespace tenon {

/// What a step does with a variable: known when it is planned.
struct variable_use {
    variable_resource* variable = nullptr;
    bool read = false;      ///< its value from before the step's updates
    bool by_rows = false;   ///< and of that nothing but rows, before the step's updates begin
    bool read_late = false; ///< also when the step's updates have begun
    bool updated = false;
    bool in_part = false; ///< and first of all by what keeps a part of it
    bool lent = false;    ///< read, and handed out as it lies: lend()
    bool apart = false;   ///< its updates may be known to be void only when they have run: they write other memory
};

/// What one step in flight holds of variables. One thread at a time uses it.
class held_variables {
public:
    using clock = std::chrono::steady_clock;

    /// By address of the variables, each once; they outlive it.
    explicit held_variables(std::span<const variable_use> uses);
    ~held_variables() { end(); }
    held_variables(held_variables&&) = delete;

    /// Takes hold of the values that are read. nullptr, or the variable that it waited for until the deadline: then nothing
    /// is held.
    const variable_resource* read(clock::time_point deadline);
    /// The value of variable i that is read, once, where it has one: nobody writes there while an owner of the array lives, and the owners
    /// do not. `v` is the variable.
    any_array lend(std::size_t i, std::shared_ptr<variable_resource> v);
    /// Gives up those of which rows were read.
    void end_reading_rows() noexcept;
    /// Gives up what is not read any more, and locks the variables that are updated; `and_read`: takes hold of the values that
    /// are read, too, at that moment. nullptr, or the variable that it waited for until the deadline. Throws resource_exhausted_error, naming the variable, where there is no memory beside a reader's;
    /// then none is locked, as where it waited in vain.
    const variable_resource* begin_updates(clock::time_point deadline, bool and_read = false);

    /// The same for who must not wait: true where it is done. False: it waits for asks_for(), and `then` is called once when that
    /// may have changed, by the thread that changed it, which holds no lock; then the same is to be asked again. Until it is
    /// done nothing else is asked but end().
    bool try_read(completion& then);
    bool try_begin_updates(completion& then, bool and_read = false);
    /// Any thread, of one that was answered false: true where `then` will not be called, and end() is to be.
    bool stop_asking() noexcept;
    const variable_resource& asks_for() const noexcept { return *awaited_; }
    /// How often it was told that what it waited for was over.
    std::uint64_t times_told() const noexcept { return times_told_; }
    /// The new value of variable i is whole.
    void set_written(std::size_t i) noexcept { held_[i].written = true; }
    bool is_written(std::size_t i) const noexcept { return held_[i].written; }
    void set_all_written() noexcept {
        for (held& h : held_) h.written = h.locked;
    }
    /// What was written of those apart is void.
    void set_apart_unwritten() noexcept {
        for (std::size_t i = 0; i < uses_.size(); ++i) held_[i].written = held_[i].written && !uses_[i].apart;
    }
    /// What is whole becomes the variables' value; of the others nothing is seen. Unlocks them.
    void end_updates() noexcept;
    /// Gives up all.
    void end() noexcept;

    /// Where variable i lies: the value that is read; what its updates begin with; what they write. nullptr: it has none.
    const void* before(std::size_t i) const noexcept { return held_[i].before ? held_[i].before->data() : nullptr; }
    const void* current(std::size_t i) const noexcept { return held_[i].current ? held_[i].current->data() : nullptr; }
    void* after(std::size_t i) const noexcept { return held_[i].after ? held_[i].after->value.data() : nullptr; }

private:
    struct held {
        variable_buffer* before = nullptr;  // held since read()
        variable_buffer* current = nullptr; // locked: the value that its updates begin with
        variable_buffer* after = nullptr;   // locked: where they write
        variable_buffer* to_lend = nullptr; // held for an array that is not there yet
        bool locked = false, in_place = false, written = false;
    };
    // What is still to be done of what was asked, each after the one before.
    enum class left { nothing, locks, reads, memory, rows };
    void lock() noexcept;
    void unlock() noexcept;
    const variable_resource* wait_until_held(clock::time_point deadline);
    const variable_resource* go_on() noexcept;
    bool ask(const variable_resource* awaited, completion& then) noexcept;
    void enter_waiting(const variable_resource& v, completion& then) noexcept;
    bool leave_waiting() noexcept;
    bool is_over() const noexcept;
    void prepare_updates(bool and_read) noexcept;
    void wait_as_reader_no_more() noexcept;
    void tell_waiting() noexcept;
    bool nobody_else(bool and_read) const noexcept;
    void hold(std::size_t i) noexcept;
    void give_up_reading(std::size_t i) noexcept;
    static void give_up(variable_resource& v, variable_buffer* b, variable_buffer*& gone) noexcept;
    void make_memory();
    void unlock_variables() noexcept;
    void choose_memory(std::size_t i) noexcept;
    void destroy_gone() noexcept;

    std::span<const variable_use> uses_;
    std::vector<held> held_;               // by use
    std::vector<variable_buffer*> gone_;   // by use: memory that is to be given back when no guard is held
    std::vector<variables_guard*> guards_; // of all devices, each once, by address
    bool reading_ = false, updating_ = false, any_gone_ = false, lending_ = false;
    left left_ = left::nothing;
    bool and_read_ = false;
    std::size_t next_ = 0;                          // use whose lock is asked for
    variable_resource* waited_as_reader_ = nullptr; // counted there
    // Of one that waits: under the guard of `awaited_`, and then its thread's that tells it.
    const variable_resource* awaited_ = nullptr;
    completion* then_ = nullptr;
    held_variables *next_waiting_ = nullptr, *to_be_told_ = nullptr;
    std::uint64_t times_told_ = 0;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/held_variables.ipp>
#endif
