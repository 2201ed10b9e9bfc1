#include "tests.hpp"
#include "ops/untyped_run.hpp"

// Variables in parts are trained and saved as if they were in one piece.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
using pairs = std::vector<tn::gradient_and_variable>;

constexpr int rows = 23, width = 3;
using table_shape = tn::shape<rows, width>;

enum class uses { few, whole, both };

// A table that is read by rows, as a whole, or both; a dense layer behind it.
struct problem {
    problem(int parts, uses u) : scope(graph) {
        table = std::make_unique<tn::variable_tensor<double, table_shape>>(
            tn::variable<double, table_shape>("table", tn::uniform(-1, 1, 7), {.partition = {.parts = parts}}));
        ids = tn::placeholder<std::int32_t, tn::shape<batch, 2>>("ids");
        const auto w = tn::variable<double, tn::shape<width, 2>>("w", tn::uniform(-1, 1, 8));
        const auto few = gather(*table, ids);
        const auto of_rows = sum(square(matmul(sum<1>(few), w) - 1.0)) + sum(gather(*table, tn::constant({4, 22, 4})));
        const auto of_whole = mean(square(matmul(*table, w) - 0.5));
        if (u == uses::few) loss = of_rows;
        else if (u == uses::whole) loss = of_whole;
        else loss = of_rows + of_whole;
    }
    // The table after steps on random rows, and what `more` are then.
    std::vector<tn::any_array> after(const tn::operation& train, int steps, const std::vector<std::string>& more = {}) {
        std::vector<tn::any_tensor> fetched{*table};
        for (const std::string& name : more) fetched.push_back(graph.tensor(name));
        initialized_session s;
        std::mt19937 r(3);
        for (int i = 0; i < steps; ++i) {
            const std::int64_t n = i % 4 == 3 ? 0 : 1 + i; // none, too
            tn::any_array fed(tn::element_type::int32, {n, 2});
            for (std::int64_t k = 0; k < 2 * n; ++k)
                fed.data<std::int32_t>()[k] = static_cast<std::int32_t>(r() % static_cast<unsigned>(i % 2 ? rows : 5));
            (void)s.run_untyped(tn::test::fed(ids, fed), {}, {train});
        }
        return s.run_untyped({}, fetched);
    }

    tn::graph graph;
    tn::graph_scope scope;
    std::unique_ptr<tn::variable_tensor<double, table_shape>> table;
    tn::tensor<std::int32_t, tn::shape<batch, 2>> ids;
    tn::tensor<double, tn::shape<>> loss;
};

void check_close(const tn::any_array& a, const tn::any_array& b) {
    REQUIRE(a.type() == b.type());
    for (std::int64_t i = 0; i < a.elements(); ++i)
        CHECK(a.data<double>()[i] == doctest::Approx(b.data<double>()[i]).epsilon(1e-12));
}

struct kept_by {
    std::unique_ptr<tn::optimizer> optimizer;
    std::vector<std::string> slots;
};
std::vector<kept_by> optimizers() {
    std::vector<kept_by> all;
    all.push_back({std::make_unique<tn::gradient_descent>(0.05), {}});
    all.push_back({std::make_unique<tn::momentum>(0.02, 0.9), {"momentum"}});
    all.push_back({std::make_unique<tn::momentum>(0.02, 0.9, tn::momentum_options{.nesterov = true}), {"momentum"}});
    all.push_back({std::make_unique<tn::adagrad>(0.1), {"adagrad"}});
    all.push_back({std::make_unique<tn::rmsprop>(0.01, tn::rmsprop_options{.momentum = 0.5, .centered = true}),
                   {"rmsprop", "rmsprop_mean", "rmsprop_momentum"}});
    all.push_back({std::make_unique<tn::adam>(0.02), {"adam_m", "adam_v"}});
    all.push_back({std::make_unique<tn::adam>(0.02, tn::adam_options{.weight_decay = 0.1}), {"adam_m", "adam_v"}});
    return all;
}

} // namespace

