#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "each_thread.hpp"
#include "peers.hpp"

using namespace net_test;

namespace {

// Listens, and neither accepts nor answers.
class silent_port {
public:
    silent_port() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
        socklen_t size = sizeof at;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
        address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    }
    ~silent_port() { ::close(socket_); }
    void listen(int backlog) { REQUIRE(::listen(socket_, backlog) == 0); }
    const std::string& address() const { return address_; }

private:
    int socket_;
    std::string address_;
};

} // namespace

TEST_CASE("tcp: a connection that is reset while it is dialed is one that there never was, and not one that others can "
          "read") {
    const std::string address = silent_port().address(); // nobody's any more
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    // Ends while its backlog has connections, again and again, as a process does that is killed.
    std::atomic<bool> done{false};
    std::thread ends([&] {
        while (!done) {
            const int s = ::socket(AF_INET, SOCK_STREAM, 0);
            const int on = 1;
            ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            if (::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) ::listen(s, 64);
            ::close(s);
        }
    });
    const auto t = make_tcp_transport();
    int lost = 0;
    for (int i = 0; i < 100; ++i) { // each may take long: who listens and ends takes a core
        const dialed_result r = dial(*t, address, std::make_shared<recorder>());
        lost += r.to == nullptr;
        if (!r.to) continue;
        CHECK(r.to->is_private());
        CHECK(r.to->peer() == address);
        r.to->close("done");
    }
    done = true;
    ends.join();
    MESSAGE(lost << " of 100 were refused or reset");
    CHECK(lost > 0);
}

TEST_CASE("tcp: messages go both ways, and arrays arrive as they were") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    const auto user = std::make_shared<recorder>();
    const dialed_result dialed = dial(*t, server.address(), user);
    REQUIRE_MESSAGE(dialed.to, dialed.why);
    const auto& to = dialed.to;
    CHECK(to->peer() == server.address());
    CHECK(to->is_private());
    to->send(note_with("small", numbers(3)));
    to->send(note_with("large", numbers(3'000'000)));
    const auto [back, there] = server.at(0);
    REQUIRE(there->wait_for_messages(2));
    CHECK(equal(there->messages[0], note_with("small", numbers(3))));
    CHECK(equal(there->messages[1], note_with("large", numbers(3'000'000))));
    CHECK(back->is_private());
    back->send(note("answer"));
    REQUIRE(user->wait_for_messages(1));
    CHECK(text_at(*user, 0) == "answer");
    CHECK(to->unsent_bytes() == 0);
}

TEST_CASE("tcp: names, IPv6, and all addresses of the machine") {
    const auto t = make_tcp_transport();
    acceptor any(*t, ":0"), name(*t, "localhost:0");
    const std::string port = any.address().substr(any.address().rfind(':'));
    std::vector<std::string> addresses{"127.0.0.1" + port, "localhost" + port,
                                       "localhost" + name.address().substr(name.address().rfind(':'))};
    try {
        acceptor six(*t, "[::1]:0");
        CHECK(six.address().rfind("[::1]:", 0) == 0);
        const auto user = std::make_shared<recorder>();
        const dialed_result dialed = dial(*t, six.address(), user);
        REQUIRE_MESSAGE(dialed.to, dialed.why);
        const auto& to = dialed.to;
        CHECK(to->is_private());
        CHECK(to->peer() == six.address());
        addresses.push_back("[::1]" + port);
    } catch (const tn::unavailable_error& e) {
        MESSAGE("no IPv6 here: " << e.what());
    }
    for (const std::string& a : addresses) {
        CAPTURE(a);
        const auto user = std::make_shared<recorder>();
        const dialed_result dialed = dial(*t, a, user);
        REQUIRE_MESSAGE(dialed.to, dialed.why);
        const auto& to = dialed.to;
        CHECK(to->is_private());
    }
}

