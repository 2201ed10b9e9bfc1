#include <net/link/peer.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <unordered_map>

#include <net/link/handshake.hpp>
#include <net/link/link_end.hpp>

namespace tenon::net {

namespace {

std::atomic<std::uint64_t> streams{0}; // peers that this process has had

answer failure(error_code code, std::string message) {
    answer a;
    a.failed = true;
    a.code = code;
    a.message = std::move(message);
    return a;
}

class peer_end final : public peer, public link_end {
public:
    peer_end(transport& t, peer_options options) :
        link_end(t),
        options_(std::move(options)),
        stream_(++streams),
        random_(options_.self.incarnation ^ (stream_ << 32)) {
        name_ = options_.job.empty() ? options_.address
                                     : name_of(options_.job, options_.task) + " (" + options_.address + ")";
    }
    ~peer_end() override { close(); }

    std::uint64_t call(std::uint8_t verb, bytes body, std::vector<any_array> arrays, time_point deadline,
                       call_done done, std::uint64_t incarnation, reply_place place) override;
    void cancel(std::uint64_t call) override;
    void note(std::uint8_t verb, bytes body, std::vector<any_array> arrays, std::uint64_t incarnation) override;
    answer ask(std::uint8_t verb, bytes body, std::vector<any_array> arrays, time_point deadline,
               std::uint64_t incarnation) override;
    void connect(time_point deadline, call_done done) override;
    void close() override;
    peer_state state() const override;
    std::uint64_t incarnation() const override {
        const std::lock_guard held(mutex_);
        return incarnation_;
    }
    const std::string& name() const noexcept override { return name_; }
    counts count() const override;

private:
    class attempt;

    enum class phase {
        none,    // no link
        waiting, // to dial, until redial_at_
        dialing,
        greeting, // hello was sent
        proving,  // proof was sent
        ready,
        closing, // closed() is to come
    };

    struct pending {
        call_done done;
        time_point deadline;
        std::size_t bytes;
        std::uint8_t verb;
        bool posted = false;
        bool over = false; // ended here: its reply is only counted
        std::shared_ptr<const reply_place> place;
        std::uint64_t placed_by = 0; // the attempt that has asked for
        std::size_t placed = 0;      // so many arrays
    };
    struct unsent {
        message m;
        time_point deadline;
        std::size_t bytes;
        std::uint64_t incarnation;
    };
    struct waiter {
        time_point deadline;
        call_done done;
    };

    /// What is to be done when the lock is free.
    struct later {
        std::vector<std::pair<call_done, answer>> ended;
        std::shared_ptr<connection> close;
        std::string why;
        bool dial = false;
        duration dial_limit{};
        std::uint64_t attempt = 0;
        bool lost = false;
        error_code lost_code{};
        std::string lost_why;
    };

    // Called by attempts; not locked.
    std::shared_ptr<connection_user> dialed(std::uint64_t number, std::shared_ptr<connection> c,
                                            const std::string& why);
    void received(attempt& by, message m);
    void closed(std::uint64_t number, const std::string& why);
    any_array place_for(std::uint64_t number, const message& head, std::size_t i, const tensor_type& type);
    void tick() override;

    // All below: locked.
    void begin_link(time_point now);
    void dial_now(time_point now, later& l);
    void dial_later(time_point now);
    void check_reach(time_point now, later& l);
    void drop(std::string why, later& l);
    void die(error_code code, const std::string& what, time_point now, later& l);
    void shake_hands(attempt& by, const message& m, time_point now, later& l, std::optional<message>& out);
    void challenged(const message& m, time_point now, later& l, std::optional<message>& out);
    void welcomed(attempt& by, const message& m, time_point now, later& l);
    void take(unsent u, time_point now, later& l);
    bool has_room(const unsent& u) const;
    bool post(unsent& u, later& l);
    void post_waiting(later& l);
    void end_call(pending& p, answer a, later& l);
    bool end_early(std::uint64_t number, pending& p, answer a, later& l); // true: it is to be forgotten
    void expire(time_point now, later& l);
    std::string call_name(const pending& p) const;
    void plan_wake();
    void unlock_and_run(lock& held, later& l);

