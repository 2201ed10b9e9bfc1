#include <tenon/data/from.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"

// Chains of steps, made at random, against the same steps on a plain vector of numbers.

using numbers = std::vector<std::int64_t>;
using number_set = tn::data_set<std::int64_t>;

namespace {

struct pipeline {
    number_set set;
    numbers expected; // where `ordered`, in this order
    bool ordered = true;
    std::string text;
};

numbers all_of(const number_set& s) {
    numbers found;
    for (const std::int64_t x : s) found.push_back(x);
    return found;
}

class maker {
public:
    explicit maker(std::uint64_t seed) : random_(seed) {}

    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

    pipeline source() {
        const std::int64_t n = below(40);
        if (below(2) == 0) {
            tn::array<std::int64_t, tn::shape<tn::dyn>> rows(n);
            numbers expected;
            for (std::int64_t& x : rows) expected.push_back(x = below(1000));
            return {tn::data::slices(rows), expected, true, "slices of " + std::to_string(n)};
        }
        const std::int64_t begin = below(20) - 10, step = below(2) == 0 ? 1 + below(3) : -1 - below(3);
        numbers expected;
        for (std::int64_t i = 0; i < n; ++i) expected.push_back(begin + i * step);
        return {tn::data::range(begin, begin + n * step, step), expected, true, "range of " + std::to_string(n)};
    }

