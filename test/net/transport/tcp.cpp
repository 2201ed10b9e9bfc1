#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "peers.hpp"

using namespace net_test;

namespace {

// A socket that speaks no protocol but what the test writes; blocking.
class raw_socket {
public:
    explicit raw_socket(const std::string& address, int receive_buffer = 0) :
        socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        if (receive_buffer) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    }
    raw_socket(raw_socket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
    ~raw_socket() { end(); }
    void end() {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }
    void write(std::span<const std::byte> all) {
        while (!all.empty()) {
            const ssize_t n = ::send(socket_, all.data(), all.size(), MSG_NOSIGNAL);
            REQUIRE(n > 0);
            all = all.subspan(static_cast<std::size_t>(n));
        }
    }
    /// 0: the other side has ended.
    std::size_t read(std::span<std::byte> to) {
        const ssize_t n = ::recv(socket_, to.data(), to.size(), 0);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

private:
    int socket_;
};

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

std::string text_at(recorder& r, std::size_t i) {
    const std::lock_guard lock(r.guard);
    return to_text(r.messages.at(i).body);
}

} // namespace

TEST_CASE("tcp: messages go both ways, and arrays arrive as they were") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    const auto user = std::make_shared<recorder>();
    const auto [to, why] = dial(*t, server.address(), user);
    REQUIRE_MESSAGE(to, why);
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
        const auto [to, why] = dial(*t, six.address(), user);
        REQUIRE_MESSAGE(to, why);
        CHECK(to->is_private());
        CHECK(to->peer() == six.address());
        addresses.push_back("[::1]" + port);
    } catch (const tn::unavailable_error& e) {
        MESSAGE("no IPv6 here: " << e.what());
    }
    for (const std::string& a : addresses) {
        CAPTURE(a);
        const auto user = std::make_shared<recorder>();
        const auto [to, why] = dial(*t, a, user);
        REQUIRE_MESSAGE(to, why);
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
        CHECK(why.find(wrong) != std::string::npos);
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
        CHECK_THROWS_WITH_AS(t->listen(address, {}), doctest::Contains(("cannot listen on " + address).c_str()),
                             tn::unavailable_error);
        const auto user = std::make_shared<recorder>();
        REQUIRE(dial(*t, address, user).to);
        first.at(0);
    }
    acceptor second(*t, address); // with connections of the first still open
    CHECK(second.address() == address);
    CHECK_THROWS_WITH_AS(t->listen("192.0.2.1:0", {}), doctest::Contains("192.0.2.1:0"), tn::unavailable_error);
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

TEST_CASE("tcp: a message that is cut off in its middle is not received, and said to be cut off") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    raw_socket peer(server.address());
    const bytes whole = frames_of(note_with("x", numbers(100000)));
    peer.write(frames_of(note("first")));
    peer.write(std::span(whole).first(whole.size() - 1));
    peer.end();
    const auto [c, user] = server.at(0);
    REQUIRE(user->wait_for_end());
    CHECK(user->why == "the other side closed the connection in the middle of a message");
    REQUIRE(user->messages.size() == 1);
    CHECK(text_at(*user, 0) == "first");
}

TEST_CASE("tcp: what is no message ends the connection with what was wrong with it") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    bytes wrong_sum = frames_of(note("x"));
    wrong_sum.back() ^= std::byte{1};
    const std::pair<bytes, const char*> cases[] = {
        {to_bytes("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything that there is\r\n\r\n"),
         "does not begin as one"},
        {wrong_sum, "checksum"},
    };
    std::size_t i = 0;
    for (const auto& [sent, words] : cases) {
        raw_socket peer(server.address());
        peer.write(sent);
        const auto user = server.at(i++).second;
        REQUIRE(user->wait_for_end());
        CHECK_MESSAGE(user->why.find(words) != std::string::npos, user->why);
        std::byte b;
        CHECK(peer.read({&b, 1}) == 0);
    }
}

TEST_CASE("tcp: what a user takes at present limits what comes") {
    struct modest final : recorder {
        message_limits limits() override {
            message_limits most;
            most.payload_bytes = 100;
            return most;
        }
    };
    const auto t = make_tcp_transport(), other = make_tcp_transport();
    const auto user = std::make_shared<modest>();
    const auto l = t->listen("127.0.0.1:0", [&](std::shared_ptr<connection>) { return user; });
    const auto there = std::make_shared<recorder>();
    const auto to = dial(*other, l->address(), there).to;
    to->send(note_with("", numbers(25)));
    to->send(note_with("", numbers(26)));
    REQUIRE(user->wait_for_end());
    CHECK(user->messages.size() == 1);
    CHECK(user->why == "a message of 104 bytes in arrays, where 100 are taken: send less at once, or raise the limit");
}

