#if defined(TENON_WITH_NCCL)

// Processes that train together, each on a GPU of its own: NCCL sums their gradients. Here they are threads of one process, each with a
// server, a graph and a session.

#include <barrier>
#include <future>

#include <net/collective/each_worker.hpp>
#include <net/server/free_ports.hpp>
#include <tenon/net/net.hpp>
#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/collective/device_collective.hpp>
#include <tenon/resources/collective/process_sums.hpp>

#include "emulator/control.hpp"
#include "emulator/libraries/nccl.hpp"
#include "joint_training.hpp"
#include "ops/untyped_run.hpp"
#include "process_values.hpp"
#include "summed_cards.hpp"

using namespace all_reduce_test;
using joint_training::inputs, joint_training::loss_of, joint_training::outputs, joint_training::same_bits,
    joint_training::trained;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

using tn::emulator::nccl::fail;

// Tasks of one job.
struct tasks {
    explicit tasks(int n) {
        const tn::cluster cluster({{"worker", free_addresses(n)}});
        tn::server_options o{.heartbeat = 0.2, .lease = 1};
        for (int i = 0; i < n; ++i) up.push_back(std::make_unique<tn::server>(cluster, "worker", i, o));
    }
    // body(rank, group) of each, on a thread of its own; what each throws.
    std::vector<std::string> each(const std::function<void(int, const group&)>& body) {
        const auto server = [&](int rank) -> tn::server& { return *up[static_cast<std::size_t>(rank)]; };
        return each_worker(static_cast<int>(up.size()), "seen by", server, [&](int rank, const group& g) {
            const own_graph own;
            body(rank, g);
        });
    }
    std::vector<std::unique_ptr<tn::server>> up;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
std::string name_of(int rank) { return "/job:worker/task:" + std::to_string(rank) + " ("; }

void check_close(const trained& a, const trained& b) { joint_training::check_close(a, b, 1e-4, 1e-3); }

constexpr int hidden = 30;
constexpr int dense_variables = 4;

// A model with a table, whose gradient is sparse, and others; rows [begin, end) of each step's batch. No group: one device has all.
trained train(const group& g, const std::vector<tn::device_name>& on, int steps, int begin, int end,
              std::int64_t bucket, const std::function<void(int)>& before_step = {}) {
    const auto x = tn::placeholder<float, tn::shape<batch, inputs>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch, outputs>>("y");
    const auto at = tn::placeholder<std::int32_t, tn::shape<batch>>("at");
    tn::mirrored_strategy mirrored(g, on);
    mirrored.set_bucket_bytes(bucket);
    const auto losses = mirrored.run([&](auto a, auto b, auto c) { return loss_of<hidden>(a, b, c); },
                                     mirrored.distribute(x), mirrored.distribute(at), mirrored.distribute(y));
    const auto [step, loss] = mirrored.minimize(tn::momentum(0.05, 0.9), losses);
    tn::session s;
    trained t = joint_training::train(s, x, at, y, step, loss, steps, begin, end, before_step);
    t.explained = mirrored.explained();
    return t;
}
trained train_alone(int steps) {
    const own_graph own;
    return train(nullptr, {tn::device_name("/cpu:0")}, steps, 0, 30, 0);
}

// x of the step, summed over GPUs: what a test of errors asks for.
struct summed {
    explicit summed(const group& g, int rank, std::int64_t elements = 3) :
        chosen(tn::choose_process_sums(g, gpu(rank))) {
        REQUIRE(chosen.by);
        const tn::device_scope on(gpu(rank));
        x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(elements));
        value =
            tn::add_device_collective(g, chosen.name, tn::collective_kind::sum, tn::untyped::identity(x), {}, "total");
        fed = values_of(tn::element_type::float32, tn::extents(elements), rank);
    }
    std::vector<tn::fed_value> given() const { return tn::test::fed(x, fed); }
    std::vector<tn::any_array> run(double seconds) const {
        tn::session_options o{.operation_timeout = seconds};
        tn::session sess(o);
        return sess.run_untyped(given(), {value});
    }
    tn::chosen_process_sums chosen;
    tn::any_tensor x, value;
    tn::any_array fed;
};

} // namespace

