#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/core/error.hpp>

#include "random_graphs/compare.hpp"
#include "random_graphs/generator.hpp"
#include "random_graphs/shrink.hpp"

// What finds and shrinks failing programs, on failures that are made up.

using namespace random_graphs;

namespace {

bool has_op(const program& p, const std::string& op) {
    for (const auto& n : p.graph.at("nodes"))
        if (n.at("op") == op) return true;
    return false;
}

// The first program of a seed from 1 on in which an update runs after another node, and something is fetched.
program with_an_update() {
    for (std::uint64_t seed = 1;; ++seed) {
        const program p = generate(seed).made;
        const bool fetches =
            std::any_of(p.steps.begin(), p.steps.end(), [](const step& s) { return !s.fetches.empty(); });
        if (p.graph.at("nodes").size() > 30 && has_op(p, "assign") && has_op(p, "matmul") && p.steps.size() > 2 &&
            fetches)
            return p;
    }
}

} // namespace

TEST_CASE("the same seed gives the same program, which is read as it was printed") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::string text = to_json(generate(seed).made);
        CHECK(to_json(generate(seed).made) == text);
        const std::string again = to_json(program_from_json(text));
        CHECK(to_json(program_from_json(again)) == again);
    }
}

TEST_CASE("what does not matter for a failure is left out") {
    const program all = with_an_update();
    SUBCASE("of all nodes a matmul alone, its operands made constants or none of its operands' makers left") {
        const program p = shrink(all, [](const program& q) {
            (void)graph_of(q); // a graph that can be read
            return has_op(q, "matmul");
        });
        CHECK(has_op(p, "matmul"));
        CHECK(p.graph.at("nodes").size() < all.graph.at("nodes").size() / 2);
    }
    SUBCASE("steps, fetches, targets and feeds") {
        const program p = shrink(all, [](const program& q) { return !q.graph.at("nodes").empty(); });
        CHECK(p.steps.empty());
    }
    SUBCASE("a failure that needs one fetched tensor keeps that and nothing else") {
        const std::string kept = [&] {
            for (const step& s : all.steps)
                if (!s.fetches.empty()) return s.fetches.front();
            return std::string();
        }();
        REQUIRE(!kept.empty());
        const program p = shrink(all, [&](const program& q) {
            const tenon::graph g = graph_of(q);
            for (const step& s : q.steps)
                for (const std::string& f : s.fetches)
                    if (f == kept) return g.tensor(f).rank() >= 0;
            return false;
        });
        REQUIRE(p.steps.size() == 1);
        CHECK(p.steps[0].fetches == std::vector<std::string>{kept});
        CHECK(p.steps[0].targets.empty());
        CHECK(p.steps[0].feeds.empty());
    }
}

TEST_CASE("steps are cut short, and variables in parts, only as long as that matters") {
    const auto is_cut = [](const program& p) {
        return std::any_of(p.steps.begin(), p.steps.end(), [](const step& s) { return s.cut != step::cut_short::no; });
    };
    const auto is_in_parts = [](const program& p) {
        for (const auto& list : p.graph.at("collections"))
            if (!list.empty()) return true;
        return false;
    };
    std::uint64_t seed = 1;
    while (!is_cut(generate(seed).made) || !is_in_parts(generate(seed).made)) ++seed;
    const program all = program_from_json(to_json(generate(seed).made)); // as it was printed
    CHECK(is_cut(all));
    CHECK(is_in_parts(all));
    const auto has_a_step = [](const program& q) { return !q.steps.empty(); };
    CHECK_FALSE(is_cut(shrink(all, has_a_step)));
    CHECK(is_cut(shrink(all, is_cut)));
    const program parts = shrink(all, [&](const program& q) { return is_in_parts(q) && graph_of(q).size() > 0; });
    CHECK(is_in_parts(parts));
    CHECK(has_op(parts, "concat"));
    CHECK(parts.graph.at("nodes").size() < all.graph.at("nodes").size());
}

TEST_CASE("a predicate that throws tenon's errors says no") {
    const program all = generate(3).made;
    const program p = shrink(all, [](const program&) -> bool { throw tenon::internal_error("never"); });
    CHECK(to_json(p) == to_json(all));
}

TEST_CASE("differences: bits where a value is exact, what rounding explains where not") {
    const auto number = [](float x) {
        auto a = std::make_shared<tenon::any_array>(tenon::element_type::float32, tenon::extents{});
        *a->data<float>() = x;
        return reference::shared_array(a);
    };
    CHECK(difference({number(1), true}, *number(1), {}).empty());
    CHECK(!difference({number(1), true}, *number(1.0000001f), {}).empty());
    CHECK(difference({number(1), false}, *number(1.0000001f), {}).empty());
    CHECK(!difference({number(1), false}, *number(1.001f), {}).empty());
    CHECK(difference({number(1), false}, *number(1.001f), {{number(0.999f), false}}).empty());
    CHECK(difference({number(NAN), true}, *number(NAN), {}).empty());
    CHECK(!difference({number(NAN), false}, *number(1), {}).empty());
}
