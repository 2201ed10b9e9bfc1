// All ranks of a rendezvous but 0.

#include <net/launch/rendezvous.hpp>

#include <algorithm>
#include <mutex>
#include <random>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr duration first_pause = std::chrono::milliseconds(20); // between dials; doubled each time, up to
constexpr duration longest_pause = std::chrono::milliseconds(500);
constexpr duration longest_dial = std::chrono::seconds(5);
constexpr duration grace = std::chrono::seconds(5); // for rank 0 to say what it gave up for

/// Its connection, dials and timers own it while they can call it.
class visitor : public std::enable_shared_from_this<visitor> {
public:
    visitor(transport& t, const rendezvous_point& point, rendezvous_options options) :
        transport_(t), point_(point), options_(std::move(options)), until_(t.now() + options_.limit) {
        std::random_device random;
        incarnation_ = (std::uint64_t{random()} << 32 | random()) | 1;
    }

    void begin() {
        {
            const std::lock_guard lock(mutex_);
            set_end(until_);
        }
        dial();
    }

    void end() {
        std::shared_ptr<connection> line;
        std::uint64_t timers[3];
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            line = std::exchange(line_, nullptr);
            timers[0] = std::exchange(end_timer_, 0);
            timers[1] = std::exchange(dial_timer_, 0);
            timers[2] = std::exchange(beat_timer_, 0);
        }
        for (const std::uint64_t timer : timers)
            if (timer != 0) transport_.cancel(timer);
        if (line) line->close("the rendezvous is over");
    }

    bool done() const {
        const std::lock_guard lock(mutex_);
        return failed_ || (result_ && (!line_ || over_));
    }

    placed result() const {
        const std::lock_guard lock(mutex_);
        if (result_) return *result_;
        if (failed_) throw_error(failed_->first, failed_->second);
        throw internal_error("rendezvous: there is no result yet");
    }

