#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <net/link/options.hpp>
#include <tenon/core/error.hpp>

/// The listening side of links: what other processes call.

namespace tenon::net {

/// A link, by number; each is new, also where a process comes back.
using link_number = std::uint64_t;

/// Who is at the other end of a link: proven, where there is a token.
struct link_peer {
    std::string job; ///< empty: a client
    std::int32_t task = 0;
    std::uint64_t incarnation = 0;
    std::string address;

    std::string name() const { return name_of(job, task) + " (" + address + ")"; }
};

class service_link;

/// Answers one call, once, from any thread, at any time; where the link is dead by then, that is nothing. Moved, not copied. One
/// that is left without an answer answers internal_error.
class replier {
public:
    replier() = default;
    replier(std::shared_ptr<service_link> link, std::uint64_t request) noexcept :
        link_(std::move(link)), request_(request) {}
    replier(replier&&) noexcept = default;
    replier& operator=(replier&& other) noexcept;
    ~replier();

    void reply(bytes body, std::vector<any_array> arrays = {});
    void fail(error_code code, const std::string& message, error_reason reason = error_reason::none);

    /// False after the answer.
    explicit operator bool() const noexcept { return link_ != nullptr; }
    /// Which call it is: what cancelled() names.
    std::uint64_t request() const noexcept { return request_; }

private:
    std::shared_ptr<service_link> link_;
    std::uint64_t request_ = 0;
};

/// What calls reach. The methods of one link are called by one thread at a time, in the order of what was sent; those of several
/// links side by side. They are threads of the transport: they return soon, wait for nothing, and, but for called(), do not
/// throw.
class service_handler {
public:
    virtual ~service_handler() = default;
    /// A link is there: the first that is heard of it. What follows of it, follows this.
    virtual void linked(link_number link, const link_peer& who) { (void)link, (void)who; }
    /// The arrays are those of place_for, where it gave some. The replier is moved out of `answer`, to answer later or here; where
    /// called() throws and has not moved it, the exception is the answer.
    virtual void called(link_number link, std::uint8_t verb, bytes body, std::vector<any_array> arrays,
                        time_point deadline, replier&& answer) = 0;
    virtual void noted(link_number link, std::uint8_t verb, bytes body, std::vector<any_array> arrays) {
        (void)link, (void)verb, (void)body, (void)arrays;
    }
    /// A note came without its arrays: place_for threw this.
    virtual void refused(link_number link, std::uint8_t verb, bytes body, const std::string& why) {
        (void)link, (void)verb, (void)body, (void)why;
    }
    /// Nobody waits for the answer to this call any more; it may have been given meanwhile. It is still to be answered: its place
    /// among the calls in flight is free then. Comes ahead of all that was sent before it, but not of its call.
    virtual void cancelled(link_number link, std::uint64_t request) { (void)link, (void)request; }
    /// Memory for array i of a call or note, which takes so many bytes on its way: of this type, or an empty one, as for strings
    /// always. Throws resource_exhausted_error where there is no room for it: the call is answered so, the note refused. It may be asked for again where the connection ended
    /// before all of the message was there; never while somebody writes to what it gave before, nor after the message arrived.
    virtual any_array place_for(link_number link, std::uint8_t verb, const bytes& body, std::size_t i,
                                const tensor_type& type, std::size_t size) {
        (void)link, (void)verb, (void)body, (void)i, (void)type, (void)size;
        return {};
    }
    /// The link is dead. The last that is heard of it; its calls are cancelled with it.
    virtual void peer_lost(link_number link, const std::string& why) { (void)link, (void)why; }
};

struct service_options {
    identity self;
    link_options link = {};
    link_limits limits = {}; ///< what it takes: of calls
    turn_function turn_of = nullptr;
    std::size_t links = 16384;    ///< one more is refused
    std::size_t handshakes = 256; ///< under way at a time; one more ends the oldest
    std::size_t kept_bytes = std::size_t{4}
                             << 30; ///< of a link's replies that are not acknowledged; beyond, calls are refused
    std::size_t kept_messages = std::size_t{1} << 20; ///< of these replies; beyond, the link ends
    /// Where a task of the cluster lives; empty: there is none such. Where this is set, who says that it is a task is linked when
    /// that address answers for the same life of it, once for each life: nobody else takes the place of a task, by mistake or not.
    std::function<std::string(const std::string& job, std::int32_t task)> address_of = {};
    /// A line for what somebody should look at: tasks that are lost, handshakes that are refused. Any thread.
    std::function<void(const std::string& line)> log = {};
    /// And for what comes and goes as it should, or is nobody of Tenon's: links, clients, connections that say nothing. Any thread.
    std::function<void(const std::string& line)> log_verbose = {};
};

/// Thread-safe.
class service {
public:
    /// `t` and `handler` outlive it; where it was not stopped, its destructor stops it without waiting for calls in flight.
    static std::unique_ptr<service> make(transport& t, service_options options, service_handler& handler);
    virtual ~service() = default;

    /// Takes links at this address too, "127.0.0.1:0". Throws as transport::listen does. Returns where it is reached.
    virtual std::string listen(const std::string& address) = 0;
    /// Drains, then ends: new links and calls are refused (unavailable_error, "... is stopping"), calls in flight finish, replies
    /// are flushed and acknowledged, goodbye is said, listeners and connections are closed. Works for the transport meanwhile, until
    /// the deadline; then what is left is cut off. True where nothing was. A second call waits for nothing.
    virtual bool stop(time_point deadline) = 0;

    /// What it holds, for status pages and tests.
    struct counts {
        std::size_t links = 0;
        std::size_t connections = 0; ///< of them, at present
        std::size_t handshakes = 0;  ///< under way, or refused and not closed yet
        std::size_t calls = 0;       ///< in flight
        std::size_t call_bytes = 0;
        std::size_t kept_messages = 0; ///< replies that are not acknowledged
        std::size_t kept_bytes = 0;
        std::uint64_t refused = 0; ///< handshakes, in all
    };
    virtual counts count() const = 0;
    /// Of one task, or all clients (whose job is empty): what its links carried, those that have ended too, and when one of those
    /// that are there was last heard of.
    struct heard {
        std::string job;
        std::int32_t task = 0;
        std::size_t links = 0; ///< at present
        time_point last = time_point::min();
        traffic carried;
    };
    virtual std::vector<heard> all_heard() const = 0;
    /// Who is linked at present.
    virtual std::vector<std::pair<link_number, link_peer>> linked() const = 0;

protected:
    service() = default;
};

} // namespace tenon::net