TEST_CASE("SEMANTICS 44: sums and means over GPUs of several processes are those, the same bits on each; one without "
          "rows counts "
          "for nothing") {
    for (const int n : {2, 3}) {
        const machine m(n);
        tasks t(n);
        struct asked {
            tn::collective_kind kind;
            tn::element_type element;
            tn::extents sizes;
        };
        std::vector<asked> all;
        for (const auto kind : {tn::collective_kind::sum, tn::collective_kind::mean})
            for (const auto element : {tn::element_type::float32, tn::element_type::float64, tn::element_type::float16,
                                       tn::element_type::bfloat16})
                for (const tn::extents& sizes : {tn::extents{}, tn::extents(0), tn::extents(70, 3)})
                    all.push_back({kind, element, sizes});
        std::vector<std::vector<tn::any_array>> got(static_cast<std::size_t>(n));
        constexpr int steps = 3;
        for (const std::string& said : t.each([&](int rank, const group&g) {
                 const tn::chosen_process_sums chosen = tn::choose_process_sums(g, gpu(rank));
                 CHECK(chosen.explained == "gradients on GPUs by NCCL");
                 REQUIRE(chosen.by);
                 const tn::any_tensor rows = tn::untyped::placeholder(tn::element_type::float32, tn::extents(2 * rank));
                 std::vector<tn::any_tensor> sums;
                 std::vector<tn::any_tensor> fed;
                 for (const asked& a : all) {
                     const tn::device_scope on(gpu(rank));
                     fed.push_back(tn::untyped::placeholder(a.element, a.sizes));
                     sums.push_back(
                         tn::add_device_collective(g, chosen.name, a.kind, tn::untyped::identity(fed.back()),
                                                   a.kind == tn::collective_kind::mean ? rows : tn::any_tensor()));
                 }
                 tn::session s;
                 for (int step = 0; step < steps; ++step) {
                     std::vector<tn::fed_value> f;
                     f.push_back({rows, values_of(tn::element_type::float32, tn::extents(2 * rank), 0)});
                     for (std::size_t k = 0; k < all.size(); ++k) {
                         const bool of_no_rows = rank == 0 && all[k].kind == tn::collective_kind::mean;
                         f.push_back(
                             {fed[k], values_of(all[k].element, all[k].sizes, of_no_rows ? -1 : rank + 10 * step)});
                     }
                     got[static_cast<std::size_t>(rank)] = s.run_untyped(std::move(f), sums);
                 }
             }))
            CHECK(said == "");
        for (std::size_t k = 0; k < all.size(); ++k) {
            const asked& a = all[k];
            CAPTURE(k);
            double weights = 0;
            for (int r = 0; r < n; ++r) weights += 2 * r;
            for (std::int64_t i = 0; i < a.sizes.elements(); ++i) {
                double wanted = 0;
                for (int r = 0; r < n; ++r)
                    wanted += number_at(values_of(a.element, a.sizes, r + 10 * (steps - 1)), i) *
                              (a.kind == tn::collective_kind::mean ? 2 * r / weights : 1);
                const double exact = a.element == tn::element_type::float64   ? 1e-12
                                     : a.element == tn::element_type::float32 ? 1e-6
                                                                              : 2e-2;
                REQUIRE(number_at(got[0][k], i) == doctest::Approx(wanted).epsilon(exact).scale(1));
            }
            for (const auto& other : got) CHECK(std::memcmp(other[k].data(), got[0][k].data(), got[0][k].bytes()) == 0);
        }
        CHECK(*m.sums_by_nccl() == steps * all.size() / 3 * 2); // what has no elements needs none
    }
}

