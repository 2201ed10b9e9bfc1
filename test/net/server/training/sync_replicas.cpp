#include <chrono>

#include <net/server/servers.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"
#include "each_thread.hpp"

// Synchronous replicas over tasks (SEMANTICS 41), whose servers are stopped and started again.

namespace {

// w on ps 0 and v on ps 1, which begin alike and have gradients alike: x. So whatever happens they stay alike to the bit, unless a
// gradient is applied to one of them, or to one of them twice.
struct model {
    model(int replica, int aggregate, int total, double rate = 0.125) :
        sync(tn::gradient_descent(rate),
             {.aggregate = aggregate, .total = total, .replica = replica, .average = average}) {
        const auto dealt =
            tn::on(tn::replica_device_setter(2, {.worker_device = "/job:worker/task:" + std::to_string(replica)}));
        step.emplace(tn::global_step()); // on ps 0
        v.emplace(tn::variable<double, tn::shape<3>>("v", tn::zeros()));
        w.emplace(tn::variable<double, tn::shape<3>>("w", tn::zeros()));
        x = tn::placeholder<double, tn::shape<>>("x");
        train = sync.minimize((sum(*v) + sum(*w)) * x);
    }
    tn::tensor<double, tn::shape<3>> average_of(const tn::any_tensor& variable) const {
        return tn::tensor<double, tn::shape<3>>::unchecked(average.of(variable));
    }
    own_graph graph;
    tn::moving_average average{0.5};
    tn::sync_replicas sync;
    std::optional<tn::variable_tensor<std::int64_t, tn::shape<>>> step;
    std::optional<tn::variable_tensor<double, tn::shape<3>>> v, w;
    tn::tensor<double, tn::shape<>> x;
    tn::operation train;
};

void each_replica(int replicas, const std::function<void(int)>& f) {
    for (const std::string& said : each_thread(replicas, f)) CHECK(said == "");
}

} // namespace

TEST_CASE("S41: replicas on two workers and two parameter servers give the steps of their joined batches") {
    net_test::servers all(2, 2);
    constexpr int steps = 12;
    each_replica(2, [&](int r) {
        model m(r, 2, 2);
        CHECK(m.v->node()->device.task != m.w->node()->device.task);
        tn::monitored_session s({.target = all.target("worker", r), .is_chief = r == 0, .hooks = {m.sync.hook()}});
        double expected = 0, averaged = 0;
        for (int i = 0; i < steps; ++i) {
            CHECK(s.run(tn::feed(m.x, static_cast<double>(i + 8 * r)), m.train, m.sync.counted()).item());
            expected -= 0.125 * (i + 4);
            averaged += 0.5 * (expected - averaged);
        }
        auto [w, v, n, w_average, v_average] =
            s.session().run(*m.w, *m.v, *m.step, m.average_of(*m.w), m.average_of(*m.v));
        CHECK(n.item() == steps);
        for (int k = 0; k < 3; ++k) { // numbers with few bits: exact
            CHECK((w(k) == expected && v(k) == expected));
            CHECK((w_average(k) == averaged && v_average(k) == averaged));
        }
        s.close();
    });
}

TEST_CASE("S28, 41: a worker that goes, whoever it is, stops nobody; the others' steps are those of two") {
    for (const int goes : {0, 1, 2}) {
        CAPTURE(goes);
        net_test::servers all(2, 3);
        constexpr int steps = 30;
        std::atomic<int> at{0};
        each_replica(3, [&](int r) {
            model m(r, 2, 3);
            tn::monitored_session s({.target = all.target("worker", r),
                                     .is_chief = r == 0,
                                     .chief_lease = 1,
                                     .recovery_timeout = 0,
                                     .hooks = {m.sync.hook(), tn::stop_at_step(steps)}});
            try {
                while (!s.should_stop()) {
                    s.run(tn::feed(m.x, 1.0 + r), m.train);
                    if (r == goes && ++at == 5) all.stop("worker", r);
                }
            } catch (const tn::unavailable_error&) {
                CHECK(r == goes);
                return;
            } catch (const tn::aborted_error&) {
                CHECK(r == goes);
                return;
            }
            CHECK(r != goes);
            auto [w, v, n] = s.session().run(*m.w, *m.v, *m.step);
            CHECK(n.item() == steps);
            CHECK((w(0) == v(0) && w(2) == v(2) && w(0) <= -0.125 * 1.5 * steps && w(0) >= -0.125 * 2.5 * steps));
        });
    }
}

