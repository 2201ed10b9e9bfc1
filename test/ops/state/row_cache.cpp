#include "tests.hpp"
#include "ops/untyped_run.hpp"

// Caches of rows in graphs, whose tables are on other tasks. What a cache does is in resources/cached_rows.cpp.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
constexpr int rows = 60, width = 4;
using ids_type = tn::array<std::int32_t, tn::shape<batch>>;

// A worker that looks up rows of a table in parts on two parameter servers, and trains it.
struct problem {
    explicit problem(const tn::row_cache_options& o, int parts = 2,
                     const tn::optimizer& how = tn::gradient_descent(0.5)) :
        table(tn::variable<float, tn::shape<rows, width>>("table", tn::uniform(-1, 1, 7),
                                                          {.partition = {.parts = parts}})),
        cache(table, o),
        cached(cache.gather(ids)),
        direct(tn::gather(table, ids)) {
        train_cached = how.minimize(sum(tn::square(cached)));
        train_direct = how.minimize(sum(tn::square(direct)));
        s.emplace(std::vector<tn::task>{ps0, ps1, worker}, graph);
        s->run(tn::initialize_variables());
    }
    ids_type some(std::mt19937& random, int n = 9) const {
        ids_type a(n);
        for (int i = 0; i < n; ++i) a(i) = static_cast<std::int32_t>(std::min(random() % rows, random() % rows));
        return a;
    }
    auto both(const ids_type& at) { return s->run(tn::feed(ids, at), cached, direct); }
    std::int64_t number(const tn::tensor<std::int64_t, tn::shape<>>& n) { return s->run(n).item(); }

    tn::task ps0{{.job = "ps"}}, ps1{{.job = "ps", .index = 1}}, worker{{.job = "worker"}};
    own_graph graph;
    tn::device_scope placed = tn::on(tn::replica_device_setter(2, {.worker_device = "/job:worker/task:0"}));
    tn::tensor<std::int32_t, tn::shape<batch>> ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    tn::tensor<float, tn::shape<rows, width>> table;
    tn::row_cache<float, tn::shape<rows, width>> cache;
    tn::tensor<float, tn::shape<batch, width>> cached, direct;
    tn::operation train_cached, train_direct;
    std::optional<tn::session> s;
};

} // namespace

TEST_CASE("with staleness 0 a lookup is gather, to the bit, whatever is trained in between") {
    for (const int parts : {1, 2}) {
        problem p({.capacity = 20, .staleness = 0}, parts);
        std::mt19937 random(1);
        for (int step = 0; step < 30; ++step) {
            const ids_type at = p.some(random);
            const auto [cached, direct] = p.both(at);
            CHECK(cached == direct);
            p.s->run(tn::feed(p.ids, p.some(random)), step % 2 ? p.train_direct : p.train_cached);
        }
        CHECK(p.number(p.cache.hits()) == 0);
    }
}

TEST_CASE("within the bound rows are used as they were read; after it they are those of the table") {
    problem p({.capacity = rows, .staleness = 3});
    std::mt19937 random(2);
    std::map<std::int32_t, int> read; // at which lookup
    std::map<std::int32_t, std::vector<float>> known;
    std::int64_t hits = 0;
    for (int step = 0; step < 60; ++step) {
        const ids_type at = p.some(random);
        const auto [cached, direct] = p.both(at);
        for (int i = 0; i < 9; ++i) {
            const std::int32_t id = at(i);
            if (read.contains(id) && read[id] != step && step - read[id] <= 3) ++hits;
            else {
                read[id] = step;
                known[id].clear();
                for (int c = 0; c < width; ++c) known[id].push_back(direct(i, c));
            }
            for (int c = 0; c < width; ++c) CHECK(cached(i, c) == known[id][static_cast<std::size_t>(c)]);
        }
        p.s->run(tn::feed(p.ids, p.some(random)), p.train_direct); // as another worker would
    }
    CHECK(p.number(p.cache.hits()) == hits);
    CHECK(hits > 100);
}

