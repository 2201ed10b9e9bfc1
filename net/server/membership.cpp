#include <net/server/membership.hpp>

#include <algorithm>
#include <utility>

#include <net/link/options.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr int status_of_lost = 128 + 9; // as of who was killed

} // namespace

membership::membership(const time_source& t, std::vector<std::string> expected, log_function log) :
    clock_(t), log_(std::move(log)), began_(t.now()) {
    for (std::string& task : expected) tasks_.emplace(std::move(task), entry());
}

void membership::came(const std::string& task, std::uint64_t incarnation) {
    bool again = false;
    {
        const std::lock_guard lock(guard_);
        const auto at = tasks_.find(task);
        if (at == tasks_.end()) return;
        entry& e = at->second;
        if (e.is_here && e.incarnation == incarnation) return;
        again = e.incarnation != 0;
        e = {incarnation, true, std::nullopt, clock_.now()};
        changed_.notify_all();
    }
    tell(task + (again ? " has come again" : " has come"));
}

void membership::left(const std::string& task, std::uint64_t incarnation, int status) {
    {
        const std::lock_guard lock(guard_);
        const auto at = tasks_.find(task);
        if (at == tasks_.end() || (at->second.is_here && at->second.incarnation != incarnation)) return;
        at->second = {incarnation, false, status, clock_.now()};
        changed_.notify_all();
    }
    tell(task + " has ended with status " + std::to_string(status));
}

void membership::lost(const std::string& task, std::uint64_t incarnation, const std::string& why) {
    {
        const std::lock_guard lock(guard_);
        const auto at = tasks_.find(task);
        if (at == tasks_.end() || !at->second.is_here || at->second.incarnation != incarnation) return;
        at->second.is_here = false;
        at->second.since = clock_.now();
        changed_.notify_all();
    }
    tell(task + " is lost: its process was killed, or cannot be reached: " + why);
}

void membership::ask_to_stop(duration grace) {
    const std::lock_guard lock(guard_);
    const time_point at = clock_.now() + grace;
    stop_at_ = stop_at_ ? std::min(*stop_at_, at) : at;
    changed_.notify_all();
}

membership::verdict membership::look(const membership_limits& limits) const {
    const time_point now = clock_.now();
    verdict v;
    std::optional<time_point> first_failure;
    for (const auto& [task, e] : tasks_) {
        if (e.is_here) {
            v.over = false;
            continue;
        }
        if (e.status) {
            if (*e.status == 0 || (first_failure && *first_failure <= e.since)) continue;
            first_failure = e.since;
            v.status = *e.status;
            continue;
        }
        if (stop_at_ && e.incarnation == 0) continue; // and it need not come any more
        const time_point until = e.incarnation == 0 ? began_ + limits.to_come : e.since + limits.to_return;
        if (now < until && !stop_at_) {
            v.over = false;
            v.next = std::min(v.next, until);
        }
        const time_point since = e.incarnation == 0 ? until : e.since;
        if (first_failure && *first_failure <= since) continue;
        first_failure = since;
        v.status = status_of_lost;
    }
    if (limits.until_asked && !stop_at_) v.over = false;
    if (stop_at_ && now >= *stop_at_) v.over = true;
    if (stop_at_) v.next = std::min(v.next, *stop_at_);
    return v;
}

std::string membership::missing() const {
    std::string names;
    for (const auto& [task, e] : tasks_)
        if (e.incarnation == 0) names += (names.empty() ? "" : ", ") + task;
    return names;
}

int membership::wait_until_over(const membership_limits& limits) {
    std::unique_lock lock(guard_);
    for (;;) {
        const verdict v = look(limits);
        if (v.over) {
            const bool nobody =
                std::all_of(tasks_.begin(), tasks_.end(), [](const auto& t) { return t.second.incarnation == 0; });
            const std::string names = missing();
            if (nobody && !tasks_.empty() && !stop_at_)
                throw deadline_exceeded_error(
                    "nobody has come within " + in_words(limits.to_come) + " of those that train: " + names +
                    "; are they started, and of the same run? TENON_JOIN_TIMEOUT gives them more seconds");
            lock.unlock();
            if (!names.empty() && !stop_at_) tell("the run is over, and these never came: " + names);
            return v.status;
        }
        if (v.next == time_point::max()) changed_.wait(lock);
        else changed_.wait_until(lock, v.next);
    }
}

} // namespace tenon::net
