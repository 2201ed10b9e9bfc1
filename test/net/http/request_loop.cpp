#include <deque>

#include <net/http/http_client.hpp>
#include <net/http/request_loop.hpp>

#include "tests.hpp"

// The loop that reads requests and has them answered: whom it looks at, and when.

using namespace net_test;
using namespace std::chrono_literals;

namespace {

// A server that answers a request when a test says so, and counts how often each was looked at.
struct looked_at {
    explicit looked_at(std::size_t body_bytes) :
        waker(request_loop::make_waker()),
        loop("127.0.0.1:0", nullptr,
             {.connections = 1000, .to_answer = 600s, .body_bytes = body_bytes, .all_body_bytes = 1000}, waker,
             [this](received_request& r, bool) { return answer(r); }) {}

    static std::string request(const std::string& path) {
        return "GET /" + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    }
    std::optional<std::string> answer(received_request& r) {
        const std::string path = r.head.substr(5, r.head.find(' ', 5) - 5);
        const std::lock_guard lock(guard);
        seen& s = all[path];
        s.number = r.number;
        ++s.times;
        changed.notify_all();
        if (path != "now" && !s.may_go) return {};
        r.is_last = path != "now";
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(path.size()) + "\r\n\r\n" + path;
    }
    void wait_for(std::size_t count) {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return all.size() == count; });
    }
    // Lets it be answered; what wakes it.
    std::uint64_t let_go(const std::string& path) {
        const std::lock_guard lock(guard);
        all[path].may_go = true;
        return all[path].number;
    }
    int times(const std::string& path) {
        const std::lock_guard lock(guard);
        return all[path].times;
    }

    struct seen {
        std::uint64_t number = 0;
        int times = 0;
        bool may_go = false;
    };
    std::mutex guard;
    std::condition_variable changed;
    std::map<std::string, seen> all;
    const std::shared_ptr<request_loop::waker> waker;
    request_loop loop; // its thread uses what is before
};

} // namespace

TEST_CASE("a request that waits is looked at when there is news of it, and not for what becomes of others") {
    for (const std::size_t body_bytes : {std::size_t{0}, std::size_t{100}}) {
        CAPTURE(body_bytes);
        looked_at s(body_bytes);
        constexpr int count = 200;
        std::deque<raw_socket> waiting;
        std::vector<int> order;
        for (int i = 0; i < count; ++i) {
            waiting.emplace_back(s.loop.address());
            waiting.back().write(to_bytes(s.request(std::to_string(i))));
            order.push_back(i);
        }
        s.wait_for(count);
        for (int i = 0; i < 20; ++i) { // who comes beside them, and goes
            raw_socket beside(s.loop.address());
            beside.write(to_bytes(s.request("now")));
            std::array<std::byte, 1> some;
            CHECK(beside.read(some) == 1);
        }
        std::shuffle(order.begin(), order.end(), std::mt19937(7));
        for (const int i : order) {
            const std::string path = std::to_string(i);
            s.waker->wake(s.let_go(path));
            CHECK(body_of(rest_of(waiting[static_cast<std::size_t>(i)])) == path);
            CHECK(s.times(path) == 2); // when it came, and now
        }
        s.waker->wake(1); // of whom nobody waits any more
        s.waker->wake(std::uint64_t{1} << 40);
    }
}

TEST_CASE("news of all has all that wait looked at; whom it does not concern waits on") {
    looked_at s(100);
    raw_socket first(s.loop.address()), second(s.loop.address()), third(s.loop.address());
    first.write(to_bytes(s.request("first")));
    second.write(to_bytes(s.request("second")));
    third.write(to_bytes(s.request("third")));
    s.wait_for(3);
    (void)s.let_go("first");
    (void)s.let_go("third");
    s.waker->wake_all();
    CHECK(body_of(rest_of(first)) == "first");
    CHECK(body_of(rest_of(third)) == "third");
    s.waker->wake(s.let_go("second"));
    CHECK(body_of(rest_of(second)) == "second");
}
