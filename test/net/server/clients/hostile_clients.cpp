#include <sys/resource.h>

#include <net/link/handshake.hpp>
#include <net/messages.hpp>
#include <net/server/server_core.hpp>
#include <net/server/servers.hpp>
#include <net/transport/certificates.hpp>
#include <net/transport/peers.hpp>
#include <net/transport/raw_socket.hpp>
#include <tenon/io/files/crc32c.hpp>

#include "tests.hpp"

// Who connects to a live server and says what nobody should: it is refused, and named in the server's log; all others are served.

using namespace net_test;

namespace {

// A server with a session on it that was there before, and a log.
struct live_server {
    explicit live_server(tn::server_options o = quick()) {
        o.log = o.log_verbose = [to = log](const std::string& line) { to->add(line); };
        server.emplace(tn::server::create_local_server(std::move(o)));
        sess.emplace(server->target(), graph);
        sess->run(tn::initialize_variables());
    }
    // The session that was there, and a new one.
    void check_serves() {
        CHECK(sess->run(more[0])() == ++count);
        const own_graph g;
        const auto five = tn::constant(std::int64_t{5});
        tn::session another(server->target(), g);
        CHECK(another.run(five)() == 5);
    }
    const clients_that are_quick;
    std::shared_ptr<told_lines> log = std::make_shared<told_lines>();
    std::optional<tn::server> server;
    own_graph graph;
    std::vector<tn::variable_tensor<std::int64_t, tn::shape<>>> x{tn::variable("x", std::int64_t{0})};
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> more{x[0].assign_add(std::int64_t{1})};
    std::optional<tn::session> sess;
    std::int64_t count = 0;
};

bytes hello_frame() {
    hello h{.incarnation = 77, .stream = 1, .link = 1, .attempt = 1};
    return frames_of(message{.type = message_type::hello, .body = write(h)});
}

// The header with something else in it, and a checksum that is right.
template <class F> bytes changed_header(F change) {
    bytes all = hello_frame();
    frame_header h;
    std::memcpy(&h, all.data(), sizeof h);
    change(h);
    bytes sum(all.begin(), all.begin() + 52);
    std::memcpy(sum.data(), &h, 52);
    const std::size_t metadata = std::min<std::size_t>(h.metadata_bytes, all.size() - sizeof h);
    sum.insert(sum.end(), all.begin() + sizeof h, all.begin() + static_cast<std::ptrdiff_t>(sizeof h + metadata));
    h.checksum = tenon::crc32c(sum);
    std::memcpy(all.data(), &h, sizeof h);
    return all;
}

// As many descriptors as this process may have.
void raise_descriptors() {
    rlimit most{};
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
}

} // namespace

TEST_CASE(
    "hostile: truncated frames, wrong checksums, magic, versions and lengths: refused by name, others are unharmed") {
    live_server s;
    bytes wrong_sum = hello_frame();
    wrong_sum[8] ^= std::byte{1};
    const bytes whole = hello_frame();
    const struct {
        bytes said;
        const char* why;
        bool ends = false;
    } cases[] = {
        {to_bytes("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything that there is\r\n\r\n"),
         "does not begin as one"},
        {wrong_sum, "checksum"},
        {changed_header([](frame_header& h) { h.magic ^= 1; }), "does not begin as one"},
        {changed_header([](frame_header& h) { h.version = 9; }), "version 9"},
        {changed_header([](frame_header& h) { h.payload_bytes = std::uint64_t{1} << 63; }), "9223372036854775808"},
        {changed_header([](frame_header& h) { h.metadata_bytes = 0xFFFFFFFF; }), "4294967295"},
        {changed_header([](frame_header& h) { h.type = static_cast<message_type>(200); }), "200"},
        {bytes(whole.begin(), whole.end() - 1), "in the middle of a message", true},
        {frames_of(note_with("x", numbers(1000))), ""},
    };
    for (const auto& c : cases) {
        CAPTURE(c.why);
        raw_socket peer(s.server->address());
        peer.write(c.said);
        if (c.ends) peer.end();
        else {
            std::byte b[64];
            CHECK(peer.read(b) == 0); // it was closed
        }
        const std::string line = s.log->wait_for({"127.0.0.1:" + std::to_string(peer.port()), c.why});
        CHECK_MESSAGE(line != "", s.log->text());
        s.check_serves();
    }
}

