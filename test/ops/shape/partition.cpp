#include "ops/check_gradients.hpp"
#include "runtime/every_session.hpp"
#include "ops/untyped_run.hpp"

// Variables in parts: what is computed with one is what is computed with the same variable in one piece.

namespace u = tenon::untyped;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

tn::extents with_rows(std::int64_t rows, const tn::extents& row) {
    tn::extents e{rows};
    for (const tn::extent& d : row) e.push_back(d);
    return e;
}

// Numbers of a type, small enough that sums of a few are exact.
tn::any_array random_values(std::mt19937& r, tn::element_type e, const tn::extents& sizes, int low, int high) {
    tn::any_array a(e, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const int v = std::uniform_int_distribution<int>(low, high)(r);
        if (e == tn::element_type::float32) a.data<float>()[i] = static_cast<float>(v);
        else if (e == tn::element_type::float64) a.data<double>()[i] = v;
        else if (e == tn::element_type::int32) a.data<std::int32_t>()[i] = v;
        else a.data<std::int64_t>()[i] = v;
    }
    return a;
}

tn::any_tensor constant_of(tn::any_array value) {
    return tn::add<tn::constant_op>({std::make_shared<const tn::any_array>(std::move(value))}, {});
}

int draw(std::mt19937& r, int low, int high) { return std::uniform_int_distribution<int>(low, high)(r); }

} // namespace

TEST_CASE("rows in parts are as even as they divide, and every row is in one of them") {
    for (std::int64_t rows = 0; rows < 40; ++rows)
        for (std::int64_t parts = 1; parts < 12; ++parts) {
            CAPTURE(rows);
            CAPTURE(parts);
            const tn::detail::even_parts split{rows, parts};
            CHECK(split.begin(0) == 0);
            CHECK(split.begin(parts) == rows);
            for (std::int64_t p = 0; p < parts; ++p) {
                CHECK(split.size(p) >= rows / parts);
                CHECK(split.size(p) <= (rows + parts - 1) / parts);
                for (std::int64_t row = split.begin(p); row < split.begin(p + 1); ++row) CHECK(split.part_of(row) == p);
            }
        }
}

TEST_CASE("how many parts: so many, or so that none is larger, or none smaller; never more than rows") {
    using how = tn::partitioned;
    CHECK(how{.parts = 3}.count(10, 400) == 3);
    CHECK(how{.parts = 30}.count(10, 400) == 10);
    CHECK(how{.parts = 3}.count(0, 0) == 1);
    CHECK(how{.largest = 100}.count(10, 400) == 5); // two rows of 40 bytes each
    CHECK(how{.largest = 1}.count(10, 400) == 10);
    CHECK(how{.largest = 400}.count(10, 400) == 1);
    CHECK(how{.parts = 4, .largest = 100}.count(10, 400) == 4);
    CHECK(how{.parts = 8, .smallest = 100}.count(10, 400) == 3); // three rows or more
    CHECK(how{.parts = 8, .smallest = 1000}.count(10, 400) == 1);
    CHECK_ERROR(tn::invalid_argument_error, "-1", how{.parts = -1}.count(10, 400));
    CHECK_ERROR(tn::invalid_argument_error, "how many parts", how{.smallest = 5}.count(10, 400));
    CHECK_THROWS_AS(tn::partition_scope(how{}), tn::invalid_argument_error);
}

