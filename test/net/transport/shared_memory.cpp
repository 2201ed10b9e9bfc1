#include <net/transport/socket_connection.hpp>

#include "certificates.hpp"
#include "lines.hpp"
#include "peers.hpp"
#include "raw_socket.hpp"

// Connections whose large payloads go through memory that both sides have: they carry what TCP alone carries, also where the other
// side does not want it.

using namespace net_test;

namespace {

// A connection, both ends, each on a transport of its own.
struct two_ends {
    explicit two_ends(tcp_options o, tcp_options of_server) : two_ends(std::move(o), std::move(of_server), nullptr) {}
    two_ends(tcp_options o, tcp_options of_server, std::shared_ptr<recorder> user_there) {
        o.log = o.log_verbose = of_server.log = of_server.log_verbose = log.log();
        there = make_tcp_transport(std::move(of_server));
        here = make_tcp_transport(std::move(o));
        l = there->listen("127.0.0.1:0", [this, user_there](std::shared_ptr<connection> c) {
            const auto user = user_there ? user_there : std::make_shared<recorder>();
            const std::lock_guard lock(guard);
            back = std::move(c);
            at_there = user;
            changed.notify_all();
            return user;
        });
        const dialed_result dialed = dial(*here, l->address(), at_here);
        REQUIRE_MESSAGE(dialed.to, dialed.why);
        to = dialed.to;
        std::unique_lock lock(guard);
        REQUIRE(changed.wait_for(lock, long_enough, [&] { return back != nullptr; }));
    }
    explicit two_ends(const tcp_options& o = {}) : two_ends(o, o) {}
    /// Has both directions use shared memory.
    void share() {
        to->send(note_with("first", numbers(large)));
        back->send(note_with("first", numbers(large)));
        REQUIRE(log.wait_for(is_used, 2));
        REQUIRE(at_here->wait_for_messages(1));
        REQUIRE(at_there->wait_for_messages(1));
        for (const auto& r : {at_here, at_there}) {
            const std::lock_guard lock(r->guard);
            r->messages.clear();
        }
    }