TEST_CASE("several lookups of a cache, of which each step runs some, keep its bound") {
    std::mt19937 random(5);
    for (const std::int64_t staleness : {0, 1, 3}) {
        problem p({.capacity = rows, .staleness = staleness});
        const std::vector<tn::any_tensor> lookups{p.cached, p.cache.gather(p.ids), p.cache.gather(p.ids)};
        std::vector<tn::array<float, tn::shape<rows, width>>> history; // of the table, before each step
        for (int step = 0; step < 60; ++step) {
            history.push_back(p.s->run(p.table));
            std::vector<tn::any_tensor> some;
            for (const tn::any_tensor& l : lookups)
                if (random() % 2) some.push_back(l);
            if (some.empty()) some.push_back(lookups[random() % 3]);
            const ids_type at = p.some(random);
            for (const tn::any_array& got : p.s->run_untyped(tn::test::fed(p.ids, at.untyped()), some)) {
                for (int i = 0; i < 9; ++i) {
                    const float* const row = got.data<float>() + i * width;
                    const auto first = history.end() - std::min<std::int64_t>(staleness + 1, step + 1);
                    CHECK(std::any_of(first, history.end(), [&](const auto& table) {
                        return std::equal(row, row + width, table.data() + at(i) * width);
                    }));
                }
            }
            p.s->run(tn::feed(p.ids, p.some(random)), p.train_direct);
        }
    }
}

TEST_CASE("own gradients are seen at once: rows are forgotten, by any optimiser, or changed as gradient_descent "
          "changes them") {
    std::mt19937 random(3);
    for (const bool written : {false, true}) {
        problem p({.capacity = rows, .staleness = 1000, .write_through = written ? 0.25 : 0}, 2,
                  tn::gradient_descent(0.25));
        problem adaptive({.capacity = rows, .staleness = 1000}, 2, tn::adam(0.1));
        for (int step = 0; step < 30; ++step) {
            const ids_type at = p.some(random);
            p.s->run(tn::feed(p.ids, at), p.train_cached);
            const auto [cached, direct] = p.both(at);
            if (written) CHECK(all_close(cached, direct, 1e-5, 1e-6));
            else CHECK(cached == direct);
            adaptive.s->run(tn::feed(adaptive.ids, at), adaptive.train_cached);
            const auto [a, b] = adaptive.both(at);
            CHECK(a == b);
        }
        if (written) CHECK(p.number(p.cache.misses()) <= rows); // each row was asked for once
        CHECK(p.number(p.cache.stale()) == 0);
    }
}

TEST_CASE("the table's gradient is gather's: sparse, and training by a cache of staleness 0 gives the same table to "
          "the bit") {
    std::vector<tn::array<float, tn::shape<rows, width>>> tables;
    for (const bool cached : {true, false}) {
        problem p({.capacity = 10}, 2, tn::adagrad(0.1));
        for (const auto& g : tn::optimizer::compute_gradients(sum(p.cached))) CHECK(tn::sparse_rows(g.gradient));
        std::mt19937 random(4);
        for (int step = 0; step < 20; ++step)
            p.s->run(tn::feed(p.ids, p.some(random)), cached ? p.train_cached : p.train_direct);
        tables.push_back(p.s->run(p.table));
    }
    CHECK(tables[0] == tables[1]);
}

TEST_CASE("what is counted adds up, and bytes that are saved are those that do not cross") {
    problem p({.capacity = 8, .staleness = 100});
    std::mt19937 random(5);
    for (int step = 0; step < 20; ++step) p.s->run(tn::feed(p.ids, p.some(random)), p.cached);
    const auto [hits, misses, stale, evicted, held, saved] = p.s->run(
        p.cache.hits(), p.cache.misses(), p.cache.stale(), p.cache.evicted(), p.cache.held(), p.cache.bytes_saved());
    CHECK(held.item() == 8);
    CHECK(stale.item() == 0);
    CHECK(evicted.item() == misses.item() - 8);
    CHECK(saved.item() == (20 * 9 - misses.item()) * width * 4);
    CHECK(hits.item() > 0);
    p.s->run(p.cache.clear());
    CHECK(p.number(p.cache.held()) == 0);
    // What crosses in a step says so, too: nothing of the table where all rows are there, and the indices stay here.
    problem q({.capacity = rows, .staleness = 1000});
    const ids_type at = q.some(random);
    q.s->run(tn::feed(q.ids, at), q.cached);
    CHECK(q.s->explain_placement(tn::feed(q.ids, at), q.cached).nodes.size() > 0);
    const auto before = q.number(q.cache.misses());
    q.s->run(tn::feed(q.ids, at), q.cached);
    CHECK(q.number(q.cache.misses()) == before);
}