private:
    struct line_user : connection_user {
        std::weak_ptr<visitor> of;
        std::shared_ptr<connection> line;
        message_limits limits() override {
            return {.body_bytes = std::size_t{64} << 20, .payload_bytes = 0, .arrays = 0};
        }
        void received(message m) override {
            if (const auto v = of.lock()) v->heard(line, m);
        }
        void closed(const std::string& why) override {
            line.reset();
            if (const auto v = of.lock()) v->lost(why);
        }
    };

    bool finished() const { return ended_ || failed_ || result_; } // the lock is held

    void dial() {
        std::string address, word, why;
        duration limit;
        {
            const std::lock_guard lock(mutex_);
            if (finished()) return;
            limit = std::min(longest_dial, until_ - transport_.now());
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
            if (!address.empty()) where_ = address;
        }
        if (!why.empty()) return again(why);
        transport_.dial(address, limit,
                        [self = shared_from_this(), word](std::shared_ptr<connection> line, const std::string& reason) {
                            return self->dialed(std::move(line), word, reason);
                        });
    }

    std::shared_ptr<connection_user> dialed(std::shared_ptr<connection> line, const std::string& word,
                                            const std::string& why) {
        if (!line) {
            again(why);
            return nullptr;
        }
        const auto user = std::make_shared<line_user>();
        user->of = weak_from_this();
        user->line = line;
        {
            const std::lock_guard lock(mutex_);
            if (finished()) return nullptr;
            if (!line->is_private() && !options_.insecure) {
                fail(error_code::permission_denied, "rendezvous: the connection to rank 0 at " + where_ +
                                                        " is neither on loopback nor encrypted; run on one "
                                                        "host, or ask for an insecure rendezvous by name");
                transport_.wake();
                return nullptr;
            }
            line_ = line;
            pause_ = first_pause;
            heard_ = transport_.now();
        }
        say_who(line, word);
        return user;
    }

    // Again and again, while there is no answer.
    void say_who(const std::shared_ptr<connection>& line, const std::string& word) {
        joining me;
        me.run = point_.run + word;
        me.size = point_.size;
        me.rank = point_.rank;
        me.job = point_.job;
        me.task = point_.task;
        me.address = options_.serve;
        me.incarnation = incarnation_;
        send(line, rendezvous_verb::join, encode(me));
        const std::lock_guard lock(mutex_);
        if (finished() || line_ != line) return;
        if (beat_timer_ != 0) transport_.cancel(beat_timer_);
        beat_timer_ = transport_.call_at(transport_.now() + rendezvous_heartbeat, [self = weak_from_this(), word] {
            if (const auto v = self.lock()) v->beat(word);
        });
    }

    void beat(const std::string& word) {
        std::shared_ptr<connection> line;
        bool silent;
        {
            const std::lock_guard lock(mutex_);
            if (finished() || !line_) return;
            line = line_;
            silent = transport_.now() - heard_ > rendezvous_silence;
        }
        silent ? line->close("rank 0 does not answer") : say_who(line, word);
    }

    static void send(const std::shared_ptr<connection>& line, rendezvous_verb verb, bytes body) {
        message m;
        m.type = message_type::note;
        m.verb = static_cast<std::uint8_t>(verb);
        m.body = std::move(body);
        line->send(std::move(m));
    }

    void heard(const std::shared_ptr<connection>& line, const message& m) {
        bool confirm = false, close = false;
        try {
            const std::lock_guard lock(mutex_);
            if (finished()) return;
            heard_ = transport_.now();
            if (m.type != message_type::note) throw data_loss_error("rendezvous: a message of another kind");
            byte_reader r(m.body, "rendezvous");
            switch (static_cast<rendezvous_verb>(m.verb)) {
            case rendezvous_verb::wait: {
                // Rank 0 says who did not come, when its time is over.
                const auto left =
                    std::chrono::milliseconds(std::clamp<std::int64_t>(r.number<std::int64_t>(), 0, 86'400'000));
                waits_ = true;
                until_ = transport_.now() + left + grace;
                set_end(until_);
                break;
            }
            case rendezvous_verb::cluster:
                result_ = decode_placed(m.body);
                confirm = true;
                set_end(transport_.now() + grace); // for rank 0 to read the confirmation
                break;
            case rendezvous_verb::refused: {
                const auto code = r.one_of<error_code>(static_cast<std::size_t>(error_code::data_loss) + 1);
                fail(code, r.text());
                close = true;
                break;
            }
            default: throw data_loss_error("rendezvous: a message of another kind");
            }
        } catch (const error& e) {
            const std::lock_guard lock(mutex_);
            fail(error_code::data_loss,
                 "rendezvous: what answers at " + where_ + " is no rank 0 of this version: " + e.what());
            close = true;
        }
        if (confirm) send(line, rendezvous_verb::received, {});
        if (close) line->close("refused");
        transport_.wake();
    }

    void lost(const std::string& why) {
        {
            const std::lock_guard lock(mutex_);
            line_.reset();
        }
        transport_.wake();
        again(why);
    }

    // Dials again, after a while.
    void again(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (finished()) return;
        last_ = why;
        dial_timer_ = transport_.call_at(transport_.now() + pause_, [self = weak_from_this()] {
            if (const auto v = self.lock()) v->dial();
        });
        pause_ = std::min(2 * pause_, longest_pause);
    }

    // In the place of the time before. The lock is held.
    void set_end(time_point at) {
        if (end_timer_ != 0) transport_.cancel(end_timer_);
        const int turn = ++ends_;
        end_timer_ = transport_.call_at(at, [self = weak_from_this(), turn] {
            const auto v = self.lock();
            if (!v) return;
            {
                const std::lock_guard lock(v->mutex_);
                if (v->ends_ != turn || v->ended_) return;
                v->time_is_over();
            }
            v->transport_.wake();
        });
    }

    void time_is_over() {
        over_ = true;
        if (finished()) return;
        const std::string where = !where_.empty() ? where_ : point_.file.empty() ? "nowhere" : point_.file;
        const std::string me = "rendezvous: rank " + std::to_string(point_.rank) + " of " + std::to_string(point_.size);
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.limit).count();
        fail(error_code::deadline_exceeded,
             waits_
                 ? me + " came to rank 0 at " + where + ", which then fell silent" + (last_.empty() ? "" : ": " + last_)
                 : me + " did not reach rank 0 at " + where + " within " + std::to_string(ms) + " ms: " +
                       (last_.empty() ? "no answer" : last_) + "; see whether rank 0 runs, or set TENON_RENDEZVOUS");
    }

    // The lock is held.
    void fail(error_code code, const std::string& why) {
        if (!failed_ && !result_) failed_.emplace(code, why);
    }

    transport& transport_;
    const rendezvous_point point_;
    const rendezvous_options options_;
    std::uint64_t incarnation_;

    mutable std::mutex mutex_; // of all below
    time_point until_;
    std::shared_ptr<connection> line_;
    std::string where_; // the address that was tried last
    std::string last_;  // why there is no connection
    std::size_t next_ = 0;
    duration pause_ = first_pause;
    time_point heard_;   // when rank 0 last said something on this connection
    bool waits_ = false; // rank 0 has answered
    std::optional<placed> result_;
    std::optional<std::pair<error_code, std::string>> failed_;
    std::uint64_t dial_timer_ = 0, end_timer_ = 0, beat_timer_ = 0;
    int ends_ = 0;
    bool over_ = false;
    bool ended_ = false;
};

/// Ends it.
class visitor_part final : public rendezvous {
public:
    explicit visitor_part(std::shared_ptr<visitor> v) : visitor_(std::move(v)) {}
    ~visitor_part() override { visitor_->end(); }
    bool done() const override { return visitor_->done(); }
    placed result() const override { return visitor_->result(); }

private:
    std::shared_ptr<visitor> visitor_;
};

} // namespace

std::unique_ptr<rendezvous> visit_rendezvous(transport& t, const rendezvous_point& point, rendezvous_options options) {
    auto v = std::make_shared<visitor>(t, point, std::move(options));
    auto part = std::make_unique<visitor_part>(v);
    v->begin();
    return part;
}

} // namespace tenon::net
