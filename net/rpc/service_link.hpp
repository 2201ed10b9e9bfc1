#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include <net/link/gate.hpp>
#include <net/link/handshake.hpp>
#include <net/link/link_end.hpp>
#include <net/rpc/service.hpp>

/// The listening side's parts: its links, and the connections that become theirs.

namespace tenon::net {

class service_core;

/// A connection that somebody made: first it shakes hands, then it is a link's.
class accepted final : public connection_user, public std::enable_shared_from_this<accepted> {
public:
    accepted(std::shared_ptr<service_core> core, std::shared_ptr<connection> c, std::uint64_t n, time_point at) :
        number(n), began(at), core_(std::move(core)), connection_(std::move(c)) {}

    message_limits limits() override;
    any_array place_for(const message& head, std::size_t i, const tensor_type& type, std::size_t size) override;
    void received(message m) override;
    void closed(const std::string& why) override;

    /// From any thread.
    void close(const std::string& why);
    std::shared_ptr<connection> to() const;
    void send(message_type type, bytes body);

    const std::uint64_t number;
    const time_point began;
    std::atomic<bool> linked{false};

private:
    void shake_hands(const message& m);
    void greeted(const message& m);
    void proven(const message& m);
    void confirmed(error_code code, const std::string& why_not);
    void link_up();
    void refuse(error_code code, const std::string& why);

    enum class step { hello, proof, confirming, linked, refused };

    // Touched by the connection's thread, and, while it is confirming, by the one that brings the answer: under turn_ until it is
    // linked, then by the connection's alone.
    std::mutex turn_;
    std::atomic<step> step_{step::hello};
    bool ended_ = false;
    hello hello_;
    bytes hello_bytes_, challenge_bytes_;
    std::shared_ptr<service_link> link_;
    const std::shared_ptr<service_core> core_;

    mutable std::mutex mutex_;
    std::shared_ptr<connection> connection_; // null after closed()
};

/// One link. Dead, it lives on with repliers that are left.
class service_link final : public link_end {
public:
    service_link(std::shared_ptr<service_core> core, link_number n, link_peer who, const hello& h);

    /// The link's connection from now on, as soon as an older one has ended; `welcome` makes the ready that is sent then. False
    /// where the link is dead, or a later attempt is there.
    bool attach(const std::shared_ptr<accepted>& a, const hello& h, const bytes& hello_bytes,
                const bytes& challenge_bytes);
    void received(accepted& by, message m);
    void closed(accepted& by, const std::string& why);
    any_array place_for(accepted& by, const message& head, std::size_t i, const tensor_type& type, std::size_t size);
    void answer(std::uint64_t request, std::uint8_t verb, bytes body, std::vector<any_array> arrays);

    /// Ends it; a code other than `unknown` is said to the other side, which then closes the connection.
    void end(const std::string& why, error_code said = error_code::unknown);
    void cut(const std::string& why); // closes its connection
    bool is_idle() const;             // nothing in flight, nothing that is not acknowledged
    void add_to(service::counts& c) const;
    void add_to(service::heard& h) const;

    const link_number number;
    const link_peer who;
    const std::uint64_t stream, link_of_stream;

private:
    struct arrival { // that waits for an older connection to end
        std::shared_ptr<accepted> by;
        hello said;
        bytes hello_bytes, challenge_bytes;
    };

    void tick() override;
    void attach_now(lock& held, arrival a);
    void take(lock& held, message m, time_point now);
    void take_call(lock& held, message m, time_point now);
    void take_cancel(lock& held, std::uint64_t request);
    std::uint64_t post_reply(std::uint64_t request, std::uint8_t verb, bytes body, std::vector<any_array> arrays);
    std::uint64_t post_failure(std::uint64_t request, error_code code, const std::string& why,
                               error_reason reason = error_reason::none);
    /// What is left of a link that has died, to end where no lock is held.
    struct remains {
        std::optional<link> dead;
        std::shared_ptr<accepted> close;
        bool tell = false;
    };
    remains die(const std::string& why); // locked
    void bury(remains r);                // not locked
    void tell_lost();
    void plan_wake();

    const std::shared_ptr<service_core> core_;

