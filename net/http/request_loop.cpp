#include <net/http/request_loop.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <sys/epoll.h>
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
    void wake(std::uint64_t request) noexcept override {
        {
            const std::lock_guard lock(guard_);
            try {
                news_.of.push_back(request);
            } catch (const std::bad_alloc&) {
                news_.of_all = true;
            }
        }
        ring();
    }
    void wake_all() noexcept override {
        {
            const std::lock_guard lock(guard_);
            news_.of_all = true;
        }
        ring();
    }
    /// The thread looks at who came, and whether it ends.
    void ring() noexcept { (void)!::eventfd_write(event_, 1); }

    struct news {
        std::vector<std::uint64_t> of;
        bool of_all = false;
    };
    news taken() {
        eventfd_t n = 0;
        (void)!::eventfd_read(event_, &n); // first: what comes from here on rings again
        const std::lock_guard lock(guard_);
        return std::exchange(news_, {});
    }
    int descriptor() const noexcept { return event_; }

private:
    const int event_;
    std::mutex guard_;
    news news_; // under the guard
};

constexpr char too_long[] =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr char go_on_sending[] = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr char not_told[] = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

struct connection_of_one {
    enum class step { shaking_hands, reading, reading_body, asking, writing, over };

    std::uint64_t number = 0;
    step at = step::shaking_hands;
    clock::time_point until; // what it does now
    std::unique_ptr<byte_stream> stream;
    std::string input; // what came and is no part of a request yet
    received_request request;
    std::string response;
    std::size_t written = 0, body_bytes = 0;
    bool has_more = false; // of what came, which was left for later
    // What the loop has noted: when it is late, what is watched.
    clock::time_point noted_until;
    std::optional<std::uint32_t> noted_events;

    std::uint32_t events(bool has_bodies) const noexcept {
        switch (at) {
        case step::asking: // what is asked by a body may be long, and need not be computed for who has gone
            return has_bodies ? std::uint32_t{EPOLLRDHUP} : 0;
        case step::writing: return EPOLLOUT;
        default: return stream->read_waits_for_write() ? EPOLLIN | EPOLLOUT : EPOLLIN;
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
        answer(std::move(a)),
        epoll(::epoll_create1(EPOLL_CLOEXEC)) {
        epoll_event e{.events = EPOLLIN, .data = {.u64 = 0}};
        if (epoll >= 0 && ::epoll_ctl(epoll, EPOLL_CTL_ADD, woken->descriptor(), &e) == 0) return;
        if (epoll >= 0) ::close(epoll);
        throw resource_exhausted_error("http: the system has no epoll instance left");
    }

    const std::shared_ptr<tls_context> tls;
    const request_limits limits;
    const std::shared_ptr<event_waker> woken;
    const answerer answer;
    std::atomic<bool> ends{false};

    std::mutex guard; // of what the accepting thread leaves
    std::vector<connected_socket> came;

    // By number, the oldest first; of the thread alone, as what follows. A turn of the loop costs what those cost that have news,
    // however many wait.
    using connections = std::map<std::uint64_t, connection_of_one>;
    connections open;
    std::set<std::pair<clock::time_point, std::uint64_t>> limited; // until when, all of them
    std::set<std::uint64_t> have_more;
    std::uint64_t last_number = 0;
    std::size_t body_bytes = 0; // of those that are there or announced
    const int epoll;

    socket_service sockets;
    std::unique_ptr<listener> listens;
    std::thread thread;

    ~state() {
        listens.reset();
        ends = true;
        woken->ring();
        if (thread.joinable()) thread.join();
        for (const connected_socket& s : came) ::close(s.socket);
        ::close(epoll);
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
        woken->ring();
    }

    void work() {
        std::array<epoll_event, 64> ready;
        while (!ends) {
            const int count = ::epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), wait_at_most());
            const clock::time_point now = clock::now();
            for (int i = 0; i < count; ++i) {
                const epoll_event& e = ready[static_cast<std::size_t>(i)];
                if (e.data.u64 == 0) take_news(now);
                else if (const auto c = open.find(e.data.u64); c != open.end()) {
                    if (c->second.at == step::asking) c->second.at = step::over; // it has gone
                    go_on(c, now);
                }
            }
            for (const std::uint64_t number : std::exchange(have_more, {}))
                if (const auto c = open.find(number); c != open.end()) go_on(c, now);
            std::vector<std::uint64_t> late;
            for (auto l = limited.begin(); l != limited.end() && l->first <= now; ++l) late.push_back(l->second);
            for (const std::uint64_t number : late) go_on(open.find(number), now);
        }
    }

    int wait_at_most() const {
        if (!have_more.empty()) return 0;
        if (limited.empty()) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(limited.begin()->first - clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
    }

    void take_news(clock::time_point now) {
        const event_waker::news news = woken->taken();
        take_those_who_came();
        const auto look_again = [&](connections::iterator c) {
            if (c != open.end() && c->second.at == step::asking) go_on(c, now);
        };
        if (news.of_all)
            for (auto c = open.begin(); c != open.end();) look_again(c++);
        else
            for (const std::uint64_t request : news.of) look_again(open.find(request));
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
            c.number = ++last_number;
            c.until = clock::now() + limits.to_ask;
            note(open.emplace(c.number, std::move(c)).first);
            if (open.size() <= limits.connections) continue;
            end(std::find_if(open.begin(), open.end(), [](const auto& o) { return o.second.at != step::asking; }));
        }
    }

    // What it waits for now, and how long.
    void note(connections::iterator at) {
        connection_of_one& c = at->second;
        if (c.has_more) have_more.insert(c.number);
        else have_more.erase(c.number);
        if (c.noted_until != c.until) {
            limited.erase({c.noted_until, c.number});
            limited.emplace(c.until, c.number);
            c.noted_until = c.until;
        }
        const std::uint32_t events = c.events(limits.body_bytes > 0);
        if (c.noted_events == events) return;
        epoll_event e{.events = events, .data = {.u64 = c.number}};
        // Where the system has no memory for it, it is late some time.
        (void)::epoll_ctl(epoll, c.noted_events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c.stream->socket(), &e);
        c.noted_events = events;
    }

    void end(connections::iterator at) {
        const connection_of_one& c = at->second;
        // Closing does not where a process that was forked has it open still.
        (void)::epoll_ctl(epoll, EPOLL_CTL_DEL, c.stream->socket(), nullptr);
        limited.erase({c.noted_until, c.number});
        body_bytes -= c.body_bytes;
        open.erase(at);
    }

    void go_on(connections::iterator at, clock::time_point now) {
        connection_of_one& c = at->second;
        if (c.at != step::over) do_more(c, now);
        if (c.at == step::over) end(at);
        else note(at);
    }

    // As far as it comes without waiting.
    void do_more(connection_of_one& c, clock::time_point now) {
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
        c.has_more = comes_again; // after the others
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
        c.request = {c.number, c.input.substr(0, size)};
        if (limits.body_bytes == 0) {
            c.input.clear();
            return begin_to_ask(c);
        }
        c.input.erase(0, size);
        body_said said = body_of_head(c.request.head, limits.body_bytes);
        if (said.refused.empty() && said.bytes > limits.all_body_bytes - body_bytes) {
            said.refused = "503 Service Unavailable";
            said.why = "there is no room for the body beside those of other requests; ask again";
        }
        if (!said.refused.empty()) {
            const std::string body = R"({"error":")" + said.why + R"("})";
            return respond(c, "HTTP/1.1 " + said.refused + "\r\nContent-Type: application/json\r\nContent-Length: " +
                                  std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
        }
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
