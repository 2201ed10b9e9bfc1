#include <net/server/servers.hpp>
#include <tenon/net/serving.hpp>

#include "tests.hpp"
#include "summing.hpp"

// S47: a model is asked from other processes over tenon://.

using namespace net_test;
using namespace serve_test;

namespace {

using inputs = tn::model_inputs<tn::component<float, rows4>>;
using outputs = tn::model_outputs<tn::component<float, tn::shape<batch>>>;

} // namespace

TEST_CASE("S47: a model of another process is asked as one's own: typed, in order, with versions and errors") {
    const clients_that quick_clients;
    summing served({.largest_batch = 4});
    tn::server here = tn::server::create_local_server(quick());
    tn::net::serve_model(here, *served.server);
    CHECK_THROWS_AS(tn::net::serve_model(here, *served.server), tn::already_exists_error);

    const tn::any_served_model any = tn::net::remote_model(here.target(), "sums");
    CHECK(any.signature().inputs[0].name == "x");
    CHECK(to_string(any.signature().inputs[0].type) == "float[batch, 4]");
    CHECK(any.signature().largest_batch == 4);
    CHECK(any.metrics().version == 1);
    CHECK(any.why_not_ready().empty());
    const auto there = any.as<inputs, outputs>();
    std::vector<tn::pending_answer<tn::tensor<float, tn::shape<batch>>>> asked;
    for (int i = 0; i < 100; ++i) asked.push_back(there.start(rows(1 + i % 4, static_cast<float>(i))));
    for (int i = 99; i >= 0; --i) {
        const auto& a = asked[static_cast<std::size_t>(i)];
        const auto [y] = a.get();
        CHECK(y.extent(0) == 1 + i % 4);
        CHECK(y(0) == 4 * static_cast<float>(i) + 0.75f);
        CHECK(a.version() == 1);
        if (i == 99)
            for (const auto& before : asked) CHECK(before.has_ended()); // in the order in which they were asked
    }
    CHECK_ERROR(tn::invalid_argument_error, "float[1, 5] does not fit float[batch, 4]",
                there(tn::array<float>(tn::extents{1, 5})));
    CHECK_ERROR(tn::not_found_error, "no model 'none' is served here; there is 'sums'",
                tn::net::remote_model(here.target(), "none"));
    CHECK_ERROR(tn::invalid_argument_error, "asked for as int32[batch, 4]",
                any.as<tn::model_inputs<tn::component<std::int32_t, rows4>>, outputs>());
    tn::net::withdraw_model(here, "sums");
    CHECK_THROWS_AS((void)there(rows(1, 0)), tn::not_found_error);
}

TEST_CASE(
    "S47: over tenon:// a full queue refuses, a late request is told so, and one that is stopped is not computed") {
    const clients_that quick_clients;
    summing served({.largest_batch = 1, .capacity = 2, .wait_when_full = true}, true);
    tn::server here = tn::server::create_local_server(quick());
    tn::net::serve_model(here, *served.server);
    const auto there = tn::net::remote_model(here.target(), "sums").as<inputs, outputs>();
    const auto begun = there.start(rows(1, 0));
    REQUIRE(comes([&] { return served.server->metrics().computing == 1; }));
    const auto late = there.start_for(0.05, rows(1, 1)), stopped = there.start(rows(1, 2));
    REQUIRE(comes([&] { return served.server->metrics().waiting == 2 || late.has_ended(); }));
    CHECK_THROWS_AS(late.get(), tn::deadline_exceeded_error);
    const auto more = there.start(rows(1, 3));
    REQUIRE(comes([&] { return served.server->metrics().waiting == 2; }));
    const auto refused = there.start(rows(1, 4)); // a remote asker never holds up the server's threads
    CHECK_THROWS_AS(refused.get(), tn::resource_exhausted_error);
    stopped.stop();
    CHECK_THROWS_AS(stopped.get(), tn::cancelled_error);
    CHECK(comes([&] { return served.server->metrics().cancelled == 1; }));
    served.held->open(*served.sess, 2);
    CHECK(std::get<0>(begun.get())(0) == 0.75f);
    CHECK(std::get<0>(more.get())(0) == 12.75f);
    CHECK(served.server->metrics().batches == 2);
}

