#include <net/rpc/peer_end.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

/// Links and connections of a peer: dialing, the dialing half of the handshake, what arrives, time, the end.

namespace tenon::net {

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
    const std::string message = full_name() + " " + what;
    const std::string then = what == was_restarted ? open_new_session : "";
    const bool goes_on = !closed_ && (code == error_code::unavailable || code == error_code::aborted);
    // What waits for the next link: what is for a life that this one was not with, of which others have heard first; and, where this
    // life may go on, notes that do no harm twice. One link at least has been ready between: nothing waits for ever.
    channels next, dropped;
    std::set<std::uint64_t> kept;
    const auto may_repeat = [&](const net::message& m) {
        return code == error_code::unavailable && m.type == message_type::note && options_.may_repeat &&
               options_.may_repeat(m.verb);
    };
    dropped.swap(channels_);
    if (goes_on && established_) {
        for (net::message& m : link_->take_kept())
            if (may_repeat(m)) {
                unsent u = unsent_of(std::move(m), never, incarnation_);
                next[u.turn.of].add(std::move(u));
            }
        for (auto& [of, own] : dropped)
            for (unsent& u : own.waiting) {
                const bool is_next = u.incarnation != 0 && u.incarnation != incarnation_;
                if (!is_next && !may_repeat(u.m)) continue;
                if (u.m.type == message_type::call) kept.insert(u.m.request);
                next[of].add(std::move(u));
            }
    }
    for (auto i = calls_.begin(); i != calls_.end();) {
        if (!kept.contains(i->first)) {
            const bool was_sent = i->second.request != 0;
            const char* const effect =
                was_sent ? "; whether the call took effect is unknown" : "; the call was not sent";
            answer a = failure(code, message + effect + then, reason_of_end(code));
            a.unknown = was_sent;
            end_call(i->first, i->second, std::move(a), l);
        }
        i = kept.contains(i->first) ? std::next(i) : calls_.erase(i);
    }
    by_request_.clear();
    channels_.swap(next);
    if (established_) l.lost.push_back(incarnation_);
    else
        for (const auto& [of, own] : dropped)
            for (const unsent& u : own.waiting)
                if (u.m.type == message_type::note && u.incarnation != 0 &&
                    std::find(l.lost.begin(), l.lost.end(), u.incarnation) == l.lost.end())
                    l.lost.push_back(u.incarnation);
    l.lost_code = code;
    l.lost_why = message;
    if (established_) heard_ = link_->contact();
    link_.reset();
    established_ = false;
    phase_ = phase::none;
    redial_at_ = handshake_until_ = refused_since_ = never;
    if (waiters_.empty() && channels_.empty()) return;
    if (goes_on) {
        begin_link(now); // they wait for what comes after it
        trouble_ = what;
        dial_later(now);
        return;
    }
    for (waiter& w : waiters_) l.ended.emplace_back(std::move(w.done), failure(code, message, reason_of_end(code)));
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
    message m{.type = message_type::hello, .body = hello_ = write(h)};
    plan_wake();
    held.unlock();
    c->send(std::move(m));
    return user;
}

