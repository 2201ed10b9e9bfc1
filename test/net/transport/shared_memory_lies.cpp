#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <net/transport/socket_connection.hpp>

#include "certificates.hpp"
#include "lines.hpp"
#include "peers.hpp"
#include "raw_socket.hpp"

// What the other side of a connection says of memory that both have is not believed: it may lie, be damaged or be killed.

using namespace net_test;

namespace {

/// Someone who speaks of shared memory as he likes. The frames that come are kept as messages.
class forger {
public:
    explicit forger(const std::string& address) : socket_(address) {}
    void say(ring_verb v, bytes body = {}) { say(static_cast<std::uint8_t>(v), std::move(body)); }
    void say(std::uint8_t verb, bytes body) {
        message m{.type = message_type::shared_memory, .verb = verb, .body = std::move(body)};
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
        CHECK_MESSAGE(contains(user->why, words), user->why << " has not " << words);
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
    CHECK(contains(to_text(answer.body), "could become less"));
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
        CHECK_MESSAGE(contains(user->why, words), user->why << " has not " << words);
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
        message_limits limits() override { return message_limits{.payload_bytes = std::size_t{1} << 30}; }
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
        CHECK_MESSAGE(contains(user->why, i == 0 ? "the reader says that it is at byte 1099511627776"
                                                 : "the other side does not read: "),
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
