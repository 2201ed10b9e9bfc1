#include "tests.hpp"

// Where training's own nodes ask to be: SEMANTICS 4, 9, 40.

using namespace tn::literals;

TEST_CASE("SEMANTICS 9: the global step and an optimiser's count are variables like others: on a parameter server") {
    const own_graph g;
    const auto placed = tn::on(tn::replica_device_setter(3));
    const auto w = tn::variable("w", 1.0f);
    const auto train = tn::adam(0.1f).minimize(w * w);
    CHECK(w.node()->device == "/job:ps/task:0"_dev);
    CHECK(g.find("adam_step")->device == "/job:ps/task:1"_dev);
    CHECK(g.find("global_step")->device == "/job:ps/task:2"_dev);
    CHECK(train.node()->device == "/job:worker"_dev);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 4: what an optimiser keeps beside a variable shares its device") {
    const auto w = tn::on("/gpu:1", [] { return tn::variable("w", 1.0f); });
    const auto cpu = tn::on("/cpu:0");
    tn::momentum(0.1f, 0.9).minimize(w * w);
    int slots = 0;
    for (std::int64_t n = 0; n < g.size(); ++n)
        if (const tn::node& v = *g.at(n); v.op == &tn::variable_definition && v.name.starts_with("w/")) {
            CHECK(v.device.empty());
            CHECK(v.colocated == std::vector<tn::node*>{w.node()});
            ++slots;
        }
    CHECK(slots == 1);
}

namespace {

constexpr std::size_t memory = 4 << 20;

auto matrix_variable(const std::string& name, const tn::device_name& where) {
    return tn::on(where, [&] { return tn::variable<float, tn::shape<8, 8>>(name, tn::ones()); });
}

tn::device_name device_in(const tn::placement_explanation& e, const std::string& name) {
    for (const auto& n : e.nodes)
        if (n.name == name) return n.device;
    FAIL("no node " << name);
    return {};
}
constexpr auto gpu0 = "/job:localhost/replica:0/task:0/device:GPU:0"_dev;
constexpr auto gpu1 = "/job:localhost/replica:0/task:0/device:GPU:1"_dev;
constexpr auto cpu0 = "/job:localhost/replica:0/task:0/device:CPU:0"_dev;

} // namespace

TEST_CASE("SEMANTICS 4: an update's own arithmetic runs where the variable is: assign_add, scatter, every optimiser") {
    const own_graph g;
    const auto w = matrix_variable("w", "/gpu:1");
    const auto x = tn::placeholder<float, tn::shape<8, 8>>("x");
    tn::session s({.gpus = tn::simulated_gpu(2, memory)});
    const auto crossing = [&](const auto& t) { return s.explain_placement(t).crossing_bytes(); };
    CHECK(crossing(w.assign_add(1.0f)) == 0);
    CHECK(crossing(w.assign_sub(2.0f)) == 0);
    CHECK(crossing(w.scatter_add(tn::constant({1, 2}), 1.0f)) == 0);
    // Of what others compute the result crosses, once, and nothing comes back.
    const auto product = tn::on("/gpu:0", [&] { return tn::matmul(x, x); });
    const tn::array<float, tn::shape<8, 8>> values;
    CHECK(s.explain_placement(tn::feed(x, values), w.assign_add(product * 2.0f)).crossing_bytes() <= 3 * 256);
    const auto update = w.assign_add(product);
    CHECK(device_in(s.explain_placement(tn::feed(x, values), update), update.name()) == gpu1);
    // Of a table only the rows that are read cross.
    const auto rows = tn::gather(w, tn::constant({1, 2}));
    const auto used = tn::on("/gpu:0", [&] { return exp(rows); });
    CHECK(crossing(used) <= 2 * 64);

    const auto loss = tn::on("/gpu:1", [&] { return tn::sum(w * w); });
    const auto rate = tn::exponential_decay(0.1, {.steps = 10, .factor = 0.5});
    const auto few = [&](const tn::optimizer& o) {
        const auto e = s.explain_placement(o.minimize(loss));
        for (const auto& n : e.nodes)
            if (n.name.starts_with("w/")) CHECK_MESSAGE(n.device == gpu1, n.name);
        return e.crossing_bytes() <= 64;
    };
    CHECK(few(tn::gradient_descent(0.1)));
    CHECK(few(tn::gradient_descent(rate)));
    CHECK(few(tn::momentum(0.1, 0.9)));
    CHECK(few(tn::adagrad(0.1)));
    CHECK(few(tn::rmsprop(0.1, {.momentum = 0.9, .centered = true})));
    CHECK(few(tn::adam(rate, {.weight_decay = 0.1})));
    // Clipping that spans variables gathers one number of each.
    const auto v = matrix_variable("v", "/gpu:0");
    const auto both =
        tn::on("/gpu:1", [&] { return tn::sum(w * w); }) + tn::on("/gpu:0", [&] { return tn::sum(v * v); });
    const auto gradients = tn::gradient_descent::compute_gradients(both);
    const auto clipped = tn::gradient_descent(0.1).apply_gradients(tn::clip_by_global_norm(gradients, 1.0));
    CHECK(crossing(clipped) <= 64);
}

