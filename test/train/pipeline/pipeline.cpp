#include "tests.hpp"
#include "pipelines.hpp"

// Pipelines of stages and micro-batches (SEMANTICS 43).

using namespace pipeline_test;

TEST_CASE("S43: the schedules of a pipeline: what each stage does, first to last") {
    using tn::pipeline_order, tn::to_string;
    CHECK(to_string(pipeline_order(tn::all_forward_then_backward, 2, 3, 0)) == "F0 F1 F2 B0 B1 B2");
    CHECK(to_string(pipeline_order(tn::all_forward_then_backward, 2, 3, 1)) == "F0 F1 F2 B0 B1 B2");
    CHECK(to_string(pipeline_order(tn::one_forward_one_backward, 3, 4, 0)) == "F0 F1 F2 B0 F3 B1 B2 B3");
    CHECK(to_string(pipeline_order(tn::one_forward_one_backward, 3, 4, 1)) == "F0 F1 B0 F2 B1 F3 B2 B3");
    CHECK(to_string(pipeline_order(tn::one_forward_one_backward, 3, 4, 2)) == "F0 B0 F1 B1 F2 B2 F3 B3");
    for (const tn::pipeline_schedule schedule : schedules)
        for (int stages = 1; stages < 6; ++stages)
            for (int m = 1; m < 10; ++m)
                for (int i = 0; i < stages; ++i) {
                    int forward = 0, backward = 0, most = 0;
                    for (const tn::pipeline_slot& slot : pipeline_order(schedule, stages, m, i)) {
                        CHECK(slot.micro_batch == (slot.backward ? backward : forward));
                        ++(slot.backward ? backward : forward);
                        CHECK(backward <= forward);
                        most = std::max(most, forward - backward);
                    }
                    CHECK(forward == m);
                    CHECK(backward == m);
                    CHECK(most == (schedule == tn::one_forward_one_backward ? std::min(m, stages - i) : m));
                }
    CHECK(tn::pipeline_bound(2, 4) == doctest::Approx(1.25));
    CHECK(tn::pipeline_bound(1, 7) == doctest::Approx(1));
    CHECK_ERROR(tn::invalid_argument_error, "there is no stage 2 of 2",
                tn::pipeline_order(tn::one_forward_one_backward, 2, 4, 2));
}

TEST_CASE("S43: a pipeline's loss and gradients are those of the whole batch, on any devices, by any schedule") {
    for (const places& on : all_places())
        for (const tn::pipeline_schedule schedule : schedules)
            for (const int m : {1, 2, 3, 8}) {
                CAPTURE(on.called);
                CAPTURE(name_of(schedule));
                CAPTURE(m);
                const own_graph g;
                const auto x = tn::placeholder<double, tn::shape<batch, 7>>("x");
                const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
                const auto first = tn::nn::dense<9>(tn::nn::tanh);
                const auto second = tn::nn::dense<8>(tn::nn::silu);
                const auto third = tn::nn::dense<3>();
                const auto pipe =
                    tn::pipeline({.micro_batches = m, .schedule = schedule}, tn::stage(on.devices[0], first),
                                 tn::stage(on.devices[1], second), tn::stage(on.devices[2], third));
                const auto made = pipe.compute_gradients(squared_error, x, y);
                const auto loss = squared_error(third(second(first(x))), y);
                initialized_session s(on.options);
                const int rows = 48;
                const fed_batch fed({x, y}, numbers({rows, 7}, 1), numbers({rows, 3}, 2));
                check_same_gradients(s, fed, made.gradients, tn::optimizer::compute_gradients(loss));
                const auto losses = s.run_untyped(fed.values(), {made.loss, loss});
                CHECK(largest_difference(losses[0], losses[1]) < 1e-12);
                const auto explained =
                    s.explain_placement(tn::feed(x, fed.arrays[0]), tn::feed(y, fed.arrays[1]), made.loss);
                for (const auto& n : explained.nodes)
                    if (n.name == "dense_1/kernel") CHECK(on.devices[1].allows(n.device));
            }
}

