#include <net/command/ask.hpp>
#include <net/command/printable.hpp>
#include <net/server/servers.hpp>
#include <net/transport/certificates.hpp>
#include <net/transport/tcp.hpp>

#include "tests.hpp"

// What the command says where the other side is not what was meant.

using namespace net_test;

TEST_CASE("tenon status: names are shown without their control characters, and a missing task is told by the status") {
    using tn::command::printable;
    CHECK(printable("w/\x1b[2Jx\r\n\t\\") == "w/\\x1b[2Jx\\x0d\\n\\t\\\\");
    CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80") ==
          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK(printable("\xc2\x9b"
                    "2J \xe2\x80\xae") == "\\u009b2J \\u202e");
    CHECK(printable("\x9b \xc3 \xc0\x9b \xed\xa0\x80 \xf5\x80\x80\x80") ==
          "\\x9b \\xc3 \\xc0\\x9b \\xed\\xa0\\x80 \\xf5\\x80\\x80\\x80");
    CHECK(printable("a\nb\x07\\", true) == "a\nb\\x07\\");

    const clients_that are_quick;
    servers all(1, 1);
    const own_graph g;
    const tn::container_scope in("box\x1b]0;owned\x07");
    const auto x = tn::variable("weights\x1b[31m\nx", 1.0f);
    const auto q = tn::fifo_queue<float>(3, {.shared_name = "jobs\n  queue of nobody"});
    tn::session sess(all.target("worker", 0), g);
    sess.run(x.initializer());
    sess.run(q.enqueue(2.0f));
    const tn::command::cluster_status s = tn::command::status_of(all.target("worker", 0), true, 5);
    CHECK(s.is_whole);
    CHECK_MESSAGE(contains(s.text, "weights\\x1b[31m\\nx in box\\x1b]0;owned\\x07"), s.text);
    CHECK_MESSAGE(contains(s.text, "jobs\\n  queue of nobody"), s.text);
    CHECK(std::none_of(s.text.begin(), s.text.end(),
                       [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }));
    all.stop("ps", 0);
    const tn::command::cluster_status rest = tn::command::status_of(all.target("worker", 0), true, 1);
    CHECK_FALSE(rest.is_whole);
    CHECK(contains(rest.text, "/job:ps/task:0 at "));
    CHECK(tn::command::status_of(all.target("worker", 0), false, 1).is_whole);
}

TEST_CASE("tenon status: a server that wants TLS, and an end that says nothing, are told from one that is not there") {
    certificate_maker right("an authority");
    const auto own = right.make({"localhost", "127.0.0.1"});
    const tn::server encrypted =
        tn::server::create_local_server({.token = "secret", .tls = {own.certificate, own.key, {}}});
    CHECK_ERROR(tn::deadline_exceeded_error, "does it want TLS?",
                tn::command::status_of(encrypted.target(), false, 0.3));

    const auto silent = tn::net::make_tcp_transport();
    struct deaf final : tn::net::connection_user {
        void received(tn::net::message) override {}
        void closed(const std::string&) override {}
    };
    std::vector<std::shared_ptr<tn::net::connection>> held;
    const auto listens = silent->listen("127.0.0.1:0", [&](std::shared_ptr<tn::net::connection> c) {
        held.push_back(std::move(c));
        return std::make_shared<deaf>();
    });
    CHECK_ERROR(tn::deadline_exceeded_error, "over which it says nothing; is it a server of Tenon",
                tn::command::status_of(listens->address(), false, 0.3));

    CHECK_ERROR(tn::unavailable_error, "connection refused; is the server running?",
                tn::command::status_of(free_addresses(1)[0], false, 3));
}
