#include <net/client/remote_session.hpp>

#include <algorithm>

#include <net/rpc/asking.hpp>
#include <net/wire/trace_rows.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/sizes.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::net {

namespace {

using tenon::detail::callable_state;
using tenon::detail::fetch_request;
using tenon::detail::observed;
using tenon::detail::pending_state;
using tenon::detail::run_request;

// Whether a node's numbers depend on how often it has run (detail::random_source): it has a seed, and holds nothing that has one.
bool counts_runs(const node& n) {
    return n.op->is(op_flags::stateful) && !n.op->is(op_flags::resource) && n.attributes.find("seed");
}

graph_output output_of(const any_tensor& t) { return {t.node()->number, t.index()}; }

} // namespace

remote_session::remote_session(transport& t, peer_options to, std::string own_name, const tenon::graph& g,
                               const session_options& o) :
    session_state(g, o), transport_(t), server_(peer::make(t, std::move(to))) {
    open_session c{
        .client = std::move(own_name), .settings = settings_of(o), .limit = o.open_timeout > 0 ? o.open_timeout : 10};
    const time_point deadline = transport_.now() + seconds_of(c.limit);
    // A server that is not there yet is waited for.
    const auto there = std::make_shared<awaited_answer>();
    server_->connect(deadline, awaited_answer::taker(there, transport_));
    (void)there->wait(transport_, never);
    if (const answer connected = there->take(); connected.failed) {
        const bool nobody =
            connected.code == error_code::deadline_exceeded || connected.code == error_code::unavailable;
        if (nobody)
            throw_lost_task(error_code::unavailable,
                            "session: there is no server at " + server_->name() + ": " + connected.message);
        throw_error(connected.code, "session: " + connected.message, connected.reason);
    }
    incarnation_ = server_->incarnation();
    try {
        const open_session::reply r = ask(c, c.limit);
        session_ = r.session;
        data_ = std::make_shared<served_data>(server_, session_, incarnation_);
        tell_placed(r.placed);
    } catch (const deadline_exceeded_error& late) { // it was there, and is no more
        throw_lost_task(error_code::unavailable, std::string("session: ") + late.what());
    }
}

// Waits for nothing but functions of data sets: with the link the session ends.
remote_session::~remote_session() {
    server_->close();
    data_->end();
}

// The step's time, from now on.
void remote_session::limit(step& in, double timeout) const {
    in.time = &transport_;
    runtime::set_limit(in, timeout, options.operation_timeout);
}

template <class C> remote_session::waited_for remote_session::begin(const C& c, call_time until) const {
    auto there = std::make_shared<awaited_answer>();
    call(*server_, c, until, awaited_answer::taker(there, transport_), incarnation_);
    return there;
}

remote_session::waited_for remote_session::begin_step(const known_callable& which, const run_step& c, const step& in,
                                                      std::uint64_t* number) const {
    auto there = std::make_shared<awaited_answer>();
    const std::uint64_t n = call(
        *server_, c, {in.deadline, seconds_of(seconds_longer)},
        [which, then = awaited_answer::taker(there, transport_)](answer a) {
            which->count_run(a);
            then(std::move(a));
        },
        incarnation_);
    if (number) *number = n;
    return there;
}

void remote_session::wait(const awaited_answer& a, const step& in, const char* what) const {
    if (a.wait(transport_, in.deadline)) return;
    if (!in.limited()) throw unavailable_error(server_->name() + ": this process's transport has ended");
    runtime::exceed_limit(in, "it was not begun, and waited for " + server_->last_heard() + ", " + what);
}

// Of calls that do not wait for anybody else's steps.
template <class C> typename C::reply remote_session::ask(const C& c, double seconds) const {
    return net::ask(*server_, c, seconds > 0 ? transport_.now() + seconds_of(seconds + seconds_longer) : never,
                    incarnation_);
}

void remote_session::tell_placed(const std::vector<std::string>& lines) const {
    if (lines.empty()) return;
    if (const auto log = placement_log())
        for (const std::string& line : lines) log(line);
}

