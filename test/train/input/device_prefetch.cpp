#include <tenon/input.hpp>

#include "tests.hpp"
#include "each_thread.hpp"
#include "train/running_session.hpp"

namespace {

using numbers = std::vector<std::int64_t>;

tn::session_options with_gpu(double latency = 0) {
    return {.gpus = tn::simulated_gpu(1, std::size_t{16} << 20, 0, latency)};
}

// Elements 0 .. n-1: a number, and a batch of 4 pairs that are made of it.
auto elements(std::int64_t n) {
    return tn::data::range(n).map_host([](std::int64_t i) {
        tn::array<float, tn::shape<4, 2>> x;
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 2; ++c) x(r, c) = static_cast<float>(10 * i + 2 * r + c);
        return std::tuple{i, std::move(x)};
    });
}
bool belongs(std::int64_t i, const tn::array<float, tn::shape<4, 2>>& x) {
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 2; ++c)
            if (x(r, c) != static_cast<float>(10 * i + 2 * r + c)) return false;
    return true;
}

// The operation that a runner of this queue runs.
tn::operation runner_of(const tn::graph& g, const std::string& queue) {
    const auto collected = g.collection("queue_runners/" + queue);
    REQUIRE(collected.size() == 1);
    return tn::operation(collected[0].node()->controls.front());
}
std::int64_t bytes_to_gpu(const tn::placement_explanation& e) {
    std::int64_t bytes = 0;
    for (const auto& edge : e.edges) {
        if (edge.once || edge.shared) continue;
        for (const auto& n : e.nodes)
            if (n.name == edge.to && n.device.type == std::string_view("GPU")) bytes += edge.bytes;
    }
    return bytes;
}

} // namespace

TEST_CASE("prefetch_to_device: each element comes once, whole and in order; then the end of the data") {
    for (const std::int64_t slots : {1, 2, 5})
        for (const std::int64_t n : {0, 1, 2, 23}) {
            CAPTURE(slots);
            CAPTURE(n);
            const own_graph g;
            const auto it = tn::make_one_shot_iterator(elements(n));
            const auto [i, x] = tn::prefetch_to_device(it.get_next(), "/gpu:0", {.slots = slots});
            static_assert(std::is_same_v<decltype(x), const tn::tensor<float, tn::shape<4, 2>>>);
            running_session sess(g, with_gpu());
            CHECK(sess.started == 1);
            for (std::int64_t k = 0; k < n; ++k) {
                const auto [ki, kx] = sess.run(i, x);
                CHECK(ki() == k);
                CHECK(belongs(k, kx));
            }
            CHECK_THROWS_AS(sess.run(x), tn::end_of_data_error);
            CHECK_THROWS_AS(sess.run(i), tn::end_of_data_error);
            sess.coord.join();
        }
}

TEST_CASE("prefetch_to_device: a step that needs one tensor of a tuple takes the element; a lone tensor is one") {
    const own_graph g;
    const auto it = tn::make_one_shot_iterator(elements(6));
    const auto [i, x] = tn::prefetch_to_device(it.get_next(), "/gpu:0", {.name = "pairs"});
    const auto other = tn::make_one_shot_iterator(tn::data::range(3));
    const tn::tensor<std::int64_t, tn::shape<>> alone = tn::prefetch_to_device(other.get_next(), "/gpu:0");
    CHECK(i.name().starts_with("pairs/"));
    running_session sess(g, with_gpu());
    CHECK(sess.started == 2);
    for (std::int64_t k = 0; k < 6; ++k) {
        if (k % 2 == 0) CHECK(sess.run(i)() == k);
        else CHECK(belongs(k, sess.run(x)));
    }
    for (std::int64_t k = 0; k < 3; ++k) CHECK(sess.run(alone)() == k);
    sess.coord.join();
}