TEST_CASE("a variable in parts has the type of one in one piece; its parts are variables of their own") {
    const own_graph g;
    const auto table =
        tn::variable<float, tn::shape<7, 2>>("table", tn::constant_value(3), {.partition = {.parts = 3}});
    static_assert(std::is_same_v<decltype(table), const tn::variable_tensor<float, tn::shape<7, 2>>>);
    CHECK(table.name() == "table");
    const std::vector<tn::any_tensor> parts = tn::parts_of(table);
    REQUIRE(parts.size() == 3);
    CHECK(parts[0].name() == "table/part_0");
    CHECK(parts[2].name() == "table/part_2");
    CHECK(parts[0].extents() == tn::extents{3, 2});
    CHECK(parts[1].extents() == tn::extents{2, 2});
    CHECK(parts[2].extents() == tn::extents{2, 2});
    CHECK(g.collection(tn::global_variables).size() == 3);
    CHECK(g.collection(tn::trainable_variables).size() == 3);
    CHECK(tn::parts_of(parts[0]).empty());
    CHECK(tn::parts_of(concat<0>(table, table)).empty());

    const auto same =
        tn::variable<float, tn::shape<7, 2>>("table", tn::zeros(), {.trainable = false, .partition = {.parts = 2}});
    CHECK(same.name() == "table_1");
    CHECK(tn::parts_of(same)[1].name() == "table_1/part_1");
    CHECK(g.collection(tn::trainable_variables).size() == 3);
    CHECK(tn::variable("table", 1.0f).name() == "table_2");
    const auto one = tn::variable<float, tn::shape<7, 2>>("one", tn::zeros(), {.partition = {.parts = 1}});
    CHECK(tn::parts_of(one).empty()); // a variable like others
    const auto three = tn::partitioned_variable<float, tn::shape<7, 2>, 3>("three", tn::zeros());
    CHECK(tn::parts_of(three).size() == 3);
    {
        const tn::name_scope layer("layer");
        CHECK(tn::variable<float, tn::shape<4>>("w", tn::zeros(), {.partition = {.parts = 2}}).name() == "layer/w");
    }
    CHECK_ERROR(tn::invalid_argument_error, "no rows",
                (tn::variable<float, tn::shape<>>("s", tn::zeros(), {.partition = {.parts = 2}})));

    tn::session s;
    s.run(table.initializer());
    CHECK(s.run(table)(6, 1) == 3);
    CHECK(s.run(sum(table * 2.0f))() == 84);
    CHECK(s.run(table.initialized_value()) == s.run(table));
    CHECK_ERROR(tn::failed_precondition_error, "table_1/part_", s.run(same));
}

TEST_CASE("partition_scope: variables inside are parted, those that it would make too small and scalars are not") {
    const own_graph g;
    const tn::partition_scope by({.parts = 4, .smallest = 32});
    CHECK(tn::parts_of(tn::variable<float, tn::shape<64, 2>>("large", tn::zeros())).size() == 4);
    CHECK(tn::parts_of(tn::variable<float, tn::shape<8, 2>>("medium", tn::zeros())).size() == 2);
    CHECK(tn::parts_of(tn::variable<float, tn::shape<7>>("small", tn::zeros())).empty());
    CHECK(tn::parts_of(tn::variable("scalar", 1.0)).empty());
    CHECK(tn::parts_of(tn::variable<float, tn::shape<8, 2>>("own", tn::zeros(), {.partition = {.parts = 8}})).size() ==
          8);
    const auto layer = tn::nn::dense<4>();
    (void)layer(tn::placeholder<float, tn::shape<batch, 32>>("x"));
    CHECK(tn::parts_of(layer.kernel()).size() == 4);
}

TEST_CASE("initialisers give the parts the numbers that the whole has") {
    const tn::element_type types[] = {tn::element_type::float32, tn::element_type::float64, tn::element_type::float16,
                                      tn::element_type::bfloat16};
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}})
        for (const tn::element_type e : types)
            for (const tn::initializer& how :
                 {tn::uniform(-1, 2, seed), tn::normal(1, 2, seed), tn::truncated_normal(0, 3, seed),
                  tn::glorot_uniform(seed), tn::he_normal(seed), tn::constant_value(5)}) {
                const tn::extents sizes{701, 3, 3}; // parts begin within the blocks that numbers are made of
                const auto value = [&](int parts) {
                    const own_graph g;
                    g.state();
                    tn::graph(g).set_seed(11);
                    const tn::any_tensor v = u::variable("w", {e, sizes}, how, {.partition = {.parts = parts}});
                    initialized_session s;
                    s.run(tn::initialize_variables()); // the second run's numbers
                    return std::move(s.run_untyped({}, {v})[0]);
                };
                const tn::any_array whole = value(1);
                for (const int parts : {2, 3, 5}) CHECK(value(parts) == whole);
            }
}

