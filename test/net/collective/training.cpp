#include <future>

#include <net/collective/each_worker.hpp>
#include <net/server/servers.hpp>
#include <tenon/ops/collective/collective.hpp>

#include "tests.hpp"
#include "joint_training.hpp"

// Tasks that train together, each with a session of its own; here they are threads of one process, each with a server and a graph.

using joint_training::inputs, joint_training::loss_of, joint_training::outputs, joint_training::same_bits,
    joint_training::train, joint_training::trained;
using net_test::servers;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

std::vector<std::string> each_worker(servers& s, int n, const std::function<void(int, const group&)>& body) {
    return ::each_worker(
        n, "worker seen by", [&](int rank) -> tn::server& { return s.at("worker", rank); }, body);
}

constexpr int hidden = 300;

struct problem {
    own_graph graph;
    tn::tensor<float, tn::shape<batch, inputs>> x = tn::placeholder<float, tn::shape<batch, inputs>>("x");
    tn::tensor<float, tn::shape<batch, outputs>> y = tn::placeholder<float, tn::shape<batch, outputs>>("y");
    tn::tensor<std::int32_t, tn::shape<batch>> at = tn::placeholder<std::int32_t, tn::shape<batch>>("at");
};

trained train_alone(int steps) {
    problem p;
    const auto loss = loss_of<hidden>(p.x, p.at, p.y);
    const tn::operation step = tn::momentum(0.05, 0.9).minimize(loss);
    tn::session s;
    return train(s, p.x, p.at, p.y, step, loss, steps, 0, 30);
}

trained train_together(const group& g, int steps, int begin, int end, std::int64_t bucket, int devices = 1,
                       const std::optional<tn::quantized_gradients>& compression = {}) {
    problem p;
    std::vector<tn::device_name> names;
    for (int d = 0; d < devices; ++d) names.emplace_back("/cpu:" + std::to_string(d));
    tn::mirrored_strategy mirrored(g, names);
    mirrored.set_bucket_bytes(bucket);
    if (compression) mirrored.set_compression(*compression);
    const auto losses = mirrored.run([&](auto x, auto at, auto y) { return loss_of<hidden>(x, at, y); },
                                     mirrored.distribute(p.x), mirrored.distribute(p.at), mirrored.distribute(p.y));
    const auto [step, loss] = mirrored.minimize(tn::momentum(0.05, 0.9), losses);
    tn::session s(tn::session_options{.cpu_devices = devices});
    return train(s, p.x, p.at, p.y, step, loss, steps, begin, end);
}

void check_close(const trained& a, const trained& b) { joint_training::check_close(a, b, 1e-5, 1e-4); }

} // namespace

TEST_CASE("SEMANTICS 44: tasks that train together give what one gives for the joined batch, the same bits on each, in "
          "each run") {
    const trained alone = train_alone(6);
    for (const int n : {2, 3})
        for (const std::int64_t bucket : {std::int64_t{0}, std::int64_t{2000}, std::int64_t{1} << 20}) {
            CAPTURE(n);
            CAPTURE(bucket);
            std::vector<trained> results[2];
            for (auto& r : results) {
                r.resize(static_cast<std::size_t>(n));
                servers s(1, n);
                // Parts of different sizes: 30 rows as 12 and 18, or 4, 10 and 16.
                const auto border = [&](int k) { return k == 0 ? 0 : k == n ? 30 : n == 2 ? 12 : k == 1 ? 4 : 14; };
                for (const std::string& said : each_worker(s, n, [&](int rank, const group&g) {
                         r[static_cast<std::size_t>(rank)] =
                             train_together(g, 6, border(rank), border(rank + 1), bucket);
                     }))
                    CHECK(said == "");
            }
            for (int rank = 0; rank < n; ++rank) {
                const auto k = static_cast<std::size_t>(rank);
                check_close(results[0][k], alone);
                CHECK(same_bits(results[0][k], results[0][0]));
                CHECK(same_bits(results[0][k], results[1][k]));
            }
        }
}

