#include <net/master/master.hpp>

#include <algorithm>
#include <optional>
#include <set>

#include <net/link/asking.hpp>
#include <net/wire/graph_codec.hpp>
#include <net/worker/answer.hpp>
#include <tenon/runtime/run/trace.hpp>
#include <tenon/runtime/session/local_session.hpp>

namespace tenon::net {

namespace {

using tenon::detail::fetch_request;
using tenon::detail::local_callable;
using tenon::detail::local_session;
using tenon::detail::pending_state;
using tenon::detail::run_request;

} // namespace

// A client's.
struct master::session {
    std::uint64_t number = 0;
    link_number client = 0;
    std::string name, address; // of the client
    session_settings settings;
    std::shared_ptr<master_tasks> tasks;
    tenon::graph graph;
    std::shared_ptr<local_session> steps;
    time_point opened{};

    // One that was asked for and has not been answered.
    struct running {
        bool cancelled = false;
        std::weak_ptr<pending_state> step;
        std::uint64_t timer = 0;
    };
    std::mutex guard; // of what follows
    bool closed = false;
    std::size_t graph_bytes = 0;
    std::map<std::uint64_t, std::shared_ptr<local_callable>> callables;
    std::uint64_t last_callable = 0, begun = 0;
    std::map<std::uint64_t, std::shared_ptr<running>> runs; // by the request
    std::vector<std::string> placed;                        // lines that the client has not been told
    time_point used{};

    std::vector<std::string> take_placed() {
        const std::lock_guard lock(guard);
        return std::exchange(placed, {});
    }
    any_tensor tensor(const graph_output& o) const {
        const node* n = at(o.node);
        if (o.index < 0 || o.index >= static_cast<std::int32_t>(n->outputs.size()))
            throw invalid_argument_error("session: " + n->name + " has no output " + std::to_string(o.index));
        return any_tensor({const_cast<node*>(n), o.index});
    }
    const node* at(std::int64_t n) const {
        if (n < 0 || n >= graph.size())
            throw invalid_argument_error("session: its graph has no node " + std::to_string(n) + "; it has " +
                                         std::to_string(graph.size()));
        return graph.at(n);
    }
    std::shared_ptr<local_callable> callable(std::uint64_t n) {
        const std::lock_guard lock(guard);
        const auto at = callables.find(n);
        if (at == callables.end())
            throw not_found_error("session: it has no callable " + std::to_string(n) + "; it was dropped");
        return at->second;
    }
};

// A session until its tasks have answered.
struct master::opening {
    std::shared_ptr<session> made;
    std::vector<device_name> names; // of the other tasks
    std::vector<std::vector<device_attributes>> devices;
    double limit = 0;
    time_point deadline{};
    replier answer;

    std::mutex guard; // of what follows
    std::size_t left = 0;
    std::vector<std::string> missing;
    error_code code = error_code::unavailable;

