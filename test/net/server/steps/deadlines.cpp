#include <net/client/remote_session.hpp>
#include <net/server/simulated_cluster.hpp>

#include "tests.hpp"

// A step ends at its limit, whatever stands still, and says what became of it.

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::simulated_cluster;

namespace {

using number = tn::tensor<std::int64_t, tn::shape<>>;

tn::device_scope on(int task) { return tn::device_scope("/job:worker/task:" + std::to_string(task)); }
std::string host(int task) { return "host" + std::to_string(task); }
std::string name(int task) { return "/job:worker/task:" + std::to_string(task); }
bool has(const std::string& words, const std::string& part) { return words.find(part) != std::string::npos; }

// Three tasks; the first is the master of the session, the others have a variable each.
struct three_tasks {
    explicit three_tasks(tn::session_options o = {}) {
        const auto variable = [](int task) {
            const auto there = on(task);
            return tn::variable("v" + std::to_string(task), std::int64_t{0});
        };
        v1.emplace(variable(1));
        v2.emplace(variable(2));
        session = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, o);
        (void)run({}, {v1->initializer(), v2->initializer()});
    }
    std::vector<tn::any_array> run(std::vector<tn::any_tensor> fetches, std::vector<tn::operation> targets = {},
                                   double limit = 0) {
        tn::detail::run_request r;
        r.fetches = std::move(fetches);
        r.targets = std::move(targets);
        r.timeout = limit;
        return session->run(std::move(r));
    }
    std::int64_t value(const tn::any_tensor& t) { return *run({t})[0].data<std::int64_t>(); }

    // What is said of a step, which ends at its limit and within 50 ms after it.
    std::string late(double limit, std::vector<tn::any_tensor> fetches, std::vector<tn::operation> targets = {}) {
        const auto begun = all.network.now();
        const std::string said =
            message_of<tn::deadline_exceeded_error>([&] { (void)run(std::move(fetches), std::move(targets), limit); });
        const double took = std::chrono::duration<double>(all.network.now() - begun).count();
        CHECK(took >= limit);
        CHECK(took <= limit + 0.05);
        INFO(said);
        CHECK(has(said, "the step did not end within its run's time limit of "));
        return said;
    }
    void stand_still(int task) {
        all.network.pause(host(task));
        all.network.work_for(100ms);
    }
    void go_on(int task) {
        all.network.go_on(host(task));
        all.network.work_for(2s);
    }
    std::size_t left() const {
        std::size_t sum = 0;
        for (const auto& s : all.servers) {
            const auto c = s->count();
            sum += c.steps + c.of_masters.steps + c.of_masters.exchanged.open + c.called.calls;
        }
        return sum;
    }

    simulated_cluster all{3};
    own_graph g;
    std::optional<tn::variable_tensor<std::int64_t, tn::shape<>>> v1, v2;
    std::shared_ptr<net::remote_session> session;
};

} // namespace

TEST_CASE(
    "SEMANTICS 17: a step that needs a silent task ends at its limit, and names that task and for how long it has "
    "not been heard of") {
    three_tasks t;
    std::optional<number> read, both;
    {
        const auto here = on(0);
        read.emplace(*t.v1 + std::int64_t{1});
        both.emplace(*t.v1 + *t.v2);
    }
    for (const double limit : {0.01, 0.25, 1.0})
        for (const auto& step : {*read, *both}) {
            const std::int64_t is = t.value(step);
            t.stand_still(1);
            const std::string said = t.late(limit, {step});
            INFO(said);
            CHECK(has(said, name(1) + " (host1:1000) has not been heard of for "));
            CHECK(!has(said, name(2) + " (")); // which is not at fault
            CHECK(!has(said, "applied"));      // it is only read
            t.go_on(1);
            CHECK(t.left() == 0);
            CHECK(t.value(step) == is);
        }
}