TEST_CASE("SEMANTICS 44: processes with a GPU each that train together give what one device gives, the same bits on "
          "each, in any order of streams") {
    const trained alone = train_alone(5);
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (const std::int64_t bucket : {std::int64_t{0}, std::int64_t{1} << 20}) {
            CAPTURE(seed);
            CAPTURE(bucket);
            const machine m(2);
            tn::emulator::seed(seed);
            const tn::emulator::counts before = tn::emulator::count();
            std::vector<trained> r(2);
            std::optional<tasks> t(2);
            for (const std::string& said : t->each([&](int rank, const group&g) {
                     r[static_cast<std::size_t>(rank)] =
                         train(g, {gpu(rank)}, 5, rank == 0 ? 0 : 12, rank == 0 ? 12 : 30, bucket);
                 }))
                CHECK(said == "");
            CHECK(has(r[0].explained, "; gradients on GPUs by NCCL"));
            check_close(r[0], alone);
            CHECK(same_bits(r[0], r[1]));
            CHECK(*m.sums_by_nccl() == 5 * (bucket == 0 ? dense_variables : 1));
            t.reset();
            const tn::emulator::counts after = tn::emulator::count();
            CHECK(after.device_allocations == before.device_allocations);
            CHECK(after.streams == before.streams);
            CHECK(after.events == before.events);
        }
}

TEST_CASE("SEMANTICS 44: each of several processes may have several GPUs") {
    const trained alone = train_alone(4);
    const machine m(4);
    tasks t(2);
    std::vector<trained> r(2);
    for (const std::string& said : t.each([&](int rank, const group&g) {
             r[static_cast<std::size_t>(rank)] =
                 train(g, {gpu(2 * rank), gpu(2 * rank + 1)}, 4, 14 * rank, 14 + 16 * rank, 1 << 20);
         }))
        CHECK(said == "");
    check_close(r[0], alone);
    CHECK(same_bits(r[0], r[1]));
}

TEST_CASE("strategies of one group sum side by side, each by itself") {
    const machine m(4);
    tasks t(2);
    for (const std::string& said : t.each([&](int rank, const group&g) {
             const summed first(g, rank), second(g, 2 + rank);
             for (int i = 0; i < 2; ++i)
                 for (const summed* s : {&first, &second}) {
                     const auto got = s->run(60);
                     const auto a = values_of(tn::element_type::float32, tn::extents(3), s == &first ? 0 : 2),
                                b = values_of(tn::element_type::float32, tn::extents(3), s == &first ? 1 : 3);
                     for (int k = 0; k < 3; ++k)
                         CHECK(got[0].data<float>()[k] ==
                               doctest::Approx(a.data<float>()[k] + b.data<float>()[k]).epsilon(1e-6).scale(1));
                 }
         }))
        CHECK(said == "");
    CHECK(*m.sums_by_nccl() == 4);
}

TEST_CASE("a gradient that NCCL sums does not go by way of the host") {
    const machine m(2);
    tasks t(2);
    constexpr int steps = 4;
    std::size_t counted[2] = {};
    std::barrier both(2);
    for (const std::string& said : t.each([&](int rank, const group&g) {
             (void)train(g, {gpu(rank)}, steps, 15 * rank, 15 * rank + 15, 0, [&](int step) {
                 if (step != 1 && step != steps) return;
                 both.arrive_and_wait();
                 if (rank == 0) {
                     const std::string bytes = std::to_string(inputs * hidden * sizeof(float)); // of no other value
                     for (const tn::emulator::call& c : tn::emulator::calls())
                         counted[step == steps] += c.name == "cudaMemcpyAsync" && c.detail == bytes;
                 }
                 both.arrive_and_wait();
             });
         }))
        CHECK(said == "");
    CHECK(counted[1] - counted[0] == (steps - 1) * 2 * 2); // each process keeps it, and reads what it has become
}