    // True for the last.
    bool one_less(const std::string& trouble = {}) {
        const std::lock_guard lock(guard);
        if (!trouble.empty()) missing.push_back(trouble);
        return --left == 0;
    }
};

master::master(transport& t, std::shared_ptr<tenon::detail::task_state> task, task_identity self, cluster c,
               peers& others, worker& own, users& busy, master_limits limits) :
    transport_(t),
    task_(std::move(task)),
    self_(std::move(self)),
    cluster_(std::move(c)),
    others_(others),
    worker_(own),
    busy_(busy),
    limits_(limits) {}
master::~master() = default;

std::shared_ptr<master::session> master::find(link_number client, std::uint64_t number) const {
    const std::lock_guard lock(guard_);
    const auto at = sessions_.find(number);
    // Another client's is not told from none.
    if (at == sessions_.end() || at->second->client != client)
        throw aborted_error("session: " + self_.name +
                            " has no such session: it was closed, or the server was restarted; open a new one");
    return at->second;
}

void master::called(link_number client, const link_peer& who, verb v, message&& m, time_point deadline,
                    replier answer) {
    switch (v) {
    case verb::open_session:
        answer_later<open_session>(m, std::move(answer), [&](open_session&& c, replier& to) {
            open(client, who, std::move(c), deadline, std::move(to));
        });
        break;
    case verb::extend_graph:
        answer_at_once<extend_graph>(m, answer,
                                     [&](extend_graph&& c) { return extend(*find(client, c.session), std::move(c)); });
        break;
    case verb::make_callable:
        answer_at_once<make_callable>(m, answer, [&](make_callable&& c) { return make(*find(client, c.session), c); });
        break;
    case verb::run_step:
        answer_later<run_step>(m, std::move(answer), [&](run_step&& c, replier& to) {
            run(find(client, c.session), std::move(c), std::move(to));
        });
        break;
    case verb::report_step:
    case verb::explain_step:
        // It plans, which is the pool's.
        task_->pool->submit([this, token = busy_.enter(), client, v, held = std::make_shared<message>(std::move(m)),
                             to = std::make_shared<replier>(std::move(answer))] {
            const auto request = [&](session& s, std::uint64_t callable, const std::vector<tensor_type>& types) {
                alignas(64) static char nowhere[64]; // only types matter
                const auto c = s.callable(callable);
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
            if (v == verb::report_step)
                answer_at_once<report_step>(*held, *to, [&](report_step&& c) {
                    const auto s = find(client, c.session);
                    return s->steps->report(request(*s, c.callable, c.fed));
                });
            else
                answer_at_once<explain_step>(*held, *to, [&](explain_step&& c) {
                    const auto s = find(client, c.session);
                    explain_step::reply r;
                    r.explanation = s->steps->explain(request(*s, c.callable, c.fed));
                    r.placed = s->take_placed();
                    return r;
                });
        });
        break;
    case verb::list_devices:
        answer_at_once<list_devices>(m, answer, [&](list_devices&& c) {
            return list_devices::reply{find(client, c.session)->steps->list_devices()};
        });
        break;
    case verb::ask_memory:
        answer_at_once<ask_memory>(
            m, answer, [&](ask_memory&& c) { return find(client, c.session)->steps->memory_info(c.device); });
        break;
    case verb::ask_statistics:
        answer_at_once<ask_statistics>(
            m, answer, [&](ask_statistics&& c) { return find(client, c.session)->steps->statistics(); });
        break;
    case verb::close_session:
        answer_at_once<close_session>(m, answer, [&](close_session&& c) { close(find(client, c.session)); });
        break;
    case verb::reset_containers:
        answer_later<reset_containers>(m, std::move(answer), [&](reset_containers&& c, replier& to) {
            reset(std::move(c), deadline, std::move(to));
        });
        break;
    default: answer.fail(error_code::unimplemented, std::string("a master is not called ") + name_of(v));
    }
}

void master::noted(link_number client, verb v, message&& m) {
    try {
        if (v == verb::drop_callable) {
            const drop_callable c = read<drop_callable>(m);
            std::shared_ptr<local_callable> dropped; // ends after the lock does
            const auto s = find(client, c.session);
            const std::lock_guard lock(s->guard);
            if (const auto at = s->callables.find(c.callable); at != s->callables.end()) {
                dropped = std::move(at->second);
                s->callables.erase(at);
            }
        } else if (v == verb::runner_started) {
            const runner_started c = read<runner_started>(m);
            const auto s = find(client, c.session);
            s->steps->note_started_runner(s->tensor({c.queue, 0}));
        }
    } catch (const error&) { // of a session that has ended
    }
}

void master::open(link_number client, const link_peer& who, open_session&& c, time_point deadline, replier answer) {
    auto o = std::make_shared<opening>();
    auto s = o->made = std::make_shared<session>();
    s->number = random_incarnation();
    s->client = client;
    s->name = std::move(c.client);
    s->address = who.address;
    s->settings = std::move(c.settings);
    s->opened = s->used = transport_.now();
    s->tasks = std::make_shared<master_tasks>();
    s->tasks->meetings = &worker_.meetings();
    s->tasks->time = &transport_;
    s->tasks->tasks = std::make_shared<session_tasks>();
    s->tasks->tasks->session = s->number;
    s->tasks->tasks->tasks.push_back({self_.name, nullptr, self_.incarnation});
    {
        const std::lock_guard lock(guard_);
        if (stopping_) throw unavailable_error(self_.name + " is stopping");
        const auto of_client = std::count_if(sessions_.begin(), sessions_.end(),
                                             [&](const auto& x) { return x.second->client == client; });
        if (sessions_.size() >= limits_.sessions || static_cast<std::size_t>(of_client) >= limits_.sessions_of_client)
            throw resource_exhausted_error("session: " + self_.name + " holds " + std::to_string(sessions_.size()) +
                                           " sessions, " + std::to_string(of_client) +
                                           " of them this client's, which is as many as it takes; close some");
        sessions_.emplace(s->number, s); // counted from here on
        ++opened_;
    }
    for (const std::string& job : cluster_.jobs())
        for (const int index : cluster_.tasks(job)) {
            device_name name("/job:" + job + "/task:" + std::to_string(index));
            if (name_of(job, index) == self_.name || !s->settings.uses(name)) continue;
            s->tasks->tasks->tasks.push_back({name_of(job, index), others_.to(job, index), 0});
            o->names.push_back(name);
        }
    o->devices.resize(o->names.size());
    o->limit = c.limit > 0 ? c.limit : limits_.open_seconds;
    o->deadline = std::min(deadline, transport_.now() + seconds_of(o->limit));
    o->answer = std::move(answer);
    o->left = o->names.size();
    if (o->left == 0) {
        finish(o);
        return;
    }
    for (std::size_t t = 0; t < o->names.size(); ++t) {
        const std::shared_ptr<peer> at = s->tasks->tasks->tasks[t + 1].at;
        at->connect(o->deadline, [this, o, t, at](net::answer connected) {
            if (connected.failed) {
                if (o->one_less(at->name() + ": " + connected.message)) begin_on_tasks(o);
                return;
            }
            call(*at, describe_task{}, o->deadline, [this, o, t, at](net::answer a) {
                std::string trouble;
                try {
                    describe_task::reply r = read_answer<describe_task>(std::move(a));
                    if (!r.cluster.empty() && !self_.cluster.empty() && r.cluster != self_.cluster)
                        throw failed_precondition_error("it is a task of another cluster, " + r.cluster);
                    o->made->tasks->tasks->tasks[t + 1].incarnation = r.incarnation;
                    o->devices[t] = std::move(r.devices);
                } catch (const error& e) {
                    trouble = at->name() + ": " + e.what();
                }
                if (o->one_less(trouble)) begin_on_tasks(o);
            });
        });
    }
}

// All have said who they are, or did not answer.
void master::begin_on_tasks(const std::shared_ptr<opening>& o) {
    if (!o->missing.empty()) {
        finish(o);
        return;
    }
    session& s = *o->made;
    begin_session c;
    c.session = s.number;
    c.client = s.name;
    c.container = "session\x1f" + std::to_string(s.number);
    c.settings = s.settings;
    for (const session_tasks::task& t : s.tasks->tasks->tasks) c.tasks.push_back({t.name, {}, t.incarnation});
    o->left = o->names.size();
    const message m = message_of(c);
    for (std::size_t t = 0; t < o->names.size(); ++t) {
        const session_tasks::task& at = s.tasks->tasks->tasks[t + 1];
        at.at->call(
            m.verb, m.body, {}, o->deadline,
            [this, o, at = at.at](net::answer a) {
                if (o->one_less(a.failed ? at->name() + ": " + a.message : std::string())) finish(o);
            },
            at.incarnation);
    }
}

void master::finish(const std::shared_ptr<opening>& o) {
    const std::shared_ptr<session> s = o->made;
    try {
        if (!o->missing.empty()) {
            std::sort(o->missing.begin(), o->missing.end());
            std::string all;
            for (const std::string& m : o->missing) all += "\n  " + m;
            throw unavailable_error(
                "session: within " + in_words(seconds_of(o->limit)) + " " + std::to_string(o->missing.size()) +
                " of the " + std::to_string(o->names.size() + 1) + " tasks of the cluster did not answer:" + all);
        }
        tenon::detail::remote_tasks others;
        for (std::size_t t = 0; t < o->names.size(); ++t)
            others.tasks.push_back(std::make_shared<remote_worker>(s->tasks, static_cast<int>(t + 1), o->devices[t]));
        others.exchange = std::make_shared<master_exchange>(s->tasks);
        worker_.meetings().begin_session(s->number);
        session_options options = options_of(s->settings);
        options.placement_log = [weak = std::weak_ptr(s)](const std::string& line) {
            const auto at = weak.lock();
            if (!at) return;
            const std::lock_guard lock(at->guard);
            at->placed.push_back(line);
        };
        auto steps = std::make_shared<local_session>(s->graph, options,
                                                     std::vector<std::shared_ptr<tenon::detail::task_state>>{task_},
                                                     std::move(others), "session\x1f" + std::to_string(s->number));
        {
            const std::lock_guard lock(s->guard);
            if (s->closed) throw cancelled_error("session: its client has gone");
            s->steps = std::move(steps);
        }
        open_session::reply r;
        r.session = s->number;
        r.most_nodes = static_cast<std::uint64_t>(limits_.nodes);
        r.most_bytes = limits_.graph_bytes;
        r.devices = s->steps->list_devices();
        r.placed = s->take_placed();
        reply<open_session>(o->answer, r);
    } catch (...) {
        close(s);
        fail(o->answer, std::current_exception());
    }
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
    append_nodes(s.graph, c.nodes, {limits_.nodes, left});
    const std::lock_guard lock(s.guard);
    s.graph_bytes += sent;
    return {s.graph.size()};
}

make_callable::reply master::make(session& s, const make_callable& c) {
    std::vector<any_tensor> feeds;
    fetch_request r;
    for (const graph_output& o : c.feeds) feeds.push_back(s.tensor(o));
    for (const graph_output& o : c.fetches) r.fetches.push_back(s.tensor(o));
    for (const std::int64_t n : c.targets) r.targets.push_back(operation(const_cast<node*>(s.at(n))));
    auto made = std::static_pointer_cast<local_callable>(s.steps->make_callable(feeds, r));
    const std::lock_guard lock(s.guard);
    if (s.callables.size() >= limits_.callables)
        throw resource_exhausted_error("session: it has " + std::to_string(s.callables.size()) +
                                       " callables, which is as many as the server takes; drop some");
    s.callables.emplace(++s.last_callable, std::move(made));
    return {s.last_callable};
}

void master::run(const std::shared_ptr<session>& s, run_step&& c, replier answer) {
    auto callable = s->callable(c.callable);
    if (c.feeds.size() != callable->feeds().size())
        throw invalid_argument_error("session: a step that is fed " + std::to_string(callable->feeds().size()) +
                                     " tensors was given " + std::to_string(c.feeds.size()));
    auto r = std::make_shared<session::running>();
    const std::uint64_t request = answer.request();
    {
        const std::lock_guard lock(s->guard);
        s->runs[request] = r;
        s->used = transport_.now();
        ++s->begun;
    }
    const double limit = c.timeout > 0 ? c.timeout : s->settings.operation_timeout;
    if (limit > 0) {
        const auto at = transport_.now() + seconds_of(limit);
        r->timer = transport_.call_at(at, [s, weak = std::weak_ptr(r)] {
            const auto late = weak.lock();
            if (!late) return;
            std::shared_ptr<pending_state> step;
            {
                const std::lock_guard lock(s->guard);
                step = late->step.lock();
            }
            if (step) step->expire();
        });
    }
    auto traced = c.traced ? std::make_shared<trace>() : nullptr;
    const std::int64_t began = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    auto to = std::make_shared<replier>(std::move(answer));
    auto ended = [this, token = busy_.enter(), s, r, request, traced, began, to](std::vector<any_array> fetched,
                                                                                 std::exception_ptr failed) {
        if (r->timer) (void)transport_.cancel(r->timer);
        {
            const std::lock_guard lock(s->guard);
            s->runs.erase(request);
        }
        if (failed) {
            fail(*to, failed);
            return;
        }
        run_step::reply told;
        told.fetched = std::move(fetched);
        if (traced)
            traced->each([&](const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
                             std::int64_t end) {
                told.rows.push_back({name, op, row, begin - began, end - began});
            });
        if (s->settings.log_device_placement) told.placed = s->take_placed();
        reply<run_step>(*to, told);
    };
    // What is not planned yet is planned first, which takes long: it is the pool's.
    // Whoever is the last to hold the session, the server stays until that has ended: `busy` goes after all else.
    task_->pool->submit([busy = busy_.enter(), s, r, callable,
                         feeds = std::make_shared<std::vector<any_array>>(std::move(c.feeds)), timeout = c.timeout,
                         traced, ended = std::move(ended)]() mutable {
        try {
            {
                const std::lock_guard lock(s->guard);
                if (r->cancelled || s->closed) throw cancelled_error("the step was stopped before it began");
            }
            const auto step = callable->start(std::move(*feeds), timeout, traced.get(), ended);
            bool cancelled = false;
            {
                const std::lock_guard lock(s->guard);
                r->step = step;
                cancelled = r->cancelled;
            }
            if (cancelled) step->stop();
        } catch (...) {
            ended({}, std::current_exception());
        }
    });
}

void master::cancelled(link_number client, std::uint64_t request) {
    std::vector<std::shared_ptr<session>> all;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_)
            if (s->client == client) all.push_back(s);
    }
    for (const auto& s : all) {
        std::shared_ptr<pending_state> step;
        {
            const std::lock_guard lock(s->guard);
            const auto at = s->runs.find(request);
            if (at == s->runs.end()) continue;
            at->second->cancelled = true;
            step = at->second->step.lock();
        }
        if (step) step->stop();
    }
}