TEST_CASE("prefetch_to_device: elements cross to the GPU in the step that fills, not in the one that uses them") {
    const own_graph g;
    const auto it = tn::make_one_shot_iterator(elements(4));
    const auto plain = it.get_next();
    const auto next = tn::prefetch_to_device(plain, "/gpu:0");
    const auto& x = std::get<1>(next);
    const auto used = tn::on("/gpu:0", [&] { return sum(x * 2.0f); });
    const auto not_ahead = tn::on("/gpu:0", [&] { return sum(std::get<1>(plain) * 2.0f); });
    tn::session sess(g, with_gpu());
    const std::int64_t element = 4 * 2 * 4; // bytes
    CHECK(bytes_to_gpu(sess.explain_placement(not_ahead)) == element);
    CHECK(bytes_to_gpu(sess.explain_placement(used)) <= 8); // which place
    const auto fill = sess.explain_placement_untyped({}, {runner_of(g, "prefetch_to_device/full")});
    CHECK(bytes_to_gpu(fill) >= element + 8); // the number, an int64, lies on the GPU, too

    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    for (int k = 0; k < 4; ++k) CHECK(sess.run(used)() == 2 * (8.0f * 10 * static_cast<float>(k) + 28));
    coord.join();
}

TEST_CASE("prefetch_to_device: what a GPU variable cannot be stays in the host's memory; all comes as it was") {
    const own_graph g;
    const auto set = tn::data::range(5).map_host([](std::int64_t i) {
        return std::tuple{static_cast<std::int32_t>(i), i % 2 == 0, static_cast<std::uint8_t>(i),
                          static_cast<float>(i)};
    });
    const auto it = tn::make_one_shot_iterator(set.batch<1>());
    const auto next = tn::prefetch_to_device(it.get_next(), "/gpu:0");
    const auto& a = std::get<0>(next);
    const auto& b = std::get<1>(next);
    const auto& c = std::get<2>(next);
    const auto& d = std::get<3>(next);
    const auto doubled = tn::on("/gpu:0", [&] { return d * 2.0f; });
    tn::session sess(g, with_gpu());
    for (const auto& n : sess.explain_placement(a, b, c, d).nodes)
        if (n.op == "variable") {
            const auto element = g.tensor(n.name).element();
            CHECK(n.device.type == std::string_view(element == tn::element_type::float32 ? "GPU" : "CPU"));
        }
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    for (int k = 0; k < 5; ++k) {
        const auto [ka, kb, kc, kd] = sess.run(a, b, c, doubled);
        CHECK(ka(0) == k);
        CHECK(kb(0) == (k % 2 == 0));
        CHECK(kc(0) == k);
        CHECK(kd(0) == 2.0f * static_cast<float>(k));
    }
    coord.join();
}

TEST_CASE("prefetch_to_device: training computes the same numbers with and without") {
    const auto losses = [](bool ahead, const tn::session_options& o) {
        const own_graph g;
        const auto it = tn::make_one_shot_iterator(elements(12));
        const auto plain = it.get_next();
        const auto [i, x] = ahead ? tn::prefetch_to_device(plain, "/gpu:0", {.slots = 3}) : plain;
        const auto here = tn::on("/gpu:0");
        const auto w = tn::variable<float, tn::shape<2, 1>>("w", tn::constant_value(0.01));
        const auto loss = mean(square(matmul(x * 0.01f, w) - 1.0f));
        const auto train = tn::gradient_descent(0.1f).minimize(loss);
        initialized_session sess(g, o);
        tn::coordinator coord;
        tn::start_queue_runners(sess, coord);
        std::vector<float> all;
        while (coord.stop_on_exception([&] { all.push_back(std::get<0>(std::tuple{sess.run(loss, train)})()); })) {
        }
        coord.join();
        return all;
    };
    const auto with = losses(true, with_gpu()), without = losses(false, with_gpu());
    CHECK(with.size() == 12);
    CHECK(with == without);
}

