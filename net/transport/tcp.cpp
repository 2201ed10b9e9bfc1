#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <net/transport/poller.hpp>
#include <net/transport/service.hpp>
#include <net/transport/socket_connection.hpp>
#include <net/transport/tcp.hpp>
#include <net/wire/openssl_use.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

// Who was not taken for this may be a probe, which connects and goes, or speaks another protocol.
bool may_be_probe(const std::string& why) {
    for (const char* const words : {"the other side closed the connection", "the other side does not speak TLS",
                                    "it did not say who it is in time"})
        if (why.starts_with(words)) return true;
    return false;
}

// What threads, timers and connections hold of a transport: it ends with the last of them.
class core final : public connection_owner, public waker, public std::enable_shared_from_this<core> {
public:
    explicit core(tcp_options o) :
        options_(std::move(o)),
        tls_(options_.tls ? make_tls_context(*options_.tls) : nullptr),
        poller_(options_.io_threads) {}

    poller& sockets() noexcept override { return poller_; }
    void wake() noexcept override { poller_.wake(); }
    const tcp_options& options() const noexcept override { return options_; }
    void log(const std::string& line, bool verbose = false) const {
        const auto& to = verbose ? options_.log_verbose : options_.log;
        if (to) to(line);
    }
    std::uint64_t call_at(time_point at, std::function<void()> what) override {
        const auto s = service_here();
        return s ? s->call_at(at, std::move(what)) : 0;
    }
    bool cancel(std::uint64_t timer) noexcept {
        const auto s = service_here();
        return s && s->cancel(timer);
    }
    std::shared_ptr<socket_service> service_here() const {
        const std::lock_guard lock(guard_);
        return service_;
    }

    void check_can_listen(const std::string& address) const {
        if (!tls_ || tls_->can_listen()) return;
        throw invalid_argument_error("cannot listen on " + address +
                                     " with TLS: no certificate is given; set certificate_chain and private_key");
    }

    void begin() {
        service_ = std::make_shared<socket_service>();
        for (int i = 0; i < options_.io_threads; ++i)
            threads_.emplace_back([self = shared_from_this()] { self->poller_.work(); });
    }

    // Ends all connections, then the threads.
    void stop() {
        std::shared_ptr<socket_service> last;
        std::vector<std::shared_ptr<socket_connection>> all;
        bool is_empty = false;
        {
            const std::lock_guard lock(guard_);
            is_stopping_ = true;
            last = std::move(service_);
            for (const auto& [id, c] : open_) all.push_back(c.connection);
            is_empty = open_.empty();
        }
        last.reset();
        for (const auto& c : all) c->close("the transport has ended");
        all.clear();
        if (is_empty) poller_.stop();
        for (std::thread& t : threads_) {
            if (t.get_id() == std::this_thread::get_id()) t.detach();
            else t.join();
        }
        threads_.clear();
    }

    void add(connected_socket s, bool is_accepted, time_point limit, const std::string& host, transport::dialed then) {
        std::shared_ptr<socket_connection> made, oldest;
        std::string refused;
        std::uint64_t id = 0;
        std::unique_ptr<byte_stream> stream;
        try {
            set_buffers(s.socket);
            stream = make_stream(s, is_accepted, host);
        } catch (const error& e) {
            ::close(s.socket);
            then(nullptr, e.what());
            return;
        }
        {
            const std::lock_guard lock(guard_);
            if (is_stopping_) refused = "the transport has ended";
            else if (is_accepted && accepted_ >= options_.most_connections) refused = "too many connections";
            else {
                id = ++last_id_;
                const connection_traits is{.is_private = s.is_loopback || options_.tls.has_value(),
                                           .may_share = s.is_one_host && options_.shared_memory};
                made = std::make_shared<socket_connection>(shared_from_this(), id, std::move(stream), s.peer, is, then);
                if (is_accepted) {
                    ++accepted_;
                    if (half_open_.size() >= options_.most_half_open)
                        oldest = open_.at(half_open_.begin()->first).connection;
                    half_open_.emplace(id, 0);
                }
                open_.emplace(id, entry{made, is_accepted});
            }
        }
        if (!made) {
            then(nullptr, refused);
            return;
        }
        if (oldest) oldest->close("too many connections have not said who they are");
        // Accepted ones are to speak until then, those dialed to have shaken hands.
        const std::weak_ptr<socket_connection> weak = made;
        const std::uint64_t timer = call_at(limit, [weak, is_accepted] {
            if (const auto c = weak.lock(); c && (is_accepted || !c->is_open()))
                c->close(is_accepted ? "it did not say who it is in time" : "hands were not shaken in time");
        });
        {
            const std::lock_guard lock(guard_);
            if (const auto at = open_.find(id); at != open_.end()) at->second.timer = timer;
        }
        try {
            made->start();
        } catch (const error& e) {
            made->close(e.what());
            made->ready(readiness::over);
        }
    }

    void has_spoken(std::uint64_t id) override { no_longer_half_open(id); }
    void has_ended(std::uint64_t id) override {
        no_longer_half_open(id);
        entry last; // ends outside of the lock
        bool is_last = false;
        {
            const std::lock_guard lock(guard_);
            const auto at = open_.find(id);
            last = std::move(at->second);
            open_.erase(at);
            if (last.is_accepted) --accepted_;
            is_last = is_stopping_ && open_.empty();
        }
        if (is_last) poller_.stop();
    }

private:
    struct entry {
        std::shared_ptr<socket_connection> connection;
        bool is_accepted = false;
        std::uint64_t timer = 0;
    };