TEST_CASE("tcp: who cannot be reached is named, with what was tried and what to look at") {
    const auto t = make_tcp_transport();
    const auto user = std::make_shared<recorder>();
    silent_port closed;
    CHECK(dial(*t, closed.address(), user).why ==
          "tried " + closed.address() + ": connection refused; is the server running?");
    CHECK(dial(*t, "no-such-host.invalid:1", user).why.find("cannot find the host 'no-such-host.invalid'") == 0);
    for (const char* wrong :
         {"nowhere", "host:", "host:x", "host:65536", "host:-1", "[::1:5", "[host]:5", "::1:5", ":5", "a b:5"}) {
        CAPTURE(wrong);
        const std::string why = dial(*t, wrong, user).why;
        CHECK(contains(why, wrong));
        if (wrong[0] != ':' || wrong[1] == ':') CHECK_THROWS_AS(t->listen(wrong, {}), tn::invalid_argument_error);
    }
    CHECK(user->ended == 0);
}

TEST_CASE("tcp: who does not answer is given up at the dial's limit") {
    const auto t = make_tcp_transport();
    silent_port port;
    port.listen(0);
    // The line of those who wait for an accept is full after a few: then nobody answers.
    std::string why;
    const auto user = std::make_shared<recorder>();
    for (int i = 0; i < 16 && why.empty(); ++i) why = dial(*t, port.address(), user, 100ms).why;
    CHECK(why == "tried " + port.address() +
                     ": no answer within 0.1 s; is the address right, and does a firewall let it through?");
}

TEST_CASE("tcp: an address that is taken is refused by name, and one that was given back is free at once") {
    const auto t = make_tcp_transport();
    std::string address;
    {
        acceptor first(*t);
        address = first.address();
        CHECK_ERROR(tn::unavailable_error,
                    "cannot listen on " + address + ": address already in use; is another server",
                    t->listen(address, {}));
        const auto user = std::make_shared<recorder>();
        REQUIRE(dial(*t, address, user).to);
        first.at(0);
    }
    acceptor second(*t, address); // with connections of the first still open
    CHECK(second.address() == address);
    CHECK_ERROR(tn::unavailable_error, "192.0.2.1:0: ", t->listen("192.0.2.1:0", {}));
    CHECK_ERROR(tn::unavailable_error, "the address is not this machine's", t->listen("192.0.2.1:0", {}));
    CHECK_ERROR(tn::unavailable_error, "is the host's name right?", t->listen("no-such-host.invalid:0", {}));
}

TEST_CASE("tcp: both sides are told once that a connection ended, and why") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    const auto user = std::make_shared<recorder>();
    const auto to = dial(*t, server.address(), user).to;
    const auto [back, there] = server.at(0);
    to->close("no longer needed");
    to->close("again");
    to->send(note("too late"));
    REQUIRE(user->wait_for_end());
    REQUIRE(there->wait_for_end());
    CHECK(user->why == "no longer needed");
    CHECK(there->why == "the other side closed the connection");
    back->close("too");
    back->send(note("too late"));
    CHECK(back->unsent_bytes() == 0);
    CHECK(user->ended == 1);
    CHECK(there->ended == 1);
    CHECK(there->messages.empty());
}

TEST_CASE("tcp: what was sent before a close that the socket has taken arrives") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    for (std::size_t i = 0; i < 50; ++i) {
        const auto user = std::make_shared<recorder>();
        const auto to = dial(*t, server.address(), user).to;
        const auto [back, there] = server.at(i);
        to->send(note("unread")); // while this comes, the other side ends
        back->send(note("goodbye"));
        back->close("said goodbye");
        REQUIRE(user->wait_for_end());
        REQUIRE(user->messages.size() == 1);
        CHECK(text_at(*user, 0) == "goodbye");
    }
}

