#include <net/client/remote_session.hpp>

#include <algorithm>

#include <net/link/asking.hpp>
#include <net/wire/trace_rows.hpp>

namespace tenon::net {

namespace {

using tenon::detail::callable_state;
using tenon::detail::fetch_request;
using tenon::detail::observed;
using tenon::detail::pending_state;
using tenon::detail::run_request;

// A server says itself that a limit has passed, and what was waited for; one that says nothing has so much more.
constexpr double grace = 1; // seconds

graph_output output_of(const any_tensor& t) { return {t.node()->number, t.index()}; }

} // namespace

remote_session::remote_session(transport& t, peer_options to, std::string own_name, const tenon::graph& g,
                               const session_options& o) :
    session_state(g, o), transport_(t), server_(peer::make(t, std::move(to))) {
    open_session c;
    c.client = std::move(own_name);
    c.settings = settings_of(o);
    c.limit = o.open_timeout > 0 ? o.open_timeout : 10;
    const time_point deadline = transport_.now() + seconds_of(c.limit);
    // A server that is not there yet is waited for.
    bool answered = false;
    answer connected;
    std::mutex guard;
    server_->connect(deadline, [&](answer a) {
        {
            const std::lock_guard lock(guard);
            connected = std::move(a);
            answered = true;
        }
        transport_.wake();
    });
    (void)transport_.work_until(
        [&] {
            const std::lock_guard lock(guard);
            return answered;
        },
        never);
    if (connected.failed) {
        const bool nobody =
            connected.code == error_code::deadline_exceeded || connected.code == error_code::unavailable;
        if (nobody)
            throw unavailable_error("session: there is no server at " + server_->name() + ": " + connected.message);
        throw_error(connected.code, "session: " + connected.message);
    }
    incarnation_ = server_->incarnation();
    try {
        const open_session::reply r = ask(c, c.limit);
        session_ = r.session;
        tell_placed(r.placed);
    } catch (const deadline_exceeded_error& late) { // it was there, and is no more
        throw unavailable_error(std::string("session: ") + late.what());
    }
}

// Waits for nothing: with the link the session ends.
remote_session::~remote_session() { server_->close(); }

time_point remote_session::deadline_of(double timeout) const {
    const double limit = timeout > 0 ? timeout : options.operation_timeout;
    return limit > 0 ? transport_.now() + seconds_of(limit + grace) : never;
}

// Of calls that do not wait for anybody else's steps.
template <class C> typename C::reply remote_session::ask(const C& c, double seconds) const {
    return net::ask(*server_, c, seconds > 0 ? transport_.now() + seconds_of(seconds + grace) : never, incarnation_);
}

void remote_session::tell_placed(const std::vector<std::string>& lines) const {
    if (lines.empty()) return;
    if (const auto log = placement_log())
        for (const std::string& line : lines) log(line);
}

// Sends what the graph has and the server's copy has not.
void remote_session::extend() {
    const std::lock_guard lock(extending_);
    graph_mark now;
    extend_graph c;
    c.session = session_;
    c.from = sent_.nodes;
    c.nodes = encode_nodes(graph, sent_, now);
    if (now.nodes == sent_.nodes && now.members == sent_.members && sent_.nodes > 0) return;
    (void)ask(c, 0);
    sent_ = std::move(now);
}

remote_session::known_callable remote_session::callable_for(const std::vector<any_tensor>& feeds,
                                                            const fetch_request& r) {
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
    extend();
    net::make_callable c;
    c.session = session_;
    for (const any_tensor& t : feeds) c.feeds.push_back(output_of(t));
    for (const any_tensor& t : r.fetches) c.fetches.push_back(output_of(t));
    for (const operation& o : r.targets) c.targets.push_back(o.node()->number);
    const known_callable made(new std::uint64_t(ask(c, 0).callable),
                              [to = server_, session = session_, life = incarnation_](const std::uint64_t* number) {
                                  try {
                                      note(*to, drop_callable{session, *number}, life);
                                  } catch (...) { // the session has ended
                                  }
                                  delete number;
                              });
    known_callable dropped; // after the lock is
    const std::lock_guard lock(guard_);
    const auto [at, isnew] = callables_.emplace(key, made);
    if (!isnew) return at->second; // another thread was faster
    by_age_.push_back(key);
    if (callables_.size() > kept) {
        const auto oldest = callables_.find(by_age_.front());
        dropped = std::move(oldest->second);
        callables_.erase(oldest);
        by_age_.pop_front();
    }
    return made;
}

run_step remote_session::step_of(const known_callable& which, std::size_t feeds, const any_array* const* fed,
                                 double timeout) const {
    run_step c;
    c.session = session_;
    c.callable = *which;
    c.timeout = timeout;
    // A call that failed may still be on its way when the caller's memory has gone.
    for (std::size_t i = 0; i < feeds; ++i)
        c.feeds.push_back(fed[i]->is_view() && fed[i]->bytes() > inline_bytes ? fed[i]->copy() : fed[i]->share());
    return c;
}

void remote_session::take(run_step::reply&& r, const fetch_request& q, any_array* fetched, trace* t,
                          std::int64_t began) const {
    tell_placed(r.placed);
    if (t) add_rows(*t, r.rows, began);
    if (r.fetched.size() != q.fetches.size())
        throw data_loss_error("session: " + server_->name() + " answered " + std::to_string(r.fetched.size()) +
                              " arrays where " + std::to_string(q.fetches.size()) + " were fetched");
    for (std::size_t f = 0; f < q.fetches.size(); ++f) {
        const std::string why = misfit(r.fetched[f].type(), q.fetches[f].type());
        if (!why.empty())
            throw data_loss_error("session: " + server_->name() + " answered " + to_string(r.fetched[f].type()) +
                                  " for " + q.fetches[f].name() + ", which is " + to_string(q.fetches[f].type()) +
                                  ": " + why);
        fetched[f] = std::move(r.fetched[f]);
    }
}

void remote_session::run(const known_callable& which, std::size_t feeds, const fetch_request& r,
                         const any_array* const* fed, any_array* fetched, double timeout) {
    const observed<trace>::use tracing(traced_);
    run_step c = step_of(which, feeds, fed, timeout);
    c.traced = tracing.get() != nullptr;
    const std::int64_t began = c.traced ? nanoseconds_now() : 0;
    take(net::ask(*server_, c, deadline_of(timeout), incarnation_), r, fetched, tracing.get(), began);
}

std::vector<any_array> remote_session::run(run_request&& r) {
    const fed_tensors fed = checked(r);
    std::vector<any_array> fetched(r.fetches.size() + 1);
    run(callable_for(fed.tensors, r), fed.tensors.size(), r, fed.values.data(), fetched.data(), r.timeout);
    fetched.pop_back();
    return fetched;
}

// One that was started. The link's threads complete what it waits for, and hold nothing else of it: a session that is gone with all
// that was made of it is closed, whatever is under way.
class remote_pending final : public pending_state {
public:
    remote_pending(std::shared_ptr<remote_session> s, fetch_request r) :
        session_(std::move(s)), request_(std::move(r)) {}