void peer_end::shake_hands(attempt& by, const message& m, time_point now, later& l, std::optional<message>& out) {
    try {
        if (m.type == message_type::goodbye) {
            const goodbye g = read_goodbye(m.body);
            if (established_ && g.code == error_code::aborted) die(g.code, was_restarted, now, l);
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
    if (established_ && c.incarnation != incarnation_) return die(error_code::aborted, was_restarted, now, l);
    const std::string& token = options_.self.token;
    if (c.has_token != !token.empty())
        return die(error_code::permission_denied,
                   token.empty() ? "asks for a token, and this process has none"
                                 : "has no token, and this process asks for one",
                   now, l);
    incarnation_ = c.incarnation;
    if (options_.job.empty() && !c.job.empty()) said_name_ = name_of(c.job, c.task);
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
    link_->ping(now); // how long that takes is known from here on
    for (const auto& [number, p] : calls_)
        if (p.over || p.cancelled) tell_cancelled(p); // the cancel may have been lost
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

    count_received(m);
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
        if (const auto p = sent_as(found->request); p != calls_.end()) {
            count_out(p->second);
            if (!p->second.over) {
                look(p->first, p->second, never);
                done = std::move(p->second.done);
                if (!found->refused.empty()) {
                    a = failure(error_code::resource_exhausted, name_ + ": there is no room for its answer to " +
                                                                    call_name(p->second) + ": " + found->refused);
                    a.unknown = true;
                } else if (found->verb != 0) {
                    a.failed = true;
                    std::tie(a.code, a.reason) = failure_of_verb(found->verb);
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
    const bool is_explained = why.find('?') != std::string::npos;
    if (phase_ == phase::greeting && !is_explained) trouble_ = why + " when it was greeted; does it want TLS?";
    else if (phase_ != phase::closing) trouble_ = why; // else this side said why
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
    const auto found = sent_as(head.request);
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

void peer_end::look(std::uint64_t number, pending& p, time_point at) {
    if (p.look != never) looks_.erase({p.look, number});
    p.look = at;
    if (at != never) looks_.emplace(at, number);
}

/// When it is to be looked at next, or before: what comes of its deadline, or whether who is to answer is there.
time_point peer_end::look_at(const pending& p, time_point now) {
    if (p.deadline == never || p.end == p.deadline) return p.deadline;
    const duration patience = silence + 2 * (link_ ? link_->round_trip() : duration{});
    if (now < p.deadline - patience) return p.deadline - patience;
    if (phase_ != phase::ready || p.request == 0) return p.deadline;
    link_->ask(now);
    const bool is_asked = link_->asked() != never;
    if (now < p.deadline) return is_asked ? p.deadline : std::min(p.deadline, link_->may_ask());
    return std::min(p.end, is_asked ? link_->asked() + patience : link_->may_ask());
}

std::string peer_end::why_late(const pending& p, time_point now) const {
    if (phase_ == phase::ready && p.request != 0 && p.end != p.deadline && now < p.end)
        return full_name() + " has not been heard of for " + since_contact(now);
    std::string why = full_name() + ": " + call_name(p) +
                      (p.cancelled ? " was cancelled, and not answered" : " was not answered by its deadline");
    if (phase_ == phase::greeting && trouble_.empty())
        why += ": there is a connection, over which it says nothing; is it a server of Tenon, and does it want TLS?";
    else if (phase_ != phase::ready)
        why += trouble_.empty() ? ": there is no connection" : ": there is no connection (" + trouble_ + ")";
    else if (p.request == 0) why += ": it waited to be sent behind others";
    else if (p.end != p.deadline) why += (p.cancelled ? " for " : ", nor for ") + in_words(p.end - p.deadline);
    return why;
}

void peer_end::expire(time_point now, later& l) {
    while (!looks_.empty() && looks_.begin()->first <= now) {
        const auto at = calls_.find(looks_.begin()->second);
        pending& p = at->second;
        const time_point next = look_at(p, now);
        if (p.deadline > now || next > now) {
            look(at->first, p, next > now ? next : p.deadline);
            continue;
        }
        const error_code code = p.cancelled ? error_code::cancelled : error_code::deadline_exceeded;
        if (end_early(at->first, p, failure(code, why_late(p, now)), l)) calls_.erase(at);
    }
    if (now < earliest_) return;
    earliest_ = never;
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
    if (!looks_.empty()) at = std::min(at, looks_.begin()->first);
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
    if (options_.lost)
        for (const std::uint64_t life : l.lost) options_.lost(life, l.lost_code, l.lost_why);
    for (auto& [done, a] : l.ended)
        if (done) done(std::move(a));
}

} // namespace tenon::net