TEST_CASE(
    "SEMANTICS 17: a step ends at its limit where its master is silent, also one that the master is yet to be told "
    "of, which works later") {
    three_tasks t;
    const auto twice = [&] {
        const auto here = on(0);
        return number(*t.v1 * std::int64_t{2});
    };
    const number known = twice();
    CHECK(t.value(known) == 0);
    t.stand_still(0);
    std::string said = t.late(0.25, {known});
    CHECK(has(said, name(0) + " (host0:1000) has not been heard of for "));
    CHECK(has(said, "whether the step was applied is not known"));
    const number fresh = number(twice() + std::int64_t{5}), other = number(twice() + std::int64_t{6});
    for (int again = 0; again < 2; ++again) {
        said = t.late(0.25, {fresh});
        CHECK(has(said, "it was not begun"));
        CHECK(has(said, name(0) + " (host0:1000), which was last heard of "));
        CHECK(has(said, "to take its graph"));
    }
    (void)t.late(0.25, {other});
    t.go_on(0);
    CHECK(t.left() == 0);
    CHECK(t.value(fresh) == 5);
    CHECK(t.value(other) == 6);

    // The graph is there, and what is to be run is not.
    t.stand_still(0);
    tn::detail::fetch_request r;
    r.fetches = {known, fresh};
    const auto both = t.session->make_callable({}, r);
    CHECK_ERROR(tn::deadline_exceeded_error, "to take what it is to run", both->start({}, 0.25));
    t.go_on(0);
    tn::any_array fetched[2];
    both->start({}, 0.25)->get(fetched);
    CHECK(*fetched[1].data<std::int64_t>() == 5);
}

TEST_CASE("SEMANTICS 17: the limit of a session holds as a step's own does, for steps that were started too") {
    three_tasks t({.operation_timeout = 0.5});
    tn::detail::fetch_request r;
    {
        const auto here = on(0);
        r.fetches = {number(*t.v1 + std::int64_t{1})};
    }
    const auto step = t.session->make_callable({}, r);
    tn::any_array fetched[1];
    step->start({}, 0)->get(fetched);
    for (const int silent : {0, 1}) {
        t.stand_still(silent);
        const auto begun = t.all.network.now();
        const auto pending = step->start({}, 0);
        CHECK_FALSE(pending->wait_for(0.49));
        CHECK(pending->wait_for(0.06));
        CHECK(t.all.network.now() - begun <= 550ms);
        CHECK_ERROR(tn::deadline_exceeded_error, "session's operation_timeout of 0.5 s; " + name(silent) + " (",
                    pending->get(fetched));
        t.go_on(silent);
    }
}

TEST_CASE("SEMANTICS 17: what is late on a task that stood still is not applied when it goes on") {
    for (const int silent : {0, 1}) {
        for (const auto stood : {10ms, 3000ms}) {
            three_tasks t;
            const number add = t.v1->assign_add(std::int64_t{1});
            (void)t.run({add});
            t.stand_still(silent);
            const std::string said = t.late(0.25, {add});
            INFO(said);
            CHECK(has(said, silent == 0 ? "whether the step was applied is not known"
                                        : "whether the step was applied on " + name(1) + " is not known"));
            t.all.network.work_for(stood);
            t.go_on(silent);
            CHECK(t.left() == 0);
            CHECK(t.value(*t.v1) == 1);
            CHECK(*t.run({add})[0].data<std::int64_t>() == 2);
        }
    }
}

TEST_CASE(
    "SEMANTICS 17: a part that waits where its task stands still, and is sent its value meanwhile, is not applied") {
    three_tasks t;
    std::optional<tn::fifo_queue<number>> queue;
    std::optional<number> add;
    std::optional<tn::operation> put;
    {
        const auto there = on(2);
        queue.emplace(4, tn::queue_options{.shared_name = "q"});
        put = queue->enqueue(number(tn::constant(std::int64_t{10})));
        add.emplace(t.v1->assign_add(std::get<0>(std::tuple(queue->dequeue()))));
    }
    (void)t.run({}, {*put});
    CHECK(*t.run({*add})[0].data<std::int64_t>() == 10);
    tn::detail::fetch_request r;
    r.fetches = {*add};
    const auto step = t.session->make_callable({}, r)->start({}, 0.5);
    t.all.network.work_for(100ms);
    t.all.network.pause("host1");
    t.all.network.work_for(100ms);
    (void)t.run({}, {*put});
    tn::any_array fetched[1];
    const std::string words =
        "the step was applied on " + name(2) + ", and whether it was on " + name(1) + " is not known";
    CHECK_ERROR(tn::deadline_exceeded_error, words, step->get(fetched));
    t.go_on(1);
    CHECK(t.value(*t.v1) == 10);
    CHECK(t.left() == 0);
}

