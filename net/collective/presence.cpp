#include <net/collective/exchange_group.hpp>

#include <algorithm>
#include <chrono>

// Of the members of a group: who has not come yet, who has left or was lost, and how a group ends.

namespace tenon::net {

std::string exchange_group::missing(std::uint64_t sequence) const {
    std::vector<int> absent, owing;
    {
        const std::lock_guard lock(guard_);
        const auto found = running_.find(sequence);
        if (found == running_.end() || !found->second.begun) return {};
        for (int j = 0; j < size(); ++j)
            if (!found->second.here[static_cast<std::size_t>(j)]) absent.push_back(j);
            else if (j != rank() && waits_for(found->second, j)) owing.push_back(j);
    }
    const bool none = absent.empty();
    std::string text;
    for (const int j : none ? owing : absent) text += (text.empty() ? "" : ", ") + member(j);
    if (text.empty()) return {};
    return none ? "values are on their way from " + text
                : text + (absent.size() > 1 ? " have" : " has") + " not come to it";
}

bool exchange_group::waits_for(const running& r, int rank_of) const {
    const auto at_rank = static_cast<std::size_t>(rank_of);
    if (!r.here[at_rank]) return true;
    if (!r.laid_out) return false;
    for (const bool arrived : r.arrived[at_rank])
        if (!arrived) return true;
    return std::any_of(r.pieces.begin(), r.pieces.end(),
                       [&](const own_piece& p) { return !p.summed && !p.from[at_rank]; });
}

void exchange_group::came(int from, const collective_end& m) noexcept {
    guarded([&] {
        if (!m.left) {
            (void)fail(m.why.code, m.why.message, m.why.reason, false);
            return;
        }
        std::string awaited;
        {
            const locked lock(guard_);
            left_[static_cast<std::size_t>(from)] = m.last;
            for (const auto& [number, r] : running_)
                if (r.begun && number > m.last && awaited.empty()) awaited = to_string(r.what);
        }
        changed_.notify_all();
        if (!awaited.empty())
            (void)fail(error_code::unavailable,
                       "group " + name() + ": " + member(from) + " has left it, and does not come to " + awaited,
                       error_reason::lost_task, false);
    });
}

void exchange_group::lost(int rank_of, const std::string& why) noexcept {
    guarded([&] {
        bool needed = false;
        {
            const locked lock(guard_);
            auto& left = left_[static_cast<std::size_t>(rank_of)];
            needed = !left;
            for (const auto& [number, r] : running_) needed = needed || (r.begun && waits_for(r, rank_of));
            if (!left) left = 0;
        }
        changed_.notify_all();
        if (needed && !gone_)
            (void)fail(error_code::unavailable, "group " + name() + ": " + why, error_reason::lost_task, true);
    });
}

void exchange_group::end(error_code code, const std::string& why, error_reason reason, bool tells) noexcept {
    std::map<std::uint64_t, running> dropped;
    {
        const locked lock(guard_);
        dropped.swap(running_);
        early_bytes_ = 0;
    }
    changed_.notify_all();
    if (!tells) return;
    for (int j = 0; j < size(); ++j) {
        if (j == rank()) continue;
        try {
            channel_->send(j, collective_end{group_, 0, false, {code, why, reason}});
        } catch (const std::exception&) { // who is not reached hears of the lost link
        }
    }
}

void exchange_group::leave(double seconds) noexcept {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    collective_end m{.group = group_, .left = true};
    {
        const locked lock(guard_);
        if (gone_) return;
        m.last = last_;
    }
    if (!has_ended()) {
        for (int j = 0; j < size(); ++j) {
            if (j == rank()) continue;
            try {
                channel_->send(j, m);
            } catch (const std::exception&) {
            }
        }
        locked lock(guard_);
        (void)changed_.wait_until(lock, std::chrono::time_point_cast<std::chrono::steady_clock::duration>(until), [&] {
            for (int j = 0; j < size(); ++j)
                if (j != rank() && !left_[static_cast<std::size_t>(j)] && !has_ended()) return false;
            return true;
        });
    }
    const std::chrono::duration<double> rest = until - std::chrono::steady_clock::now();
    channel_->flush(std::max(0.0, std::min(1.0, rest.count())));
    {
        const locked lock(guard_);
        gone_ = true;
    }
    (void)fail(error_code::failed_precondition, "group " + name() + ": this process has left it", error_reason::none,
               false);
}

} // namespace tenon::net