    const peer_options options_;
    const std::uint64_t stream_;
    std::string name_;

    // All below: guarded by mutex_.
    std::uint64_t random_;
    phase phase_ = phase::none;
    bool closed_ = false;
    std::uint64_t links_ = 0, attempt_ = 0, connections_ = 0, requests_ = 0;
    bool established_ = false;      // this link has been ready
    std::uint64_t incarnation_ = 0; // of the other process
    link_limits other_;             // what it takes
    bytes hello_, challenge_;
    time_point began_{}; // the dial
    duration dial_limit_{};
    time_point redial_at_ = never;
    time_point handshake_until_ = never;
    time_point refused_since_ = never;
    duration pause_{};
    std::string trouble_; // why there is no connection

    std::unordered_map<std::uint64_t, pending> calls_;
    std::size_t in_flight_ = 0, in_flight_bytes_ = 0; // posted and not replied to
    std::deque<unsent> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::vector<waiter> waiters_;
    time_point earliest_ = never; // no deadline of calls or waiters is before
};

/// One connection, or the attempt at it.
class peer_end::attempt final : public connection_user {
public:
    attempt(std::weak_ptr<link_end> owner, std::uint64_t n, const link_limits& taken) :
        number(n), owner_(std::move(owner)), taken_(taken) {}

    message_limits limits() override {
        if (!is_ready.load(std::memory_order_relaxed)) return {most_handshake_bytes, 0, 0};
        return {taken_.body_bytes, taken_.payload_bytes, taken_.arrays};
    }
    any_array place_for(const message& head, std::size_t i, const tensor_type& type) override {
        const auto self = owner_.lock();
        return self ? static_cast<peer_end&>(*self).place_for(number, head, i, type) : any_array();
    }
    void received(message m) override {
        if (const auto self = owner_.lock()) static_cast<peer_end&>(*self).received(*this, std::move(m));
    }
    void closed(const std::string& why) override {
        if (const auto self = owner_.lock()) static_cast<peer_end&>(*self).closed(number, why);
    }