TEST_CASE("S41, 46, at random: servers are stopped and started again while replicas train; no gradient is applied "
          "twice or half") {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const temporary_folder folder;
        tn::server_options o = net_test::quick();
        o.files = folder.path().string();
        net_test::servers all(2, 3, o);
        constexpr int steps = 150;
        std::atomic<std::int64_t> at{0};
        std::atomic<bool> over{false};
        std::thread faults([&] {
            std::mt19937 random(seed);
            std::int64_t next = 10;
            while (!over && next < steps - 20) {
                if (const std::int64_t now = at; now < next) {
                    at.wait(now);
                    continue;
                }
                const bool ps = random() % 3 == 0;
                const int task = static_cast<int>(random() % (ps ? 2 : 3));
                all.stop(ps ? "ps" : "worker", task);
                all.start(ps ? "ps" : "worker", task);
                next = at + 5 + static_cast<std::int64_t>(random() % 30);
            }
        });
        each_replica(3, [&](int r) {
            model m(r, 2, 3);
            tn::monitored_session s({.target = all.target("worker", r),
                                     .session = {.operation_timeout = 60},
                                     .is_chief = r == 0,
                                     .chief_lease = 1,
                                     .checkpoint = "run/m",
                                     .save_every = {.steps = 10},
                                     .recovery_timeout = 60,
                                     .hooks = {m.sync.hook(), tn::stop_at_step(steps)}});
            std::mt19937 random(seed * 100 + static_cast<unsigned>(r));
            std::normal_distribution<double> normal;
            s.loop([&] {
                at = std::get<0>(std::tuple(s.run(tn::feed(m.x, normal(random)), m.train, *m.step))).item();
                at.notify_all();
            });
            const auto still = m.sync.between_steps(s.session());
            auto [w, v, n, w_average, v_average] =
                s.session().run(*m.w, *m.v, *m.step, m.average_of(*m.w), m.average_of(*m.v));
            CHECK(n.item() >= steps);
            CHECK(s.session().run(m.sync.step()).item() == n.item()); // restored, too
            for (int k = 0; k < 3; ++k) CHECK((w(k) == v(k) && w_average(k) == v_average(k)));
            CHECK(w(0) != 0);
            CHECK(w_average(0) != 0);
        });
        over = true;
        at = steps;
        at.notify_all();
        faults.join();
    }
}

TEST_CASE("S41: who pauses in a step of several tasks holds the ledger until that has ended on all of them, and no "
          "longer") {
    net_test::servers all(2, 1);
    const own_graph g;
    const auto on_ps = [](int task, auto f) { return tn::on("/job:ps/task:" + std::to_string(task), f); };
    const tn::untyped::step_ledger ledger = on_ps(0, [] {
        return tn::untyped::step_ledger({1, 1, "w", "train"}, 0, 1);
    });
    const tn::any_tensor zero = on_ps(0, [] { return tn::constant(std::int64_t{0}); });
    const tn::operation commit = ledger.commit(ledger.begin(zero));
    const tn::any_tensor tickets = ledger.apply(zero).numbers;
    const tn::fifo_queue<std::int32_t> gate = on_ps(1, [] { return tn::fifo_queue<std::int32_t>(1); });
    const auto passes = [&](const tn::operation& first) {
        const tn::control_dependencies after(first);
        return gate.dequeue();
    };
    const auto open = gate.enqueue(1);
    const auto after_pause = passes(ledger.pause()), after_apply = passes(tickets.operation());
    tn::session s(all.target("worker", 0), g);
    s.run(commit);
    for (const auto& held : {after_pause, after_apply}) {
        auto holds = s.callable(tn::feeds(), tn::fetches(held)).start_for(20);
        CHECK_FALSE(holds.wait_for(0.2));
        CHECK_THROWS_AS(s.callable_untyped({}, {tickets}).run_for(0.2, {}), tn::deadline_exceeded_error);
        s.run(open);
        holds.get();
        CHECK(s.callable_untyped({}, {tickets}).run_for(20, {})[0].data<std::int64_t>()[0] > 0);
    }
}

TEST_CASE("S41: a replica takes part as long as its process's session is there, also between two of its steps") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 2, net_test::quick());
    struct replica {
        explicit replica(int number) {
            const tn::graph_scope in(g);
            const tn::device_scope ps("/job:ps/task:0");
            const tn::untyped::step_ledger ledger({0, 2, "w", "train"}, number, number + 1);
            const tn::fifo_queue<std::int32_t> told(1), never(1);
            present = ledger.state().present;
            join = ledger.join(tn::constant(std::int64_t{0}));
            const tn::control_dependencies attends(ledger.attend());
            const tn::control_dependencies tells(told.enqueue(1));
            rests = never.dequeue().operation();
            const tn::detail::no_controls by_itself;
            attended = told.dequeue().operation();
        }
        tn::graph g;
        tn::any_tensor present;
        tn::operation join, rests, attended;
    } zero(0), one(1);
    tn::session stays(all.target("worker", 1), one.g);
    std::optional<tn::session> goes(std::in_place, all.target("worker", 0), zero.g);
    const auto present = [&] { return *stays.run_untyped({}, {one.present})[0].data<std::int64_t>(); };
    stays.run(one.join);
    goes->run(zero.join);
    const auto held = goes->callable(tn::feeds(), tn::fetches(zero.rests)).start_for(60);
    goes->run(zero.attended);
    CHECK(present() == 2);
    all.stop("worker", 0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (present() != 1 && std::chrono::steady_clock::now() < until) {
    }
    CHECK(present() == 1);
    CHECK_THROWS_AS(held.get(), tn::error);
    goes.reset();
}