    void add(pipeline& p, int depth) {
        numbers& x = p.expected;
        const auto size = static_cast<std::int64_t>(x.size());
        const tn::map_options how{.parallelism =
                                      std::vector{1, 1, 2, 3, tn::autotune}[static_cast<std::size_t>(below(5))]};
        switch (below(26)) {
        case 0: {
            const std::int64_t n = below(size + 3);
            p.set = p.set.skip(n);
            x.erase(x.begin(), x.begin() + std::min(n, size));
            p.text += " skip " + std::to_string(n);
            return;
        }
        case 1: {
            const std::int64_t n = below(size + 3);
            p.set = p.set.take(n);
            x.resize(static_cast<std::size_t>(std::min(n, size)));
            p.text += " take " + std::to_string(n);
            return;
        }
        case 2: {
            const std::int64_t count = 1 + below(4), index = below(count);
            p.set = p.set.shard(count, index);
            numbers kept;
            for (std::int64_t i = index; i < size; i += count) kept.push_back(x[static_cast<std::size_t>(i)]);
            x = kept;
            p.text += " shard " + std::to_string(index) + "/" + std::to_string(count);
            return;
        }
        case 3: {
            if (size > 60) return;
            const std::int64_t times = below(4);
            p.set = p.set.repeat(times);
            numbers over;
            for (std::int64_t i = 0; i < times; ++i) over.insert(over.end(), x.begin(), x.end());
            x = over;
            p.text += " repeat " + std::to_string(times);
            return;
        }
        case 4: {
            if (depth > 2) return;
            pipeline other = source();
            add(other, depth + 1);
            p.set = p.set.concatenate(other.set);
            x.insert(x.end(), other.expected.begin(), other.expected.end());
            p.ordered = p.ordered && other.ordered;
            p.text += " then (" + other.text + ")";
            return;
        }
        case 5: {
            const std::int64_t n = 1 + below(6);
            const bool drop = below(2) == 0;
            p.set = p.set.batch(n, {.drop_remainder = drop}).unbatch();
            if (drop) x.resize(static_cast<std::size_t>(size / n * n));
            p.text += " batch " + std::to_string(n) + (drop ? " drop" : "") + " unbatch";
            return;
        }
        case 6:
            p.set = p.set.map([](auto v) { return v * std::int64_t{3} + std::int64_t{1}; }, how);
            for (std::int64_t& v : x) v = 3 * v + 1;
            p.text += " map";
            return;
        case 7:
            p.set = p.set.map_host([](std::int64_t v) { return v / 2; }, how);
            for (std::int64_t& v : x) v /= 2;
            p.text += " map_host";
            return;
        case 8:
            p.set = p.set.filter([](auto v) { return v > std::int64_t{5}; }, how);
            std::erase_if(x, [](std::int64_t v) { return v <= 5; });
            p.text += " filter";
            return;
        case 9:
            p.set = p.set.filter_host([](std::int64_t v) { return v % 3 != 0; }, how);
            std::erase_if(x, [](std::int64_t v) { return v % 3 == 0; });
            p.text += " filter_host";
            return;
        case 10: {
            if (size > 60) return;
            p.set = p.set.flat_map([](std::int64_t v) {
                return tn::data::range((v % 4 + 4) % 4).map_host([v](std::int64_t i) { return v + i; });
            });
            numbers made;
            for (const std::int64_t v : x)
                for (std::int64_t i = 0; i < (v % 4 + 4) % 4; ++i) made.push_back(v + i);
            x = made;
            p.text += " flat_map";
            return;
        }
        case 11: {
            if (size > 60) return;
            const std::int64_t cycle = 1 + below(4), block = 1 + below(3);
            // Elements that are worth a thread's reading them ahead, or not.
            const int takes = below(2) == 0 ? 1 : 5000;
            p.set = p.set.interleave(
                [takes](std::int64_t v) {
                    return tn::data::range((v % 5 + 5) % 5).map_host([takes](std::int64_t i) {
                        std::uint64_t seen = 1;
                        for (int k = 0; k < takes; ++k) seen = seen * 6364136223846793005 + 1;
                        return seen == 0 ? -i : i; // it is not 0
                    });
                },
                {.cycle_length = cycle, .block_length = block, .parallelism = how.parallelism});
            x = interleaved(x, static_cast<std::size_t>(cycle), block);
            p.text += " interleave " + std::to_string(cycle) + " " + std::to_string(block);
            return;
        }
        case 12:
            p.set = p.set.enumerate(7).map_host([](std::int64_t i, std::int64_t v) { return 10 * v + i; });
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10 * x[i] + 7 + static_cast<std::int64_t>(i);
            p.text += " enumerate";
            return;
        case 13: {
            const std::int64_t n = 1 + below(4), shift = 1 + below(4), stride = 1 + below(3);
            const bool drop = below(2) == 0;
            p.set = p.set.window(n, {.shift = shift, .stride = stride, .drop_remainder = drop})
                        .map_host([](const tn::array<std::int64_t, tn::shape<tn::dyn>>& w) {
                            std::int64_t sum = 1000 * w.size();
                            for (const std::int64_t v : w) sum += v;
                            return sum;
                        });
            x = window_sums(x, n, shift, stride, drop);
            p.text += " window " + std::to_string(n) + " " + std::to_string(shift) + " " + std::to_string(stride) +
                      (drop ? " drop" : "");
            return;
        }
        case 14:
            p.set = p.set.prefetch(below(2) == 0 ? tn::autotune : 1 + below(5));
            p.text += " prefetch";
            return;
        case 15:
            p.set = p.set.cache();
            p.text += " cache";
            return;
        case 16: {
            if (depth > 2) return;
            pipeline other = source();
            add(other, depth + 1);
            if (!p.ordered || !other.ordered) return;
            p.set =
                tn::data::zip(p.set, other.set).map_host([](std::int64_t a, std::int64_t b) { return a - 100 * b; });
            x.resize(std::min(x.size(), other.expected.size()));
            for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 100 * other.expected[i];
            p.text += " zip (" + other.text + ")";
            return;
        }
        case 17: { // padded: what is filled up is taken out again
            const std::int64_t n = 1 + below(5);
            p.set = p.set
                        .map_host([](std::int64_t v) {
                            tn::array<std::int64_t, tn::shape<tn::dyn>> a((v % 3 + 3) % 3 + 1);
                            a.fill(v);
                            return a;
                        })
                        .padded_batch(n, {}, std::int64_t{-77})
                        .unbatch()
                        .map_host([](const tn::array<std::int64_t, tn::shape<tn::dyn>>& a) {
                            const std::int64_t v = a(0), rest = (v % 3 + 3) % 3 + 1;
                            for (std::int64_t i = 0; i < a.size(); ++i)
                                if (a(i) != (i < rest ? v : -77)) return std::int64_t{-1};
                            return v;
                        });
            p.text += " padded_batch " + std::to_string(n);
            return;
        }
        case 18: { // each of both once, in some order that a seed says
            if (depth > 2 || !shuffles) return;
            pipeline other = source();
            add(other, depth + 1);
            p.set = tn::data::sample<std::int64_t>({p.set, other.set}, {1.0 + static_cast<double>(below(3)), 1.0},
                                                   1 + random_() % 1000);
            p.ordered = p.ordered && other.ordered && (x.empty() || other.expected.empty());
            x.insert(x.end(), other.expected.begin(), other.expected.end());
            p.text += " sample (" + other.text + ")";
            return;
        }
        case 19: {
            if (!free_order) return;
            p.set = p.set.map_host([](std::int64_t v) { return 5 - v; },
                                   {.parallelism = 1 + static_cast<int>(below(4)), .ordered = false});
            for (std::int64_t& v : x) v = 5 - v;
            p.ordered = false;
            p.text += " unordered map_host";
            return;
        }
        case 20:
            p.set =
                p.set.scan(std::int64_t{3}, [](auto s, auto v) { return std::pair((s + v) / std::int64_t{2}, s - v); });
            for (std::int64_t s = 3; std::int64_t & v : x) {
                const std::int64_t given = s - v;
                s = (s + v) / 2;
                v = given;
            }
            p.text += " scan";
            return;
        case 21:
            p.set = p.set.scan_host(std::int64_t{0},
                                    [](std::int64_t s, std::int64_t v) { return std::pair((s + v) % 1000, s); });
            for (std::int64_t s = 0; std::int64_t & v : x) v = std::exchange(s, (s + v) % 1000);
            p.text += " scan_host";
            return;
        case 22: {
            const std::int64_t keys = 1 + below(3), n = 1 + below(4);
            p.set = p.set.group_by_window([keys](std::int64_t v) { return (v % keys + keys) % keys; },
                                          [n](std::int64_t key) { return n + key; },
                                          [](std::int64_t key, const number_set& window) {
                                              return window.map_host([key](std::int64_t v) { return 2 * v + key; });
                                          });
            x = grouped(x, keys, n);
            p.text += " group_by_window " + std::to_string(keys) + " " + std::to_string(n);
            return;
        }
        case 23: {
            const std::int64_t most = below(30);
            p.set = p.set.take_while([most](std::int64_t v) { return v <= most; });
            x.erase(std::find_if(x.begin(), x.end(), [most](std::int64_t v) { return v > most; }), x.end());
            p.text += " take_while " + std::to_string(most);
            return;
        }
        case 24: {
            if (!p.ordered || !p.set.has_random_access() || size == 0) return;
            std::vector<std::int64_t> places;
            for (std::int64_t n = below(20); n > 0; --n) places.push_back(below(size));
            numbers chosen;
            for (const std::int64_t i : places) chosen.push_back(x[static_cast<std::size_t>(i)]);
            p.set = p.set.select(places);
            x = chosen;
            p.text += " select " + std::to_string(places.size());
            return;
        }
        default: {
            if (shuffles == 0) return;
            const std::int64_t buffer = 1 + below(50);
            p.set = p.set.shuffle(buffer, {.seed = 1 + random_() % 1000});
            p.ordered = p.ordered && (buffer == 1 || x.size() < 2);
            p.text += " shuffle " + std::to_string(buffer);
            return;
        }
        }
    }
    bool shuffles = true;
    bool free_order = false; // also steps of which nobody knows the order

private:
    static numbers interleaved(const numbers& x, std::size_t cycle, std::int64_t block) {
        std::vector<numbers> open(cycle);
        std::vector<bool> is_open(cycle);
        numbers out;
        std::size_t next = 0, at = 0;
        for (;;) {
            if (!is_open[at] && next < x.size()) {
                is_open[at] = true;
                open[at].clear();
                for (std::int64_t i = 0; i < (x[next] % 5 + 5) % 5; ++i) open[at].push_back(i);
                ++next;
            }
            if (is_open[at]) {
                for (std::int64_t i = 0; i < block && is_open[at]; ++i) {
                    if (open[at].empty()) is_open[at] = false;
                    else {
                        out.push_back(open[at].front());
                        open[at].erase(open[at].begin());
                    }
                }
            } else if (std::none_of(is_open.begin(), is_open.end(), [](bool b) { return b; })) return out;
            at = (at + 1) % cycle;
        }
    }
    static numbers window_sums(const numbers& x, std::int64_t n, std::int64_t shift, std::int64_t stride, bool drop) {
        numbers sums;
        const auto size = static_cast<std::int64_t>(x.size());
        for (std::int64_t begin = 0; begin < size; begin += shift) {
            std::int64_t count = 0, sum = 0;
            for (std::int64_t i = begin; i < size && count < n; i += stride, ++count)
                sum += x[static_cast<std::size_t>(i)];
            if (drop && begin + (n - 1) * stride >= size) break;
            sums.push_back(sum + 1000 * count);
        }
        return sums;
    }
    static numbers grouped(const numbers& x, std::int64_t keys, std::int64_t n) {
        std::vector<numbers> windows(static_cast<std::size_t>(keys));
        numbers out;
        const auto give = [&](std::size_t k) {
            for (const std::int64_t v : windows[k]) out.push_back(2 * v + static_cast<std::int64_t>(k));
            windows[k].clear();
        };
        for (const std::int64_t v : x) {
            const auto k = static_cast<std::size_t>((v % keys + keys) % keys);
            windows[k].push_back(v);
            if (static_cast<std::int64_t>(windows[k].size()) == n + static_cast<std::int64_t>(k)) give(k);
        }
        for (std::size_t k = 0; k < windows.size(); ++k) give(k);
        return out;
    }
    std::mt19937_64 random_;
};

pipeline make(std::uint64_t seed, bool shuffles) {
    maker m(seed);
    m.shuffles = shuffles;
    pipeline p = m.source();
    const std::int64_t steps = m.below(6);
    for (std::int64_t i = 0; i < steps; ++i) m.add(p, 0);
    return p;
}

} // namespace

