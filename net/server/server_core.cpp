#include <net/server/server_core.hpp>

#include <algorithm>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <net/rpc/all_answers.hpp>
#include <net/rpc/answer.hpp>
#include <net/rpc/asking.hpp>
#include <net/wire/text_hash.hpp>
#include <tenon/concurrency/submit_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/array/large_memory.hpp>

namespace tenon::net {

namespace {

// Those that train are expected to take part.
std::vector<std::string> those_that_train(const server_settings& s) {
    std::vector<std::string> names;
    for (const std::string& job : s.tasks.jobs())
        for (const int task : s.tasks.tasks(job))
            if (job != "ps" && (job != s.job || task != s.task)) names.push_back(name_of(job, task));
    return names;
}

} // namespace

server_core::server_core(transport& t, server_settings s) :
    transport_(t),
    settings_(std::move(s)),
    began_(t.now()),
    to_self_(std::make_shared<gate>(t)),
    memory_(memory_budget::make(settings_.of_task.memory_limit)),
    busy_(t),
    roll_(t, those_that_train(settings_), settings_.log) {
    (void)settings_.tasks.address(settings_.job, settings_.task); // there is such a task
    self_.job = settings_.job;
    self_.task = settings_.task;
    self_.incarnation = transport_.random_number();
    self_.cluster = hash_of_text(settings_.run + "\n" + settings_.tasks.to_json());
    self_.token = settings_.token;
    self_.insecure = settings_.insecure;
    known_as_ = {name_of(self_.job, self_.task), self_.incarnation, settings_.tasks.to_json()};

    task_options own = settings_.of_task;
    own.job = settings_.job;
    own.index = settings_.task;
    task_ = std::make_shared<tenon::detail::task_state>(own, settings_.pool, "server_options", &transport_, memory_);
    others_ = std::make_unique<peers>(
        transport_, settings_.tasks, self_, settings_.link,
        [this](const std::string& task, std::uint64_t incarnation, error_code code, const std::string& why) {
            if (settings_.log && !stopping_) settings_.log(why);
            if (worker_) worker_->task_lost(task, incarnation, code, why);
            if (registration* to = attends_; to && !stopping_) to->lost(task);
            collectives_->task_lost(task, incarnation, why);
        });
    collectives_ = std::make_shared<collectives>(transport_, settings_.tasks, self_, settings_.link, *others_);
    turns_ = std::make_unique<fair_scheduler>(transport_, *task_->pool);
    worker_ = std::make_unique<worker>(task_, memory_, known_as_, *others_, *turns_, busy_, settings_.of_worker);
    master_ = std::make_unique<master>(transport_, task_, known_as_, settings_.tasks, *others_, *worker_, *turns_,
                                       busy_, settings_.of_master);
    handle();
    service_options o = settings_.of_service;
    o.self = self_;
    o.address_of = [tasks = settings_.tasks](const std::string& job, std::int32_t index) {
        try {
            return tasks.address(job, index);
        } catch (const not_found_error&) {
            return std::string();
        }
    };
    o.link = settings_.link;
    o.turn_of = turn_of;
    o.log = settings_.log;
    o.log_verbose = settings_.log_verbose;
    service_ = service::make(transport_, std::move(o), *this);
    address_ = service_->listen(settings_.listen.empty() ? settings_.tasks.address(settings_.job, settings_.task)
                                                         : settings_.listen);
    // Who serves on all addresses is called by the name that others use: certificates are of names.
    for (const char* all : {"[::]:", "0.0.0.0:"})
        if (address_.starts_with(all)) {
            const std::string& known = settings_.tasks.address(settings_.job, settings_.task);
            address_ = known.substr(0, known.rfind(':')) + address_.substr(address_.rfind(':'));
            break;
        }
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
    master_->end_data();
    collectives_->stop(std::chrono::duration<double>(std::min(limit, settings_.link.lease)).count());
    const bool drained = service_->stop(deadline);
    master_->stop();
    worker_->stop("the step was stopped: " + known_as_.name + " is stopping");
    others_->close();
    attends_ = nullptr;
    attendance_.reset();
    to_self_->shut();
    busy_.wait_until_none();
    return drained;
}

void server_core::attend(std::vector<std::pair<std::string, int>> holders, duration limit) {
    attendance_ = std::make_unique<registration>(transport_, *others_, std::move(holders));
    attends_ = attendance_.get();
    attendance_->begin(limit);
}

void server_core::leave(int status, duration limit) noexcept {
    if (registration* to = attends_.exchange(nullptr)) to->leave(status, limit);
}

void server_core::linked(link_number link, const link_peer& who) {
    auto memory = memory_->client(who.name());
    const std::lock_guard lock(guard_);
    links_[link] = {who, std::move(memory)};
}

master::linked_client server_core::client_of(link_number link) const {
    const std::lock_guard lock(guard_);
    const auto at = links_.find(link);
    return at == links_.end() ? master::linked_client() : at->second;
}

std::shared_ptr<memory_client> server_core::memory_of(link_number link) const {
    const std::lock_guard lock(guard_);
    const auto at = links_.find(link);
    return at == links_.end() ? nullptr : at->second.memory;
}

any_array server_core::place_for(link_number link, std::uint8_t v, const bytes& body, std::size_t,
                                 const tensor_type& type, std::size_t size) {
    const auto memory = memory_of(link);
    const payer_scope pays(memory.get());
    if (type.element == element_type::string) { // its memory comes with its bytes: there is room for them now
        const memory_charge room(memory.get(), size);
        return {};
    }
    const auto which = static_cast<verb>(v);
    any_array place;
    if (is_of_tasks(which) && is_of_task(link))
        place = which == verb::collective_part ? collectives_->place_for(client_of(link).who, body, type)
                                               : worker_->place_for(which, body, type);
    return place ? std::move(place) : any_array(type.element, type.extents);
}

// Once those that have gone have let go of what they had: what the process keeps for further arrays goes back to the system.
void server_core::give_memory_back() {
    {
        const std::lock_guard lock(guard_);
        if (stopping_ || std::exchange(gives_back_, true)) return;
    }
    (void)transport_.call_at(transport_.now() + std::chrono::seconds(1), [this, inside = to_self_] {
        inside->pass([this] {
            {
                const std::lock_guard lock(guard_);
                gives_back_ = false;
            }
            tenon::detail::shrink_kept_large_memory(0);
#if defined(__GLIBC__)
            (void)::malloc_trim(0);
#endif
        });
    });
}

// What calls and notes have the pool do, the thread that has read them does itself, where another one reads on: to wake a thread
// takes longer than a small step. Else it waits for its session's turn.
void server_core::called(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays,
                         time_point deadline, replier&& to) {
    message m{.type = message_type::call, .verb = v, .body = std::move(body), .arrays = std::move(arrays)};
    const auto memory = memory_of(link);
    const payer_scope pays(memory.get());
    const auto of_session = [this, session = turn_of(v, m.body).of](work_item& task) {
        return turns_->take(session, task);
    };
    const submit_scope taken(*task_->pool, of_session);
    const auto which = static_cast<verb>(v);
    if (is_of_tasks(which) && !is_of_task(link))
        throw permission_denied_error(std::string("a client may not call ") + name_of(which) + " of " + known_as_.name +
                                      ": that is for the tasks of its cluster");
    calls_.call(which, {link, deadline}, std::move(m), std::move(to));
    if (which == verb::end_session || which == verb::reset_task || which == verb::reset_containers) give_memory_back();
}

bool server_core::is_of_task(link_number link) const {
    const std::lock_guard lock(guard_);
    const auto at = links_.find(link);
    return at != links_.end() && !at->second.who.job.empty();
}

void server_core::handle() {
    using in = const call_context&;
    worker_->handle(calls_);
    master_->handle(calls_, [this](link_number link) { return client_of(link); });
    asked_.handle(calls_);
    // With many steps there is much to tell.
    const auto in_turn = [this](replier& answer, auto then) {
        turns_->submit(fair_scheduler::of_server, false,
                       [token = busy_.enter(), then = std::move(then),
                        to = std::make_shared<replier>(std::move(answer))] { answering(*to, [&] { then(*to); }); });
    };
    calls_.on<ask_task_status>([this, in_turn](in, ask_task_status&&, replier& later) {
        in_turn(later, [this](replier& to) { reply<ask_task_status>(to, status()); });
    });
    calls_.on<ask_status>([this, in_turn](in c, ask_status&& m, replier& later) {
        in_turn(later, [this, m, deadline = c.deadline](replier& to) { answer_status(m, deadline, to); });
    });
    calls_.on<stop_server>([this](in c, stop_server&& m, replier& to) { answer_stop(m, c.deadline, to); });
    calls_.on<attend_run>([this](in c, attend_run&&) {
        const link_peer who = client_of(c.link).who;
        roll_.came(name_of(who.job, who.task), who.incarnation);
    });
    calls_.on<leave_run>([this](in c, leave_run&& m) {
        const link_peer who = client_of(c.link).who;
        roll_.left(name_of(who.job, who.task), who.incarnation, m.status);
    });
    const auto to_group = [this](verb v) {
        return [this, v](in c, message&& m) { collectives_->noted(client_of(c.link).who, v, std::move(m)); };
    };
    calls_.on<collective_here>(to_group(verb::collective_here));
    calls_.on<collective_part>(to_group(verb::collective_part));
    calls_.on<collective_end>(to_group(verb::collective_end));
}

void server_core::noted(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays) {
    message m{.type = message_type::note, .verb = v, .body = std::move(body), .arrays = std::move(arrays)};
    const auto which = static_cast<verb>(v);
    if (is_of_tasks(which) && !is_of_task(link)) return; // a client's: nothing of it is done
    // What goes on in a group of processes is no session's.
    const bool of_group = which >= verb::collective_here && which <= verb::collective_end;
    const auto of_session = [this, of_group, session = turn_of(v, m.body).of](work_item& task) {
        return !of_group && turns_->take(session, task);
    };
    const submit_scope taken(*task_->pool, of_session);
    calls_.note(which, {link}, std::move(m));
}

void server_core::refused(link_number link, std::uint8_t v, bytes body, const std::string& why) {
    if (!is_of_task(link)) return;
    worker_->refused(static_cast<verb>(v), message{.type = message_type::note, .verb = v, .body = std::move(body)},
                     why);
}

void server_core::cancelled(link_number link, std::uint64_t request) {
    worker_->cancelled(link, request);
    master_->cancelled(link, request);
    asked_.cancelled(link, request);
}

void server_core::peer_lost(link_number link, const std::string& why) {
    std::string task;
    std::uint64_t incarnation = 0;
    {
        const std::lock_guard lock(guard_);
        if (const auto at = links_.find(link); at != links_.end()) {
            const link_peer& who = at->second.who;
            incarnation = who.incarnation;
            if (!who.job.empty()) task = name_of(who.job, who.task);
            links_.erase(at);
        }
    }
    master_->peer_lost(link);
    asked_.peer_lost(link);
    worker_->peer_lost(link, why);
    if (!task.empty()) {
        worker_->task_lost(task, incarnation, error_code::unavailable, why);
        roll_.lost(task, incarnation, why);
        collectives_->task_lost(task, incarnation, why);
    } else give_memory_back();
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
        row.devices.push_back({d->attributes(), d->allocated()});
        for (const resource_info& r : d->resources().list())
            row.resources.push_back({r.container, r.name, r.kind, to_string(d->full_name()), r.description,
                                     static_cast<std::uint64_t>(r.bytes), r.updates});
    }
    for (const auto& [size, client] : memory_->holders())
        row.holders.push_back({client, static_cast<std::uint64_t>(size)});
    row.sessions = master_->sessions();
    row.steps = master_->running();
    for (step_row& s : worker_->running()) row.steps.push_back(std::move(s));
    row.heard = heard();
    const step_counts::totals ended = master_->ended().total();
    row.steps_ended = ended.all();
    row.steps_failed = ended.all() - ended.ended[static_cast<std::size_t>(step_outcome::ok)];
    row.parts_ended = worker_->ended().total().all();
    return row;
}

