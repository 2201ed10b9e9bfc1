#include <chrono>

#include <net/server/servers.hpp>

#include "tests.hpp"

// Servers that end while steps are under way, and others on their ports.

using namespace net_test;

namespace {

using number = tn::tensor<std::int64_t, tn::shape<>>;

// On each ps a step that waits until something is put into a queue there, and says that it has begun.
struct waiting_steps {
    explicit waiting_steps(int ps) {
        for (int i = 0; i < ps; ++i) {
            const tn::device_scope there(tn::device_name("/job:ps/task:" + std::to_string(i)));
            const std::string n = std::to_string(i);
            begun.emplace_back(4, tn::queue_options{.shared_name = "begun" + n});
            goes_on.emplace_back(4, tn::queue_options{.shared_name = "goes_on" + n});
            const tn::control_dependencies first(begun.back().enqueue(std::int64_t{1}));
            wait.push_back(goes_on.back().dequeue() + std::int64_t{0});
            sizes.push_back(goes_on.back().size());
            go.push_back(goes_on.back().enqueue(std::int64_t{7}));
            has_begun.push_back(begun.back().dequeue());
        }
    }
    own_graph graph;
    std::vector<tn::fifo_queue<std::int64_t>> begun, goes_on;
    std::vector<number> wait, has_begun;
    std::vector<number> sizes;
    std::vector<tn::operation> go;
};

} // namespace

TEST_CASE("SEMANTICS 28: a ps that ends in mid-step: the step fails and names it, others go on, nothing stays behind") {
    const clients_that are_quick;
    servers all(2, 1);
    waiting_steps w(2);
    tn::session sess(all.target("worker", 0), w.graph);
    const auto steps = [&](int i) {
        return sess.callable(tn::feeds(), tn::fetches(w.wait[static_cast<std::size_t>(i)]));
    };
    const auto first = steps(0).start(), second = steps(1).start();
    (void)sess.run(w.has_begun[0], w.has_begun[1]);
    const auto at = std::chrono::steady_clock::now();
    all.stop("ps", 1);
    try {
        (void)second.get();
        FAIL("a step ended well whose task is gone");
    } catch (const tn::unavailable_error& e) {
        CHECK(e.reason() == tn::error_reason::lost_task);
        CHECK(contains(e.what(), "/job:ps/task:1"));
    }
    MESSAGE("after " << std::chrono::duration<double>(std::chrono::steady_clock::now() - at).count() << " s");
    // The step of the other goes on, and so do further ones that need not the one that has ended.
    CHECK_FALSE(first.has_ended());
    sess.run(w.go[0]);
    CHECK(std::get<0>(first.get())() == 7);
    CHECK(sess.run(w.sizes[0])() == 0);
    CHECK(status_of(all.at("worker", 0)).steps.empty());
    status_when(all.at("ps", 0), [](const auto& row) { return row.steps.empty(); });

    // It comes back: sessions from before are told, new ones work.
    all.start("ps", 1);
    CHECK_ERROR(tn::aborted_error, "/job:ps/task:1", sess.run(w.sizes[1]));
    CHECK_THROWS_AS((void)sess.run(w.sizes[1]), tn::lost_task_error);
    CHECK(sess.run(w.sizes[0])() == 0);
    tn::session again(all.target("worker", 0), w.graph);
    CHECK(again.run(w.sizes[1])() == 0);
}

TEST_CASE("SEMANTICS 28: what a ps held is gone when it was restarted, and is said to be; what others held is there") {
    const clients_that are_quick;
    servers all(2, 1);
    const own_graph g;
    std::vector<tn::variable_tensor<float, tn::shape<>>> v;
    for (const char* ps : {"/job:ps/task:0", "/job:ps/task:1"}) {
        const tn::device_scope there(ps);
        v.push_back(tn::variable(std::string("v") + ps[13], 5.0f));
    }
    { initialized_session sess(all.target("worker", 0), g); }
    for (int round = 0; round < 3; ++round) {
        all.stop("ps", 1);
        all.start("ps", 1);
        tn::session sess(all.target("worker", 0), g);
        CHECK(sess.run(v[0])() == 5.0f);
        CHECK_ERROR(tn::failed_precondition_error, "v1", sess.run(v[1]));
        sess.run(v[1].initializer());
        CHECK(sess.run(v[1])() == 5.0f);
    }
}

