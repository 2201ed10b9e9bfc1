#include <future>

#include <tenon/input.hpp>

#include "tests.hpp"
#include "message_at_limit.hpp"
#include "runtime/gates.hpp"
#include "runtime/support.hpp"

// Sessions on several tasks of one process.

using probe::gates;

namespace {

using scalar = tn::shape<>;

struct two_tasks {
    tn::task ps{{.intra_op_threads = 2, .job = "ps", .index = 0}};
    tn::task worker{
        {.intra_op_threads = 2, .gpus = tn::simulated_gpu(1, std::size_t{16} << 20), .job = "worker", .index = 1}};
    std::vector<tn::task> from_worker() const { return {worker, ps}; }
    std::vector<tn::task> from_ps() const { return {ps, worker}; }
};

std::string device_of(tn::session& s, const tn::any_tensor& t) {
    for (const auto& n : s.explain_placement(t).nodes)
        if (n.name == t.node()->name) return tn::to_string(n.device);
    return "nowhere";
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "TOUR 9: values cross between tasks, each once") {
    const two_tasks tasks;
    tn::tensor<float, scalar> a, b, c, d;
    {
        const tn::device_scope there("/job:ps");
        a = tn::variable("a", 1.0f);
    }
    {
        const tn::device_scope there("/job:worker/task:1/cpu:0");
        b = a + 2.0f;
        d = a * b;
    }
    {
        const tn::device_scope there("/job:worker/device:GPU:0");
        c = a + b;
    }
    initialized_session sess(tasks.from_ps(), g);
    auto [cv, dv] = sess.run(c, d);
    CHECK(cv() == 4.0f);
    CHECK(dv() == 3.0f);
    int crossings = 0;
    for (const std::string& line : sess.report(c, d).order) crossings += contains(line, "(receive)");
    CHECK(crossings == 3); // a to the worker, c and d back
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 3: what asks for no task is on the session's, resources on the first by name") {
    const two_tasks tasks;
    auto v = tn::variable("v", 1.0f);
    auto w = v * 2.0f;
    auto u = v.assign_add(w);
    tn::session sess(tasks.from_worker(), g, {.allow_soft_placement = true});
    CHECK(device_of(sess, v) == "/job:ps/replica:0/task:0/device:CPU:0");
    CHECK(device_of(sess, w.materialize()) == "/job:worker/replica:0/task:1/device:GPU:0");
    CHECK(device_of(sess, u) == "/job:ps/replica:0/task:0/device:CPU:0");
    sess.run(tn::initialize_variables());
    CHECK(sess.run(u)() == 3.0f);

    // A data set is this program's: where nothing pins its iterator to another task, that is on the session's.
    const auto element = [](const tn::device_name& scope) {
        const tn::device_scope there(scope);
        return tn::make_one_shot_iterator(tn::data::range(2)).get_next();
    };
    for (const auto& [scope, device] :
         std::vector<std::pair<std::string, std::string>>{{"", "worker/replica:0/task:1"},
                                                          {"/job:worker", "worker/replica:0/task:1"},
                                                          {"/job:ps", "ps/replica:0/task:0"}})
        CHECK(device_of(sess, element(scope)) == "/job:" + device + "/device:CPU:0");
    const auto placed =
        tn::on(tn::replica_device_setter(1, {.worker_device = "/job:worker"})); // a worker's, as in SEMANTICS 9
    CHECK(device_of(sess, element({})) == "/job:worker/replica:0/task:1/device:CPU:0");

    // And so another session, on the other task, finds the variable.
    tn::session other(tasks.from_ps(), g);
    CHECK(other.run(v)() == 3.0f);
    CHECK(other.run(u)() == 9.0f);
    CHECK(sess.run(v)() == 9.0f);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 6: a task that is not there is an error that lists the devices") {
    const two_tasks tasks;
    const auto x = tn::on("/job:worker/task:7", [&] { return tn::constant(1.0f) + 1.0f; });
    tn::session sess(tasks.from_ps(), g, {.allow_soft_placement = true});
    const auto text = message_of<tn::invalid_argument_error>([&] { (void)sess.run(x); });
    CHECK_MESSAGE(contains(text, "/job:worker/task:7"), text);
    CHECK_MESSAGE(contains(text, "/job:ps/replica:0/task:0/device:CPU:0"), text);
    CHECK_MESSAGE(contains(text, "/job:worker/replica:0/task:1/device:GPU:0"), text);
}

TEST_CASE("two tasks of one name are refused, and so is a job that is no word") {
    const tn::graph g;
    const tn::task a({.job = "ps"}), b({.job = "ps"});
    const auto text = message_of<tn::invalid_argument_error>([&] { tn::session sess(std::vector<tn::task>{a, b}, g); });
    CHECK_MESSAGE(contains(text, "/job:ps/replica:0/task:0/device:CPU:0"), text);
    CHECK_THROWS_AS(tn::session(std::vector<tn::task>{}, g), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::task({.job = "no word"}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::task({.index = -1}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "a queue on another task: steps wait for it there, and say so") {
    const two_tasks tasks;
    tn::fifo_queue<float> q(3, {.name = "numbers"});
    auto x = tn::placeholder<float, scalar>("x");
    auto put = q.enqueue(x * 2.0f);
    auto next = q.dequeue() + 1.0f;
    tn::session sess(tasks.from_worker(), g, {.allow_soft_placement = true});
    const auto text = message_at_limit<tn::deadline_exceeded_error>(
        "queue \"numbers\"", [&](double limit) { (void)sess.run_for(limit, next); });
    CHECK_MESSAGE(contains(text, "queue \"numbers\""), text);
    CHECK_MESSAGE(contains(text, "/job:ps"), text);
    sess.run(tn::feed(x, 4.0f), put);
    CHECK(sess.run_for(20, next)() == 9.0f);
    // One that waits is served by another session.
    auto step = sess.callable(tn::feeds(), tn::fetches(next));
    auto waits = step.start();
    tn::session other(tasks.from_ps(), g);
    CHECK_FALSE(waits.has_ended());
    waits.stop();
    CHECK_THROWS_AS((void)waits.get(), tn::cancelled_error);
    sess.run(tn::feed(x, 5.0f), put);
    CHECK(std::get<0>(step())() == 11.0f);
}

TEST_CASE_FIXTURE(in_graph, "an error on one task fails the step and stops the others") {
    const two_tasks tasks;
    auto x = tn::placeholder<float, scalar>("x");
    const auto bad = tn::on("/job:worker/cpu:0", [&] { return probe::watched(x, "bad", probe::deed::fail); });
    const auto waits = tn::on("/job:ps", [&] { return probe::gated("never", x + 0.0f); });
    tn::session sess(tasks.from_ps(), g);
    const auto text = message_of<tn::out_of_range_error>([&] { (void)sess.run(tn::feed(x, 1.0f), waits, bad); });
    CHECK_MESSAGE(contains(text, "the end is reached"), text);
    CHECK_MESSAGE(contains(text, "/job:worker/replica:0/task:1/device:CPU:0"), text);
    CHECK(gates::get().waiting() == 0);
    CHECK(sess.run(tn::feed(x, 1.0f), x + 1.0f)() == 2.0f);
}

TEST_CASE_FIXTURE(in_graph, "sizes that are known late on one task are known on the other") {
    const two_tasks tasks;
    auto n = tn::placeholder<float, scalar>("n");
    const auto xs = tn::on("/job:worker/cpu:0", [&] { return probe::repeated<tn::shape<tn::dyn>>("sizes", n); });
    tn::tensor<float, scalar> total, count;
    {
        const tn::device_scope there("/job:ps");
        total = sum(xs * 2.0f);
        count = sum(tn::ones_like(xs));
    }
    tn::session sess(tasks.from_ps(), g);
    const probe::open_gate open("sizes");
    for (const float k : {3.0f, 5.0f, 3.0f, 0.0f}) {
        auto [t, c] = sess.run(tn::feed(n, k), total, count);
        CHECK(t() == 2 * k * k);
        CHECK(c() == k);
    }
}

TEST_CASE_FIXTURE(in_graph, "steps of several threads on two tasks: no update is lost, and all end with the session") {
    const two_tasks tasks;
    auto v = tn::variable("v", 0.0f); // on ps
    auto x = tn::placeholder<float, scalar>("x");
    const auto there = tn::on("/job:worker/cpu:0", [&] { return x * 1.0f; });
    auto add = v.assign_add(there);
    initialized_session sess(tasks.from_worker(), g, {.allow_soft_placement = true});
    auto step = sess.callable(tn::feeds(x), tn::fetches(add.operation()));
    std::vector<std::future<void>> threads;
    for (int t = 0; t < 4; ++t)
        threads.push_back(std::async(std::launch::async, [&] {
            for (int i = 0; i < 100; ++i) (void)step(1.0f);
        }));
    for (auto& t : threads) t.get();
    CHECK(sess.run(v)() == 400.0f);

    auto waits = sess.callable(tn::feeds(x), tn::fetches(v.assign_add(probe::gated("end", there)).operation()));
    auto pending = waits.start(1.0f);
    gates::get().wait_for("end");
    sess.close();
    CHECK_THROWS_AS((void)pending.get(), tn::cancelled_error);
    CHECK(gates::get().waiting() == 0);
}

TEST_CASE("SEMANTICS 17: the error of a step over several tasks says on which of them it was applied") {
    const two_tasks tasks;
    const own_graph g;
    const auto v = tn::variable("v", 0.0f); // on ps
    const auto x = tn::placeholder<float, scalar>("x");
    const auto fails = tn::on("/job:worker/cpu:0", [&] { return probe::gated("fails", x * 1.0f); });
    const auto applied = v.assign_add(1.0f), unapplied = v.assign_add(fails);
    tn::session looks(tasks.from_ps(), g);
    for (const bool from_worker : {true, false}) {
        tn::session sess(from_worker ? tasks.from_worker() : tasks.from_ps(), g, {.allow_soft_placement = true});
        sess.run(v.initializer());
        const auto text_of = [&](const auto& update, float then) {
            const auto step = sess.callable(tn::feeds(x), tn::fetches(fails, update.operation())).start(1.0f);
            gates::get().wait_for("fails");
            while (looks.run(v)() != then) std::this_thread::yield();
            gates::get().open("fails", std::make_exception_ptr(tn::out_of_range_error("the end is reached")));
            return message_of<tn::out_of_range_error>([&] { (void)step.get(); });
        };
        // What is fetched comes to the session's task, whose updates wait for that.
        const float after = from_worker ? 1.0f : 0.0f;
        auto text = text_of(applied, after);
        CHECK_MESSAGE(contains(text, "the end is reached"), text);
        CHECK_MESSAGE(contains(text, "; the step was applied on /job:ps/task:0") == from_worker, text);
        text = text_of(unapplied, after);
        CHECK_MESSAGE(!contains(text, "applied"), text);
        CHECK(sess.run(v)() == after);
    }
}
