#include <net/rpc/service_link.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace tenon::net {

namespace {

constexpr std::size_t most_error_bytes = std::size_t{64} << 10;
constexpr std::size_t most_early_cancels = 4096;
constexpr std::size_t most_unsent_beyond = std::size_t{64} << 20; // what replies may be is bounded; this is the rest

} // namespace

service_link::service_link(std::shared_ptr<service_core> core, link_number n, link_peer p, const hello& h) :
    link_end(core->transport_),
    number(n),
    who(std::move(p)),
    stream(h.stream),
    link_of_stream(h.link),
    core_(std::move(core)) {
    link_.emplace(link::side::listening, core_->options.link, transport_.now());
}

// ---- connections

bool service_link::attach(const std::shared_ptr<accepted>& a, const hello& h, const bytes& hello_bytes,
                          const bytes& challenge_bytes) {
    lock held(mutex_);
    if (dead_ || h.attempt <= attempt_) return false;
    attempt_ = h.attempt;
    plan_wake(); // its lease begins, whatever becomes of this connection
    arrival next{a, h, hello_bytes, challenge_bytes};
    if (!user_) {
        attach_now(held, std::move(next));
        return true;
    }
    const auto older = user_, between = next_ ? next_->by : nullptr;
    next_ = std::move(next);
    connection_.reset();
    link_->disconnected();
    held.unlock();
    older->close("a later connection took its place");
    if (between) between->close("a later connection took its place");
    return true;
}

void service_link::attach_now(lock& held, arrival a) {
    const auto to = a.by->to();
    if (!to) return; // it has ended meanwhile
    const time_point now = transport_.now();
    try {
        link_->connected(a.said.received, now);
    } catch (const data_loss_error& e) {
        user_ = a.by; // so that it is closed, and its end is what tells
        auto r = die(std::string("cannot go on: ") + e.what());
        held.unlock();
        bury(std::move(r));
        held.lock();
        return;
    }
    user_ = a.by;
    connection_ = to;
    other_ = a.said.limits;
    placed_.clear();
    a.by->linked = true;

    ready r;
    r.received = link_->received();
    r.lease_ms = std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::milliseconds>(core_->options.link.lease).count());
    r.limits = core_->options.limits;
    const std::string& token = core_->options.self.token;
    if (!token.empty()) r.mac = listening_proof(token, a.hello_bytes, a.challenge_bytes, r);
    link_->post_urgent(message{.type = message_type::ready, .body = write(r)});
    send_all(held);
    plan_wake();
}

void service_link::closed(accepted& by, const std::string& why) {
    lock held(mutex_);
    if (next_ && next_->by.get() == &by) next_.reset();
    if (user_.get() != &by) return;
    user_.reset();
    connection_.reset();
    if (dead_) {
        held.unlock();
        return tell_lost();
    }
    link_->disconnected();
    if (next_) attach_now(held, *std::exchange(next_, std::nullopt));
    plan_wake();
    held.unlock();
    core_->log("link " + std::to_string(number) + ": " + who.name() + " has lost its connection: " + why,
               who.job.empty());
}

// ---- the end

service_link::remains service_link::die(const std::string& why) {
    remains r;
    if (dead_) return r;
    dead_ = true;
    why_dead_ = why;
    in_flight_.clear();
    channels_.clear();
    early_cancels_.clear();
    r.dead = std::move(link_);
    link_.reset();
    connection_.reset();
    r.close = user_;
    r.tell = !user_;
    if (r.tell) ++core_->telling; // stop() waits for it
    forget_timer();
    return r;
}

void service_link::bury(remains r) {
    if (!r.dead) return;
    core_->forget(*this);
    r.dead.reset();
    if (r.close) r.close->close(why_dead_);
    if (r.tell) {
        tell_lost();
        --core_->telling;
    }
    core_->changed();
}

void service_link::tell_lost() {
    core_->log("link " + std::to_string(number) + ": " + who.name() + " is lost: " + why_dead_,
               who.job.empty() || said_goodbye_ || core_->stopping);
    core_->tell([&](service_handler& h) { h.peer_lost(number, who.name() + " " + why_dead_); });
    core_->changed();
}