std::vector<heard_row> server_core::heard() const {
    std::map<std::pair<std::string, int>, std::pair<heard_row, time_point>> all;
    const auto add = [&](const std::string& job, int task, std::size_t links, time_point last, const traffic& carried) {
        auto& [row, latest] = all.try_emplace({job, task}, heard_row(), time_point::min()).first->second;
        row.links += links;
        row.sent += carried.sent;
        row.received += carried.received;
        latest = std::max(latest, last);
    };
    for (const service::heard& h : service_->all_heard()) add(h.job, h.task, h.links, h.last, h.carried);
    others_->each_count([&](const std::string& job, int task, const peer::counts& c) {
        add(job, task, c.is_linked ? 1 : 0, c.heard, c.carried);
    });
    std::vector<heard_row> rows;
    const time_point now = transport_.now();
    for (auto& [who, h] : all) {
        auto& [row, latest] = h;
        if (!who.first.empty()) {
            row.task = name_of(who.first, who.second);
            if (latest != time_point::min()) row.silence = std::chrono::duration<double>(now - latest).count();
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string server_core::why_not_ready() {
    if (stopping_) return known_as_.name + " is stopping";
    if (self_.job == "ps") return {};
    std::string missing;
    const std::vector<std::string> jobs = settings_.tasks.jobs();
    if (std::find(jobs.begin(), jobs.end(), "ps") == jobs.end()) return {};
    for (const int task : settings_.tasks.tasks("ps")) {
        const auto to = others_->to("ps", task);
        if (to->count().connections > 0) continue;
        // Nobody may have called it yet. One attempt at a time: it lasts for a lease.
        if (to->state() == peer_state::idle) others_->reach(*to, [](const net::answer&) {});
        missing += (missing.empty() ? "" : ", ") + name_of("ps", task);
    }
    return missing.empty() ? std::string() : known_as_.name + " has not reached " + missing + " yet";
}

task_totals server_core::totals() const {
    return {master_->ended().total(), worker_->ended().total(), master_->stale().total(),  service_->count(),
            others_->count(),         memory_->info(),          master_->steps_in_flight()};
}

server_core::counts server_core::count() const {
    return {master_->sessions().size(), master_->steps_in_flight(), worker_->count(), service_->count(),
            others_->count()};
}

void server_core::ask_all(bool others, time_point deadline, std::function<void(std::vector<task_row>)> then) {
    struct asking {
        std::mutex guard; // of what follows, until all have come
        std::vector<task_row> rows;
    };
    const auto told = std::make_shared<asking>();
    told->rows.push_back(status());
    const auto all = std::make_shared<all_answers>(
        [told, then = std::move(then)](const std::vector<std::string>&) { then(std::move(told->rows)); });
    const message m = message_of(ask_task_status{});
    if (others)
        others_->each([&](const std::string& job, int index) {
            task_row row{.task = name_of(job, index), .address = settings_.tasks.address(job, index)};
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

void server_core::answer_status(const ask_status& c, time_point deadline, replier& answer) {
    deadline = std::min(deadline, transport_.now() + seconds_of(c.limit > 0 ? c.limit : 5));
    ask_all(c.all_tasks, deadline, [to = std::make_shared<replier>(std::move(answer))](std::vector<task_row> rows) {
        reply<ask_status>(*to, {std::move(rows)});
    });
}

// The others first: a server that stops calls nobody any more.
void server_core::answer_stop(const stop_server& c, time_point deadline, replier& answer) {
    if (!settings_.asked_to_stop)
        throw unimplemented_error(known_as_.name + " cannot be stopped from outside; stop its process");
    const double grace = c.grace > 0 ? c.grace : 0;
    roll_.ask_to_stop(duration::zero());
    const auto all = std::make_shared<all_answers>([this, grace, token = busy_.enter(),
                                                    to = std::make_shared<replier>(std::move(answer))](
                                                       const std::vector<std::string>& missing) {
        if (missing.empty()) reply<stop_server>(*to, {});
        else
            to->fail(error_code::unavailable, "stop: all tasks stop but those that did not answer:" + in_lines(missing),
                     error_reason::lost_task);
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
