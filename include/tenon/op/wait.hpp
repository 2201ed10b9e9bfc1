#pragma once

#include <exception>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/step.hpp>

/// Ops that wait (op_flags::waits): they start, hold no thread, and complete later.

namespace tenon {

/// Who is told that something has ended.
class completion {
public:
    /// Once for each start, on any thread: on the one that started it, from within start(), or later on another one, that
    /// holds no lock which start() or stop() would take. `failure`: nullptr where it was done.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

protected:
    ~completion() = default;
};

/// An op that waits, in one step in flight; then it is another step's. The step starts it, any thread may stop it.
class wait {
public:
    wait() = default;
    wait(wait&&) = delete;
    virtual ~wait() = default;

    /// Before start(): the op's inputs, one each, empty where only sizes matter. What is_unique() may be kept and written;
    /// others are somebody's, too: a copy() is to be made of what is to be written or to outlive the step. When it is
    /// completed: the op's outputs, of any sizes that its rule leaves open; an input may be one.
    std::vector<any_array> values;

    /// Begins. What it throws is its failure, and nothing was begun.
    virtual void start(const step& in, completion& then) = 0;
    /// Takes back what was begun, as if it had not been: true, once for each start, where completed() will not be called.
    /// False where it was, is just being, or will be, or where nothing was begun. May be called before start(), while it
    /// runs, and again.
    virtual bool stop() noexcept = 0;
    /// Before start(): whether what it takes is kept until give_back() or let_go(), one of which is called then.
    bool keeps = false;
    /// Of one that was completed well: what it took is where it was, as if it had not come.
    virtual void give_back() noexcept {}
    /// What it took is used.
    virtual void let_go() noexcept {}
    /// Of one that was completed well: its step has failed after that.
    virtual void step_failed() noexcept {}
    /// What it is waiting for, for messages: "queue \"names\" to have 3 elements; it has 1". Any thread, once start() has returned; it
    /// may be completed meanwhile.
    virtual std::string awaited() const = 0;
};

/// The kernel of an op with op_flags::waits.
class waiting_kernel : public kernel {
public:
    void run(const kernel_run&) final { throw internal_error("an op that waits was run as one that does not"); }
    /// For one step in flight. Thread-safe.
    virtual std::unique_ptr<wait> make_wait() const = 0;
    /// Whether all that it does is to take what give_back() can put back.
    virtual bool takes() const { return false; }
    /// Whether something of the step is changed by what it is given, which then is used.
    virtual bool uses_values() const { return !takes(); }
    /// Whether it is to know its place among those of a plan that ask for it, in the order of their nodes: set_turn() is told, once,
    /// before make_wait().
    virtual bool has_turn() const { return false; }
    virtual void set_turn(int number, int of) { (void)number, (void)of; }
};

} // namespace tenon
