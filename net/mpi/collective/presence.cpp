#include <net/mpi/collective/group.hpp>

#include <algorithm>

#include <net/mpi/collective/library.hpp>
#include <tenon/core/error.hpp>

// What the processes of a group say to each other beside values: who is asked how far it is, and how a group ends.

namespace tenon::mpi {

namespace {

using namespace std::chrono_literals;

constexpr auto ask_after = 250ms, ask_every = 500ms;
constexpr int most_unanswered = 12; // six seconds, as of links

enum note_kind { ask = 1, state, ended, left };

} // namespace

void group::tell(int to, const note& n) {
    sent_note& s = sent_.emplace_back();
    s.kept = std::make_unique<note>(n);
    require(MPI_Isend(s.kept.get(), sizeof(note), MPI_CHAR, to, 0, notes_, &s.request), "MPI_Isend");
}
void group::tell_all(const note& n) {
    for (int j = 0; j < size(); ++j)
        if (j != rank()) tell(j, n);
}

void group::read_notes(std::vector<failed>& ends) {
    for (auto s = sent_.begin(); s != sent_.end();) {
        int over = 0;
        require(MPI_Test(&s->request, &over, MPI_STATUS_IGNORE), "MPI_Test");
        s = over ? sent_.erase(s) : std::next(s);
    }
    if (size() == 1) return;
    for (;;) {
        int any = 0;
        MPI_Status from;
        require(MPI_Iprobe(MPI_ANY_SOURCE, 0, notes_, &any, &from), "MPI_Iprobe");
        if (!any) return;
        note n;
        require(MPI_Recv(&n, sizeof n, MPI_CHAR, from.MPI_SOURCE, 0, notes_, MPI_STATUS_IGNORE), "MPI_Recv");
        n.text[sizeof n.text - 1] = 0;
        const auto sender = static_cast<std::size_t>(from.MPI_SOURCE);
        unanswered_[sender] = 0;
        if (n.kind == ask) {
            note reply{.kind = state};
            {
                const std::lock_guard lock(guard_);
                reply.number = issued_;
            }
            tell(from.MPI_SOURCE, reply);
        } else if (n.kind == state) {
            const std::lock_guard lock(guard_);
            come_[sender] = n.number;
            heard_[sender] = clock::now();
        } else if (n.kind == ended) {
            ends.push_back({static_cast<error_code>(n.code), n.text, static_cast<error_reason>(n.reason), false});
        } else if (n.kind == left) {
            {
                const std::lock_guard lock(guard_);
                left_[sender] = true;
            }
            changed_.notify_all();
            last_of_[sender] = n.number;
        }
    }
}

// Who has not come while others wait is asked how far it is; who does not answer that is lost.
void group::look_for_lost(clock::time_point now, std::vector<failed>& ends) {
    for (const running& r : under_way_)
        for (int j = 0; j < size(); ++j) {
            const auto at_j = static_cast<std::size_t>(j);
            bool gone = false;
            {
                const std::lock_guard lock(guard_);
                gone = left_[at_j];
            }
            if (gone && last_of_[at_j] < r.number) {
                ends.push_back(
                    {error_code::unavailable,
                     "group " + name() + ": " + member(j) + " has left it, and does not come to " + to_string(r.what),
                     error_reason::lost_task, true});
                return;
            }
        }
    if (under_way_.empty() || now - under_way_.front().since < ask_after || now - asked_ < ask_every) return;
    asked_ = now;
    for (int j = 0; j < size(); ++j) {
        const auto at_j = static_cast<std::size_t>(j);
        if (j == rank()) continue;
        if (++unanswered_[at_j] > most_unanswered) {
            ends.push_back({error_code::unavailable,
                            "group " + name() + ": " + member(j) + " is lost: it has not answered for " +
                                std::to_string(most_unanswered * ask_every / 1s) + " s",
                            error_reason::lost_task, true});
            return;
        }
        note n{.kind = ask};
        tell(j, n);
    }
}

std::string group::missing(std::uint64_t sequence) const {
    const std::lock_guard lock(guard_);
    std::string text;
    int absent = 0;
    for (int j = 0; j < size(); ++j) {
        const auto at_j = static_cast<std::size_t>(j);
        if (j == rank() || heard_[at_j] == clock::time_point() || come_[at_j] >= sequence) continue;
        text += (text.empty() ? "" : ", ") + member(j);
        ++absent;
    }
    return text.empty() ? text : text + (absent > 1 ? " have" : " has") + " not come to it";
}

// What MPI has begun cannot be taken back: its memory stays for as long as the process does.
void group::abandon() noexcept {
    static auto& kept = *new std::list<std::list<running>>;
    static auto& notes = *new std::list<std::list<sent_note>>;
    if (under_way_.empty() && sent_.empty()) return;
    never_finalize();
    try {
        kept.emplace_back();
        notes.emplace_back();
    } catch (...) {
        return;
    }
    open_ -= static_cast<std::int64_t>(under_way_.size());
    kept.back().swap(under_way_);
    notes.back().swap(sent_);
}

void group::end(error_code code, const std::string& why, error_reason reason, bool tells) noexcept {
    try {
        const std::lock_guard lock(mpi_guard_);
        {
            const std::lock_guard mine(guard_);
            dead_ = true;
            drop(arriving_);
        }
        drop(waiting_);
        if (!under_way_.empty()) {
            std::list<sent_note> telling;
            telling.swap(sent_);
            abandon();
            sent_.swap(telling);
        }
        if (tells) {
            note n{.kind = ended, .code = static_cast<int>(code), .reason = static_cast<int>(reason)};
            why.copy(n.text, sizeof n.text - 1);
            tell_all(n);
        }
    } catch (const std::exception&) { // the others hear of it when they ask
    }
    changed_.notify_all();
}

void group::leave(double seconds) noexcept {
    const auto until =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    {
        std::unique_lock lock(guard_);
        if (over_) return;
        lock.unlock();
        try {
            const std::lock_guard calls(mpi_guard_);
            note n{.kind = left};
            {
                const std::lock_guard mine(guard_);
                n.number = issued_;
            }
            if (!has_ended()) tell_all(n);
        } catch (const std::exception&) {
        }
        lock.lock();
        left_[static_cast<std::size_t>(rank())] = true;
        leaving_ = true; // others' words are looked for more often
        changed_.notify_all();
        (void)changed_.wait_until(lock, until,
                                  [&] { return dead_ || std::find(left_.begin(), left_.end(), false) == left_.end(); });
    }
    (void)fail(error_code::failed_precondition, "group " + name() + ": this process has left it", error_reason::none,
               false);
    bool all = false;
    {
        std::unique_lock lock(guard_);
        over_ = true;
        all = std::find(left_.begin(), left_.end(), false) == left_.end();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mpi_guard_);
    // The last words are short: they go at once, or nobody is there to take them.
    for (const auto last = clock::now() + 1s; !sent_.empty() && clock::now() < last;) {
        for (auto s = sent_.begin(); s != sent_.end();) {
            int done = 0;
            const bool fine = MPI_Test(&s->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
            s = done || !fine ? sent_.erase(s) : std::next(s);
        }
        if (!sent_.empty()) std::this_thread::sleep_for(1ms);
    }
    abandon();
    if (!all) return;
    (void)MPI_Comm_free(&notes_);
    (void)MPI_Comm_free(&values_);
    (void)MPI_Comm_free(&words_);
}

} // namespace tenon::mpi