TEST_CASE("8 bits between processes: the same bits on each, in each run, near what one gives for the joined batch; two "
          "send each "
          "other their integers, five add them up") {
    const trained alone = train_alone(8);
    for (const int n : {2, 5}) {
        CAPTURE(n);
        std::vector<trained> results[2];
        for (auto& r : results) {
            r.resize(static_cast<std::size_t>(n));
            servers s(1, n);
            for (const std::string& said : each_worker(s, n, [&](int rank, const group&g) {
                     const int each = 30 / n; // one has more, and weighs more
                     r[static_cast<std::size_t>(rank)] =
                         train_together(g, 8, rank * each, rank == n - 1 ? 30 : rank * each + each, 1 << 20, 1,
                                        tn::quantized_gradients{.block = 64, .least_elements = 100});
                 }))
                CHECK(said == "");
        }
        for (std::size_t k = 0; k < results[0].size(); ++k) {
            CHECK(same_bits(results[0][k], results[0][0]));
            CHECK(same_bits(results[0][k], results[1][k]));
        }
        joint_training::check_close(results[0][0], alone, 0.02, 0.05);
        CHECK_FALSE(same_bits(results[0][0], alone)); // they were rounded
    }
}

TEST_CASE("error feedback between processes: steady gradients add up to what they are, however coarse the integers") {
    servers s(1, 2);
    std::vector<double> worst(2);
    for (const std::string& said : each_worker(s, 2, [&](int rank, const group&g) {
             const own_graph own;
             const auto push = tn::placeholder<double, tn::shape<batch, 64>>("push");
             tn::mirrored_strategy mirrored(g);
             mirrored.set_compression({.block = 0, .least_elements = 1});
             const auto losses = mirrored.run(
                 [&](auto part) {
                     const auto w = tn::variable<double, tn::shape<64>>("w", tn::zeros());
                     return mean(tn::sum<1>(w * part));
                 },
                 mirrored.distribute(push));
             const auto [step, loss] = mirrored.minimize(tn::gradient_descent(1), losses);
             initialized_session sess;
             // One large element, whose scale rounds all others to zero; both processes see them.
             tn::array<double, tn::shape<batch, 64>> row(1);
             for (int i = 0; i < 64; ++i) row(0, i) = i == 0 ? 1000 : 0.01 * (i + rank);
             for (int i = 0; i < 3000; ++i) sess.run(tn::feed(push, row), step);
             const tn::any_array w = std::move(sess.run_untyped({}, own.collection(tn::trainable_variables))[0]);
             for (int i = 1; i < 64; ++i) {
                 const double all = -3000 * 0.01 * (i + 0.5); // the mean of both
                 worst[static_cast<std::size_t>(rank)] =
                     std::max(worst[static_cast<std::size_t>(rank)], std::abs(w.data<double>()[i] - all));
             }
         }))
        CHECK(said == "");
    // What is left is half a scale of each process: 500 / 127 / 2 twice.
    CHECK(worst[0] <= 500.0 / 127 * (1 + 1e-9));
    CHECK(worst[0] == worst[1]);
}

TEST_CASE("SEMANTICS 44: each of several tasks may have several devices") {
    const trained alone = train_alone(4);
    servers s(1, 2);
    std::vector<trained> r(2);
    for (const std::string& said : each_worker(s, 2, [&](int rank, const group&g) {
             r[static_cast<std::size_t>(rank)] = train_together(g, 4, rank * 15, rank * 15 + 15, 1 << 20, 2);
         }))
        CHECK(said == "");
    check_close(r[0], alone);
    CHECK(same_bits(r[0], r[1]));
}

TEST_CASE("a strategy says which way its processes are joined, and why") {
    servers s(1, 2);
    for (const std::string& said : each_worker(s, 2, [&](int rank, const group&g) {
             const tn::mirrored_strategy mirrored(g);
             CHECK(mirrored.explained() ==
                   "1 device of this process; 2 processes, by Tenon's links between the 2 tasks of worker, of "
                   "which this is /job:worker/task:" +
                       std::to_string(rank));
         }))
        CHECK(said == "");
    CHECK(tn::mirrored_strategy(std::vector<tn::device_name>{tn::device_name("/cpu:0")}).explained() ==
          "1 device of this process; no other process takes part");
}