    // All below: guarded by mutex_.
    bool dead_ = false, said_goodbye_ = false;
    std::string why_dead_;
    std::uint64_t attempt_ = 0;
    std::shared_ptr<accepted> user_; // of the connection, until it has ended
    std::optional<arrival> next_;
    link_limits other_;
    struct call_in_flight {
        std::size_t bytes = 0;
        call_turn turn;
    };
    struct channel { // of a turn
        std::size_t calls = 0, bytes = 0;
        std::size_t all = 0; // those that may wait, too
    };
    std::unordered_map<std::uint64_t, call_in_flight> in_flight_;
    std::map<std::uint64_t, channel> channels_;        // of those
    std::uint64_t last_request_ = 0, last_answer_ = 0; // the latter by its number on the link
    std::set<std::uint64_t> early_cancels_;            // of calls that are still to come
    std::map<std::uint64_t, std::size_t>
        placed_; // by this connection: arrays that were asked for, by the message's number
};

/// What a service is made of.
class service_core final : public std::enable_shared_from_this<service_core> {
public:
    service_core(transport& t, service_options o, service_handler& h) :
        transport_(t), options(std::move(o)), waker_(t.shared_waker()), handler_(h), to_handler_(t) {
        name = name_of(options.self.job, options.self.task);
    }

    std::shared_ptr<connection_user> accept(std::shared_ptr<connection> c);
    /// Has `then` called with nothing where h is of no task, or of a life of one that its address answers for; else with why it is
    /// not taken. At once where that is known, else on a thread of the transport.
    void confirm(const hello& h, std::function<void(error_code, const std::string& why_not)> then);
    /// Gives a proven connection to its link; empty, or why it has none.
    std::pair<error_code, std::string> admit(const std::shared_ptr<accepted>& a, const hello& h,
                                             const bytes& hello_bytes, const bytes& challenge_bytes,
                                             std::shared_ptr<service_link>& link);
    void shaken(accepted& a);              // its handshake is over
    void gone(accepted& a);                // its connection has ended
    void forget(const service_link& link); // it is dead
    void refused();
    /// f(the handler), unless the service has ended.
    template <class F> void tell(F&& f) {
        to_handler_.pass([&] { f(handler_); });
    }
    void log(const std::string& line, bool verbose = false) {
        const auto& to = verbose ? options.log_verbose : options.log;
        if (to) to_handler_.pass([&] { to(line); });
    }
    /// Returns when no thread is in the handler, and none will be.
    void end() { to_handler_.shut(); }
    /// For stop(), after which the transport may end: who answers a call is perhaps no thread of its own.
    void changed() {
        if (stopping.load(std::memory_order_relaxed)) waker_->wake();
    }

    std::vector<std::shared_ptr<service_link>> all() const;
    void end_handshakes(const std::string& why);
    void clear();
    service::counts count() const;
    std::vector<service::heard> all_heard() const;

    transport& transport_;
    const service_options options;
    std::string name;
    std::atomic<bool> stopping{false};
    std::atomic<std::size_t> telling{0};     // threads in peer_lost that are no connection's
    std::atomic<std::size_t> connections{0}; // that have not ended

private:
    /// Whose link it is: a process's incarnation and which of its peers.
    using key = std::pair<std::uint64_t, std::uint64_t>;
    struct lives {
        std::uint64_t now = 0;
        std::vector<std::uint64_t> before; // the latest last
    };

    std::string fenced(const hello& h, std::vector<std::shared_ptr<service_link>>& replaced);
    void watch_handshakes();

    const std::shared_ptr<waker> waker_;
    service_handler& handler_;
    gate to_handler_;
    mutable std::mutex mutex_; // of what follows
    std::map<key, std::shared_ptr<service_link>> links_;
    std::map<std::uint64_t, std::shared_ptr<accepted>>
        handshakes_;                                              // and those refused and not yet closed; oldest first
    std::map<std::pair<std::string, std::int32_t>, lives> tasks_; // that have been linked
    std::map<std::pair<std::string, std::int32_t>, traffic> carried_; // by links that are dead
    bool watching_ = false;
    std::uint64_t made_ = 0, refused_ = 0;
    link_number last_link_ = 0;
};

} // namespace tenon::net