TEST_CASE("SEMANTICS 4: what an update computes of the variable runs where that is, whatever its scopes ask for") {
    const own_graph g;
    const auto w = matrix_variable("w", "/gpu:1");
    const auto x = tn::placeholder<float, tn::shape<8, 8>>("x");
    const auto elsewhere = tn::on("/cpu:0");
    const auto update = w.assign_add(1.0f);
    const auto rows = w.scatter_add(tn::constant({1, 2}), 1.0f);
    const auto given = tn::tanh(x).materialize(); // of nothing that the variable has
    const auto product = w.assign_add(given);
    tn::session s({.gpus = tn::simulated_gpu(2, memory)});
    const auto e = s.explain_placement(update);
    CHECK(device_in(e, "w/add") == gpu1);
    CHECK(device_in(e, update.name()) == gpu1);
    for (const auto& n : e.nodes)
        if (n.name == "w/add") {
            CHECK(n.rule == tn::placement_rule::with_data);
            CHECK(n.requested == "/cpu:0"_dev);
            CHECK(n.group == "w");
        }
    const std::string text = e.to_text();
    CHECK_MESSAGE(contains(text, "w/add (add): /job:localhost/replica:0/task:0/device:GPU:1, with its data, asked for "
                                 "/device:CPU:0, group of w\n"),
                  text);
    CHECK(device_in(s.explain_placement(rows), rows.name()) == gpu1);
    const auto fed = tn::array<float, tn::shape<8, 8>>();
    CHECK(device_in(s.explain_placement(tn::feed(x, fed), product), given.name()) == cpu0);
    s.run(w.initializer());
    CHECK(s.run(update)(7, 7) == 2);
}

TEST_CASE(
    "SEMANTICS 4: an optimiser's step that is written in another task's scope is computed where the variables are") {
    const own_graph g;
    const std::vector<tn::task> tasks{tn::task({.job = "worker"}), tn::task({.job = "worker", .index = 1})};
    const auto table = tn::on("/job:worker/task:0", [] {
        return tn::variable<float, tn::shape<6, 4>>("table", tn::ones(), {.partition = {.parts = 2}});
    });
    const auto w = tn::on("/job:worker/task:0", [] { return tn::variable<float, tn::shape<4>>("w", tn::ones()); });
    tn::session s(tasks, g);
    const auto there = tn::on("/job:worker/task:1");
    const auto loss = tn::sum(tn::gather(table, tn::constant({1, 5})) * w);
    const auto check = [&](const tn::optimizer& o) {
        const auto train = o.minimize(loss);
        int updates = 0;
        const auto e = s.explain_placement(train);
        for (const auto& n : e.nodes) {
            const tn::node& update = *g.find(n.name);
            if (!update.op->is(tn::op_flags::updates)) continue;
            const std::string& variable = update.inputs[0].node->name;
            if (variable.starts_with("w") || variable.starts_with("table/")) { // and what is kept beside them
                ++updates;
                CHECK_MESSAGE(n.device.task == 0, n.name);
            }
            CHECK_MESSAGE(device_in(e, update.inputs.back().node->name) == n.device, n.name);
        }
        CHECK(updates >= 3);
    };
    check(tn::gradient_descent(0.1));
    check(tn::momentum(0.1, 0.9));
    check(tn::adagrad(0.1));
    check(tn::rmsprop(0.1, {.momentum = 0.9, .centered = true}));
    check(tn::adam(0.1, {.weight_decay = 0.1}));
}

