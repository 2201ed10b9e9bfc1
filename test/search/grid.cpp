#include <tenon/search/grid.hpp>

#include "tests.hpp"

// Points of hyperparameters.

namespace {

enum class way { plain, nesterov };
struct settings {
    float rate = 0.5f;
    int hidden = 7;
    bool warm = false;
    std::string how = "sgd";
    way momentum = way::plain;
    double untouched = 3;
};

template <class S> std::vector<std::string> texts(const tn::grid<S>& g) {
    std::vector<std::string> all;
    for (const auto& p : g) all.push_back(p.text());
    return all;
}

} // namespace

TEST_CASE("a grid is the product of its axes, the last one's values first; what no axis sets is as the struct says") {
    const tn::grid g(tn::axis("rate", &settings::rate, {0.1f, 0.03f}), tn::axis("hidden", &settings::hidden, {50, 100}),
                     tn::axis("warm", &settings::warm, {true}), tn::axis("how", &settings::how, {"adam"}),
                     tn::axis("momentum", &settings::momentum, {way::nesterov}));
    static_assert(std::is_same_v<decltype(g), const tn::grid<settings>>);
    REQUIRE(g.size() == 4);
    CHECK(texts(g) == std::vector<std::string>{"rate=0.1, hidden=50, warm=true, how=adam, momentum=1",
                                               "rate=0.1, hidden=100, warm=true, how=adam, momentum=1",
                                               "rate=0.03, hidden=50, warm=true, how=adam, momentum=1",
                                               "rate=0.03, hidden=100, warm=true, how=adam, momentum=1"});
    CHECK(g[2].settings.rate == 0.03f);
    CHECK(g[2].settings.hidden == 50);
    CHECK(g[2].settings.warm);
    CHECK(g[2].settings.how == "adam");
    CHECK(g[2].settings.momentum == way::nesterov);
    CHECK(g[2].settings.untouched == 3);
    settings other{.untouched = 4};
    CHECK(g.with(other)[3].settings.untouched == 4);
    CHECK(g.with(other)[3].settings.hidden == 100);
    CHECK(g.described() == "rate: 0.1, 0.03; hidden: 50, 100; warm: true; how: adam; momentum: 1");
}

TEST_CASE("where() leaves points out, and says where none is left") {
    const tn::grid g(tn::axis("rate", &settings::rate, {0.1f, 0.03f}),
                     tn::axis("hidden", &settings::hidden, {50, 100}));
    const auto some = g.where([](const settings& s) { return s.hidden == 100 || s.rate < 0.05f; });
    CHECK(texts(some) ==
          std::vector<std::string>{"rate=0.1, hidden=100", "rate=0.03, hidden=50", "rate=0.03, hidden=100"});
    CHECK_ERROR(tn::invalid_argument_error, "kept none", g.where([](const settings&) { return false; }));
}

TEST_CASE("settings by name have values of several kinds, and asking for another kind or name is an error") {
    const tn::grid g({{"rate", {0.1, 0.01}}, {"hidden", {50, 100}}, {"how", {"adam", "sgd"}}, {"warm", {true, false}}});
    static_assert(std::is_same_v<decltype(g), const tn::grid<tn::named_settings>>);
    REQUIRE(g.size() == 16);
    const tn::named_settings& s = g[0].settings;
    CHECK(s.number("rate") == 0.1);
    CHECK(s.integer("hidden") == 50);
    CHECK(s.number("hidden") == 50);
    CHECK(s.text("how") == "adam");
    CHECK(s.flag("warm"));
    CHECK_THROWS_WITH_AS((void)s.number("size"),
                         "named_settings: there is no \"size\"; there are rate=0.1, hidden=50, how=adam, warm=true",
                         tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS((void)s.integer("rate"), "named_settings: rate=0.1 is no integer", tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS((void)s.number("how"), "named_settings: how=adam is no number", tn::invalid_argument_error);
}

TEST_CASE("random points lie in their ranges, are the same for the same seed, and the first of more are the same") {
    const tn::grid ranges(tn::axis("rate", &settings::rate, tn::between_logs(1e-4, 1e-1)),
                          tn::axis("hidden", &settings::hidden, tn::between(3, 6)),
                          tn::axis("how", &settings::how, {"a", "b"}));
    const auto many = ranges.sample(4000, 7);
    REQUIRE(many.size() == 4000);
    CHECK(texts(ranges.sample(10, 7)) == [&] {
        auto all = texts(many);
        all.resize(10);
        return all;
    }());
    CHECK(texts(ranges.sample(10, 8)) != texts(ranges.sample(10, 7)));
    int hidden[7] = {}, below = 0, a = 0;
    for (const auto& p : many) {
        REQUIRE(p.settings.rate >= 1e-4f);
        REQUIRE(p.settings.rate <= 0.1f);
        REQUIRE(p.settings.hidden >= 3);
        REQUIRE(p.settings.hidden <= 6);
        ++hidden[p.settings.hidden];
        below += p.settings.rate < std::sqrt(1e-5f);
        a += p.settings.how == "a";
    }
    // Of 4,000 a share p lies within five of its deviations, sqrt(4000 p (1 - p)).
    for (int h = 3; h <= 6; ++h) CHECK(std::abs(hidden[h] - 1000) < 137);
    CHECK(std::abs(below - 2000) < 158);
    CHECK(std::abs(a - 2000) < 158);
    std::set<float> rates;
    for (const auto& p : many) rates.insert(p.settings.rate);
    CHECK(rates.size() > 3900);

    const auto named = tn::grid({{"rate", tn::between(1, 2)}, {"n", tn::between_integers(1, 3)}}).sample(50, 1);
    for (const auto& p : named) {
        CHECK(p.settings.number("rate") >= 1);
        CHECK(p.settings.number("rate") <= 2);
        CHECK(p.settings.integer("n") >= 1);
        CHECK(p.settings.integer("n") <= 3);
    }
}

TEST_CASE("what makes no grid is said by name") {
    using tn::invalid_argument_error;
    const tn::grid ranges(tn::axis("rate", &settings::rate, tn::between(0.1, 0.2)));
    CHECK_ERROR(invalid_argument_error, "\"rate\" is a range", ranges.size());
    CHECK_ERROR(invalid_argument_error, "0 points", ranges.sample(0, 1));
    CHECK_ERROR(invalid_argument_error, "\"rate\" has no values",
                tn::axis("rate", &settings::rate, std::vector<float>{}));
    CHECK_ERROR(invalid_argument_error, "no name", tn::axis("", &settings::rate, {1.0f}));
    CHECK_ERROR(invalid_argument_error, "between 2 and 1", tn::axis("rate", &settings::rate, tn::between(2, 1)));
    CHECK_ERROR(invalid_argument_error, "greater than 0", tn::axis("rate", &settings::rate, tn::between_logs(0, 1)));
    CHECK_ERROR(invalid_argument_error, "\"n\" is given twice",
                tn::grid(tn::axis("n", &settings::hidden, {1}), tn::axis("n", &settings::rate, {1.0f})));
}
