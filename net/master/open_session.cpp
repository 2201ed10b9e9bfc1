#include <algorithm>
#include <atomic>

#include <net/master/master_session.hpp>
#include <net/rpc/all_answers.hpp>
#include <net/rpc/answer.hpp>
#include <net/rpc/asking.hpp>

/// How a session begins: all of its tasks are there, say what they have, and know of it.

namespace tenon::net {

// A session until its tasks have answered.
struct master::opening {
    std::shared_ptr<void> busy; // goes last
    std::shared_ptr<session> made;
    std::vector<std::vector<device_attributes>> devices; // by task
    double limit = 0;
    time_point deadline{};
    replier answer;
    std::atomic<bool> lost{false}; // one was there, and is no more

    void note(const net::answer& a) {
        if (a.failed && a.names_peer && (a.code == error_code::unavailable || a.code == error_code::aborted))
            lost = true;
    }
};

// Throws not_found_error for one that names none of these tasks.
static void check_filters(const std::vector<device_name>& filters, const std::vector<std::string>& tasks) {
    for (const device_name& f : filters) {
        if (std::any_of(tasks.begin(), tasks.end(), [&](const std::string& t) { return f.allows(device_name(t)); }))
            continue;
        std::string all;
        for (const std::string& t : tasks) all += (all.empty() ? "" : ", ") + t;
        throw not_found_error("session_options::device_filters has \"" + to_string(f) +
                              "\", which names no task of the cluster; it has " + all);
    }
}

void master::open(link_number client, const link_peer& who, const std::shared_ptr<memory_client>& memory,
                  open_session&& c, time_point deadline, replier&& answer) {
    std::vector<std::string> all{self_.name};
    others_.each([&](const std::string& job, int index) { all.push_back(name_of(job, index)); });
    check_filters(c.settings.device_filters, all);
    auto o = std::make_shared<opening>();
    o->busy = busy_.enter();
    auto s = o->made = std::make_shared<session>();
    s->number = transport_.random_number();
    s->client = client;
    s->name = std::move(c.client);
    s->address = who.address;
    s->memory = memory;
    s->data = std::make_shared<client_data>("a data set of " + s->name + " (" + s->address + ")", limits_.data_sets);
    if (memory && who.job.empty()) memory->rename(s->name + " (" + s->address + ")");
    s->settings = std::move(c.settings);
    s->opened = s->used = transport_.now();
    s->tasks = std::make_shared<master_tasks>();
    s->tasks->exchanged = &worker_.all_rendezvous();
    s->tasks->time = &transport_;
    s->tasks->tasks = std::make_shared<session_tasks>();
    s->tasks->tasks->session = s->number;
    s->tasks->tasks->tasks.push_back({self_.name, nullptr, self_.incarnation});
    {
        const std::lock_guard lock(guard_);
        if (stopping_) throw_lost_task(error_code::unavailable, self_.name + " is stopping");
        const auto of_client = std::count_if(sessions_.begin(), sessions_.end(),
                                             [&](const auto& x) { return x.second->client == client; });
        if (sessions_.size() >= limits_.sessions || static_cast<std::size_t>(of_client) >= limits_.sessions_of_client)
            throw resource_exhausted_error("session: " + self_.name + " holds " + std::to_string(sessions_.size()) +
                                           " sessions, " + std::to_string(of_client) +
                                           " of them this client's, which is as many as it takes; close some");
        turns_.enter(s->number, s->name + " (" + s->address + ")");
        sessions_.emplace(s->number, s); // counted from here on
        ++opened_;
    }
    others_.each([&](const std::string& job, int index) {
        if (!s->settings.uses(device_name("/job:" + job + "/task:" + std::to_string(index)))) return;
        s->tasks->tasks->tasks.push_back({name_of(job, index), others_.to(job, index), 0});
    });
    const std::vector<session_tasks::task>& tasks = s->tasks->tasks->tasks;
    o->devices.resize(tasks.size());
    o->limit = c.limit > 0 ? c.limit : limits_.open_seconds;
    o->deadline = std::min(deadline, transport_.now() + seconds_of(o->limit));
    o->answer = std::move(answer);
    ask_tasks(o);
}

void master::ask_tasks(const std::shared_ptr<opening>& o) {
    const std::vector<session_tasks::task>& tasks = o->made->tasks->tasks->tasks;
    const auto all = std::make_shared<all_answers>(
        [this, o](std::vector<std::string> missing) { begin_on_tasks(o, std::move(missing)); });
    for (std::size_t t = 1; t < tasks.size(); ++t) {
        const std::shared_ptr<peer> at = tasks[t].at;
        all->expect();
        at->connect(o->deadline, [this, o, all, t, at](net::answer connected) {
            if (connected.failed) return all->came(*at, connected);
            call(*at, describe_task{}, o->deadline, [this, o, all, t, at](net::answer a) {
                std::string trouble;
                o->note(a);
                try {
                    describe_task::reply r = read_answer<describe_task>(std::move(a));
                    if (!r.cluster.empty() && !self_.cluster.empty() && r.cluster != self_.cluster)
                        throw failed_precondition_error("it is a task of another cluster, " + r.cluster);
                    o->made->tasks->tasks->tasks[t].incarnation = r.incarnation;
                    o->devices[t] = std::move(r.devices);
                } catch (const error& e) {
                    trouble = at->name() + ": " + e.what();
                }
                all->came(trouble);
            });
        });
    }
    all->came();
}

// All have said who they are, or did not answer.
void master::begin_on_tasks(const std::shared_ptr<opening>& o, std::vector<std::string> missing) {
    if (!missing.empty()) {
        finish(o, missing);
        return;
    }
    const session& s = *o->made;
    begin_session c;
    c.session = s.number;
    c.client = s.name + " (" + s.address + ")";
    c.container = s.container();
    c.settings = s.settings;
    for (const session_tasks::task& t : s.tasks->tasks->tasks) c.tasks.push_back({t.name, {}, t.incarnation});
    const message m = message_of(c);
    const auto all =
        std::make_shared<all_answers>([this, o](const std::vector<std::string>& silent) { finish(o, silent); });
    for (const session_tasks::task& t : s.tasks->tasks->tasks) {
        if (!t.at) continue;
        all->expect();
        t.at->call(
            m.verb, m.body, {}, o->deadline,
            [o, all, at = t.at](const net::answer& a) {
                o->note(a);
                all->came(*at, a);
            },
            t.incarnation);
    }
    all->came();
}

void master::finish(const std::shared_ptr<opening>& o, const std::vector<std::string>& missing) {
    const std::shared_ptr<session> s = o->made;
    // One that was lost meanwhile is waited for, as one that is not there yet.
    if (!missing.empty() && o->lost.exchange(false) && transport_.now() < o->deadline && !s->is_closed()) {
        end_on_tasks(*s);
        ask_tasks(o);
        return;
    }
    try {
        const std::size_t tasks = s->tasks->tasks->tasks.size();
        if (!missing.empty())
            throw_lost_task(error_code::unavailable, "session: within " + in_words(seconds_of(o->limit)) + " " +
                                                         std::to_string(missing.size()) + " of the " +
                                                         std::to_string(tasks) +
                                                         " tasks of the cluster did not answer:" + in_lines(missing));
        tenon::detail::remote_tasks others;
        for (std::size_t t = 1; t < tasks; ++t)
            others.tasks.push_back(std::make_shared<remote_worker>(s->tasks, static_cast<int>(t), o->devices[t]));
        others.exchange = std::make_shared<master_exchange>(s->tasks);
        worker_.all_rendezvous().begin_session(s->number, s->memory);
        session_options options = options_of(s->settings);
        options.placement_log = [weak = std::weak_ptr(s)](const std::string& line) {
            const auto at = weak.lock();
            if (!at) return;
            const std::lock_guard lock(at->guard);
            at->placed.push_back(line);
        };
        auto steps = std::make_shared<tenon::detail::local_session>(
            s->graph, options, std::vector<std::shared_ptr<tenon::detail::task_state>>{task_}, std::move(others),
            s->container());
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
        end_on_tasks(*s); // again, where it was closed before they had begun it
        fail(o->answer, std::current_exception());
    }
}

} // namespace tenon::net