    const std::uint64_t number;
    std::atomic<bool> is_ready{false};

private:
    const std::weak_ptr<link_end> owner_;
    const link_limits taken_;
};

// ---- calls

std::uint64_t peer_end::call(std::uint8_t verb, bytes body, std::vector<any_array> arrays, time_point deadline,
                             call_done done, std::uint64_t incarnation, reply_place place) {
    lock held(mutex_);
    later l;
    const time_point now = transport_.now();
    const std::uint64_t number = ++requests_;
    unsent u{{message_type::call, verb, 0, 0, number, std::move(body), std::move(arrays)}, deadline, 0, incarnation};
    u.bytes = u.m.body.size() + u.m.payload_bytes();
    pending& p = calls_[number];
    p.done = std::move(done);
    p.deadline = deadline;
    p.bytes = u.bytes;
    p.verb = verb;
    if (place) p.place = std::make_shared<const reply_place>(std::move(place));
    earliest_ = std::min(earliest_, deadline);
    take(std::move(u), now, l);
    send_all(held);
    plan_wake();
    unlock_and_run(held, l);
    return number;
}

void peer_end::note(std::uint8_t verb, bytes body, std::vector<any_array> arrays, std::uint64_t incarnation) {
    lock held(mutex_);
    later l;
    unsent u{{message_type::note, verb, 0, 0, 0, std::move(body), std::move(arrays)}, never, 0, incarnation};
    u.bytes = u.m.body.size() + u.m.payload_bytes();
    l.ended.reserve(1);
    take(std::move(u), transport_.now(), l);
    // A note that is refused at once stands last, without a call.
    std::optional<answer> refused;
    if (!l.ended.empty() && !l.ended.back().first) {
        refused = std::move(l.ended.back().second);
        l.ended.pop_back();
    }
    send_all(held);
    plan_wake();
    unlock_and_run(held, l);
    if (refused) refused->check();
}

/// Takes a call (that calls_ has) or a note: posts it, has it wait, or ends it.
void peer_end::take(unsent u, time_point now, later& l) {
    const bool is_call = u.m.type == message_type::call;
    const auto refuse = [&](error_code code, const std::string& what) {
        answer a = failure(code, name_ + " " + what);
        if (!is_call) return l.ended.emplace_back(nullptr, std::move(a)), void();
        const auto p = calls_.find(u.m.request);
        end_call(p->second, std::move(a), l);
        calls_.erase(p);
    };
    if (closed_) return refuse(error_code::cancelled, "cannot be called any more: this end was closed");
    if (u.deadline <= now)
        return refuse(error_code::deadline_exceeded, "was not called: the call's deadline has passed");
    if (phase_ == phase::none) begin_link(now);
    if (phase_ == phase::waiting && redial_at_ <= now) dial_now(now, l);
    if (phase_ == phase::ready && waiting_.empty() && has_room(u)) return void(post(u, l));
    if (waiting_.size() >= options_.waiting_messages || waiting_bytes_ + u.bytes > options_.waiting_bytes)
        return refuse(error_code::resource_exhausted, "takes no more: " + std::to_string(waiting_.size()) +
                                                          " calls and notes of " + std::to_string(waiting_bytes_) +
                                                          " bytes wait to be sent to it, of at most " +
                                                          std::to_string(options_.waiting_messages) + " and " +
                                                          std::to_string(options_.waiting_bytes) + " bytes");
    waiting_bytes_ += u.bytes;
    waiting_.push_back(std::move(u));
}

bool peer_end::has_room(const unsent& u) const {
    if (u.m.type == message_type::call && in_flight_ >= other_.calls) return false;
    if (link_->kept_messages() >= options_.waiting_messages) return false;
    const std::size_t there = std::max(in_flight_bytes_, link_->kept_bytes());
    return there == 0 || there + u.bytes <= other_.bytes;
}

/// To the link; says whether it could be posted, and else ends it.
bool peer_end::post(unsent& u, later& l) {
    const bool is_call = u.m.type == message_type::call;
    std::string wrong;
    error_code code = error_code::resource_exhausted;
    const auto more = [](const char* what, std::uint64_t is, std::uint64_t most) {
        return "was not called: the message has " + std::to_string(is) + " " + what + ", of which it takes " +
               std::to_string(most);
    };
    if (u.m.body.size() + time_left_bytes > other_.body_bytes)
        wrong = more("bytes beside its arrays", u.m.body.size(), other_.body_bytes);
    else if (u.m.payload_bytes() > other_.payload_bytes)
        wrong = more("bytes of arrays", u.m.payload_bytes(), other_.payload_bytes);
    else if (u.m.arrays.size() > other_.arrays) wrong = more("arrays", u.m.arrays.size(), other_.arrays);
    if (u.incarnation != 0 && u.incarnation != incarnation_) {
        code = error_code::aborted;
        wrong = "was restarted; the call was not sent";
    }
    if (!wrong.empty()) {
        answer a = failure(code, name_ + " " + wrong);
        if (!is_call) l.ended.emplace_back(nullptr, std::move(a));
        else if (const auto p = calls_.find(u.m.request); p != calls_.end()) {
            end_call(p->second, std::move(a), l);
            calls_.erase(p);
        }
        return false;
    }
    if (is_call) {
        calls_.find(u.m.request)->second.posted = true;
        ++in_flight_;
        in_flight_bytes_ += u.bytes;
    }
    link_->post(std::move(u.m), u.deadline);
    return true;
}

void peer_end::post_waiting(later& l) {
    while (phase_ == phase::ready && !waiting_.empty() && has_room(waiting_.front())) {
        unsent u = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= u.bytes;
        const std::size_t before = l.ended.size();
        if (!post(u, l) && l.ended.size() > before && !l.ended.back().first) l.ended.pop_back(); // a note: nobody asks
    }
}

void peer_end::end_call(pending& p, answer a, later& l) {
    if (p.over) return;
    p.over = true;
    p.place.reset();
    l.ended.emplace_back(std::exchange(p.done, nullptr), std::move(a));
}

bool peer_end::end_early(std::uint64_t number, pending& p, answer a, later& l) {
    end_call(p, std::move(a), l);
    if (p.posted) {
        message m;
        m.type = message_type::cancel;
        m.request = number;
        link_->post_urgent(std::move(m));
        return false;
    }
    const auto w =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const unsent& u) { return u.m.request == number; });
    if (w != waiting_.end()) {
        waiting_bytes_ -= w->bytes;
        waiting_.erase(w);
    }
    return true;
}

