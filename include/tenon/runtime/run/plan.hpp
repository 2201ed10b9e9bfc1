#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/op/step.hpp>
#include <tenon/resources/held_variables.hpp>
#include <tenon/runtime/plan/schedule.hpp>
#include <tenon/runtime/run/shared_arenas.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>
#include <tenon/runtime/trace/trace.hpp>

/// A frozen step: kernels in order, with every pointer known but those of feeds and fetches.

namespace tenon::runtime {

/// Who takes what a run fetches before the run ends.
class fetch_taker {
public:
    /// It is whole, and is only read from here on. Any thread of the run; not of what streams make.
    virtual void fetched(std::size_t fetch) noexcept = 0;

protected:
    ~fetch_taker() = default;
};

/// What a run of a plan is given besides its feeds.
struct run_environment {
    const tenon::step* in = nullptr; ///< the step that it is part of
    trace* traced = nullptr;
    cost_measurements* measured = nullptr; ///< of plans that were made to be
    fetch_taker* taker = nullptr;
    std::uint64_t traced_as = 0; ///< the step's number in the trace, where parts of it run on several tasks

    thread_pool* pool() const noexcept { return in->pool; }
    bool limited() const noexcept { return in->limited(); }
    bool stoppable() const noexcept { return in->limited() || in->may_be_stopped; }
};

/// What a plan will do and take.
struct plan_summary {
    int operations = 0;
    int folded = 0;
    int fused = 0;
    int transfers = 0;
    std::vector<device_layout> devices; ///< what it takes of each
    std::size_t arena_bytes = 0;        ///< of values between nodes, on all devices
    std::size_t lower_bound = 0;        ///< the largest set of them that lives at one time
    std::size_t fetched_bytes = 0;      ///< of what is handed out
    std::size_t constant_bytes = 0;     ///< of constants that devices keep copies of
    std::size_t prepared_bytes = 0;     ///< that kernels hold
    double cost = 0;                    ///< on one thread, in nanoseconds, estimated

    /// Adds what another one does and takes, but for its devices and its lower bound.
    void add(const plan_summary& other) {
        operations += other.operations;
        folded += other.folded;
        fused += other.fused;
        transfers += other.transfers;
        arena_bytes += other.arena_bytes;
        fetched_bytes += other.fetched_bytes;
        constant_bytes += other.constant_bytes;
        prepared_bytes += other.prepared_bytes;
        cost += other.cost;
    }
    std::size_t peak_bytes() const {
        std::size_t sum = 0;
        for (const device_layout& d : devices) sum += d.bytes();
        return sum;
    }
};

/// Who starts a run of a plan that holds no thread while it waits. Called on any thread, which holds no lock of the run.
class run_owner {
public:
    /// There is something to do: some thread is to call work(), once for each call of this, perhaps from within it.
    virtual void go_on() noexcept = 0;
    /// It has ended: the last that the run does. nullptr: well.
    virtual void ended(std::exception_ptr failure) noexcept = 0;

protected:
    ~run_owner() = default;
};

class plan {
public:
    /// Of a program that was pruned and placed. Throws what making kernels throws, and resource_exhausted_error when the
    /// step needs more than a device's limit leaves beside the variables.
    plan(program&& placed, const plan_options& o);
    ~plan();
    plan(const plan&) = delete;
    plan& operator=(const plan&) = delete;

    /// From here on, before its first step: its frames have arenas for as long as they are taken only. True where it can, which streams
    /// cannot, whose work is recorded with addresses.
    bool share(std::shared_ptr<shared_arenas> with);
    bool shares() const noexcept { return shared_ != nullptr; }

    struct frame;
    /// A plan and the memory of one step in flight; both stay while it lives.
    class lease {
    public:
        explicit lease(std::shared_ptr<plan> p) : plan_(std::move(p)), frame_(plan_->take_frame()) {}
        ~lease() { plan_->give_frame(frame_); }
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        plan* operator->() const noexcept { return plan_.get(); }
        /// Runs a step. feeds[i] has the type of request::feed_types[i]; fetched[i] is made here. One step at a time;
        /// other leases of the plan may run at the same time.
        void run(const any_array* const* feeds, any_array* fetched, const run_environment& e) const {
            plan_->run(*frame_, feeds, fetched, e);
        }
        /// Begins a step, and does what can be done now; what it waits for, a variable or a stream, holds no thread. What
        /// `e` points to, feeds and fetched stay until the owner is told that it has ended, perhaps from within this. What is thrown here
        /// is the step's failure, and nothing was begun.
        void start(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                   run_owner& owner) const {
            plan_->start(*frame_, feeds, fetched, e, owner);
        }
        void work() const { plan_->work(*frame_); }
        /// Of a step that was started and is stopped: it finds that out at once, and not just when something else happens. Any
        /// thread; where it has ended nothing happens.
        void stop() const noexcept { plan_->stop(*frame_); }
        /// The same where its deadline has come; false: it computes.
        bool expire() const noexcept { return plan_->expire(*frame_); }

