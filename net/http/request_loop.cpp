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

#include <net/http/request_head.hpp>
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
constexpr char go_on_sending[] = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr char not_told[] = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

struct connection_of_one {
    enum class step { shaking_hands, reading, reading_body, asking, writing, over };

    step at = step::shaking_hands;
    clock::time_point until; // what it does now
    std::unique_ptr<byte_stream> stream;
    std::string input; // what came and is no part of a request yet
    received_request request;
    std::string response;
    std::size_t written = 0, body_bytes = 0;
    bool has_more = false; // of what came, which was left for later
    short watched = 0;     // while it waits for an answer

    short events() const noexcept {
        switch (at) {
        case step::asking: return watched; // else that it has gone is seen when it is answered
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

    std::list<connection_of_one> open; // the oldest first; of the thread alone, as what follows
    std::size_t body_bytes = 0;        // of those that are there or announced

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
                const short events = (++r)->revents;
                const bool is_ready = events != 0 || c->has_more || (is_woken && c->at == step::asking);
                if (c->at == step::asking && (events & (POLLERR | POLLHUP | POLLRDHUP)) != 0)
                    c->at = step::over; // it has gone
                else if (is_ready || now >= c->until) go_on(*c, now);
                if (c->at == step::over) body_bytes -= c->body_bytes;
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
            if (limits.body_bytes > 0) c.watched = POLLRDHUP; // what it asked may be long, and need not be computed
            open.push_back(std::move(c));
            if (open.size() <= limits.connections) continue;
            auto oldest =
                std::find_if(open.begin(), open.end(), [](const connection_of_one& o) { return o.at != step::asking; });
            body_bytes -= oldest->body_bytes;
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
        bool comes_again = true; // what came with a request may be the next
        for (int n = 0; comes_again && n < 16; ++n) {
            comes_again = false;
            if (c.at == step::reading) read(c);
            if (c.at == step::reading_body) read_body(c);
            if (c.at == step::asking) ask(c, is_late && n == 0);
            if (c.at == step::writing) comes_again = write(c);
        }
        c.has_more = comes_again;
        if (comes_again) woken->wake(); // after the others
    }

    static void shake_hands(connection_of_one& c) {
        const outcome o = c.stream->handshake().what;
        if (o == outcome::done) c.at = step::reading;
        else if (o != outcome::blocked) c.at = step::over;
    }

    // Whether there is more than there was; else it is over, or blocked.
    static bool read_some(connection_of_one& c) {
        std::array<std::byte, 16384> some;
        const byte_stream::result r = c.stream->read(some, {});
        if (r.what != outcome::done) {
            if (r.what != outcome::blocked) c.at = step::over;
            return false;
        }
        c.input.append(reinterpret_cast<const char*>(some.data()), r.bytes);
        return true;
    }

    void read(connection_of_one& c) {
        std::size_t looked_at = 0;
        do {
            if (limits.body_bytes > 0 && looked_at == 0 && !c.input.empty())
                c.until = std::min(c.until, clock::now() + limits.to_ask); // it has begun
            const std::size_t end = c.input.find("\r\n\r\n", looked_at < 3 ? 0 : looked_at - 3);
            if (end != std::string::npos && end + 4 <= limits.head_bytes) return take_head(c, end + 4);
            if (c.input.size() >= limits.head_bytes) return respond(c, too_long);
            looked_at = c.input.size();
        } while (read_some(c));
    }

    void take_head(connection_of_one& c, std::size_t size) {
        c.request = {c.input.substr(0, size)};
        if (limits.body_bytes == 0) {
            c.input.clear();
            return begin_to_ask(c);
        }
        c.input.erase(0, size);
        body_said said = body_of_head(c.request.head, limits.body_bytes);
        if (said.refused.empty() && said.bytes > limits.all_body_bytes - body_bytes)
            said.refused = "503 Service Unavailable";
        if (!said.refused.empty())
            return respond(c, "HTTP/1.1 " + said.refused + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        c.body_bytes = said.bytes;
        body_bytes += said.bytes;
        if (said.waits_to_be_told) {
            c.request.head = without_expectation(c.request.head);
            if (c.input.empty() && said.bytes > 0) {
                std::string text = go_on_sending;
                const iovec all{text.data(), text.size()};
                if (c.stream->write({&all, 1}).bytes != text.size()) { // so few bytes, and nothing before them
                    c.at = step::over;
                    return;
                }
            }
        }
        c.at = step::reading_body;
        c.until = clock::now() + limits.to_send_body;
    }

    void read_body(connection_of_one& c) {
        while (c.input.size() < c.body_bytes)
            if (!read_some(c)) return;
        if (c.input.size() == c.body_bytes) c.request.body = std::exchange(c.input, {});
        else {
            c.request.body = c.input.substr(0, c.body_bytes);
            c.input.erase(0, c.body_bytes);
        }
        begin_to_ask(c);
    }

    void begin_to_ask(connection_of_one& c) {
        c.at = step::asking;
        c.until = clock::now() + limits.to_answer;
    }

    void ask(connection_of_one& c, bool is_last) const {
        try {
            if (auto text = answer(c.request, is_last)) respond(c, std::move(*text));
        } catch (...) {
            c.request.is_last = true;
            respond(c, not_told);
        }
    }

    void respond(connection_of_one& c, std::string text) const {
        c.response = std::move(text);
        c.at = step::writing;
        c.until = clock::now() + limits.to_read_it;
    }

    // Whether all of it is written, and the connection goes on.
    bool write(connection_of_one& c) {
        while (c.written < c.response.size() || c.stream->unflushed()) {
            const iovec rest{c.response.data() + c.written, c.response.size() - c.written};
            const byte_stream::result r = c.stream->write({&rest, 1});
            c.written += r.bytes;
            if (r.what == outcome::blocked) return false;
            if (r.what != outcome::done) break;
        }
        const bool goes_on = limits.body_bytes > 0 && !c.request.is_last && c.written == c.response.size();
        c.at =
            goes_on ? step::reading : step::over; // its end sends what the system has, and says that there is no more
        body_bytes -= std::exchange(c.body_bytes, 0);
        c.request = {};
        c.response = {};
        c.written = 0;
        c.until = clock::now() + limits.to_come_again;
        return goes_on;
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
