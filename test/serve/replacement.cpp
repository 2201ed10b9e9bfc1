#include <filesystem>
#include <fstream>

#include "tests.hpp"
#include "gated.hpp"

// S47, S46: a model's weights are replaced by a checkpoint while it answers.

using namespace serve_test;

namespace {

// Two variables that any one version has equal: y = sum(x) * a - sum(x) * b is 0 of one version, and of no mixture.
// The second output says which version it was.
struct paired {
    explicit paired(float begins = 1) :
        scope(g), x(tn::placeholder<float, rows4>("x")), a(tn::variable("a", begins)), b(tn::variable("b", begins)) {}
    auto operator()(const tn::tensor<float, rows4>& in) const {
        const auto s = tn::sum<1>(in);
        return std::tuple(s * a - s * b, s * 0.0f + a);
    }
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, rows4> x;
    tn::variable_tensor<float, tn::shape<>> a, b;
};

void save_both(tn::session& s, const paired& p, float value, const std::string& path) {
    s.run(p.a.assign(value), p.b.assign(value));
    tn::save_variables(s, path);
}

} // namespace

TEST_CASE(
    "S47: no request is lost while weights are replaced, and each batch is of one version, which its answers say") {
    for (const bool copies : {false, true}) {
        const temporary_folder folder;
        const auto path = [&](int v) { return (folder.path() / ("v" + std::to_string(v) + ".safetensors")).string(); };
        {
            const paired p;
            tn::session sess;
            for (int v = 1; v <= 3; ++v) save_both(sess, p, static_cast<float>(v), path(v));
        }
        const own_graph g;
        const auto x = tn::placeholder<float, rows4>("x");
        tn::session sess({.cpu_devices = 2});
        const auto made_inside = [](const auto& v) {
            const auto a = tn::variable("a", 1.0f), b = tn::variable("b", 1.0f);
            const auto s = tn::sum<1>(v);
            return std::tuple(s * a - s * b, s * 0.0f + a);
        };
        const auto serve = [&](tn::session& s) {
            return tn::model_server(s, tn::feeds(x), made_inside,
                                    {.devices = copies ? std::vector<tn::device_name>{"/cpu:0", "/cpu:1"}
                                                       : std::vector<tn::device_name>{"/cpu:0"},
                                     .copy_variables = copies,
                                     .largest_batch = 8});
        };
        auto server = serve(sess);
        sess.run(tn::initialize_variables());
        std::atomic<bool> stop{false};
        std::atomic<int> mixed{0}, wrong_version{0}, asked{0};
        std::vector<std::thread> clients;
        for (int t = 0; t < 3; ++t)
            clients.emplace_back([&, t] {
                std::int64_t last = 0;
                while (!stop) {
                    const auto pending = server.start(rows(1 + t, 1));
                    const std::int64_t version = pending.version();
                    const auto [zero, which] = pending.get();
                    ++asked;
                    for (std::int64_t r = 0; r < zero.size(); ++r)
                        if (zero(r) != 0) ++mixed;
                    // Version 1 has what the variables began with, n + 1 the n-th file in turn.
                    const float expected = version == 1 ? 1 : static_cast<float>(1 + (version - 2) % 3);
                    if (which(0) != expected || version < last) ++wrong_version;
                    last = version;
                }
            });
        for (int v = 0; v < 30; ++v) {
            const int seen = asked;
            const tn::replacement r = server.replace(path(1 + v % 3));
            CHECK(r.version == v + 2);
            CHECK(comes([&] { return asked > seen; }));
        }
        stop = true;
        for (std::thread& t : clients) t.join();
        CHECK(mixed == 0);
        CHECK(wrong_version == 0);
        const tn::serving_metrics m = server.metrics();
        CHECK(m.answered == static_cast<std::uint64_t>(asked.load()));
        CHECK(m.accepted == m.answered);
        CHECK(m.version == 31);
        CHECK(m.checkpoint == path(3));
    }
}