TEST_CASE("S43: steps of a pipeline train as steps of the network in one piece do") {
    std::vector<std::vector<tn::any_array>> ends;
    for (const bool split : {false, true}) {
        own_graph g;
        g.set_seed(11);
        const auto x = tn::placeholder<double, tn::shape<12, 7>>("x");
        const auto y = tn::placeholder<double, tn::shape<12, 3>>("y");
        const auto first = tn::nn::dense<9>(tn::nn::tanh);
        const auto second = tn::nn::dense<3>();
        tn::operation train;
        if (split) {
            const auto pipe = tn::pipeline<4>({}, tn::stage("/cpu:0", first), tn::stage("/cpu:1", second));
            CHECK(pipe.micro_batches() == 4);
            CHECK(pipe.device(1) == tn::device_name("/cpu:1"));
            CHECK_ERROR(tn::invalid_argument_error, "there is no stage 2", pipe.device(2));
            train = pipe.minimize(tn::adam(0.01), {.name = "adam"}, squared_error, x, y).train;
            CHECK(contains(train.name(), "adam"));
        } else train = tn::adam(0.01).minimize(squared_error(second(first(x)), y));
        initialized_session s({.cpu_devices = 2});
        for (int i = 0; i < 10; ++i) {
            std::vector<tn::fed_value> fed;
            fed.push_back({x, numbers({12, 7}, i)});
            fed.push_back({y, numbers({12, 3}, 100 + i)});
            s.run_untyped(std::move(fed), {}, {train});
        }
        ends.push_back(s.run_untyped({}, g.collection(tn::trainable_variables)));
        CHECK(s.run(tn::global_step()).item() == 10);
    }
    REQUIRE(ends[0].size() == 4);
    REQUIRE(ends[1].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(largest_difference(ends[0][i], ends[1][i]) < 1e-12);
}

TEST_CASE("S43: each stage works in the order that its schedule says") {
    for (const tn::pipeline_schedule schedule : schedules) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
        const auto y = tn::placeholder<float, tn::shape<batch, 4>>("y");
        const auto layer = [] { return tn::nn::dense<4>(tn::nn::tanh); };
        const auto pipe = tn::pipeline({.micro_batches = 5, .schedule = schedule}, tn::stage("/gpu:0", layer()),
                                       tn::stage("/gpu:1", layer()), tn::stage("/gpu:2", layer()));
        const auto made = pipe.compute_gradients(squared_error, x, y);
        std::vector<tn::any_tensor> gradients;
        for (const auto& p : made.gradients) gradients.push_back(p.gradient);
        initialized_session s({.gpus = tn::simulated_gpu(3, std::size_t{64} << 20), .fuse = false});
        tn::trace t;
        s.set_trace(&t);
        std::vector<tn::fed_value> fed;
        fed.push_back({x, tn::any_array::zeros(tn::element_type::float32, {10, 4})});
        fed.push_back({y, tn::any_array::zeros(tn::element_type::float32, {10, 4})});
        s.run_untyped(std::move(fed), gradients);
        s.set_trace(nullptr);
        // The passes' first nodes: identities that wait for the pass before.
        for (int stage = 0; stage < 3; ++stage) {
            std::vector<std::pair<std::int64_t, std::string>> seen;
            t.each([&](const tn::trace_event& e) {
                if (e.row != "GPU:" + std::to_string(stage)) return;
                if (contains(e.name, "stage_input")) seen.emplace_back(e.begin, "F");
                if (contains(e.name, "stage_gradient") || contains(e.name, "loss_gradient"))
                    seen.emplace_back(e.begin, "B");
            });
            std::sort(seen.begin(), seen.end());
            std::string order, expected;
            for (const auto& [at, what] : seen) order += what;
            bool first = true; // waits for none
            for (const tn::pipeline_slot& slot : pipe.order(stage)) {
                if (!first) expected += slot.backward ? "B" : "F";
                first = false;
            }
            CHECK(order == expected);
        }
    }
}

