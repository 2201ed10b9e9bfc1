#include <doctest/doctest.h>

#include <tenon/core/text/edit_distance.hpp>

using tenon::detail::edit_distance;

TEST_CASE("the distance of two words is the least number of letters that are changed, put in or taken out") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("serve", "serve") == 0);
    CHECK(edit_distance("", "stop") == 4);
    CHECK(edit_distance("stop", "") == 4);
    CHECK(edit_distance("serve", "server") == 1);
    CHECK(edit_distance("sreve", "serve") == 2);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("sitting", "kitten") == 3);
}