TEST_CASE("one has not come: the step ends at its limit and says who; then all are told") {
    const machine m(2);
    tasks t(2);
    std::promise<void> late;
    const auto said = t.each([&](int rank, const group& g) {
        const summed s(g, rank);
        if (rank == 1) late.get_future().wait();
        try {
            (void)s.run(rank == 0 ? 0.5 : 60);
        } catch (...) {
            if (rank == 0) late.set_value();
            throw;
        }
    });
    CHECK_MESSAGE(
        has(said[0],
            "sum of weights for sum total on GPUs, float[3] (double[]), number 2 of group seen by 0; " + name_of(1)),
        said[0]);
    CHECK_MESSAGE(has(said[1], name_of(0)), said[1]);
    CHECK_MESSAGE(has(said[1], "has stopped a step in sum of weights for sum total on GPUs"), said[1]);
    CHECK(*m.sums_by_nccl() == 0);
}

TEST_CASE("a step that is stopped while GPUs sum ends all: no stream is left waiting, and all are told by whom") {
    for (const char* stuck : {"ncclCommGetAsyncError", "ncclAllReduce"}) {
        CAPTURE(stuck);
        const machine m(2);
        tasks t(2);
        std::atomic<int> begun{0};
        const auto said = t.each([&](int rank, const group& g) {
            const summed s(g, rank);
            if (std::string(stuck) ==
                "ncclAllReduce") { // of one only, which looks for who is lost; the other one's stream waits
                (void)s.run(60);
                if (++begun == 2) fail(stuck, ncclSystemError, 0, 1);
                while (begun < 2) std::this_thread::yield();
            } else fail(stuck, ncclInProgress);
            (void)s.run(rank == 0 ? 2 : 60);
        });
        CHECK_MESSAGE(
            has(said[0],
                "sum total on GPUs, float[3] of group seen by 0, to which all have come: the GPUs have not summed it"),
            said[0]);
        CHECK_MESSAGE(has(said[1], name_of(0)), said[1]);
        CHECK_MESSAGE(has(said[1], "has stopped a step in"), said[1]);
    }
}

TEST_CASE(
    "what NCCL refuses one process ends all, with its name; the other one's stream, which waits for it, is freed") {
    const machine m(2);
    tasks t(2);
    std::atomic<int> begun{0};
    const auto said = t.each([&](int rank, const group& g) {
        const summed s(g, rank);
        (void)s.run(60);
        if (++begun == 2) fail("ncclAllReduce", ncclInternalError, 0, 1);
        while (begun < 2) std::this_thread::yield();
        (void)s.run(60);
    });
    const std::size_t refused = has(said[0], name_of(0)) || has(said[1], name_of(0)) ? 0 : 1;
    CHECK_MESSAGE(has(said[refused], "ncclAllReduce, for float[3] on card "), said[refused]);
    CHECK_MESSAGE(has(said[refused], "internal error"), said[refused]);
    CHECK_MESSAGE(has(said[1 - refused], name_of(static_cast<int>(refused))), said[1 - refused]);
    for (const std::string& text : t.each([&](int rank, const group&g) { (void)summed(g, rank).run(60); }))
        CHECK(text == ""); // a new group begins anew
}

TEST_CASE("a task that is lost ends the steps of all with its name, and what its GPU's partners wait for") {
    const machine m(3);
    tasks t(3);
    std::barrier all(3);
    const auto said = t.each([&](int rank, const group& g) {
        const summed s(g, rank, 5000);
        (void)s.run(60);
        all.arrive_and_wait();
        if (rank == 2) {
            (void)t.up[2]->stop(0);
            return;
        }
        for (;;) (void)s.run(60);
    });
    CHECK(said[2] == "");
    for (const std::size_t r : {0u, 1u}) CHECK_MESSAGE(has(said[r], name_of(2)), said[r]);
}