std::string peer_end::call_name(const pending& p) const {
    return options_.name_of_verb ? std::string(options_.name_of_verb(p.verb)) : "call " + std::to_string(p.verb);
}

void peer_end::cancel(std::uint64_t call) {
    lock held(mutex_);
    later l;
    const auto found = calls_.find(call);
    if (found == calls_.end() || found->second.over) return;
    answer a = failure(error_code::cancelled, name_ + ": " + call_name(found->second) + " was cancelled");
    if (end_early(call, found->second, std::move(a), l)) calls_.erase(found);
    post_waiting(l);
    send_all(held);
    unlock_and_run(held, l);
}

answer peer_end::ask(std::uint8_t verb, bytes body, std::vector<any_array> arrays, time_point deadline,
                     std::uint64_t incarnation) {
    struct result {
        std::atomic<bool> there{false};
        answer a;
    };
    const auto r = std::make_shared<result>();
    call(verb, std::move(body), std::move(arrays), deadline,
         [r, &t = transport_](answer a) {
             r->a = std::move(a);
             r->there.store(true, std::memory_order_release);
             t.wake();
         },
         incarnation, {});
    // Calls end by themselves; a transport that has nothing left to do never will.
    if (!transport_.work_until([&] { return r->there.load(std::memory_order_acquire); }, never))
        throw unavailable_error(name_ + ": this process's transport has ended");
    r->a.check();
    return std::move(r->a);
}

void peer_end::connect(time_point deadline, call_done done) {
    lock held(mutex_);
    later l;
    const time_point now = transport_.now();
    if (closed_)
        l.ended.emplace_back(std::move(done),
                             failure(error_code::cancelled, name_ + " cannot be called any more: this end was closed"));
    else if (phase_ == phase::ready) l.ended.emplace_back(std::move(done), answer());
    else {
        waiters_.push_back({deadline, std::move(done)});
        earliest_ = std::min(earliest_, deadline);
        if (phase_ == phase::none) begin_link(now);
        if (phase_ == phase::waiting && redial_at_ <= now) dial_now(now, l);
    }
    plan_wake();
    unlock_and_run(held, l);
}

void peer_end::close() {
    lock held(mutex_);
    if (closed_) return;
    later l;
    const time_point now = transport_.now();
    closed_ = true;
    std::shared_ptr<connection> leaving;
    if (phase_ == phase::ready) {
        message m;
        m.type = message_type::goodbye;
        m.body = write(goodbye{error_code::cancelled, "was closed"});
        link_->post_urgent(std::move(m));
        send_all(held);
        leaving = connection_;
    }
    if (link_) die(error_code::cancelled, "was called by an end that was closed", now, l);
    if (leaving) { // the other side closes it; or this one, later
        l.close = nullptr;
        transport_.call_at(now + options_.link.heartbeat, [leaving] { leaving->close("said goodbye"); });
    }
    forget_timer();
    unlock_and_run(held, l);
}