void service_link::end(const std::string& why, error_code said) {
    lock held(mutex_);
    if (dead_) return;
    const bool tells = said != error_code::unknown && connection_;
    if (tells) {
        link_->post_urgent(message{.type = message_type::goodbye, .body = write(goodbye{said, why})});
        send_all(held);
        if (dead_) return;
    }
    auto r = die(why);
    if (tells && r.close) // the other side closes it, and so has read what was sent; or this one, later
        transport_.call_at(transport_.now() + core_->options.link.heartbeat,
                           [user = std::exchange(r.close, nullptr), why] { user->close(why); });
    held.unlock();
    bury(std::move(r));
}

void service_link::cut(const std::string& why) {
    lock held(mutex_);
    const auto user = user_;
    held.unlock();
    if (user) user->close(why);
}

bool service_link::is_idle() const {
    const std::lock_guard held(mutex_);
    return dead_ || (in_flight_.empty() && link_->acknowledged() >= last_answer_);
}

void service_link::add_to(service::counts& c) const {
    const std::lock_guard held(mutex_);
    if (dead_) return;
    ++c.links;
    c.connections += connection_ != nullptr;
    c.calls += in_flight_.size();
    for (const auto& [of, own] : channels_) c.call_bytes += own.bytes;
    c.kept_messages += link_->kept_messages();
    c.kept_bytes += link_->kept_bytes();
}

void service_link::add_to(service::heard& h) const {
    const std::lock_guard held(mutex_);
    h.carried += traffic_;
    if (!link_) return;
    ++h.links;
    h.last = std::max(h.last, link_->contact());
}

void service_link::tick() {
    lock held(mutex_);
    const auto to = connection_;
    held.unlock();
    const std::size_t unsent = to ? to->unsent_bytes() : 0;
    held.lock();
    if (dead_) return;
    const time_point now = transport_.now();
    std::string why;
    if (link_->is_dead(now)) why = "has not been heard of for " + in_words(core_->options.link.lease);
    else if (unsent > core_->options.kept_bytes + most_unsent_beyond)
        why = "does not read what it is sent: " + std::to_string(unsent) + " bytes wait";
    if (!why.empty()) {
        auto r = die(why);
        held.unlock();
        return bury(std::move(r));
    }
    link_->tick(now);
    send_all(held);
    plan_wake();
}

void service_link::plan_wake() {
    if (link_) wake_at(link_->next_tick());
}

// ---- messages

void service_link::received(accepted& by, message m) {
    std::vector<any_array> released; // ends after the lock
    lock held(mutex_);
    if (user_.get() != &by || dead_) return;
    const time_point now = transport_.now();
    count_received(m);
    if (!m.arrays.empty()) placed_.erase(m.sequence);
    std::optional<message> found;
    if (link_->is_dead(now)) { // this process stood still: the other side has given the link up, and what it called
        auto r = die("has not been heard of for " + in_words(core_->options.link.lease));
        held.unlock();
        return bury(std::move(r));
    }
    try {
        found = link_->receive(std::move(m), now);
    } catch (const data_loss_error& e) { // another connection may do better
        connection_.reset();
        link_->disconnected();
        held.unlock();
        return by.close(e.what());
    }
    released = link_->released();
    while (found) {
        try {
            take(held, std::move(*found), now);
        } catch (const data_loss_error& e) { // what it says would be no better the second time
            held.unlock();
            return end(e.what(), error_code::data_loss);
        }
        if (dead_) return;
        found = link_->next_in_order();
    }
    send_all(held);
    plan_wake();
    held.unlock();
    core_->changed();
}

/// A message in its turn. Unlocks while the handler has it.
void service_link::take(lock& held, message m, time_point now) {
    switch (m.type) {
    case message_type::call: return take_call(held, std::move(m), now);
    case message_type::note:
        held.unlock();
        core_->tell([&](service_handler& h) {
            if (m.refused.empty()) h.noted(number, m.verb, std::move(m.body), std::move(m.arrays));
            else h.refused(number, m.verb, std::move(m.body), m.refused);
        });
        return held.lock();
    case message_type::cancel: return take_cancel(held, m.request);
    default: { // goodbye
        said_goodbye_ = true;
        auto r = die("said goodbye: " + read_goodbye(m.body).why);
        held.unlock();
        bury(std::move(r));
        held.lock();
    }
    }
}