TEST_CASE("SEMANTICS 38: random chains of steps give what the same steps on a vector give") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const pipeline p = make(seed, false);
        CAPTURE(seed);
        CAPTURE(p.text);
        REQUIRE(all_of(p.set) == p.expected);
        REQUIRE(all_of(p.set) == p.expected); // and again
        if (p.set.size() >= 0) REQUIRE(p.set.size() == static_cast<std::int64_t>(p.expected.size()));
    }
}

TEST_CASE("a random chain that has places gives by their numbers what it gives one after another") {
    int asked = 0;
    for (std::uint64_t seed = 3000; seed < 3600; ++seed) {
        const pipeline p = make(seed, true);
        if (!p.set.has_random_access()) continue;
        CAPTURE(seed);
        CAPTURE(p.text);
        const numbers all = all_of(p.set);
        for (std::size_t i = all.size(); i > 0; --i) // in any order
            REQUIRE(p.set.at(static_cast<std::int64_t>(i) - 1) == all[i - 1]);
        CHECK_THROWS_AS((void)p.set.at(static_cast<std::int64_t>(all.size())), tn::out_of_range_error);
        ++asked;
    }
    CHECK(asked > 250);
}

TEST_CASE("a random chain that was saved anywhere goes on exactly there") {
    std::mt19937 random(1);
    for (std::uint64_t seed = 1000; seed < 1250; ++seed) {
        const pipeline p = make(seed, true);
        CAPTURE(seed);
        CAPTURE(p.text);
        auto whole = p.set.iterate();
        numbers all;
        while (const auto x = whole.next()) all.push_back(*x);
        const auto before = static_cast<std::size_t>(random() % (all.size() + 2));
        CAPTURE(before);
        auto first = p.set.iterate();
        for (std::size_t i = 0; i < before; ++i) (void)first.next();
        const std::string state = first.save();
        numbers went_on, restored;
        while (const auto x = first.next()) went_on.push_back(*x);
        auto second = p.set.iterate();
        second.restore(state);
        while (const auto x = second.next()) restored.push_back(*x);
        REQUIRE(restored == went_on);
        REQUIRE(went_on == numbers(all.begin() + static_cast<std::ptrdiff_t>(std::min(before, all.size())), all.end()));
        // A state that was cut off is refused, and nothing else happens.
        if (!state.empty()) {
            auto third = p.set.iterate();
            CHECK_THROWS_AS(third.restore(state.substr(0, random() % state.size())), tn::data_loss_error);
        }
    }
}