TEST_CASE("SEMANTICS 17: the error of a step over several tasks says which have applied it, and of which it is not "
          "known") {
    three_tasks t;
    const number a = t.v1->assign_add(std::int64_t{1}), b = t.v2->assign_add(std::int64_t{1});
    (void)t.run({a, b});
    SUBCASE("it is late") {
        t.stand_still(2);
        const std::string said = t.late(0.25, {}, {tn::operation(a.node()), tn::operation(b.node())});
        INFO(said);
        CHECK(has(said, "the step was applied on " + name(1) + ", and whether it was on " + name(2) + " is not known"));
        t.go_on(2);
        CHECK(t.value(*t.v1) == 2);
        CHECK(t.value(*t.v2) == 1);
    }
    SUBCASE("it fails on one of them") {
        t.all.network.set_line("host0", "host2", {20ms, 0ms, 1e9});
        std::optional<number> bad;
        {
            const auto there = on(2);
            const auto table = tn::constant(tn::array<std::int64_t, tn::shape<3>>{1, 2, 3});
            bad.emplace(t.v2->assign_add(tn::gather<0>(table, *t.v2 + std::int64_t{100})));
        }
        const std::string said = message_of<tn::invalid_argument_error>([&] { (void)t.run({a, *bad}); });
        INFO(said);
        CHECK(has(said, "gather"));
        CHECK(has(said, "; the step was applied on " + name(1)));
        CHECK(!has(said, "not known"));
        CHECK(t.value(*t.v1) == 2);
        CHECK(t.value(*t.v2) == 1);
    }
    SUBCASE("one of them is lost") {
        t.all.network.set_line("host2", "host0", {1h, 0ms, 1e9});
        t.all.network.set_line("host0", "host2", {1h, 0ms, 1e9});
        CHECK_ERROR(tn::unavailable_error,
                    "; the step was applied on " + name(1) + ", and whether it was on " + name(2) + " is not known",
                    t.run({}, {tn::operation(a.node()), tn::operation(b.node())}));
    }
}

TEST_CASE(
    "SEMANTICS 17: a step that is stopped says what became of it, and is not waited for where its server is silent") {
    three_tasks t;
    std::optional<number> waits;
    {
        const auto there = on(2);
        const tn::fifo_queue<number> queue(4, {.shared_name = "q"});
        waits.emplace(t.v1->assign_add(std::get<0>(std::tuple(queue.dequeue()))));
    }
    tn::detail::fetch_request r, quick;
    r.fetches = {*waits};
    quick.fetches = {t.v1->assign_add(std::int64_t{1})};
    const auto step = t.session->make_callable({}, r), add = t.session->make_callable({}, quick);
    tn::any_array fetched[1];
    const auto said = [&](const auto& pending) {
        return message_of<tn::cancelled_error>([&] { pending->get(fetched); });
    };
    auto pending = step->start({}, 0);
    t.all.network.work_for(100ms);
    pending->stop();
    CHECK(!has(said(pending), "known"));
    CHECK(t.left() == 0);
    // One that is done on the way is done.
    pending = add->start({}, 0);
    t.all.network.work_until([&] { return t.all.servers[0]->count().steps > 0; }, t.all.in(1s));
    t.all.network.work_until([&] { return t.all.servers[0]->count().steps == 0; }, t.all.in(1s));
    pending->stop();
    CHECK(said(pending) == "nothing was thrown");
    CHECK(*fetched[0].data<std::int64_t>() == 1);
    // Of a silent task, and of a silent master.
    for (const int silent : {1, 0}) {
        pending = add->start({}, 0);
        pending->stop();
        t.all.network.pause(host(silent));
        const auto begun = t.all.network.now();
        CHECK(has(said(pending), "is not known"));
        CHECK(t.all.network.now() - begun <= 100ms);
        t.go_on(silent);
        CHECK(t.left() == 0);
    }
}