TEST_CASE("S47: what a client that has gone had asked, and was not begun, is not computed; others are answered") {
    const clients_that quick_clients;
    summing served({.largest_batch = 1}, true);
    tn::server here = tn::server::create_local_server(quick());
    tn::net::serve_model(here, *served.server);
    const auto stays = tn::net::remote_model(here.target(), "sums").as<inputs, outputs>();
    {
        const auto leaves = tn::net::remote_model(here.target(), "sums").as<inputs, outputs>();
        const auto begun = leaves.start(rows(1, 0));
        REQUIRE(comes([&] { return served.server->metrics().computing == 1; }));
        (void)leaves.start(rows(1, 1));
        (void)leaves.start(rows(1, 2));
        REQUIRE(comes([&] { return served.server->metrics().waiting == 2; }));
    }
    CHECK(comes([&] { return served.server->metrics().waiting == 0; }));
    const auto other = stays.start(rows(1, 3));
    served.held->open(*served.sess, 2);
    CHECK(std::get<0>(other.get())(0) == 12.75f);
    CHECK(comes([&] { return served.server->metrics().batches == 2; }));
    CHECK(served.server->metrics().cancelled == 2);
}

TEST_CASE("S47: a server may end as soon as its last answer is there, while the model's thread is still answering") {
    const clients_that quick_clients;
    summing served;
    for (int round = 0; round < 100; ++round) {
        tn::server here = tn::server::create_local_server(quick());
        tn::net::serve_model(here, *served.server);
        const auto there = tn::net::remote_model(here.target(), "sums").as<inputs, outputs>();
        REQUIRE(std::get<0>(there(rows(1, 1)))(0) == 4.75f);
    }
}

TEST_CASE("S47: a server that is lost fails what it was asked, by name; once it is back it is asked again by the same "
          "handle") {
    const clients_that quick_clients;
    summing served({.largest_batch = 4}, true);
    servers all(1, 1);
    tn::net::serve_model(all.at("ps", 0), *served.server);
    const auto there = tn::net::remote_model(all.target("ps", 0), "sums").as<inputs, outputs>();
    const auto pending = there.start(rows(1, 0));
    REQUIRE(comes([&] { return served.server->metrics().computing == 1; }));
    all.stop("ps", 0);
    CHECK_ERROR(tn::unavailable_error, all.cluster.address("ps", 0), pending.get());
    CHECK_ERROR(tn::unavailable_error, "cannot be reached", there.run_for(20, rows(1, 0)));
    CHECK_FALSE(there.why_not_ready().empty());
    served.held->open(*served.sess, 10);
    all.start("ps", 0);
    CHECK_THROWS_AS((void)there(rows(1, 0)), tn::error); // it serves no model yet, or is another one than it was
    tn::net::serve_model(all.at("ps", 0), *served.server);
    CHECK(comes([&] {
        try {
            return std::get<0>(there(rows(1, 1)))(0) == 4.75f;
        } catch (const tn::error&) {
            return false;
        }
    }));
}

TEST_CASE("S47: a handle whose server comes back with another model of the name says so, whatever that answers") {
    const clients_that quick_clients;
    using two = tn::model_outputs<tn::component<float, tn::shape<batch>>, tn::component<float, tn::shape<batch>>>;
    const auto sums = [](auto v) { return tn::sum<1>(v); };
    const auto both = [](auto v) { return std::tuple(tn::sum<1>(v), tn::sum<1>(v) * 2.0f); };
    const auto whole = [](auto v) { return std::tuple(tn::cast<std::int64_t>(v), v); };
    const own_graph g;
    const auto x = tn::placeholder<float, rows4>("x");
    tn::session sess;
    tn::model_server first(sess, tn::feeds(x), both, {.name = "sums"});
    tn::model_server fewer(sess, tn::feeds(x), sums, {.name = "sums"});
    tn::model_server other(sess, tn::feeds(x), whole, {.name = "sums"});
    tn::server here = tn::server::create_local_server(quick());
    tn::net::serve_model(here, first);
    const auto there = tn::net::remote_model(here.target(), "sums").as<inputs, two>();
    CHECK(std::get<1>(there(rows(1, 0)))(0) == 1.5f);
    tn::net::withdraw_model(here, "sums");
    tn::net::serve_model(here, fewer);
    CHECK_ERROR(tn::invalid_argument_error, "the answer has 1 outputs, and the model was asked for as one of 2",
                there(rows(1, 0)));
    tn::net::withdraw_model(here, "sums");
    tn::net::serve_model(here, other);
    CHECK_THROWS_AS((void)there(rows(1, 0)), tn::invalid_argument_error);
}
