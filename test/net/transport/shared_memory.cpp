// Connections whose large payloads go through memory that both sides have: they carry what TCP alone carries, also where the other
// side lies, is killed, or does not want it.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <net/transport/socket_connection.hpp>

#include "certificates.hpp"
#include "peers.hpp"
#include "raw_socket.hpp"

using namespace net_test;

namespace {

// Lines of a log.
class lines {
public:
    std::function<void(const std::string&)> log() {
        return [this](const std::string& line) {
            const std::lock_guard lock(guard_);
            all_.push_back(line);
            changed_.notify_all();
        };
    }
    /// Until so many have these words.
    bool wait_for(const std::string& words, std::size_t count = 1) {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, long_enough, [&] { return counted(words) >= count; });
    }
    std::size_t count(const std::string& words) {
        const std::lock_guard lock(guard_);
        return counted(words);
    }

private:
    std::size_t counted(const std::string& words) const {
        return static_cast<std::size_t>(std::count_if(
            all_.begin(), all_.end(), [&](const std::string& l) { return l.find(words) != std::string::npos; }));
    }
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<std::string> all_;
};

constexpr const char* is_used = "large payloads go through shared memory";
constexpr std::int64_t large = 100'000; // numbers, of 4 bytes: more than what makes a ring

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

/// Someone who speaks of shared memory as he likes. The frames that come are kept as messages.
class forger {
public:
    explicit forger(const std::string& address) : socket_(address) {}
    void say(ring_verb v, bytes body = {}) { say(static_cast<std::uint8_t>(v), std::move(body)); }
    void say(std::uint8_t verb, bytes body) {
        message m;
        m.type = message_type::shared_memory;
        m.verb = verb;
        m.body = std::move(body);
        write(frames_of(std::move(m)));
    }
    void write(const bytes& b) { socket_.write(b); }
    /// The next message of the other side about shared memory.
    message heard() {
        for (;;) {
            const auto found = std::find_if(come_.messages.begin(), come_.messages.end(),
                                            [](const message& m) { return m.type == message_type::shared_memory; });
            if (found != come_.messages.end()) {
                message m = std::move(*found);
                come_.messages.erase(found);
                return m;
            }
            std::byte b[4096];
            const std::size_t n = socket_.read(b);
            REQUIRE(n > 0);
            decoder_.push(std::span(b).first(n), come_);
        }
    }
    bool hears(ring_verb v) { return heard().verb == static_cast<std::uint8_t>(v); }

    /// Gives this file to the other side, up to its answer.
    message gives(const file_descriptor& file) {
        giving_end to;
        say(ring_verb::offer, tenon::net::write(to.offer()));
        REQUIRE(hears(ring_verb::come));
        to.give(file);
        say(ring_verb::given);
        return heard();
    }
    /// Takes what the other side offers.
    shared_pages takes() {
        const message offer = heard();
        REQUIRE(offer.verb == static_cast<std::uint8_t>(ring_verb::offer));
        taking_end from(read_handover_offer(offer.body));
        say(ring_verb::come);
        REQUIRE(hears(ring_verb::given));
        shared_pages p = shared_pages::map(from.take(), most_ring);
        say(ring_verb::mapped);
        return p;
    }
    raw_socket& socket() { return socket_; }

private:
    raw_socket socket_;
    collector come_;
    message_decoder decoder_;
};