TEST_CASE("property: gather, and updates of all kinds, do what they do to a variable in one piece") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        std::mt19937 r(seed);
        const own_graph g;
        const auto e = draw(r, 0, 1) ? tn::element_type::float32
                                     : (draw(r, 0, 1) ? tn::element_type::float64 : tn::element_type::int32);
        const int rows = draw(r, 1, 30), parts = draw(r, 2, 9);
        const tn::extents row = draw(r, 0, 2) == 0 ? tn::extents{} : draw(r, 0, 1) ? tn::extents{3} : tn::extents{2, 2};
        const tn::any_array begin = random_values(r, e, with_rows(rows, row), -9, 9);
        const tn::any_tensor first = constant_of(begin.copy());
        const tn::any_tensor table = u::variable("table", first, {.partition = {.parts = parts}});
        const tn::any_tensor plain = u::variable("plain", first);
        CHECK(table.extents() == plain.extents());
        if (std::min(rows, parts) > 1)
            CHECK(tn::parts_of(table).size() == static_cast<std::size_t>(std::min(rows, parts)));

        const auto index = draw(r, 0, 1) ? tn::element_type::int32 : tn::element_type::int64;
        const tn::extents counted = draw(r, 0, 2) == 0 ? tn::extents{}
                                    : draw(r, 0, 1)    ? tn::extents{2, 3}
                                                       : tn::extents{draw(r, 0, 20)};
        const bool named = counted.rank() == 1 && draw(r, 0, 1);
        const tn::any_tensor ids =
            u::placeholder(index, named ? tn::extents{tn::extent::named("batch")} : counted, "ids");
        const tn::any_array some = random_values(r, index, counted, 0, rows - 1);
        tn::extents of_updates = counted;
        for (const tn::extent& d : row) of_updates.push_back(d);
        const tn::any_tensor updates = draw(r, 0, 3) == 0 ? constant_of(random_values(r, e, {}, 1, 4))
                                                          : constant_of(random_values(r, e, of_updates, 1, 4));
        const tn::any_tensor all = constant_of(random_values(r, e, with_rows(rows, row), -5, 5));
        const tn::any_tensor one_row = constant_of(random_values(r, e, with_rows(1, row), -5, 5));

        using update = tn::any_tensor (*)(const tn::any_tensor&, const tn::any_tensor&, const tn::any_tensor&,
                                          const tn::any_tensor&, const tn::any_tensor&);
        const update kinds[] = {
            [](auto& v, auto& i, auto& x, auto&, auto&) { return u::scatter_update(v, i, x); },
            [](auto& v, auto& i, auto& x, auto&, auto&) { return u::scatter_add(v, i, x); },
            [](auto& v, auto& i, auto& x, auto&, auto&) { return u::scatter_sub(v, i, x); },
            [](auto& v, auto& i, auto& x, auto&, auto&) { return u::scatter_max(v, i, x); },
            [](auto& v, auto&, auto&, auto& a, auto&) { return u::assign(v, a); },
            [](auto& v, auto&, auto&, auto& a, auto&) { return u::assign_add(v, a); },
            [](auto& v, auto&, auto&, auto&, auto& o) { return u::assign_sub(v, o); },
            [](auto& v, auto&, auto&, auto&, auto&) { return u::assign_add(v, 2); },
        };
        const update chosen = kinds[draw(r, 0, 7)];
        const bool scatters = chosen == kinds[0] || chosen == kinds[1] || chosen == kinds[2] || chosen == kinds[3];
        const tn::any_tensor shape_known = scatters && named ? u::identity(constant_of(some.copy())) : ids;
        const tn::any_tensor after = chosen(table, shape_known, updates, all, one_row);
        const tn::any_tensor after_plain = chosen(plain, shape_known, updates, all, one_row);
        const tn::any_tensor rows_of = u::gather(table, ids), rows_of_plain = u::gather(plain, ids);
        CHECK(rows_of.extents() == rows_of_plain.extents());

        initialized_session s;
        for (int step = 0; step < 3; ++step) {
            const auto got = s.run_untyped(tn::test::fed(ids, some.copy()),
                                           {rows_of, rows_of_plain, table, plain, after, after_plain});
            CHECK(got[0] == got[1]); // before the update
            CHECK(got[2] == got[3]);
            CHECK(got[4] == got[5]); // after it
        }
        const auto last = s.run_untyped({}, {table, plain});
        CHECK(last[0] == last[1]);
    }
}

