#include <chrono>

#include <tenon/train/session/leadership.hpp>

#include "tests.hpp"

TEST_CASE("SEMANTICS 28: where the task of the lease has begun anew the last chief is it again, or, after a lease's "
          "time, another") {
    tn::task shared;
    const own_graph g;
    const auto v = tn::variable("v", 1.0f);
    const double seconds = 0.2;
    tn::detail::leadership first({"c", true, seconds}, v), second({"c", false, seconds}, v),
        third({"c", false, seconds}, v);
    tn::session s(shared);
    CHECK_FALSE(third.claim(s)); // there has been none
    CHECK(first.claim(s));
    CHECK_FALSE(second.claim(s));
    CHECK_FALSE(third.claim(s));
    const auto begun = std::chrono::steady_clock::now();
    shared.reset({""}); // and the first is gone
    while (!second.claim(s)) REQUIRE(std::chrono::steady_clock::now() - begun < std::chrono::seconds(60));
    CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::duration<double>(seconds));
    CHECK_FALSE(third.claim(s));
    shared.reset({""});
    CHECK_FALSE(third.claim(s));
    CHECK(second.claim(s));
    CHECK_FALSE(third.claim(s));
    CHECK(contains(second.chief(), ", term 3"));
}
