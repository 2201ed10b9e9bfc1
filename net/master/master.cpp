#include <net/master/master.hpp>

#include <algorithm>

#include <net/link/asking.hpp>
#include <net/master/master_session.hpp>
#include <net/wire/graph_codec.hpp>
#include <net/worker/all_answers.hpp>
#include <net/worker/answer.hpp>

namespace tenon::net {

namespace {

using tenon::detail::fetch_request;
using tenon::detail::local_callable;
using tenon::detail::local_session;
using tenon::detail::pending_state;
using tenon::detail::run_request;

} // namespace

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
        throw aborted_error("session: " + self_.name +
                            " has no such session: it was closed, or the server was restarted; open a new one");
    return s;
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
        answer_later<ask_memory>(m, std::move(answer), [&](ask_memory&& c, replier& to) {
            answer_memory(*find(client, c.session), c.device, deadline, std::move(to));
        });
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
        } else if (v == verb::stop_steps) {
            const auto s = find(client, read<stop_steps>(m).session);
            s->steps->end();
            const std::lock_guard lock(s->guard);
            for (const auto& [request, r] : s->runs)
                if (r->step.expired()) r->cancelled = true; // about to begin
        }
    } catch (const error&) { // of a session that has ended
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
    std::vector<std::shared_ptr<pending_state>> running;
    {
        const std::lock_guard lock(s->guard);
        if (s->closed) return;
        s->closed = true;
        dropped.swap(s->callables);
        steps = s->steps;
        for (const auto& [request, r] : s->runs) {
            r->cancelled = true;
            if (auto step = r->step.lock()) running.push_back(std::move(step));
        }
    }
    if (steps) steps->close();
    for (const auto& step : running) step->stop(); // what computes, too
    end_on_tasks(*s);
}

void master::end_on_tasks(const session& s) {
    const message m = message_of(end_session{s.number});
    for (const session_tasks::task& t : s.tasks->tasks->tasks)
        if (t.at && t.incarnation)
            t.at->call(
                m.verb, m.body, {}, never, [](const net::answer&) {}, t.incarnation);
    worker_.meetings().end_session(s.number);
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
void master::reset(reset_containers&& c, time_point deadline, replier&& answer) {
    deadline = std::min(deadline, transport_.now() + seconds_of(c.limit > 0 ? c.limit : limits_.open_seconds));
    const auto all = std::make_shared<all_answers>(
        [to = std::make_shared<replier>(std::move(answer))](const std::vector<std::string>& missing) {
            if (missing.empty()) reply<reset_containers>(*to, {});
            else
                to->fail(error_code::unavailable,
                         "reset: the containers were reset but on tasks that did not answer:" + in_lines(missing));
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