/// The frames of a message of which all payload is beside them, in pieces.
bytes frames_beside(message m, std::size_t most = std::size_t{16} << 10) {
    message_encoder e(std::move(m), 1);
    bytes all;
    while (!e.ended()) {
        message_encoder::pieces pieces, payload;
        e.next_frame(pieces, payload, most);
        append(all, pieces);
    }
    return all;
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

TEST_CASE("shared memory: who has not been authenticated does not come to speak of it") {
    struct stranger final : recorder {
        message_limits limits() override { return {4096, 0, 0}; }
    };
    const auto t = make_tcp_transport();
    const auto user = std::make_shared<stranger>();
    const auto l = t->listen("127.0.0.1:0", [&](std::shared_ptr<connection>) { return user; });
    forger f(l->address());
    const giving_end to;
    f.say(ring_verb::offer, write(to.offer()));
    REQUIRE(user->wait_for_end());
    CHECK(user->why == "shared memory: it is spoken of before it is known who speaks");
}

TEST_CASE("shared memory: words out of place end the connection") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    bytes why;
    {
        byte_writer w;
        w.text("no");
        why = w.take();
    }
    const std::tuple<std::uint8_t, bytes, const char*> cases[] = {
        {static_cast<std::uint8_t>(ring_verb::offer), to_bytes("x"), "an offer of shared memory: 16 bytes are asked"},
        {static_cast<std::uint8_t>(ring_verb::offer), {}, "too many bytes, or too few"},
        {static_cast<std::uint8_t>(ring_verb::come), {}, "what was not offered is fetched"},
        {static_cast<std::uint8_t>(ring_verb::come), to_bytes("x"), "too many bytes, or too few"},
        {static_cast<std::uint8_t>(ring_verb::given), {}, "what was not asked for is given"},
        {static_cast<std::uint8_t>(ring_verb::mapped), {}, "what was not given is used"},
        {static_cast<std::uint8_t>(ring_verb::refuse), why, "what was not offered is refused"},
        {static_cast<std::uint8_t>(ring_verb::count), {}, "the word is not known"},
        {std::uint8_t{255}, {}, "the word is not known"},
    };
    std::size_t i = 0;
    for (const auto& c : cases) {
        const char* const words = std::get<2>(c);
        forger f(server.address());
        f.say(std::get<0>(c), std::get<1>(c));
        const auto user = server.at(i++).second;
        REQUIRE(user->wait_for_end());
        CHECK_MESSAGE(user->why.find(words) != std::string::npos, user->why << " has not " << words);
    }
    forger f(server.address()); // what is no harm
    f.say(ring_verb::room);
    f.say(ring_verb::ended);
    f.write(frames_of(note("x")));
    CHECK(server.at(i).second->wait_for_messages(1));
}