TEST_CASE("a cache is on the worker's task, gathers of rows where the table's parts are, and no row is read of what is "
          "not asked") {
    problem p({.capacity = 8, .staleness = 1});
    const ids_type at{1, 2, 59};
    int on_worker = 0;
    for (const auto& n : p.s->explain_placement(tn::feed(p.ids, at), p.cached).nodes)
        if (contains(n.op, "row_cache")) {
            ++on_worker;
            CHECK(tn::to_string(n.device) == "/job:worker/replica:0/task:0/device:CPU:0");
        } else if (n.op == "gather") CHECK(n.device.job == "ps");
    CHECK(on_worker >= 2);
}

TEST_CASE("a table that fits on no task is trained through a cache that is smaller than it") {
    constexpr int many = 48'000, wide = 32; // 6.1 MB
    constexpr std::size_t limit = 5'500'000;
    for (const int parts : {1, 4}) {
        const tn::task ps0({.memory_limit = limit, .job = "ps"}), ps1({.memory_limit = limit, .job = "ps", .index = 1}),
            worker({.memory_limit = limit, .job = "worker"});
        const own_graph g;
        const auto placed = tn::on(tn::replica_device_setter(2, {.worker_device = "/job:worker/task:0"}));
        const auto table = tn::variable<float, tn::shape<many, wide>>("table", tn::constant_value(0.5),
                                                                      {.partition = {.parts = parts}});
        const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
        const tn::row_cache cache(table, {.capacity = 1000, .staleness = 5, .write_through = 0.1});
        const auto found = cache.gather(ids);
        const auto loss = sum(tn::square(found));
        const tn::operation train = tn::gradient_descent(0.1).minimize(loss);
        tn::session s({ps0, ps1, worker}, g);
        const auto begin = [&] {
            for (const tn::any_tensor& v : g.collection(tn::global_variables))
                s.run(tn::untyped::initialize_variables({v}));
        };
        if (parts == 1) {
            CHECK_THROWS_AS(begin(), tn::resource_exhausted_error);
            continue;
        }
        begin();
        const tn::array<std::int32_t, tn::shape<batch>> at{0, 47'999, 12'000, 36'000};
        for (int step = 0; step < 60; ++step) s.run(tn::feed(ids, at), train);
        CHECK(s.run(tn::feed(ids, at), loss).item() < 1e-6f);
        s.run(cache.clear());
        CHECK(s.run(tn::feed(ids, at), loss).item() < 1e-6f); // the table itself
    }
}

TEST_CASE("two lookups of one cache in a step are of one step; indices may have any sizes, and be none") {
    const tn::graph_scope scope{tn::graph()};
    const auto table = tn::variable<double, tn::shape<10, 2, 3>>("table", tn::uniform(-1, 1, 3));
    const tn::row_cache cache(table, {.capacity = 10, .staleness = 0});
    const auto ids = tn::placeholder<std::int64_t, tn::shape<batch, 2>>("ids");
    const auto first = cache.gather(ids);
    const auto second = cache.gather(ids);
    initialized_session s;
    using some = tn::array<std::int64_t, tn::shape<batch, 2>>;
    for (const some& at : {some{{1, 9}, {1, 0}, {3, 3}}, some(0)}) {
        const auto [a, b, expected] = s.run(tn::feed(ids, at), first, second, tn::gather(table, ids));
        CHECK(a == expected);
        CHECK(b == expected);
    }
}

TEST_CASE("an index outside the table is refused, and what is no table; a step that fails leaves the cache usable") {
    problem p({.capacity = 8, .staleness = 9});
    CHECK_ERROR(tn::invalid_argument_error, "index 60 at [1] is out of range for the 60 rows of the table",
                p.both({1, rows}));
    const auto [a, b] = p.both({1, 2, 1});
    CHECK(a == b);
    const auto said = [&](const tn::row_cache_options& o) {
        return message_of<tn::invalid_argument_error>([&] { tn::untyped::row_cache(p.table, o); });
    };
    CHECK(said({.capacity = -1}) == "row_cache: capacity is -1; give a number of rows");
    CHECK(said({.staleness = -1}) == "row_cache: staleness is -1; give a number of steps, or 0");
    CHECK(contains(said({.write_through = -1}), "give the learning rate"));
    CHECK_ERROR(tn::invalid_argument_error, "is no variable but a", tn::untyped::row_cache(p.direct, {}));
    const auto numbers = tn::variable<std::int32_t, tn::shape<4, 2>>("numbers", tn::zeros());
    CHECK_ERROR(tn::invalid_argument_error, "write_through is for tables of floating numbers",
                tn::untyped::row_cache(numbers, {.write_through = 0.1}));
}
