// Rank 0 of a rendezvous.

#include <net/launch/rendezvous.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <random>

#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_strangers = 256;               // connections that have not said who they are
constexpr duration parting = std::chrono::seconds(2);     // for refusals to be read
constexpr duration confirming = std::chrono::seconds(10); // for answers to be confirmed, at least

message note(rendezvous_verb verb, bytes body) {
    message m;
    m.type = message_type::note;
    m.verb = static_cast<std::uint8_t>(verb);
    m.body = std::move(body);
    return m;
}

message refusal(error_code code, const std::string& why) {
    byte_writer w;
    w.number(code);
    w.text(why);
    return note(rendezvous_verb::refused, w.take());
}

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool on_loopback(const std::string& host) {
    return host.starts_with("127.") || host == "[::1]" || host == "localhost" || host.starts_with("[::ffff:127.");
}

// What is to be done when the lock is given back.
struct errand {
    std::shared_ptr<connection> to;
    message what;
    bool close = false;
};

void run_errands(std::vector<errand>& errands) {
    for (errand& e : errands) e.close ? e.to->close("the rendezvous is over") : e.to->send(std::move(e.what));
}

/// Connections and timers own it while they can call it; it owns connections until it has ended.
class host : public std::enable_shared_from_this<host> {
public:
    host(transport& t, const rendezvous_point& point, rendezvous_options options, std::string run) :
        transport_(t),
        options_(std::move(options)),
        began_(t.now()),
        run_(std::move(run)),
        table_(run_, point.size),
        size_(static_cast<std::size_t>(point.size)) {}

    void begin(const rendezvous_point& point, const std::string& word) {
        if (!point.addresses.empty()) own_host_ = host_of(point.addresses.front());
        const std::weak_ptr<host> self = weak_from_this();
        listener_ = transport_.listen(point.listen, [self](std::shared_ptr<connection> c) {
            const auto me = self.lock();
            return me ? me->visited(std::move(c)) : nullptr;
        });
        if (point.addresses.empty()) own_host_ = host_of(listener_->address()); // which nobody knows yet
        joining me;
        me.run = run_;
        me.size = point.size;
        me.job = point.job;
        me.task = point.task;
        me.address = options_.serve.starts_with(':') ? own_host_ + options_.serve : options_.serve;
        std::vector<errand> errands;
        {
            const std::lock_guard lock(mutex_);
            if (const std::string why = table_.join(me); !why.empty())
                throw invalid_argument_error("rendezvous: " + why);
            set_timer(began_ + options_.limit, [](host& h, std::vector<errand>& e) { h.give_up(e); });
            see_whether_all_are_here(errands);
        }
        run_errands(errands);
        beat();
        if (!point.file.empty()) write_rendezvous_file(file_ = point.file, {listener_->address(), word});
    }

    void end() {
        std::vector<errand> errands;
        std::uint64_t timer = 0, beat_timer = 0;
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            timer = std::exchange(timer_, 0);
            beat_timer = std::exchange(beat_timer_, 0);
            for (const auto& g : guests_) errands.push_back({g->line, {}, true});
            guests_.clear();
        }
        listener_.reset();
        if (timer != 0) transport_.cancel(timer);
        if (beat_timer != 0) transport_.cancel(beat_timer);
        run_errands(errands);
        if (!file_.empty()) ::unlink(file_.c_str());
    }

    bool done() const {
        const std::lock_guard lock(mutex_);
        return over_ || (failed_ ? guests_.empty() : result_ && confirmed_ == size_ - 1);
    }

    placed result() const {
        const std::lock_guard lock(mutex_);
        if (failed_) throw_error(failed_->first, failed_->second);
        if (!result_) throw internal_error("rendezvous: there is no result yet");
        return *result_;
    }