TEST_CASE("shared memory: memory that is not as it should be is refused, and the connection goes on") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    forger f(server.address());
    handover_offer nowhere;
    f.say(ring_verb::offer, write(nowhere));
    CHECK(f.hears(ring_verb::refuse));
    file_descriptor loose(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(loose.get(), 1 << 20) == 0);
    const message answer = f.gives(loose);
    CHECK(answer.verb == static_cast<std::uint8_t>(ring_verb::refuse));
    CHECK(to_text(answer.body).find("could become less") != std::string::npos);
    CHECK(f.gives(file_descriptor(::open("/dev/null", O_RDWR))).verb == static_cast<std::uint8_t>(ring_verb::refuse));
    shared_pages good = shared_pages::make(1 << 20);
    CHECK(f.gives(good.take_file()).verb == static_cast<std::uint8_t>(ring_verb::mapped));
    ring_writer w(good.memory());
    const tn::any_array a = numbers(10'000);
    w.write({static_cast<const std::byte*>(a.data()), a.bytes()});
    w.publish();
    f.write(frames_beside(note_with("x", a.share())));
    const auto user = server.at(0).second;
    REQUIRE(user->wait_for_messages(1));
    CHECK(equal(user->messages[0], note_with("x", numbers(10'000))));
    const giving_end another;
    f.say(ring_verb::offer, write(another.offer())); // one ring is enough
    REQUIRE(user->wait_for_end());
}

TEST_CASE("shared memory: a writer that lies about what lies there ends its connection, and nothing else") {
    const auto t = make_tcp_transport();
    acceptor server(*t);
    const message m = note_with("x", numbers(20'000)); // 80,000 bytes
    std::size_t i = 0;
    const auto tell = [&](std::uint64_t written, bytes frames, const char* words) {
        forger f(server.address());
        shared_pages p = shared_pages::make(ring_head_bytes + (std::size_t{64} << 10));
        REQUIRE(f.gives(p.take_file()).verb == static_cast<std::uint8_t>(ring_verb::mapped));
        std::atomic_ref(reinterpret_cast<ring_head*>(p.memory().data())->written).store(written);
        f.write(frames);
        if (std::string_view(words).find("middle") != std::string_view::npos) f.socket().end();
        const auto user = server.at(i++).second;
        REQUIRE(user->wait_for_end());
        CHECK_MESSAGE(user->why.find(words) != std::string::npos, user->why << " has not " << words);
        CHECK(user->messages.empty());
    };
    tell(0, frames_beside(m.share()), "16384 bytes are announced, where 0 have been written");
    tell(30'000, frames_beside(m.share()), "16384 bytes are announced, where 13616 have been written");
    tell((std::size_t{64} << 10) + 1, frames_beside(m.share()), "the writer says that it is at byte 65537");
    tell(~std::uint64_t{0}, frames_beside(m.share()), "the writer says that it is at byte");
    tell(1 << 16, frames_beside(m.share(), 1 << 17), "80000 bytes are announced, where 65536 have been written");
    bytes without_end = frames_beside(m.share());
    without_end.resize(without_end.size() - 1);
    tell(1 << 16, without_end, "in the middle of a message");
    // Without any.
    forger f(server.address());
    f.write(frames_beside(m.share()));
    const auto user = server.at(i).second;
    REQUIRE(user->wait_for_end());
    CHECK(user->why == "a frame: its payload lies in memory that the two sides do not share");
}

TEST_CASE("shared memory: lengths beyond the limits are refused before there is memory for them") {
    struct modest final : recorder {
        message_limits limits() override {
            message_limits most;
            most.payload_bytes = std::size_t{1} << 30;
            return most;
        }
    };
    const auto t = make_tcp_transport();
    const auto user = std::make_shared<modest>();
    const auto l = t->listen("127.0.0.1:0", [&](std::shared_ptr<connection>) { return user; });
    forger f(l->address());
    shared_pages p = shared_pages::make(ring_head_bytes + (std::size_t{64} << 10));
    REQUIRE(f.gives(p.take_file()).verb == static_cast<std::uint8_t>(ring_verb::mapped));
    const std::size_t resident = resident_bytes();
    tn::any_array huge(tn::element_type::uint8, {std::int64_t{5} << 30}); // no page of it is touched
    message_encoder e(note_with("", std::move(huge)), 1);
    message_encoder::pieces pieces, payload;
    e.next_frame(pieces, payload, std::size_t{1} << 14);
    bytes first;
    append(first, pieces);
    f.write(first);
    REQUIRE(user->wait_for_end());
    CHECK(user->why.find("a message of 5368709120 bytes in arrays, where 1073741824 are taken") == 0);
    if (memory_counts) CHECK(resident_bytes() < resident + (std::size_t{64} << 20));
}

TEST_CASE("shared memory: a reader that lies, or does not read, ends its connection") {
    lines log;
    const auto t = make_tcp_transport(
        {.slow_reader_bytes = std::size_t{1} << 20, .slow_reader_time = 100ms, .log_verbose = log.log()});
    acceptor server(*t);
    for (std::size_t i = 0; i < 2; ++i) {
        forger f(server.address());
        const auto at = server.at(i);
        const auto& back = at.first;
        const auto& user = at.second;
        back->send(note_with("", numbers(large)));
        const shared_pages p = f.takes();
        REQUIRE(log.wait_for(is_used, i + 1));
        ring_head& head = *reinterpret_cast<ring_head*>(p.memory().data());
        std::atomic_ref(head.read).store(i == 0 ? std::uint64_t{1} << 40 : 0);
        back->send(note_with("", numbers(4'000'000)));
        REQUIRE(user->wait_for_end());
        CHECK_MESSAGE(user->why.find(i == 0 ? "the reader says that it is at byte 1099511627776"
                                            : "the other side does not read: ") != std::string::npos,
                      user->why);
        CHECK(back->unsent_bytes() == 0);
    }
}

TEST_CASE("shared memory: a process that is killed, while it writes or reads, ends its connection") {
    lines log;
    const auto t = make_tcp_transport({.log_verbose = log.log()});
    acceptor server(*t);
    for (const bool writes : {true, false}) {
        forger f(server.address());
        const auto [back, user] = server.at(writes ? 0 : 1);
        if (!writes) back->send(note_with("", numbers(large)));
        shared_pages p = writes ? shared_pages::make(ring_head_bytes + (std::size_t{1} << 20)) : f.takes();
        if (writes) REQUIRE(f.gives(p.take_file()).verb == static_cast<std::uint8_t>(ring_verb::mapped));
        const message m = note_with("x", numbers(10'000));
        const bytes frames = frames_beside(m.share());
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) { // it does what may be done between fork and exec: no memory, no locks
            ring_writer w(p.memory());
            while (writes) {
                if (!w.has_room(m.arrays[0].bytes())) continue;
                w.write({static_cast<const std::byte*>(m.arrays[0].data()), m.arrays[0].bytes()});
                w.publish();
                f.socket().write(frames);
            }
            for (;;) ::pause();
        }
        f.socket().end(); // it is the child's alone
        if (writes) REQUIRE(user->wait_for_messages(20));
        else {
            REQUIRE(log.wait_for(is_used));
            back->send(note_with("", numbers(4'000'000)));
        }
        CHECK(::kill(child, SIGKILL) == 0);
        CHECK(::waitpid(child, nullptr, 0) == child);
        REQUIRE(user->wait_for_end());
        const std::lock_guard lock(user->guard);
        for (const message& got : user->messages) CHECK(equal(got, m));
    }
}
