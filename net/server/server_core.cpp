#include <net/server/server_core.hpp>

#include <net/link/asking.hpp>
#include <net/worker/all_answers.hpp>
#include <net/worker/answer.hpp>
#include <tenon/kernel/submit_scope.hpp>
#include <tenon/kernel/thread_pool.hpp>

namespace tenon::net {

namespace {

std::uint64_t hash_of_text(const std::string& text) {
    std::uint64_t h = 14695981039346656037u; // FNV-1a
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h | 1;
}

} // namespace

server_core::server_core(transport& t, server_settings s) :
    transport_(t), settings_(std::move(s)), began_(t.now()), busy_(t) {
    (void)settings_.tasks.address(settings_.job, settings_.task); // there is such a task
    self_.job = settings_.job;
    self_.task = settings_.task;
    self_.incarnation = transport_.random_number();
    self_.cluster = hash_of_text(settings_.tasks.to_json());
    self_.token = settings_.token;
    self_.insecure = settings_.insecure;
    known_as_ = {name_of(self_.job, self_.task), self_.incarnation, settings_.tasks.to_json()};

    task_options own = settings_.of_task;
    own.job = settings_.job;
    own.index = settings_.task;
    task_ = std::make_shared<tenon::detail::task_state>(own, settings_.pool, "server_options", &transport_);
    others_ = std::make_unique<peers>(
        transport_, settings_.tasks, self_, settings_.link,
        [this](const std::string& task, std::uint64_t incarnation, error_code code, const std::string& why) {
            if (settings_.log && !stopping_) settings_.log(why);
            if (worker_) worker_->task_lost(task, incarnation, code, why);
        });
    worker_ = std::make_unique<worker>(task_, known_as_, *others_, busy_, settings_.of_worker);
    master_ = std::make_unique<master>(transport_, task_, known_as_, settings_.tasks, *others_, *worker_, busy_,
                                       settings_.of_master);
    service_options o = settings_.of_service;
    o.self = self_;
    o.link = settings_.link;
    o.log = settings_.log;
    service_ = service::make(transport_, std::move(o), *this);
    address_ = service_->listen(settings_.listen.empty() ? settings_.tasks.address(settings_.job, settings_.task)
                                                         : settings_.listen);
    if (settings_.log)
        settings_.log(known_as_.name + " serves on " + address_ + " with " + std::to_string(task_->devices.size()) +
                      " device" + (task_->devices.size() == 1 ? "" : "s") + " and " +
                      std::to_string(task_->pool->size()) + " threads");
}

server_core::~server_core() {
    (void)stop(duration::zero());
    service_.reset(); // calls nobody any more
}

bool server_core::stop(duration limit) {
    if (stopped_.exchange(true)) return true;
    stopping_ = true;
    const time_point deadline = transport_.now() + limit;
    // What waits for what never comes would drain for ever: the drain is for what ends.
    const bool drained = service_->stop(deadline);
    master_->stop();
    worker_->stop("the step was stopped: " + known_as_.name + " is stopping");
    others_->close();
    busy_.wait_until_none();
    return drained;
}

void server_core::linked(link_number link, const link_peer& who) {
    const std::lock_guard lock(guard_);
    links_[link] = who;
}

// What calls and notes have the pool do, the thread that has read them does itself, where another one reads on: to wake a thread of
// the pool takes longer than a small step. So as many threads run kernels as the pool has, its caller included. Where the pool has
// none of its own, what comes meanwhile waits for that one.
bool server_core::run_aside(pool_task& task) { return transport_.run_aside(task, task_->pool->size() == 1); }

void server_core::called(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays,
                         time_point deadline, replier&& to) {
    message m;
    m.type = message_type::call;
    m.verb = v;
    m.body = std::move(body);
    m.arrays = std::move(arrays);
    const auto aside = [&](pool_task& task) { return run_aside(task); };
    const submit_scope taken(*task_->pool, aside);
    answer(link, static_cast<verb>(v), std::move(m), deadline, std::move(to));
}

void server_core::answer(link_number link, verb which, message&& m, time_point deadline, replier&& answer) {
    switch (which) {
    case verb::describe_task:
    case verb::begin_session:
    case verb::register_part:
    case verb::run_part:
    case verb::ask_waits:
    case verb::end_session:
    case verb::reset_task: worker_->called(link, which, std::move(m), deadline, std::move(answer)); break;
    case verb::ask_task_status:
        answer_at_once<ask_task_status>(m, answer, [&](ask_task_status&&) { return status(); });
        break;
    case verb::ask_status:
        answer_later<ask_status>(m, std::move(answer), [&](ask_status&& c, replier& to) {
            answer_status(std::move(c), deadline, std::move(to));
        });
        break;
    case verb::stop_server:
        answer_later<stop_server>(m, std::move(answer),
                                  [&](stop_server&& c, replier& to) { answer_stop(c, deadline, std::move(to)); });
        break;
    default: {
        link_peer who;
        {
            const std::lock_guard lock(guard_);
            if (const auto at = links_.find(link); at != links_.end()) who = at->second;
        }
        master_->called(link, who, which, std::move(m), deadline, std::move(answer));
    }
    }
}

void server_core::noted(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays) {
    message m;
    m.type = message_type::note;
    m.verb = v;
    m.body = std::move(body);
    m.arrays = std::move(arrays);
    const auto which = static_cast<verb>(v);
    const auto aside = [&](pool_task& task) { return run_aside(task); };
    const submit_scope taken(*task_->pool, aside);
    if (which == verb::step_values || which == verb::stop_step || which == verb::forget_part)
        worker_->noted(link, which, std::move(m));
    else master_->noted(link, which, std::move(m));
}

void server_core::cancelled(link_number link, std::uint64_t request) {
    worker_->cancelled(link, request);
    master_->cancelled(link, request);
}

void server_core::peer_lost(link_number link, const std::string& why) {
    std::string task;
    std::uint64_t incarnation = 0;
    {
        const std::lock_guard lock(guard_);
        if (const auto at = links_.find(link); at != links_.end()) {
            incarnation = at->second.incarnation;
            if (!at->second.job.empty()) task = name_of(at->second.job, at->second.task);
            links_.erase(at);
        }
    }
    master_->peer_lost(link);
    worker_->peer_lost(link, why);
    if (!task.empty()) worker_->task_lost(task, incarnation, error_code::unavailable, why);
}

task_row server_core::status() const {
    task_row row;
    row.task = known_as_.name;
    row.address = address_;
    row.reached = true;
    row.incarnation = self_.incarnation;
    row.version = TENON_VERSION;
    row.seconds = std::chrono::duration<double>(transport_.now() - began_).count();
    row.stopping = stopping_;
    for (const auto& d : task_->devices) {
        row.devices.push_back({d->attributes(), d->memory()});
        for (const resource_info& r : d->resources().list())
            row.resources.push_back({r.container, r.name, r.kind, to_string(d->full_name()), r.description,
                                     static_cast<std::uint64_t>(r.bytes), r.updates});
    }
    row.sessions = master_->sessions();
    row.steps = worker_->running();
    return row;
}

server_core::counts server_core::count() const {
    return {master_->sessions().size(), master_->steps_in_flight(), worker_->count(), service_->count(),
            others_->count()};
}

void server_core::answer_status(ask_status&& c, time_point deadline, replier&& answer) {
    struct asking {
        std::mutex guard; // of what follows, until all have come
        std::vector<task_row> rows;
        replier answer;
    };
    const auto told = std::make_shared<asking>();
    told->answer = std::move(answer);
    told->rows.push_back(status());
    const auto all = std::make_shared<all_answers>([told](const std::vector<std::string>&) {
        ask_status::reply r;
        r.tasks = std::move(told->rows);
        reply<ask_status>(told->answer, r);
    });
    deadline = std::min(deadline, transport_.now() + seconds_of(c.limit > 0 ? c.limit : 5));
    const message m = message_of(ask_task_status{});
    if (c.all_tasks)
        others_->each([&](const std::string& job, int index) {
            task_row row;
            row.task = name_of(job, index);
            row.address = settings_.tasks.address(job, index);
            std::size_t place = 0;
            {
                const std::lock_guard lock(told->guard);
                place = told->rows.size();
                told->rows.push_back(std::move(row));
            }
            all->expect();
            others_->to(job, index)->call(m.verb, m.body, {}, deadline, [told, all, place](net::answer a) {
                try {
                    task_row from = read_answer<ask_task_status>(std::move(a));
                    const std::lock_guard lock(told->guard);
                    told->rows[place] = std::move(from);
                } catch (const error& e) {
                    const std::lock_guard lock(told->guard);
                    told->rows[place].trouble = e.what();
                }
                all->came();
            });
        });
    all->came();
}

// The others first: a server that stops calls nobody any more.
void server_core::answer_stop(const stop_server& c, time_point deadline, replier&& answer) {
    if (!settings_.asked_to_stop)
        throw unimplemented_error(known_as_.name + " cannot be stopped from outside; stop its process");
    const double grace = c.grace > 0 ? c.grace : 0;
    const auto all = std::make_shared<all_answers>(
        [this, grace, token = busy_.enter(),
         to = std::make_shared<replier>(std::move(answer))](const std::vector<std::string>& missing) {
            if (missing.empty()) reply<stop_server>(*to, {});
            else
                to->fail(error_code::unavailable,
                         "stop: all tasks stop but those that did not answer:" + in_lines(missing));
            settings_.asked_to_stop(grace);
        });
    if (c.all_tasks) {
        const time_point now = transport_.now();
        const time_point until = std::min(now + settings_.link.lease, now + (deadline - now) / 4 * 3);
        const message other = message_of(stop_server{grace, false});
        others_->each([&](const std::string& job, int index) {
            const auto at = others_->to(job, index);
            all->expect();
            at->call(other.verb, other.body, {}, until, [all, at](const net::answer& a) { all->came(*at, a); });
        });
    }
    all->came();
}

} // namespace tenon::net