TEST_CASE("hostile: handshakes that are slow, or never go on, end by their time; a client is served meanwhile") {
    const auto over = make_tcp_transport();
    server_settings o{.tasks = tn::cluster({{"local", {"127.0.0.1:1"}}}), .job = "local", .listen = "127.0.0.1:0"};
    o.link.handshake = 300ms;
    told_lines log;
    o.log = o.log_verbose = [&](const std::string& line) { log.add(line); };
    server_core s(*over, std::move(o));
    std::vector<raw_socket> slow;
    const bytes whole = hello_frame();
    for (int i = 0; i < 200; ++i) {
        slow.emplace_back(s.address());
        if (i % 3 == 1) slow.back().write(std::span(whole).first(20));
        if (i % 3 == 2) slow.back().write(whole); // and no proof
    }
    const own_graph g;
    const auto x = tn::constant(5.0f);
    tn::session sess("tenon://" + s.address(), g);
    CHECK(sess.run(x)() == 5.0f);
    for (raw_socket& one : slow) {
        std::byte b[512];
        while (one.read(b) > 0) {
        } // a challenge, then the end
    }
    CHECK(log.wait_for({"127.0.0.1:" + std::to_string(slow[0].port()), "a handshake took longer than 300 ms"}) != "");
    CHECK(sess.run(x)() == 5.0f);
}

TEST_CASE(
    "hostile: thousands of connections that say nothing: the oldest are ended, and clients are served all the while") {
    raise_descriptors();
    live_server s;
    std::vector<raw_socket> idle;
    for (int i = 0; i < 3000; ++i) {
        idle.emplace_back(s.server->address());
        if (i % 500 == 499) s.check_serves();
    }
    std::byte b;
    CHECK(idle[0].read({&b, 1}) == 0);
    CHECK(s.log->wait_for({"127.0.0.1:" + std::to_string(idle[0].port()), "too many handshakes are under way"}) != "");
}

TEST_CASE("thousands of clients that are idle take less than 64 KiB each of both ends, and another is served") {
    raise_descriptors();
    constexpr std::size_t many = memory_counts ? 2000 : 200, at_once = 100; // a sanitizer takes its time
    live_server s;
    tenon::net::dialed_server d = tenon::net::dial_as_client(s.server->address());
    d.to.link.heartbeat = std::chrono::seconds(2);
    d.to.link.lease = std::chrono::seconds(60);
    std::vector<std::shared_ptr<peer>> all;
    const std::size_t before = resident_bytes();
    while (all.size() < many) {
        std::atomic<std::size_t> there{0};
        for (std::size_t i = 0; i < at_once; ++i) {
            all.push_back(peer::make(*d.over, d.to));
            all.back()->connect(d.over->now() + 60s, [&, over = d.over](const answer& a) {
                CHECK_FALSE(a.failed);
                ++there;
                over->wake();
            });
        }
        REQUIRE(d.over->work_until([&] { return there == at_once; }, d.over->now() + 60s));
    }
    const std::size_t each = (resident_bytes() - std::min(before, resident_bytes())) / many;
    MESSAGE(each << " bytes a linked client, both ends together");
    CHECK((each < 64 * 1024 || !memory_counts));
    s.check_serves();
    for (const auto& p : all) p->close();
}

