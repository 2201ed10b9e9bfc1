#include "tests.hpp"

// SEMANTICS 39: sparse gradients (indices, values) from gather stay sparse end to end.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
using pairs = std::vector<tn::gradient_and_variable>;

tn::any_tensor as_dense(const tn::any_tensor& gradient) { return tn::untyped::identity(gradient); }
pairs as_dense(pairs p) {
    for (tn::gradient_and_variable& g : p) g.gradient = as_dense(g.gradient);
    return p;
}
pairs as_they_are(pairs p) { return p; }

bool all_sparse(const pairs& p) {
    for (const tn::gradient_and_variable& g : p)
        if (!tn::sparse_rows(g.gradient)) return false;
    return true;
}

constexpr int rows = 12, width = 5;

// A table of which words are used in sums: once, twice and in another gather.
template <class T> struct problem {
    own_graph graph;
    tn::variable_tensor<T, tn::shape<rows, width>> table =
        tn::variable<T, tn::shape<rows, width>>("table", tn::uniform(-1, 1, 7));
    tn::tensor<std::int32_t, tn::shape<batch, 3>> words = tn::placeholder<std::int32_t, tn::shape<batch, 3>>("words");
    tn::tensor<std::int64_t, tn::shape<2>> more = tn::constant({std::int64_t{4}, std::int64_t{9}});
    tn::tensor<T, tn::shape<>> loss = sum(square(sum<1>(gather(table, words)) - T(1))) + sum(gather(table, more));

    // The table after some steps, with gradients as `how` leaves them.
    tn::array<T, tn::shape<rows, width>> after(const tn::optimizer& o, int steps,
                                               const std::function<pairs(pairs)>& how = as_they_are) {
        const tn::operation train = o.apply_gradients(how(tn::optimizer::compute_gradients(loss)));
        initialized_session s;
        for (int i = 0; i < steps; ++i)
            s.run(tn::feed(words, tn::array<std::int32_t>{{1, 4, 1}, {i % 3, 7, 4}}), train);
        return s.run(table);
    }
};

template <class T> void check_equal(const tn::optimizer& o, double tolerance) {
    problem<T> p;
    const auto sparse = p.after(o, 6), dense = p.after(o, 6, [](pairs g) { return as_dense(std::move(g)); });
    bool changed = false;
    for (std::int64_t i = 0; i < rows * width; ++i) {
        CHECK(static_cast<double>(sparse[i]) ==
              doctest::Approx(static_cast<double>(dense[i])).epsilon(tolerance).scale(1));
        changed = changed || sparse[i] != dense[0];
    }
    CHECK(changed);
}

} // namespace

TEST_CASE("SEMANTICS 39: the gradient of gathers is their indices and values, joined where there are several") {
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<6, 2>>("table", tn::zeros());
    const auto one = gather(table, tn::constant({5, 0, 5}));
    const auto two = gather(table, tn::constant({{std::int64_t{1}}, {std::int64_t{0}}}));
    const auto weights = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
    const auto [single] = tn::gradients(sum(one * weights), table);
    const auto [joined] = tn::gradients(sum(one * weights) + 10.0f * sum(two), table);
    const auto [dense] = tn::gradients(sum(one * weights) + sum(table), table);
    CHECK_FALSE(tn::sparse_rows(dense));
    CHECK_FALSE(tn::sparse_rows(weights));
    REQUIRE(tn::sparse_rows(single));
    const auto rows_of = tn::sparse_rows(joined);
    REQUIRE(rows_of);
    initialized_session s;
    const auto parts = s.run_untyped({}, {rows_of->indices, rows_of->values});
    REQUIRE(parts[0].extents() == tn::extents(5));
    CHECK(parts[0].element() == tn::element_type::int64);
    const std::int64_t names[] = {1, 0, 5, 0, 5};
    for (int i = 0; i < 5; ++i) CHECK(parts[0].data<std::int64_t>()[i] == names[i]);
    CHECK(parts[1].extents() == tn::extents(5, 2));
    CHECK(parts[1].data<float>()[1] == 10);
    CHECK(parts[1].data<float>()[7] == 4);
    // Who reads it densely gets it densely.
    CHECK(s.run(joined) == tn::array<float, tn::shape<6, 2>>{{13, 14}, {10, 10}, {0, 0}, {0, 0}, {0, 0}, {6, 8}});
    CHECK(s.run(dense)(5, 1) == 9);
}