    void no_longer_half_open(std::uint64_t id) {
        std::uint64_t timer = 0;
        {
            const std::lock_guard lock(guard_);
            half_open_.erase(id);
            if (const auto at = open_.find(id); at != open_.end()) timer = std::exchange(at->second.timer, 0);
        }
        if (timer != 0) cancel(timer);
    }
    void set_buffers(int socket) const {
        if (const int n = options_.send_buffer) ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
        if (const int n = options_.receive_buffer) ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
    }
    std::unique_ptr<byte_stream> make_stream(const connected_socket& s, bool is_accepted,
                                             const std::string& host) const {
        if (!tls_) return make_plain_stream(s.socket);
        return is_accepted ? tls_->accepted(s.socket, s.peer) : tls_->dialed(s.socket, host, s.peer);
    }

    const tcp_options options_;
    const std::shared_ptr<tls_context> tls_; // none: plain
    poller poller_;
    std::vector<std::thread> threads_;
    mutable std::mutex guard_; // of what follows
    std::shared_ptr<socket_service> service_;
    std::map<std::uint64_t, entry> open_;
    std::map<std::uint64_t, int> half_open_; // accepted ones that have said nothing; the first is the oldest
    std::size_t accepted_ = 0;
    std::uint64_t last_id_ = 0;
    bool is_stopping_ = false;
};

class tcp_transport final : public transport {
public:
    explicit tcp_transport(tcp_options o) : core_(std::make_shared<core>(std::move(o))) {
        const openssl_use use; // it begins before, and so ends after, what is static and has a transport
        try {
            core_->begin();
        } catch (const std::system_error& e) {
            core_->stop();
            throw resource_exhausted_error(std::string("network: the system has no descriptor or thread left: ") +
                                           e.what() + "; close other files, or raise the limits (ulimit -n, -u)");
        }
    }
    ~tcp_transport() override { core_->stop(); }

    void dial(const std::string& address, duration limit, dialed then) override {
        const time_point end = now() + limit;
        core_->service_here()->connect(
            address, limit,
            [core = core_, address, end, then = std::move(then)](connected_socket s, const std::string& why) {
                if (s.socket < 0) then(nullptr, why);
                else core->add(std::move(s), false, end, parse_address(address).host, then);
            });
    }
    std::unique_ptr<listener> listen(const std::string& address, accept each) override {
        core_->check_can_listen(address);
        const auto state = std::make_shared<listening::state>(std::move(each));
        auto accepted = [weak = std::weak_ptr<core>(core_), state](connected_socket s, const std::string& none) {
            const auto c = weak.lock();
            if (!c) return;
            if (s.socket < 0) return c->log(none);
            const std::string peer = s.peer;
            c->add(std::move(s), true, std::chrono::steady_clock::now() + c->options().handshake_time, {},
                   [weak, peer, state](std::shared_ptr<connection> to,
                                       const std::string& why) -> std::shared_ptr<connection_user> {
                       if (to) return state->tell(std::move(to));
                       if (const auto here = weak.lock()) here->log("refused " + peer + ": " + why, may_be_probe(why));
                       return nullptr;
                   });
        };
        return std::make_unique<listening>(core_->service_here()->listen(address, std::move(accepted)), state);
    }

    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
    std::uint64_t random_number() override {
        std::uint64_t found = 0;
        while (found == 0) random_bytes(std::as_writable_bytes(std::span(&found, 1)));
        return found;
    }
    std::uint64_t call_at(time_point at, std::function<void()> what) override {
        return core_->call_at(at, std::move(what));
    }
    bool cancel(std::uint64_t timer) noexcept override { return core_->cancel(timer); }
    bool work_until(function_ref<bool()> done, time_point limit) override {
        return core_->sockets().work_until(done, limit);
    }
    void wake() noexcept override { core_->wake(); }
    std::shared_ptr<waker> shared_waker() override { return core_; }
    bool defer(work_item& work) override { return core_->sockets().defer(work); }

private:
    class listening final : public listener {
    public:
        struct state {
            explicit state(accept e) : each(std::move(e)) {}
            std::shared_ptr<connection_user> tell(std::shared_ptr<connection> to) {
                accept now;
                {
                    const std::lock_guard lock(guard);
                    now = each;
                }
                return now ? now(std::move(to)) : nullptr;
            }
            std::mutex guard;
            accept each; // none: the listener has ended
        };
        listening(std::unique_ptr<listener> sockets, std::shared_ptr<state> s) :
            sockets_(std::move(sockets)), state_(std::move(s)) {}
        ~listening() override {
            sockets_.reset();
            accept last;
            const std::lock_guard lock(state_->guard);
            last.swap(state_->each);
        }
        const std::string& address() const noexcept override { return sockets_->address(); }

    private:
        std::unique_ptr<listener> sockets_;
        std::shared_ptr<state> state_;
    };

    std::shared_ptr<core> core_;
};

} // namespace

std::shared_ptr<transport> make_tcp_transport(tcp_options options) {
    if (options.io_threads < 1)
        throw invalid_argument_error("tcp: " + std::to_string(options.io_threads) +
                                     " I/O threads; at least one is needed");
    if (options.chunk_bytes < 1 || options.chunk_bytes > most_frame_payload)
        throw invalid_argument_error("tcp: chunks of " + std::to_string(options.chunk_bytes) + " bytes; 1 to " +
                                     std::to_string(most_frame_payload) + " are possible");
    if (options.ring_bytes < least_ring || options.ring_bytes > most_ring)
        throw invalid_argument_error("tcp: rings of " + std::to_string(options.ring_bytes) + " bytes; " +
                                     std::to_string(least_ring) + " to " + std::to_string(most_ring) + " are possible");
    return std::make_shared<tcp_transport>(std::move(options));
}

} // namespace tenon::net