TEST_CASE("every optimizer trains a variable in parts as one in one piece: its values and what is kept beside them") {
    for (const kept_by& o : optimizers())
        for (const uses u : {uses::few, uses::whole, uses::both}) {
            std::vector<std::string> slots;
            for (const std::string& s : o.slots) slots.push_back("table/" + s);
            problem whole(1, u);
            const auto expected = whole.after(o.optimizer->minimize(whole.loss), 8, slots);
            for (const int parts : {2, 5, 40}) {
                CAPTURE(static_cast<int>(u));
                CAPTURE(parts);
                problem p(parts, u);
                const auto got = p.after(o.optimizer->minimize(p.loss), 8, slots);
                REQUIRE(got.size() == expected.size());
                for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
            }
        }
}

TEST_CASE("gradients of rows stay sparse in every part; clipping sees one variable") {
    using step = std::function<pairs(pairs)>;
    const step clips[] = {[](pairs p) { return p; }, [](pairs p) { return tn::clip_by_norm(std::move(p), 0.3); },
                          [](pairs p) { return tn::clip_by_global_norm(std::move(p), 0.3); },
                          [](pairs p) { return tn::clip_by_value(std::move(p), -0.1, 0.2); }};
    for (const step& clip : clips)
        for (const uses u : {uses::few, uses::whole}) {
            const auto o = tn::momentum(0.1);
            const auto trained = [&](int parts) {
                problem of(parts, u);
                const pairs g = clip(o.compute_gradients(of.loss));
                int sparse = 0;
                for (const auto& one : g) sparse += tn::sparse_rows(one.gradient).has_value();
                CHECK(sparse == (u == uses::few ? parts : 0));
                return std::move(of.after(o.apply_gradients(g), 5)[0]);
            };
            check_close(trained(4), trained(1));
        }
}

TEST_CASE("the variable itself may be named: what is trained, whose gradient is applied") {
    const auto o = tn::gradient_descent(0.1);
    const auto trained = [&](int parts, const std::function<tn::operation(problem&)>& how) {
        problem p(parts, uses::both);
        return std::move(p.after(how(p), 5)[0]);
    };
    const auto minimized = [&](problem& p) { return o.minimize(p.loss, {.variables = {*p.table}}); };
    const tn::any_array expected = trained(1, minimized);
    check_close(trained(3, minimized), expected);
    check_close(trained(3,
                        [&](problem& p) {
                            const auto [g] = gradients(p.loss, *p.table);
                            return o.apply_gradients({{g, *p.table}});
                        }),
                expected);
    check_close(trained(3,
                        [&](problem& p) {
                            const auto [g] = gradients(p.loss, *p.table);
                            return o.apply_gradients({{tn::detail::as_tensor(g * 1.0), *p.table}});
                        }),
                expected);
}