TEST_CASE("variables that are random without a seed begin equal in all processes") {
    servers s(1, 3);
    std::vector<tn::any_array> inside(3), outside(3);
    for (const std::string& said : each_worker(s, 3, [&](int rank, const group&g) {
             const own_graph own;
             tn::graph(own).set_seed(static_cast<std::uint64_t>(100 + rank));
             const auto layer = tn::nn::dense<4>();
             const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
             tn::mirrored_strategy mirrored(g);
             const auto made = mirrored.run(
                 [&](auto part) {
                     const auto w = tn::variable<float, tn::shape<3, 4>>("w", tn::normal(0, 1));
                     return matmul(part, w) + layer(part);
                 },
                 mirrored.distribute(x));
             (void)made;
             initialized_session sess;
             auto values = sess.run_untyped({}, own.collection(tn::global_variables));
             REQUIRE(values.size() >= 2);
             const auto at = static_cast<std::size_t>(rank);
             inside[at] = std::move(values[0]);
             outside[at] = std::move(values[1]);
         }))
        CHECK(said == "");
    for (const std::size_t r : {1u, 2u}) {
        CHECK(inside[r] == inside[0]);
        CHECK(outside[r] == outside[0]);
    }
}

TEST_CASE("a step ends at its limit, and says who has not come to which collective; then all are told") {
    servers s(1, 2);
    std::promise<void> late;
    const auto said = each_worker(s, 2, [&](int rank, const group& g) {
        const own_graph own;
        const auto x = tn::constant({1.0f, 2.0f, 3.0f});
        const tn::any_tensor sum = tn::add_collective(g, tn::collective_kind::sum, x, {}, "total");
        tn::session sess;
        if (rank == 1) late.get_future().wait();
        try {
            (void)sess.run_for(rank == 0 ? 0.3 : 60, sum);
            // Rank 0 had said its value: where its end comes later than this process, that sum is whole, and the next one is not.
            (void)sess.run_for(60, sum);
        } catch (...) {
            if (rank == 0) late.set_value();
            throw;
        }
    });
    CHECK(contains(
        said[0], "it was waiting for sum total (float[3]), number 1 of group worker seen by 0; /job:worker/task:1 ("));
    CHECK(contains(said[0], "has not come to it"));
    CHECK(contains(said[1], "/job:worker/task:0 ("));
    CHECK(contains(said[1], "has stopped a step in sum total"));
}

TEST_CASE("a step that fails between its collectives ends the others' with its name") {
    servers s(1, 2);
    const auto said = each_worker(s, 2, [&](int rank, const group& g) {
        const own_graph own;
        const auto x = tn::placeholder<float, tn::shape<3>>("x");
        const tn::any_tensor first = tn::add_collective(g, tn::collective_kind::sum, x, {}, "first");
        const auto index = tn::placeholder<std::int32_t, tn::shape<1>>("index");
        const auto row = gather(tn::as<float, tn::shape<3>>(first), index); // out of range on rank 1
        const tn::any_tensor second = tn::add_collective(g, tn::collective_kind::sum, row, {}, "second");
        tn::session sess;
        (void)sess.run(tn::feed(x, {1.0f, 2.0f, 3.0f}), tn::feed(index, {rank == 0 ? 0 : 9}), second);
    });
    CHECK(contains(said[1], "9"));
    CHECK(contains(said[0], "/job:worker/task:1 ("));
    CHECK(contains(said[0], "has failed in a step"));
}

TEST_CASE("a task that is lost ends the steps of all with its name, within the lease") {
    servers s(1, 3);
    std::promise<void> there;
    std::atomic<int> begun{0};
    const auto said = each_worker(s, 3, [&](int rank, const group& g) {
        const own_graph own;
        const tn::any_tensor sum =
            tn::add_collective(g, tn::collective_kind::sum, tn::constant({1.0f, 2.0f, 3.0f}), {}, "total");
        tn::session sess;
        (void)sess.run(sum);
        if (++begun == 3) there.set_value();
        if (rank == 2) {
            there.get_future().wait();
            s.stop("worker", 2);
            return;
        }
        for (;;) (void)sess.run(sum);
    });
    CHECK(said[2] == "");
    for (const std::size_t r : {0u, 1u}) {
        CAPTURE(said[r]);
        CHECK(contains(said[r], "/job:worker/task:2 ("));
    }
}

TEST_CASE("a group whose tasks do not all come names those that are missing") {
    servers s(1, 2);
    s.stop("worker", 1);
    const std::string said =
        message_of<tn::deadline_exceeded_error>([&] { (void)s.at("worker", 0).processes({}, 0.3); });
    CHECK_MESSAGE(contains(said, "not all of its 2 processes were reached within 0.3 s"), said);
    CHECK_MESSAGE(contains(said, "/job:worker/task:1"), said);
    CHECK_THROWS_AS(s.at("worker", 0).processes({"ps"}, 0.1), tn::invalid_argument_error);
}