TEST_CASE("a step that fails behind its sums ends the others', and variables keep their values") {
    const machine m(2);
    tasks t(2);
    std::vector<float> left(2);
    const auto said = t.each([&](int rank, const group& g) {
        const summed s(g, rank);
        const auto w = tn::variable<float, tn::shape<3>>("w", tn::zeros());
        const auto index = tn::placeholder<std::int32_t, tn::shape<1>>("index");
        const tn::device_scope on(gpu(rank));
        const auto moved = tn::untyped::assign_add(w, s.value);
        const auto row = gather(tn::as<float, tn::shape<3>>(s.value), index); // out of range on rank 1
        initialized_session sess;
        std::vector<tn::fed_value> f = s.given();
        tn::any_array at(tn::element_type::int32, tn::extents(1));
        at.data<std::int32_t>()[0] = rank == 0 ? 0 : 9;
        f.push_back({index, std::move(at)});
        const tn::any_tensor second =
            tn::add_collective(g, tn::collective_kind::sum, tn::any_tensor(row), {}, "second");
        try {
            (void)sess.run_untyped(std::move(f), {second, moved});
        } catch (...) {
            left[static_cast<std::size_t>(rank)] = sess.run_untyped({}, {w})[0].data<float>()[0];
            throw;
        }
    });
    CHECK_MESSAGE(has(said[1], "9"), said[1]);
    CHECK_MESSAGE(has(said[0], name_of(1)), said[0]);
    CHECK_MESSAGE(has(said[0], "has failed in a step"), said[0]);
    for (const float v : left) CHECK(v == 0);
}

TEST_CASE("processes that mean other sums all fail, and are told of both") {
    const machine m(2);
    tasks t(2);
    const auto said = t.each([&](int rank, const group& g) {
        const summed s(g, rank, 3 + rank);
        (void)s.run(60);
    });
    for (const std::string& text : said) {
        CHECK_MESSAGE(has(text, name_of(0)), text);
        CHECK_MESSAGE(has(text, "sum total on GPUs, float[3]"), text);
        CHECK_MESSAGE(has(text, "sum total on GPUs, float[4]"), text);
    }
    CHECK(*m.sums_by_nccl() == 0);
}

TEST_CASE("where NCCL cannot sum, gradients go by way of the host, and all say why") {
    const trained alone = train_alone(3);
    struct tried {
        tn::device_name on[2];
        const char* fails;
        std::string why;
    };
    for (const tried& c : std::vector<tried>{
             {{gpu(0), gpu(0)}, nullptr, "have the same card; give each process one of its own"},
             {{gpu(0), tn::device_name("/cpu:0")}, nullptr, "/device:CPU:0 is no GPU"},
             {{gpu(0), gpu(1)}, "ncclGetUniqueId", "ncclGetUniqueId, for group seen by 0: unhandled system error"}}) {
        CAPTURE(c.why);
        const machine m(2);
        if (c.fails) fail(c.fails, ncclSystemError);
        tasks t(2);
        std::vector<trained> r(2);
        const auto said = t.each([&](int rank, const group& g) {
            const auto at = static_cast<std::size_t>(rank);
            r[at] = train(g, {c.on[at]}, 3, 15 * rank, 15 * rank + 15, 0);
        });
        CHECK(*m.sums_by_nccl() == 0);
        CHECK_MESSAGE(has(r[0].explained, "; gradients on GPUs by way of the host, as "), r[0].explained);
        CHECK_MESSAGE(has(r[0].explained, c.why), r[0].explained);
        for (const std::string& text : said) CHECK(text == "");
        check_close(r[0], alone);
        if (c.on[0].type == c.on[1].type) CHECK(same_bits(r[0], r[1]));
    }
}

TEST_CASE("a GPU that one process does not have: none sums by NCCL") {
    const machine m(2);
    tasks t(2);
    for (const std::string& said : t.each([&](int rank, const group&g) {
             const auto chosen = tn::choose_process_sums(g, gpu(7 * rank));
             CHECK(!chosen.by);
             CHECK_MESSAGE(has(chosen.explained, "it has no /device:GPU:7"), chosen.explained);
         }))
        CHECK(said == "");
}

#endif
