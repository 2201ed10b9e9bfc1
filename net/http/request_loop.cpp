#include <net/http/request_loop.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <net/transport/service.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

using clock = std::chrono::steady_clock;
using outcome = byte_stream::outcome;

class event_waker final : public request_loop::waker {
public:
    event_waker() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (event_ < 0) throw resource_exhausted_error("http: the system has no descriptor left");
    }
    event_waker(const event_waker&) = delete;
    ~event_waker() override { ::close(event_); }
    void wake() noexcept override { (void)!::eventfd_write(event_, 1); }
    void sleep_again() noexcept {
        eventfd_t n = 0;
        (void)!::eventfd_read(event_, &n);
    }
    int descriptor() const noexcept { return event_; }

private:
    const int event_;
};

constexpr char too_long[] =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr char not_told[] = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

struct connection_of_one {
    enum class step { shaking_hands, reading, asking, writing, over };

    step at = step::shaking_hands;
    clock::time_point until; // what it does now
    std::unique_ptr<byte_stream> stream;
    std::string head, response;
    std::size_t written = 0;

    short events() const noexcept {
        switch (at) {
        case step::asking: return 0; // that it has gone is seen when it is answered
        case step::writing: return POLLOUT;
        default: return static_cast<short>(stream->read_waits_for_write() ? POLLIN | POLLOUT : POLLIN);
        }
    }
};
using step = connection_of_one::step;

} // namespace

std::shared_ptr<request_loop::waker> request_loop::make_waker() { return std::make_shared<event_waker>(); }

struct request_loop::state {
    state(std::shared_ptr<tls_context> t, const request_limits& l, std::shared_ptr<waker> w, answerer a) :
        tls(std::move(t)),
        limits(l),
        woken(std::static_pointer_cast<event_waker>(std::move(w))),
        answer(std::move(a)) {}

    const std::shared_ptr<tls_context> tls;
    const request_limits limits;
    const std::shared_ptr<event_waker> woken;
    const answerer answer;
    std::atomic<bool> ends{false};

    std::mutex guard; // of what the accepting thread leaves
    std::vector<connected_socket> came;

    std::list<connection_of_one> open; // the oldest first; of the thread alone

    socket_service sockets;
    std::unique_ptr<listener> listens;
    std::thread thread;

    ~state() {
        listens.reset();
        ends = true;
        woken->wake();
        if (thread.joinable()) thread.join();
        for (const connected_socket& s : came) ::close(s.socket);
    }

    void accepted(const connected_socket& s) {
        if (s.socket < 0) return; // for a while nobody is taken
        connected_socket oldest;
        {
            const std::lock_guard lock(guard);
            came.push_back(s);
            if (came.size() > limits.connections) {
                oldest = came.front();
                came.erase(came.begin());
            }
        }
        if (oldest.socket >= 0) ::close(oldest.socket);
        woken->wake();
    }

    void work() {
        std::vector<pollfd> ready;
        while (!ends) {
            take_those_who_came();
            ready.assign(1, {woken->descriptor(), POLLIN, 0});
            clock::time_point first = clock::time_point::max();
            for (const connection_of_one& c : open) {
                ready.push_back({c.stream->socket(), c.events(), 0});
                first = std::min(first, c.until);
            }
            (void)::poll(ready.data(), ready.size(), wait_until(first));
            const bool is_woken = ready[0].revents != 0;
            if (is_woken) woken->sleep_again();
            const clock::time_point now = clock::now();
            auto r = ready.begin();
            for (auto c = open.begin(); c != open.end();) {
                const bool is_ready = (++r)->revents != 0 || (is_woken && c->at == step::asking);
                if (is_ready || now >= c->until) go_on(*c, now);
                c = c->at == step::over ? open.erase(c) : std::next(c);
            }
        }
    }

    static int wait_until(clock::time_point first) {
        if (first == clock::time_point::max()) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
    }

    void take_those_who_came() {
        std::vector<connected_socket> all;
        {
            const std::lock_guard lock(guard);
            all.swap(came);
        }
        for (const connected_socket& s : all) {
            connection_of_one c;
            try {
                c.stream = tls ? tls->accepted(s.socket, s.peer) : make_plain_stream(s.socket);
            } catch (const error&) { // no memory
                ::close(s.socket);
                continue;
            }
            c.until = clock::now() + limits.to_ask;
            open.push_back(std::move(c));
            if (open.size() <= limits.connections) continue;
            const auto oldest =
                std::find_if(open.begin(), open.end(), [](const connection_of_one& o) { return o.at != step::asking; });
            open.erase(oldest);
        }
    }

    // As far as it comes without waiting.
    void go_on(connection_of_one& c, clock::time_point now) {
        const bool is_late = now >= c.until;
        if (is_late && c.at != step::asking) {
            c.at = step::over;
            return;
        }
        if (c.at == step::shaking_hands) shake_hands(c);
        if (c.at == step::reading) read(c);
        if (c.at == step::asking) ask(c, is_late);
        if (c.at == step::writing) write(c);
    }

    static void shake_hands(connection_of_one& c) {
        const outcome o = c.stream->handshake().what;
        if (o == outcome::done) c.at = step::reading;
        else if (o != outcome::blocked) c.at = step::over;
    }

    void read(connection_of_one& c) const {
        std::array<std::byte, 4096> some;
        for (;;) {
            const byte_stream::result r = c.stream->read(some, {});
            if (r.what == outcome::blocked) return;
            if (r.what != outcome::done) {
                c.at = step::over;
                return;
            }
            const std::size_t before = c.head.size();
            c.head.append(reinterpret_cast<const char*>(some.data()), r.bytes);
            const std::size_t end = c.head.find("\r\n\r\n", before < 3 ? 0 : before - 3);
            if (end != std::string::npos && end + 4 <= limits.head_bytes) {
                c.head.resize(end + 4);
                c.at = step::asking;
                c.until = clock::now() + limits.to_answer;
                return;
            }
            if (c.head.size() >= limits.head_bytes) return respond(c, too_long);
        }
    }

    void ask(connection_of_one& c, bool is_last) const {
        try {
            if (auto text = answer(c.head, is_last)) respond(c, std::move(*text));
        } catch (...) {
            respond(c, not_told);
        }
    }

    void respond(connection_of_one& c, std::string text) const {
        c.response = std::move(text);
        c.at = step::writing;
        c.until = clock::now() + limits.to_read_it;
    }

    static void write(connection_of_one& c) {
        while (c.written < c.response.size() || c.stream->unflushed()) {
            const iovec rest{c.response.data() + c.written, c.response.size() - c.written};
            const byte_stream::result r = c.stream->write({&rest, 1});
            c.written += r.bytes;
            if (r.what == outcome::blocked) return;
            if (r.what != outcome::done) break;
        }
        c.at = step::over; // its end sends what the system has, and says that there is no more
    }
};

request_loop::request_loop(const std::string& address, std::shared_ptr<tls_context> tls, const request_limits& limits,
                           std::shared_ptr<waker> w, answerer a) :
    state_(std::make_unique<state>(std::move(tls), limits, std::move(w), std::move(a))) {
    state* const s = state_.get();
    s->listens = s->sockets.listen(address, [s](const connected_socket& one, const std::string&) { s->accepted(one); });
    s->thread = std::thread([s] { s->work(); });
}
request_loop::~request_loop() = default;

const std::string& request_loop::address() const noexcept { return state_->listens->address(); }

} // namespace tenon::net