TEST_CASE("SEMANTICS 28: a worker that ends takes its clients' sessions along, and nobody else's") {
    const clients_that are_quick;
    servers all(1, 2);
    waiting_steps w(1);
    tn::session lost(all.target("worker", 0), w.graph), other(all.target("worker", 1), w.graph);
    const auto step = lost.callable(tn::feeds(), tn::fetches(w.wait[0])).start();
    (void)other.run(w.has_begun[0]);
    all.stop("worker", 0);
    CHECK_ERROR(tn::unavailable_error, "127.0.0.1:", step.get());
    // The step has been taken back from the ps: what is put there now is nobody's yet.
    status_when(all.at("ps", 0), [](const auto& row) { return row.steps.empty(); });
    other.run(w.go[0]);
    CHECK(other.run(w.sizes[0])() == 1);
    CHECK_ERROR(tn::error, "127.0.0.1:", lost.run(w.sizes[0]));
}

TEST_CASE("SEMANTICS 22: stop with steps in flight: what ends by itself is waited for, what does not fails; the port "
          "is free at once") {
    const clients_that are_quick;
    servers all(1, 1);
    for (const bool ends : {true, false}) {
        CAPTURE(ends);
        waiting_steps w(1);
        tn::session sess(all.target("worker", 0), w.graph);
        const auto x = tn::random_uniform<float, tn::shape<512, 512>>();
        const auto long_one =
            tn::matmul(tn::matmul(tn::matmul(x, x), x), tn::matmul(x, x)); // after it says that it has begun
        const auto begun = w.begun[0].enqueue(std::int64_t{1});
        auto step = sess.callable(tn::feeds(), tn::fetches(w.wait[0]));
        const tn::control_dependencies first(begun);
        auto computes = sess.callable(tn::feeds(), tn::fetches(tn::sum(tn::matmul(long_one, tn::identity(x)))));
        if (ends) {
            const auto one = computes.start();
            (void)sess.run(w.has_begun[0]);
            const bool drained = all.at("worker", 0).stop(60);
            CHECK(drained);
            CHECK(std::get<0>(one.get())() > 0);
        } else {
            const auto one = step.start();
            (void)sess.run(w.has_begun[0]);
            CHECK_FALSE(all.at("worker", 0).stop(0.05));
            CHECK_ERROR(tn::unavailable_error, "is stopping", one.get());
        }
        all.start("worker", 0);
        tn::session again(all.target("worker", 0), w.graph);
        CHECK(again.run(w.sizes[0])() == 0);
        CHECK_THROWS_AS(sess.run(w.sizes[0]), tn::error);
    }
}

TEST_CASE("SEMANTICS 22: servers that stop and start on one port while clients call lose no acknowledged update") {
    const clients_that are_quick;
    servers all(1, 1);
    const auto make = [] {
        const tn::device_scope ps("/job:ps");
        return tn::variable("x", std::int64_t{0});
    };
    const own_graph g;
    const auto x = make();
    const auto more = x.assign_add(std::int64_t{1});
    { initialized_session sess(all.target("worker", 0), g); }
    std::int64_t acknowledged = 0, tried = 0;
    for (int life = 0; life < 8; ++life) {
        tn::session sess(all.target("worker", 0), g);
        auto step = sess.callable(tn::feeds(), tn::fetches(more));
        std::vector<decltype(step.start())> some;
        (void)sess.run(x);
        for (int i = 0; i < 8; ++i) some.push_back(step.start());
        tried += 8;
        (void)some[3].get(); // the others are under way, or have ended
        ++acknowledged;
        (void)all.at("worker", 0).stop(life % 2 ? 0 : 10);
        for (std::size_t i = 0; i < some.size(); ++i) try {
                if (i == 3) continue;
                (void)some[i].get();
                ++acknowledged;
            } catch (const tn::error& e) {
                CAPTURE(e.what());
                CHECK((e.code() == tn::error_code::unavailable || e.code() == tn::error_code::aborted));
            }
        all.start("worker", 0);
    }
    tn::session sess(all.target("worker", 0), g);
    const std::int64_t value = sess.run(x)();
    MESSAGE(acknowledged << " of " << tried << " were acknowledged, " << value << " applied");
    CHECK(acknowledged >= 8);
    CHECK(value >= acknowledged);
    CHECK(value <= tried);
}
