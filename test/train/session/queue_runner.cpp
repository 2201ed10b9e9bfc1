#include <tenon/ops/input/epochs.hpp>

#include "tests.hpp"
#include "train/running_session.hpp"

namespace {

using number = tn::tensor<std::int64_t, tn::shape<>>;

// Takes what a queue holds until it is closed and empty.
std::vector<std::int64_t> drain(tn::session& sess, const number& next, tn::coordinator& coord) {
    std::vector<std::int64_t> all;
    auto step = sess.callable(tn::feeds(), tn::fetches(next));
    while (coord.stop_on_exception([&] { all.push_back(std::get<0>(step())()); })) {
    }
    return all;
}

} // namespace

TEST_CASE("SEMANTICS 37: a queue runner's threads run their operations until the data end; the last closes the queue") {
    for (const int threads : {1, 5}) {
        CAPTURE(threads);
        const own_graph g;
        tn::fifo_queue<std::int64_t> from(100), to(4);
        auto x = tn::placeholder<std::int64_t, tn::shape<tn::dyn>>("x");
        auto fill = from.enqueue_many(x);
        auto done = from.close();
        auto moved = to.enqueue(from.dequeue() * std::int64_t{2});
        tn::session sess(g);
        tn::any_array numbers(tn::element_type::int64, tn::extents(60));
        for (std::int64_t i = 0; i < 60; ++i) numbers.data<std::int64_t>()[i] = i;
        sess.run(tn::feed(x, numbers), fill);
        sess.run(done);
        tn::coordinator coord;
        tn::queue_runner(to, moved, threads).start(sess, coord);
        const auto all = drain(sess, to.dequeue(), coord);
        coord.join();
        CHECK(all.size() == 60);
        const std::set<std::int64_t> different(all.begin(), all.end());
        CHECK(different.size() == 60);
        CHECK(*different.rbegin() == 118);
    }
}

TEST_CASE("SEMANTICS 37: once a stop is asked for, runners that wait for room end, and the queue is closed") {
    const own_graph g;
    tn::fifo_queue<std::int64_t> q(2);
    auto put = q.enqueue(std::int64_t{1});
    auto size = q.size();
    auto closed = q.is_closed();
    tn::session sess(g, {.operation_timeout = 20});
    tn::coordinator coord;
    tn::queue_runner(q, put, 3).start(sess, coord);
    while (sess.run(size)() < 2) {
    }
    CHECK_FALSE(sess.run(closed)());
    coord.request_stop();
    coord.join();
    CHECK(sess.run(closed)());
    CHECK(sess.run(size)() == 2);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: an error in one thread of a runner stops them all, and join() rethrows it") {
    tn::fifo_queue<std::int64_t> q(2);
    auto v = tn::variable("never_initialised", std::int64_t{1});
    auto bad = q.enqueue(v);
    auto good = q.enqueue(std::int64_t{1});
    tn::session sess(g);
    tn::coordinator coord;
    tn::queue_runner(q, {good, bad, good}).start(sess, coord);
    const auto text = message_of<tn::failed_precondition_error>([&] { coord.join(); });
    CHECK_MESSAGE(contains(text, "never_initialised"), text);
    CHECK(coord.running().empty());
}

TEST_CASE("SEMANTICS 37: collected runners are started together, also those of a graph that was read") {
    std::string text;
    {
        const own_graph g;
        tn::fifo_queue<std::int64_t> a(3, {.name = "a"}), b(3, {.name = "b"});
        tn::add_queue_runner(tn::queue_runner(a, a.enqueue(std::int64_t{7}), 2));
        tn::add_queue_runner(tn::queue_runner(b, b.enqueue(a.dequeue() + std::int64_t{1}), 1));
        text = tn::to_json(g);
    }
    const tn::graph g = tn::graph_from_json(text);
    const tn::graph_scope in(g);
    tn::queue<std::int64_t> b(tn::untyped::queue(g.tensor("b")));
    auto next = b.dequeue();
    running_session sess(g);
    CHECK(sess.started == 3);
    for (int i = 0; i < 10; ++i) CHECK(sess.run(next)() == 8);
    sess.coord.request_stop();
    sess.coord.join();
}

