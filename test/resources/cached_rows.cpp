#include <list>

#include <tenon/resources/cached_rows.hpp>

#include "tests.hpp"

// Rows that are kept where they are used, against a model that does everything in the plainest way.

namespace {

constexpr int rows = 40, width = 3;

// A list of rows, the last used first; each with when it was read, and what it was then.
struct model {
    struct kept {
        std::int64_t row, read;
        float value;
    };
    std::int64_t capacity, staleness;
    std::list<kept> all;
    std::int64_t hits = 0, misses = 0, stale = 0, evicted = 0;

    std::list<kept>::iterator at(std::int64_t row) {
        return std::find_if(all.begin(), all.end(), [&](const kept& k) { return k.row == row; });
    }
};

} // namespace

TEST_CASE("no row is used that is older than the bound, the least recently used go, and what is used is what was read: "
          "random "
          "lookups and changes of the table against a model") {
    for (unsigned seed = 0; seed < 30; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        model m{below(30), below(6), {}};
        tn::cached_rows cache("c", {{tn::element_type::float32, {rows, width}}, m.capacity, m.staleness, 0});
        std::vector<float> table(rows);
        std::map<std::int64_t, std::vector<float>> history; // of the table, by step
        for (std::int64_t step = 0; step < 200; ++step) {
            for (int k = below(10); k > 0; --k) table[static_cast<std::size_t>(below(rows))] += 1; // others' updates
            history[step] = table;
            std::vector<std::int64_t> ids(static_cast<std::size_t>(below(12)));
            for (auto& i : ids) i = std::min(below(rows), below(rows)); // some more often
            std::vector<float> out(ids.size() * width, -1);
            const auto f =
                cache.find(static_cast<std::uint64_t>(step + 1), ids, reinterpret_cast<std::byte*>(out.data()));
            CHECK(f.time == step + 1);
            std::set<std::int64_t> asked;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const auto known = m.at(ids[i]);
                if (known != m.all.end() && step - known->read <= m.staleness) {
                    ++m.hits;
                    CHECK(f.from[i] == -1);
                    for (int c = 0; c < width; ++c) CHECK(out[i * width + static_cast<std::size_t>(c)] == known->value);
                    CHECK(known->value == history[known->read][static_cast<std::size_t>(ids[i])]);
                    m.all.splice(m.all.begin(), m.all, known);
                    continue;
                }
                if (asked.insert(ids[i]).second) ++(known == m.all.end() ? m.misses : m.stale);
                REQUIRE(f.from[i] >= 0);
                CHECK(f.missing[static_cast<std::size_t>(f.from[i])] == ids[i]);
            }
            CHECK(f.missing.size() == asked.size());
            std::vector<float> read;
            for (const std::int64_t r : f.missing) read.insert(read.end(), width, table[static_cast<std::size_t>(r)]);
            cache.keep(f.missing.data(), static_cast<std::int64_t>(f.missing.size()), f.time, f.changes,
                       reinterpret_cast<const std::byte*>(read.data()));
            for (const std::int64_t r : f.missing) {
                if (m.capacity == 0) break;
                if (const auto known = m.at(r); known != m.all.end()) m.all.erase(known);
                else if (static_cast<std::int64_t>(m.all.size()) == m.capacity) {
                    m.all.pop_back();
                    ++m.evicted;
                }
                m.all.push_front({r, step, table[static_cast<std::size_t>(r)]});
            }
            if (below(4) == 0) { // own gradients
                std::vector<std::int64_t> own{below(rows), below(rows)};
                cache.change(own, nullptr);
                for (const std::int64_t r : own)
                    if (const auto known = m.at(r); known != m.all.end()) m.all.erase(known);
            }
            const tn::cached_rows_counts c = cache.counts();
            CHECK(c.hits == m.hits);
            CHECK(c.misses == m.misses);
            CHECK(c.stale == m.stale);
            CHECK(c.evicted == m.evicted);
            CHECK(c.held == static_cast<std::int64_t>(m.all.size()));
        }
    }
}

TEST_CASE("the clock goes on with each step that looks up rows, however often it does") {
    tn::cached_rows cache("c", {{tn::element_type::float32, {rows, 1}}, 10, 1, 0});
    float out[1];
    const auto at = [&](std::uint64_t step) { return cache.find(step, {5}, reinterpret_cast<std::byte*>(out)).time; };
    CHECK(at(7) == 1);
    CHECK(at(7) == 1);
    CHECK(at(9) == 2);
    CHECK(at(8) == 3);
    CHECK(at(9) == 4); // steps at once
}

TEST_CASE(
    "rows that were read before an own change are not kept after it; an older value never takes a newer one's place") {
    tn::cached_rows cache("c", {{tn::element_type::float32, {rows, 1}}, 10, 5, 0});
    float out[1], first = 1, second = 2;
    auto find = [&, step = std::uint64_t{0}]() mutable {
        return cache.find(++step, {5}, reinterpret_cast<std::byte*>(out));
    };
    const auto keep = [&](const tn::cached_rows::found& f, float& value) {
        cache.keep(f.missing.data(), 1, f.time, f.changes, reinterpret_cast<std::byte*>(&value));
    };
    const auto before = find();
    cache.change({5}, nullptr);
    keep(before, first);
    CHECK(cache.counts().held == 0);
    const auto older = find(), newer = find();
    keep(newer, second);
    keep(older, first);
    CHECK(find().missing.empty());
    CHECK(out[0] == 2);
}

TEST_CASE("own gradients are taken off rows that are kept, in each type of floating numbers") {
    tn::cached_rows cache("c", {{tn::element_type::float64, {rows, 2}}, 10, 5, 0.5});
    double out[2], value[2] = {1, 2}, gradient[4] = {2, 4, 2, 4};
    const auto f = cache.find(1, {5}, reinterpret_cast<std::byte*>(out));
    cache.keep(f.missing.data(), 1, f.time, f.changes, reinterpret_cast<std::byte*>(value));
    cache.change({5, 5}, gradient);
    CHECK(cache.find(1, {5}, reinterpret_cast<std::byte*>(out)).missing.empty());
    CHECK((out[0] == -1 && out[1] == -2));
    cache.clear();
    CHECK(cache.counts().held == 0);
    CHECK(cache.find(1, {5}, reinterpret_cast<std::byte*>(out)).missing.size() == 1);
}
