#include <tenon/data/from.hpp>
#include <tenon/data/steps/element_queue.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"
#include "data/silent_pipe.hpp"

// How elements go from the threads of a data set to who asks for them: read ahead, taken here, and back.

using numbers = std::vector<std::int64_t>;

namespace {

// A function that takes about as long as it is told to, in steps of some nanoseconds, and gives its argument.
std::int64_t after(std::int64_t steps, std::int64_t x) {
    auto v = static_cast<std::uint64_t>(x);
    for (std::int64_t i = 0; i < steps; ++i) v = v * 6364136223846793005 + 1442695040888963407;
    return v == 1 ? x + 1 : x; // never, as far as the compiler knows
}

template <class Set> numbers all_of(const Set& set) {
    numbers found;
    for (const std::int64_t x : set) found.push_back(x);
    return found;
}

} // namespace

TEST_CASE("a queue of elements gives what was put into it, in its order, between two threads") {
    tn::detail::element_queue queue;
    constexpr std::int64_t count = 20'000;
    std::thread reads([&] {
        for (std::int64_t i = 0; i < count; ++i) {
            tn::detail::kept_element& k = queue.place();
            k.element.clear();
            if (i % 7 == 3) k.failure = std::make_exception_ptr(i);
            else { // small ones, large ones and texts
                const std::int64_t n = i % 5 == 0 ? 1000 : 1;
                k.element.emplace_back(tn::element_type::int64, tn::extents{n});
                for (std::int64_t j = 0; j < n; ++j) k.element[0].data<std::int64_t>()[j] = i;
                k.element.emplace_back(tn::element_type::string, tn::extents());
                *k.element[1].data<std::string>() = std::string(static_cast<std::size_t>(i % 3000), 'x');
            }
            queue.push();
        }
    });
    tn::detail::data_element x;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count;) {
        tn::detail::kept_element* const first = queue.front();
        if (!first) {
            std::this_thread::yield();
            continue;
        }
        const std::exception_ptr failure = queue.take(*first, x);
        std::int64_t thrown = -1;
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::int64_t& number) {
            thrown = number;
        }
        if (i % 7 == 3) wrong += thrown != i;
        else {
            const std::int64_t n = i % 5 == 0 ? 1000 : 1;
            const bool same = thrown == -1 && x.size() == 2 && x[0].elements() == n && x[0].is_unique() &&
                              x[0].data<std::int64_t>()[0] == i && x[0].data<std::int64_t>()[n - 1] == i &&
                              *x[1].data<std::string>() == std::string(static_cast<std::size_t>(i % 3000), 'x');
            wrong += !same;
        }
        ++i;
    }
    reads.join();
    CHECK(wrong == 0);
    CHECK(queue.front() == nullptr);
    CHECK(queue.size() == 0);
}

TEST_CASE("SEMANTICS 38: what is interleaved by several threads comes as by one, also from a state saved anywhere, "
          "which goes on "
          "with any number of them") {
    std::mt19937_64 random(3);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    for (int round = 0; round < 60; ++round) {
        const std::int64_t lanes = 1 + below(9), cycle = 1 + below(4), block = 1 + below(3), seed = below(1000);
        const std::int64_t steps = below(2) == 0 ? 3000 : 300; // some microseconds, or less than to hand it over
        const auto set = [=](int parallelism) {
            return tn::data::range(lanes).interleave(
                [=](std::int64_t lane) {
                    const std::int64_t length = lane * seed % 60;
                    return tn::data::range(100 * lane, 100 * lane + length).map_host([=](std::int64_t v) {
                        if (v % 17 == 5) throw tn::data_loss_error("seventeen");
                        return after(steps, v);
                    });
                },
                {.cycle_length = cycle, .block_length = block, .parallelism = parallelism});
        };
        CAPTURE(round);
        const auto rest_of = [](auto& it) { // -1: an error
            numbers got;
            for (;;) {
                try {
                    const auto x = it.next();
                    if (!x) return got;
                    got.push_back(*x);
                } catch (const tn::data_loss_error&) {
                    got.push_back(-1);
                }
            }
        };
        const int threads = static_cast<int>(1 + below(4));
        auto alone = set(1).iterate(), together = set(threads).iterate();
        const numbers expected = rest_of(alone);
        REQUIRE(rest_of(together) == expected);
        auto first = set(threads).iterate();
        const auto before = below(expected.size() + 2);
        for (std::int64_t i = 0; i < before; ++i) {
            try {
                (void)first.next();
            } catch (const tn::data_loss_error&) {
            }
        }
        auto second = set(static_cast<int>(1 + below(3))).iterate();
        second.restore(first.save());
        const numbers rest = rest_of(second);
        REQUIRE(rest_of(first) == rest);
        REQUIRE(rest ==
                numbers(expected.begin() + std::min<std::int64_t>(before, std::ssize(expected)), expected.end()));
    }
}

TEST_CASE("an interleave with a parallelism has so many threads and no more, however many files there are") {
    std::mutex guard;
    std::set<std::thread::id> threads;
    std::atomic<int> at_once = 0, most = 0;
    const auto noted = [&](std::int64_t v) {
        const int now = ++at_once;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        {
            const std::lock_guard lock(guard);
            threads.insert(std::this_thread::get_id());
        }
        const std::int64_t same = after(3000, v);
        --at_once;
        return same;
    };
    const auto set = tn::data::range(300).interleave(
        [&](std::int64_t i) { return tn::data::range(10 * i, 10 * i + 10).map_host(noted); },
        {.cycle_length = 16, .parallelism = 3});
    CHECK(all_of(set).size() == 3000);
    CHECK(threads.size() <= 4); // three, and who asks
    CHECK(most <= 4);
}