TEST_CASE_FIXTURE(in_graph, "typed: rows of sizes that have names, along another axis, and updates by expressions") {
    const auto values = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
    const auto table = tn::variable("table", values, {.partition = {.parts = 2}});
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch, 2>>("ids");
    const auto rows = tn::gather(table, ids);
    static_assert(std::is_same_v<decltype(rows), const tn::tensor<float, tn::shape<batch, 2, 2>>>);
    const auto column = tn::gather<1>(table, tn::constant({1}));
    in_every_session([&](tn::session& s) {
        s.run(tn::initialize_variables());
        const auto got = s.run(tn::feed(ids, {{2, 0}, {2, 2}, {1, 0}}), rows);
        CHECK(got(0, 0, 1) == 6);
        CHECK(got(0, 1, 0) == 1);
        CHECK(got(2, 0, 0) == 3);
        CHECK(s.run(tn::feed(ids, tn::array<std::int32_t, tn::shape<batch, 2>>()), rows).extents() ==
              tn::extents{0, 2, 2});
        CHECK(s.run(column)(2, 0) == 6);
        CHECK(s.run(table.assign_add(table * 2.0f + 1.0f))(1, 0) == 10);
        CHECK(s.run(table.assign_sub(tn::constant({1.0f, 2.0f})))(2, 1) == 17);
        CHECK(s.run(table.assign(values + 1))(2, 1) == 7);
        CHECK(s.run(table.assign_add(1.0f))(0, 0) == 3);
        CHECK(s.run(table.scatter_add(tn::constant({2, 0, 2}), 1.0f))(2, 0) == 9);
        CHECK(s.run(table.scatter_mul(tn::constant({2}), tn::constant({{2.0f, 3.0f}})))(2, 0) == 18);
    });
}

TEST_CASE("an index outside of the rows is an error that names it, its place and the variable; nothing is changed") {
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<10, 2>>("table", tn::ones(), {.partition = {.parts = 3}});
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto rows = tn::gather(table, ids);
    const auto more = table.scatter_add(ids, 1.0f);
    initialized_session s;
    for (const int wrong : {10, -1}) {
        const std::string said = message_of<tn::invalid_argument_error>([&] {
            s.run(tn::feed(ids, {0, 9, wrong}), rows);
        });
        CHECK_MESSAGE(contains(said, "index " + std::to_string(wrong) + " at [2] is out of range for the 10 rows"),
                      said);
        CHECK_MESSAGE(contains(said, "\"table\""), said);
        CHECK_THROWS_AS(s.run(tn::feed(ids, {0, 9, wrong}), more), tn::invalid_argument_error);
    }
    CHECK(s.run(sum(table))() == 20);
}

TEST_CASE_FIXTURE(in_graph, "what does not fit a variable in parts is refused in the words for one in one piece") {
    const tn::any_tensor table =
        u::variable("table", {tn::element_type::float32, {10, 2}}, tn::zeros(), {.partition = {.parts = 3}});
    const auto wide = tn::placeholder<float, tn::shape<12, 2>>("wide");
    const auto narrow = tn::placeholder<float, tn::shape<9, 2>>("narrow");
    CHECK_ERROR(tn::invalid_argument_error, "[10, 2] x [12, 2]", u::assign(table, wide));
    CHECK_ERROR(tn::invalid_argument_error, "[10, 2] x [9, 2]", u::assign_add(table, narrow));
    CHECK_ERROR(tn::invalid_argument_error, "5000 parts; the most are 4096",
                u::variable("w", {tn::element_type::float32, {9000}}, tn::zeros(), {.partition = {.parts = 5000}}));
    // Rows whose number is known in the step are counted there.
    const auto any = tn::placeholder<float, tn::shape<tn::dyn, 2>>("any");
    const tn::any_tensor after = u::assign(table, any);
    initialized_session s;
    const auto run = [&](std::int64_t rows) {
        return s.run_untyped(tn::test::fed(any, tn::any_array::zeros(tn::element_type::float32, {rows, 2})), {after})[0]
            .extents();
    };
    CHECK(run(10) == tn::extents{10, 2});
    CHECK_THROWS_AS(run(12), tn::invalid_argument_error);
}