void service_link::take_call(lock& held, message m, time_point now) {
    const std::uint64_t request = m.request;
    const link_limits& limits = core_->options.limits;
    if (request <= last_request_)
        throw data_loss_error("call " + std::to_string(request) + " comes after call " + std::to_string(last_request_));
    last_request_ = request;
    const time_point deadline = link_->take_deadline(m.body, now);
    const std::size_t size = m.body.size() + m.payload_bytes();
    const bool cancelled = early_cancels_.erase(request) > 0;
    early_cancels_.erase(early_cancels_.begin(), early_cancels_.lower_bound(request));
    const auto refuse = [&](error_code code, const std::string& why) {
        (void)post_failure(request, code, core_->name + " " + why, reason_of_end(code));
    };
    // A task's link carries the answers of all its clients, who may ask faster than it reads.
    if (link_->kept_messages() > core_->options.kept_messages) {
        auto r = die("does not acknowledge its answers: " + std::to_string(link_->kept_messages()) + " wait for that");
        held.unlock();
        bury(std::move(r));
        return held.lock();
    }
    if (core_->stopping) return refuse(error_code::unavailable, "is stopping");
    if (!m.refused.empty()) return refuse(error_code::resource_exhausted, "has no room for a call: " + m.refused);
    if (cancelled) return refuse(error_code::cancelled, "was told to cancel the call");
    if (deadline <= now)
        return refuse(error_code::deadline_exceeded,
                      "got the call " +
                          std::to_string(std::chrono::ceil<std::chrono::milliseconds>(now - deadline).count()) +
                          " ms after its deadline");
    const call_turn turn = core_->options.turn_of ? core_->options.turn_of(m.verb, m.body) : call_turn();
    const auto whose = [&] { return turn.of == 0 ? std::string("of control") : "of a session"; };
    if (const auto own = channels_.find(turn.of); own != channels_.end()) {
        if (!turn.may_wait && own->second.calls >= limits.calls)
            return refuse(error_code::resource_exhausted,
                          "answers " + std::to_string(limits.calls) + " calls " + whose() + " at a time, and no more");
        if (own->second.bytes > 0 && own->second.bytes + size > limits.bytes)
            return refuse(error_code::resource_exhausted, "takes " + std::to_string(limits.bytes) + " bytes in calls " +
                                                              whose() + " at a time, and no more");
    }
    if (turn.of != 0 && link_->kept_bytes() > core_->options.kept_bytes)
        return refuse(error_code::resource_exhausted,
                      "keeps " + std::to_string(link_->kept_bytes()) + " bytes of answers that were not acknowledged");
    in_flight_.emplace(request, call_in_flight{size, turn});
    channel& own = channels_[turn.of];
    ++own.all;
    if (!turn.may_wait) ++own.calls;
    own.bytes += size;
    held.unlock();
    {
        replier answer(std::static_pointer_cast<service_link>(shared_from_this()), request);
        try {
            core_->tell([&](service_handler& h) {
                h.called(number, m.verb, std::move(m.body), std::move(m.arrays), deadline, std::move(answer));
            });
        } catch (const error& e) {
            if (answer) answer.fail(e.code(), e.what(), e.reason());
            else
                core_->log("link " + std::to_string(number) + ": after its answer was taken a call threw: " + e.what());
        } catch (const std::exception& e) {
            if (answer) answer.fail(error_code::internal, e.what());
            else
                core_->log("link " + std::to_string(number) + ": after its answer was taken a call threw: " + e.what());
        }
    }
    held.lock();
}

void service_link::take_cancel(lock& held, std::uint64_t request) {
    if (request > last_request_) { // it has overtaken its call
        if (early_cancels_.size() < most_early_cancels) early_cancels_.insert(request);
        return;
    }
    if (!in_flight_.contains(request)) return;
    held.unlock();
    core_->tell([&](service_handler& h) { h.cancelled(number, request); });
    held.lock();
}