TEST_CASE("S47: a checkpoint of another network is refused with both sides' names, and nothing has changed") {
    const temporary_folder folder;
    const std::string other = (folder.path() / "other.safetensors").string(),
                      larger = (folder.path() / "larger.safetensors").string(),
                      broken = (folder.path() / "broken.safetensors").string();
    {
        const own_graph g;
        const auto c = tn::variable("c", 1.0f);
        initialized_session sess;
        tn::save_variables(sess, other);
    }
    {
        const own_graph g;
        const auto a = tn::variable("a", tn::constant({1.0f, 2.0f}));
        const auto b = tn::variable("b", 5.0f);
        initialized_session sess;
        tn::save_variables(sess, larger);
    }
    std::ofstream(broken) << "this is no file of tensors";
    const paired p(4);
    tn::session sess;
    tn::model_server server(sess, tn::feeds(p.x), [&](auto v) { return p(v); });
    sess.run(tn::initialize_variables());
    CHECK_ERROR(tn::not_found_error, "lacks a, b; it has c", server.replace(other));
    CHECK_ERROR(tn::invalid_argument_error, "a: float[] here, float[2] in the file", server.replace(larger));
    CHECK_THROWS_AS(server.replace(broken), tn::error);
    CHECK_THROWS_AS(server.replace((folder.path() / "none.safetensors").string()), tn::not_found_error);
    CHECK(server.version() == 1);
    CHECK_FALSE(server.metrics().trouble.empty());
    CHECK(std::get<1>(server(rows(1, 0)))(0) == 4);
    CHECK(sess.run(p.b).item() == 4); // of the larger network's file b would have fitted
}

TEST_CASE(
    "S47: what training saves beside the weights is passed over; a manifest of a saver is taken, and says its step") {
    const temporary_folder folder;
    const std::string prefix = (folder.path() / "model").string();
    const auto net = [](auto x) { return tn::nn::dense<3>({.name = "layer"})(x); };
    tn::array<float> trained;
    {
        const own_graph g;
        const auto x = tn::placeholder<float, rows4>("x");
        const auto train = tn::adam(0.1).minimize(tn::mean(tn::square(net(x))));
        initialized_session sess;
        sess.run(tn::feed(x, rows(5, 1)), train);
        tn::saver(prefix).save(sess, 700);
        trained = tn::array<float>(sess.run_untyped({}, {g.tensor("layer/kernel")})[0].copy());
    }
    const own_graph g;
    const auto x = tn::placeholder<float, rows4>("x");
    tn::session sess;
    tn::model_server server(sess, tn::feeds(x), net, {.copy_variables = false});
    sess.run(tn::initialize_variables());
    const tn::replacement r = server.replace(prefix + "-700.json");
    CHECK(r.step == 700);
    CHECK(r.version == 2);
    const auto [y] = server(rows(1, 1));
    const array4 in_row = rows(1, 1);
    const tn::array<float> bias(sess.run_untyped({}, {g.tensor("layer/bias")})[0].copy());
    for (int c = 0; c < 3; ++c) {
        double sum = static_cast<double>(bias(c));
        for (int k = 0; k < 4; ++k) sum += static_cast<double>(in_row(0, k)) * static_cast<double>(trained(k, c));
        CHECK(static_cast<double>(y(0, c)) == doctest::Approx(sum).epsilon(1e-5));
    }
}

TEST_CASE("S47: a saver's name is watched: a newer checkpoint takes the place of the weights, one of another network "
          "does not") {
    const temporary_folder folder;
    const std::string prefix = (folder.path() / "model").string();
    const paired trainer;
    tn::session training;
    tn::saver saver(prefix);
    const auto save = [&](float value, std::int64_t step) {
        const tn::graph_scope of_it(trainer.g);
        training.run(trainer.a.assign(value), trainer.b.assign(value));
        saver.save(training, step);
    };
    std::vector<std::string> said;
    std::mutex guard;
    const paired p(4);
    tn::session sess;
    tn::model_server server(sess, tn::feeds(p.x), [&](auto v) { return p(v); }, {.log = [&](const std::string& line) {
                                const std::lock_guard lock(guard);
                                said.push_back(line);
                            }});
    sess.run(tn::initialize_variables());
    save(7, 1);
    server.watch(prefix, 0.005);
    CHECK(comes([&] { return server.version() == 2; }));
    CHECK(std::get<1>(server(rows(1, 0)))(0) == 7);
    save(8, 2);
    CHECK(comes([&] { return server.version() == 3; }));
    CHECK(std::get<1>(server(rows(1, 0)))(0) == 8);
    {
        const own_graph g;
        const auto other = tn::variable("other", 1.0f);
        initialized_session s;
        tn::saver(prefix).save(s, 3);
    }
    CHECK(comes([&] { return contains(server.metrics().trouble, "lacks a, b"); }));
    CHECK(std::get<1>(server(rows(1, 0)))(0) == 8);
    server.watch("");
    save(9, 4);
    CHECK(server.version() == 3);
    const std::lock_guard lock(guard);
    REQUIRE_FALSE(said.empty());
    CHECK(contains(said.front(), "version 2, from " + prefix + "-1.json"));
}

