#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <net/wire/message.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/op/step.hpp>

/// Connections between processes, time and chance, as what stands above them sees them: real ones, or simulated ones.

namespace tenon::net {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;
/// Of so many seconds; of more than 1e9, that many.
inline duration seconds_of(double s) {
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(s < 1e9 ? s : 1e9));
}

/// Carries whole messages, each once. They arrive in the order in which they were sent, with one exception: a small message
/// (is_small) may arrive before large ones that were sent before it, so that a ping, a cancel or a call never waits behind a
/// gigabyte. So small messages keep their order among themselves, large ones keep theirs, and no large one arrives before
/// anything that was sent before it. What has arrived is not lost by what is still on its way: a gap in the sequence numbers
/// that a connection brings stands for large messages, and closes. Thread-safe.
class connection {
public:
    virtual ~connection() = default;
    /// Never blocks; arrays are shared until they have been written. After the end nothing happens.
    virtual void send(message m) = 0;
    /// Bytes that were given to send() and not yet to the system.
    virtual std::size_t unsent_bytes() const noexcept = 0;
    /// Ends it, at once: what is unsent may be lost. closed() follows.
    virtual void close(const std::string& why) noexcept = 0;
    /// The other side's address, "127.0.0.1:2222".
    virtual const std::string& peer() const noexcept = 0;
    /// Nobody between can read or change what it carries: loopback, or encrypted.
    virtual bool is_private() const noexcept = 0;
};

/// Who uses a connection. Called by one thread at a time, under no lock of the transport.
class connection_user {
public:
    virtual ~connection_user() = default;
    /// What it takes at present: asked for each message, before anything of it is allocated. Who does not know the other side
    /// yet takes little.
    virtual message_limits limits() { return {}; }
    /// Memory for array i of a message whose head and body have arrived, of this type, which takes so many bytes on the wire: the
    /// connection reads into it. An empty array: the connection makes one, as it always does of strings. Throws
    /// resource_exhausted_error where there is no room for it: the message then comes without its arrays, `refused`.
    virtual any_array place_for(const message& head, std::size_t i, const tensor_type& type, std::size_t size) {
        (void)head, (void)i, (void)type, (void)size;
        return {};
    }
    virtual void received(message m) = 0;
    /// It has ended, for this reason. Once; nothing follows.
    virtual void closed(const std::string& why) = 0;
};

/// Ends when it is destroyed.
class listener {
public:
    virtual ~listener() = default;
    /// Where it is reached: "127.0.0.1:2222", with the number that port 0 became.
    virtual const std::string& address() const noexcept = 0;
};

/// Wakes who does a transport's work; may outlive it, and does nothing then.
class waker {
public:
    virtual void wake() noexcept = 0;

protected:
    ~waker() = default;
};

/// What of a process comes from outside: connections, time and chance. Thread-safe.
class transport : public time_source {
public:
    /// What a connection is given when it is there: who uses it.
    using accept = std::function<std::shared_ptr<connection_user>(std::shared_ptr<connection>)>;
    /// Calls `then` once: with the connection, for which it answers who uses it, or with nullptr and why there is none.
    using dialed = std::function<std::shared_ptr<connection_user>(std::shared_ptr<connection>, const std::string& why)>;
    virtual void dial(const std::string& address, duration limit, dialed then) = 0;
    /// Throws unavailable_error where the address cannot be had, naming it; invalid_argument_error where it is none.
    virtual std::unique_ptr<listener> listen(const std::string& address, accept each) = 0;

    /// Not 0; nobody can guess it, and no other process draws it.
    virtual std::uint64_t random_number() = 0;
    /// Calls `what` once, at that time or a little later.
    virtual std::uint64_t call_at(time_point at, std::function<void()> what) = 0;
    /// True where it will not be called, and is not being called.
    virtual bool cancel(std::uint64_t timer) noexcept = 0;

    /// Does the transport's work on this thread until done() or the time has come; says whether done(). Who makes done() true
    /// calls wake() afterwards.
    virtual bool work_until(function_ref<bool()> done, time_point limit) = 0;
    virtual void wake() noexcept = 0;
    /// For threads that are not the transport's own: it may end as soon as done() is true, before they wake it.
    virtual std::shared_ptr<waker> shared_waker() = 0;

    /// False: all is done by those who are in work_until, one after another.
    virtual bool has_threads() const noexcept { return true; }
    /// Has the thread that calls do this as soon as it has returned from what called it, while others go on with the transport's
    /// work: nothing that arrives waits for it. True where it took the work, which ends with no more than the thread. Only one of
    /// the transport's own threads can, that has no such work yet, and not the last that does the transport's.
    virtual bool defer(work_item& work) {
        (void)work;
        return false;
    }
};

} // namespace tenon::net
