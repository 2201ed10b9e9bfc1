#include <net/master/master.hpp>

#include <algorithm>

#include <net/master/master_session.hpp>
#include <net/rpc/all_answers.hpp>
#include <net/rpc/answer.hpp>
#include <net/rpc/asking.hpp>
#include <net/wire/graph_codec.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/train/optimize/staleness.hpp>

namespace tenon::net {

namespace {

using tenon::detail::fetch_request;
using tenon::detail::local_callable;
using tenon::detail::local_session;
using tenon::detail::pending_state;
using tenon::detail::run_request;

// About what nodes take that come as so many bytes. Large arrays beside them are counted by themselves.
std::size_t bytes_of_nodes(const packed& nodes) { return 8 * nodes.body.size(); }

// What takes longer than a moment to read: about a hundred nodes.
constexpr std::size_t long_change = std::size_t{16} << 10;
// Of so many nodes a step is taken to be planned in less.
constexpr std::int64_t long_plan = 1000;

// What tn::staleness() gives, "staleness", or in a scope or where there are several "worker/staleness_1".
bool is_staleness(const any_tensor& t) {
    if (t.type().element != element_type::int64 || t.type().extents.rank() != 0) return false;
    const std::string& name = t.node()->name;
    std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
    if (!last.starts_with(tenon::detail::staleness_name)) return false;
    last.remove_prefix(std::string_view(tenon::detail::staleness_name).size());
    return last.empty() || (last[0] == '_' && last.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

} // namespace

master::master(transport& t, std::shared_ptr<tenon::detail::task_state> task, task_identity self, cluster c,
               peers& others, worker& own, fair_scheduler& on, work_counter& busy, master_limits limits) :
    transport_(t),
    task_(std::move(task)),
    self_(std::move(self)),
    cluster_(std::move(c)),
    others_(others),
    worker_(own),
    turns_(on),
    busy_(busy),
    limits_(limits) {}
master::~master() = default;

std::shared_ptr<master::session> master::find(link_number client, std::uint64_t number) const {
    const auto s = [&]() -> std::shared_ptr<session> {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(number);
        return at == sessions_.end() ? nullptr : at->second;
    }();
    // Another client's, and one that is being opened, is not told from none.
    const auto is_open = [&] {
        const std::lock_guard lock(s->guard);
        return s->steps != nullptr;
    };
    if (!s || s->client != client || !is_open())
        throw_lost_task(error_code::aborted,
                        "session: " + self_.name +
                            " has no such session: it was closed, or the server was restarted; open a new one");
    return s;
}

// f(session, C) gives the reply: in the session's order, and where there is much to read, in its turn.
template <Call C, class F> void master::on_change(dispatcher& calls, F f) {
    calls.on<C>([this, f](const call_context& in, message&& m, replier&& answer) {
        const auto s = find(in.link, session_of(m.body));
        const bool is_long = m.body.size() + m.payload_bytes() > long_change;
        in_order(s, is_long,
                 [token = busy_.enter(), s, f, held = std::make_shared<message>(std::move(m)),
                  to = std::make_shared<replier>(std::move(answer))] {
                     if (s->is_closed()) return to->fail(error_code::cancelled, "session: it was closed");
                     const payer_scope pays(s->memory.get());
                     answer_at_once<C>(*held, *to, [&](C&& c) { return f(*s, std::move(c)); });
                 });
    });
}

// f(session, C, replier) answers: it plans, which is long.
template <Call C, class F> void master::on_plan(dispatcher& calls, F f) {
    calls.on<C>([this, f](const call_context& in, message&& m, replier&& answer) {
        const auto s = find(in.link, session_of(m.body));
        const auto work = [token = busy_.enter(), s, f, held = std::make_shared<message>(std::move(m)),
                           to = std::make_shared<replier>(std::move(answer))] {
            const payer_scope pays(s->memory.get());
            answer_later<C>(*held, std::move(*to), [&](C&& c, replier& later) { f(*s, std::move(c), later); });
        };
        in_order(s, false, [this, s, work] { turns_.submit(s->number, true, work); });
    });
}

void master::handle(dispatcher& calls, std::function<linked_client(link_number)> client_of) {
    using in = const call_context&;
    calls.on<open_session>([this, client_of = std::move(client_of)](in c, open_session&& m, replier& to) {
        const linked_client from = client_of(c.link);
        open(c.link, from.who, from.memory, std::move(m), c.deadline, std::move(to));
    });
    on_change<extend_graph>(calls, [this](session& of, extend_graph&& m) { return extend(of, std::move(m)); });
    on_change<make_callable>(calls, [this](session& of, make_callable&& m) { return make(of, m); });
    calls.on<run_step>([this](in c, run_step&& m, replier& to) {
        run(find(c.link, m.session), std::move(m), c.deadline, std::move(to));
    });
    const auto request = [](session& of, std::uint64_t callable, const std::vector<tensor_type>& types) {
        alignas(64) static char nowhere[64]; // only types matter
        const auto c = of.find_callable(callable)->steps;
        run_request r;
        if (types.size() != c->feeds().size())
            throw invalid_argument_error("session: there are " + std::to_string(types.size()) + " types for " +
                                         std::to_string(c->feeds().size()) + " feeds");
        for (std::size_t i = 0; i < types.size(); ++i)
            r.feeds.push_back({c->feeds()[i], any_array::view(nowhere, types[i].element, types[i].extents)});
        r.fetches = c->request().fetches;
        r.targets = c->request().targets;
        return r;
    };
    // Other tasks say what is theirs when they have planned it.
    on_plan<report_step>(calls, [this, request](session& of, report_step&& m, replier& to) {
        const auto later = std::make_shared<replier>(std::move(to));
        answering(*later, [&] {
            of.steps->report_later(request(of, m.callable, m.fed), [token = busy_.enter(), later](auto report) {
                answering(*later, [&] { reply<report_step>(*later, report()); });
            });
        });
    });
    on_plan<explain_step>(calls, [request](session& of, explain_step&& m, replier& to) {
        explain_step::reply r{.explanation = of.steps->explain(request(of, m.callable, m.fed)),
                              .placed = of.take_placed()};
        reply<explain_step>(to, r);
    });
    calls.on<list_devices>(
        [this](in c, list_devices&& m) { return list_devices::reply{find(c.link, m.session)->steps->list_devices()}; });
    calls.on<ask_memory>([this](in c, ask_memory&& m, replier& to) {
        answer_memory(*find(c.link, m.session), m.device, c.deadline, std::move(to));
    });
    calls.on<ask_statistics>([this](in c, ask_statistics&& m) { return find(c.link, m.session)->steps->statistics(); });
    calls.on<set_random_runs>(
        [this](in c, set_random_runs&& m) { set_runs(*find(c.link, m.session), std::move(m.counts)); });
    calls.on<serve_data>(
        [this](in c, serve_data&& m, replier& to) { find(c.link, m.session)->data->wait_to_be_asked(std::move(to)); });
    calls.on<give_data>([this](in c, give_data&& m) { find(c.link, m.session)->data->take(std::move(m)); });
    calls.on<close_session>(
        [this](in c, close_session&& m, replier& to) { close_later(find(c.link, m.session), std::move(to)); });
    calls.on<reset_containers>(
        [this](in c, reset_containers&& m, replier& to) { reset(std::move(m), c.deadline, std::move(to)); });
    calls.on<drop_callable>([this](in c, drop_callable&& m) {
        const auto s = find(c.link, m.session);
        in_order(s, false, [token = busy_.enter(), s, m] {
            std::shared_ptr<session::callable> dropped; // ends after the lock does
            const std::lock_guard lock(s->guard);
            const auto at = s->callables.find(m.callable);
            if (at == s->callables.end()) return;
            dropped = std::move(at->second);
            s->callables.erase(at);
        });
    });
    calls.on<runner_started>([this](in c, runner_started&& m) {
        const auto s = find(c.link, m.session);
        in_order(s, false, [token = busy_.enter(), s, m] {
            try {
                s->steps->note_started_runner(s->tensor({m.queue, 0}));
            } catch (const error&) { // there is no such node
            }
        });
    });
    calls.on<stop_steps>([this](in c, stop_steps&& m) { stop_steps_of(find(c.link, m.session)); });
}

// Those that were asked for before; what is asked for later goes on.
void master::stop_steps_of(const std::shared_ptr<session>& s) {
    std::vector<std::uint64_t> all;
    {
        const std::lock_guard lock(s->guard);
        for (const auto& [request, r] : s->runs) all.push_back(request);
    }
    turns_.submit(fair_scheduler::of_server, all.size() > 64, [this, token = busy_.enter(), s, all = std::move(all)] {
        for (const std::uint64_t request : all) stop_one(*s, request);
    });
}

// One that has not begun is answered here.
void master::stop_one(session& s, std::uint64_t request) {
    std::shared_ptr<tenon::detail::pending_state> step;
    std::shared_ptr<session::running> unbegun;
    {
        const std::lock_guard lock(s.guard);
        const auto at = s.runs.find(request);
        if (at == s.runs.end()) return;
        at->second->cancelled = true;
        step = at->second->step.lock();
        if (!step && !at->second->begun && !std::exchange(at->second->over, true)) {
            unbegun = std::move(at->second);
            s.runs.erase(at);
        }
    }
    if (step) step->stop();
    if (!unbegun) return;
    if (unbegun->timer) (void)transport_.cancel(unbegun->timer);
    --s.under_way;
    ended_->add(step_outcome::cancelled, transport_.now() - unbegun->since);
    unbegun->to->fail(error_code::cancelled, "the step was stopped before it began");
}

// What a session asks for is done in its order as far as it needs it.
void master::in_order(const std::shared_ptr<session>& s, bool is_long, work_item task) {
    s->changes->post(turns_, s->number, is_long, std::move(task));
}

extend_graph::reply master::extend(session& s, extend_graph&& c) {
    if (c.from != s.graph.size())
        throw aborted_error("session: its graph has " + std::to_string(s.graph.size()) +
                            " nodes, and is extended from " + std::to_string(c.from) +
                            ": another client has extended it; open a session of your own");
    const std::size_t sent = c.nodes.size();
    std::size_t left = 0;
    {
        const std::lock_guard lock(s.guard);
        left = limits_.graph_bytes - s.graph_bytes;
    }
    memory_charge nodes(s.memory.get(), bytes_of_nodes(c.nodes));
    append_nodes(s.graph, c.nodes, {limits_.nodes, left});
    for (std::int64_t n = c.from; n < s.graph.size(); ++n)
        if (s.graph.at(n)->op->is(op_flags::of_program))
            for (const auto& d : task_->devices) // the same one, however many iterators there are
                d->resources().find_or_make<element_sources>(s.container(), "", [&] { return s.data; });
    const std::lock_guard lock(s.guard);
    s.nodes.add(std::move(nodes));
    s.graph_bytes += sent;
    return {s.graph.size()};
}

make_callable::reply master::make(session& s, const make_callable& c) {
    std::vector<any_tensor> feeds;
    fetch_request r;
    for (const graph_output& o : c.feeds) feeds.push_back(s.tensor(o));
    for (const graph_output& o : c.fetches) r.fetches.push_back(s.tensor(o));
    for (const std::int64_t n : c.targets) r.targets.push_back(operation(const_cast<node*>(s.at(n))));
    auto made = std::make_shared<session::callable>();
    made->steps = std::static_pointer_cast<local_callable>(s.steps->make_callable(feeds, r));
    made->is_long = s.graph.size() > long_plan;
    for (std::size_t f = 0; f < r.fetches.size(); ++f)
        if (is_staleness(r.fetches[f])) made->stale.push_back(f);
    const std::lock_guard lock(s.guard);
    if (s.callables.size() >= limits_.callables)
        throw resource_exhausted_error("session: it has " + std::to_string(s.callables.size()) +
                                       " callables, which is as many as the server takes; drop some");
    s.callables.emplace(++s.last_callable, std::move(made));
    return {s.last_callable};
}

// Links keep the order: who is asked for a step after this has heard of it.
void master::set_runs(const session& s, std::vector<run_count>&& counts) {
    s.steps->set_random_runs(counts);
    const go_on_from_runs all{s.number, std::move(counts)};
    for (const session_tasks::task& t : s.tasks->tasks->tasks)
        if (t.at) note(*t.at, all, t.incarnation);
}

// What a device of another task holds, that task says.
void master::answer_memory(const session& s, const device_name& asked, time_point deadline, replier&& answer) {
    const std::vector<device_attributes> all = s.steps->list_devices();
    const auto at = std::find_if(all.begin(), all.end(), [&](const device_attributes& d) {
        return !asked.type.empty() && asked.allows(d.name);
    });
    if (at == all.end() || name_of(at->name.job.str(), at->name.task) == self_.name) {
        reply<ask_memory>(answer, s.steps->memory_info(asked));
        return;
    }
    const device_name which = at->name;
    call(*others_.to(which.job.str(), which.task), ask_task_status{}, deadline,
         [which, to = std::make_shared<replier>(std::move(answer))](net::answer a) {
             try {
                 const task_row row = read_answer<ask_task_status>(std::move(a));
                 for (const device_row& d : row.devices)
                     if (d.device.name == which) {
                         reply<ask_memory>(*to, d.memory);
                         return;
                     }
                 throw not_found_error(row.task + " has no device " + to_string(which) + " any more");
             } catch (...) {
                 fail(*to, std::current_exception());
             }
         });
}

void master::cancelled(link_number client, std::uint64_t request) {
    for (const auto& s : all_sessions(client)) stop_one(*s, request);
}

// Nothing of it is begun any more, nothing is asked of its client, and nobody finds it; false where that was so.
bool master::shut(session& s) {
    s.data->end(failure_of([&] {
        return cancelled_error("a data set of " + s.name + " (" + s.address +
                               ") is not there any more: its session was closed; initialise an iterator that others "
                               "use with another data set, or reset its container");
    }));
    {
        const std::lock_guard lock(guard_);
        sessions_.erase(s.number);
    }
    turns_.forget(s.number);
    const std::lock_guard lock(s.guard);
    if (s.closed) return false;
    s.closed = true;
    for (const auto& [request, r] : s.runs) r->cancelled = true;
    return true;
}

void master::close(const std::shared_ptr<session>& s) {
    if (shut(*s)) end_steps(*s);
}

// The same; what takes long, where there is much to end, by another thread.
void master::close_later(const std::shared_ptr<session>& s, replier&& answer) {
    const auto told = std::make_shared<replier>(std::move(answer));
    const auto tell = [told] {
        if (*told) reply<close_session>(*told, {});
    };
    if (!shut(*s)) return tell();
    const bool is_long = s->under_way > 64 || s->graph.size() > long_plan;
    turns_.submit(fair_scheduler::of_server, is_long, [this, token = busy_.enter(), s, tell] {
        end_steps(*s);
        tell();
    });
}

void master::end_steps(session& s) {
    std::map<std::uint64_t, std::shared_ptr<session::callable>> dropped;
    std::shared_ptr<local_session> steps;
    std::vector<std::shared_ptr<pending_state>> running;
    {
        const std::lock_guard lock(s.guard);
        dropped.swap(s.callables);
        steps = s.steps;
        for (const auto& [request, r] : s.runs)
            if (auto step = r->step.lock()) running.push_back(std::move(step));
    }
    if (steps) steps->close();
    for (const auto& step : running) step->stop(); // what computes, too
    end_on_tasks(s);
}

void master::end_on_tasks(const session& s) {
    const message m = message_of(end_session{s.number});
    for (const session_tasks::task& t : s.tasks->tasks->tasks)
        if (t.at && t.incarnation)
            t.at->call(
                m.verb, m.body, {}, never, [](const net::answer&) {}, t.incarnation);
    worker_.all_rendezvous().end_session(s.number);
}

void master::peer_lost(link_number client) {
    for (const auto& s : all_sessions(client)) close_later(s);
}

std::vector<std::shared_ptr<master::session>> master::all_sessions(std::optional<link_number> of) const {
    std::vector<std::shared_ptr<session>> all;
    const std::lock_guard lock(guard_);
    for (const auto& [number, s] : sessions_)
        if (!of || s->client == *of) all.push_back(s);
    return all;
}

void master::end_data() {
    const auto why = failure_of([&] { return unavailable_error(self_.name + " is stopping"); });
    for (const auto& s : all_sessions()) s->data->end(why);
}

void master::stop() {
    {
        const std::lock_guard lock(guard_);
        stopping_ = true;
    }
    for (const auto& s : all_sessions()) close(s);
}

// All tasks that can be reached do so, also where others cannot.
void master::reset(reset_containers&& c, time_point deadline, replier&& answer) {
    deadline = std::min(deadline, transport_.now() + seconds_of(c.limit > 0 ? c.limit : limits_.open_seconds));
    const auto all = std::make_shared<all_answers>(
        [to = std::make_shared<replier>(std::move(answer))](const std::vector<std::string>& missing) {
            if (missing.empty()) reply<reset_containers>(*to, {});
            else
                to->fail(error_code::unavailable,
                         "reset: the containers were reset but on tasks that did not answer:" + in_lines(missing),
                         error_reason::lost_task);
        });
    task_->reset(c.containers);
    const message m = message_of(reset_task{c.containers});
    others_.each([&](const std::string& job, int index) {
        const auto at = others_.to(job, index);
        all->expect();
        at->call(m.verb, m.body, {}, deadline, [all, at](const net::answer& a) { all->came(*at, a); });
    });
    all->came();
}

std::vector<session_row> master::sessions() const {
    std::vector<session_row> rows;
    const std::lock_guard lock(guard_);
    const auto seconds = [&](time_point since) {
        return std::chrono::duration<double>(transport_.now() - since).count();
    };
    for (const auto& [number, s] : sessions_) {
        const std::lock_guard own(s->guard);
        rows.push_back({number, s->name, s->address, seconds(s->opened), seconds(s->used), s->graph.size(),
                        static_cast<std::int64_t>(s->callables.size()), s->begun});
    }
    return rows;
}

std::vector<step_row> master::running() const {
    struct begun {
        step_row row;
        std::shared_ptr<pending_state> step;
    };
    std::vector<begun> all;
    {
        const time_point now = transport_.now();
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_) {
            const std::lock_guard own(s->guard);
            for (const auto& [request, r] : s->runs)
                all.push_back({{number, r->number, std::chrono::duration<double>(now - r->since).count(), r->limit, {}},
                               r->step.lock()});
        }
    }
    std::vector<step_row> rows;
    for (begun& b : all) {
        if (b.step)
            for (const runtime::awaited& a : local_callable::waits_of(*b.step))
                b.row.waits.push_back({a.origin ? a.origin->name : "the step", a.origin ? a.origin->op->name : "part",
                                       self_.name, a.what, a.seconds, a.receives ? 0 : -1, -1});
        rows.push_back(std::move(b.row));
    }
    return rows;
}

std::size_t master::steps_in_flight() const {
    std::size_t sum = 0;
    const std::lock_guard lock(guard_);
    for (const auto& [number, s] : sessions_) {
        const std::lock_guard own(s->guard);
        sum += s->runs.size();
    }
    return sum;
}

} // namespace tenon::net