TEST_CASE("SEMANTICS 4: a gradient runs where the op is that it is the gradient of, sums where what they are for is") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<6, 8>>("x");
    const auto w1 = matrix_variable("w1", "/gpu:0"), w2 = matrix_variable("w2", "/gpu:1");
    const auto h = tn::on("/gpu:0", [&] { return tn::tanh(tn::matmul(x, w1)).materialize(); });
    const auto k = tn::on("/gpu:1", [&] { return tn::tanh(tn::matmul(h, w2)).materialize(); });
    const auto loss = tn::on("/gpu:1", [&] { return tn::mean(k * k); });
    const tn::array<float, tn::shape<6, 8>> fed;
    for (const bool measured : {false, true}) {
        tn::session_options o{.gpus = tn::simulated_gpu(2, memory)};
        if (measured) o.cost_measurements = std::make_shared<tn::cost_measurements>();
        tn::session s(o);
        const auto e = s.explain_placement(tn::feed(x, fed), tn::gradient_descent(0.1).minimize(loss));
        // h there and its gradient back, x, and scalars.
        CHECK(e.crossing_bytes() <= 3 * 192 + 64);
    }
    // Each tower's gradient crosses once, and is added up where the variable is.
    const auto shared = matrix_variable("shared", "/cpu:0");
    const auto tower = [&](const char* gpu) { return tn::on(gpu, [&] { return tn::sum(tn::exp(shared)); }); };
    const auto towers = tn::on("/cpu:0", [&] { return tower("/gpu:0") + tower("/gpu:1"); });
    const auto [d] = tn::gradients(towers, shared);
    tn::session s({.gpus = tn::simulated_gpu(2, memory)});
    const auto e = s.explain_placement(d);
    CHECK(device_in(e, d.name()) == cpu0);
    CHECK(e.crossing_bytes() <= 4 * 256 + 64); // to the towers and back
}

TEST_CASE("SEMANTICS 4: what asks for nothing is placed as before, and its gradient with it; a session may move both") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<8, 8>>("x");
    const auto w = tn::variable<float, tn::shape<8, 8>>("w", tn::ones());
    const auto loss = tn::sum(tn::tanh(tn::matmul(x, w)));
    const auto train = tn::adam(0.1).minimize(loss);
    tn::session none, two({.gpus = tn::simulated_gpu(2, memory)});
    const tn::array<float, tn::shape<8, 8>> fed;
    for (const auto& n : none.explain_placement(tn::feed(x, fed), train).nodes) CHECK(n.device == cpu0);
    for (const auto& n : two.explain_placement(tn::feed(x, fed), train).nodes) CHECK_MESSAGE(n.device == gpu0, n.name);
}

TEST_CASE("SEMANTICS 4, 9: under a replica_device_setter updates and gradients are left where their data is") {
    const own_graph g;
    const auto placed = tn::on(tn::replica_device_setter(2));
    const auto w = tn::variable<float, tn::shape<8, 8>>("w", tn::ones());
    const auto h = tn::on("/gpu:1", [&] { return tn::tanh(tn::matmul(w, w)).materialize(); });
    tn::adam(0.1).minimize(tn::sum(h));
    const auto step = w.assign_add(1.0f);
    const tn::node* sum = step.node()->inputs[1].node;
    CHECK(sum->device.empty());
    CHECK(sum->follows == w.node());
    const auto on_worker = tn::on("/task:1", [&] { return w.assign_sub(1.0f); });
    CHECK(on_worker.node()->inputs[1].node->device == "/job:worker/task:1"_dev);
    int followers = 0;
    for (std::int64_t n = 0; n < g.size(); ++n) {
        const tn::node& m = *g.at(n);
        if (m.name.starts_with("gradients/") && m.follows) {
            CHECK(m.device.empty());
            ++followers;
        }
        if (m.name.starts_with("w/") && m.op == &tn::fused_definition && &m != on_worker.node()->inputs[1].node)
            CHECK(m.follows == w.node());
    }
    CHECK(followers > 3);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 40: a tower's gradients are where the tower is") {
    const auto w = tn::variable<float, tn::shape<4>>("w", tn::ones());
    for (const int i : {0, 1}) {
        const tn::device_name gpu = "/gpu:" + std::to_string(i);
        tn::on(gpu, [&] {
            const std::int64_t before = g.size();
            const auto loss = tn::sum(w * w * w);
            const auto gradients = tn::gradient_descent(0.1f).compute_gradients(loss);
            CHECK(gradients.size() == 1);
            CHECK(g.size() > before);
            for (std::int64_t n = before; n < g.size(); ++n) CHECK(g.at(n)->device == gpu);
        });
    }
}