peer_state peer_end::state() const {
    const std::lock_guard held(mutex_);
    if (closed_) return peer_state::closed;
    if (phase_ == phase::none) return peer_state::idle;
    if (phase_ == phase::ready) return peer_state::ready;
    return established_ ? peer_state::resuming : peer_state::connecting;
}

peer::counts peer_end::count() const {
    const std::lock_guard held(mutex_);
    counts c;
    c.calls = calls_.size();
    c.waiting = waiting_.size();
    c.waiting_bytes = waiting_bytes_;
    c.kept_messages = link_ ? link_->kept_messages() : 0;
    c.kept_bytes = link_ ? link_->kept_bytes() : 0;
    c.links = links_;
    c.connections = connections_;
    return c;
}

// ---- links and connections

void peer_end::begin_link(time_point now) {
    ++links_;
    established_ = false;
    refused_since_ = never;
    pause_ = {};
    trouble_.clear();
    link_.emplace(link::side::dialing, options_.link, now);
    phase_ = phase::waiting;
    redial_at_ = now;
}

void peer_end::dial_now(time_point now, later& l) {
    phase_ = phase::dialing;
    redial_at_ = never;
    began_ = now;
    dial_limit_ = options_.link.handshake;
    if (established_)
        dial_limit_ = std::clamp(link_->contact() + options_.link.lease - now, options_.link.redial_first, dial_limit_);
    handshake_until_ = never;
    l.dial = true;
    l.dial_limit = dial_limit_;
    l.attempt = ++attempt_;
}

void peer_end::dial_later(time_point now) {
    phase_ = phase::waiting;
    handshake_until_ = never;
    pause_ = pause_ == duration{} ? options_.link.redial_first : std::min(pause_ * 2, options_.link.redial_most);
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    redial_at_ = now + pause_ + pause_ / 4 * static_cast<int>(random_ >> 60) / 16;
}

/// Ends a link that cannot be reached.
void peer_end::check_reach(time_point now, later& l) {
    if (!link_ || phase_ == phase::ready) return;
    if (!established_ && !waiters_.empty()) return; // somebody waits for it to come
    const std::string why = trouble_.empty() ? std::string() : ": " + trouble_;
    if (refused_since_ != never && now - refused_since_ >= options_.link.heartbeat)
        die(error_code::unavailable, "cannot be reached" + why, now, l);
    else if (link_->is_dead(now))
        die(error_code::unavailable, "cannot be reached, and has not been for " + in_words(options_.link.lease) + why,
            now, l);
}

/// Gives the connection up, not the link.
void peer_end::drop(std::string why, later& l) {
    trouble_ = why;
    phase_ = phase::closing;
    handshake_until_ = never;
    link_->disconnected();
    l.close = std::exchange(connection_, nullptr);
    l.why = std::move(why);
}

void peer_end::die(error_code code, const std::string& what, time_point now, later& l) {
    if (connection_) {
        l.close = std::exchange(connection_, nullptr);
        l.why = what;
    }
    ++attempt_; // what comes of the old one is not heard
    const std::string message = name_ + " " + what;
    for (auto& [number, p] : calls_) {
        if (p.over) continue;
        end_call(p,
                 failure(code, message + (p.posted ? "; whether the call took effect is unknown"
                                                   : "; the call was not sent")),
                 l);
    }
    calls_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
    in_flight_ = in_flight_bytes_ = 0;
    if (established_) {
        l.lost = true;
        l.lost_code = code;
        l.lost_why = message;
    }
    link_.reset();
    established_ = false;
    phase_ = phase::none;
    redial_at_ = handshake_until_ = refused_since_ = never;
    if (waiters_.empty()) return;
    if (!closed_ && (code == error_code::unavailable || code == error_code::aborted)) {
        begin_link(now); // they wait for what comes after it
        trouble_ = what;
        dial_later(now);
        return;
    }
    for (waiter& w : waiters_) l.ended.emplace_back(std::move(w.done), failure(code, message));
    waiters_.clear();
}

