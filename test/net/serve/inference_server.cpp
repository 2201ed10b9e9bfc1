#include <fstream>

#include <net/http/http_client.hpp>
#include <net/http/request_head.hpp>
#include <net/transport/certificates.hpp>
#include <tenon/net/serving.hpp>

#include "tests.hpp"
#include "summing.hpp"

// S47: a model is asked by HTTP, as clients of the Open Inference Protocol do.

using namespace net_test;
using namespace serve_test;

namespace {

const std::string ok = "HTTP/1.1 200 OK";

struct served : summing {
    explicit served(tn::net::inference_options o = {}, bool is_gated = false, tn::model_server_options m = {}) :
        summing(with_output(std::move(m)), is_gated), http(o) {
        http.add(*server);
    }
    static tn::model_server_options with_output(tn::model_server_options m) {
        m.outputs = {"sum"};
        return m;
    }
    tn::net::inference_server http;
};

const std::string one_row = R"({"inputs":[{"name":"x","shape":[1,4],"datatype":"FP32","data":[1,2,3,4]}]})";
// A request whose connection goes on.
std::string whole(const std::string& body, const std::string& model = "sums") {
    return "POST /v2/models/" + model +
           "/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string post(const served& s, const std::string& path, const std::string& body, const std::string& headers = {}) {
    return answer_to(s.http.address(), "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                                           headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                           body);
}
std::string read(const served& s, const std::string& path, const std::string& headers = {}) {
    return get(s.http.address(), path, "Connection: close\r\n" + headers);
}

} // namespace

TEST_CASE("S47: /v2 says what there is, and whether it answers") {
    served s;
    CHECK(contains(body_of(read(s, "/v2")), R"("name":"tenon")"));
    CHECK(contains(body_of(read(s, "/v2")), "binary_tensor_data"));
    CHECK(status_of(read(s, "/v2/health/live")) == ok);
    CHECK(status_of(read(s, "/v2/health/ready")) == ok);
    CHECK(contains(body_of(read(s, "/v2/models/sums")), R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}])"));
    CHECK(status_of(read(s, "/v2/models/sums/ready")) == ok);
    CHECK(status_of(read(s, "/v2/models/sums/versions/1/ready")) == ok);
    CHECK(status_of(read(s, "/v2/models/sums/versions/1")) == ok);
    CHECK(contains(read(s, "/v2/models/sums/versions/2"), R"(404 Not Found)"));
    CHECK(contains(body_of(read(s, "/v2/models/other")), R"({"error":"there is no model 'other'; there is 'sums'"})"));
    CHECK(contains(body_of(read(s, "/v2/models/sums/config")), "max_batch_size"));
    CHECK(contains(body_of(read(s, "/metrics")), "tenon_serving_waiting{model=\"sums\"} 0"));
    CHECK(status_of(read(s, "/elsewhere")) == "HTTP/1.1 404 Not Found");
    CHECK(status_of(post(s, "/v2/models/sums", "{}")) == "HTTP/1.1 405 Method Not Allowed");
    CHECK(status_of(read(s, "/v2/models/sums/infer")) == "HTTP/1.1 405 Method Not Allowed");
    CHECK(body_of(read(s, "/v2/repository/index")) == R"([{"name":"sums","version":"1","state":"READY","reason":""}])");
    (void)s.server->close();
    CHECK(contains(status_of(read(s, "/v2/health/ready")), "503"));
    CHECK(contains(status_of(read(s, "/v2/models/sums/ready")), "503"));
    CHECK(body_of(read(s, "/v2/repository/index")) ==
          R"([{"name":"sums","version":"1","state":"UNAVAILABLE","reason":")" + s.server->why_not_ready() + "\"}]");
    CHECK(status_of(post(s, "/v2/models/sums/infer", one_row)) == "HTTP/1.1 503 Service Unavailable");
    CHECK_THROWS_AS(s.http.add(*s.server), tn::already_exists_error);
    s.http.remove("sums");
    CHECK_THROWS_AS(s.http.remove("sums"), tn::not_found_error);
    CHECK(contains(status_of(read(s, "/v2/models/sums")), "404"));
}

