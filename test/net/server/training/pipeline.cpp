#include <net/server/servers.hpp>

#include "runtime/place/crossing_lists.hpp"
#include "ops/untyped_run.hpp"

// Networks split over the tasks of a cluster (SEMANTICS 43).

using probe::said_and_seen;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

template <int Columns> tn::array<double, tn::shape<tn::dyn, Columns>> numbers(std::int64_t rows, int seed) {
    tn::array<double, tn::shape<tn::dyn, Columns>> a(rows);
    for (std::int64_t i = 0; i < rows * Columns; ++i)
        a.data()[i] = std::sin(static_cast<double>(12 * i + 7 * seed + 1));
    return a;
}

constexpr auto squared_error = [](const auto& y, const auto& wanted) { return tn::nn::mean_squared_error(y, wanted); };

} // namespace

TEST_CASE("S43: a pipeline over two tasks of a cluster has the whole batch's gradients, and says what crosses") {
    net_test::servers all(1, 2);
    for (const tn::pipeline_schedule schedule : {tn::all_forward_then_backward, tn::one_forward_one_backward}) {
        const own_graph g;
        const auto x = tn::placeholder<double, tn::shape<batch, 7>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
        const auto first = tn::nn::dense<9>(tn::nn::tanh);
        const auto second = tn::nn::dense<3>();
        const auto pipe = tn::pipeline({.micro_batches = 4, .schedule = schedule},
                                       tn::stage("/job:worker/task:0", first), tn::stage("/job:worker/task:1", second));
        const auto made = pipe.compute_gradients(squared_error, x, y);
        const auto loss = squared_error(second(first(x)), y);
        const auto whole = tn::optimizer::compute_gradients(loss);
        const auto train = tn::gradient_descent(0.1).apply_gradients(made.gradients, {.advance_global_step = false});
        initialized_session s(all.target("worker", 0), g);
        REQUIRE(made.gradients.size() == 4);
        REQUIRE(whole.size() == 4);
        std::map<std::string, tn::any_tensor> expected;
        for (const auto& p : whole) expected[p.variable.name()] = p.gradient;
        std::vector<tn::any_tensor> fetched{made.loss, loss};
        for (const auto& p : made.gradients) {
            fetched.push_back(p.gradient);
            fetched.push_back(expected.at(p.variable.name()));
        }
        const auto xs = numbers<7>(16, 1);
        const auto ys = numbers<3>(16, 2);
        std::vector<tn::fed_value> fed;
        fed.push_back({x, xs.untyped().copy()});
        fed.push_back({y, ys.untyped().copy()});
        const auto got = s.run_untyped(std::move(fed), fetched);
        for (std::size_t i = 0; i < got.size(); i += 2) CHECK(all_close(got[i], got[i + 1], 0, 1e-12));

        const auto crossed = said_and_seen(s, 2, tn::feed(x, xs), tn::feed(y, ys), train);
        CHECK(crossed.said == crossed.seen);
        CHECK(crossed.steps_seen == 2);
        // For each micro-batch of 4 rows the activations, their gradients, and the labels, which are fed to worker 0.
        CHECK(probe::total(crossed.said) == 16 * (9 + 9 + 3) * 8);
        CHECK(crossed.said.size() == 4 * 3);
        for (const auto& e : crossed.said) CHECK(e.from != e.to);
    }
}

TEST_CASE_FIXTURE(in_graph, "S43: what is refused in a pipeline's step on a cluster changes nothing") {
    net_test::servers all(1, 2);
    const auto x = tn::placeholder<double, tn::shape<batch, 7>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
    const auto pipe =
        tn::pipeline({.micro_batches = 4}, tn::stage("/job:worker/task:0", tn::nn::dense<9>(tn::nn::tanh)),
                     tn::stage("/job:worker/task:1", tn::nn::dense<3>()));
    const auto [train, loss] = pipe.minimize(tn::momentum(0.1), squared_error, x, y);
    initialized_session s(all.target("worker", 0), g);
    const auto before = s.run_untyped({}, g.collection(tn::global_variables));
    const std::string words = message_of<tn::invalid_argument_error>(
        [&] { s.run(tn::feed(x, numbers<7>(10, 1)), tn::feed(y, numbers<3>(10, 1)), train); });
    CHECK(contains(words, "[10, 7]"));
    CHECK(contains(words, "4_micro_batches"));
    const auto after = s.run_untyped({}, g.collection(tn::global_variables));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(all_close(before[i], after[i], 0, 0));
    s.run(tn::feed(x, numbers<7>(8, 1)), tn::feed(y, numbers<3>(8, 1)), train);
}

