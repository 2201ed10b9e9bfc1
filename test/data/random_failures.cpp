#include <stdexcept>

#include <tenon/data/from.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"

// Users' functions that throw, in random chains of steps.

using numbers = std::vector<std::int64_t>;

namespace {

struct no_exception {};

// What a user's function may throw, among it what ends data elsewhere.
[[noreturn]] void throw_any(std::int64_t v) {
    switch (v % 9) {
    case 0: throw tn::data_loss_error("no " + std::to_string(v));
    case 1: throw tn::end_of_data_error("that was all");
    case 2: throw tn::out_of_range_error("not there");
    case 3: throw std::runtime_error("the well is dry");
    case 4: throw std::out_of_range("at");
    case 5: throw 7;
    case 6: throw "words";
    case 7: throw std::string();
    default: throw no_exception();
    }
}

// -1 where an element was an error, which must be of a user's function: with step and element, and no end of the data.
numbers with_errors(tn::data_iterator<std::int64_t>& it, std::int64_t most) {
    numbers got;
    while (static_cast<std::int64_t>(got.size()) < most) {
        try {
            const auto v = it.next();
            if (!v) break;
            got.push_back(*v);
        } catch (const tn::error& e) {
            REQUIRE(e.reason() == tn::error_reason::none);
            REQUIRE(dynamic_cast<const tn::end_of_data_error*>(&e) == nullptr);
            REQUIRE(contains(e.what(), ": element "));
            got.push_back(-1);
        }
    }
    return got;
}

} // namespace

TEST_CASE("SEMANTICS 38: whatever users' functions throw, in whatever step, is an error in its element's place; those "
          "before and "
          "behind it come once, whatever the threads, also from a state that was saved anywhere") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 300; ++round) {
        const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
        const std::int64_t n = 1 + below(40), every = 2 + below(6);
        auto set = tn::data::range(n);
        numbers expected(static_cast<std::size_t>(n)); // -1: an error
        for (std::int64_t i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = i;
        std::string text = std::to_string(n) + " every " + std::to_string(every);
        const auto fails_at = [every](std::int64_t place) {
            return [every, place](std::int64_t v) {
                if (v % every == place % every) throw_any(v);
            };
        };
        const auto note = [&](std::int64_t place, const char* step) {
            for (std::int64_t& v : expected)
                if (v >= 0 && v % every == place % every) v = -1;
            text += step;
        };
        const auto fail = [&](std::int64_t place) {
            const auto failing = fails_at(place);
            const tn::map_options how{.parallelism = static_cast<int>(1 + below(3))};
            switch (below(5)) {
            case 0:
                set = set.map_host([failing](std::int64_t v) { return failing(v), v; }, how);
                return note(place, " map_host");
            case 1:
                set = set.filter_host([failing](std::int64_t v) { return failing(v), true; }, how);
                return note(place, " filter_host");
            case 2:
                set = set.flat_map([failing](std::int64_t v) { return failing(v), tn::data::range(v, v + 1); });
                return note(place, " flat_map");
            case 3:
                set = set.interleave([failing](std::int64_t v) { return failing(v), tn::data::range(v, v + 1); },
                                     {.cycle_length = 1, .parallelism = how.parallelism});
                return note(place, " interleave");
            default:
                set = set.bucket_by_length([failing](std::int64_t v) { return failing(v), v; }, {20}, {1, 1}).unbatch();
                return note(place, " bucket_by_length");
            }
        };
        if (below(2) == 0) { // from the source on
            const std::int64_t place = below(10);
            const auto failing = fails_at(place);
            set = tn::data::generator([n, failing] {
                return [n, failing, i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
                    if (i == n) return std::nullopt;
                    const std::int64_t v = i++;
                    failing(v);
                    return v;
                };
            });
            note(place, " generator");
        } else fail(below(10));
        for (std::int64_t steps = below(5); steps > 0; --steps) {
            switch (below(5)) {
            case 0: set = set.prefetch(1 + below(4)); break;
            case 1: set = set.map_host([](std::int64_t v) { return v; }, {.parallelism = 2}); break;
            case 2:
                set = set.map([](auto v) { return v + std::int64_t{0}; },
                              {.parallelism = static_cast<int>(1 + below(2))});
                break;
            default: fail(below(10)); break;
            }
        }
        CAPTURE(round);
        CAPTURE(text);
        auto it = set.iterate();
        REQUIRE(with_errors(it, 1000) == expected);
        CHECK(!it.next());
        // And with a save between: what failed ahead of it fails behind it.
        auto first = set.iterate();
        numbers parts = with_errors(first, below(static_cast<std::uint64_t>(n)));
        auto second = set.iterate();
        second.restore(first.save());
        const numbers rest = with_errors(second, 1000);
        parts.insert(parts.end(), rest.begin(), rest.end());
        REQUIRE(parts == expected);
        numbers good = expected;
        std::erase(good, -1);
        numbers others;
        for (const std::int64_t x : set.ignore_errors()) others.push_back(x);
        REQUIRE(others == good);
    }
}