TEST_CASE("an interleave takes a state that was saved where each data set had a prefetch of its own") {
    // Two of three ranges of ten are open, each with two elements ahead: 0 10 1 have been given.
    tn::state_writer of;
    of.text("data set 2");
    of.text("interleave of range");
    for (const std::uint64_t v : {0U, 2U, 1U, 0U, 0U}) of.number(v); // epoch, number, whose turn, in its block, ended
    const auto number = [](std::int64_t v) {
        tn::any_array a(tn::element_type::int64, tn::extents());
        *a.data<std::int64_t>() = v;
        std::vector<tn::any_array> element;
        element.push_back(std::move(a));
        return element;
    };
    for (const std::int64_t lane : {0, 1}) {
        of.number(1);
        of.element(number(lane));
        of.number(static_cast<std::uint64_t>(lane));
        of.text("data set 2");
        of.text("prefetch(2) of range");
        const std::int64_t given = lane == 0 ? 2 : 1;
        of.number(0); // not ended
        of.number(2);
        for (std::int64_t i = given; i < given + 2; ++i) {
            of.number(0);
            of.element(number(10 * lane + i));
        }
        of.number(static_cast<std::uint64_t>(given + 2));
    }
    of.number(2); // of the outer range
    const auto set = tn::data::range(3).interleave([](std::int64_t i) { return tn::data::range(10 * i, 10 * i + 10); },
                                                   {.cycle_length = 2, .parallelism = 2});
    auto it = set.iterate();
    it.restore(std::move(of).take());
    numbers rest;
    while (const auto x = it.next()) rest.push_back(*x);
    numbers expected = all_of(set);
    expected.erase(expected.begin(), expected.begin() + 3);
    CHECK(rest == expected);
}

TEST_CASE(
    "functions and sources that are now small, now slow come in order, whoever takes them, and are saved anywhere") {
    // Thousands of small ones, for which threads rest; some slow ones, for which they go on.
    const auto work = [](std::int64_t v) { return after(v / 3000 % 2 == 0 ? 1 : 4000, v); };
    const auto sets = {
        tn::data::range(9000).map_host(work, {.parallelism = 3}),
        tn::data::range(9000).map_host(work).prefetch(5),
        tn::data::range(9000).map_host(work).prefetch(),
        tn::data::range(9000).map_host(work, {.parallelism = tn::autotune}).prefetch(2),
        tn::data::range(9000).map([](auto x) { return x + std::int64_t{0}; }, {.parallelism = 2}).prefetch(3),
        tn::data::range(9000).filter_host([work](std::int64_t v) { return work(v) >= 0; }, {.parallelism = 2}),
    };
    std::mt19937_64 random(8);
    for (const auto& set : sets) {
        std::int64_t expected = 0;
        auto it = set.iterate();
        while (expected < 9000) {
            const auto n = static_cast<std::int64_t>(random() % 2500); // then on from a state
            for (std::int64_t i = 0; i < n && expected < 9000; ++i) {
                if (i % 97 == 0) (void)after(i % 2 == 0 ? 1 : 60'000, i); // who asks takes his time now and then
                REQUIRE(it.next() == expected++);
            }
            auto other = set.iterate();
            other.restore(it.save());
            it = std::move(other);
        }
        CHECK(!it.next());
        CHECK(!it.next());
    }
}

TEST_CASE(
    "SEMANTICS 38: what a source gave before it fell silent does not wait behind its silence, whatever the threads") {
    const temporary_folder folder;
    int pipes = 0;
    const auto take_both = [&](auto make) {
        const silent_pipe p(folder / ("pipe" + std::to_string(pipes++)));
        std::vector<std::string> lines;
        for (const auto& line : make(tn::data::text_lines(p.path()))) {
            lines.push_back(line);
            if (line == "two") break;
        }
        CHECK(std::count(lines.begin(), lines.end(), "one") == 1);
        CHECK(lines.back() == "two");
    };
    const auto same = [](const std::string& line) { return line; };
    const auto slow = [](const std::string& line) { return after(30'000, 0) == 0 ? line : ""; };
    for (const auto ahead : {std::int64_t{1}, std::int64_t{8}, std::int64_t{tn::autotune}})
        take_both([=](const auto& s) { return s.prefetch(ahead); });
    for (const int threads : {2, 4}) {
        take_both([=](const auto& s) { return s.map_host(same, {.parallelism = threads}); });
        take_both([=](const auto& s) { return s.map_host(slow, {.parallelism = threads}); });
        take_both([=](const auto& s) {
            return s.map([](auto x) { return x; }, {.parallelism = threads})
                .prefetch(3)
                .map_host(same, {.parallelism = threads});
        });
        // Beside one that gives enough for threads to be begun, whose turn comes first.
        take_both([=](const auto& s) {
            return tn::data::range(2).interleave(
                [=](std::int64_t i) {
                    const auto enough = tn::data::range(40).map_host([slow](std::int64_t) { return slow("other"); });
                    return i == 0 ? enough : enough.take(30).concatenate(s);
                },
                {.cycle_length = 2, .parallelism = threads});
        });
    }
}