TEST_CASE("prefetch_to_device: steps of several threads, on slow links, get each element once and untorn") {
    const own_graph g;
    const std::int64_t n = 400;
    const auto it = tn::make_one_shot_iterator(elements(n));
    const auto next = tn::prefetch_to_device(it.get_next(), "/gpu:0", {.slots = 3});
    const auto& i = std::get<0>(next);
    const auto& x = std::get<1>(next);
    running_session sess(g, with_gpu(1e-5));
    std::mutex guard;
    std::vector<int> times(static_cast<std::size_t>(n));
    std::atomic<int> torn{0};
    on_threads(4, [&](int) {
        try {
            for (;;) {
                const auto [ki, kx] = sess.run(i, x);
                if (!belongs(ki(), kx)) ++torn;
                const std::lock_guard lock(guard);
                ++times[static_cast<std::size_t>(ki())];
            }
        } catch (const tn::end_of_data_error&) {
        }
    });
    sess.coord.join();
    CHECK(torn == 0);
    CHECK(times == std::vector<int>(static_cast<std::size_t>(n), 1));
}

TEST_CASE("prefetch_to_device: a step that waits in vain takes nothing, and says that the runners were not started") {
    const own_graph g;
    const auto it = tn::make_one_shot_iterator(elements(8));
    const auto next = tn::prefetch_to_device(it.get_next(), "/gpu:0");
    const auto& i = std::get<0>(next);
    const auto& x = std::get<1>(next);
    tn::session sess(g, with_gpu());
    for (int k = 0; k < 5; ++k) {
        const auto text = message_of<tn::deadline_exceeded_error>([&] { (void)sess.run_for(0.01, x); });
        CHECK_MESSAGE(contains(text, "the queue runners of \"prefetch_to_device/full\" were never started"), text);
    }
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    for (std::int64_t k = 0; k < 8; ++k) CHECK(sess.run(i)() == k);
    coord.join();
}

TEST_CASE_FIXTURE(in_graph, "prefetch_to_device: a step that fails on its element has given the place back") {
    const auto it = tn::make_one_shot_iterator(elements(20));
    const auto [i, x] = tn::prefetch_to_device(it.get_next(), "/gpu:0");
    const auto small = tn::assert_true(i < std::int64_t{0}, "it is large", i);
    running_session sess(g, with_gpu());
    for (int k = 0; k < 19; ++k) CHECK_THROWS_AS(sess.run(small), tn::invalid_argument_error);
    CHECK(sess.run(i)() == 19);
    sess.coord.join();
}

TEST_CASE("prefetch_to_device: a stop while all places are full ends the runner, and what is there can be taken") {
    const own_graph g;
    const auto it = tn::make_one_shot_iterator(elements(1000));
    const auto [i, x] = tn::prefetch_to_device(it.get_next(), "/gpu:0", {.slots = 3});
    const tn::queue<std::int64_t> full(tn::untyped::queue(g.tensor("prefetch_to_device/full")));
    const auto size = full.size();
    const auto v = tn::variable("v", 1.0f);
    initialized_session sess(g, with_gpu());
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    CHECK(sess.run(i)() == 0);
    while (sess.run(size)() < 3) {
    }
    coord.request_stop();
    coord.join(20);
    for (std::int64_t k = 1; k < 4; ++k) {
        const auto [ki, kx] = sess.run(i, x);
        CHECK(ki() == k);
        CHECK(belongs(k, kx));
    }
    CHECK_THROWS_AS(sess.run(i), tn::end_of_data_error);
    CHECK(sess.run(v.assign_add(1.0f))() == 2.0f);
}

TEST_CASE("prefetch_to_device: a stop before the first element, and a session that is closed, end the runner") {
    for (const bool close : {false, true}) {
        CAPTURE(close);
        const own_graph g;
        tn::fifo_queue<float> from(4); // from which nothing comes
        const auto x = tn::prefetch_to_device(from.dequeue(), "/gpu:0");
        const auto put = from.enqueue(1.0f), no_more = from.close();
        running_session sess(g, with_gpu());
        if (close) sess.close();
        else {
            sess.coord.request_stop();
            sess.run(no_more);
        }
        try {
            sess.coord.join(20);
        } catch (const tn::failed_precondition_error& e) { // where the thread began when the session was closed
            CHECK(close);
            CHECK(std::string(e.what()) == "Session is closed.");
        }
        CHECK(sess.coord.running().empty());
        if (!close) CHECK_THROWS_AS(sess.run(x), tn::end_of_data_error);
    }
}