TEST_CASE("SEMANTICS 15, 20: read as a whole after an update, parts give what one piece gives: the value after it") {
    using small = tn::shape<4>;
    const auto results = [](int parts, const tn::session_options& o) {
        const own_graph g;
        const tn::partitioned how{.parts = parts};
        const auto t = tn::variable<float, small>("t", tn::zeros(), {.partition = how});
        const auto fresh = tn::variable<float, small>("fresh", tn::zeros(), {.partition = how});
        const auto copy = tn::variable("copy", tn::constant({9.0f, 9.0f, 9.0f, 9.0f}), {.partition = how});
        const auto after = [](const auto& first, const auto& body) {
            const tn::control_dependencies then(first);
            if constexpr (requires { body().materialize(); }) return body().materialize();
            else return body();
        };
        const auto up = t.assign_add(1.0f);
        const auto twice = after(up, [&] { return t.assign_add(t * 10.0f + 1.0f); }); // 1 + (10 + 1)
        std::vector<tn::any_tensor> fetched{
            (t * 10.0f).materialize(), // as it was before
            after(up, [&] { return t * 10.0f; }),
            after(up, [&] { return tn::sum(t) + t * 1.0f; }),
            after(after(up, [&] { return tn::constant(1.0f) + 1.0f; }), [&] { return t + 0.5f; }),
            after(twice, [&] { return t + 0.0f; }),
            after(twice, [&] { return tn::reshape<tn::shape<2, 2>>(t) + 0.0f; }),
            after(twice,
                  [&] {
                      return tn::gather(t, tn::constant({3, 0}));
                  }),
            after(fresh.assign(tn::constant({1.0f, 2.0f, 3.0f, 4.0f})),
                  [&] { return fresh * 2.0f; }), // never initialised
            after(twice, [&] { return copy.assign(t); }),
        };
        tn::session s(o);
        s.run(t.initializer(), copy.initializer());
        std::vector<tn::any_array> all;
        for (int step = 0; step < 2; ++step) {
            for (tn::any_array& a : s.run_untyped({}, fetched)) all.push_back(std::move(a));
            // One at a time, too: then not all of the updates are in the step.
            for (const tn::any_tensor& f : fetched) all.push_back(std::move(s.run_untyped({}, {f})[0]));
        }
        // What is fed for the whole is what is read of it, before and after.
        std::vector<tn::fed_value> feeds;
        feeds.push_back({t, tn::array<float, small>({5, 6, 7, 8}).untyped().copy()});
        for (tn::any_array& a : s.run_untyped(std::move(feeds), {fetched[1], fetched[2]})) all.push_back(std::move(a));
        return all;
    };
    for (const tn::session_options& o :
         {tn::session_options{}, tn::session_options{.fuse = false}, tn::session_options{.cpu_devices = 2}}) {
        const auto expected = results(1, o);
        for (const int parts : {2, 3, 4}) {
            const auto got = results(parts, o);
            REQUIRE(got.size() == expected.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                INFO("result ", i, " of ", parts, " parts");
                CHECK(got[i] == expected[i]);
            }
        }
        CHECK(expected[0].data<float>()[0] == 0);
        CHECK(expected[1].data<float>()[0] == 10);
        CHECK(expected[4].data<float>()[0] == 12);
    }
}

TEST_CASE("SEMANTICS 15, 20: of parts that are updated one by one a reader finds those that it was made to run after") {
    const own_graph g;
    const auto t = tn::variable<float, tn::shape<4>>("t", tn::zeros(), {.partition = {.parts = 2}});
    const auto parts = tn::parts_of(t);
    const auto first = tn::untyped::assign_add(parts[0], 1.0f), second = tn::untyped::assign_add(parts[1], 2.0f);
    const auto read = [&] {
        const tn::control_dependencies then(first);
        return (t * 1.0f).materialize();
    }();
    initialized_session s;
    const auto [got, other] = s.run(read, tn::as<float, tn::shape<2>>(second));
    CHECK(got == tn::array<float, tn::shape<4>>({1, 1, 0, 0}));
    CHECK(other(0) == 2);
}

