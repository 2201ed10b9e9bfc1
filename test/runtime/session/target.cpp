#include "tests.hpp"

TEST_CASE("session: an empty target is this process") {
    const auto three = tn::constant(1.0f) + tn::constant(2.0f);
    tn::session sess("");
    CHECK(sess.run(three)() == 3.0f);
}

TEST_CASE("session: a target that nothing opens says what to link, or how targets are written") {
    CHECK_THROWS_WITH_AS(tn::session("tenon://localhost:2222"),
                         doctest::Contains("target_link_libraries(program tenon::net)"), tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::session("grpc://localhost:2222"), doctest::Contains("targets are \"tenon://host:port\""),
                         tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::session("localhost:2222"),
                         doctest::Contains("the target \"localhost:2222\" is no \"tenon://host:port\""),
                         tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::session::reset("localhost:2222"), tn::invalid_argument_error);
}