TEST_CASE("S43: peak memory is known by stage before the step; one forward, one backward keeps fewer micro-batches") {
    const std::vector<std::size_t> gpipe = peaks(tn::all_forward_then_backward, 8, 16),
                                   flush = peaks(tn::one_forward_one_backward, 8, 16);
    REQUIRE(gpipe.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(flush[i] < gpipe[i]);
    // More micro-batches of as many rows: a stage keeps as many as there are stages from it to the last; what comes in, and the labels,
    // are there at once.
    const std::vector<std::size_t> more_gpipe = peaks(tn::all_forward_then_backward, 16, 16),
                                   more_flush = peaks(tn::one_forward_one_backward, 16, 16);
    const std::size_t of_one = 16 * 32 * sizeof(double); // a micro-batch of the input or the labels
    CHECK(more_flush[0] <= flush[0] + 8 * of_one + 4096);
    CHECK(more_flush[1] <= flush[1] + 4096);
    CHECK(more_flush[2] <= flush[2] + 8 * of_one + 4096);
    for (std::size_t i = 0; i < 3; ++i) CHECK(more_gpipe[i] >= gpipe[i] + 8 * 3 * of_one);
}

TEST_CASE("S43: the memory that a pipeline's report promises is what its devices need") {
    for (const tn::pipeline_schedule schedule : schedules) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<64, 32>>("x");
        const auto y = tn::placeholder<float, tn::shape<64, 32>>("y");
        const auto layer = [] { return tn::nn::dense<32>(tn::nn::tanh); };
        const auto pipe = tn::pipeline({.micro_batches = 8, .schedule = schedule}, tn::stage("/gpu:0", layer()),
                                       tn::stage("/gpu:1", layer()));
        const auto [train, loss] = pipe.minimize(tn::gradient_descent(0.1), squared_error, x, y);
        initialized_session s({.gpus = tn::simulated_gpu(2, std::size_t{64} << 20)});
        const std::size_t before = s.memory_info("/gpu:1").in_use;
        const auto took = pipe.memory(s.report(tn::feed(x, tn::array<float, tn::shape<64, 32>>()),
                                               tn::feed(y, tn::array<float, tn::shape<64, 32>>()), train, loss));
        CHECK(took[0].device == "/device:GPU:0");
        CHECK(took[1].variable_bytes == 4 * (32 * 32 + 32));
        s.run(tn::feed(x, tn::array<float, tn::shape<64, 32>>()), tn::feed(y, tn::array<float, tn::shape<64, 32>>()),
              train, loss);
        CHECK(s.memory_info("/gpu:1").in_use - before <= took[1].peak_bytes + 4096);
    }
}