// Steps for which the order of what comes does not matter, in any number of threads: together it is what it should be, also
// where it goes on from a place.
TEST_CASE("SEMANTICS 38: of steps without order each element comes once") {
    for (std::uint64_t seed = 2000; seed < 2200; ++seed) {
        maker m(seed);
        m.free_order = true;
        pipeline p = m.source();
        const std::int64_t steps = 1 + m.below(4);
        for (std::int64_t i = 0; i < steps; ++i) {
            pipeline tried = p;
            m.add(tried, 0);
            // Behind a step without order only those that look at one element at a time.
            const bool by_one = tried.text.find(" map", p.text.size()) == p.text.size() ||
                                tried.text.find(" filter", p.text.size()) == p.text.size() ||
                                tried.text.find(" unordered", p.text.size()) == p.text.size() ||
                                tried.text.find(" prefetch", p.text.size()) == p.text.size() ||
                                tried.text.find(" flat_map", p.text.size()) == p.text.size() ||
                                tried.text.find(" shuffle", p.text.size()) == p.text.size() ||
                                tried.text.find(" sample", p.text.size()) == p.text.size() ||
                                tried.text.find(" padded_batch", p.text.size()) == p.text.size();
            if (p.ordered || by_one) p = tried;
        }
        CAPTURE(seed);
        CAPTURE(p.text);
        numbers expected = p.expected;
        std::sort(expected.begin(), expected.end());
        numbers whole = all_of(p.set);
        std::sort(whole.begin(), whole.end());
        REQUIRE(whole == expected);
        auto first = p.set.iterate();
        numbers parts;
        for (std::int64_t i = m.below(static_cast<std::int64_t>(expected.size()) + 1); i > 0; --i)
            parts.push_back(first.next().value());
        auto second = p.set.iterate();
        second.restore(first.save());
        while (const auto v = second.next()) parts.push_back(*v);
        std::sort(parts.begin(), parts.end());
        REQUIRE(parts == expected);
    }
}