    private:
        std::shared_ptr<plan> plan_;
        frame* frame_;
    };

    bool accepts(const any_array* const* feeds) const;
    bool is_measured() const noexcept { return measured_; }
    /// That of plan_options; the resources it uses are those of then.
    std::uint64_t epoch() const noexcept { return epoch_; }
    const plan_summary& summary() const noexcept { return summary_; }
    std::vector<std::string> order() const; ///< "name (op)"
    /// Bytes of the memory that is kept for further steps and for those in flight.
    std::size_t kept_bytes() const noexcept {
        const std::size_t arenas =
            shared_ ? 0 : frames_made_.load(std::memory_order_relaxed) * summary_.arena_bytes; // those are others', too
        return arenas + summary_.constant_bytes + summary_.prepared_bytes;
    }

private:
    // Which memory of a variable: that of the value that the step reads, of the one that its updates begin with, or where they
    // write.
    enum class memory_of { before, current, after };
    struct operation {
        const node* origin;
        tenon::kernel* kernel;
        double cost = 0;
        int device = 0;
        worker by{};           // what does it
        std::size_t bytes = 0; // that a stream copies; launched otherwise
        // Where the step uses streams:
        std::vector<int> waits{};       // operations on other streams whose events its stream waits for
        std::vector<int> given_first{}; // operations that wait for its event: given to their streams after it
        std::vector<int> then{};        // operations that are not given or begun before this one has ended
        int before = 0;                 // of how many it is in those two lists
        int line = -1;                  // its stream among those that are used
        std::size_t place = 0;          // and its place there
        bool awaited = false;           // others wait for its event
        bool told = false;              // and the host is among them
        std::vector<int> checked{}; // operations that may have refused, of which the host learns by this one's event
        std::string timed{};        // timed_as(), where the plan is measured
        int updates = -1;           // the variable that it updates
        bool writes = false;        // into a variable: it is not stopped half way
        std::vector<int> fetches{}; // that are whole when it has ended
        // Of the host's, where streams are given all they do at once:
        std::vector<int> host_then{}; // of the host's, those that are not begun before this one has ended
        int host_before = 0;          // of how many it is in that list; one more, where it waits for streams
        bool before_streams = false;  // they are given nothing before it has ended
    };
    // The part of a recorded copy that is in the host's memory: a place in the frame's staged bytes is copied in its stead, from which or to
    // which the host copies itself.
    struct staged_copy {
        std::size_t operation, slot, bytes, offset;
    };
    // What a step gives to its streams, where it gives it all at once: then it can be recorded.
    struct streams_work {
        std::vector<int> host, after;  // operations of the host; those that wait for it
        int before = 0;                // how many of the host it waits for
        std::vector<int> told;         // operations whose kernels tell their device something
        std::vector<int> not_recorded; // operations whose kernels may not be, when the plan is made
        std::vector<int> updates;      // variables
        std::vector<staged_copy> in, out;
        std::vector<std::pair<std::size_t, memory_of>> pointers; // of variables, that kernels and copies are given
        std::size_t staged_bytes = 0;
    };
    struct variable_pointer {
        std::size_t variable;
        memory_of which;
        std::size_t slot;
        bool is_output;
    };
    struct loan {
        std::size_t fetch, variable;
        std::shared_ptr<variable_resource> lender; // and what its memory needs
        int shares = -1;                           // the fetch of an earlier one of the same variable
    };
    struct patch {
        std::size_t slot;
        int index; // of the feed or fetch
    };
    // A stream that the step uses, and what is given to it.
    struct line {
        worker by;
        std::vector<int> operations{};
        bool told = true; // nothing else tells that the last of them has ended
    };
    class executor;
    frame* take_frame();
    void give_frame(frame*) noexcept;
    std::unique_ptr<frame> make_frame();
    void take_arenas(frame& f);
    void point_into_arenas(frame& f) const;
    void require_fit(const plan_options& o) const;
    std::string largest_holders(std::size_t device) const;
    void plan_waits();
    void find_apart();
    void plan_work_at_once();
    void find_recorded_pointers();
    bool may_be_at_once() const;
    recorded_work* recording_of(frame& f, const tenon::step& in) noexcept;
    std::unique_ptr<recorded_work> record(frame& f, const tenon::step& in, std::unique_ptr<recorded_work> other) const;
    void stage_in(frame& f, thread_pool* pool) const;
    void stage_out(frame& f, thread_pool* pool) const;
    void upload_constants();
    void find_variables();
    void find_pointers();
    void find_first_write();
    void run(frame& f, const any_array* const* feeds, any_array* fetched, const run_environment& e);
    void start(frame& f, const any_array* const* feeds, any_array* fetched, const run_environment& e, run_owner& owner);
    void work(frame& f);
    void stop(frame& f) noexcept;
    bool expire(frame& f) noexcept;
    void patch_pointers(frame& f, const any_array* const* feeds, any_array* fetched) const;
    // These three: false where they wait for a variable; then `told` is called when they may be called again. nullptr: they
    // wait on this thread.
    bool run_with_variables(frame& f, const run_environment& e, completion* told);
    void check_first(frame& f) const;
    void commit(frame& f, const run_environment& e) const;
    void commit(const tenon::step& in, std::size_t s) const; // before operation s, which writes
    void update(frame& f, const run_environment& e);
    std::exception_ptr saying_what_was_updated(const frame& f, const std::exception_ptr& why, bool all) const noexcept;
    void lend_variables(frame& f, const run_environment& e) const;
    bool read_variables(frame& f, const run_environment& e, completion* told) const;
    bool begin_updates(frame& f, const run_environment& e, bool and_read, completion* told) const;
    void point(frame& f, memory_of which) const;
    void point(frame& f, memory_of which, std::size_t variable, const void* to) const;
    void run_part(frame& f, const run_environment& e, std::size_t first, std::size_t last);
    void run_in_order(frame& f, const run_environment& e, std::size_t first, std::size_t last);
    void run_side_by_side(frame& f, const run_environment& e, std::size_t first, std::size_t last);
    void run_operation(std::size_t s, frame& f, const run_environment& e);
    void record(std::size_t s, const run_environment& e, std::int64_t begin, std::int64_t end) const;
    void check_sources(const any_array* const* feeds) const;
    void check_numerics(std::size_t s, const frame& f) const;
    bool is_cheap(std::size_t s) const {
        constexpr double worth_a_task = 2e4; // ns: about what waking a thread costs
        return s == operations_.size() || operations_[s].cost < worth_a_task;
    }
    // Whose threads are kept awake while a step runs.
    thread_pool* pool_worth_waking(const run_environment& e) const noexcept {
        constexpr double worth_waking = 1e5; // ns
        return own_cost_ > worth_waking ? e.pool() : nullptr;
    }
    std::string awaited_in(std::size_t s) const;
    // What the planner made of a node is called as that, but for copies of constants.
    std::string op_of(std::size_t s) const {
        const program_item& i = program_.item(schedule_.order[s]);
        return i.op == i.origin->op || i.op->is(op_flags::identity) ? shown_op(*i.origin) : i.op->name;
    }
    std::string row_of(std::size_t s, trace& t) const;
    [[noreturn]] void rethrow_with_place(const std::exception_ptr& what, std::size_t s) const;