TEST_CASE("tcp: small messages do not wait behind a large one, and keep their order") {
    const auto t = make_tcp_transport(), other = make_tcp_transport();
    acceptor server(*t);
    // It takes the large message in mid-way, by looking at no socket until the small ones are sent.
    struct stopping final : recorder {
        std::mutex gate;
        tn::any_array place_for(const message&, std::size_t, const tn::tensor_type&) override {
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
        tn::any_array place_for(const message& head, std::size_t i, const tn::tensor_type& type) override {
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
    std::vector<std::thread> all;
    std::atomic<int> failures{0};
    for (std::size_t n = 0; n < callers; ++n)
        all.emplace_back([&, n] {
            for (int i = 1; i <= rounds; ++i) {
                message m = note("x");
                m.request = n;
                to->send(std::move(m));
                if (!other->work_until([&] { return user->answers[n].load() == i; }, other->now() + long_enough))
                    ++failures;
            }
        });
    for (std::thread& one : all) one.join();
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

TEST_CASE("tcp: a reader that does not read is cut off, one that does is not") {
    tcp_options o;
    o.slow_reader_bytes = std::size_t{1} << 18;
    o.slow_reader_time = 200ms;
    o.send_buffer = 1 << 16;
    const auto t = make_tcp_transport(o);
    acceptor server(*t);
    raw_socket peer(server.address(), 1 << 14);
    const auto [slow, user] = server.at(0);
    slow->send(note_with("", numbers(2'000'000)));
    CHECK(slow->unsent_bytes() > o.slow_reader_bytes);
    REQUIRE(user->wait_for_end());
    CHECK_MESSAGE(user->why.find("the other side does not read: ") == 0, user->why);

    // As many unsent bytes for as long, but they go.
    const auto there = std::make_shared<recorder>();
    dial(*t, server.address(), there);
    const auto quick = server.at(1).first;
    const time_point until = t->now() + 600ms;
    std::size_t sent = 0;
    const tn::any_array large = numbers(2'000'000);
    while (t->now() < until) {
        if (quick->unsent_bytes() < std::size_t{3} << 20) quick->send(note_with("", large.share())), ++sent;
        else std::this_thread::yield();
        const std::lock_guard lock(there->guard);
        REQUIRE(there->ended == 0);
        if (there->messages.size() > 4)
            there->messages.erase(there->messages.begin(), there->messages.begin() + 4), sent -= 4;
    }
    CHECK(there->wait_for_messages(sent));
}

TEST_CASE("tcp: who connects and does not speak, or too slowly, is cut off after a time") {
    const auto t = make_tcp_transport({.handshake_time = 100ms});
    acceptor server(*t);
    raw_socket silent(server.address()), slow(server.address());
    const bytes part = frames_of(note("not all of it"));
    slow.write(std::span(part).first(20));
    for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(server.at(i).second->wait_for_end());
        CHECK(server.at(i).second->why == "it did not say who it is in time");
    }
    std::byte b;
    CHECK(silent.read({&b, 1}) == 0);
}

TEST_CASE("tcp: of too many who do not speak the oldest is cut off, and nobody who has spoken") {
    const auto t = make_tcp_transport({.most_half_open = 2, .handshake_time = long_enough});
    acceptor server(*t);
    raw_socket spoke(server.address());
    spoke.write(frames_of(note("hello")));
    REQUIRE(server.at(0).second->wait_for_messages(1));
    std::vector<raw_socket> silent;
    for (std::size_t i = 1; i <= 3; ++i) {
        silent.emplace_back(server.address());
        server.at(i);
    }
    REQUIRE(server.at(1).second->wait_for_end());
    CHECK(server.at(1).second->why == "too many connections have not said who they are");
    std::byte b;
    CHECK(silent[0].read({&b, 1}) == 0);
    silent[1].write(frames_of(note("hello")));
    REQUIRE(server.at(2).second->wait_for_messages(1));
    silent.emplace_back(server.address());
    server.at(4);
    spoke.write(frames_of(note("still here")));
    REQUIRE(server.at(0).second->wait_for_messages(2));
    CHECK(server.at(3).second->ended == 0);
}

TEST_CASE("tcp: connections beyond the limit are closed at once, and there is room again when others have ended") {
    tcp_options o;
    o.most_connections = 3;
    const auto t = make_tcp_transport(o);
    acceptor server(*t);
    std::vector<raw_socket> some;
    for (std::size_t i = 0; i < 3; ++i) {
        some.emplace_back(server.address());
        server.at(i);
    }
    raw_socket more(server.address());
    std::byte b;
    CHECK(more.read({&b, 1}) == 0);
    CHECK(server.count() == 3);
    some.clear();
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(server.at(i).second->wait_for_end());
    raw_socket again(server.address());
    server.at(3);
}

TEST_CASE("tcp: two thousand idle connections take little memory, and the others go on") {
    constexpr std::size_t many = 2000;
    tcp_options o;
    o.most_half_open = many + 1;
    const auto t = make_tcp_transport(o);
    acceptor server(*t);
    std::vector<raw_socket> idle;
    idle.reserve(many);
    const std::size_t before = resident_bytes();
    const bytes hello = frames_of(note_with("hello", numbers(1000)));
    for (std::size_t i = 0; i < many; ++i) {
        idle.emplace_back(server.address());
        idle.back().write(i % 2 ? std::span(hello) : std::span(hello).first(30)); // half of them stop in the middle
    }
    for (std::size_t i = 1; i < many; i += 2) REQUIRE(server.at(i).second->wait_for_messages(1));
    const std::size_t each = (resident_bytes() - std::min(resident_bytes(), before)) / many;
    MESSAGE(each << " bytes an idle connection");
    CHECK((each < 64 * 1024 || !memory_counts));
    const auto user = std::make_shared<recorder>();
    const auto to = dial(*t, server.address(), user).to;
    REQUIRE(to);
    to->send(note("still here"));
    REQUIRE(server.at(many).second->wait_for_messages(1));
    idle.clear();
    for (std::size_t i = 0; i < many; ++i) REQUIRE(server.at(i).second->wait_for_end());
}

TEST_CASE("tcp: a transport that ends closes its connections, also in mid-message, and its dials") {
    auto t = make_tcp_transport();
    const auto other = make_tcp_transport();
    const auto here = std::make_shared<recorder>(), there = std::make_shared<recorder>();
    std::shared_ptr<connection> to;
    {
        acceptor server(*other);
        to = dial(*t, server.address(), here).to;
        for (int i = 0; i < 4; ++i) to->send(note_with("", numbers(10'000'000)));
        const auto user = server.at(0).second;
        t.reset();
        REQUIRE(user->wait_for_end());
    }
    REQUIRE(here->wait_for_end());
    CHECK(here->why == "the transport has ended");
    to->send(note("nothing happens"));
    to->close("nothing happens");
}

TEST_CASE("tcp: connections that open and end while others send") {
    const auto t = make_tcp_transport({.io_threads = 2});
    const auto l =
        t->listen("127.0.0.1:0", [](std::shared_ptr<connection> c) { return std::make_shared<echo>(std::move(c)); });
    std::vector<std::thread> all;
    std::atomic<int> failures{0};
    for (int n = 0; n < 4; ++n)
        all.emplace_back([&, n] {
            const auto own = make_tcp_transport();
            for (int i = 0; i < 25; ++i) {
                const auto user = std::make_shared<recorder>();
                std::atomic<bool> there{false};
                std::shared_ptr<connection> to;
                own->dial(l->address(), long_enough, [&](std::shared_ptr<connection> c, const std::string&) {
                    to = std::move(c);
                    there = true;
                    own->wake();
                    return to ? user : nullptr;
                });
                if (!own->work_until([&] { return there.load(); }, own->now() + long_enough) || !to) {
                    ++failures;
                    continue;
                }
                to->send(note_with("x", numbers(n % 2 ? 10 : 200'000)));
                if (i % 2) {
                    user->on_message = {};
                    if (!user->wait_for_messages(1)) ++failures;
                }
                to->close("done");
                if (!user->wait_for_end()) ++failures;
            }
        });
    for (std::thread& one : all) one.join();
    CHECK(failures == 0);
}

TEST_CASE("tcp: options that cannot be are refused") {
    CHECK_THROWS_AS(make_tcp_transport({.io_threads = 0}), tn::invalid_argument_error);
    tcp_options o;
    o.chunk_bytes = 0;
    CHECK_THROWS_AS(make_tcp_transport(o), tn::invalid_argument_error);
    o.chunk_bytes = most_frame_payload + 1;
    CHECK_THROWS_AS(make_tcp_transport(o), tn::invalid_argument_error);
}
