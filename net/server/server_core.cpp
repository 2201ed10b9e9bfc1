#include <net/server/server_core.hpp>

#include <net/link/asking.hpp>
#include <net/worker/answer.hpp>

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
    self_.incarnation = random_incarnation();
    self_.cluster = hash_of_text(settings_.tasks.to_json());
    self_.token = settings_.token;
    self_.insecure = settings_.insecure;
    known_as_ = {name_of(self_.job, self_.task), self_.incarnation, settings_.tasks.to_json()};

    task_options own = settings_.of_task;
    own.job = settings_.job;
    own.index = settings_.task;
    task_ = std::make_shared<tenon::detail::task_state>(own, settings_.pool, "server_options");
    others_ = std::make_unique<peers>(transport_, settings_.tasks, self_, settings_.link,
                                      [this](const std::string& task, error_code code, const std::string& why) {
                                          if (settings_.log) settings_.log(why);
                                          if (worker_) worker_->task_lost(task, code, why);
                                      });
    worker_ = std::make_unique<worker>(task_, known_as_, *others_, busy_, settings_.of_worker);
    master_ = std::make_unique<master>(transport_, task_, known_as_, settings_.tasks, *others_, *worker_, busy_,
                                       settings_.of_master);
    service_options o;
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

server_core::~server_core() { (void)stop(duration::zero()); }

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

void server_core::called(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays,
                         time_point deadline, replier&& answer) {
    message m;
    m.type = message_type::call;
    m.verb = v;
    m.body = std::move(body);
    m.arrays = std::move(arrays);
    const auto which = static_cast<verb>(v);
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
        answer_at_once<stop_server>(m, answer, [&](stop_server&& c) {
            if (!settings_.asked_to_stop)
                throw unimplemented_error(known_as_.name + " cannot be stopped from outside; stop its process");
            if (c.all_tasks) {
                const message other = message_of(stop_server{c.grace, false});
                for (const std::string& job : settings_.tasks.jobs())
                    for (const int index : settings_.tasks.tasks(job))
                        if (name_of(job, index) != known_as_.name)
                            others_->to(job, index)->call(other.verb, other.body, {}, deadline, [](const auto&) {});
            }
            settings_.asked_to_stop();
        });
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
    {
        const std::lock_guard lock(guard_);
        if (const auto at = links_.find(link); at != links_.end()) {
            if (!at->second.job.empty()) task = name_of(at->second.job, at->second.task);
            links_.erase(at);
        }
    }
    master_->peer_lost(link);
    worker_->peer_lost(link, why);
    if (!task.empty()) worker_->task_lost(task, error_code::unavailable, why);
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

void server_core::answer_status(ask_status&& c, time_point deadline, replier answer) {
    struct asking {
        std::mutex guard; // of what follows
        std::size_t left = 1;
        std::vector<task_row> rows;
        replier answer;
    };
    auto all = std::make_shared<asking>();
    all->answer = std::move(answer);
    all->rows.push_back(status());
    const auto one_less = [all] {
        {
            const std::lock_guard lock(all->guard);
            if (--all->left > 0) return;
        }
        ask_status::reply r;
        r.tasks = std::move(all->rows);
        reply<ask_status>(all->answer, r);
    };
    if (c.all_tasks) {
        const double limit = c.limit > 0 ? c.limit : 5;
        deadline = std::min(deadline, transport_.now() + seconds_of(limit));
        const message m = message_of(ask_task_status{});
        for (const std::string& job : settings_.tasks.jobs())
            for (const int index : settings_.tasks.tasks(job)) {
                if (name_of(job, index) == known_as_.name) continue;
                std::size_t place = 0;
                {
                    const std::lock_guard lock(all->guard);
                    ++all->left;
                    place = all->rows.size();
                    task_row row;
                    row.task = name_of(job, index);
                    row.address = settings_.tasks.address(job, index);
                    all->rows.push_back(std::move(row));
                }
                others_->to(job, index)->call(m.verb, m.body, {}, deadline, [all, place, one_less](net::answer a) {
                    try {
                        task_row row = read_answer<ask_task_status>(std::move(a));
                        const std::lock_guard lock(all->guard);
                        all->rows[place] = std::move(row);
                    } catch (const error& e) {
                        const std::lock_guard lock(all->guard);
                        all->rows[place].trouble = e.what();
                    }
                    one_less();
                });
            }
    }
    one_less();
}

} // namespace tenon::net