TEST_CASE(
    "S43: what a pipeline is not given is an error that names the stage, and both numbers, before anything changes") {
    const own_graph g;
    const auto layer = tn::nn::dense<3>();
    CHECK_ERROR(tn::invalid_argument_error, "stage 1 of 2 has no device",
                tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", layer), tn::stage(tn::device_name(), layer)));
    CHECK_ERROR(tn::invalid_argument_error, "0 micro-batches",
                tn::pipeline({.micro_batches = 0}, tn::stage("/cpu:0", layer)));

    const auto pipe = tn::pipeline({.micro_batches = 4}, tn::stage("/cpu:0", layer));
    const auto ten = tn::placeholder<double, tn::shape<10, 5>>("ten");
    const auto wanted = tn::placeholder<double, tn::shape<10, 3>>("wanted");
    const std::string words = message_of<tn::invalid_argument_error>(
        [&] { (void)pipe.minimize(tn::gradient_descent(0.1), squared_error, ten, wanted); });
    CHECK(contains(words, "4 micro-batches do not divide the 10 rows of ten"));
    CHECK(contains(words, "pad the batch, leave rows out, or choose a number of micro-batches"));
    CHECK(g.collection(tn::trainable_variables).empty()); // nothing was made

    const auto x = tn::placeholder<double, tn::shape<batch, 5>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
    const tn::operation train = pipe.minimize(tn::gradient_descent(0.1), squared_error, x, y).train;
    initialized_session s;
    const auto before = s.run_untyped({}, g.collection(tn::global_variables));
    const std::string late = message_of<tn::invalid_argument_error>([&] {
        s.run(tn::feed(x, tn::array<double, tn::shape<tn::dyn, 5>>(10)),
              tn::feed(y, tn::array<double, tn::shape<tn::dyn, 3>>(10)), train);
    });
    CHECK(contains(late, "[10, 5]"));
    CHECK(contains(late,
                   "pad or cut it, or choose a number of parts that divides it [node pipeline/x_in_4_micro_batches"));
    const auto after = s.run_untyped({}, g.collection(tn::global_variables));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(all_close(before[i], after[i], 0, 0));
    s.run(tn::feed(x, tn::array<double, tn::shape<tn::dyn, 5>>(12)), // and goes on
          tn::feed(y, tn::array<double, tn::shape<tn::dyn, 3>>(12)), train);

    CHECK(contains(message_of<tn::invalid_argument_error>([&] {
                       const auto apart = tn::variable<double, tn::shape<3>>("apart", tn::zeros());
                       (void)pipe.compute_gradients(std::vector<tn::any_tensor>{apart}, squared_error, x, y);
                   }),
                   "does not depend on apart"));
    const auto idle = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", [](const auto& v) { return v * 2.0; }));
    const auto as_wide = tn::placeholder<double, tn::shape<batch, 5>>("as_wide");
    CHECK_ERROR(tn::invalid_argument_error, "no trainable variable", idle.compute_gradients(squared_error, x, as_wide));
    CHECK_ERROR(tn::not_found_error, "/device:CPU:0", pipe.memory(tn::step_report{}));
}

TEST_CASE("S43: stages hand on tuples, numbers that have no gradient, and what other stages' variables are tied to") {
    const own_graph g;
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto side = tn::placeholder<double, tn::shape<batch, 6>>("side");
    const auto y = tn::placeholder<double, tn::shape<batch, 20>>("y");
    const auto factor = tn::placeholder<double, tn::shape<>>("factor");
    const auto table =
        tn::on("/cpu:0", [] { return tn::variable<double, tn::shape<20, 6>>("table", tn::glorot_uniform()); });
    const auto middle = tn::nn::dense<6>(tn::nn::tanh);
    const auto rows = [&](const auto& i, const auto& extra) { return std::tuple(gather(table, i), extra, i); };
    const auto mixed = [&](const auto& v, const auto& extra, const auto& i) {
        return std::tuple(middle(v) * sigmoid(extra), v, i);
    };
    const auto scores = [&](const auto& h, const auto& v, const auto& i) {
        return matmul<tn::transpose_b>(h + v, table) + reshape<tn::shape<tn::kept<0>, 1>>(cast<double>(i)) * 0.01;
    };
    const auto scaled = [](const auto& a, const auto& b, const auto& by) { return tn::mean(square(a - b)) * by; };
    const auto whole = [&] {
        const auto [v, e, i] = rows(ids, side);
        const auto [h, v2, i2] = mixed(v, e, i);
        return scaled(scores(h, v2, i2), y, factor);
    }();
    for (const tn::pipeline_schedule schedule : schedules) {
        const auto pipe = tn::pipeline({.micro_batches = 3, .schedule = schedule}, tn::stage("/cpu:0", rows),
                                       tn::stage("/cpu:1", mixed), tn::stage("/cpu:2", scores));
        const auto made = pipe.compute_gradients(scaled, std::tuple(ids, side), y, factor);
        initialized_session s({.cpu_devices = 3});
        const fed_batch fed({ids, side, y, factor}, indices(12, 7, 20), numbers({12, 6}, 1), numbers({12, 20}, 2),
                            numbers({}, 3));
        check_same_gradients(s, fed, made.gradients, tn::optimizer::compute_gradients(whole));
    }
}

TEST_CASE_FIXTURE(in_graph, "S43: the gradient of a table that a stage only gathers from stays sparse") {
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto y = tn::placeholder<double, tn::shape<batch, 2>>("y");
    const auto table = tn::variable<double, tn::shape<50, 4>>("table", tn::glorot_uniform());
    const auto last = tn::nn::dense<2>();
    const auto pipe =
        tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", [&](const auto& i) { return gather(table, i); }),
                     tn::stage("/cpu:1", last));
    const auto made = pipe.compute_gradients(squared_error, ids, y);
    const auto whole = tn::optimizer::compute_gradients(squared_error(last(gather(table, ids)), y));
    REQUIRE(made.gradients.size() == 3);
    CHECK(made.gradients[0].variable.name() == "table");
    CHECK(tn::sparse_rows(made.gradients[0].gradient).has_value());
    initialized_session s({.cpu_devices = 2});
    const fed_batch fed({ids, y}, indices(6, 5, 3), numbers({6, 2}, 2));
    check_same_gradients(s, fed, made.gradients, whole);
}

TEST_CASE_FIXTURE(in_graph, "S43: gradients flow on to what a pipeline's batch is computed of") {
    const auto x = tn::placeholder<double, tn::shape<batch, 4>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 2>>("y");
    const auto before = tn::nn::dense<5>(tn::nn::tanh);
    const auto first = tn::nn::dense<3>(tn::nn::tanh);
    const auto last = tn::nn::dense<2>();
    const auto h = before(x);
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", first), tn::stage("/cpu:0", last));
    const auto made = pipe.compute_gradients(squared_error, h, y);
    const auto whole = tn::optimizer::compute_gradients(squared_error(last(first(h)), y));
    initialized_session s;
    const fed_batch fed({x, y}, numbers({6, 4}, 1), numbers({6, 2}, 2));
    check_same_gradients(s, fed, made.gradients, whole);
}