TEST_CASE_FIXTURE(in_folder, "S47: a checkpoint that is saved again under its step is another one to who watches") {
    const std::string prefix = (folder.path() / "model").string();
    const paired trainer;
    tn::session training;
    tn::saver saver(prefix);
    const auto save = [&](float value) {
        const tn::graph_scope of_it(trainer.g);
        training.run(trainer.a.assign(value), trainer.b.assign(value));
        saver.save(training, 5);
    };
    const paired p(4);
    tn::session sess;
    tn::model_server server(sess, tn::feeds(p.x), [&](auto v) { return p(v); });
    sess.run(tn::initialize_variables());
    save(7);
    server.watch(prefix, 0.005);
    CHECK(comes([&] { return server.version() == 2; }));
    save(8);
    CHECK(comes([&] { return server.version() == 3; }));
    CHECK(std::get<1>(server(rows(1, 0)))(0) == 8);
}

TEST_CASE_FIXTURE(in_folder, "S47: a server that is closed is given no weights") {
    const std::string path = folder / "v.safetensors";
    const paired p(4);
    tn::session sess;
    tn::model_server server(sess, tn::feeds(p.x), [&](auto v) { return p(v); });
    save_both(sess, p, 5, path);
    CHECK(server.close(0));
    CHECK_ERROR(tn::failed_precondition_error, "is closed", server.replace(path));
    CHECK(server.version() == 1);
}

TEST_CASE("S47: manifests of however many folders leave the graph as large as it was, and set copies of parts too") {
    for (const bool copies : {false, true}) {
        const temporary_folder folder;
        const auto model = [](const auto& v) {
            const auto w = tn::variable<float, tn::shape<4, 2>>("w", tn::zeros(), {.partition = {.parts = 2}});
            const auto b = tn::variable("b", 0.0f);
            return matmul(v, w) + b;
        };
        const auto saved = [&](int i) {
            const own_graph g;
            (void)model(tn::placeholder<float, rows4>("x"));
            initialized_session sess;
            for (const tn::any_tensor& v : g.collection(tn::global_variables))
                sess.run(tn::untyped::assign(v, tn::untyped::ones_like(v) * static_cast<float>(i)));
            std::filesystem::create_directory(folder / std::to_string(i));
            return tn::saver(folder / (std::to_string(i) + "/model")).save(sess, 9).path;
        };
        const own_graph g;
        const auto x = tn::placeholder<float, rows4>("x");
        tn::session sess({.cpu_devices = 2});
        tn::model_server server(sess, tn::feeds(x), model,
                                {.devices = {"/cpu:0", "/cpu:1"}, .copy_variables = copies, .largest_batch = 1});
        array4 ones(1);
        ones.fill(1);
        std::int64_t nodes = 0;
        for (int i = 1; i <= 4; ++i) {
            const tn::replacement r = server.replace(saved(i));
            CHECK(r.step == 9);
            CHECK(r.version == i + 1);
            CHECK(comes([&] {
                const tn::serving_metrics before = server.metrics();
                for (int k = 0; k < 8; ++k) CHECK(std::get<0>(server(ones))(0, 1) == 5 * static_cast<float>(i));
                const tn::serving_metrics after = server.metrics();
                return after.devices[0].batches > before.devices[0].batches &&
                       after.devices[1].batches > before.devices[1].batches;
            }));
            if (i == 1) nodes = g.size();
            CHECK(g.size() == nodes);
        }
        std::filesystem::remove(folder.path() / "4" / "model-9.json");
        CHECK_THROWS_AS(server.replace(folder / "4/model-9.json"), tn::not_found_error);
        const std::string third = folder / "3/model-9.json";
        for (const auto& f : std::filesystem::directory_iterator(folder.path() / "3"))
            if (f.path().extension() == ".safetensors") std::filesystem::remove(f.path());
        CHECK_ERROR(tn::data_loss_error, "is not whole", server.replace(third));
        CHECK(std::get<0>(server(ones))(0, 1) == 20);
    }
}
