// All ranks of a rendezvous but 0.

#include <net/launch/rendezvous/rendezvous.hpp>

#include <algorithm>
#include <mutex>

#include <net/rpc/peer.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr duration first_pause = std::chrono::milliseconds(20); // between links; doubled each time, up to
constexpr duration longest_pause = std::chrono::milliseconds(500);
constexpr duration grace = std::chrono::seconds(5); // for rank 0 to say what it gave up for

/// Calls and timers look for it when they end.
class visitor : public std::enable_shared_from_this<visitor> {
public:
    visitor(transport& t, const rendezvous_point& point, rendezvous_options options) :
        transport_(t),
        point_(point),
        options_(std::move(options)),
        incarnation_(t.random_number()),
        until_(t.now() + options_.limit) {}

    void begin() {
        {
            const std::lock_guard lock(mutex_);
            set_end();
        }
        come();
    }

    void end() {
        std::shared_ptr<peer> rank_0;
        std::uint64_t timers[2];
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            rank_0 = std::exchange(peer_, nullptr);
            timers[0] = std::exchange(end_timer_, 0);
            timers[1] = std::exchange(again_timer_, 0);
        }
        for (const std::uint64_t timer : timers)
            if (timer != 0) transport_.cancel(timer);
        if (rank_0) rank_0->close();
    }

    bool done() const {
        const std::lock_guard lock(mutex_);
        return failed_ || result_;
    }

    placed result() const {
        const std::lock_guard lock(mutex_);
        if (result_) return *result_;
        if (failed_) throw_error(failed_->first, failed_->second);
        throw internal_error("rendezvous: there is no result yet");
    }

