#include <net/collective/collectives.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include <net/rpc/asking.hpp>
#include <net/wire/text_hash.hpp>
#include <tenon/core/text/number_text.hpp>

namespace tenon::net {

namespace {

class link_channel final : public collective_channel {
public:
    struct end {
        std::string name;         // "/job:worker/task:1 (127.0.0.1:2223)"
        std::shared_ptr<peer> at; // nullptr: this process
        std::uint64_t incarnation = 0;
    };
    explicit link_channel(std::vector<end> ends) : ends_(std::move(ends)) {}

    void send(int to, const collective_here& m) override { post(to, m); }
    void send(int to, const collective_part& m) override { post(to, m); }
    void send(int to, const collective_end& m) override { post(to, m); }
    std::string member(int rank) const override { return ends_[static_cast<std::size_t>(rank)].name; }
    void flush(double seconds) noexcept override {
        const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        for (const end& e : ends_)
            while (e.at && std::chrono::steady_clock::now() < until) {
                const peer::counts c = e.at->count();
                if (e.at->state() != peer_state::ready || c.kept_messages + c.waiting == 0) break;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
    }

private:
    template <class M> void post(int to, const M& m) const {
        const end& e = ends_[static_cast<std::size_t>(to)];
        note(*e.at, m, e.incarnation);
    }
    const std::vector<end> ends_;
};

} // namespace

int collectives::entered::rank_of(const std::string& task, std::uint64_t incarnation) const {
    for (std::size_t r = 0; r < members.size(); ++r)
        if (members[r].name == task && members[r].incarnation == incarnation) return static_cast<int>(r);
    return -1;
}

std::shared_ptr<collective_group> collectives::make(const std::vector<std::string>& asked, const std::string& wished,
                                                    double seconds) {
    const std::vector<std::string> jobs = asked.empty() ? std::vector<std::string>{self_.job} : asked;
    std::vector<std::pair<std::string, int>> tasks;
    int rank = -1;
    for (const std::string& job : jobs)
        for (const int task : cluster_.tasks(job)) {
            if (job == self_.job && task == self_.task) rank = static_cast<int>(tasks.size());
            tasks.emplace_back(job, task);
        }
    std::string all;
    for (const std::string& job : jobs) all += (all.empty() ? "" : "+") + job;
    const std::string name = wished.empty() ? all : wished;
    if (rank < 0)
        throw invalid_argument_error("group " + name + ": " + name_of(self_.job, self_.task) + " is no task of " + all +
                                     "; a group is made by its own tasks");
    if (collective_group::called(name))
        throw already_exists_error("this process has a group of processes called \"" + name +
                                   "\" already; use that one, or give this one another name");
    {
        const std::lock_guard lock(guard_);
        if (stopped_) throw failed_precondition_error("group " + name + ": the server was stopped");
    }

    std::vector<link_channel::end> ends(tasks.size());
    const auto left = std::make_shared<std::atomic<std::size_t>>(tasks.size() - 1);
    const auto told = std::make_shared<std::vector<std::string>>(tasks.size());
    const time_point until = transport_.now() + seconds_of(seconds);
    for (std::size_t r = 0; r < tasks.size(); ++r) {
        const auto& [job, task] = tasks[r];
        ends[r].name = name_of(job, task) + " (" + cluster_.address(job, task) + ")";
        if (static_cast<int>(r) == rank) continue;
        ends[r].at = others_.to(job, task);
        ends[r].at->connect(until, [left, told, r, &t = transport_](answer a) {
            if (a.failed) (*told)[r] = a.message;
            --*left;
            t.wake();
        });
    }
    (void)transport_.work_until([&] { return *left == 0; }, until + std::chrono::seconds(5));
    std::string missing;
    for (const std::string& why : *told)
        if (!why.empty()) missing += "\n  " + why;
    if (!missing.empty() || *left > 0)
        throw deadline_exceeded_error("group " + name + ": not all of its " + std::to_string(tasks.size()) +
                                      " processes were reached within " + tenon::detail::text_of_number(seconds) +
                                      " s:" + (missing.empty() ? " they do not answer" : missing));

    entered made;
    for (std::size_t r = 0; r < tasks.size(); ++r) {
        ends[r].incarnation = ends[r].at ? ends[r].at->incarnation() : self_.incarnation;
        made.members.push_back({name_of(tasks[r].first, tasks[r].second), ends[r].incarnation});
    }
    const std::vector<link_channel::end> to = ends;
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(guard_);
        // All members say the same, whatever their names for it.
        number = hash_of_text(all + "#" + std::to_string(made_[all]++));
    }
    made.group = std::make_shared<exchange_group>(name, rank, static_cast<int>(tasks.size()), number,
                                                  std::make_unique<link_channel>(std::move(ends)));
    // Left by whoever drops it, not by a thread that brings messages.
    std::shared_ptr<collective_group> handle(
        made.group.get(), [inner = made.group, number, lease = std::chrono::duration<double>(link_.lease).count(),
                           of = weak_from_this()](collective_group*) {
            inner->leave(lease);
            if (const auto hub = of.lock()) hub->forget(number);
        });
    collective_group::enter(handle);
    std::vector<early_note> early;
    {
        const std::lock_guard lock(guard_);
        groups_.emplace(number, made);
        if (auto came = early_.extract(number)) early = std::move(came.mapped());
        for (const early_note& e : early) early_bytes_ -= e.m.body.size() + e.m.payload_bytes();
    }
    handle->explain("by Tenon's links between the " + std::to_string(tasks.size()) + " tasks of " + all +
                    ", of which this is " + name_of(self_.job, self_.task));
    for (early_note& e : early)
        if (const int from = made.rank_of(e.from.name, e.from.incarnation); from >= 0)
            give(made, from, e.which, std::move(e.m));
    for (std::size_t r = 0; r < to.size(); ++r) // who was lost before the group was there to be told
        if (to[r].at && (to[r].at->state() == peer_state::idle || to[r].at->incarnation() != to[r].incarnation))
            made.group->lost(static_cast<int>(r), to[r].name + " is lost");
    return handle;
}

void collectives::give(const entered& to, int from, verb which, message&& m) noexcept {
    try {
        switch (which) {
        case verb::collective_here: to.group->came(from, read<collective_here>(m)); break;
        case verb::collective_part: to.group->came(from, read<collective_part>(m)); break;
        default: to.group->came(from, read<collective_end>(m));
        }
    } catch (const error& e) {
        to.group->abort(e.code(), "group " + to.group->name() + ": from " + to.group->member(from) + ": " + e.what());
    } catch (const std::exception& e) {
        to.group->abort(error_code::resource_exhausted, e.what());
    }
}

void collectives::noted(const link_peer& from, verb which, message&& m) noexcept {
    const std::uint64_t number = session_of(m.body);
    entered to;
    int rank = -1;
    try {
        member sender{name_of(from.job, from.task), from.incarnation};
        const std::lock_guard lock(guard_);
        if (stopped_) return;
        const auto at = groups_.find(number);
        if (at == groups_.end()) {
            if (which == verb::collective_part || early_bytes_ > most_early_bytes) return;
            early_bytes_ += m.body.size() + m.payload_bytes();
            early_[number].push_back({std::move(sender), which, std::move(m)});
            return;
        }
        to = at->second;
        rank = to.rank_of(sender.name, sender.incarnation);
    } catch (const std::bad_alloc&) { // the sender's lease will end, or a step's limit
        return;
    }
    if (rank >= 0) give(to, rank, which, std::move(m));
}

any_array collectives::place_for(const link_peer& from, const bytes& body, const tensor_type& type) {
    entered to;
    {
        const std::lock_guard lock(guard_);
        const auto at = groups_.find(session_of(body));
        if (at == groups_.end()) return {};
        to = at->second;
    }
    const int rank = to.rank_of(name_of(from.job, from.task), from.incarnation);
    try {
        return rank < 0 ? any_array() : to.group->place(rank, awaited_part(body), type);
    } catch (const error&) { // it will be read, and refused, when it is there
        return {};
    }
}

void collectives::task_lost(const std::string& task, std::uint64_t incarnation, const std::string& why) noexcept {
    std::vector<std::pair<std::shared_ptr<exchange_group>, int>> of;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, g] : groups_)
            if (const int rank = g.rank_of(task, incarnation); rank >= 0) of.emplace_back(g.group, rank);
    }
    for (const auto& [group, rank] : of) group->lost(rank, why);
}

void collectives::forget(std::uint64_t number) noexcept {
    std::map<std::uint64_t, entered>::node_type gone; // ends after the lock does
    const std::lock_guard lock(guard_);
    gone = groups_.extract(number);
}

void collectives::stop(double seconds) noexcept {
    std::map<std::uint64_t, entered> all;
    {
        const std::lock_guard lock(guard_);
        all = groups_;
    }
    for (const auto& [number, g] : all) g.group->leave(seconds);
    const std::lock_guard lock(guard_);
    stopped_ = true;
    groups_.clear();
    early_.clear();
}

} // namespace tenon::net