    void start(const run_step& c, double timeout) {
        call_ = call(
            *session_->server_, c, session_->deadline_of(timeout),
            [o = outcome_, &t = session_->transport_](answer a) {
                {
                    const std::lock_guard lock(o->guard);
                    o->a = std::move(a);
                    o->ended = true;
                }
                t.wake();
            },
            session_->incarnation_);
    }
    void get(any_array* fetched) override {
        (void)session_->transport_.work_until([&] { return has_ended(); }, never);
        answer a;
        {
            const std::lock_guard lock(outcome_->guard);
            if (taken_)
                throw failed_precondition_error(
                    "pending_step::get: the results of this step were taken before; call it once");
            taken_ = true;
            a = std::move(outcome_->a);
        }
        session_->take(read_answer<run_step>(std::move(a)), request_, fetched, nullptr, 0);
    }
    bool wait_for(double seconds) override {
        return session_->transport_.work_until([&] { return has_ended(); },
                                               session_->transport_.now() + seconds_of(std::max(seconds, 0.0)));
    }
    void stop() noexcept override {
        try {
            session_->server_->cancel(call_);
        } catch (...) { // it ends by itself
        }
    }
    void expire() noexcept override {}

private:
    struct outcome {
        std::mutex guard; // of what follows
        answer a;
        bool ended = false;
    };
    bool has_ended() const {
        const std::lock_guard lock(outcome_->guard);
        return outcome_->ended;
    }

    const std::shared_ptr<remote_session> session_;
    const fetch_request request_;
    const std::shared_ptr<outcome> outcome_ = std::make_shared<outcome>();
    std::uint64_t call_ = 0; // set before anybody has this
    bool taken_ = false;     // under the outcome's guard
};

class remote_callable final : public callable_state {
public:
    remote_callable(std::shared_ptr<remote_session> s, const std::vector<any_tensor>& feeds, const fetch_request& r) :
        callable_state(feeds, r), session_(std::move(s)) {}

    void run(const any_array* const* fed, any_array* fetched, double timeout) override {
        check(fed, timeout);
        session_->run(on_server(), feeds().size(), request(), fed, fetched, timeout);
    }
    std::shared_ptr<pending_state> start(std::vector<any_array> fed, double timeout) override {
        std::vector<const any_array*> values;
        for (const any_array& a : fed) values.push_back(&a);
        check(values.data(), timeout);
        auto p = std::make_shared<remote_pending>(session_, request());
        p->start(session_->step_of(on_server(), values.size(), values.data(), timeout), timeout);
        return p;
    }

private:
    void check(const any_array* const* fed, double timeout) const {
        session_->require_open();
        session_->require_limit(timeout);
        for (std::size_t i = 0; i < feeds().size(); ++i) session_->require_fit(feeds()[i], *fed[i]);
    }
    // Made with its first step.
    remote_session::known_callable on_server() {
        const std::lock_guard lock(guard_);
        if (!on_server_) on_server_ = session_->callable_for(feeds(), request());
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
    report_step c;
    c.session = session_;
    const known_callable which = callable_for(fed.tensors, r);
    c.callable = *which;
    for (const any_array* a : fed.values) c.fed.push_back(a->type());
    return ask(c, 0);
}

placement_explanation remote_session::explain(run_request&& r) {
    const fed_tensors fed = checked(r);
    explain_step c;
    c.session = session_;
    const known_callable which = callable_for(fed.tensors, r);
    c.callable = *which;
    for (const any_array* a : fed.values) c.fed.push_back(a->type());
    explain_step::reply told = ask(c, 0);
    tell_placed(told.placed);
    // Names of sizes are held by this process, whose graph has them.
    for (placement_explanation::edge& e : told.explanation.edges)
        for (int d = 0; d < e.type.extents.rank(); ++d)
            if (e.type.extents[d].is_named()) e.type.extents[d] = dynamic_extent;
    return std::move(told.explanation);
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
    extend();
    note(*server_, runner_started{session_, queue.node()->number}, incarnation_);
}

void remote_session::close() {
    set_closed();
    try {
        (void)ask(close_session{session_}, 5);
    } catch (const error&) { // a server that does not answer gives back by itself what the session holds
    }
}
void remote_session::end() noexcept {
    try {
        note(*server_, stop_steps{session_}, incarnation_);
    } catch (...) { // the link is gone, and with it they stop
    }
}

} // namespace tenon::net