TEST_CASE("hostile: a wrong token, none, and one that was heard before are refused; the log names who") {
    tn::server_options o = quick();
    o.token = "secret";
    std::shared_ptr<told_lines> log = std::make_shared<told_lines>();
    o.log = o.log_verbose = [&](const std::string& line) { log->add(line); };
    const tn::server s = tn::server::create_local_server(o);
    const own_graph g;
    const auto x = tn::constant(5.0f);
    for (const char* token : {"wrong", ""}) {
        CAPTURE(token);
        const clients_that have({.token = token});
        CHECK_ERROR(tn::permission_denied_error, "token", tn::session(s.target(), g));
    }
    CHECK(log->wait_for({"refused 127.0.0.1:", "the token is not the cluster's"}) != "");
    CHECK(log->wait_for({"refused 127.0.0.1:", "it asks for a token, and was offered none"}) != "");
    CHECK_FALSE(contains(log->text(), "secret"));

    // What a client that has the token has said is heard on its way, and said again.
    std::vector<bytes> heard;
    {
        tcp_proxy listening(s.address());
        const clients_that have({.token = "secret"});
        listening.judge_by([&](const tcp_proxy::frame& f) {
            if (f.goes == tcp_proxy::way::to_server && f.connection == 1) heard.push_back(f.bytes);
            return tcp_proxy::fate::pass;
        });
        tn::session sess(listening.target(), g);
        CHECK(sess.run(x)() == 5.0f);
        listening.judge_by({});
    }
    REQUIRE(heard.size() > 4);
    raw_socket replayed(s.address());
    for (const bytes& frame : heard) replayed.try_write(frame);
    collector said;
    message_decoder d;
    std::byte b;
    while (said.messages.size() < 2 && replayed.read({&b, 1}) == 1) d.push({&b, 1}, said);
    REQUIRE(said.messages.size() == 2); // a challenge, and goodbye
    CHECK(said.messages[1].type == message_type::goodbye);
    CHECK(log->wait_for({"refused 127.0.0.1:" + std::to_string(replayed.port()), "the token is not the cluster's"}) !=
          "");
}

TEST_CASE(
    "hostile: certificates that are expired, of nobody known, or missing are refused, on both sides and by name") {
    certificate_maker right("the right authority"), other("another authority");
    const auto own = right.make({"localhost", "127.0.0.1"}), client = right.make({"client"});
    const auto with = [](const certificate_files& f, const std::string& authorities) {
        return tn::tls_files{f.certificate, f.key, authorities};
    };
    const own_graph g;
    const auto x = tn::constant(5.0f);
    const auto open = [&](const tn::server& s, const tn::tls_files& tls) {
        const clients_that have({.token = "secret", .tls = tls});
        tn::session sess(s.target(), g, {.open_timeout = 0.4});
        return sess.run(x)();
    };
    std::shared_ptr<told_lines> log = std::make_shared<told_lines>();
    tn::server_options o = quick();
    o.token = "secret";
    o.log = o.log_verbose = [&](const std::string& line) { log->add(line); };
    o.tls = with(own, right.authority());
    const tn::server s = tn::server::create_local_server(o);
    CHECK(open(s, with(client, right.authority())) == 5.0f);
    CHECK_ERROR(tn::unavailable_error, "has expired",
                open(s, with(right.make({"client"}, -20, -10), right.authority())));
    CHECK_ERROR(tn::unavailable_error, "does not know its authority",
                open(s, with(other.make({"client"}), right.authority())));
    CHECK_THROWS_AS(open(s, with({}, right.authority())), tn::unavailable_error);
    CHECK_THROWS_AS(open(s, {}), tn::unavailable_error);
    CHECK_MESSAGE(log->wait_for({"refused 127.0.0.1:", "expired"}) != "", log->text());
    CHECK_MESSAGE(log->wait_for({"refused 127.0.0.1:", "another authority"}) != "", log->text());

    tn::server_options wrong = o;
    wrong.tls = with(right.make({"localhost", "127.0.0.1"}, -20, -10), right.authority());
    const tn::server expired = tn::server::create_local_server(wrong);
    CHECK_ERROR(tn::unavailable_error, "expired", open(expired, with(client, right.authority())));
    wrong.tls = with(right.make({"elsewhere"}), right.authority());
    const tn::server elsewhere = tn::server::create_local_server(wrong);
    CHECK_ERROR(tn::unavailable_error, "127.0.0.1", open(elsewhere, with(client, right.authority())));
    CHECK(open(s, with(client, right.authority())) == 5.0f); // the good one still serves
}