TEST_CASE("S47: requests are answered, one after another on a connection, and refused with the right codes") {
    served s;
    const std::string a = post(s, "/v2/models/sums/infer", one_row);
    CHECK(status_of(a) == ok);
    CHECK(
        body_of(a) ==
        R"({"model_name":"sums","model_version":"1","outputs":[{"name":"sum","datatype":"FP32","shape":[1],"data":[10.0]}]})");
    CHECK(contains(status_of(post(s, "/v2/models/sums/versions/1/infer", one_row)), "200"));
    CHECK(contains(status_of(post(s, "/v2/models/sums/versions/9/infer", one_row)), "404"));
    CHECK(contains(status_of(post(s, "/v2/models/none/infer", one_row)), "404"));
    const std::string bad =
        post(s, "/v2/models/sums/infer", R"({"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]})");
    CHECK(status_of(bad) == "HTTP/1.1 400 Bad Request");
    CHECK(contains(body_of(bad), "float[1, 3] does not fit float[batch, 4]"));
    CHECK(contains(status_of(post(s, "/v2/models/sums/infer", "what")), "400"));
    CHECK(contains(status_of(post(s, "/v2/models/sums/infer", one_row, "Content-Encoding: gzip\r\n")), "415"));
    CHECK(contains(status_of(post(s, "/v2/models/sums/infer", one_row, "Inference-Header-Content-Length: 5x\r\n")),
                   "400"));

    kept k(s.http.address());
    const std::string request = whole(one_row);
    for (int i = 0; i < 3; ++i) {
        k.send(request);
        CHECK(contains(k.receive(), "[10.0]"));
    }
    std::string many; // sent without waiting
    for (int i = 0; i < 50; ++i) many += request;
    k.send(many);
    for (int i = 0; i < 50; ++i) CHECK(contains(k.receive(), "[10.0]"));
    for (const char c : request) k.send(std::string(1, c)); // byte by byte
    CHECK(contains(k.receive(), "[10.0]"));
    k.send("POST /v2/models/sums/infer HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(one_row.size()) + "\r\n\r\n");
    std::array<std::byte, 25> told;
    std::size_t n = 0;
    while (n < told.size()) n += k.socket.read(std::span(told).subspan(n));
    CHECK(std::string(reinterpret_cast<const char*>(told.data()), n) == "HTTP/1.1 100 Continue\r\n\r\n");
    k.send(one_row);
    CHECK(status_of(k.receive()) == ok);
}