std::shared_ptr<connection_user> peer_end::dialed(std::uint64_t number, std::shared_ptr<connection> c,
                                                  const std::string& why) {
    lock held(mutex_);
    later l;
    const time_point now = transport_.now();
    if (number != attempt_ || phase_ != phase::dialing) {
        held.unlock();
        if (!c) return nullptr;
        auto unwanted = std::make_shared<attempt>(weak_from_this(), 0, options_.limits);
        c->close("it is not wanted any more");
        return unwanted;
    }
    if (!c) {
        trouble_ = why;
        // An answer before the limit is one of a system that is there, and has nobody who listens.
        if (now - began_ >= dial_limit_) refused_since_ = never;
        else if (refused_since_ == never) refused_since_ = now;
        dial_later(now);
        check_reach(now, l);
        plan_wake();
        unlock_and_run(held, l);
        return nullptr;
    }
    refused_since_ = never;
    auto user = std::make_shared<attempt>(weak_from_this(), number, options_.limits);
    if (!c->is_private() && !options_.self.insecure) {
        connection_ = c;
        die(error_code::permission_denied,
            "is reached by a connection that others can read: use TLS, or ask for an insecure one by name", now, l);
        plan_wake();
        unlock_and_run(held, l);
        return user;
    }
    connection_ = c;
    phase_ = phase::greeting;
    handshake_until_ = now + options_.link.handshake;
    hello h;
    h.cluster = options_.self.cluster;
    h.job = options_.self.job;
    h.task = options_.self.task;
    h.incarnation = options_.self.incarnation;
    h.expected_job = options_.job;
    h.expected_task = options_.task;
    h.expected_incarnation = established_ ? incarnation_ : 0;
    h.stream = stream_;
    h.link = links_;
    h.attempt = number;
    h.established = established_;
    h.received = link_->received();
    h.has_token = !options_.self.token.empty();
    h.limits = options_.limits;
    h.random = random_nonce();
    message m;
    m.type = message_type::hello;
    m.body = hello_ = write(h);
    plan_wake();
    held.unlock();
    c->send(std::move(m));
    return user;
}

void peer_end::shake_hands(attempt& by, const message& m, time_point now, later& l, std::optional<message>& out) {
    try {
        if (m.type == message_type::goodbye) {
            const goodbye g = read_goodbye(m.body);
            if (established_ && g.code == error_code::aborted) die(g.code, "was restarted", now, l);
            else die(g.code, "refuses the connection: " + g.why, now, l);
        } else if (phase_ == phase::greeting && m.type == message_type::challenge) challenged(m, now, l, out);
        else if (phase_ == phase::proving && m.type == message_type::ready) welcomed(by, m, now, l);
        else drop("what it said is not what comes next in a handshake", l);
    } catch (const data_loss_error& e) {
        drop(e.what(), l);
    }
}

void peer_end::challenged(const message& m, time_point now, later& l, std::optional<message>& out) {
    const challenge c = read_challenge(m.body);
    if (!options_.job.empty() && (c.job != options_.job || c.task != options_.task))
        return die(error_code::failed_precondition,
                   "is " + name_of(c.job, c.task) + ": check the addresses of the cluster", now, l);
    if (established_ && c.incarnation != incarnation_) return die(error_code::aborted, "was restarted", now, l);
    const std::string& token = options_.self.token;
    if (c.has_token != !token.empty())
        return die(error_code::permission_denied,
                   token.empty() ? "asks for a token, and this process has none"
                                 : "has no token, and this process asks for one",
                   now, l);
    incarnation_ = c.incarnation;
    challenge_ = m.body;
    phase_ = phase::proving;
    out.emplace();
    out->type = message_type::proof;
    out->body = write(proof{token.empty() ? proof_bytes{} : dialing_proof(token, hello_, challenge_)});
}

