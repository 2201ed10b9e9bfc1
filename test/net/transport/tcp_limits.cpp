// What comes from outside and is not as it should be: damaged, cut off, too much, too slow; and connections that end.
#include <sys/resource.h>

#include "peers.hpp"
#include "each_thread.hpp"
#include "raw_socket.hpp"

using namespace net_test;

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
        CHECK_MESSAGE(contains(user->why, words), user->why);
        std::byte b;
        CHECK(peer.read({&b, 1}) == 0);
    }
}

TEST_CASE("tcp: what a user takes at present limits what comes") {
    struct modest final : recorder {
        message_limits limits() override { return message_limits{.payload_bytes = 100}; }
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

TEST_CASE("tcp: a reader that does not read is cut off, one that does is not") {
    tcp_options o{.slow_reader_bytes = std::size_t{1} << 18, .slow_reader_time = 200ms, .send_buffer = 1 << 16};
    const auto t = make_tcp_transport(o);
    acceptor server(*t);
    raw_socket peer(server.address(), 1 << 14);
    const auto first = server.at(0);
    const auto& slow = first.first;
    const auto& user = first.second;
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
    tcp_options o{.most_connections = 3};
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
    tcp_options o{.most_half_open = many + 1};
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
    std::atomic<int> failures{0};
    on_threads(4, [&](int n) {
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
    CHECK(failures == 0);
}

TEST_CASE("tcp: options that cannot be are refused") {
    CHECK_THROWS_AS(make_tcp_transport({.io_threads = 0}), tn::invalid_argument_error);
    tcp_options o{.chunk_bytes = 0};
    CHECK_THROWS_AS(make_tcp_transport(o), tn::invalid_argument_error);
    o.chunk_bytes = most_frame_payload + 1;
    CHECK_THROWS_AS(make_tcp_transport(o), tn::invalid_argument_error);
}

TEST_CASE("tcp: where the process has no descriptor left, who begins is told so, whichever is the last") {
    const int next = [] {
        const int d = ::dup(0);
        ::close(d);
        return d;
    }();
    rlimit whole{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &whole) == 0);
    int refused = 0;
    for (bool began = false; !began; ++refused) {
        const rlimit few{static_cast<rlim_t>(next + refused), whole.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
        try {
            const auto t = make_tcp_transport();
            began = true;
        } catch (const tenon::resource_exhausted_error&) {
        }
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &whole) == 0);
    }
    CHECK(refused > 2);
}