TEST_CASE("a sparse gradient times a number, and sums of such, are sparse; what is not linear is dense") {
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<4, 2>>("table", tn::ones());
    const auto rate = tn::placeholder<float, tn::shape<>>("rate");
    const auto [a] = tn::gradients(sum(gather(table, tn::constant({1, 3}))), table);
    const auto [b] = tn::gradients(sum(square(gather(table, tn::constant({3})))), table);
    const tn::tensor<float, tn::shape<4, 2>> mean = (a + b * 3.0f) * 0.5f / rate - b;
    const auto parts = tn::sparse_rows(mean);
    REQUIRE(parts);
    initialized_session s;
    const auto values = s.run_untyped(
        [&] {
            std::vector<tn::fed_value> f;
            f.push_back(tn::feed(rate, 2.0f));
            return f;
        }(),
        {parts->indices, parts->values});
    REQUIRE(values[1].extents() == tn::extents(3, 2));
    CHECK(values[0].data<std::int32_t>()[2] == 3);
    CHECK(values[1].data<float>()[0] == 0.25f);
    CHECK(values[1].data<float>()[5] == -0.5f);
    CHECK(s.run(tn::feed(rate, 2.0f), mean)(3, 0) == -0.25f);
    CHECK_FALSE(tn::sparse_rows(tn::identity(a + 1.0f)));
    CHECK_FALSE(tn::sparse_rows(tn::identity(square(a) * 1.0f)));
    CHECK_FALSE(tn::sparse_rows(tn::identity(a + table)));
    const tn::tensor<float, tn::shape<4, 2>> cells = a * table;
    CHECK_FALSE(tn::sparse_rows(cells));
}

TEST_CASE_FIXTURE(in_graph, "a chain of any length is looked through for rows, and what is found of it is found once") {
    const auto table = tn::variable<float, tn::shape<6, 2>>("table", tn::ones());
    const auto [gradient] = tn::gradients(sum(gather(table, tn::constant({1, 4}))), table);
    tn::any_tensor sparse = gradient, dense = tn::constant(tn::array<float, tn::shape<6, 2>>());
    for (int i = 0; i < 20'000; ++i) {
        sparse = tn::detail::add_instruction(tn::opcode::negative, {sparse});
        dense = tn::detail::add_instruction(tn::opcode::negative, {dense});
    }
    CHECK(tn::sparse_rows(sparse).has_value());
    CHECK_FALSE(tn::sparse_rows(dense).has_value());
    // Each is read twice by the next: 2^40 ways lead to the last.
    tn::any_tensor twice = gradient;
    for (int i = 0; i < 40; ++i) twice = tn::untyped::add(twice, twice);
    CHECK(tn::sparse_rows(twice).has_value());
}

TEST_CASE("SEMANTICS 39: gradient descent and Adagrad give by sparse gradients what they give by dense ones") {
    check_equal<double>(tn::gradient_descent(0.05), 1e-14);
    check_equal<double>(tn::adagrad(0.1), 1e-14);
    check_equal<float>(tn::gradient_descent(0.05), 1e-6);
    check_equal<float>(tn::adagrad(0.1), 1e-6);
    check_equal<tn::half>(tn::gradient_descent(0.05), 2e-3);
    check_equal<tn::bfloat16>(tn::adagrad(0.1), 2e-2);
}

TEST_CASE("SEMANTICS 39: momentum, RMSProp and Adam leave rows that are not named as they are, and their slots") {
    // The words of each step are the same, so the rows they name go as in dense training.
    const auto check = [](const tn::optimizer& o) {
        const auto steps = [&](const std::function<pairs(pairs)>& how) {
            problem<double> p;
            const tn::operation train = o.apply_gradients(how(tn::optimizer::compute_gradients(p.loss)));
            initialized_session s;
            const tn::array<std::int32_t> words{{1, 4, 1}, {2, 7, 4}}, other{{0, 0, 0}, {0, 0, 0}};
            s.run(tn::feed(p.words, other), train); // row 0 has slots that would move it
            const auto before = s.run(p.table);
            for (int i = 0; i < 4; ++i) s.run(tn::feed(p.words, words), train);
            const auto after = s.run(p.table);
            std::vector<double> all(after.begin(), after.end());
            all.push_back(before(0, 0) - after(0, 0));
            return all;
        };
        const auto sparse = steps(as_they_are), dense = steps([](pairs g) { return as_dense(std::move(g)); });
        for (const int row : {3, 4, 5, 9})
            for (int k = 0; k < width; ++k) {
                const auto i = static_cast<std::size_t>(row * width + k);
                CHECK(sparse[i] == doctest::Approx(dense[i]).epsilon(1e-12));
            }
        CHECK(sparse.back() == 0);
        CHECK(dense.back() != 0);
    };
    check(tn::momentum(0.01, 0.9));
    check(tn::momentum(0.01, 0.9, {.nesterov = true}));
    check(tn::rmsprop(0.01, {.momentum = 0.5, .centered = true}));
    check(tn::adam(0.01));
}