// Sends what the graph has and the server's copy has not. One at a time: what others need may be under way.
void remote_session::extend(const step& in) {
    for (;;) {
        waited_for there;
        {
            const std::lock_guard lock(extending_);
            if (!extension_) {
                extend_graph c{.session = session_, .from = sent_.nodes};
                coming_ = {};
                c.nodes = encode_nodes(graph, sent_, coming_);
                if (coming_.nodes == sent_.nodes && coming_.members == sent_.members && sent_.nodes > 0) return;
                extension_ = begin(c, never);
                for (std::int64_t n = sent_.nodes; n < coming_.nodes; ++n)
                    if (graph.at(n)->op->is(op_flags::of_program)) data_->begin();
            }
            there = extension_;
        }
        wait(*there, in, "to take its graph");
        const std::lock_guard lock(extending_);
        const bool is_first = extension_ == there; // of those who waited for it
        if (is_first) extension_ = nullptr;
        try {
            there->check();
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error(std::string(e.what()) +
                                           "; steps that were run before go on; others want room for it, or another "
                                           "graph, without it, and a session of that");
        }
        if (is_first) sent_ = std::move(coming_);
    }
}

// The server is told to drop it with the last who holds it here.
remote_session::known_callable remote_session::known(server_callable&& callable) const {
    return known_callable(new server_callable(std::move(callable)),
                          [to = server_, session = session_, life = incarnation_](const server_callable* dropped) {
                              try {
                                  note(*to, drop_callable{session, dropped->number}, life);
                              } catch (...) { // the session has ended
                              }
                              delete dropped;
                          });
}

remote_session::known_callable remote_session::callable_for(const std::vector<any_tensor>& feeds,
                                                            const fetch_request& r, const step& in) {
    constexpr std::size_t kept = 1024;
    callable_key key;
    const auto add = [&](std::int64_t node, int index) {
        key.push_back(node);
        key.push_back(index);
    };
    for (const any_tensor& t : feeds) add(t.node()->number, t.index());
    key.push_back(-1);
    for (const any_tensor& t : r.fetches) add(t.node()->number, t.index());
    key.push_back(-1);
    for (const operation& o : r.targets) add(o.node()->number, 0);
    {
        const std::lock_guard lock(guard_);
        if (const auto at = callables_.find(key); at != callables_.end()) return at->second;
    }
    extend(in);
    waited_for there;
    {
        const std::lock_guard lock(guard_);
        if (const auto at = callables_.find(key); at != callables_.end()) return at->second;
        waited_for& coming = coming_callables_[key];
        if (!coming) {
            net::make_callable c{.session = session_};
            for (const any_tensor& t : feeds) c.feeds.push_back(output_of(t));
            for (const any_tensor& t : r.fetches) c.fetches.push_back(output_of(t));
            for (const operation& o : r.targets) c.targets.push_back(o.node()->number);
            coming = begin(c, never);
        }
        there = coming;
    }
    wait(*there, in, "to take what it is to run");
    std::vector<std::shared_ptr<run_counter>> counted = counters_of(feeds, r);
    known_callable dropped; // after the lock is
    std::unique_lock lock(guard_);
    const auto at = coming_callables_.find(key);
    if (at == coming_callables_.end() || at->second != there) { // another thread was faster
        lock.unlock();
        there->check();
        return callable_for(feeds, r, in);
    }
    coming_callables_.erase(at);
    there->check();
    const std::uint64_t number = read_answer<net::make_callable>(there->take()).callable;
    known_callable made = known({number, std::move(counted)});
    callables_.emplace(key, made);
    by_age_.push_back(key);
    if (callables_.size() > kept) {
        const auto oldest = callables_.find(by_age_.front());
        dropped = std::move(oldest->second);
        callables_.erase(oldest);
        by_age_.pop_front();
    }
    return made;
}

std::vector<std::shared_ptr<run_counter>> remote_session::counters_of(const std::vector<any_tensor>& feeds,
                                                                      const fetch_request& r) {
    runtime::request q;
    for (const any_tensor& t : feeds) q.feeds.push_back(t.output());
    for (const any_tensor& t : r.fetches) q.fetches.push_back(t.output());
    for (const operation& o : r.targets) q.targets.push_back(o.node());
    std::vector<std::shared_ptr<run_counter>> all;
    for (const node* n : runtime::nodes_that_run(q))
        if (counts_runs(*n)) all.push_back(runs_.of(n->name));
    return all;
}

run_step remote_session::step_of(const known_callable& which, std::size_t feeds, const any_array* const* fed,
                                 double timeout) const {
    run_step c{.session = session_, .callable = which->number, .timeout = timeout};
    // A call that failed may still be on its way when the caller's memory has gone.
    for (std::size_t i = 0; i < feeds; ++i)
        c.feeds.push_back(fed[i]->is_view() && fed[i]->bytes() > inline_bytes ? fed[i]->copy() : fed[i]->share());
    return c;
}