TEST_CASE_FIXTURE(in_graph, "replicated training copies the parts to every device") {
    const tn::mirrored_strategy mirrored(std::vector<tn::device_name>{"/cpu:0", "/cpu:1"});
    const auto losses = mirrored.run([] {
        const auto table =
            tn::variable<double, table_shape>("table", tn::uniform(-1, 1, 7), {.partition = {.parts = 3}});
        return mean(square(gather(table, tn::constant({4, 22, 4}))));
    });
    const auto [step, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
    initialized_session s({.cpu_devices = 2});
    const auto before = s.run_untyped({}, {g.tensor("table")});
    s.run(step);
    const auto after =
        s.run_untyped({}, {g.tensor("table"), g.collection("table/part_2/copies").at(0), g.tensor("table/part_2")});
    const auto *was = before[0].data<double>(), *is = after[0].data<double>();
    for (int i = 0; i < rows * width; ++i) {
        const int times = i / width == 4 ? 2 : i / width == 22 ? 1 : 0;
        CHECK(is[i] == doctest::Approx(was[i] * (1 - 0.1 * 2 * times / (3.0 * width))));
    }
    CHECK(after[1] == after[2]);
}

TEST_CASE_FIXTURE(in_graph, "replica_device_setter deals the parts out; what is kept beside a part is where it is") {
    std::vector<tn::task> tasks;
    tasks.push_back(tn::task({.job = "worker"}));
    for (int i = 0; i < 2; ++i) tasks.push_back(tn::task({.job = "ps", .index = i}));
    const auto dealt = tn::on(tn::replica_device_setter(2));
    const auto table = tn::variable<float, tn::shape<10, 2>>("table", tn::zeros(), {.partition = {.parts = 3}});
    const auto train = tn::adam(0.1).minimize(sum(square(gather(table, tn::constant({1, 9})) - 1.0f)));
    initialized_session s(tasks, g);
    s.run(train);
    const std::string where = s.explain_placement(train).to_text();
    for (const auto& [part, task] : {std::pair("table/part_0", 0), {"table/part_1", 1}, {"table/part_2", 0}}) {
        const auto at = s.explain_placement_untyped({g.tensor(part), g.tensor(std::string(part) + "/adam_m")});
        for (const auto& n : at.nodes) CHECK(n.device.task == task);
        CHECK_MESSAGE(contains(where, part), where);
    }
    CHECK(s.run(table)(9, 0) > 0);
    CHECK(s.run(table)(8, 0) == 0);
    // An update that is asked for by itself brings nothing together.
    const tn::operation more = table.assign_add(1.0f).operation();
    for (const auto& n : s.explain_placement(more).nodes) CHECK(n.op != "concat");
    s.run(more);
    CHECK(s.run(table)(8, 0) == 1);
}

namespace {

// The table in so many parts over so many tasks, trained a little, so that there are slots.
struct saved_model {
    explicit saved_model(int parts, int ps = 2, bool trains = true) : tasks(make_tasks(ps)), scope(graph) {
        const auto dealt = tn::on(tn::replica_device_setter(ps));
        table = std::make_unique<tn::variable_tensor<float, tn::shape<11, 2>>>(
            tn::variable<float, tn::shape<11, 2>>("table", tn::uniform(-1, 1, 7), {.partition = {.parts = parts}}));
        bias = std::make_unique<tn::variable_tensor<float, tn::shape<>>>(tn::variable("bias", 1.0f));
        if (trains) train = tn::adam(0.1).minimize(sum(square(gather(*table, tn::constant({1, 9, 5})) + *bias)));
        initialize = tn::initialize_variables();
        sess = std::make_unique<tn::session>(tasks, graph);
    }
    static std::vector<tn::task> make_tasks(int ps) {
        std::vector<tn::task> all{tn::task({.job = "worker"})};
        for (int i = 0; i < ps; ++i) all.push_back(tn::task({.job = "ps", .index = i}));
        return all;
    }
    std::vector<tn::any_array> values() {
        return sess->run_untyped({}, {*table, *bias, graph.tensor("table/adam_m"), graph.tensor("table/adam_v")});
    }
    std::vector<tn::task> tasks;
    tn::graph graph;
    tn::graph_scope scope;
    std::unique_ptr<tn::variable_tensor<float, tn::shape<11, 2>>> table;
    std::unique_ptr<tn::variable_tensor<float, tn::shape<>>> bias;
    tn::operation train, initialize;
    std::unique_ptr<tn::session> sess;
};

} // namespace

TEST_CASE("a checkpoint has a variable as a whole, with what is kept beside it, and is restored into any parts") {
    for (const int saved : {1, 3, 4, 11})
        for (const int restored : {1, 2, 3, 5, 11}) {
            CAPTURE(saved);
            CAPTURE(restored);
            const temporary_folder folder;
            std::vector<tn::any_array> expected;
            {
                saved_model m(saved);
                m.sess->run(m.initialize);
                for (int i = 0; i < 3; ++i) m.sess->run(m.train);
                expected = m.values();
                tn::saver s(folder / "model");
                const tn::checkpoint_manifest manifest = s.save(*m.sess, 3).manifest;
                const auto* const t = manifest.find("table");
                REQUIRE(t);
                CHECK(t->type.extents == tn::extents{11, 2});
                CHECK(t->slices.size() == (saved == 1 ? 0u : static_cast<std::size_t>(saved)));
                REQUIRE(manifest.find("table/adam_m"));
                CHECK(!manifest.find("table/part_0"));
                if (saved == 3) { // by the tasks that hold them
                    CHECK(manifest.shards[static_cast<std::size_t>(t->slices[0].shard)].task ==
                          "/job:ps/replica:0/task:0");
                    CHECK(manifest.shards[static_cast<std::size_t>(t->slices[1].shard)].task ==
                          "/job:ps/replica:0/task:1");
                }
            }
            saved_model m(restored, restored == 5 ? 3 : 1);
            tn::saver s(folder / "model");
            const tn::restored_checkpoint what = s.restore(*m.sess);
            CHECK(what.missing.empty());
            CHECK(what.unused.empty());
            const auto got = m.values();
            for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == expected[i]);
            m.sess->run(m.train); // all that it needs is there
        }
}

