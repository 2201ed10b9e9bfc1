#include <csignal>

#include <net/http/http_client.hpp>
#include <net/http/status/page.hpp>
#include <net/transport/certificates.hpp>
#include <net/transport/peers.hpp>

#include "tests.hpp"

// What is served by HTTP, to whom; and those who ask as nobody should.

using namespace net_test;
using namespace std::chrono_literals;

namespace {

struct served {
    explicit served(std::string token = {}, request_limits limits = {}) :
        server(facts, {.where = "0", .token = std::move(token)}, limits) {}
    std::string get(const std::string& path, const std::string& headers = {}) const {
        return net_test::get(server.address(), path, headers);
    }
    made_up_facts facts;
    http_server server;
};

const std::string ok = "HTTP/1.1 200 OK";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("pages: health, readiness with the reason, metrics, status, and one page with a policy of its own") {
    served s;
    CHECK(status_of(s.get("/healthz")) == ok);
    CHECK(status_of(s.get("/readyz")) == ok);
    s.facts.trouble = "/job:worker/task:0 has not reached /job:ps/task:0 yet";
    CHECK(status_of(s.get("/readyz")) == "HTTP/1.1 503 Service Unavailable");
    CHECK(body_of(s.get("/readyz")) == s.facts.trouble + "\n");
    s.facts.row.stopping = true;
    CHECK(status_of(s.get("/healthz")) == "HTTP/1.1 503 Service Unavailable");
    s.facts.row.stopping = false;

    const std::string metrics = s.get("/metrics");
    CHECK(status_of(metrics) == ok);
    CHECK(has(metrics, "Content-Type: text/plain; version=0.0.4"));
    CHECK(has(metrics, "tenon_build_info{version=\"1\",task=\"/job:worker/task:0\"} 1\n"));
    CHECK_FALSE(has(metrics, "tenon_serving"));
    s.facts.models.emplace_back("m", tenon::serving_metrics());
    CHECK(has(s.get("/metrics"), "tenon_serving_waiting{model=\"m\"} 0\n"));
    const std::string status = s.get("/status.json");
    CHECK(status_of(status) == ok);
    CHECK(has(status, "Content-Type: application/json"));
    CHECK(has(status, "\"task\":\"/job:worker/task:0\""));

    const std::string page = s.get("/");
    CHECK(status_of(page) == ok);
    CHECK(body_of(page) == http_page());
    CHECK(has(page, "Content-Security-Policy: default-src 'none'; style-src 'sha256-"));
    CHECK_FALSE(has(http_page_policy(), "unsafe"));
    for (const char* const outside :
         {"src=", "href=\"http", "url(", "@import", "innerHTML", "page.css", "page.js", "eval("})
        CHECK_MESSAGE(!has(http_page(), outside), outside);
    for (const std::string& one : {page, status, metrics})
        for (const char* const header : {"X-Content-Type-Options: nosniff", "Cache-Control: no-store",
                                         "Referrer-Policy: no-referrer", "Content-Security-Policy: default-src 'none'"})
            CHECK_MESSAGE(has(one, header), header);
}

TEST_CASE("nothing but GET and HEAD, and no files") {
    const served s;
    for (const char* const method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
        CAPTURE(method);
        const std::string a =
            answer_to(s.server.address(), std::string(method) + " /metrics HTTP/1.1\r\nHost: localhost\r\n"
                                                                "Content-Length: 3\r\n\r\nabc");
        CHECK(status_of(a) == "HTTP/1.1 405 Method Not Allowed");
        CHECK(has(a, "Allow: GET, HEAD"));
    }
    const std::string head = answer_to(s.server.address(), "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(status_of(head) == ok);
    CHECK(body_of(head) == "");
    for (const char* const path : {"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/metrics/",
                                   "/metrics%00", "/./", "/page.js", "/stop", "/\\..\\..\\etc\\passwd"}) {
        CAPTURE(path);
        const std::string a = s.get(path);
        CHECK(status_of(a) == "HTTP/1.1 404 Not Found");
        CHECK_FALSE(has(a, "root:"));
    }
    for (const std::string& wrong :
         {std::string("GET\r\n\r\n"), std::string("\r\n\r\n"), std::string("what is this\r\n\r\n"),
          std::string("GET / HTTP/9.9\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8),
          std::string("GET http://elsewhere/ HTTP/1.1 more\r\n\r\n")}) {
        CAPTURE(wrong);
        const std::string a = answer_to(s.server.address(), wrong);
        CHECK((a.empty() || status_of(a) == "HTTP/1.1 400 Bad Request"));
    }
    CHECK(status_of(s.get("/healthz")) == ok);
}

TEST_CASE("a name that leads here by somebody else's doing is refused where there is no token") {
    const served s;
    const auto as = [&](const std::string& host) {
        return status_of(answer_to(s.server.address(), "GET /status.json HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
    };
    CHECK(as("localhost:80") == ok);
    CHECK(as("127.0.0.1") == ok);
    CHECK(as("[::1]:8080") == ok);
    CHECK(as("evil.example:80") == "HTTP/1.1 421 Misdirected Request");
    CHECK(as("localhost.evil.example") == "HTTP/1.1 421 Misdirected Request");
    CHECK(as("") == "HTTP/1.1 421 Misdirected Request");
    const served with_token("secret");
    CHECK(status_of(answer_to(with_token.server.address(),
                              "GET / HTTP/1.1\r\nHost: host7.lab\r\nAuthorization: Bearer secret\r\n\r\n")) == ok);
}

TEST_CASE("a token must be shown: in a header, or once in the address, which becomes a cookie") {
    served s("secret");
    s.facts.trouble = "/job:worker/task:0 has not reached /job:ps/task:0 yet";
    for (const char* const path : {"/", "/metrics", "/status.json", "/nowhere"}) {
        CAPTURE(path);
        const std::string none = s.get(path);
        CHECK(status_of(none) == "HTTP/1.1 401 Unauthorized");
        CHECK(has(none, "WWW-Authenticate: Bearer"));
        CHECK(status_of(s.get(path, "Authorization: Bearer secre\r\n")) == "HTTP/1.1 401 Unauthorized");
        CHECK(status_of(s.get(path, "Cookie: tenon_http=secret\r\n")) == "HTTP/1.1 401 Unauthorized");
        CHECK(status_of(s.get(path, "Authorization: Bearer secret\r\nAuthorization: Bearer wrong\r\n")) ==
              "HTTP/1.1 401 Unauthorized");
        CHECK(status_of(s.get(std::string(path) + "?token=wrong")) == "HTTP/1.1 401 Unauthorized");
    }
    CHECK(status_of(s.get("/metrics", "authorization: bearer secret\r\n")) == ok);

    const std::string turned = s.get("/?token=secret");
    CHECK(status_of(turned) == "HTTP/1.1 303 See Other");
    CHECK(has(turned, "Location: /\r\n"));
    const std::size_t at = turned.find("Set-Cookie: ") + 12;
    const std::string cookie = turned.substr(at, turned.find("\r\n", at) - at);
    CHECK(has(cookie, "; HttpOnly; SameSite=Lax"));
    CHECK_FALSE(has(turned, "secret"));
    CHECK(status_of(s.get("/", "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n")) == ok);
    CHECK(has(s.get("/metrics?token=secret"), "Location: /metrics\r\n"));
    CHECK(has(s.get("//evil.example?token=secret"), "Location: /\r\n")); // nowhere else
    CHECK(status_of(s.get("/?token=%73ecret")) == "HTTP/1.1 303 See Other");

    // Those who ask whether it lives have none: they are told yes or no.
    CHECK(status_of(s.get("/healthz")) == ok);
    CHECK(body_of(s.get("/readyz")) == "not ready\n");
    CHECK(has(s.get("/readyz", "Authorization: Bearer secret\r\n"), "/job:ps/task:0"));
}

TEST_CASE("heads that do not end, or are too long, take no more than their limit and end") {
    const served s;
    {
        raw_socket endless(s.server.address());
        endless.write(to_bytes("GET / HTTP/1.1\r\n"));
        std::size_t sent = 0;
        for (const bytes more = to_bytes("x: " + std::string(1000, 'y') + "\r\n"); sent < std::size_t{64} << 20;
             sent += more.size())
            if (!endless.try_write(more)) break;
        CHECK(sent < std::size_t{64} << 20); // it was closed
    }
    const std::string too_long = "HTTP/1.1 431 Request Header Fields Too Large";
    CHECK(status_of(s.get("/healthz", "Cookie: " + std::string(9000, 'a') + "\r\n")) == too_long);
    CHECK(status_of(s.get("/" + std::string(9000, 'a'))) == too_long);
    CHECK(status_of(answer_to(s.server.address(), std::string(9000, 'a'))) == too_long);
    // What fits is read as it is, however odd: many ranges of a page are no more than the page.
    std::string ranges = "Range: bytes=0-0";
    while (ranges.size() < 7900) ranges += ",0-";
    const std::string all = s.get("/", ranges + "\r\n");
    CHECK(all.size() < 2 * http_page().size());
    std::string headers;
    while (headers.size() < 7900) headers += "a:\r\n";
    CHECK(status_of(s.get("/healthz", headers)) == ok);
    CHECK(status_of(s.get("/healthz", "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"))
              .starts_with("HTTP/1.1 "));
    CHECK(status_of(s.get("/healthz")) == ok);
}

TEST_CASE("connections that say nothing, or little, or do not read hold up nobody, and end") {
    served s({}, {.connections = 16, .to_ask = 600ms, .to_read_it = 600ms});
    for (int i = 0; i < 20000; ++i)
        s.facts.row.resources.push_back({"", "v" + std::to_string(i), "variable", "", "float", 4, 1});
    std::vector<raw_socket> silent, reads_nothing;
    for (int i = 0; i < 40; ++i) {
        silent.emplace_back(s.server.address());
        if (i % 2) silent.back().write(to_bytes("GET /hea"));
        reads_nothing.emplace_back(s.server.address(), 1024);
        reads_nothing.back().write(to_bytes("GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        CHECK(status_of(s.get("/healthz")) == ok);
    }
    for (raw_socket& one : silent) CHECK(rest_of(one) == ""); // closed, without a word
    for (raw_socket& one : reads_nothing) (void)rest_of(one); // that it ends is what counts
    CHECK(status_of(s.get("/healthz")) == ok);
}

TEST_CASE("a status that other tasks are asked for waits for them, and no longer than its time; nobody else does") {
    served s({}, {.to_answer = 300ms});
    s.facts.tells = false;
    raw_socket first(s.server.address()), second(s.server.address());
    const bytes asks = to_bytes("GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    first.write(asks);
    second.write(asks);
    CHECK(status_of(s.get("/healthz")) == ok);
    CHECK(has(rest_of(first), "\"task\":\"/job:worker/task:0\"")); // what it knows itself
    CHECK(status_of(rest_of(second)) == ok);
    CHECK(s.facts.asked == 1); // for both
    // What comes late is there for who asks then, and what comes when the server is gone is nobody's.
    REQUIRE(s.facts.waiting.size() == 1);
    task_row other = s.facts.row;
    other.task = "/job:ps/task:0";
    s.facts.waiting[0]({s.facts.row, other});
    s.facts.tells = true;
    CHECK(has(s.get("/status.json"), "/job:ps/task:0"));
    s.facts.tells = false;
    std::function<void(std::vector<task_row>)> late;
    {
        served ends({}, {.to_answer = 100ms});
        ends.facts.tells = false;
        (void)ends.get("/status.json");
        late = ends.facts.waiting.at(0);
    }
    late({other});
}

TEST_CASE("HTTPS with the server's certificate; who asks needs none, and what is no TLS is closed") {
    certificate_maker authority("an authority");
    const auto own = authority.make({"localhost", "127.0.0.1"});
    made_up_facts facts;
    const http_server s(facts,
                        {.where = "0", .token = "secret", .tls = {own.certificate, own.key, authority.authority()}});
    CHECK(s.url() == "https://" + s.address());
    CHECK_FALSE(contains(answer_to(s.address(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/"));
    const std::string command = "openssl s_client -quiet -connect " + s.address() + " -verify_return_error -CAfile " +
                                authority.authority() + " 2>/dev/null";
    const std::string said = "printf 'GET /?token=secret HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' | " + command;
    std::string all;
    FILE* const from = ::popen(said.c_str(), "r");
    REQUIRE(from);
    for (char some[4096]; const std::size_t n = std::fread(some, 1, sizeof some, from);) all.append(some, n);
    ::pclose(from);
    if (all.empty()) return; // there is no openssl here
    CHECK(status_of(all) == "HTTP/1.1 303 See Other");
    CHECK(has(all, "; Secure"));
}

TEST_CASE("a port that is taken is named with who asked for it; signals stay as they were") {
    made_up_facts facts;
    struct sigaction before {
    }, after{};
    ::sigaction(SIGPIPE, nullptr, &before);
    const http_server first(facts, {.where = "0"});
    ::sigaction(SIGPIPE, nullptr, &after);
    CHECK((before.sa_handler == after.sa_handler));
    const std::string port = first.address().substr(first.address().rfind(':') + 1);
    CHECK_ERROR(tn::unavailable_error,
                "TENON_HTTP=\"" + port + "\": cannot listen on 127.0.0.1:" + port + ": address already in use",
                http_server(facts, {.where = port, .said_by = "TENON_HTTP"}));
}