    lines log;
    std::mutex guard;
    std::condition_variable changed;
    std::shared_ptr<recorder> at_here = std::make_shared<recorder>(), at_there;
    std::shared_ptr<transport> there, here;
    std::unique_ptr<listener> l;
    std::shared_ptr<connection> to, back;
};

tn::any_array any_numbers(std::mt19937_64& random) {
    const auto size = static_cast<std::int64_t>(random() % 5 ? random() % 3000 : random() % 800'000);
    switch (random() % 6) {
    case 0: return tn::any_array(tn::element_type::float32, {0, size});
    case 1: {
        tn::any_array a(tn::element_type::boolean, {size});
        for (std::int64_t i = 0; i < size; ++i) static_cast<unsigned char*>(a.data())[i] = random() % 2;
        return a;
    }
    case 2: {
        tn::any_array a(tn::element_type::string, {size / 100, 2});
        for (std::int64_t i = 0; i < a.elements(); ++i) a.data<std::string>()[i].assign(random() % 300, 'a');
        return a;
    }
    case 3: return {};
    default: return numbers(size, static_cast<std::int32_t>(random()));
    }
}

} // namespace

TEST_CASE("shared memory: messages sent both ways arrive as they do over TCP") {
    const auto seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (const std::size_t ring : {std::size_t{64} << 10, std::size_t{100'001}, std::size_t{2} << 20}) {
        two_ends shared({.ring_bytes = ring}), plain({.shared_memory = false});
        shared.share();
        std::vector<message> sent;
        for (std::uint64_t i = 1; i <= 60; ++i) {
            message m = note(std::string(random() % 3 ? 5 : random() % 200'000, 'b'), i);
            for (std::size_t n = random() % 4; n > 0; --n) m.arrays.push_back(any_numbers(random));
            for (two_ends* e : {&shared, &plain}) {
                e->to->send(m.share());
                e->back->send(m.share());
            }
            sent.push_back(std::move(m));
        }
        for (const auto& r : {shared.at_here, shared.at_there, plain.at_here, plain.at_there}) {
            REQUIRE(r->wait_for_messages(sent.size()));
            const std::lock_guard lock(r->guard);
            CHECK(r->messages.size() == sent.size());
            std::uint64_t last[2] = {0, 0};
            for (const message& m : r->messages) {
                CHECK(equal(m, sent.at(m.sequence - 1)));
                CHECK(m.sequence > last[is_small(m)]); // each kind in its order
                last[is_small(m)] = m.sequence;
            }
        }
        CHECK(plain.log.count("") == 0);
        CHECK(shared.to->unsent_bytes() == 0);
    }
}

TEST_CASE("shared memory: a payload is copied into the place that the user gives, and arrays are shared no longer than "
          "needed") {
    struct planned final : recorder {
        tn::any_array place = tn::any_array::zeros(tn::element_type::int32, {1'000'000});
        tn::any_array place_for(const message&, std::size_t, const tn::tensor_type& type, std::size_t) override {
            return type == place.type() ? place.share() : tn::any_array();
        }
    };
    const auto user = std::make_shared<planned>();
    two_ends e({}, {}, user);
    e.share();
    tn::any_array a = numbers(1'000'000, 7);
    e.to->send(note_with("planned", a.share()));
    REQUIRE(user->wait_for_messages(1));
    CHECK(user->messages[0].arrays[0].data() == user->place.data());
    CHECK(user->place == a);
    while (!a.is_unique()) std::this_thread::yield();
}

TEST_CASE("shared memory: small messages do not wait behind a large one for which there is no room") {
    struct stopping final : recorder {
        std::mutex gate;
        tn::any_array place_for(const message& m, std::size_t, const tn::tensor_type&, std::size_t) override {
            if (to_text(m.body) != "first") const std::lock_guard lock(gate);
            return {};
        }
    };
    const auto user = std::make_shared<stopping>();
    two_ends e({}, {}, user);
    e.share();
    std::unique_lock gate(user->gate);
    e.to->send(note_with("large", numbers(4'000'000)));
    for (int i = 0; i < 100; ++i) e.to->send(note("small " + std::to_string(i)));
    CHECK(e.to->unsent_bytes() > 10'000'000);
    gate.unlock();
    REQUIRE(user->wait_for_messages(101));
    for (std::size_t i = 0; i < 100; ++i) CHECK(text_at(*user, i) == "small " + std::to_string(i));
    CHECK(equal(user->messages[100], note_with("large", numbers(4'000'000))));
}

TEST_CASE("shared memory: connections encrypted by TLS use it too") {
    certificate_maker authority("an authority");
    const certificate_files own = authority.make({"localhost", "127.0.0.1"});
    const tcp_options o{.tls = tls_options{own.certificate, own.key, authority.authority()}};
    two_ends e(o);
    e.share();
    e.to->send(note_with("x", numbers(2'000'000)));
    REQUIRE(e.at_there->wait_for_messages(1));
    CHECK(equal(e.at_there->messages[0], note_with("x", numbers(2'000'000))));
}

TEST_CASE("shared memory: where one side does not want it, all goes over TCP, and the other says why") {
    two_ends e({}, {.shared_memory = false});
    for (int i = 0; i < 3; ++i) e.to->send(note_with("x", numbers(large, i)));
    e.back->send(note_with("y", numbers(large)));
    REQUIRE(e.at_there->wait_for_messages(3));
    REQUIRE(e.at_here->wait_for_messages(1));
    REQUIRE(e.log.wait_for("no shared memory, large payloads go over TCP: it is turned off there"));
    CHECK(e.log.count(is_used) == 0);
    CHECK_THROWS_AS(make_tcp_transport({.ring_bytes = 1000}), tn::invalid_argument_error);
    CHECK_THROWS_AS(make_tcp_transport({.ring_bytes = std::size_t{1} << 30}), tn::invalid_argument_error);
}

TEST_CASE("shared memory: it is there for connections with large payloads, and as long as these come") {
    const std::size_t before = shared_pages::mapped();
    {
        two_ends e({.ring_idle = 1ms});
        e.to->send(note("small"));
        e.to->send(note_with("large, but not very", numbers(30'000)));
        REQUIRE(e.at_there->wait_for_messages(2));
        CHECK(shared_pages::mapped() == before);
        for (std::size_t i = 1; i <= 5; ++i) { // it comes and goes
            e.to->send(note_with("large", numbers(large)));
            REQUIRE(e.at_there->wait_for_messages(2 + i));
            REQUIRE(e.log.wait_for(is_used, i));
            while (shared_pages::mapped() != before) std::this_thread::yield();
        }
    }
    two_ends e({.ring_bytes = std::size_t{1} << 20});
    e.share();
    CHECK(shared_pages::mapped() == before + 4 * ((std::size_t{1} << 20) + ring_head_bytes));
    e.to->close("");
    REQUIRE(e.at_here->wait_for_end());
    REQUIRE(e.at_there->wait_for_end());
    while (shared_pages::mapped() != before) std::this_thread::yield(); // while the connections are still held
}

TEST_CASE("shared memory: connections end in the middle of payloads, at any time, and leave nothing") {
    const std::size_t before = shared_pages::mapped();
    for (int i = 0; i < 30; ++i) {
        two_ends e;
        if (i % 3) e.share();
        for (int n = 0; n < 4; ++n) {
            e.to->send(note_with("x", numbers(400'000)));
            e.back->send(note_with("y", numbers(400'000)));
        }
        const std::size_t messages = static_cast<std::size_t>(i % 4);
        REQUIRE(e.at_there->wait_for_messages(messages));
        (i % 2 ? e.to : e.back)->close("enough");
        REQUIRE(e.at_here->wait_for_end());
        REQUIRE(e.at_there->wait_for_end());
        CHECK((i % 2 ? e.at_here : e.at_there)->why == "enough");
        const std::lock_guard lock(e.at_there->guard);
        for (const message& m : e.at_there->messages) CHECK(equal(m, note_with("x", numbers(400'000))));
        CHECK(e.at_here->ended == 1);
        CHECK(e.at_there->ended == 1);
    }
    while (shared_pages::mapped() != before) std::this_thread::yield();
}
