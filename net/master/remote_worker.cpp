#include <net/master/remote_worker.hpp>

#include <functional>
#include <utility>

#include <net/rpc/asking.hpp>
#include <net/wire/program_codec.hpp>
#include <net/wire/trace_rows.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/runtime/run/step_errors.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>

namespace tenon::net {

namespace {

// A part that was registered at a worker; it is forgotten there with this.
struct registered_part {
    registered_part(std::shared_ptr<master_tasks> all, int on, std::string changed) :
        tasks(std::move(all)), task(on), number(++tasks->parts), changes(std::move(changed)) {}
    ~registered_part() { forget(); }
    registered_part(registered_part&&) = delete;
    // Whoever waits for its report is called, without the guard.
    void tell() {
        std::vector<std::function<void()>> waiting;
        {
            const std::lock_guard lock(guard);
            has_told = true;
            waiting.swap(then);
        }
        for (const auto& f : waiting) f();
    }
    const session_tasks::task& at() const { return tasks->tasks->tasks[static_cast<std::size_t>(task)]; }
    void heard(const recording_counts& so_far) {
        const std::lock_guard lock(guard);
        report.recordings = so_far;
    }
    // There, with what has come to be run by its number.
    void forget() const noexcept {
        try {
            note(*at().at, forget_part{tasks->tasks->session, number}, at().incarnation);
        } catch (...) { // it is gone
        }
    }

    const std::shared_ptr<master_tasks> tasks;
    const int task;
    const std::uint64_t number;
    const std::string changes; // its task, where it changes something there
    std::mutex guard;          // of what follows
    step_report report;
    bool has_told = false;                   // that, or that it failed
    std::vector<std::function<void()>> then; // who waits for it
    std::exception_ptr failed;               // where it could not be registered: why what is run by this number fails
    std::shared_ptr<register_part> again;    // where that was for want of memory: it is tried once more when it is run
};

std::exception_ptr exception_of(const answer& a) { return failure{a.code, a.message, a.reason}.exception(); }

// By its hash; then, where the task does not know it, with the program. Links keep the order: what is run by this number finds it
// there, or what was wrong with it, or waits for the program.
void register_there(const std::shared_ptr<registered_part>& p, register_part&& c, packed&& program) {
    auto what = std::make_shared<register_part>(std::move(c));
    auto unsent = std::make_shared<packed>(std::move(program));
    call(
        *p->at().at, *what, never,
        [p, what, unsent](answer a) {
            try {
                if (a.failed) std::rethrow_exception(exception_of(a));
                register_part::reply r = read_answer<register_part>(std::move(a));
                if (!r.known && !what->has_program) {
                    what->has_program = true;
                    what->program = std::move(*unsent);
                    return register_there(p, std::move(*what), {});
                }
                const std::unique_lock lock(p->guard);
                p->report = std::move(r.report);
            } catch (...) {
                const std::exception_ptr why = std::current_exception();
                {
                    const std::lock_guard lock(p->guard);
                    p->failed = why;
                    if (runtime::is_shortage(why)) {
                        if (!what->has_program) what->program = std::move(*unsent);
                        what->has_program = true;
                        p->again = what;
                    }
                }
                p->forget(); // what has come there to be run by this number does not wait for it
            }
            p->tell();
        },
        p->at().incarnation);
}

// Where there was no memory for it.
void register_again(const std::shared_ptr<registered_part>& p) {
    std::shared_ptr<register_part> what;
    {
        const std::lock_guard lock(p->guard);
        if (!p->again) return;
        what = std::move(p->again);
        p->failed = nullptr;
    }
    register_there(p, std::move(*what), {});
}

// A task that is there has so much longer than its step: it says itself what it waited for, or it computes what nothing stops.
constexpr duration of_late_parts = std::chrono::milliseconds(500);
constexpr duration of_stopped_parts = std::chrono::hours(24); // nobody's time is over

// Where the caller is no more, what comes late finds nobody.
class remote_run final : public runtime::task_run {
public:
    explicit remote_run(std::shared_ptr<registered_part> p) : part_(std::move(p)) {}

    void arm() noexcept override {
        const std::lock_guard lock(state_->guard);
        state_->failed = nullptr;
        state_->became = {};
        state_->took = false;
        state_->call = 0;
        state_->ended = false;
        stopped_ = nullptr;
    }

