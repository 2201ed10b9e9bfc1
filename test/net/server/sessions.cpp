#include <doctest/doctest.h>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

TEST_CASE("TOUR 1, SEMANTICS 22: a local server, and a session on it") {
    tn::server s = tn::server::create_local_server();
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto hello = tn::constant(std::string("Hello distributed Tenon!"));
    tn::session sess(s.target(), g);
    CHECK(sess.run(hello)() == "Hello distributed Tenon!");
}

TEST_CASE("SEMANTICS 24: a session on a server behaves as a local one") {
    tn::server s = tn::server::create_local_server();
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto v = tn::variable<float, tn::shape<>>("v", tn::zeros());
    const auto add = v.assign_add(tn::sum(x));
    tn::session sess(s.target(), g);
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x), tn::fetches(add));
    const tn::array<float, tn::shape<tn::dyn>> three{1.0f, 1.0f, 1.0f};
    for (int i = 1; i <= 5; ++i) {
        auto [sum] = step(three);
        CHECK(sum() == 3.0f * static_cast<float>(i));
    }
    CHECK(sess.run(v)() == 15.0f);
    CHECK_THROWS_AS(sess.run(x + 1.0f), tn::invalid_argument_error);
    const auto w = tn::variable<float, tn::shape<>>("w", tn::zeros());
    CHECK_THROWS_AS(sess.run(w), tn::failed_precondition_error); // SEMANTICS 18, in a graph that has grown
    sess.close();
    CHECK_THROWS_WITH_AS(sess.run(v), "Session is closed.", tn::failed_precondition_error);
}
