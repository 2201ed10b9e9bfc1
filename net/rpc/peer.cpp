#include <net/rpc/peer.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include <net/link/handshake.hpp>
#include <net/rpc/peer_end.hpp>
#include <tenon/core/hash.hpp>

/// Calls and notes: from the caller to the link.

namespace tenon::net {

namespace {

std::atomic<std::uint64_t> streams{0}; // peers that this process has had

} // namespace

answer failure(error_code code, std::string message, error_reason reason) {
    answer a{.failed = true, .code = code, .reason = reason, .message = std::move(message), .names_peer = true};
    return a;
}

peer_end::peer_end(transport& t, peer_options options) :
    link_end(t), options_(std::move(options)), stream_(++streams), random_(options_.self.incarnation) {
    name_ =
        options_.job.empty() ? options_.address : name_of(options_.job, options_.task) + " (" + options_.address + ")";
    random_ = tenon::detail::fnv1a(options_.address, random_); // peers differ
}

std::uint64_t peer_end::call(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until,
                             call_done done, std::uint64_t incarnation, reply_place place) {
    lock held(mutex_);
    later l;
    const time_point now = transport_.now();
    const std::uint64_t number = ++calls_made_;
    unsent u = unsent_of({message_type::call, verb, 0, 0, number, std::move(body), std::move(arrays)}, until.deadline,
                         incarnation);
    pending& p = calls_[number];
    p.done = std::move(done);
    p.deadline = until.deadline;
    p.end = until.deadline == never ? never : until.deadline + until.grace;
    p.bytes = u.bytes;
    p.verb = verb;
    p.turn = u.turn;
    if (place) p.place = std::make_shared<const reply_place>(std::move(place));
    look(number, p, look_at(p, now));
    take(std::move(u), now, l);
    send_all(held);
    plan_wake();
    unlock_and_run(held, l);
    return number;
}

void peer_end::note(std::uint8_t verb, bytes body, std::vector<any_array> arrays, std::uint64_t incarnation) {
    lock held(mutex_);
    later l;
    unsent u = unsent_of({message_type::note, verb, 0, 0, 0, std::move(body), std::move(arrays)}, never, incarnation);
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

peer_end::unsent peer_end::unsent_of(message m, time_point deadline, std::uint64_t incarnation) const {
    const std::size_t size = m.body.size() + m.payload_bytes();
    const call_turn turn = options_.turn_of ? options_.turn_of(m.verb, m.body) : call_turn();
    return {std::move(m), deadline, size, incarnation, turn};
}

/// Takes a call (that calls_ has) or a note: posts it, has it wait, or ends it.
void peer_end::take(unsent u, time_point now, later& l) {
    const bool is_call = u.m.type == message_type::call;
    const auto refuse = [&](error_code code, const std::string& what) {
        answer a = failure(code, name_ + " " + what);
        if (!is_call) return l.ended.emplace_back(nullptr, std::move(a)), void();
        const auto p = calls_.find(u.m.request);
        end_call(p->first, p->second, std::move(a), l);
        calls_.erase(p);
    };
    if (closed_) return refuse(error_code::cancelled, "cannot be called any more: this end was closed");
    if (u.deadline <= now)
        return refuse(error_code::deadline_exceeded, "was not called: the call's deadline has passed");
    if (phase_ == phase::none) begin_link(now);
    if (phase_ == phase::waiting && redial_at_ <= now) dial_now(now, l);
    channel& own = channels_[u.turn.of];
    if (phase_ == phase::ready && own.waiting.empty() && has_room(u, own)) {
        (void)post(u, own, l);
        if (own.is_idle()) channels_.erase(u.turn.of);
        return;
    }
    if (own.waiting.size() >= options_.waiting_messages || own.waiting_bytes + u.bytes > options_.waiting_bytes)
        return refuse(error_code::resource_exhausted, "takes no more: " + std::to_string(own.waiting.size()) +
                                                          " calls and notes of " + std::to_string(own.waiting_bytes) +
                                                          " bytes wait to be sent to it, of at most " +
                                                          std::to_string(options_.waiting_messages) + " and " +
                                                          std::to_string(options_.waiting_bytes) + " bytes");
    own.add(std::move(u));
}

bool peer_end::has_room(const unsent& u, const channel& of) const {
    if (u.m.type == message_type::call && !u.turn.may_wait && of.calls >= other_.calls) return false;
    if (u.turn.of == 0) return true;
    if (link_->kept_messages() >= options_.waiting_messages) return false;
    const std::size_t there = std::max(of.bytes, link_->kept_bytes());
    return there == 0 || there + u.bytes <= other_.bytes;
}

/// To the link; says whether it could be posted, and else ends it.
bool peer_end::post(unsent& u, channel& of, later& l) {
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
        wrong = std::string(was_restarted) + "; the call was not sent" + open_new_session;
    }
    if (!wrong.empty()) {
        answer a = failure(code, name_ + " " + wrong, reason_of_end(code));
        if (!is_call) l.ended.emplace_back(nullptr, std::move(a));
        else if (const auto p = calls_.find(u.m.request); p != calls_.end()) {
            end_call(p->first, p->second, std::move(a), l);
            calls_.erase(p);
        }
        return false;
    }
    if (is_call) {
        const std::uint64_t number = u.m.request;
        calls_.find(number)->second.request = u.m.request = ++requests_;
        by_request_.emplace(u.m.request, number);
        if (!u.turn.may_wait) ++of.calls;
        of.bytes += u.bytes;
    }
    link_->post(std::move(u.m), u.deadline);
    return true;
}

/// The first that waits in this line, where there is room for it; says whether there was.
bool peer_end::post_first(channel& of, later& l) {
    if (phase_ != phase::ready || of.waiting.empty() || !has_room(of.waiting.front(), of)) return false;
    unsent u = std::move(of.waiting.front());
    of.waiting.pop_front();
    of.waiting_bytes -= u.bytes;
    const std::size_t before = l.ended.size();
    if (!post(u, of, l) && l.ended.size() > before && !l.ended.back().first) l.ended.pop_back(); // a note: nobody asks
    return true;
}

/// Control first; of data, one of each line in turn.
void peer_end::post_waiting(later& l) {
    if (phase_ != phase::ready) return;
    if (const auto control = channels_.find(0); control != channels_.end())
        while (post_first(control->second, l)) {
        }
    for (std::size_t in_vain = 0; in_vain < channels_.size();) {
        auto at = channels_.upper_bound(served_);
        if (at == channels_.end()) at = channels_.begin();
        served_ = at->first;
        in_vain = post_first(at->second, l) ? 0 : in_vain + 1;
        if (at->second.is_idle()) channels_.erase(at);
    }
}

std::unordered_map<std::uint64_t, peer_end::pending>::iterator peer_end::sent_as(std::uint64_t request) {
    const auto number = by_request_.find(request);
    return number == by_request_.end() ? calls_.end() : calls_.find(number->second);
}

/// Its reply has come.
void peer_end::count_out(const pending& p) {
    by_request_.erase(p.request);
    const auto at = channels_.find(p.turn.of);
    if (at == channels_.end()) return;
    if (!p.turn.may_wait) --at->second.calls;
    at->second.bytes -= p.bytes;
    if (at->second.is_idle()) channels_.erase(at);
}

void peer_end::end_call(std::uint64_t number, pending& p, answer a, later& l) {
    if (p.over) return;
    p.over = true;
    p.place.reset();
    look(number, p, never);
    l.ended.emplace_back(std::exchange(p.done, nullptr), std::move(a));
}

bool peer_end::end_early(std::uint64_t number, pending& p, answer a, later& l) {
    a.unknown = p.request != 0;
    end_call(number, p, std::move(a), l);
    if (p.request != 0) {
        tell_cancelled(p);
        return false;
    }
    const auto own = channels_.find(p.turn.of);
    if (own == channels_.end()) return true;
    std::deque<unsent>& waiting = own->second.waiting;
    const auto w = std::find_if(waiting.begin(), waiting.end(), [&](const unsent& u) { return u.m.request == number; });
    if (w != waiting.end()) {
        own->second.waiting_bytes -= w->bytes;
        waiting.erase(w);
        if (own->second.is_idle()) channels_.erase(own);
    }
    return true;
}

void peer_end::end_calls(std::uint64_t turn, bool all, error_code code, const std::string& why) {
    lock held(mutex_);
    later l;
    if (const auto own = channels_.find(turn); own != channels_.end()) {
        std::erase_if(own->second.waiting, [&](const unsent& u) {
            const bool ends = u.m.type == message_type::call && (all || u.turn.may_wait);
            if (ends) own->second.waiting_bytes -= u.bytes;
            return ends;
        });
        if (own->second.is_idle()) channels_.erase(own);
    }
    for (auto i = calls_.begin(); i != calls_.end();) {
        pending& p = i->second;
        const bool ends = p.turn.of == turn && (all || p.turn.may_wait);
        if (ends) {
            answer a = failure(code, why);
            a.names_peer = false;
            a.unknown = p.request != 0;
            end_call(i->first, p, std::move(a), l);
        }
        i = ends && p.request == 0 ? calls_.erase(i) : std::next(i);
    }
    unlock_and_run(held, l);
}

std::string peer_end::call_name(const pending& p) const {
    return options_.name_of_verb ? std::string(options_.name_of_verb(p.verb)) : "call " + std::to_string(p.verb);
}

void peer_end::tell_cancelled(const pending& p) {
    message m{.type = message_type::cancel, .request = p.request};
    link_->post_urgent(std::move(m));
}

void peer_end::cancel(std::uint64_t call, duration grace) {
    lock held(mutex_);
    later l;
    const auto found = calls_.find(call);
    if (found == calls_.end() || found->second.over) return;
    pending& p = found->second;
    if (p.request != 0 && grace > duration{}) {
        const time_point now = transport_.now();
        p.cancelled = true;
        p.deadline = std::min(p.deadline, now);
        p.end = std::min(p.end, now + grace);
        look(call, p, now);
        tell_cancelled(p);
        expire(now, l);
        plan_wake();
    } else {
        answer a = failure(error_code::cancelled, full_name() + ": " + call_name(p) + " was cancelled");
        if (end_early(call, p, std::move(a), l)) calls_.erase(found);
    }
    post_waiting(l);
    send_all(held);
    unlock_and_run(held, l);
}

answer peer_end::ask(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until,
                     std::uint64_t incarnation) {
    struct result {
        std::atomic<bool> there{false};
        answer a;
    };
    const auto r = std::make_shared<result>();
    call(verb, std::move(body), std::move(arrays), until,
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
        link_->post_urgent(
            message{.type = message_type::goodbye, .body = write(goodbye{error_code::cancelled, "was closed"})});
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

std::string peer_end::full_name() const {
    return said_name_.empty() ? name_ : said_name_ + " (" + options_.address + ")";
}

std::string peer_end::since_contact(time_point now) const {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.2g s", std::chrono::duration<double>(now - link_->contact()).count());
    return seconds;
}

std::string peer_end::last_heard() const {
    const std::lock_guard held(mutex_);
    if (!link_ || !established_) return full_name() + ", to which there is no link";
    return full_name() + ", which was last heard of " + since_contact(transport_.now()) + " ago";
}

peer::counts peer_end::count() const {
    const std::lock_guard held(mutex_);
    counts c;
    c.calls = calls_.size();
    for (const auto& [of, own] : channels_) c.waiting += own.waiting.size(), c.waiting_bytes += own.waiting_bytes;
    c.kept_messages = link_ ? link_->kept_messages() : 0;
    c.kept_bytes = link_ ? link_->kept_bytes() : 0;
    c.links = links_;
    c.connections = connections_;
    c.is_linked = link_ && established_;
    c.heard = c.is_linked ? link_->contact() : heard_;
    c.carried = traffic_;
    return c;
}

std::shared_ptr<peer> peer::make(transport& t, peer_options options) {
    if (options.self.incarnation == 0)
        throw invalid_argument_error("peer: this process has no incarnation: see transport::random_number()");
    return std::make_shared<peer_end>(t, std::move(options));
}

} // namespace tenon::net