    void start(const runtime::run_environment& e, rendezvous&, runtime::steps_in_flight&,
               std::function<void()> ended) override {
        run_part c;
        c.session = part_->tasks->tasks->session;
        c.part = part_->number;
        c.step = e.in->id();
        c.traced = e.traced != nullptr;
        call_time until = never;
        if (e.in->limited()) {
            c.limit = e.in->limit;
            c.limit_source = e.in->limit_source;
            until = {part_->tasks->time->now() + (e.in->deadline - e.in->now()), of_late_parts};
        }
        step_ = c.step;
        const auto state = state_;
        trace* const traced = e.traced;
        const std::int64_t began = traced ? trace_time(part_->tasks->time->now()) : 0;
        std::exception_ptr refused;
        {
            const std::lock_guard lock(state->guard);
            refused = state->failed = stopped_;
            state->ended = refused != nullptr;
            state->since = part_->tasks->time->now();
        }
        if (refused) {
            tell(refused); // what other parts have sent there is not kept
            ended();
            return;
        }
        register_again(part_);
        const std::uint64_t call = net::call(
            *part_->at().at, c, until,
            [state, traced, began, number = step_, limit = c.limit, source = e.in->limit_source, part = part_,
             then = std::move(ended)](answer a) {
                runtime::run_end became;
                bool took = false;
                const std::exception_ptr failed = thrown_by([&] {
                    if (a.failed) {
                        if (a.names_peer) became.silent = a.message;
                        if (a.unknown) became.unknown = part->changes;
                        std::rethrow_exception(failure_of(*part, a, limit, source));
                    } else {
                        became.unknown = part->changes;
                        const run_part::reply r = read_answer<run_part>(std::move(a));
                        took = r.took;
                        became.unknown.clear();
                        if (r.changed) became.changed = part->changes;
                        part->heard(r.recordings);
                        became.in_part = r.in_part;
                        if (r.failed) r.why.raise();
                        if (traced)
                            for (const tenon::detail::trace_record& t : r.traces)
                                traced->add(t, clock_of(part->at().name, part->at().incarnation), number, began,
                                            trace_time(part->tasks->time->now()));
                        if (!r.unsent.empty()) throw_lost_task(error_code::unavailable, r.unsent);
                    }
                });
                {
                    const std::lock_guard lock(state->guard);
                    state->failed = failed;
                    state->became = std::move(became);
                    state->took = took;
                    state->ended = true;
                }
                then();
            },
            part_->at().incarnation);
        // A stop that overtook the call would find nothing to stop there.
        {
            const std::lock_guard lock(state->guard);
            state->call = call;
            if (!state->ended) refused = stopped_;
        }
        if (refused) stop_there(call, refused);
    }

    std::exception_ptr failure() const noexcept override {
        const std::lock_guard lock(state_->guard);
        return state_->failed;
    }
    runtime::run_end end() const override {
        const std::lock_guard lock(state_->guard);
        return state_->became;
    }
    bool took() const noexcept override {
        const std::lock_guard lock(state_->guard);
        return state_->took;
    }
    // One that has failed, or was not heard of, may have taken something.
    void settle(bool failed, bool others_changed) noexcept override {
        {
            const std::lock_guard lock(state_->guard);
            const bool may_have = failed && state_->failed && state_->call && !part_->changes.empty();
            if (!state_->took && !may_have) return;
            if (state_->took && (!failed || others_changed) && state_->became.changed.empty()) {
                state_->became.changed = part_->changes;
                state_->became.in_part = state_->failed != nullptr;
            }
            state_->took = false;
        }
        tell(settle_step{part_->tasks->tasks->session, step_, failed, others_changed});
    }
    void stop(const std::exception_ptr& why) noexcept override {
        std::uint64_t call = 0;
        {
            const std::lock_guard lock(state_->guard);
            if (!stopped_) stopped_ = why;
            if (!state_->ended) call = state_->call;
        }
        if (call) stop_there(call, why);
    }
    bool waits_itself() override { return false; }
    // What the part waits for its own task says.
    std::vector<runtime::awaited> waits() override {
        const std::lock_guard lock(state_->guard);
        if (!state_->call || state_->ended) return {};
        const std::chrono::duration<double> waited = part_->tasks->time->now() - state_->since;
        return {{nullptr, {}, "its part on " + part_->at().name, waited.count(), true}};
    }
    bool expire() noexcept override {
        {
            const std::lock_guard lock(state_->guard);
            if (!state_->call || state_->ended) return false;
        }
        tell(std::make_exception_ptr(deadline_exceeded_error("the step's time is over")));
        return true;
    }
    std::vector<const node*> expired() const override { return {}; }

private:
    // A silent task is not waited for.
    void stop_there(std::uint64_t call, const std::exception_ptr& why) noexcept {
        tell(why);
        try {
            part_->at().at->cancel(call, of_stopped_parts);
        } catch (...) { // no memory: it ends by itself
        }
    }
    // Why it could not be registered, where that is why.
    static std::exception_ptr failure_of(registered_part& part, const answer& a, double limit, const char* source) {
        {
            const std::lock_guard lock(part.guard);
            if (part.failed) return part.failed;
        }
        if (!a.names_peer || a.code != error_code::deadline_exceeded) return exception_of(a);
        step in;
        in.limit = limit;
        in.limit_source = source;
        runtime::exceed_limit(in, a.message);
    }
    void tell(const std::exception_ptr& why) noexcept {
        tell(stop_step{part_->tasks->tasks->session, step_, net::failure::of(why)});
    }
    template <Note N> void tell(const N& what) noexcept {
        try {
            note(*part_->at().at, what, part_->at().incarnation);
        } catch (...) { // it is gone, or has too much to do: its call ends by itself
        }
    }