void peer_end::welcomed(attempt& by, const message& m, time_point now, later& l) {
    const ready r = read_ready(m.body);
    const std::string& token = options_.self.token;
    if (!token.empty() && !same(r.mac, listening_proof(token, hello_, challenge_, r)))
        return die(error_code::permission_denied, "does not have this process's token", now, l);
    try {
        link_->connected(r.received, now);
    } catch (const data_loss_error& e) {
        return die(error_code::unavailable, std::string("cannot go on with the link: ") + e.what(), now, l);
    }
    by.is_ready = true;
    other_ = r.limits;
    link_->set_heartbeat(std::min<duration>(options_.link.heartbeat, std::chrono::milliseconds(r.lease_ms) / 3));
    established_ = true;
    phase_ = phase::ready;
    handshake_until_ = never;
    pause_ = {};
    trouble_.clear();
    ++connections_;
    for (const auto& [number, p] : calls_) { // the cancel may have been lost
        if (!p.over) continue;
        message cancelled;
        cancelled.type = message_type::cancel;
        cancelled.request = number;
        link_->post_urgent(std::move(cancelled));
    }
    for (waiter& w : waiters_) l.ended.emplace_back(std::move(w.done), answer());
    waiters_.clear();
    post_waiting(l);
}

void peer_end::received(attempt& by, message m) {
    lock held(mutex_);
    if (by.number != attempt_ || !connection_ || phase_ == phase::closing) return;
    later l;
    const time_point now = transport_.now();
    if (phase_ != phase::ready) {
        std::optional<message> out;
        shake_hands(by, m, now, l, out);
        const auto to = connection_;
        if (out) { // nothing of the link is sent before ready
            held.unlock();
            to->send(std::move(*out));
            held.lock();
        }
        send_all(held);
        plan_wake();
        return unlock_and_run(held, l);
    }

    call_done done; // of the reply
    answer a;
    std::optional<message> found;
    try {
        found = link_->receive(std::move(m), now);
    } catch (const data_loss_error& e) {
        drop(e.what(), l);
    }
    std::vector<any_array> released = link_ ? link_->released() : std::vector<any_array>();
    if (found && found->type == message_type::goodbye) {
        try {
            const goodbye g = read_goodbye(found->body);
            die(g.code, g.why, now, l);
        } catch (const data_loss_error& e) {
            drop(e.what(), l);
        }
    } else if (found) {
        if (const auto p = calls_.find(found->request); p != calls_.end() && p->second.posted) {
            --in_flight_;
            in_flight_bytes_ -= p->second.bytes;
            if (!p->second.over) {
                done = std::move(p->second.done);
                if (found->verb != 0) {
                    a.failed = true;
                    const auto last = static_cast<unsigned>(error_code::data_loss);
                    a.code = static_cast<error_code>(std::min<unsigned>(found->verb - 1U, last));
                    a.message.assign(reinterpret_cast<const char*>(found->body.data()), found->body.size());
                } else {
                    a.body = std::move(found->body);
                    a.arrays = std::move(found->arrays);
                }
            }
            calls_.erase(p);
        }
    }
    post_waiting(l);
    send_all(held);
    plan_wake();
    unlock_and_run(held, l);
    if (done) done(std::move(a));
}

void peer_end::closed(std::uint64_t number, const std::string& why) {
    lock held(mutex_);
    if (number != attempt_ || !link_) return;
    later l;
    const time_point now = transport_.now();
    const bool was_ready = phase_ == phase::ready;
    if (phase_ != phase::closing) trouble_ = why; // else this side said why
    connection_.reset();
    link_->disconnected();
    if (was_ready) dial_now(now, l);
    else {
        dial_later(now);
        check_reach(now, l);
    }
    plan_wake();
    unlock_and_run(held, l);
}

any_array peer_end::place_for(std::uint64_t number, const message& head, std::size_t i, const tensor_type& type) {
    lock held(mutex_);
    if (number != attempt_ || phase_ != phase::ready || head.type != message_type::reply || head.verb != 0 ||
        !link_->is_new(head))
        return {};
    const auto found = calls_.find(head.request);
    if (found == calls_.end() || !found->second.place) return {};
    pending& p = found->second;
    if (p.placed_by != number) p.placed = 0;
    p.placed_by = number;
    if (i != p.placed) return {}; // it comes twice on one connection
    ++p.placed;
    const auto place = p.place;
    held.unlock();
    return (*place)(head.body, i, type);
}