TEST_CASE("S43: what a pipeline takes of each task of a cluster is known before its first step, and is less by 1F1B") {
    net_test::servers all(1, 2);
    std::map<tn::pipeline_schedule, std::vector<std::size_t>> peaks;
    for (const tn::pipeline_schedule schedule : {tn::all_forward_then_backward, tn::one_forward_one_backward}) {
        const own_graph g;
        const auto x = tn::placeholder<double, tn::shape<batch, 16>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 16>>("y");
        const auto half = [] {
            return tn::nn::sequential(tn::nn::dense<48>(tn::nn::tanh), tn::nn::dense<16>(tn::nn::tanh));
        };
        const auto pipe =
            tn::pipeline({.micro_batches = 8, .schedule = schedule}, tn::stage("/job:worker/task:0", half()),
                         tn::stage("/job:worker/task:1", half()));
        const auto [train, loss] = pipe.minimize(tn::gradient_descent(0.1), squared_error, x, y);
        initialized_session s(all.target("worker", 0), g);
        for (const tn::device_report& d :
             pipe.memory(s.report(tn::feed(x, numbers<16>(8 * 32, 1)), tn::feed(y, numbers<16>(8 * 32, 2)), train)))
            peaks[schedule].push_back(d.peak_bytes);
        s.run(tn::feed(x, numbers<16>(8 * 32, 1)), tn::feed(y, numbers<16>(8 * 32, 2)), train);
    }
    const auto& gpipe = peaks[tn::all_forward_then_backward];
    const auto& flush = peaks[tn::one_forward_one_backward];
    REQUIRE(gpipe.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(flush[i] > 0);
        CHECK(flush[i] < gpipe[i]);
    }
}

TEST_CASE("S43: a layer split over two tasks of a cluster has the numbers of the whole; its bytes are those that one "
          "counts") {
    net_test::servers all(1, 2);
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<batch, 6>>("x");
    const auto layer = tn::nn::parallel_mlp<8, 4>({"/job:worker/task:0", "/job:worker/task:1"}, tn::nn::tanh);
    const auto y = layer(x);
    const auto loss = tn::on("/job:worker/task:0", [&] { return tn::mean(tn::square(y)); });
    const auto gradients = tn::optimizer::compute_gradients(loss);
    const auto train = tn::gradient_descent(0.1).apply_gradients(gradients, {.advance_global_step = false});
    // The same of the parts that the tasks hold, joined.
    const auto& columns = layer.columns();
    const auto& rows = layer.rows();
    const tn::any_tensor w1 = tn::untyped::concat(columns.kernel(), 1), b1 = tn::untyped::concat(columns.bias(), 0),
                         w2 = tn::untyped::concat(rows.kernel(), 0);
    const tn::any_tensor whole =
        tn::untyped::matmul(tn::untyped::tanh(tn::untyped::matmul(x, w1) + b1), w2) + rows.bias();
    const auto wanted = tn::optimizer::compute_gradients(tn::untyped::mean(tn::untyped::square(whole)));
    initialized_session s(all.target("worker", 0), g);
    REQUIRE(gradients.size() == 7);
    REQUIRE(wanted.size() == 7);
    std::vector<tn::any_tensor> fetched{y, whole};
    for (std::size_t i = 0; i < 7; ++i) {
        CHECK(gradients[i].variable.name() == wanted[i].variable.name());
        fetched.push_back(gradients[i].gradient);
        fetched.push_back(wanted[i].gradient);
    }
    const auto xs = numbers<6>(10, 1);
    const auto got = s.run_untyped(tn::test::fed(x, xs.untyped()), fetched);
    for (std::size_t i = 0; i < got.size(); i += 2) CHECK(all_close(got[i], got[i + 1], 0, 1e-12));
    const auto crossed = said_and_seen(s, 2, tn::feed(x, xs), train);
    CHECK(crossed.said == crossed.seen);
    // x to the second task; its product back, and the gradient of that.
    CHECK(probe::total(crossed.said) == (10 * 6 + 10 * 4 + 10 * 4) * 8);
}
