#include "tests.hpp"

namespace {

// A model of two variables in a graph of its own.
struct model {
    own_graph graph;
    tn::variable_tensor<float, tn::shape<2, 3>> w;
    tn::variable_tensor<double, tn::shape<2>> b;
    tn::session sess;

    explicit model(const tn::initializer& how) :
        w(tn::variable<float, tn::shape<2, 3>>("w", how)), b(tn::variable<double, tn::shape<2>>("layer/b", how)) {}
};

using names = std::vector<std::string>;

} // namespace

TEST_CASE_FIXTURE(in_folder, "variables come back from a file with the values they had") {
    const std::string path = folder / "weights.safetensors";
    {
        model m(tn::uniform(-1, 1, 3));
        m.sess.run(tn::initialize_variables());
        tn::save_variables(m.sess, path, {.metadata = {{"note", "first"}}});
        const auto w = m.sess.run(m.w);
        const tn::safetensors_file file = tn::read_safetensors(path);
        CHECK(file.load<float>("w") == w);
        CHECK(file.metadata() == tn::safetensors_metadata{{"format", "tenon"}, {"note", "first"}});

        model n(tn::zeros()); // not initialised: loading counts as that
        const tn::load_report report = tn::load_variables(n.sess, path);
        CHECK(report.loaded == names{"w", "layer/b"});
        CHECK(report.missing.empty());
        CHECK(n.sess.run(n.w) == w);
        CHECK(n.sess.run(n.b) == m.sess.run(m.b));
    }
    CHECK(folder.file_count() == 1);
}

TEST_CASE_FIXTURE(in_folder, "a rehearsal fails where saving would, and leaves everything as it was") {
    const std::string path = folder / "weights.safetensors";
    model m(tn::ones());
    const auto rehearse = [&](const std::string& at) { tn::save_variables(m.sess, at, {.rehearsal = true}); };
    CHECK_THROWS_AS(rehearse(path), tn::failed_precondition_error); // nothing to save yet
    m.sess.run(tn::initialize_variables());
    rehearse(path);
    CHECK(folder.file_count() == 0);
    CHECK_THROWS_AS(rehearse(folder / "no/folder/weights"), tn::not_found_error);
    CHECK_THROWS_AS(rehearse(folder.path().string()), tn::invalid_argument_error);

    tn::save_variables(m.sess, path);
    m.sess.run(m.w.assign_add(1.0f));
    rehearse(path);
    CHECK(folder.file_count() == 1);
    CHECK(tn::read_safetensors(path).load<float>("w")(0, 0) == 1);
}

TEST_CASE_FIXTURE(in_folder, "training goes on as if it had not stopped") {
    const std::string path = folder / "state.safetensors";
    const auto train_of = [](model& m) {
        return tn::adam(0.1).minimize(tn::sum(tn::square(m.w - 1.0f)) + tn::cast<float>(tn::sum(tn::square(m.b))));
    };
    model straight(tn::uniform(-1, 1, 3)), first(tn::uniform(-1, 1, 3)), second(tn::zeros());
    const auto run = [](model& m, const tn::operation& train, int steps) {
        for (int i = 0; i < steps; ++i) m.sess.run(train);
    };
    // Each model's scope ends when the test does: nodes are made in the graph that is asked for.
    const auto in = [&](model& m) {
        const tn::graph_scope scope(m.graph);
        const tn::operation train = train_of(m);
        return std::pair(train, tn::initialize_variables());
    };
    const auto [train0, init0] = in(straight);
    const auto [train1, init1] = in(first);
    const auto [train2, init2] = in(second);
    straight.sess.run(init0);
    run(straight, train0, 7);
    first.sess.run(init1);
    run(first, train1, 4);
    tn::save_variables(first.sess, path);
    tn::load_variables(second.sess, path);
    run(second, train2, 3);
    CHECK(second.sess.run(second.w) == straight.sess.run(straight.w));
    CHECK(second.sess.run(second.b) == straight.sess.run(straight.b));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: a variable that is in no collection is neither saved nor loaded") {
    const temporary_folder folder;
    const std::string path = folder / "w";
    auto data = tn::variable<float, tn::shape<100>>("data", tn::ones(), {.collected = false});
    auto w = tn::variable<float, tn::shape<1>>("w", tn::ones());
    tn::session s;
    s.run(data.initializer(), w.initializer());
    tn::save_variables(s, path);
    CHECK(tn::read_safetensors(path).find("data") == nullptr);
    CHECK(tn::load_variables(s, path).loaded == names{"w"});
}

TEST_CASE("a load that does not fit changes nothing and says what does not fit; a partial one loads the rest") {
    const temporary_folder folder;
    const std::string path = folder / "other.safetensors";
    const tn::array<float> w{{1, 2, 3}, {4, 5, 6}};
    const tn::array<double> three{1, 2, 3};
    model m(tn::ones());
    m.sess.run(tn::initialize_variables());

    tn::write_safetensors(path, {{"w", w}, {"extra", three}});
    CHECK_ERROR(tn::not_found_error, "lacks layer/b; it has extra", tn::load_variables(m.sess, path));
    CHECK(m.sess.run(m.w)(0, 1) == 1);

    tn::write_safetensors(path, {{"w", w}, {"layer/b", three}});
    CHECK_ERROR(tn::invalid_argument_error, "layer/b: double[2] here, double[3] in the file",
                tn::load_variables(m.sess, path));
    CHECK(m.sess.run(m.w)(0, 1) == 1);

    const tn::load_report report = tn::load_variables(m.sess, path, {.partial = true});
    CHECK(report.loaded == names{"w"});
    CHECK(report.mismatched == names{"layer/b: double[2] here, double[3] in the file"});
    CHECK(m.sess.run(m.w)(0, 1) == 2);
    CHECK(m.sess.run(m.b)(0) == 1);

    tn::write_safetensors(path, {{"layer/b", tn::array<float>{1, 2}}});
    const tn::load_report wrong_type = tn::load_variables(m.sess, path, {.partial = true});
    CHECK(wrong_type.missing == names{"w"});
    CHECK(wrong_type.mismatched == names{"layer/b: double[2] here, float[2] in the file"});

    CHECK(tn::load_variables(m.sess, path, {.variables = {m.w}, .partial = true}).unused == names{"layer/b"});
    CHECK_THROWS_AS(tn::load_variables(m.sess, folder / "absent"), tn::not_found_error);
    CHECK_THROWS_AS(tn::load_variables(m.sess, path, {.variables = {tn::constant(1.0f)}}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "what has no value cannot be saved, and says its name") {
    model m(tn::ones());
    m.sess.run(m.w.initializer());
    CHECK_ERROR(tn::failed_precondition_error, "layer/b", tn::save_variables(m.sess, folder / "x"));
    CHECK(folder.file_count() == 0);
}

TEST_CASE_FIXTURE(in_folder, "a graph does not grow when it is saved and loaded again and again") {
    const std::string path = folder / "w";
    model m(tn::ones());
    m.sess.run(tn::initialize_variables());
    tn::save_variables(m.sess, path);
    tn::load_variables(m.sess, path);
    const std::int64_t size = m.graph.size();
    for (int i = 0; i < 3; ++i) {
        tn::save_variables(m.sess, path);
        tn::load_variables(m.sess, path);
    }
    CHECK(m.graph.size() == size);
}
