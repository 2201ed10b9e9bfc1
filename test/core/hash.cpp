#include <doctest/doctest.h>

#include <tenon/core/hash.hpp>

TEST_CASE("fnv1a is FNV-1a of 64 bits, by its published test values, and goes on from what was hashed") {
    using tenon::detail::fnv1a;
    CHECK(fnv1a("") == 0xcbf29ce484222325u);
    CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cu);
    CHECK(fnv1a("foobar") == 0x85944171f73967e8u);
    CHECK(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
}