private:
    bool finished() const { return ended_ || failed_ || result_; } // the lock is held

    void come() {
        std::string word, why;
        std::shared_ptr<peer> rank_0;
        time_point deadline;
        {
            const std::lock_guard lock(mutex_);
            if (finished()) return;
            std::string address;
            if (!point_.file.empty()) {
                rendezvous_file file;
                why = read_rendezvous_file(point_.file, file);
                address = file.address;
                word = file.word;
            } else if (point_.addresses.empty()) {
                why = "there is no address of it";
            } else {
                address = point_.addresses[next_++ % point_.addresses.size()];
            }
            if (why.empty()) {
                where_ = address;
                peer_options o{.address = address};
                o.self.incarnation = incarnation_;
                o.self.token = options_.token + word;
                o.self.insecure = options_.insecure;
                o.limits.payload_bytes = 0;
                o.limits.arrays = 0;
                o.name_of_verb = name_of_rendezvous_verb;
                peer_ = rank_0 = peer::make(transport_, std::move(o));
            }
            deadline = until_ + grace; // the timer of the end comes before it
        }
        if (!rank_0) return again(why);
        joining me;
        me.run = point_.run;
        me.size = point_.size;
        me.rank = point_.rank;
        me.job = point_.job;
        me.task = point_.task;
        me.address = options_.serve;
        me.incarnation = incarnation_;
        rank_0->call(static_cast<std::uint8_t>(rendezvous_verb::join), encode(me), {}, deadline,
                     [self = weak_from_this(), rank_0](answer a) {
                         if (const auto v = self.lock()) v->joined(rank_0, std::move(a));
                     });
    }

    void joined(const std::shared_ptr<peer>& rank_0, answer a) {
        if (a.failed) return failed(rank_0, a);
        time_point deadline;
        try {
            byte_reader r(a.body, "rendezvous");
            const std::int64_t left = std::clamp<std::int64_t>(r.number<std::int64_t>(), 0, 86'400'000);
            r.end();
            const std::lock_guard lock(mutex_);
            if (finished()) return;
            // Rank 0 says who did not come, when its time is over.
            came_ = true;
            until_ = transport_.now() + std::chrono::milliseconds(left) + grace;
            deadline = until_ + grace;
            set_end();
        } catch (const error& e) {
            return fail(error_code::data_loss, e.what());
        }
        rank_0->call(static_cast<std::uint8_t>(rendezvous_verb::place), {}, {}, deadline,
                     [self = weak_from_this(), rank_0](answer b) {
                         if (const auto v = self.lock()) v->told(rank_0, std::move(b));
                     });
    }

    void told(const std::shared_ptr<peer>& rank_0, answer a) {
        if (a.failed) return failed(rank_0, a);
        try {
            placed place = decode_placed(a.body);
            {
                const std::lock_guard lock(mutex_);
                if (finished()) return;
                result_ = std::move(place);
            }
            transport_.wake();
        } catch (const error& e) {
            fail(error_code::data_loss, e.what());
        }
    }

    // A call has failed: for good, or because rank 0 is not there, not there any more, or not ready for this rank.
    void failed(const std::shared_ptr<peer>& rank_0, const answer& a) {
        {
            const std::lock_guard lock(mutex_);
            if (finished() || peer_ != rank_0) return;
            peer_.reset();
            if (a.code == error_code::already_exists) refused_ = a.message;
        }
        rank_0->close();
        // Where rank 0 may be elsewhere, too, or tell anew where it is, who refuses may be of another run.
        const bool elsewhere = !point_.file.empty() || point_.addresses.size() > 1;
        switch (a.code) {
        case error_code::unavailable:
        case error_code::aborted:
        case error_code::already_exists: return again(a.message);
        case error_code::permission_denied:
        case error_code::failed_precondition:
            if (elsewhere) return again(a.message);
            [[fallthrough]];
        default: return fail(a.code, a.message);
        }
    }

    // Comes again, after a while.
    void again(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (finished()) return;
        last_ = why;
        again_timer_ = transport_.call_at(transport_.now() + pause_, [self = weak_from_this()] {
            if (const auto v = self.lock()) v->come();
        });
        pause_ = std::min(2 * pause_, longest_pause);
    }

    // At `until_`, in the place of the time before. The lock is held.
    void set_end() {
        if (end_timer_ != 0) transport_.cancel(end_timer_);
        const int turn = ++ends_;
        end_timer_ = transport_.call_at(until_, [self = weak_from_this(), turn] {
            if (const auto v = self.lock()) v->time_is_over(turn);
        });
    }

    void time_is_over(int turn) {
        std::string why;
        {
            const std::lock_guard lock(mutex_);
            if (ends_ != turn || finished()) return;
            const std::string where = !where_.empty() ? where_ : point_.file.empty() ? "nowhere" : point_.file;
            const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.limit).count();
            why = "rendezvous: rank " + std::to_string(point_.rank) + " of " + std::to_string(point_.size) +
                  (came_ ? " came to rank 0 at " + where + ", which then did not answer"
                         : " did not reach rank 0 at " + where + " within " + std::to_string(ms) + " ms") +
                  (!refused_.empty() ? ": " + refused_
                   : last_.empty()   ? ""
                                     : ": " + last_) +
                  "; see whether rank 0 runs, or set TENON_RENDEZVOUS";
        }
        fail(error_code::deadline_exceeded, why);
    }

    void fail(error_code code, const std::string& why) {
        {
            const std::lock_guard lock(mutex_);
            if (finished()) return;
            failed_.emplace(code, why);
        }
        transport_.wake();
    }

    transport& transport_;
    const rendezvous_point point_;
    const rendezvous_options options_;
    const std::uint64_t incarnation_;

    mutable std::mutex mutex_; // of all below
    time_point until_;
    std::shared_ptr<peer> peer_;
    std::string where_;   // the address that was tried last
    std::string last_;    // why there was no answer
    std::string refused_; // or not yet the one that was hoped for
    std::size_t next_ = 0;
    duration pause_ = first_pause;
    bool came_ = false; // rank 0 has answered
    std::optional<placed> result_;
    std::optional<std::pair<error_code, std::string>> failed_;
    std::uint64_t again_timer_ = 0, end_timer_ = 0;
    int ends_ = 0;
    bool ended_ = false;
};

/// Ends it.
class visitor_part final : public rendezvous_part {
public:
    explicit visitor_part(std::shared_ptr<visitor> v) : visitor_(std::move(v)) {}
    ~visitor_part() override { visitor_->end(); }
    bool done() const override { return visitor_->done(); }
    placed result() const override { return visitor_->result(); }

private:
    std::shared_ptr<visitor> visitor_;
};

} // namespace

std::unique_ptr<rendezvous_part> visit_rendezvous(transport& t, const rendezvous_point& point,
                                                  rendezvous_options options) {
    auto v = std::make_shared<visitor>(t, point, std::move(options));
    auto part = std::make_unique<visitor_part>(v);
    v->begin();
    return part;
}

} // namespace tenon::net