// The server answers what became of the step; where it has not, nobody here knows.
void remote_session::take(answer a, const step& in, const fetch_request& q, any_array* fetched, trace* t,
                          std::int64_t began) const {
    const bool is_late = a.code == error_code::deadline_exceeded;
    if (a.failed && a.names_peer && (is_late || a.code == error_code::cancelled)) {
        a.message += a.unknown ? "; whether the step was applied is not known" : "; it was not begun";
        if (is_late && in.limited()) runtime::exceed_limit(in, a.message);
    }
    if (a.failed) a.message = runtime::with_places(graph, std::move(a.message));
    run_step::reply r = read_answer<run_step>(std::move(a));
    tell_placed(r.placed);
    if (t)
        for (const tenon::detail::trace_record& one : r.traces)
            t->add(one, clock_of(server_->name(), incarnation_), in.id(), began, trace_time(transport_.now()));
    if (r.fetched.size() != q.fetches.size())
        throw data_loss_error("session: " + server_->name() + " answered " + std::to_string(r.fetched.size()) +
                              " arrays where " + std::to_string(q.fetches.size()) + " were fetched");
    for (std::size_t f = 0; f < q.fetches.size(); ++f) {
        if (const std::string why = misfit(r.fetched[f].type(), q.fetches[f].type()); !why.empty())
            throw data_loss_error("session: " + server_->name() + " answered " + to_string(r.fetched[f].type()) +
                                  " for " + q.fetches[f].name() + ", which is " + to_string(q.fetches[f].type()) +
                                  ": " + why);
        fetched[f] = std::move(r.fetched[f]);
    }
}

void remote_session::run(const known_callable& which, std::size_t feeds, const fetch_request& r,
                         const any_array* const* fed, any_array* fetched, double timeout, const step& in) {
    const observed<trace>::use tracing(traced_);
    run_step c = step_of(which, feeds, fed, timeout);
    c.traced = tracing.get() != nullptr;
    const std::int64_t began = c.traced ? trace_time(transport_.now()) : 0;
    const waited_for there = begin_step(which, c, in);
    (void)there->wait(transport_, never);
    take(there->take(), in, r, fetched, tracing.get(), began);
}

std::vector<any_array> remote_session::run(run_request&& r) {
    const fed_tensors fed = checked(r);
    step in;
    limit(in, r.timeout);
    std::vector<any_array> fetched(r.fetches.size() + 1);
    run(callable_for(fed.tensors, r, in), fed.tensors.size(), r, fed.values.data(), fetched.data(), r.timeout, in);
    fetched.pop_back();
    return fetched;
}

// One that was started. The link's threads complete what it waits for, and hold nothing else of it: a session that is gone with all
// that was made of it is closed, whatever is under way.
class remote_pending final : public pending_state {
public:
    remote_pending(std::shared_ptr<remote_session> s, fetch_request r, double timeout) :
        session_(std::move(s)), request_(std::move(r)) {
        session_->limit(in_, timeout);
    }

    const step& in() const { return in_; }
    void start(const remote_session::known_callable& which, const run_step& c) {
        there_ = session_->begin_step(which, c, in_, &call_);
    }
    void get(any_array* fetched) override {
        (void)there_->wait(session_->transport_, never);
        {
            const std::lock_guard lock(guard_);
            if (taken_)
                throw failed_precondition_error(
                    "pending_step::get: the results of this step were taken before; call it once");
            taken_ = true;
        }
        session_->take(there_->take(), in_, request_, fetched, nullptr, 0);
    }
    bool wait_for(double seconds) override {
        return there_->wait(session_->transport_, session_->transport_.now() + seconds_of(std::max(seconds, 0.0)));
    }
    // The server says whether it still could be.
    void stop() noexcept override {
        try {
            session_->server_->cancel(call_, seconds_of(seconds_longer));
        } catch (...) { // it ends by itself
        }
    }
    void expire() noexcept override {}

private:
    const std::shared_ptr<remote_session> session_;
    const fetch_request request_;
    step in_;
    remote_session::waited_for there_; // this and what follows is set before anybody has this
    std::uint64_t call_ = 0;
    std::mutex guard_; // of what follows
    bool taken_ = false;
};