// ---- time

void peer_end::expire(time_point now, later& l) {
    if (now < earliest_) return;
    earliest_ = never;
    for (auto i = calls_.begin(); i != calls_.end();) {
        pending& p = i->second;
        bool forget = false;
        if (!p.over && p.deadline <= now) {
            std::string why = name_ + ": " + call_name(p) + " was not answered by its deadline";
            if (phase_ != phase::ready)
                why += trouble_.empty() ? ": there is no connection" : ": there is no connection (" + trouble_ + ")";
            else if (!p.posted) why += ": it waited to be sent behind others";
            forget = end_early(i->first, p, failure(error_code::deadline_exceeded, why), l);
        } else if (!p.over) earliest_ = std::min(earliest_, p.deadline);
        i = forget ? calls_.erase(i) : std::next(i);
    }
    for (auto w = waiters_.begin(); w != waiters_.end();) {
        if (w->deadline > now) {
            earliest_ = std::min(earliest_, w->deadline);
            ++w;
            continue;
        }
        l.ended.emplace_back(std::move(w->done),
                             failure(error_code::deadline_exceeded, name_ + " could not be reached by the deadline" +
                                                                        (trouble_.empty() ? "" : ": " + trouble_)));
        w = waiters_.erase(w);
    }
}

void peer_end::tick() {
    lock held(mutex_);
    if (closed_) return;
    later l;
    const time_point now = transport_.now();
    expire(now, l);
    if (link_) {
        if (phase_ == phase::ready) {
            if (link_->is_dead(now))
                die(error_code::unavailable, "has not answered for " + in_words(options_.link.lease), now, l);
            else if (link_->is_doubtful(now)) drop("no answer for " + in_words(now - link_->contact()), l);
            else link_->tick(now);
        } else {
            if (handshake_until_ <= now) drop("no answer to a handshake for " + in_words(options_.link.handshake), l);
            check_reach(now, l);
        }
        if (phase_ == phase::waiting && redial_at_ <= now) dial_now(now, l);
    }
    post_waiting(l);
    send_all(held);
    plan_wake();
    unlock_and_run(held, l);
}

void peer_end::plan_wake() {
    if (closed_) return;
    time_point at = std::min({earliest_, redial_at_, handshake_until_});
    if (link_ && (established_ || waiters_.empty())) at = std::min(at, link_->next_tick());
    if (refused_since_ != never && (established_ || waiters_.empty()))
        at = std::min(at, refused_since_ + options_.link.heartbeat);
    if (at != never) wake_at(at);
}

void peer_end::unlock_and_run(lock& held, later& l) {
    held.unlock();
    if (l.close) l.close->close(l.why);
    if (l.dial) {
        const auto self = weak_from_this();
        transport_.dial(options_.address, l.dial_limit,
                        [self, n = l.attempt](std::shared_ptr<connection> c,
                                              const std::string& why) -> std::shared_ptr<connection_user> {
                            if (const auto s = self.lock())
                                return static_cast<peer_end&>(*s).dialed(n, std::move(c), why);
                            if (c) c->close("it is not wanted any more");
                            return nullptr;
                        });
    }
    if (l.lost && options_.lost) options_.lost(l.lost_code, l.lost_why);
    for (auto& [done, a] : l.ended)
        if (done) done(std::move(a));
}

} // namespace

std::shared_ptr<peer> peer::make(transport& t, peer_options options) {
    if (options.self.incarnation == 0)
        throw invalid_argument_error("peer: this process has no incarnation: see random_incarnation()");
    return std::make_shared<peer_end>(t, std::move(options));
}

} // namespace tenon::net
