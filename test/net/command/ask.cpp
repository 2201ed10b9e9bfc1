#include <doctest/doctest.h>

#include <net/command/ask.hpp>
#include <net/server/servers.hpp>
#include <net/transport/certificates.hpp>
#include <net/transport/tcp.hpp>

// What the command says where the other side is not what was meant.

namespace tn = tenon;
using namespace net_test;

TEST_CASE("tenon status: a server that wants TLS, and an end that says nothing, are told from one that is not there") {
    certificate_maker right("an authority");
    const auto own = right.make("DNS:localhost,IP:127.0.0.1");
    const tn::server encrypted =
        tn::server::create_local_server({.token = "secret", .tls = {own.certificate, own.key, {}}});
    CHECK_THROWS_WITH_AS(tn::command::status_text(encrypted.target(), false, 0.3),
                         doctest::Contains("does it want TLS?"), tn::deadline_exceeded_error);

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
    CHECK_THROWS_WITH_AS(tn::command::status_text(listens->address(), false, 0.3),
                         doctest::Contains("over which it says nothing; is it a server of Tenon"),
                         tn::deadline_exceeded_error);

    CHECK_THROWS_WITH_AS(tn::command::status_text(free_addresses(1)[0], false, 3),
                         doctest::Contains("connection refused; is the server running?"), tn::unavailable_error);
}