TEST_CASE("tcp: small messages do not wait behind a large one, and keep their order") {
    const auto t = make_tcp_transport(), other = make_tcp_transport();
    acceptor server(*t);
    // It takes the large message in mid-way, by looking at no socket until the small ones are sent.
    struct stopping final : recorder {
        std::mutex gate;
        tn::any_array place_for(const message&, std::size_t, const tn::tensor_type&, std::size_t) override {
            const std::lock_guard lock(gate);
            return {};
        }
    };
    const auto there = std::make_shared<stopping>();
    const auto to = dial(*other, server.address(), there).to;
    const auto back = server.at(0).first;
    std::unique_lock gate(there->gate);
    back->send(note_with("first, large", numbers(16'000'000)));
    back->send(note_with("second, large", numbers(100'000)));
    for (int i = 0; i < 100; ++i) back->send(note("small " + std::to_string(i)));
    CHECK(back->unsent_bytes() > 40'000'000);
    gate.unlock();
    REQUIRE(there->wait_for_messages(102));
    for (std::size_t i = 0; i < 100; ++i) CHECK(text_at(*there, i) == "small " + std::to_string(i));
    CHECK(equal(there->messages[100], note_with("first, large", numbers(16'000'000))));
    CHECK(equal(there->messages[101], note_with("second, large", numbers(100'000))));
    CHECK(back->unsent_bytes() == 0);
}

TEST_CASE("tcp: a large payload is read into the place that the user gives") {
    struct planned final : recorder {
        tn::any_array place = tn::any_array::zeros(tn::element_type::int32, {1'000'000});
        tn::any_array place_for(const message& head, std::size_t i, const tn::tensor_type& type, std::size_t) override {
            return i == 1 && to_text(head.body) == "planned" && type == place.type() ? place.share() : tn::any_array();
        }
    };
    const auto t = make_tcp_transport();
    const auto user = std::make_shared<planned>();
    const auto l = t->listen("127.0.0.1:0", [&](std::shared_ptr<connection>) { return user; });
    const auto to = dial(*t, l->address(), std::make_shared<recorder>()).to;
    to->send(note_with("planned", numbers(5), numbers(1'000'000, 7)));
    REQUIRE(user->wait_for_messages(1));
    CHECK(user->messages[0].arrays[1].data() == user->place.data());
    CHECK(user->place.data<std::int32_t>()[999'999] == 1'000'006);
}

TEST_CASE("tcp: arrays are shared until they are written, and no longer") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    const auto to = dial(*t, server.address(), std::make_shared<recorder>()).to;
    tn::any_array a = numbers(4'000'000);
    to->send(note_with("", a.share()));
    const auto user = server.at(0).second;
    REQUIRE(user->wait_for_messages(1));
    // The writer lets go of it after its last write, which the other side may have read already.
    while (!a.is_unique()) std::this_thread::yield();
    CHECK(to->unsent_bytes() == 0);
}

TEST_CASE("tcp: sixteen threads send at once, and every message arrives whole, once, and in its thread's order") {
    for (const bool work : {false, true}) {
        const auto t = make_tcp_transport({.io_threads = 2}), other = make_tcp_transport();
        acceptor server(*t);
        const auto to = dial(*other, server.address(), std::make_shared<recorder>()).to;
        constexpr int threads = 16, each = 60;
        std::vector<std::thread> all;
        std::atomic<int> running{threads};
        for (int n = 0; n < threads; ++n)
            all.emplace_back([&, n] {
                for (int i = 0; i < each; ++i) {
                    message m = note(std::to_string(n), static_cast<std::uint64_t>(i));
                    m.arrays.push_back(numbers(i % 10 == 9 ? 100'000 + n : 10 * n, i));
                    to->send(std::move(m));
                }
                --running;
                other->wake();
            });
        if (work) CHECK(other->work_until([&] { return running == 0; }, other->now() + long_enough));
        for (std::thread& one : all) one.join();
        const auto user = server.at(0).second;
        REQUIRE(user->wait_for_messages(threads * each));
        std::map<std::string, std::vector<std::uint64_t>> small, large;
        for (const message& m : user->messages) {
            const int n = std::stoi(to_text(m.body)), i = static_cast<int>(m.sequence);
            (i % 10 == 9 ? large : small)[to_text(m.body)].push_back(m.sequence);
            REQUIRE(m.arrays.size() == 1);
            CHECK(m.arrays[0] == numbers(i % 10 == 9 ? 100'000 + n : 10 * n, i));
        }
        CHECK(user->messages.size() == threads * each);
        for (const auto* kind : {&small, &large})
            for (const auto& [n, sequences] : *kind) {
                CHECK(sequences.size() == (kind == &large ? each / 10 : each - each / 10));
                CHECK(std::is_sorted(sequences.begin(), sequences.end()));
                CHECK(std::set<std::uint64_t>(sequences.begin(), sequences.end()).size() == sequences.size());
            }
    }
}

TEST_CASE("tcp: a caller who waits for an answer does the transport's work itself") {
    const auto t = make_tcp_transport(), other = make_tcp_transport();
    const auto l =
        t->listen("127.0.0.1:0", [](std::shared_ptr<connection> c) { return std::make_shared<echo>(std::move(c)); });
    struct counting final : connection_user {
        transport* of = nullptr;
        std::atomic<int> answers{0};
        int here = 0;
        std::thread::id caller = std::this_thread::get_id();
        void received(message) override {
            here += std::this_thread::get_id() == caller;
            ++answers;
            of->wake();
        }
        void closed(const std::string&) override {}
    };
    const auto user = std::make_shared<counting>();
    user->of = other.get();
    const auto to = dial(*other, l->address(), user).to;
    constexpr int rounds = 2000;
    for (int i = 1; i <= rounds; ++i) {
        to->send(note("ping"));
        REQUIRE(other->work_until([&] { return user->answers.load() == i; }, other->now() + long_enough));
    }
    // Which thread is woken is the kernel's choice; nearly always it is the one that began to wait last.
    MESSAGE(user->here << " of " << rounds << " answers were read by the caller");
    CHECK(user->here > 0);
}

TEST_CASE("tcp: many callers wait for what is theirs, woken by whoever makes it true") {
    const auto t = make_tcp_transport(), other = make_tcp_transport();
    const auto l =
        t->listen("127.0.0.1:0", [](std::shared_ptr<connection> c) { return std::make_shared<echo>(std::move(c)); });
    constexpr std::size_t callers = 6;
    constexpr int rounds = 300;
    struct sorting final : connection_user {
        transport* of = nullptr;
        std::atomic<int> answers[callers] = {};
        void received(message m) override {
            ++answers[m.request];
            of->wake();
        }
        void closed(const std::string&) override {}
    };
    const auto user = std::make_shared<sorting>();
    user->of = other.get();
    const auto to = dial(*other, l->address(), user).to;
    std::atomic<int> failures{0};
    on_threads(callers, [&](std::size_t n) {
        for (int i = 1; i <= rounds; ++i) {
            message m = note("x");
            m.request = n;
            to->send(std::move(m));
            if (!other->work_until([&] { return user->answers[n].load() == i; }, other->now() + long_enough))
                ++failures;
        }
    });
    CHECK(failures == 0);
    for (const auto& a : user->answers) CHECK(a == rounds);
}

TEST_CASE("tcp: work_until ends at its time, and is woken by threads that do no network") {
    const auto t = make_tcp_transport();
    const time_point began = t->now();
    CHECK_FALSE(t->work_until([] { return false; }, began + 20ms));
    CHECK(t->now() >= began + 20ms);
    CHECK(t->work_until([] { return true; }, began));
    for (int i = 0; i < 200; ++i) {
        std::atomic<bool> done{false};
        std::thread other([&] {
            done = true;
            t->wake();
        });
        CHECK(t->work_until([&] { return done.load(); }, t->now() + long_enough));
        other.join();
    }
}

TEST_CASE("tcp: timers are called once, in the order of their times, and not after they were cancelled") {
    const auto t = make_tcp_transport();
    std::mutex guard;
    std::vector<int> order;
    std::atomic<bool> done{false};
    const auto add = [&](int i) {
        return [&, i] {
            const std::lock_guard lock(guard);
            order.push_back(i);
        };
    };
    const time_point now = t->now();
    t->call_at(now + 30ms, [&] {
        done = true;
        t->wake();
    });
    t->call_at(now + 20ms, add(2));
    const auto cancelled = t->call_at(now + 15ms, add(9));
    t->call_at(now + 10ms, add(1));
    t->call_at(now - 1s, add(0));
    CHECK(t->cancel(cancelled));
    CHECK_FALSE(t->cancel(cancelled));
    REQUIRE(t->work_until([&] { return done.load(); }, now + long_enough));
    CHECK(t->now() >= now + 30ms);
    CHECK(order == std::vector<int>{0, 1, 2});
    CHECK_FALSE(t->cancel(12345));
}
