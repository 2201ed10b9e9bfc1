#include "tests.hpp"
#include "each_thread.hpp"
#include "gated.hpp"

// S47: replicas of a network on every device answer a stream of requests, batched when they meet.

using namespace serve_test;

namespace {

// relu(x w) + 1, in float64.
double expected(const array4& x, const tn::array<float>& w, std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<double>(x(row, k)) * static_cast<double>(w(k, column));
    return std::max(sum, 0.0) + 1;
}

// x and a row's number, one output of its own for each.
struct network {
    network() :
        scope(g),
        x(tn::placeholder<float, rows4>("x")),
        w(tn::variable<float, tn::shape<4, 3>>("w", tn::uniform(-1, 1, 5))) {}
    auto operator()(const tn::tensor<float, rows4>& in) const { return relu(matmul(in, w)) + 1.0f; }
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, rows4> x;
    tn::variable_tensor<float, tn::shape<4, 3>> w;
};

} // namespace

TEST_CASE("S47: requests of any number of rows, from several threads, get the rows that the network gives them alone") {
    for (const bool copies : {false, true})
        for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{}, {2, 5, 16}}) {
            const network n;
            tn::session sess({.cpu_devices = 3});
            tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return n(in); },
                                    {.devices = {"/cpu:0", "/cpu:1", "/cpu:2"},
                                     .copy_variables = copies,
                                     .largest_batch = 16,
                                     .batch_sizes = sizes});
            sess.run(tn::initialize_variables());
            const tn::array<float> w = sess.run(n.w);
            std::atomic<int> wrong{0};
            on_threads(4, [&](int t) {
                std::mt19937_64 random(static_cast<std::uint64_t>(t));
                for (int i = 0; i < 50; ++i) {
                    const auto count = static_cast<std::int64_t>(1 + random() % 7);
                    const array4 x = rows(count, static_cast<float>(100 * t + i) / 64 - 2);
                    const auto [y] = server(x);
                    if (y.extent(0) != count) ++wrong;
                    for (std::int64_t r = 0; r < count; ++r)
                        for (std::int64_t c = 0; c < 3; ++c)
                            if (std::abs(static_cast<double>(y(r, c)) - expected(x, w, r, c)) > 1e-5) ++wrong;
                }
            });
            CHECK(wrong == 0);
            const tn::serving_metrics m = server.metrics();
            CHECK(m.answered == 200);
            CHECK(m.latency.count() == 200);
            CHECK(m.batches <= 200);
            std::uint64_t on_devices = 0;
            for (const auto& d : m.devices) on_devices += d.rows;
            CHECK(on_devices == m.rows);
            CHECK((m.padded_rows > 0) == !sizes.empty());
        }
}

TEST_CASE_FIXTURE(in_graph, "S47: several inputs and outputs, of several types, are split alike; so are texts") {
    const auto x = tn::placeholder<float, rows4>("x");
    const auto names = tn::placeholder<std::string, tn::shape<batch>>("names");
    tn::session sess;
    tn::model_server server(sess, tn::feeds(x, names),
                            [](auto v, auto s) { return std::tuple(tn::sum<1>(v), tn::identity(s), v * 2.0f); },
                            {.largest_batch = 8, .longest_wait = 60});
    CHECK(server.signature().inputs[1].name == "names");
    CHECK(server.signature().outputs.size() == 3);
    tn::array<std::string, tn::shape<batch>> a(3), b(5);
    for (std::int64_t i = 0; i < 5; ++i) {
        if (i < 3) a(i) = "a" + std::to_string(i);
        b(i) = "b, which is longer than a word " + std::to_string(i);
    }
    const array4 xa = rows(3, 0), xb = rows(5, 10);
    const auto first = server.start(xa, a), second = server.start(xb, b); // 8 rows: full
    const auto [sa, na, da] = first.get();
    const auto [sb, nb, db] = second.get();
    CHECK(server.metrics().batches == 1);
    CHECK(na(2) == "a2");
    CHECK(nb(0) == "b, which is longer than a word 0");
    CHECK(nb(4) == b(4));
    CHECK(sa(0) == doctest::Approx(0.75)); // 0 + 1/8 + 2/8 + 3/8
    CHECK(db(4, 3) == 2 * xb(4, 3));
    CHECK(sb.extent(0) == 5);
    CHECK(da.extent(0) == 3);
}