TEST_CASE("prefetch_to_device: an error of the data stops the training with it, after what came before") {
    const own_graph g;
    const auto it = tn::make_one_shot_iterator(tn::data::range(10).map_host([](std::int64_t i) {
        if (i == 4) throw tn::data_loss_error("element 4 is damaged");
        return i;
    }));
    const auto x = tn::prefetch_to_device(it.get_next(), "/gpu:0");
    running_session sess(g, with_gpu());
    numbers got;
    try {
        for (;;) got.push_back(sess.run(x)());
    } catch (const tn::end_of_data_error&) {
    }
    CHECK(got == numbers{0, 1, 2, 3});
    CHECK_ERROR(tn::data_loss_error, "element 4 is damaged", sess.coord.join());
}

TEST_CASE(
    "prefetch_to_device: runners that are started twice fill each place once; a graph that was read has them, too") {
    std::string text, name;
    {
        const own_graph g;
        tn::fifo_queue<std::int64_t> from(100, {.name = "from"});
        name = tn::prefetch_to_device(from.dequeue(), "/gpu:0").name();
        text = tn::to_json(g);
    }
    const tn::graph g = tn::graph_from_json(text);
    const tn::graph_scope in(g);
    const tn::queue<std::int64_t> from(tn::untyped::queue(g.tensor("from")));
    const auto put = from.enqueue_many(tn::constant<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    const auto no_more = from.close();
    const auto x = g.tensor(name);
    tn::session sess(g, with_gpu());
    tn::coordinator coord;
    CHECK(tn::start_queue_runners(sess, coord) == 1);
    tn::start_queue_runners(sess, coord);
    sess.run(put);
    std::int64_t sum = 0;
    for (int k = 0; k < 10; ++k) sum += *sess.run_untyped({}, {x})[0].data<std::int64_t>();
    CHECK(sum == 55);
    sess.run(no_more);
    coord.join();
}

TEST_CASE("prefetch_to_device: its variables are neither trained, saved nor initialised with the others") {
    const own_graph g;
    tn::fifo_queue<float> from(4);
    (void)tn::prefetch_to_device(from.dequeue(), "/gpu:0");
    CHECK(g.collection(tn::global_variables).empty());
    CHECK(g.collection(tn::trainable_variables).empty());
}

TEST_CASE("prefetch_to_device: a device that is not there, no slots, and sizes that are not known are errors") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    CHECK_ERROR(tn::invalid_argument_error, "slots is 0; give 1 or more",
                tn::prefetch_to_device(x, "/gpu:0", {.slots = 0}));
    const auto open = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent}, "open");
    CHECK_ERROR(tn::invalid_argument_error, "make batches of one size",
                tn::untyped::prefetch_to_device({open}, "/gpu:0"));
    const auto text = tn::untyped::placeholder(tn::element_type::string, {}, "text");
    CHECK_ERROR(tn::invalid_argument_error, "decode them before", tn::untyped::prefetch_to_device({text}, "/gpu:0"));
    CHECK_THROWS_AS((void)tn::untyped::prefetch_to_device({}, "/gpu:0"), tn::invalid_argument_error);
    tn::fifo_queue<float> from(4);
    const auto there = tn::prefetch_to_device(from.dequeue(), "/gpu:3");
    tn::session sess(g, with_gpu());
    const auto said = message_of<tn::invalid_argument_error>([&] { (void)sess.run(there); });
    CHECK_MESSAGE(contains(said, "GPU:3"), said);
}