TEST_CASE("restoring parts: other sizes are named by the whole; damage of one slice changes nothing") {
    const temporary_folder folder;
    {
        saved_model m(3);
        m.sess->run(m.initialize);
        tn::saver(folder / "model").save(*m.sess, 1);
    }
    const own_graph g;
    const auto table = tn::variable<float, tn::shape<12, 2>>("table", tn::zeros(), {.partition = {.parts = 2}});
    const auto other = tn::variable<float, tn::shape<12, 2>>("other", tn::zeros(), {.partition = {.parts = 2}});
    initialized_session s;
    tn::saver saver(folder / "model");
    const std::string said = message_of<tn::invalid_argument_error>([&] { saver.restore(s); });
    CHECK_MESSAGE(contains(said, "table: float[12, 2] here, float[11, 2] in the file"), said);
    const auto partial = saver.restore(s, {.partial = true});
    CHECK(partial.missing == std::vector<std::string>{"other"});
    CHECK(s.run(table)(3, 1) == 0);
    (void)other;

    saved_model m(2);
    m.sess->run(m.initialize);
    m.sess->run(m.table->assign(*m.table * 0.0f));
    const auto manifest = saver.manifest(*m.sess, folder / "model-1.json");
    const std::string file =
        folder / manifest.shards[static_cast<std::size_t>(manifest.find("table")->slices[1].shard)].file;
    std::string bytes = read_bytes(file);
    bytes[bytes.size() - 3] ^= 1;
    write_bytes(file, bytes);
    CHECK_THROWS_AS(saver.restore(*m.sess), tn::data_loss_error);
    CHECK(m.sess->run(sum(square(*m.table)))() == 0);
}

TEST_CASE_FIXTURE(in_folder, "files of all variables have the whole too") {
    const std::string path = folder / "all.safetensors";
    tn::any_array expected;
    {
        saved_model m(3);
        m.sess->run(m.initialize);
        expected = m.sess->run(*m.table).untyped().copy();
        tn::save_variables(*m.sess, path);
    }
    CHECK(tn::read_safetensors(path).find("table")->type.extents == tn::extents{11, 2});
    for (const int parts : {1, 2, 5}) {
        saved_model m(parts);
        tn::load_variables(*m.sess, path);
        CHECK(m.sess->run(*m.table).untyped() == expected);
    }
}

TEST_CASE_FIXTURE(in_folder, "checkpoints of some variables: the variable in parts, or one of its parts") {
    saved_model m(3);
    m.sess->run(m.initialize);
    tn::saver of_table(folder / "table", {.variables = {*m.table}});
    const auto whole = of_table.save(*m.sess, 1).manifest;
    REQUIRE(whole.tensors.size() == 1);
    CHECK(whole.tensors[0].name == "table");
    tn::saver of_part(folder / "part", {.variables = {tn::parts_of(*m.table)[1]}});
    const auto part = of_part.save(*m.sess, 1).manifest;
    REQUIRE(part.tensors.size() == 1);
    CHECK(part.tensors[0].name == "table/part_1");
    const auto expected = m.sess->run(*m.table);
    m.sess->run(m.table->assign(*m.table * 2.0f));
    of_part.restore(*m.sess);
    CHECK(m.sess->run(*m.table)(5, 0) == expected(5, 0));
    CHECK(m.sess->run(*m.table)(0, 0) == 2 * expected(0, 0));
    of_table.restore(*m.sess);
    CHECK(m.sess->run(*m.table) == expected);
}