private:
    struct guest : connection_user {
        std::weak_ptr<host> of;
        std::shared_ptr<connection> line;
        int rank = -1; // not told yet. This and what follows: the host's lock
        std::uint64_t incarnation = 0;
        time_point heard;

        message_limits limits() override { return {.body_bytes = 65536, .payload_bytes = 0, .arrays = 0}; }
        void received(message m) override {
            if (const auto h = of.lock()) h->heard(*this, m);
        }
        void closed(const std::string&) override {
            if (const auto h = of.lock()) h->gone(*this);
            line.reset(); // the host knows this one no more
        }
    };

    std::shared_ptr<connection_user> visited(std::shared_ptr<connection> line) {
        const auto g = std::make_shared<guest>();
        g->of = weak_from_this();
        g->line = std::move(line);
        std::vector<errand> errands;
        {
            const std::lock_guard lock(mutex_);
            if (ended_) return nullptr;
            g->heard = transport_.now();
            guests_.push_back(g);
            if (!g->line->is_private() && !options_.insecure)
                errands.push_back(
                    {g->line, refusal(error_code::permission_denied,
                                      "the connection is neither on loopback nor encrypted; run on one host, "
                                      "or ask rank 0 and the others for an insecure rendezvous by name")});
            const auto stranger = [](const auto& other) { return other->rank < 0; };
            if (static_cast<std::size_t>(std::count_if(guests_.begin(), guests_.end(), stranger)) > most_strangers)
                errands.push_back({(*std::find_if(guests_.begin(), guests_.end(), stranger))->line, {}, true});
        }
        run_errands(errands);
        return g;
    }

    void heard(guest& g, const message& m) {
        std::vector<errand> errands;
        const auto verb = static_cast<rendezvous_verb>(m.verb);
        try {
            if (m.type != message_type::note) throw data_loss_error("rendezvous: a message of another kind");
            const std::lock_guard lock(mutex_);
            if (ended_) return;
            g.heard = transport_.now();
            if (verb == rendezvous_verb::join) joins(g, decode_joining(m.body), errands);
            else if (verb == rendezvous_verb::received) confirms(g, errands);
            else throw data_loss_error("rendezvous: a message of another kind");
        } catch (const error& e) {
            errands.push_back({g.line, refusal(e.code(), e.what())});
        }
        run_errands(errands);
        transport_.wake();
    }

    void joins(guest& g, joining who, std::vector<errand>& errands) {
        if (!g.line->is_private() && !options_.insecure) return; // was refused
        if (who.address.starts_with(':')) {
            // A visitor from loopback is on this host.
            const std::string seen = host_of(g.line->peer());
            who.address = (on_loopback(seen) ? own_host_ : seen) + who.address;
        }
        if (failed_) return errands.push_back({g.line, refusal(failed_->first, failed_->second)});
        if (const std::string why = table_.join(who); !why.empty()) {
            refused_ += "; refused: " + why;
            if (refused_.size() > 1000) refused_.resize(1000);
            return errands.push_back(
                {g.line, refusal(error_code::invalid_argument, "rendezvous: rank 0 refuses: " + why)});
        }
        g.rank = who.rank;
        g.incarnation = who.incarnation;
        if (result_)
            return errands.push_back({g.line, note(rendezvous_verb::cluster, encode(table_.place_of(g.rank)))});
        byte_writer w;
        const auto left = began_ + options_.limit - transport_.now();
        w.number(static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
        errands.push_back({g.line, note(rendezvous_verb::wait, w.take())});
        see_whether_all_are_here(errands);
    }

    void see_whether_all_are_here(std::vector<errand>& errands) {
        if (result_ || !table_.complete()) return;
        result_ = table_.place_of(0);
        for (const auto& g : guests_)
            if (g->rank > 0)
                errands.push_back({g->line, note(rendezvous_verb::cluster, encode(table_.place_of(g->rank)))});
        // The limit was for all to be there; now it is for them to hear of it.
        set_timer(std::max(began_ + options_.limit, transport_.now() + confirming),
                  [](host& h, std::vector<errand>&) { h.over_ = true; });
    }

    void confirms(guest& g, std::vector<errand>& errands) {
        if (g.rank > 0 && result_ && has_confirmed_.insert(g.rank).second) ++confirmed_;
        errands.push_back({g.line, {}, true});
    }

    // Ends connections of whom nothing is heard: they say `join` every second, and a stranger has said nothing.
    void beat() {
        std::vector<errand> errands;
        {
            const std::lock_guard lock(mutex_);
            if (ended_) return;
            for (const auto& g : guests_)
                if (transport_.now() - g->heard > rendezvous_silence) errands.push_back({g->line, {}, true});
            beat_timer_ = transport_.call_at(transport_.now() + rendezvous_heartbeat, [self = weak_from_this()] {
                if (const auto h = self.lock()) h->beat();
            });
        }
        run_errands(errands);
    }

    void gone(guest& g) {
        {
            const std::lock_guard lock(mutex_);
            if (g.rank > 0 && !result_) table_.leave(g.rank, g.incarnation);
            guests_.remove_if([&](const auto& other) { return other.get() == &g; });
        }
        transport_.wake();
    }

    void give_up(std::vector<errand>& errands) {
        if (result_) return;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.limit).count();
        failed_.emplace(error_code::deadline_exceeded, "rendezvous: of " + std::to_string(size_) +
                                                           " ranks these did not come to rank 0 at " +
                                                           listener_->address() + " within " + std::to_string(ms) +
                                                           " ms: " + table_.missing() + refused_);
        for (const auto& g : guests_) errands.push_back({g->line, refusal(failed_->first, failed_->second)});
        set_timer(transport_.now() + parting, [](host& h, std::vector<errand>&) { h.over_ = true; });
    }

    // In the place of the one before. What it does is done under the lock.
    void set_timer(time_point at, void (*what)(host&, std::vector<errand>&)) {
        if (timer_ != 0) transport_.cancel(timer_);
        const int turn = ++timers_;
        timer_ = transport_.call_at(at, [self = weak_from_this(), what, turn] {
            const auto h = self.lock();
            if (!h) return;
            std::vector<errand> errands;
            {
                const std::lock_guard lock(h->mutex_);
                if (h->ended_ || h->timers_ != turn) return;
                what(*h, errands);
            }
            run_errands(errands);
            h->transport_.wake();
        });
    }

    transport& transport_;
    const rendezvous_options options_;
    const time_point began_;
    const std::string run_;
    std::unique_ptr<listener> listener_; // the thread of begin() and end()
    std::string own_host_;               // set before anybody can come
    std::string file_;                   // the thread of begin() and end()

    mutable std::mutex mutex_; // of all below
    rendezvous_table table_;
    const std::size_t size_;
    std::list<std::shared_ptr<guest>> guests_;
    std::optional<placed> result_;
    std::optional<std::pair<error_code, std::string>> failed_;
    std::string refused_;
    std::set<int> has_confirmed_;
    std::size_t confirmed_ = 0;
    std::uint64_t timer_ = 0, beat_timer_ = 0;
    int timers_ = 0;
    bool over_ = false;
    bool ended_ = false;
};

/// Ends it.
class host_part final : public rendezvous {
public:
    explicit host_part(std::shared_ptr<host> h) : host_(std::move(h)) {}
    ~host_part() override { host_->end(); }
    bool done() const override { return host_->done(); }
    placed result() const override { return host_->result(); }

private:
    std::shared_ptr<host> host_;
};

} // namespace

std::unique_ptr<rendezvous> host_rendezvous(transport& t, const rendezvous_point& point, rendezvous_options options) {
    std::string word;
    if (!point.file.empty()) {
        std::random_device random;
        for (int i = 0; i < 32; ++i) word += "0123456789abcdef"[random() % 16];
    }
    auto h = std::make_shared<host>(t, point, std::move(options), point.run + word);
    auto part = std::make_unique<host_part>(h);
    h->begin(point, word);
    return part;
}

} // namespace tenon::net
