#include <deque>

#include <net/http/http_client.hpp>
#include <tenon/net/serving.hpp>

#include "tests.hpp"
#include "../../serve/gated.hpp"

// S47: requests whose JSON is large are read, and their answers written, beside those of others.

using namespace net_test;
using serve_test::comes;

namespace {

// A model that gives back what it is given; of large requests when it is let, as if they took so long to be read.
struct echoing final : tn::detail::served_model_state {
    const tn::model_signature& signature() const override { return signature_; }
    std::shared_ptr<tn::detail::asked_request> ask(std::uint64_t, std::vector<tn::any_array> inputs, double, bool,
                                                   tn::shared_function<void(tn::model_answer&&)> then) override {
        if (inputs[0].elements() >= large) {
            ++large_ones;
            if (!comes([&] { return may_go.load(); })) ++not_let;
        }
        then({std::move(inputs), 1, nullptr});
        return nullptr;
    }
    tn::serving_metrics metrics() const override { return {}; }
    std::string why_not_ready() const override { return {}; }

    static constexpr std::int64_t large = 10000;
    std::atomic<bool> may_go{false};
    std::atomic<int> large_ones{0}, not_let{0};

private:
    const tn::model_signature signature_{"echo",
                                         {{"x", {tn::element_type::float32, {tn::dynamic_extent, tn::dynamic_extent}}}},
                                         {{"x", {tn::element_type::float32, {tn::dynamic_extent, tn::dynamic_extent}}}},
                                         32};
};

struct echo_server {
    echo_server() { http.add(tn::any_served_model(model)); }
    const std::shared_ptr<echoing> model = std::make_shared<echoing>();
    tn::net::inference_server http;
};

// So many numbers that begin with one that is this request's.
std::string elements(std::int64_t count, std::int64_t first) {
    std::string all = "[";
    for (std::int64_t i = 0; i < count; ++i) all += (i > 0 ? "," : "") + std::to_string(first + i % 100) + ".0";
    return all + "]";
}
std::string tensor(std::int64_t count, const std::string& data) {
    return R"([{"name":"x","datatype":"FP32","shape":[1,)" + std::to_string(count) + R"(],"data":)" + data + "}]";
}
std::string request(std::int64_t count, const std::string& data, const std::string& more = {}) {
    const std::string body = R"({"inputs":)" + tensor(count, data) + more + "}";
    return "POST /v2/models/echo/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
std::string request(std::int64_t count, std::int64_t first) { return request(count, elements(count, first)); }
std::string answer_of(std::int64_t count, std::int64_t first) {
    return R"({"model_name":"echo","model_version":"1","outputs":)" + tensor(count, elements(count, first)) + "}";
}

} // namespace

TEST_CASE("S47: small requests are answered while large ones are read") {
    echo_server s;
    constexpr int count = 4;
    std::deque<kept> large;
    for (int i = 0; i < count; ++i) large.emplace_back(s.http.address()).send(request(echoing::large, i));
    REQUIRE(comes([&] { return s.model->large_ones > 0; }));
    kept small(s.http.address());
    for (int i = 0; i < 50; ++i) {
        small.send(request(3, i));
        CHECK(body_of(small.receive()) == answer_of(3, i));
    }
    CHECK(s.model->not_let == 0); // none of the large ones has gone on
    s.model->may_go = true;
    for (int i = 0; i < count; ++i)
        CHECK((body_of(large[static_cast<std::size_t>(i)].receive()) == answer_of(echoing::large, i)));
    CHECK(s.model->large_ones == count);
}

TEST_CASE("S47: large and small requests of many connections are each answered once, in the order of their connection; "
          "some connections end before") {
    echo_server s;
    s.model->may_go = true;
    std::mt19937 random(11);
    for (int round = 0; round < 5; ++round) {
        struct asker {
            kept connection;
            std::vector<std::string> wanted{};
        };
        std::deque<asker> all;
        for (int c = 0; c < 8; ++c) {
            asker& a = all.emplace_back(asker{kept(s.http.address())});
            std::string sent;
            for (int i = 0; i < 6; ++i) {
                const std::int64_t n = random() % 2 ? random() % 20 + 1 : random() % 5000 + 1;
                const std::int64_t first = random() % 1000;
                sent += request(n, first);
                a.wanted.push_back(answer_of(n, first));
            }
            a.connection.send(sent);
        }
        for (std::size_t c = 0; c < all.size(); ++c)
            for (std::size_t i = 0; i < (c % 3 == 2 ? 2 : all[c].wanted.size()); ++i) // the others go
                CHECK((body_of(all[c].connection.receive()) == all[c].wanted[i]));
    }
}

TEST_CASE("S47: a large request is refused as a small one is, and is late when its time is over before it was read") {
    echo_server s;
    s.model->may_go = true;
    kept k(s.http.address());
    k.send(request(3, elements(20000, 0)));
    const std::string wrong = k.receive();
    CHECK(status_of(wrong) == "HTTP/1.1 400 Bad Request");
    CHECK(contains(wrong, "input 'x' has more elements than its shape"));
    k.send(request(20000, elements(20000, 0), R"(,"parameters":{"timeout":1})"));
    const std::string late = k.receive();
    CHECK(status_of(late) == "HTTP/1.1 504 Gateway Timeout");
    CHECK(contains(late, "until the request was read"));
    k.send(request(20000, 7));
    CHECK((body_of(k.receive()) == answer_of(20000, 7)));
}