class remote_callable final : public callable_state {
public:
    remote_callable(std::shared_ptr<remote_session> s, const std::vector<any_tensor>& feeds, const fetch_request& r) :
        callable_state(feeds, r), session_(std::move(s)) {}

    void run(const any_array* const* fed, any_array* fetched, double timeout) override {
        check(fed, timeout);
        step in;
        session_->limit(in, timeout);
        session_->run(on_server(in), feeds().size(), request(), fed, fetched, timeout, in);
    }
    std::shared_ptr<pending_state> start(std::vector<any_array> fed, double timeout) override {
        std::vector<const any_array*> values;
        for (const any_array& a : fed) values.push_back(&a);
        check(values.data(), timeout);
        auto p = std::make_shared<remote_pending>(session_, request(), timeout);
        const remote_session::known_callable which = on_server(p->in());
        p->start(which, session_->step_of(which, values.size(), values.data(), timeout));
        return p;
    }

private:
    void check(const any_array* const* fed, double timeout) const {
        session_->require_open();
        session_->require_limit(timeout);
        for (std::size_t i = 0; i < feeds().size(); ++i) session_->require_fit(feeds()[i], *fed[i]);
    }
    // Made with its first step.
    remote_session::known_callable on_server(const step& in) {
        {
            const std::lock_guard lock(guard_);
            if (on_server_) return on_server_;
        }
        remote_session::known_callable made = session_->callable_for(feeds(), request(), in);
        const std::lock_guard lock(guard_);
        if (!on_server_) on_server_ = std::move(made);
        return on_server_;
    }
    const std::shared_ptr<remote_session> session_;
    std::mutex guard_; // of what follows
    remote_session::known_callable on_server_;
};

std::shared_ptr<callable_state> remote_session::make_callable(const std::vector<any_tensor>& feeds,
                                                              const fetch_request& r) {
    require_open();
    require_request(feeds, r);
    return std::make_shared<remote_callable>(shared_from_this(), feeds, r);
}

step_report remote_session::report(run_request&& r) {
    const fed_tensors fed = checked(r);
    report_step c{.session = session_};
    const known_callable which = callable_for(fed.tensors, r, step());
    c.callable = which->number;
    for (const any_array* a : fed.values) c.fed.push_back(a->type());
    return ask(c, 0);
}

placement_explanation remote_session::explain(run_request&& r) {
    const fed_tensors fed = checked(r);
    explain_step c{.session = session_};
    const known_callable which = callable_for(fed.tensors, r, step());
    c.callable = which->number;
    for (const any_array* a : fed.values) c.fed.push_back(a->type());
    explain_step::reply told = ask(c, 0);
    tell_placed(told.placed);
    // Names of sizes are held by this process, whose graph has them.
    for (placement_explanation::edge& e : told.explanation.edges)
        for (int d = 0; d < e.type.extents.rank(); ++d)
            if (e.type.extents[d].is_named()) e.type.extents[d] = dynamic_extent;
    return std::move(told.explanation);
}

void remote_session::set_random_runs(const std::vector<run_count>& counts) {
    (void)ask(net::set_random_runs{session_, counts}, 0);
    runs_.go_on_from(counts);
}
session_statistics remote_session::statistics() const { return ask(ask_statistics{session_}, 0); }
std::vector<device_attributes> remote_session::list_devices() const {
    return ask(net::list_devices{session_}, 0).devices;
}
tenon::memory_info remote_session::memory_info(const device_name& device) const {
    return ask(ask_memory{session_, device}, 0);
}
void remote_session::set_measurements(cost_measurements* m) {
    if (m)
        throw unimplemented_error(
            "session::set_measurements: steps on a server are not measured; measure them in a session of this process");
}
void remote_session::note_started_runner(const any_tensor& queue) {
    session_state::note_started_runner(queue);
    extend(step());
    note(*server_, runner_started{session_, queue.node()->number}, incarnation_);
}

void remote_session::close() {
    set_closed();
    try {
        (void)ask(close_session{session_}, 5);
    } catch (const error&) { // a server that does not answer gives back by itself what the session holds
    }
    server_->end_calls(session_, true, error_code::cancelled, "the step was stopped: its session was closed");
    data_->stop();
}
void remote_session::end() noexcept {
    try {
        note(*server_, stop_steps{session_}, incarnation_);
        server_->end_calls(session_, false, error_code::cancelled, "the step was stopped: its session has ended");
    } catch (...) { // the link is gone, and with it they stop
    }
}

} // namespace tenon::net