TEST_CASE("S47: a request of another shape or element type is refused before it joins a batch, naming both") {
    const network n;
    tn::session sess;
    tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return n(in); },
                            {.name = "small", .largest_batch = 4});
    sess.run(tn::initialize_variables());
    using bad = tn::invalid_argument_error;
    CHECK(message_of<bad>([&] {
              server(tn::array<float>(tn::extents{2, 5}));
          }) == "model 'small': input 'x': float[2, 5] does not fit float[batch, 4]: size 1 is 5, not 4");
    CHECK_ERROR(bad, "double[2, 4]", server(tn::any_array(tn::element_type::float64, {2, 4})));
    CHECK_ERROR(bad, "5 rows, and a batch may have 4", server(rows(5, 0)));
    CHECK_ERROR(bad, "has no rows", server(rows(0, 0)));
    CHECK_ERROR(bad, "time limit is -1", server.run_for(-1, rows(1, 0)));
    const tn::any_served_model any = server;
    CHECK_ERROR(bad, "a request has 0 arrays, and there are 1 inputs", any({}));
    CHECK(server.metrics().invalid == 5);
    CHECK(server.metrics().accepted == 0);
    const array4 good = rows(4, 0);
    CHECK(std::get<0>(server(good)).extent(0) == 4);
    CHECK(good.is_unique()); // it is the asker's alone again
    std::vector<float> memory(8, 1.0f);
    CHECK(std::get<0>(server(array4::view(memory, {2, 4}))).extent(0) == 2);
}

TEST_CASE_FIXTURE(in_graph, "S47: a request that fails does not fail its neighbours in the batch") {
    const auto table = tn::variable("table", tn::constant({1.0f, 2.0f, 3.0f}));
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    tn::session sess;
    tn::model_server server(sess, tn::feeds(ids), [&](auto i) { return tn::gather(table, i); },
                            {.largest_batch = 3, .longest_wait = 60});
    sess.run(tn::initialize_variables());
    const auto ask = [&](std::int32_t id) {
        tn::array<std::int32_t, tn::shape<batch>> a(1);
        a(0) = id;
        return server.start(a);
    };
    const auto good = ask(1), bad = ask(7), other = ask(2);
    CHECK(std::get<0>(good.get())(0) == 2);
    CHECK_THROWS_AS(bad.get(), tn::error);
    CHECK(std::get<0>(other.get())(0) == 3);
    CHECK(server.metrics().answered == 2);
    CHECK(server.metrics().failed == 1);
}

TEST_CASE("S47: the answers to what one client asks come in its order, whatever device is faster") {
    const network n;
    const gate slow;
    tn::session sess({.cpu_devices = 2});
    int call = 0;
    tn::model_server server(sess, tn::feeds(n.x),
                            [&](auto in) {
                                const auto y = n(in);
                                return call++ == 0 ? slow.after(y).materialize() : (y + 0.0f).materialize();
                            },
                            {.devices = {"/cpu:0", "/cpu:1"}, .largest_batch = 1});
    sess.run(tn::initialize_variables());
    const auto first_client = server.client(), second_client = server.client();
    // Until the one device is held up, the other answers.
    std::vector<decltype(server.start(rows(1, 0)))> asked;
    do asked.push_back(first_client.start(rows(1, 0)));
    while (asked.back().wait_for(0.2));
    const auto held = asked.back(); // on the slow device
    const auto behind = first_client.start(rows(1, 1)), last = first_client.start(rows(1, 2));
    CHECK(second_client.start(rows(1, 3)).wait_for(20)); // another client does not wait
    CHECK(comes([&] { return server.metrics().computing == 1 && server.metrics().waiting == 0; }));
    CHECK_FALSE(behind.has_ended());
    CHECK_FALSE(last.has_ended());
    slow.open(sess);
    CHECK(last.wait_for(20));
    CHECK(behind.has_ended());
    CHECK(held.has_ended());
    slow.open(sess, 10); // what else has come to the slow one
}