TEST_CASE("rows to parts and back: gradients agree with differences, and so do their own") {
    using tn::test::check_gradients, tn::test::input;
    const auto there_and_back = [](const tn::any_tensor& x, const tn::any_tensor& ids, double factor) {
        const tn::route_rows_op::attributes a{7, 3, "v"};
        std::vector<tn::any_tensor> in{ids};
        double by = factor;
        for (const tn::any_tensor& part : tn::detail::outputs_of(tn::add<tn::route_rows_op>(a, {ids, x}).node()))
            in.push_back(tn::detail::as_tensor(tn::as<double, tn::shape<tn::dyn, 3>>(part) * (by += 1)));
        return tn::as<double, tn::shape<5, 3>>(tn::add<tn::join_rows_op>(a, in));
    };
    const auto ids = [] { return tn::constant({6, 0, 3, 6, 5}); };
    CHECK(check_gradients([&](auto x) { return sum(square(there_and_back(x, ids(), 1))); }, input<tn::shape<5, 3>>()) ==
          "");
    CHECK(check_gradients(
              [&](auto x) {
                  const auto [by] = gradients(sum(exp(there_and_back(x, ids(), 0.5))), x);
                  return sum(square(by));
              },
              input<tn::shape<5, 3>>()) == "");
}

TEST_CASE("the gradient with respect to a variable in parts agrees with differences, of rows and of the whole") {
    for (const int parts : {1, 2, 3, 7}) {
        const own_graph g;
        const auto table =
            tn::variable<double, tn::shape<7, 2>>("table", tn::uniform(-1, 1, 5), {.partition = {.parts = parts}});
        const auto ids = tn::constant({6, 0, 3, 6, 5});
        const auto rows_only = sum(square(exp(gather(table, ids)) - 1.0));
        const auto both = rows_only + sum(table * square(table)) + mean(gather(table, ids));
        const auto nothing = sum(square(tn::constant(1.0)));
        for (const auto& loss : {rows_only, tn::detail::as_tensor(both)}) {
            const auto [by] = gradients(loss, table);
            static_assert(std::is_same_v<std::remove_cvref_t<decltype(by)>, tn::tensor<double, tn::shape<7, 2>>>);
            initialized_session s;
            const auto slope = s.run(by);
            const auto at = s.run(table);
            const auto fed = tn::placeholder<double, tn::shape<7, 2>>("fed");
            const auto set = table.assign(fed);
            const auto value = [&](int i, int j, double step) {
                auto moved = at.copy();
                moved(i, j) += step;
                s.run(tn::feed(fed, moved), set);
                return s.run(loss)();
            };
            for (int i = 0; i < 7; ++i)
                for (int j = 0; j < 2; ++j)
                    CHECK(slope(i, j) ==
                          doctest::Approx((value(i, j, 1e-5) - value(i, j, -1e-5)) / 2e-5).epsilon(1e-6));
        }
        const auto [zero] = gradients(nothing, table);
        tn::session s;
        CHECK(s.run(zero)(6, 1) == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "a graph that went through JSON knows its variables in parts") {
    const auto table =
        tn::variable<float, tn::shape<10, 2>>("table", tn::uniform(0, 1, 3), {.partition = {.parts = 3}});
    (void)tn::gather(table, tn::constant({1, 9}));
    const tn::graph read = tn::graph_from_json(tn::to_json(g));
    const tn::graph_scope scope(read);
    const tn::any_tensor again = read.tensor("table");
    CHECK(tn::parts_of(again).size() == 3);
    const tn::any_tensor rows = u::gather(again, tn::constant({9, 0}));
    initialized_session s;
    const auto got = s.run_untyped({}, {rows, again});
    CHECK(got[0].data<float>()[1] == got[1].data<float>()[19]);
    CHECK(got[0].data<float>()[2] == got[1].data<float>()[0]);
}
