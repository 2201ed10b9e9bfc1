#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/ssl.h>

#include "each_thread.hpp"
#include "certificates.hpp"
#include "peers.hpp"

using namespace net_test;

namespace {

certificate_maker& authority() {
    static certificate_maker a("the right authority");
    return a;
}
certificate_maker& other_authority() {
    static certificate_maker a("another authority");
    return a;
}
const std::vector<std::string> here{"localhost", "127.0.0.1", "::1"};
const certificate_files& right() {
    static const certificate_files f = authority().make(here);
    return f;
}

tcp_options with(const certificate_files& own, const std::string& authorities) {
    return {.tls = tls_options{own.certificate, own.key, authorities}};
}
std::shared_ptr<transport> transport_with(const certificate_files& own, const std::string& authorities = {}) {
    return make_tcp_transport(with(own, authorities));
}
const certificate_files none;

std::string port_of(const std::string& address) { return address.substr(address.rfind(':')); }

// What who dials is told where `shown` is what the server shows.
std::string why_not(const certificate_files& shown, const std::string& host = "127.0.0.1") {
    const auto server = transport_with(shown), client = transport_with(none, authority().authority());
    acceptor a(*server);
    const auto user = std::make_shared<recorder>();
    const dialed_result r = dial(*client, host + port_of(a.address()), user);
    CHECK(!r.to);
    CHECK(a.count() == 0);
    return r.why;
}

void check_contains(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) CHECK_MESSAGE(contains(text, part), part << " is not in: " << text);
}