TEST_CASE("S47: a full queue refuses at once, or has the asker wait, as it is told") {
    for (const bool waits : {false, true}) {
        const network n;
        const gate closed;
        tn::session sess;
        tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return closed.after(n(in)); },
                                {.name = "busy", .largest_batch = 1, .capacity = 2, .wait_when_full = waits});
        sess.run(tn::initialize_variables());
        std::vector<decltype(server.start(rows(1, 0)))> asked;
        asked.push_back(server.start(rows(1, 0)));
        REQUIRE(comes([&] { return server.metrics().computing == 1; }));
        asked.push_back(server.start(rows(1, 1)));
        asked.push_back(server.start(rows(1, 2)));
        if (!waits) {
            CHECK_ERROR(tn::resource_exhausted_error, "model 'busy': 2 requests wait, which is as many as may",
                        server.start(rows(1, 3)));
            CHECK(server.metrics().refused == 1);
        } else {
            CHECK_ERROR(tn::deadline_exceeded_error, "waited 0.01 s for room", server.start_for(0.01, rows(1, 3)));
            std::thread late([&] { CHECK(std::get<0>(server(rows(1, 4))).extent(0) == 1); });
            closed.open(sess);
            CHECK(asked[0].wait_for(20));
            closed.open(sess, 3);
            late.join();
        }
        closed.open(sess, 3);
        for (const auto& a : asked) CHECK(a.wait_for(20));
    }
}

TEST_CASE("S47: a late request is told so at its limit, is not computed if it was not begun, and others are") {
    const std::string of_computing = "it was being computed";
    std::string said;
    for (double limit = 0.05; !contains(said, of_computing); limit *= 2) { // a busy machine may begin it too late
        REQUIRE(limit < 60);
        const network n;
        const gate closed;
        tn::session sess;
        tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return closed.after(n(in)); },
                                {.name = "slow", .largest_batch = 1});
        sess.run(tn::initialize_variables());
        const auto begun = server.start_for(limit, rows(1, 0));
        REQUIRE(comes([&] { return server.metrics().computing == 1 || begun.has_ended(); }));
        const auto waiting = server.start_for(limit, rows(1, 1)), patient = server.start(rows(1, 2));
        said = message_of<tn::deadline_exceeded_error>([&] { begun.get(); });
        CHECK(contains(said, "longer than " + tn::detail::text_of_number(limit) + " s; "));
        CHECK_ERROR(tn::deadline_exceeded_error, "it waited for a device", waiting.get());
        // Nobody waits for the first any more: it is stopped.
        CHECK(comes([&] { return server.metrics().batches == 1 || !contains(said, of_computing); }));
        closed.open(sess);
        CHECK(std::get<0>(patient.get()).extent(0) == 1);
        const tn::serving_metrics m = server.metrics();
        CHECK(m.late == 2);
        CHECK(m.batches == (contains(said, of_computing) ? 2 : 1)); // of three requests
        CHECK(m.answered == 1);
    }
}

TEST_CASE(
    "S47: a request that is stopped before it is computed is not; close() answers what it can, and cancels the rest") {
    const network n;
    const gate closed;
    tn::session sess;
    tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return closed.after(n(in)); }, {.largest_batch = 1});
    sess.run(tn::initialize_variables());
    const auto begun = server.start(rows(1, 0));
    REQUIRE(comes([&] { return server.metrics().computing == 1; }));
    const auto stopped = server.start(rows(1, 1)), left = server.start(rows(1, 2));
    stopped.stop();
    CHECK_THROWS_AS(stopped.get(), tn::cancelled_error);
    std::thread opens([&] {
        CHECK(comes([&] { return !server.why_not_ready().empty(); }));
        CHECK_ERROR(tn::failed_precondition_error, "is closed", server.start(rows(1, 3)));
        CHECK_THROWS_AS(left.get(), tn::cancelled_error);
        closed.open(sess);
    });
    CHECK_FALSE(server.close(0.05));
    opens.join();
    CHECK(std::get<0>(begun.get()).extent(0) == 1); // what was begun is answered
    CHECK(server.metrics().cancelled == 2);

    tn::model_server whole(sess, tn::feeds(n.x), [&](auto in) { return n(in); }, {.largest_batch = 2});
    std::vector<decltype(whole.start(rows(1, 0)))> all;
    for (int i = 0; i < 20; ++i) all.push_back(whole.start(rows(1, 0)));
    CHECK(whole.close(60));
    for (const auto& a : all) CHECK(std::get<0>(a.get()).extent(0) == 1);
}

