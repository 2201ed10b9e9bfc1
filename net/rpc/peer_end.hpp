#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <net/link/handshake.hpp>
#include <net/link/link_end.hpp>
#include <net/rpc/peer.hpp>

/// A peer as it is made: its calls are in peer.cpp, its links and connections in peer_end.cpp.

namespace tenon::net {

answer failure(error_code code, std::string message, error_reason reason = error_reason::none);

/// What is said of a call to a life of the peer that is over, before and behind what became of the call.
inline constexpr char was_restarted[] = "was restarted, and sessions from before are gone";
inline constexpr char open_new_session[] = ": open a new session";

class peer_end final : public peer, public link_end {
public:
    peer_end(transport& t, peer_options options);
    ~peer_end() override { close(); }

    std::uint64_t call(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until, call_done done,
                       std::uint64_t incarnation, reply_place place) override;
    void cancel(std::uint64_t call, duration grace) override;
    void end_calls(std::uint64_t turn, bool all, error_code code, const std::string& why) override;
    void note(std::uint8_t verb, bytes body, std::vector<any_array> arrays, std::uint64_t incarnation) override;
    answer ask(std::uint8_t verb, bytes body, std::vector<any_array> arrays, call_time until,
               std::uint64_t incarnation) override;
    void connect(time_point deadline, call_done done) override;
    void close() override;
    peer_state state() const override;
    std::string last_heard() const override;
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
        time_point deadline, end; // where it is silent; at last
        time_point look = never;  // when it is looked at next
        std::size_t bytes;
        std::uint8_t verb;
        call_turn turn;
        std::uint64_t request = 0; // on the link, where they come in order; 0: it waits to be sent
        bool cancelled = false;    // its answer is waited for
        bool over = false;         // ended here: its reply is only counted
        std::shared_ptr<const reply_place> place;
        std::uint64_t placed_by = 0; // the attempt that has asked for
        std::size_t placed = 0;      // so many arrays
    };
    struct unsent {
        message m;
        time_point deadline;
        std::size_t bytes;
        std::uint64_t incarnation;
        call_turn turn;
    };
    /// A turn's.
    struct channel {
        std::deque<unsent> waiting;
        std::size_t waiting_bytes = 0;
        std::size_t calls = 0, bytes = 0; // posted and not replied to

        bool is_idle() const noexcept { return waiting.empty() && calls == 0 && bytes == 0; }
        void add(unsent u) {
            waiting_bytes += u.bytes;
            waiting.push_back(std::move(u));
        }
    };
    using channels = std::map<std::uint64_t, channel>;
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
        std::vector<std::uint64_t> lost; // the lives that notes were for, or a ready link was to, where it has died
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
    unsent unsent_of(message m, time_point deadline, std::uint64_t incarnation) const;
    bool has_room(const unsent& u, const channel& of) const;
    bool post(unsent& u, channel& of, later& l);
    void post_waiting(later& l);
    bool post_first(channel& of, later& l);
    std::unordered_map<std::uint64_t, pending>::iterator sent_as(std::uint64_t request);
    void count_out(const pending& p);
    void end_call(std::uint64_t number, pending& p, answer a, later& l);
    bool end_early(std::uint64_t number, pending& p, answer a, later& l); // true: it is to be forgotten
    void expire(time_point now, later& l);
    std::string call_name(const pending& p) const;
    void tell_cancelled(const pending& p);
    void look(std::uint64_t number, pending& p, time_point at);
    time_point look_at(const pending& p, time_point now);
    std::string why_late(const pending& p, time_point now) const;
    std::string full_name() const;
    std::string since_contact(time_point now) const;
    void plan_wake();
    void unlock_and_run(lock& held, later& l);

    const peer_options options_;
    const std::uint64_t stream_;
    std::string name_;

    // All below: guarded by mutex_.
    std::uint64_t random_;
    phase phase_ = phase::none;
    bool closed_ = false;
    std::uint64_t links_ = 0, attempt_ = 0, connections_ = 0, calls_made_ = 0, requests_ = 0;
    bool established_ = false;      // this link has been ready
    std::uint64_t incarnation_ = 0; // of the other process
    std::string said_name_;         // where whoever it is was dialed
    link_limits other_;             // what it takes
    bytes hello_, challenge_;
    time_point began_{}; // the dial
    duration dial_limit_{};
    time_point redial_at_ = never;
    time_point handshake_until_ = never;
    time_point refused_since_ = never;
    duration pause_{};
    std::string trouble_;                  // why there is no connection
    time_point heard_ = time_point::min(); // the last of links that are dead

    std::unordered_map<std::uint64_t, pending> calls_;
    std::unordered_map<std::uint64_t, std::uint64_t> by_request_; // calls that were sent
    std::set<std::pair<time_point, std::uint64_t>> looks_;        // at those that are not over
    channels channels_;                                           // that are not idle
    std::uint64_t served_ = 0;                                    // the turn that was last
    std::vector<waiter> waiters_;
    time_point earliest_ = never; // no deadline of waiters is before
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
    any_array place_for(const message& head, std::size_t i, const tensor_type& type, std::size_t) override {
        if (type.element == element_type::string) return {};
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

} // namespace tenon::net