    std::vector<device*> devices_;
    program program_;
    scheduled schedule_;
    std::vector<operation> operations_;
    edges successors_;                              // of operations that run side by side
    std::vector<std::size_t> in_begin_, out_begin_; // first slot of each operation
    std::vector<tensor_type> feed_types_, fetch_types_;
    std::vector<patch> feed_in_, fetch_in_, fetch_out_;
    std::vector<loan> loans_;                         // fetches that are variables as they lie
    std::vector<bool> lent_;                          // by fetch
    std::vector<variable_use> variables_;             // by address
    std::vector<variable_pointer> pointers_;          // by variable and which
    std::array<std::vector<std::size_t>, 3> pointed_; // by which: the first pointer of each variable, and the end
    std::size_t begin_updates_ = 0, end_updates_ = 0; // positions between which the variables are locked
    std::size_t first_write_ = 0;                     // of those, the first that writes: from there on nothing stops it
    std::vector<std::size_t> needed_values_; // where it updates: operations that need a variable to have a value
    std::vector<std::size_t> checked_first_; // operations that may refuse to update, and are asked before that
    std::size_t end_rows_ = 0;               // after which no rows of those that are read by rows are
    bool reads_variables_ = false, reads_rows_ = false;
    std::vector<int> sources_; // feeds and constants that are read, where they are checked
    bool check_numerics_ = false;
    std::uint64_t epoch_ = 0;
    bool measured_ = false;
    int side_by_side_ = 1;        // nodes that may run at the same time
    std::vector<line> streams_;   // that the step uses
    std::vector<int> on_streams_; // operations
    std::vector<int> may_refuse_; // of those
    // Variables whose updates are void where one of those refuses.
    std::vector<const variable_resource*> apart_;
    int on_host_ = 0; // operations that are not on streams, where it uses some
    // nullptr: streams are given some before the host has seen the end of others
    std::unique_ptr<streams_work> at_once_;
    std::atomic<bool> records_{false};      // what is given at once is recorded
    std::vector<device_memory> constants_;  // by device: copies of what the host holds
    std::shared_ptr<shared_arenas> shared_; // nullptr: each frame has its own
    plan_summary summary_;
    double own_cost_ = 0; // of what threads of this process do, in nanoseconds
    std::atomic<std::size_t> frames_made_{0};
    std::atomic<frame*> spare_{nullptr}; // the frame that is nearly always enough
    std::mutex guard_;                   // of the list of further frames
    frame* frames_ = nullptr;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/plan.ipp>
#endif