TEST_CASE("S43: a pipeline predicts for the whole batch, and trains layers that tell training from inference") {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<batch, 4>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 4>>("y");
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", tn::nn::dense<4>(), tn::nn::dropout(0.5)),
                                   tn::stage("/cpu:1", tn::nn::dense<4>()));
    const auto made = pipe.compute_gradients(squared_error, x, y);
    const auto predicted = pipe(x);
    static_assert(std::is_same_v<decltype(predicted), const tn::tensor<double, tn::shape<batch, 4>>>);
    const auto loss = squared_error(predicted, y);
    initialized_session s({.cpu_devices = 2});
    const fed_batch fed({x, y}, numbers({6, 4}, 1), numbers({6, 4}, 2));
    const auto one = s.run_untyped(fed.values(), {made.loss, loss}),
               two = s.run_untyped(fed.values(), {made.loss, loss});
    CHECK(largest_difference(one[1], two[1]) == 0);
    CHECK(largest_difference(one[0], two[0]) > 0); // another mask
}

TEST_CASE_FIXTURE(in_graph, "S43: a pipeline of tensors whose types are known at run time") {
    const tn::any_tensor x = tn::placeholder<double, tn::shape<batch, 4>>("x");
    const tn::any_tensor y = tn::placeholder<double, tn::shape<batch, 4>>("y");
    const tn::any_tensor w = tn::variable<double, tn::shape<4, 4>>("w", tn::glorot_uniform());
    const auto product = [&](const tn::any_tensor& v) { return tn::untyped::matmul(v, w); };
    const auto error = [](const tn::any_tensor& a, const tn::any_tensor& b) {
        return tn::untyped::mean(tn::untyped::square(a - b));
    };
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", product), tn::stage("/cpu:1", product));
    const auto made = pipe.compute_gradients(error, x, y);
    const auto whole = tn::optimizer::compute_gradients(error(product(product(x)), y));
    initialized_session s({.cpu_devices = 2});
    const fed_batch fed({x, y}, numbers({6, 4}, 1), numbers({6, 4}, 2));
    check_same_gradients(s, fed, made.gradients, whole);
    const auto no_scalar = [](const tn::any_tensor& a, const tn::any_tensor& b) { return a - b; };
    CHECK_ERROR(tn::invalid_argument_error, "must be a floating scalar", pipe.compute_gradients(no_scalar, x, y));
}

TEST_CASE(
    "S43: a pipeline on tasks of one process: its stages' memory, too, does not grow with the micro-batches by 1F1B") {
    const auto peaks_of = [](tn::pipeline_schedule schedule, int micro_batches) {
        const own_graph g;
        const auto x = tn::placeholder<double, tn::shape<batch, 32>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 32>>("y");
        const auto wide = [] {
            return tn::nn::sequential(tn::nn::dense<96>(tn::nn::tanh), tn::nn::dense<32>(tn::nn::tanh));
        };
        const auto pipe =
            tn::pipeline({.micro_batches = micro_batches, .schedule = schedule}, tn::stage("/job:a", wide()),
                         tn::stage("/job:b", wide()), tn::stage("/job:c", wide()));
        const tn::operation train = pipe.minimize(tn::gradient_descent(0.1), squared_error, x, y).train;
        const tn::task a({.job = "a"}), b({.job = "b"}), c({.job = "c"});
        initialized_session s({a, b, c}, g);
        const tn::array<double, tn::shape<tn::dyn, 32>> rows(micro_batches * 16);
        std::vector<std::size_t> all;
        for (const tn::device_report& d : pipe.memory(s.report(tn::feed(x, rows), tn::feed(y, rows), train)))
            all.push_back(d.peak_bytes);
        for (int i = 0; i < 2; ++i) s.run(tn::feed(x, rows), tn::feed(y, rows), train);
        return all;
    };
    const auto gpipe = peaks_of(tn::all_forward_then_backward, 16), flush = peaks_of(tn::one_forward_one_backward, 8),
               more = peaks_of(tn::one_forward_one_backward, 16);
    for (std::size_t i = 0; i < 3; ++i) CHECK(more[i] < gpipe[i]);
    CHECK(more[1] <= flush[1] + 4096);
    CHECK(more[2] <= flush[2] + 4096);
}