TEST_CASE("S47: bodies have limits, and what two readers could read differently is refused") {
    served s({.body_bytes = 1000});
    const auto head = [&](const std::string& headers) {
        return status_of(answer_to(s.http.address(),
                                   "POST /v2/models/sums/infer HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n"));
    };
    CHECK(head("Content-Length: 1001\r\n") == "HTTP/1.1 413 Payload Too Large");
    CHECK(head("Content-Length: 99999999999999999999999\r\n") == "HTTP/1.1 413 Payload Too Large");
    CHECK(head("Transfer-Encoding: chunked\r\n") == "HTTP/1.1 411 Length Required");
    CHECK(contains(
        answer_to(s.http.address(), "POST /v2 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"),
        R"({"error":"bodies in chunks are not read; send the body's Content-Length"})"));
    CHECK(head("Content-Length: 5\r\nContent-Length: 6\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(head("Content-Length: -5\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(head("Content-Length: 5 6\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(head("Content-Length : 5\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(head("X: " + std::string(10000, 'a') + "\r\n") == "HTTP/1.1 431 Request Header Fields Too Large");
    CHECK(status_of(read(s, "/v2/health/live")) == ok);
}

TEST_CASE("S47: a full queue is 503, a late request 504; who goes is not computed for; others are answered meanwhile") {
    served s({}, true, {.largest_batch = 1, .capacity = 2, .wait_when_full = true});
    kept begun(s.http.address()), waiting(s.http.address());
    begun.send(whole(one_row));
    REQUIRE(comes([&] { return s.server->metrics().computing == 1; }));
    waiting.send(whole(one_row));
    {
        const std::string late = post(s, "/v2/models/sums/infer",
                                      one_row.substr(0, one_row.size() - 1) + R"(,"parameters":{"timeout":20000}})");
        CHECK(status_of(late) == "HTTP/1.1 504 Gateway Timeout");
        CHECK(contains(late, "longer than 0.02 s"));
    }
    {
        kept goes(s.http.address());
        goes.send(whole(one_row));
        REQUIRE(comes([&] { return s.server->metrics().waiting == 2; }));
        const std::string full = post(s, "/v2/models/sums/infer", one_row);
        CHECK(status_of(full) == "HTTP/1.1 503 Service Unavailable");
        CHECK(contains(full, "Retry-After: 1"));
        CHECK(contains(full, "2 requests wait"));
    }
    CHECK(comes([&] { return s.server->metrics().waiting == 1; })); // of the one that has gone nothing is computed
    CHECK(s.server->metrics().cancelled == 1);
    CHECK(status_of(read(s, "/v2/health/ready")) == ok);
    s.held->open(*s.sess, 2);
    CHECK(contains(begun.receive(), "[10.0]"));
    CHECK(contains(waiting.receive(), "[10.0]"));
}

TEST_CASE("S47: what a model was asked before it was removed is answered by it, whatever has its name since") {
    served s({}, true);
    kept first(s.http.address()), second(s.http.address());
    first.send(whole(one_row));
    REQUIRE(comes([&] { return s.server->metrics().computing == 1; }));
    s.http.remove("sums");
    CHECK(contains(status_of(post(s, "/v2/models/sums/infer", one_row)), "404"));
    s.held->open(*s.sess);
    CHECK(contains(first.receive(), R"("outputs":[{"name":"sum")"));
    s.http.add(*s.server);
    second.send(whole(one_row));
    REQUIRE(comes([&] { return s.server->metrics().computing == 1; }));
    s.http.remove("sums");
    summing other({.outputs = {"total"}});
    s.http.add(*other.server);
    CHECK(contains(post(s, "/v2/models/sums/infer", one_row), R"("outputs":[{"name":"total")"));
    s.held->open(*s.sess);
    CHECK(contains(second.receive(), R"("outputs":[{"name":"sum")"));
}

TEST_CASE_FIXTURE(in_graph, "S47: a model has a name that a path can have; what it may be is said when it is added") {
    const auto x = tn::placeholder<float, rows4>("x");
    tn::session sess(g);
    tn::net::inference_server http;
    const auto add = [&](const std::string& name) {
        tn::model_server m(sess, tn::feeds(x), [](auto v) { return tn::sum<1>(v); }, {.name = name});
        http.add(m);
    };
    for (const std::string name : {"stats", ".", "..", "\xff\xfe"}) {
        CAPTURE(name);
        CHECK_ERROR(tn::invalid_argument_error, "model_server_options::name", add(name));
    }
    CHECK_THROWS_WITH(add("\xff"), doctest::Contains("UTF-8"));
    CHECK_THROWS_WITH(add("stats"), doctest::Contains("/v2/models/stats is of all models"));
    for (const std::string name :
         {"v2", "versions", "infer", "a;b", "a&b=c", "a+b", "\xc3\xa4", "a\"b\\c", "...", "a\x01"}) {
        CAPTURE(name);
        add(name);
        std::string path = "/v2/models/";
        for (const char c : name) {
            constexpr char digits[] = "0123456789ABCDEF";
            const auto byte = static_cast<unsigned char>(c);
            path += {'%', digits[byte / 16], digits[byte % 16]};
        }
        CHECK(status_of(get(http.address(), path, "Connection: close\r\n")) == ok);
    }
    CHECK(status_of(get(http.address(), "/v2/repository/index", "Connection: close\r\n")) == ok);
}

TEST_CASE("S47: what is no request ends its connection, and says so") {
    const served s;
    for (const std::string wrong : {"what is this\r\n\r\n", "FOO /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                    "GET /v2\r\n\r\n", "GET /v2 HTTP/9.9\r\nConnection: close\r\n\r\n"}) {
        CAPTURE(wrong);
        const std::string a = answer_to(s.http.address(), wrong); // until it ends
        CHECK(status_of(a) == "HTTP/1.1 400 Bad Request");
        CHECK(contains(a, "Connection: close\r\n"));
    }
}

TEST_CASE("S47: a token is wanted where there is one, but for health; by a foreign name nothing is told without") {
    served s({.token = "secret"});
    CHECK(status_of(read(s, "/v2/health/live")) == ok);
    CHECK(contains(status_of(read(s, "/v2/models/sums")), "401"));
    CHECK(status_of(read(s, "/v2/models/sums", "Authorization: Bearer secret\r\n")) == ok);
    CHECK(contains(status_of(post(s, "/v2/models/sums/infer", one_row)), "401"));
    CHECK(status_of(post(s, "/v2/models/sums/infer", one_row, "Authorization: Bearer secret\r\n")) == ok);
    served open;
    CHECK(contains(
        status_of(answer_to(open.http.address(),
                            "GET /v2/models/sums HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")),
        "421"));
    CHECK_THROWS_AS(tn::net::inference_server({.where = "0.0.0.0:0"}), tn::permission_denied_error);
    CHECK_THROWS_AS(tn::net::inference_server({.where = "nowhere"}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::net::inference_server({.request_timeout = 0}), tn::invalid_argument_error);
}

// Waits for the client that test/net/serve/python_client.sh runs; nothing without it.
TEST_CASE("a model for a Python client") {
    const char* const folder = std::getenv("TENON_INFERENCE_FOLDER");
    if (!folder) return;
    const own_graph g;
    const auto x = tn::placeholder<float, rows4>("x");
    const auto ids = tn::placeholder<std::int64_t, tn::shape<batch>>("ids");
    const auto names = tn::placeholder<std::string, tn::shape<batch>>("names");
    tn::session sess;
    tn::model_server server(
        sess, tn::feeds(x, ids, names),
        [](auto v, auto i, auto n) {
            return std::tuple(v * 2.0f, i + std::int64_t{1}, tn::identity(n), tn::sum<1>(v) > 2.0f);
        },
        {.name = "all", .outputs = {"twice", "next", "same", "large"}, .largest_batch = 8, .longest_wait = 0.001});
    tn::net::inference_server http;
    http.add(server);
    const std::string at = std::string(folder) + "/address";
    std::ofstream(at + ".new") << http.address();
    std::rename((at + ".new").c_str(), at.c_str());
    CHECK(comes([&] { return std::ifstream(std::string(folder) + "/done").good(); }));
    CHECK(server.metrics().answered > 0);
}