int connect_raw(const std::string& address) {
    const int s = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_of(address).substr(1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return s;
}

// Shakes hands with TLS up to this version at most, and before 1.3 with these ciphers.
bool shakes_hands(const std::string& address, int version, const char* ciphers = "ALL") {
    SSL_CTX* const c = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(c, 0); // so that old ones are offered at all
    SSL_CTX_set_min_proto_version(c, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(c, version);
    REQUIRE(SSL_CTX_set_cipher_list(c, ciphers) == 1);
    SSL* const s = SSL_new(c);
    const int socket = connect_raw(address);
    SSL_set_fd(s, socket);
    const bool done = SSL_connect(s) == 1;
    SSL_free(s);
    SSL_CTX_free(c);
    ::close(socket);
    return done;
}

} // namespace

TEST_CASE("tls: messages of all sizes go both ways, by name and by number") {
    const auto server = transport_with(right()), client = transport_with(none, authority().authority());
    acceptor a(*server);
    std::size_t i = 0;
    for (const char* host : {"localhost", "127.0.0.1"}) {
        const auto user = std::make_shared<recorder>();
        const dialed_result dialed = dial(*client, host + port_of(a.address()), user);
        REQUIRE_MESSAGE(dialed.to, dialed.why);
        const auto& to = dialed.to;
        CHECK(to->is_private());
        const auto [back, there] = a.at(i++);
        CHECK(back->is_private());
        const message large = note_with("large", numbers(2'000'003), numbers(1), numbers(77777));
        for (const auto& one : {to, back}) {
            one->send(large.share());
            for (int n = 0; n < 20; ++n) one->send(note("small"));
        }
        for (const auto& one : {user, there}) {
            REQUIRE(one->wait_for_messages(21));
            CHECK(std::count_if(one->messages.begin(), one->messages.end(),
                                [&](const message& m) { return equal(m, large); }) == 1);
        }
        to->close("done");
        REQUIRE(there->wait_for_end());
        CHECK(there->why == "the other side closed the connection");
    }
}

TEST_CASE("tls: who listens is believed only with a certificate that is right, and it is said which was not and why") {
    check_contains(why_not(authority().make(here, -20, -10)),
                   {"the server 127.0.0.1:", "is not believed", "'CN=task ", "expired on ", "it needs a new one"});
    check_contains(why_not(authority().make(here, 5, 10)), {"'CN=task ", "is not valid before", "clocks"});
    check_contains(why_not(authority().make({"elsewhere.example"})),
                   {"'CN=task ", "is for DNS:elsewhere.example, not for '127.0.0.1'"});
    check_contains(why_not(authority().make({"127.0.0.1"}), "localhost"),
                   {"is for IP Address:127.0.0.1, not for 'localhost'"});
    check_contains(
        why_not(other_authority().make(here)),
        {"'CN=task ", "an authority that is not known here, 'CN=another authority'", "add that one's certificate"});
}

TEST_CASE("tls: where authorities are given, who dials shows a certificate too") {
    const std::string known = authority().authority();
    const auto server = transport_with(right(), known);
    acceptor a(*server);
    const auto good = transport_with(authority().make({"client"}), known);
    const auto user = std::make_shared<recorder>();
    const auto to = dial(*good, a.address(), user).to;
    REQUIRE(to);
    to->send(note("here I am"));
    REQUIRE(a.at(0).second->wait_for_messages(1));

    const std::pair<certificate_files, const char*> cases[] = {
        {authority().make({"client"}, -20, -10), "says that it has expired: this side's certificate 'CN=task "},
        {other_authority().make({"client"}), "does not know its authority: this side's certificate 'CN=task "},
        {none, "this side has none to show"},
    };
    for (const auto& [shown, words] : cases) {
        const auto client = transport_with(shown, known);
        const auto refused = std::make_shared<recorder>();
        const dialed_result r = dial(*client, a.address(), refused);
        // With TLS 1.3 who dials is through before the other side has looked.
        if (r.to) REQUIRE(refused->wait_for_end());
        check_contains(r.to ? refused->why : r.why, {words});
    }
    CHECK(a.count() == 1);
}

TEST_CASE("tls: one side that does not use it is told so") {
    const auto plain = make_tcp_transport(), client = transport_with(none, authority().authority());
    {
        acceptor a(*plain);
        const auto user = std::make_shared<recorder>();
        CHECK(dial(*client, a.address(), user).why ==
              "the other side closed the connection while hands were shaken; does it speak TLS?");
        REQUIRE(a.at(0).second->wait_for_end());
        check_contains(a.at(0).second->why, {"begins as TLS does; both sides must use it, or neither"});
    }
    const auto server = transport_with(right());
    acceptor a(*server);
    const auto user = std::make_shared<recorder>();
    const auto to = dial(*plain, a.address(), user).to;
    REQUIRE(to);
    to->send(note("in the open"));
    REQUIRE(user->wait_for_end());
    CHECK(a.count() == 0);
}

TEST_CASE("tls: versions before 1.2 are refused") {
    const auto server = transport_with(right());
    acceptor a(*server);
    CHECK(shakes_hands(a.address(), TLS1_3_VERSION));
    CHECK(shakes_hands(a.address(), TLS1_2_VERSION));
    CHECK_FALSE(shakes_hands(a.address(), TLS1_1_VERSION));
    CHECK_FALSE(shakes_hands(a.address(), TLS1_VERSION));
}

TEST_CASE("tls: of 1.2 only what has forward secrecy is spoken, by who listens and by who dials") {
    const certificate_files of_rsa = authority().make(here, -1, 30, true); // a key that could also decrypt
    const auto server = transport_with(of_rsa);
    acceptor a(*server);
    CHECK(shakes_hands(a.address(), TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256"));
    CHECK(shakes_hands(a.address(), TLS1_2_VERSION, "ECDHE-RSA-CHACHA20-POLY1305"));
    for (const char* key_of_certificate : {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES256-SHA"})
        CHECK_FALSE(shakes_hands(a.address(), TLS1_2_VERSION, key_of_certificate));
    CHECK_FALSE(shakes_hands(a.address(), TLS1_2_VERSION, "ECDHE-RSA-AES128-SHA")); // no AEAD

    // A server that has nothing else: this side does not shake its hand.
    SSL_CTX* const c = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION);
    for (const char* ciphers : {"AES128-GCM-SHA256:AES256-GCM-SHA384", "ECDHE+AESGCM"}) {
        CAPTURE(ciphers);
        REQUIRE(SSL_CTX_set_cipher_list(c, ciphers) == 1);
        REQUIRE(SSL_CTX_use_certificate_chain_file(c, of_rsa.certificate.c_str()) == 1);
        REQUIRE(SSL_CTX_use_PrivateKey_file(c, of_rsa.key.c_str(), SSL_FILETYPE_PEM) == 1);
        const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        REQUIRE(::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
        REQUIRE(::listen(listening, 1) == 0);
        REQUIRE(::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) == 0);
        bool shaken = false;
        std::thread accepts([&] {
            const int socket = ::accept(listening, nullptr, nullptr);
            SSL* const s = SSL_new(c);
            SSL_set_fd(s, socket);
            shaken = SSL_accept(s) == 1;
            SSL_free(s);
            ::close(socket);
        });
        const auto client = transport_with(none, authority().authority());
        const dialed_result r =
            dial(*client, "127.0.0.1:" + std::to_string(ntohs(at.sin_port)), std::make_shared<recorder>());
        accepts.join();
        ::close(listening);
        CHECK(shaken == (std::string(ciphers) == "ECDHE+AESGCM"));
        CHECK((r.to != nullptr) == shaken);
    }
    SSL_CTX_free(c);
}

TEST_CASE("tls: who shakes hands too slowly is cut off, and a dial that gets no answer ends at its limit") {
    tcp_options o = with(right(), {});
    o.handshake_time = 100ms;
    const auto server = make_tcp_transport(o);
    acceptor a(*server);
    const int slow = connect_raw(a.address());
    REQUIRE(::send(slow, "\x16\x03\x01", 3, MSG_NOSIGNAL) == 3);
    char b = 0;
    CHECK(::recv(slow, &b, 1, 0) <= 0);
    ::close(slow);
    CHECK(a.count() == 0);

    const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(silent, reinterpret_cast<const sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(silent, 8) == 0);
    ::getsockname(silent, reinterpret_cast<sockaddr*>(&at), &size);
    const auto client = transport_with(none, authority().authority());
    CHECK(dial(*client, "127.0.0.1:" + std::to_string(ntohs(at.sin_port)), std::make_shared<recorder>(), 100ms).why ==
          "hands were not shaken in time");
    ::close(silent);
}

TEST_CASE("tls: threads that send at once, while others read") {
    const auto server = transport_with(right()), client = transport_with(none, authority().authority());
    const auto l = server->listen("127.0.0.1:0",
                                  [](std::shared_ptr<connection> c) { return std::make_shared<echo>(std::move(c)); });
    const auto user = std::make_shared<recorder>();
    const auto to = dial(*client, l->address(), user).to;
    REQUIRE(to);
    constexpr int threads = 8, each = 40;
    on_threads(threads, [&](int n) {
        for (int i = 0; i < each; ++i) {
            message m = note(std::to_string(n), static_cast<std::uint64_t>(i));
            m.arrays.push_back(numbers(i % 10 == 9 ? 50'000 : 100, n + i));
            to->send(std::move(m));
        }
    });
    REQUIRE(user->wait_for_messages(threads * each));
    std::map<std::string, int> count;
    for (const message& m : user->messages) {
        const int n = std::stoi(to_text(m.body)), i = static_cast<int>(m.sequence);
        CHECK(m.arrays.at(0) == numbers(i % 10 == 9 ? 50'000 : 100, n + i));
        ++count[to_text(m.body)];
    }
    CHECK(count.size() == threads);
    for (const auto& [n, times] : count) CHECK(times == each);
    CHECK(to->unsent_bytes() == 0);
}

TEST_CASE("tls: idle connections take less than 64 KiB each, at both ends together") {
    const auto server = transport_with(right()), client = transport_with(none, authority().authority());
    acceptor a(*server);
    constexpr std::size_t many = 200;
    std::vector<std::shared_ptr<connection>> idle;
    std::size_t before = 0;
    for (std::size_t i = 0; i < 2 * many; ++i) {
        if (i == many) before = resident_bytes();
        idle.push_back(dial(*client, a.address(), std::make_shared<recorder>()).to);
        REQUIRE(idle.back());
        idle.back()->send(note_with("hello", numbers(20'000)));
        REQUIRE(a.at(i).second->wait_for_messages(1));
        a.at(i).second->messages.clear();
    }
    const std::size_t each = (resident_bytes() - std::min(resident_bytes(), before)) / many;
    MESSAGE(each << " bytes an idle connection, both ends");
    CHECK((each < 64 * 1024 || !memory_counts));
}

TEST_CASE("tls: files that cannot be used are named") {
    const std::string known = authority().authority();
    const auto refused = [](tls_options o, const char* words) {
        CHECK_ERROR(tn::invalid_argument_error, words, make_tcp_transport({.tls = o}));
    };
    refused({right().certificate, "", ""}, "needs a private key");
    refused({"/nowhere/a.crt", right().key, ""}, "the certificate chain '/nowhere/a.crt' cannot be used");
    refused({right().certificate, "/nowhere/a.key", ""}, "the private key '/nowhere/a.key' cannot be used");
    refused({right().certificate, right().key, "/nowhere/ca.crt"}, "the authorities '/nowhere/ca.crt' cannot be used");
    refused({right().certificate, authority().make(here).key, ""}, "is not that of the certificate");
    const auto client = transport_with(none, known);
    CHECK_ERROR(tn::invalid_argument_error, "no certificate is given", client->listen("127.0.0.1:0", {}));
}