TEST_CASE_FIXTURE(in_graph, "S47: a model whose other sizes are known at run time joins requests of one size") {
    const auto x = tn::placeholder<float, tn::shape<batch, tn::dyn>>("x");
    tn::session sess;
    tn::model_server server(sess, tn::feeds(x), [](auto v) { return tn::sum<1>(v); }, {.largest_batch = 8});
    std::vector<decltype(server.start(tn::array<float, tn::shape<batch, tn::dyn>>(1, 1)))> all;
    for (int i = 0; i < 30; ++i) {
        tn::array<float, tn::shape<batch, tn::dyn>> a(1 + i % 2, 1 + i % 3);
        a.fill(1);
        all.push_back(server.start(a));
    }
    for (int i = 0; i < 30; ++i) {
        const auto [y] = all[static_cast<std::size_t>(i)].get();
        CHECK(y.extent(0) == 1 + i % 2);
        CHECK(y(0) == static_cast<float>(1 + i % 3));
    }
}

TEST_CASE_FIXTURE(in_graph, "S47: untyped tensors are served; what has no rows is refused when it is made") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent, 2}, "x");
    tn::session sess;
    const auto twice = [](const tn::any_tensor& v) { return std::vector<tn::any_tensor>{v * 2.0f}; };
    tn::model_server server(sess, tn::feeds(x), twice, {.outputs = {"doubled"}});
    CHECK(server.signature().outputs[0].name == "doubled");
    std::vector<tn::any_array> values;
    values.push_back(tn::array<float>{{1, 2}}.untyped().share());
    const tn::any_served_model any = server;
    const std::vector<tn::any_array> out = any(values);
    CHECK(out[0].data<float>()[1] == 4);
    CHECK(server(values[0])[0].data<float>()[0] == 2);

    using bad = tn::invalid_argument_error;
    const tn::any_tensor fixed = tn::untyped::placeholder(tn::element_type::float32, {3, 2}, "fixed");
    CHECK_ERROR(bad, "fixed number of rows", tn::model_server(sess, tn::feeds(fixed), twice));
    const auto none = [](const tn::any_tensor& v) { return std::vector<tn::any_tensor>{tn::untyped::sum(v, {0, 1})}; };
    CHECK_ERROR(bad, "is a scalar", tn::model_server(sess, tn::feeds(x), none));
    const auto refused = [&](tn::model_server_options o, const char* words) {
        const std::string said = message_of<bad>([&] { tn::model_server(sess, tn::feeds(x), twice, std::move(o)); });
        CHECK_MESSAGE(contains(said, words), said);
    };
    refused({.largest_batch = 0}, "largest_batch is 0");
    refused({.longest_wait = -1}, "longest_wait is -1; give seconds");
    refused({.longest_wait = 1e6}, "longest_wait is 1e+06");
    refused({.capacity = 0}, "capacity is 0");
    refused({.retry_lost = 0}, "retry_lost is 0; give seconds");
    refused({.retry_lost = 1e6}, "retry_lost is 1e+06");
    refused({.name = "a/b"}, "'a/b'");
    refused({.batch_sizes = {4, 8}}, "batch_sizes");
}

TEST_CASE("S47: a handle asks for types, and says what the model has where they are others") {
    const network n;
    tn::session sess;
    tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return n(in); }, {.name = "m"});
    sess.run(tn::initialize_variables());
    const tn::any_served_model any = server;
    const auto typed = any.as<tn::model_inputs<tn::component<float, rows4>>,
                              tn::model_outputs<tn::component<float, tn::shape<batch, 3>>>>();
    CHECK(std::get<0>(typed(rows(2, 0))).extent(1) == 3);
    CHECK_ERROR(tn::invalid_argument_error,
                "model 'm': input 'x' is float[batch, 4], and is asked for as float[batch, 5]",
                any.as<tn::model_inputs<tn::component<float, tn::shape<batch, 5>>>,
                       tn::model_outputs<tn::component<float, tn::shape<batch, 3>>>>());
}

