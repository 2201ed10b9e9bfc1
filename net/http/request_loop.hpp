#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <net/transport/tls.hpp>

/// Connections that bring requests: one each, whose body nobody looks at, or one after another, with bodies. What they may take is bounded,
/// in bytes, number and time, so that nobody who is slow, or says too much, holds up who is not.

namespace tenon::net {

struct request_limits {
    std::size_t head_bytes = std::size_t{8} << 10;
    std::size_t connections = 64; ///< one more closes the oldest that is not being answered
    // From when the one before is over:
    std::chrono::milliseconds to_ask{5000};    ///< for the whole head, hands that are shaken included
    std::chrono::milliseconds to_answer{2000}; ///< then it is answered with what there is
    std::chrono::milliseconds to_read_it{30000};
    /// Of a body; 0: none is looked at, and the connection ends with the response.
    std::size_t body_bytes = 0;
    std::size_t all_body_bytes = 0; ///< of all connections together; more is answered 503
    std::chrono::milliseconds to_send_body{30000};
    std::chrono::milliseconds to_come_again{60000}; ///< for the first byte of a further request
};

/// A request that came whole.
struct received_request {
    std::uint64_t number = 0; ///< for waker::wake(): no other of its loop has it at the same time
    std::string head;         ///< with its empty line
    std::string body{};
    /// What was begun for it; ends when it is answered, or who asked has gone.
    std::shared_ptr<void> begun{};
    bool is_last = true; ///< set by who answers: the connection ends with the response
};

/// Two threads of its own: one accepts, one does all else.
class request_loop {
public:
    /// The response to a request; nothing: not yet. It is asked again after wake() or wake_all(), and with `is_last` when its time is over,
    /// when it must answer. Called by one thread; it does not wait.
    using answerer = std::function<std::optional<std::string>(received_request& r, bool is_last)>;

    /// Has a request looked at again, if it still waits, or all that do. Any thread, also after the loop has ended.
    class waker {
    public:
        virtual ~waker() = default;
        virtual void wake(std::uint64_t request) noexcept = 0;
        virtual void wake_all() noexcept = 0;
    };
    static std::shared_ptr<waker> make_waker();

    /// Serves until it ends. `tls` may be nullptr. Throws as transport::listen does.
    request_loop(const std::string& address, std::shared_ptr<tls_context> tls, const request_limits& limits,
                 std::shared_ptr<waker> w, answerer a);
    ~request_loop();
    request_loop(request_loop&&) = delete;

    /// "host:port", with the number that port 0 became.
    const std::string& address() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace tenon::net