TEST_CASE("SEMANTICS 37: who waits for a queue whose collected runners were never started is told so") {
    const own_graph g;
    tn::fifo_queue<std::int64_t> q(3, {.name = "examples"});
    tn::add_queue_runner(tn::queue_runner(q, q.enqueue(std::int64_t{7}), 1));
    auto next = q.dequeue();
    tn::session sess(g);
    const auto text = message_of<tn::deadline_exceeded_error>([&] { (void)sess.run_for(0.02, next); });
    CHECK_MESSAGE(contains(text, "the queue runners of \"examples\" were never started"), text);
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    CHECK(sess.run_for(20, next)() == 7);
    coord.request_stop();
    coord.join();
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: the hint is given through every handle of a shared name") {
    tn::fifo_queue<std::int64_t> q(3, {.shared_name = "jobs", .name = "filled"});
    tn::add_queue_runner(tn::queue_runner(q, q.enqueue(std::int64_t{7}), 1));
    tn::fifo_queue<std::int64_t> same(3, {.shared_name = "jobs", .name = "read"}), other(3, {.shared_name = "none"});
    const auto next = same.dequeue(), never = other.dequeue();
    tn::session sess(g);
    const auto words = [&](const auto& t) {
        return message_of<tn::deadline_exceeded_error>([&] { (void)sess.run_for(0.02, t); });
    };
    CHECK(contains(words(next), "the queue runners of \"read\" were never started"));
    CHECK(!contains(words(never), "never started"));
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    CHECK(sess.run_for(20, next)() == 7);
    coord.request_stop();
    coord.join();
}

TEST_CASE_FIXTURE(in_graph, "a runner ends with its session") {
    tn::fifo_queue<std::int64_t> q(1);
    auto put = q.enqueue(std::int64_t{1});
    tn::session sess(g);
    tn::coordinator coord;
    tn::queue_runner(q, put, 2).start(sess, coord);
    sess.close();
    coord.request_stop();
    coord.join();
    CHECK(coord.running().empty());
}

TEST_CASE_FIXTURE(in_graph, "a runner without an operation, or with one of another graph, is refused") {
    tn::fifo_queue<std::int64_t> q(1, {.name = "examples"});
    const auto text =
        message_of<tn::invalid_argument_error>([&] { tn::queue_runner(q, q.enqueue(std::int64_t{1}), 0); });
    CHECK_MESSAGE(contains(text, "queue_runner of \"examples\""), text);
    const own_graph other;
    const tn::operation elsewhere = tn::no_op();
    CHECK_THROWS_AS(tn::queue_runner(q, elsewhere, 1), tn::invalid_argument_error);
}

TEST_CASE("SEMANTICS 37: what a runner runs first is run once, before the others, however many threads it has") {
    const own_graph g;
    tn::fifo_queue<std::int64_t> q(3);
    auto v = tn::variable("v", std::int64_t{0}, {.collected = false});
    const tn::tensor<std::int64_t, tn::shape<1>> once =
        tn::tensor<std::int64_t, tn::shape<1>>::unchecked(tn::add<tn::epoch_order_op>({1, 1, false, 0}, {}));
    const auto first = [&] {
        const tn::control_dependencies after(once);
        return v.assign(std::int64_t{5}).operation();
    }();
    tn::add_queue_runner(tn::queue_runner(q, {q.enqueue(v), q.enqueue(v), q.enqueue(v)}, {.first = first}));
    auto next = q.dequeue();
    auto other = v.assign(std::int64_t{7});
    tn::session sess(g);
    tn::coordinator coord;
    CHECK(tn::start_queue_runners(sess, coord) == 3);
    for (int i = 0; i < 10; ++i) CHECK(sess.run(next)() == 5);
    sess.run(other.operation());
    CHECK(tn::start_queue_runners(sess, coord) == 3);
    for (int i = 0; i < 20; ++i) (void)sess.run(next);
    CHECK(sess.run(next)() == 7);
    coord.request_stop();
    coord.join(20);
}

TEST_CASE("SEMANTICS 37: a stop ends a runner that waited for room when its queue was closed by somebody else") {
    const own_graph g;
    tn::fifo_queue<std::int64_t> q(1);
    tn::add_queue_runner(tn::queue_runner(q, q.enqueue(std::int64_t{3}), 1));
    auto size = q.size();
    auto close = q.close();
    auto next = q.dequeue();
    running_session sess(g);
    while (sess.run(size)() < 1) {
    }
    sess.run(close); // who waits for room goes on waiting
    sess.coord.request_stop();
    sess.coord.join(20);
    CHECK(sess.run(next)() == 3);
}

TEST_CASE("SEMANTICS 37: a stop ends a runner that waits for room in another queue, which keeps what it holds") {
    const own_graph g;
    tn::fifo_queue<std::int64_t> filled(100), room(2);
    const auto put = [&] {
        const tn::control_dependencies after(room.enqueue(std::int64_t{3}));
        return filled.enqueue(std::int64_t{4});
    }();
    tn::add_queue_runner(tn::queue_runner(filled, {put}, {.waited_for = {room.untyped()}}));
    auto size = filled.size();
    auto held = room.dequeue();
    running_session sess(g);
    while (sess.run(size)() < 2) {
    }
    sess.coord.request_stop();
    sess.coord.join(20);
    CHECK(sess.run(held)() == 3);
    CHECK(sess.run(held)() == 3);
    CHECK_THROWS_AS(sess.run(held), tn::end_of_data_error);
}