TEST_CASE(
    "S47: variables that the function makes are the same on all devices, or copies that begin and are loaded alike") {
    for (const bool copies : {false, true}) {
        const own_graph g;
        const auto x = tn::placeholder<float, rows4>("x");
        tn::session sess({.cpu_devices = 3});
        int calls = 0;
        tn::model_server server(
            sess, tn::feeds(x),
            [&](auto v) {
                const float device = static_cast<float>(calls++);
                const auto w = tn::variable<float, tn::shape<4, 3>>("w", tn::uniform(-1, 1));
                const auto y = matmul(tn::nn::dense<4>()(v), w);
                return std::tuple(y, tn::sum<1>(v) * 0.0f + device);
            },
            {.devices = {"/cpu:0", "/cpu:1", "/cpu:2"}, .copy_variables = copies, .largest_batch = 1});
        CHECK(calls == 3);
        CHECK(g.collection(tn::global_variables).size() == 3); // w, and the layer's two
        sess.run(tn::initialize_variables());
        tn::array<float> first;
        std::vector<bool> seen(3);
        CHECK(comes([&] {
            std::vector<decltype(server.start(rows(1, 1)))> asked;
            for (int i = 0; i < 20; ++i) asked.push_back(server.start(rows(1, 1)));
            for (const auto& a : asked) {
                const auto [y, device] = a.get();
                seen[static_cast<std::size_t>(device(0))] = true;
                if (first.size() == 0) first = y.copy();
                CHECK(all_close(y, first));
            }
            return seen == std::vector<bool>(3, true);
        }));
    }
    const own_graph g;
    const auto x = tn::placeholder<float, rows4>("x");
    tn::session sess({.cpu_devices = 2});
    int calls = 0;
    const auto another = [&](auto v) { return v * tn::variable(calls++ == 0 ? "a" : "b", 1.0f); };
    CHECK_ERROR(tn::invalid_argument_error,
                "makes a variable \"b\", float[], for one device, and none of this name for the first",
                tn::model_server(sess, tn::feeds(x), another, {.devices = {"/cpu:0", "/cpu:1"}}));
}

TEST_CASE("S47: whatever clients do, each request is answered once, as it ended, and the counts add up") {
    for (unsigned seed = 0; seed < 6; ++seed) {
        const network n;
        tn::session sess({.cpu_devices = 2});
        tn::model_server server(sess, tn::feeds(n.x), [&](auto in) { return n(in); },
                                {.devices = {"/cpu:0", "/cpu:1"},
                                 .largest_batch = 6,
                                 .longest_wait = seed % 2 == 0 ? 0 : 0.0005,
                                 .capacity = 8,
                                 .wait_when_full = seed % 3 == 0});
        sess.run(tn::initialize_variables());
        const tn::array<float> w = sess.run(n.w);
        std::atomic<std::uint64_t> ok{0}, late{0}, cancelled{0}, refused{0}, invalid{0}, closed{0}, other{0};
        on_threads(4U, [&](unsigned t) {
            std::mt19937_64 random(seed * 100 + t);
            struct asked {
                decltype(server.start(rows(1, 0))) answer;
                array4 x;
            };
            std::vector<asked> all;
            const auto counted = [&](auto&& f) {
                try {
                    f();
                } catch (const tn::deadline_exceeded_error&) {
                    ++late;
                } catch (const tn::cancelled_error&) {
                    ++cancelled;
                } catch (const tn::resource_exhausted_error&) {
                    ++refused;
                } catch (const tn::invalid_argument_error&) {
                    ++invalid;
                } catch (const tn::failed_precondition_error&) {
                    ++closed;
                } catch (const tn::error&) {
                    ++other;
                }
            };
            for (int i = 0; i < 150; ++i) {
                const auto count = static_cast<std::int64_t>(1 + random() % 7); // 7 are too many
                const double limit = random() % 3 == 0 ? 1e-4 * static_cast<double>(random() % 10) : 0;
                counted([&] {
                    array4 x = rows(count, static_cast<float>(i) / 16 - 4);
                    auto a = server.start_for(limit, x);
                    if (random() % 8 == 0) a.stop();
                    all.push_back({std::move(a), std::move(x)});
                });
                if (t == 0 && seed >= 4 && i == 100) (void)server.close(0);
            }
            for (const asked& a : all)
                counted([&] {
                    const auto [y] = a.answer.get();
                    for (std::int64_t r = 0; r < y.extent(0); ++r)
                        for (std::int64_t c = 0; c < 3; ++c)
                            if (std::abs(static_cast<double>(y(r, c)) - expected(a.x, w, r, c)) > 1e-4) ++other;
                    ++ok;
                });
        });
        CHECK(server.close(60)); // batches of which all were late are still computed
        const tn::serving_metrics m = server.metrics();
        CAPTURE(seed);
        CHECK(other == 0);
        CHECK(ok + late + cancelled + refused + invalid + closed == 600);
        CHECK(m.answered == ok);
        CHECK(m.late == late);
        CHECK(m.cancelled == cancelled);
        CHECK(m.refused == refused);
        CHECK(m.invalid == invalid);
        CHECK(m.failed == 0);
        CHECK(m.waiting == 0);
        CHECK(m.computing == 0);
        CHECK(m.latency.count() == ok);
    }
}