void master::close(const std::shared_ptr<session>& s) {
    {
        const std::lock_guard lock(guard_);
        sessions_.erase(s->number);
    }
    std::map<std::uint64_t, std::shared_ptr<local_callable>> dropped;
    std::shared_ptr<local_session> steps;
    {
        const std::lock_guard lock(s->guard);
        if (s->closed) return;
        s->closed = true;
        dropped.swap(s->callables);
        steps = s->steps;
    }
    if (steps) steps->close();
    const message m = message_of(end_session{s->number});
    for (const session_tasks::task& t : s->tasks->tasks->tasks)
        if (t.at && t.incarnation)
            t.at->call(
                m.verb, m.body, {}, never, [](const net::answer&) {}, t.incarnation);
    worker_.meetings().end_session(s->number);
}

void master::peer_lost(link_number client) {
    std::vector<std::shared_ptr<session>> lost;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_)
            if (s->client == client) lost.push_back(s);
    }
    for (const auto& s : lost) close(s);
}

void master::stop() {
    std::vector<std::shared_ptr<session>> all;
    {
        const std::lock_guard lock(guard_);
        stopping_ = true;
        for (const auto& [number, s] : sessions_) all.push_back(s);
    }
    for (const auto& s : all) close(s);
}

// All tasks that can be reached do so, also where others cannot.
void master::reset(reset_containers&& c, time_point deadline, replier answer) {
    struct resetting {
        std::mutex guard; // of what follows
        std::size_t left = 1;
        std::vector<std::string> missing;
        replier answer;
    };
    auto all = std::make_shared<resetting>();
    all->answer = std::move(answer);
    const double limit = c.limit > 0 ? c.limit : limits_.open_seconds;
    deadline = std::min(deadline, transport_.now() + seconds_of(limit));
    const auto one_less = [all](const std::string& trouble) {
        {
            const std::lock_guard lock(all->guard);
            if (!trouble.empty()) all->missing.push_back(trouble);
            if (--all->left > 0) return;
        }
        if (all->missing.empty()) {
            reply<reset_containers>(all->answer, {});
            return;
        }
        std::string names;
        for (const std::string& m : all->missing) names += "\n  " + m;
        all->answer.fail(error_code::unavailable,
                         "reset: the containers were reset but on tasks that did not answer:" + names);
    };
    task_->reset(c.containers);
    const message m = message_of(reset_task{c.containers});
    for (const std::string& job : cluster_.jobs())
        for (const int index : cluster_.tasks(job)) {
            if (name_of(job, index) == self_.name) continue;
            {
                const std::lock_guard lock(all->guard);
                ++all->left;
            }
            const auto at = others_.to(job, index);
            at->call(m.verb, m.body, {}, deadline, [one_less, at](const net::answer& a) {
                one_less(a.failed ? at->name() + ": " + a.message : std::string());
            });
        }
    one_less({});
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