TEST_CASE("SEMANTICS 39: clipped gradients stay sparse, and are those that dense ones are clipped to") {
    const auto both = [](const std::function<pairs(pairs)>& clip, bool stays) {
        problem<double> p;
        CHECK(all_sparse(clip(tn::optimizer::compute_gradients(p.loss))) == stays);
        const auto o = tn::gradient_descent(0.02);
        const auto sparse = p.after(o, 4, clip), dense = p.after(o, 4, [&](pairs g) { return clip(as_dense(g)); });
        for (std::int64_t i = 0; i < rows * width; ++i) CHECK(sparse[i] == doctest::Approx(dense[i]).epsilon(1e-12));
    };
    both([](pairs p) { return tn::clip_by_global_norm(std::move(p), 0.5); }, true);
    both([](pairs p) { return tn::clip_by_norm(std::move(p), 0.7); }, true);
    both([](pairs p) { return tn::clip_by_value(std::move(p), -0.3, 0.1); }, true);
    both([](pairs p) { return tn::clip_by_value(std::move(p), 0.1, 0.3); }, false);
    both([](pairs p) { return tn::clip_by_norm(tn::clip_by_value(std::move(p), -0.3, 0.1), 0.2); }, true);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 39: a gather of a gather is sparse in the table") {
    const auto table = tn::variable<double, tn::shape<1000, 2>>("table", tn::uniform(-1, 1, 3));
    const auto words = gather(table, tn::constant({7, 900, 7, 30}));
    const auto loss = sum(square(gather(words, tn::constant({0, 2, 2, 3}))));
    const auto gradient = tn::optimizer::compute_gradients(loss);
    REQUIRE(all_sparse(gradient));
    const tn::operation train = tn::gradient_descent(0.1).apply_gradients(gradient);
    initialized_session s;
    const auto before = s.run(table);
    s.run(train);
    const auto after = s.run(table);
    for (int k = 0; k < 2; ++k) {
        CHECK(after(7, k) == doctest::Approx(before(7, k) * (1 - 0.1 * 6)));
        CHECK(after(30, k) == doctest::Approx(before(30, k) * (1 - 0.1 * 2)));
        CHECK(after(900, k) == before(900, k));
    }
}

TEST_CASE("SEMANTICS 39: a step takes neither memory nor time for the rows that it does not name") {
    constexpr int words = 100000, wide = 64;
    constexpr std::size_t dense = std::size_t{words} * wide * sizeof(float);
    const auto bytes = [&](const tn::optimizer& o, bool clip) {
        const own_graph g;
        const auto table = tn::variable<float, tn::shape<words, wide>>("table", tn::uniform(-1, 1, 3));
        const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
        const auto loss = mean(square(gather(table, ids))) + sum(gather(table, tn::constant({1, 2, 3})));
        pairs p = tn::optimizer::compute_gradients(loss);
        if (clip) p = tn::clip_by_global_norm(std::move(p), 1);
        const tn::operation train = o.apply_gradients(p);
        tn::session s;
        const tn::step_report r = s.report(tn::feed(ids, tn::array<std::int32_t>(tn::extents(256))), train);
        for (const std::string& step : r.order) CHECK_FALSE(contains(step, "gather_gradient"));
        return r.arena_bytes;
    };
    for (const bool clip : {false, true}) {
        CHECK(bytes(tn::gradient_descent(0.1), clip) < dense / 50);
        CHECK(bytes(tn::adam(0.1), clip) < dense / 50);
        CHECK(bytes(tn::rmsprop(0.1, {.momentum = 0.5, .centered = true}), clip) < dense / 50);
    }
}

TEST_CASE_FIXTURE(in_graph, "rows from anywhere are applied as a gradient") {
    const auto table = tn::variable<float, tn::shape<4, 2>>("table", tn::ones());
    const auto values = tn::placeholder<float, tn::shape<batch, 2>>("values");
    const auto wide = tn::placeholder<float, tn::shape<batch, 3>>("wide");
    const auto ids = tn::placeholder<std::int64_t, tn::shape<batch>>("ids");
    CHECK_ERROR(tn::invalid_argument_error, "[batch, 3] x [batch] x [4, 2]", tn::gradient_of_rows({ids, wide}, table));
    const tn::any_tensor gradient = tn::gradient_of_rows({ids, values}, table);
    CHECK(tn::sparse_rows(gradient)->values.output() == values.output());
    const tn::operation train = tn::gradient_descent(0.5).apply_gradients({{gradient, table}});
    initialized_session s;
    s.run(tn::feed(ids, tn::array<std::int64_t>{3, 3}), tn::feed(values, tn::array<float>{{1, 2}, {3, 4}}), train);
    CHECK(s.run(table) == tn::array<float, tn::shape<4, 2>>{{1, 1}, {1, 1}, {1, 1}, {-1, -2}});
    CHECK_ERROR(tn::invalid_argument_error, "index 4 at [0] is out of range",
                s.run(tn::feed(ids, tn::array<std::int64_t>{4}), tn::feed(values, tn::array<float>{{1, 2}}), train));
    CHECK(s.run(table)(3, 0) == -1);
}