any_array service_link::place_for(accepted& by, const message& head, std::size_t i, const tensor_type& type,
                                  std::size_t size) {
    lock held(mutex_);
    if (user_.get() != &by || dead_ || !link_->is_new(head)) return {};
    const bool is_call = head.type == message_type::call;
    if (!is_call && head.type != message_type::note) return {};
    std::size_t& asked = placed_[head.sequence];
    if (i != asked) return {}; // it comes twice on one connection
    ++asked;
    held.unlock();
    any_array place;
    const auto ask = [&](const bytes& body) {
        core_->tell([&](service_handler& h) { place = h.place_for(number, head.verb, body, i, type, size); });
    };
    if (!is_call) ask(head.body);
    else if (head.body.size() >= time_left_bytes)
        ask({head.body.begin(), head.body.end() - static_cast<std::ptrdiff_t>(time_left_bytes)});
    return place;
}

// ---- answers

std::uint64_t service_link::post_reply(std::uint64_t request, std::uint8_t verb, bytes body,
                                       std::vector<any_array> arrays) {
    message m{message_type::reply, verb, 0, 0, request, std::move(body), std::move(arrays)};
    const auto more = [&](const char* what, std::uint64_t is, std::uint64_t most) {
        return post_failure(request, error_code::resource_exhausted,
                            core_->name + " has an answer of " + std::to_string(is) + " " + what + ", of which " +
                                std::to_string(most) + " are taken");
    };
    if (verb == 0) {
        if (m.body.size() > other_.body_bytes) return more("bytes beside its arrays", m.body.size(), other_.body_bytes);
        if (m.payload_bytes() > other_.payload_bytes)
            return more("bytes of arrays", m.payload_bytes(), other_.payload_bytes);
        if (m.arrays.size() > other_.arrays) return more("arrays", m.arrays.size(), other_.arrays);
        // One alone may be larger.
        const std::size_t kept = link_->kept_bytes(), most = core_->options.kept_bytes;
        if (kept > 0 && kept + m.payload_bytes() > most)
            return post_failure(request, error_code::resource_exhausted,
                                core_->name + " did what was called, and has no room for the answer of " +
                                    std::to_string(m.payload_bytes()) + " bytes: " + std::to_string(kept) +
                                    " bytes of answers that were not acknowledged are kept, of " +
                                    std::to_string(most) + "; read them, or ask for fewer at a time");
    }
    return link_->post(std::move(m));
}

std::uint64_t service_link::post_failure(std::uint64_t request, error_code code, const std::string& why,
                                         error_reason reason) {
    const auto* first = reinterpret_cast<const std::byte*>(why.data());
    const std::size_t size = std::min({why.size(), most_error_bytes, static_cast<std::size_t>(other_.body_bytes)});
    return post_reply(request, verb_of_failure(code, reason), bytes(first, first + size), {});
}

void service_link::answer(std::uint64_t request, std::uint8_t verb, bytes body, std::vector<any_array> arrays) {
    lock held(mutex_);
    const auto found = in_flight_.find(request);
    if (dead_ || found == in_flight_.end()) return;
    const auto own = channels_.find(found->second.turn.of);
    own->second.bytes -= found->second.bytes;
    if (!found->second.turn.may_wait) --own->second.calls;
    if (--own->second.all == 0) channels_.erase(own);
    in_flight_.erase(found);
    last_answer_ = post_reply(request, verb, std::move(body), std::move(arrays));
    send_all(held);
    plan_wake();
    held.unlock();
    core_->changed();
}

replier& replier::operator=(replier&& other) noexcept {
    if (this != &other) {
        replier last(std::move(*this)); // is answered, where it was not
        link_ = std::move(other.link_);
        request_ = other.request_;
    }
    return *this;
}

replier::~replier() {
    if (!link_) return;
    try {
        fail(error_code::internal, "a call was left without an answer");
    } catch (...) { // no memory for it; the caller's deadline is left
    }
}

void replier::reply(bytes body, std::vector<any_array> arrays) {
    if (const auto l = std::exchange(link_, nullptr)) l->answer(request_, 0, std::move(body), std::move(arrays));
}

void replier::fail(error_code code, const std::string& message, error_reason reason) {
    const auto l = std::exchange(link_, nullptr);
    if (!l) return;
    const auto* first = reinterpret_cast<const std::byte*>(message.data());
    l->answer(request_, verb_of_failure(code, reason), bytes(first, first + std::min(message.size(), most_error_bytes)),
              {});
}

} // namespace tenon::net