    struct shared_state {
        std::mutex guard; // of what follows
        std::exception_ptr failed;
        runtime::run_end became;
        std::uint64_t call = 0; // 0: it has not begun
        time_point since{};     // it has
        bool ended = false;
        bool took = false; // it was answered so
    };
    const std::shared_ptr<registered_part> part_;
    const std::shared_ptr<shared_state> state_ = std::make_shared<shared_state>();
    std::exception_ptr stopped_; // under its guard
    std::uint64_t step_ = 0;
};

class remote_subgraph final : public runtime::task_subgraph {
public:
    explicit remote_subgraph(std::shared_ptr<registered_part> p) : part_(std::move(p)) {}
    std::unique_ptr<runtime::task_run> make_step() override { return std::make_unique<remote_run>(part_); }
    runtime::plan_summary summary() const override {
        const std::lock_guard lock(part_->guard);
        const step_report& r = part_->report;
        runtime::plan_summary s;
        s.operations = r.nodes;
        s.folded = r.folded;
        s.fused = r.fused;
        s.transfers = r.transfers;
        s.arena_bytes = r.arena_bytes;
        s.lower_bound = r.lower_bound;
        for (const device_report& d : r.devices) {
            runtime::device_layout& there = s.devices.emplace_back();
            there.arena_bytes = d.arena_bytes;
            there.lower_bound = d.lower_bound;
            there.fetched_bytes = d.peak_bytes - std::min(d.peak_bytes, d.arena_bytes); // and what else it holds
        }
        return s;
    }
    void when_known(std::function<void()> then) override {
        {
            const std::lock_guard lock(part_->guard);
            if (!part_->has_told) return part_->then.push_back(std::move(then));
        }
        then();
    }
    std::vector<std::string> order() const override {
        const std::lock_guard lock(part_->guard);
        return part_->report.order;
    }
    std::size_t kept_bytes() const override { return 0; } // of this task's memory
    recording_counts recordings() const override {
        const std::lock_guard lock(part_->guard);
        return part_->report.recordings;
    }

private:
    const std::shared_ptr<registered_part> part_;
};

// A meeting that is opened for each step.
class master_rendezvous final : public runtime::step_rendezvous {
public:
    master_rendezvous(std::shared_ptr<master_tasks> all, std::shared_ptr<step_edges> edges) :
        all_(std::move(all)), edges_(std::move(edges)) {}
    void begin(std::uint64_t step) override {
        step_ = step;
        open_ = all_->exchanged->open(all_->tasks, step, edges_);
    }
    void end() noexcept override {
        all_->exchanged->close(all_->tasks->session, step_);
        open_.reset();
    }
    void send(std::int64_t edge, any_array value) override { open_->send(edge, std::move(value)); }
    void flush(bool all) override { open_->flush(all); }
    void receive(std::int64_t edge, arrival& a) override { open_->receive(edge, a); }
    bool stop(std::int64_t edge, arrival& a) noexcept override { return open_->stop(edge, a); }

private:
    const std::shared_ptr<master_tasks> all_;
    const std::shared_ptr<step_edges> edges_;
    std::uint64_t step_ = 0;
    std::shared_ptr<task_rendezvous> open_; // from begin() to end()
};

} // namespace

remote_worker::remote_worker(std::shared_ptr<master_tasks> all, int number,
                             const std::vector<device_attributes>& devices) :
    all_(std::move(all)), number_(number) {
    for (const device_attributes& d : devices)
        devices_.push_back({d, d.name.type == "GPU", static_cast<std::size_t>(d.memory), 0});
}

std::unique_ptr<runtime::task_subgraph> remote_worker::plan_subgraph(runtime::program&& part,
                                                                     const runtime::plan_options& o,
                                                                     const std::vector<runtime::task_edge>& edges) {
    auto p = std::make_shared<registered_part>(all_, number_, runtime::task_changed_by(part, o));
    register_part c;
    c.session = all_->tasks->session;
    c.part = p->number;
    c.graph_seed = o.graph_seed;
    c.edges = static_cast<std::int64_t>(edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
        if (edges[e].from == number_) c.routes.push_back({static_cast<std::int64_t>(e), edges[e].to, true});
        if (edges[e].to == number_) c.routes.push_back({static_cast<std::int64_t>(e), edges[e].from, false});
    }
    packed program = encode_program(part);
    c.hash = hash_of(program);
    register_there(p, std::move(c), std::move(program));
    return std::make_unique<remote_subgraph>(p);
}

std::unique_ptr<runtime::step_rendezvous>
master_exchange::make_rendezvous(const std::vector<runtime::task_edge>& edges) {
    auto own = std::make_shared<step_edges>(edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
        if (edges[e].from == 0) own->to[e] = edges[e].to;
        if (edges[e].to == 0 && edges[e].from != 0) ++own->arriving;
        if (edges[e].to == 0 && !edges[e].fetched) own->memory.plan(static_cast<std::int64_t>(e));
    }
    return std::make_unique<master_rendezvous>(all_, std::move(own));
}

} // namespace tenon::net