// Another step may have changed the rows since the model gathered them.
TEST_CASE("SEMANTICS 20: the rows that are updated are read anew, once, when the step has locked the table") {
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<100, 8>>("table", tn::ones());
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch, 2>>("ids");
    const tn::operation train = tn::gradient_descent(0.1).minimize(sum(square(gather(table, ids))));
    tn::session s;
    int gathers = 0, updates = 0;
    for (const std::string& step : s.report(tn::feed(ids, tn::array<std::int32_t>{{1, 2}, {3, 1}}), train).order) {
        gathers += step.find("(gather)") != std::string::npos;
        updates += step.find("(fused_rows)") != std::string::npos;
    }
    CHECK(gathers == 1);
    CHECK(updates == 1);
}

TEST_CASE("SEMANTICS 39: sparse training does not depend on the number of threads") {
    const auto trained = [](int threads) {
        const own_graph g;
        const auto table = tn::variable<float, tn::shape<500, 300>>("table", tn::uniform(-1, 1, 3));
        const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
        const tn::operation train = tn::adam(0.1).minimize(sum(square(square(gather(table, ids)))));
        initialized_session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        tn::array<std::int32_t> many(tn::extents(3000));
        for (int i = 0; i < 3000; ++i) many[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * i % 491);
        for (int i = 0; i < 3; ++i) s.run(tn::feed(ids, many), train);
        return s.run(table);
    };
    CHECK(trained(1) == trained(3));
}

TEST_CASE("a graph that trains sparsely comes back from JSON") {
    problem<double> p;
    const tn::operation train =
        tn::adam(0.1).apply_gradients(tn::clip_by_global_norm(tn::optimizer::compute_gradients(p.loss), 1));
    const tn::operation begin = tn::initialize_variables();
    const auto trained = [&](const tn::graph& g) {
        tn::session s(g);
        std::vector<tn::fed_value> fed;
        fed.push_back({g.tensor("words"), tn::array<std::int32_t>{{1, 4, 1}, {2, 7, 4}}.untyped().share()});
        s.run_untyped({}, {}, {tn::operation(g.find(begin.name()))});
        s.run_untyped(std::move(fed), {}, {tn::operation(g.find(train.name()))});
        return std::move(s.run_untyped({}, {g.tensor("table")})[0]);
    };
    const tn::graph copy = tn::graph_from_json(tn::to_json(p.graph));
    const tn::any_array here = trained(p.graph), there = trained(copy);
    for (std::int64_t i = 0; i < rows * width; ++i) CHECK(here.data<double>()[i] == there.data<double>()[i]);
}

TEST_CASE("a table that is used densely too has a dense gradient") {
    problem<double> p;
    const auto [dense] = tn::gradients(p.loss + sum(square(p.table)), p.table);
    CHECK_FALSE(tn::sparse_rows(dense));
}

TEST_CASE("SEMANTICS 39: an embedding learns which words go together") {
    tn::graph g;
    g.set_seed(5);
    const tn::graph_scope scope(g);
    constexpr int words = 40, wide = 8, classes = 4;
    const auto table = tn::variable<float, tn::shape<words, wide>>("table", tn::normal(0, 0.3));
    const auto w = tn::variable<float, tn::shape<wide, classes>>("w", tn::glorot_uniform());
    const auto x = tn::placeholder<std::int32_t, tn::shape<batch, 3>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    const auto logits = matmul(mean<1>(gather(table, x)), w);
    const auto loss = mean(sparse_softmax_cross_entropy(logits, y));
    const auto check = [&](const tn::optimizer& o) {
        const tn::operation train = o.minimize(loss);
        initialized_session s;
        tn::array<std::int32_t> sentences(tn::extents(64, 3)), topics(tn::extents(64));
        for (int i = 0; i < 64; ++i) { // of words of one topic
            topics[i] = i % classes;
            for (int k = 0; k < 3; ++k) sentences(i, k) = (i * 7 + k * 13) % (words / classes) * classes + i % classes;
        }
        for (int i = 0; i < 60; ++i) s.run(tn::feed(x, sentences), tn::feed(y, topics), train);
        CHECK(s.run(tn::feed(x, sentences), tn::feed(y, topics), loss).item() < 0.1f);
    };
    check(tn::adam(0.05));
    check(tn::adagrad(0.5));
    check(tn::momentum(1.0, 0.9));
}
