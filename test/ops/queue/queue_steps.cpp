#include "ops/queue/queue_steps.hpp"
#include "runtime/every_session.hpp"

// Queues in steps: what SEMANTICS 16 and 30 to 34 say, through sessions. What several sessions, threads and time limits do to
// them is in queue_sharing_steps.cpp.

using namespace queue_steps;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using matrix = tn::component<float, tn::shape<3, 2>>;

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 30: elements are tuples of tensors, and come out as they went in") {
    const tn::fifo_queue<std::int32_t, matrix> q(10);
    const auto first = q.enqueue(1, tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}));
    const auto second = q.enqueue(2, tn::ones<float, tn::shape<3, 2>>());
    const auto [n, m] = q.dequeue();
    in_every_session([&, n = n, m = m](tn::session& s) {
        s.run(first);
        s.run(second);
        const auto [a, b] = s.run(n, m);
        CHECK(a.item() == 1);
        CHECK(b(2, 1) == 6);
        const auto [c, d] = s.run(n, m);
        CHECK(c.item() == 2);
        CHECK(d(2, 1) == 1);
    });
}

TEST_CASE("SEMANTICS 31: one component of a tuple takes the whole tuple, and so does what runs after it") {
    const own_graph g;
    tn::session s;
    const tn::fifo_queue<std::int64_t, std::string> q(10);
    const auto put =
        q.enqueue_many(tn::constant({std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}}),
                       tn::constant({std::string("a"), std::string("b"), std::string("c"), std::string("d")}));
    const auto [n, t] = q.dequeue();
    const auto size = q.size();
    s.run(put);
    CHECK(s.run(n).item() == 1);
    CHECK(s.run(size).item() == 3);
    CHECK(s.run(t).item() == "b");
    CHECK(s.run(size).item() == 2);
    const auto after = [&, t = t] {
        const tn::control_dependencies first(t);
        return tn::constant(5.0f) + 1.0f;
    }();
    CHECK(s.run(after).item() == 6);
    CHECK(s.run(size).item() == 1);
    const auto [one, again, text] = s.run(n, n, t); // one node, once a step
    CHECK(one.item() == 4);
    CHECK(again.item() == 4);
    CHECK(text.item() == "d");
    CHECK(s.run(size).item() == 0);
}

TEST_CASE("SEMANTICS 16: feeding what a dequeue gives leaves the queue alone, unless another component is needed") {
    const own_graph g;
    tn::session s;
    const tn::fifo_queue<std::int64_t, float> q(10);
    const auto put = q.enqueue_many(tn::constant({std::int64_t{1}, std::int64_t{2}}), tn::constant({0.5f, 1.5f}));
    const auto [n, x] = q.dequeue();
    const auto sum = cast<float>(n) + x;
    const auto size = q.size();
    s.run(put);
    CHECK(s.run(tn::feed(n, std::int64_t{7}), n + std::int64_t{1}).item() == 8);
    CHECK(s.run(tn::feed(n, std::int64_t{7}), tn::feed(x, 2.0f), sum).item() == 9);
    CHECK(s.run(size).item() == 2);
    CHECK(s.run(tn::feed(n, std::int64_t{7}), sum).item() == 7.5f);
    CHECK(s.run(size).item() == 1);
    CHECK(s.run(sum).item() == 3.5f);
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 31: dequeue waits while the queue is empty, enqueue while it is full") {
    const numbers_queue q(2, tn::queue_options{.name = "jobs"});
    std::int64_t got = 0;
    elsewhere taker([&] { got = q.take(s); });
    CHECK(taker.waits());
    q.fill(s, {1});
    CHECK(taker.end() == "");
    CHECK(got == 1);
    q.fill(s, {2, 3});
    elsewhere putter([&] { q.fill(s, {4}); });
    CHECK(putter.waits());
    CHECK(q.take(s) == 2);
    CHECK(putter.end() == "");
    CHECK(q.take(s) == 3);
    CHECK(q.take(s) == 4);
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 31: who waits is served first come, first served") {
    const numbers_queue q(10);
    const auto two = q.q.dequeue_many<2>();
    list first;
    std::int64_t second = 0;
    elsewhere one([&] { first = numbers_in(s.run_for(late, two)); });
    CHECK(one.waits());
    elsewhere other([&] { second = q.take(s); });
    CHECK(other.waits());
    q.fill(s, {1});
    CHECK(other.waits()); // it does not overtake
    q.fill(s, {2, 3});
    CHECK(one.end() == "");
    CHECK(other.end() == "");
    CHECK(first == list{1, 2});
    CHECK(second == 3);
}

TEST_CASE("SEMANTICS 31: enqueue_many splits along dimension 0, dequeue_many stacks and waits for n") {
    const own_graph g;
    tn::session s;
    const tn::fifo_queue<tn::component<float, tn::shape<2>>> q(10);
    const auto some = tn::placeholder<float, tn::shape<batch, 2>>("some");
    const auto put = q.enqueue_many(some);
    const auto two = q.dequeue_many<2>();
    s.run(tn::feed(some, {{1, 2}, {3, 4}, {5, 6}}), put);
    const auto got = s.run(two);
    CHECK(got(0, 1) == 2);
    CHECK(got(1, 0) == 3);
    float last = 0;
    elsewhere waiting([&] { last = s.run_for(late, two)(1, 1); });
    CHECK(waiting.waits());
    s.run(tn::feed(some, {{7, 8}}), put);
    CHECK(waiting.end() == "");
    CHECK(last == 8);
    CHECK(s.run(q.dequeue_many(0)).extents() == tn::extents{0, 2});
    s.run(tn::feed(some, tn::array<float, tn::shape<batch, 2>>(0)), put); // nothing is enqueued
    CHECK(s.run(q.size()).item() == 0);
}

TEST_CASE("SEMANTICS 31: dequeue_some gives what is there, to who batches what comes: in every kind of queue") {
    const own_graph g;
    const tn::fifo_queue<std::int64_t> fifo(10);
    const tn::padding_fifo_queue<std::int64_t> padding(10);
    const tn::priority_queue<> priority(10);
    const tn::random_shuffle_queue<std::int64_t> shuffled(10, 1);
    const auto given = tn::placeholder<std::int64_t, tn::shape<tn::dyn>>("given");
    const auto doubled = [](const auto& x) { return x * std::int64_t{2}; }; // planned for the sizes that come
    const auto in_order = [&](tn::session& s, const auto& q) {
        const auto put = q.enqueue_many(given);
        const auto some = doubled(q.dequeue_some(2, 4));
        const auto named = doubled(q.template dequeue_some<batch>(0, 4));
        s.run(tn::feed(given, {1, 2, 3, 4, 5, 6, 7}), put);
        CHECK(numbers_in(s.run(some)) == list{2, 4, 6, 8});
        CHECK(numbers_in(s.run(some)) == list{10, 12, 14});
        CHECK(numbers_in(s.run(named)) == list{});
        list got;
        elsewhere waiting([&] { got = numbers_in(s.run_for(late, some)); });
        CHECK(waiting.waits());
        s.run(tn::feed(given, {8}), put);
        CHECK(waiting.waits());
        s.run(tn::feed(given, {9}), put);
        CHECK(waiting.end() == "");
        CHECK(got == list{16, 18});
    };
    tn::session s;
    in_order(s, fifo);
    in_order(s, padding);
    in_order(s, priority);
    s.run(tn::feed(given, {1, 2, 3}), shuffled.enqueue_many(given));
    CHECK(s.run(shuffled.dequeue_some(1, 9)).extents() == tn::extents{2}); // one stays
    s.run(shuffled.close());
    CHECK(s.run(shuffled.dequeue_some(3, 9)).extents() == tn::extents{1});
    CHECK_THROWS_AS(s.run(shuffled.dequeue_some(0, 9)), tn::out_of_range_error);
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 31, 32: a closed queue gives what it has; dequeue_up_to what is left") {
    const numbers_queue q(10, tn::queue_options{.name = "jobs"});
    const auto three = q.q.dequeue_many<3>();
    const auto up_to_two = q.q.dequeue_up_to(2), up_to_five = q.q.dequeue_up_to(5);
    const auto closed = q.q.is_closed();
    const auto close = q.q.close();
    q.fill(s, {1, 2, 3, 4});
    CHECK(numbers_in(s.run(up_to_two)) == list{1, 2}); // open: it waits for two
    CHECK_FALSE(s.run(closed).item());
    s.run(close);
    CHECK(s.run(closed).item());
    CHECK_ERROR(tn::cancelled_error, "queue \"jobs\" is closed.", q.fill(s, {5}));
    CHECK_ERROR(tn::end_of_data_error,
                "queue \"jobs\" is closed and has insufficient elements (requested 3, current size 2)", s.run(three));
    CHECK(q.count(s) == 2); // what it took was put back
    CHECK(numbers_in(s.run(up_to_five)) == list{3, 4});
    CHECK_ERROR(tn::end_of_data_error,
                "queue \"jobs\" is closed and has insufficient elements (requested 5, current size 0)",
                s.run(up_to_five));
    CHECK_THROWS_AS(q.take(s), tn::end_of_data_error);
    CHECK_ERROR(tn::aborted_error, "queue \"jobs\" is closed already.", s.run(close));
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 32: closing tells those who wait") {
    const numbers_queue q(2);
    SUBCASE("who waits to dequeue more than there are") {
        const auto three = q.q.dequeue_many<3>();
        q.fill(s, {1, 2});
        elsewhere waiting([&] { s.run_for(late, three); });
        CHECK(waiting.waits());
        s.run(q.q.close());
        CHECK(waiting.end().starts_with("out_of_range: "));
        CHECK(q.take(s) == 1);
    }
    SUBCASE("who waits to enqueue goes on") {
        q.fill(s, {1, 2});
        elsewhere waiting([&] { q.fill(s, {3}); });
        CHECK(waiting.waits());
        s.run(q.q.close());
        CHECK(waiting.waits());
        CHECK(q.take(s) == 1);
        CHECK(waiting.end() == "");
        CHECK(q.count(s) == 2);
    }
    SUBCASE("or is cancelled") {
        q.fill(s, {1, 2});
        elsewhere waiting([&] { q.fill(s, {3}); });
        CHECK(waiting.waits());
        s.run(q.q.close(true));
        CHECK(waiting.end().starts_with("cancelled: "));
        CHECK(q.count(s) == 2);
    }
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 33: a shuffle queue keeps min_after_dequeue elements until it is closed") {
    const of_numbers<tn::random_shuffle_queue<std::int64_t>> q(50, 10, tn::shuffle_queue_options{.seed = 3});
    const auto five = q.q.dequeue_many<5>();
    list all(22);
    std::iota(all.begin(), all.end(), 0);
    q.fill(s, all);
    std::set<std::int64_t> seen;
    list order;
    const auto take_five = [&] {
        for (const std::int64_t n : numbers_in(s.run_for(late, five))) {
            CHECK(seen.insert(n).second);
            order.push_back(n);
        }
    };
    take_five();
    take_five();
    CHECK(!std::is_sorted(order.begin(), order.end()));
    CHECK(q.count(s) == 12);
    elsewhere waiting(take_five);
    CHECK(waiting.waits());
    q.fill(s, {22});
    q.fill(s, {23});
    CHECK(waiting.waits()); // two of three
    q.fill(s, {24});
    CHECK(waiting.end() == "");
    CHECK(q.count(s) == 10);
    CHECK_THROWS_AS(s.run_for(soon, q.next), tn::deadline_exceeded_error);
    s.run(q.q.close());
    take_five();
    take_five();
    CHECK(seen.size() == 25);
    CHECK_THROWS_AS(q.take(s), tn::end_of_data_error);
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 34: 3x2, 1x1 and 2x4 become three 3x4, filled up with zeros") {
    const tn::padding_fifo_queue<tn::component<float, tn::shape<tn::dyn, tn::dyn>>> q(10);
    const auto some = tn::placeholder<float, tn::shape<tn::dyn, tn::dyn>>("some");
    const auto put = q.enqueue(some);
    const auto fill = [&] {
        s.run(tn::feed(some, {{1, 2}, {3, 4}, {5, 6}}), put);
        s.run(tn::feed(some, {{7}}), put);
        s.run(tn::feed(some, {{8, 9, 10, 11}, {12, 13, 14, 15}}), put);
    };
    fill();
    const auto three = s.run(q.dequeue_many<3>());
    CHECK(three.extents() == tn::extents{3, 3, 4});
    const float expected[] = {1, 2, 0, 0, 3, 4, 0, 0, 5,  6,  0,  0,  7,  0,  0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0};
    CHECK(std::equal(three.data(), three.data() + 36, expected));
    fill();
    const auto next = q.dequeue(); // singly, each has its own size
    CHECK(s.run(next).extents() == tn::extents{3, 2});
    CHECK(s.run(next).extents() == tn::extents{1, 1});
    CHECK(s.run(sum<1>(next)).extents() == tn::extents{2});
}

TEST_CASE_FIXTURE(in_session, "elements of different sizes make no batch of a queue that does not pad") {
    const tn::fifo_queue<tn::component<float, tn::shape<tn::dyn>>> q(10);
    const auto some = tn::placeholder<float, tn::shape<tn::dyn>>("some");
    const auto put = q.enqueue(some);
    s.run(tn::feed(some, {1, 2}), put);
    s.run(tn::feed(some, {1, 2, 3}), put);
    CHECK_ERROR(tn::invalid_argument_error, "use a padding queue", s.run(q.dequeue_many<2>()));
    const auto next = q.dequeue();
    CHECK(s.run(next + next).extents() == tn::extents{2});
    CHECK(s.run(sum(next)).item() == 6);
}

TEST_CASE_FIXTURE(in_session, "a priority queue gives the least first, of equal ones the first") {
    const tn::priority_queue<std::string> q(10);
    s.run(q.enqueue(3, "c"));
    s.run(q.enqueue(-1, "a"));
    s.run(q.enqueue(3, "d"));
    s.run(q.enqueue(2, "b"));
    const auto next = q.dequeue();
    std::string order;
    for (int i = 0; i < 4; ++i) order += s.run(std::get<1>(next)).item();
    CHECK(order == "abcd");
}

TEST_CASE_FIXTURE(in_graph, "named sizes are known when an element is there, and agree in the step") {
    const tn::fifo_queue<tn::component<float, tn::shape<3>>, std::int32_t> q(10);
    const auto xs = tn::placeholder<float, tn::shape<batch, 3>>("xs");
    const auto ys = tn::placeholder<std::int32_t, tn::shape<batch>>("ys");
    const auto put = q.enqueue_many(xs, ys);
    const auto [x, y] = q.dequeue_up_to<batch>(4);
    const auto w = tn::constant({{1.0f}, {2.0f}, {3.0f}});
    const auto weighted = sum(matmul(x, w) * tn::reshape<tn::shape<batch, 1>>(cast<float>(y)));
    const auto scale = tn::placeholder<float, tn::shape<batch>>("scale");
    const auto scaled = identity(scale * cast<float>(y));
    const auto close = q.close();
    const auto size = q.size();
    const auto one = std::get<0>(q.dequeue());
    const auto four = tn::array<float, tn::shape<batch, 3>>{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    const auto labels = tn::array<std::int32_t, tn::shape<batch>>{1, 2, 3, 4};
    in_every_session([&](tn::session& s) {
        const auto fill = [&] { s.run(tn::feed(xs, four), tn::feed(ys, labels), put); };
        fill();
        CHECK(s.run(weighted).item() == 1 + 4 + 9 + 24);
        fill();
        CHECK(s.run(tn::feed(scale, {4, 3, 2, 1}), scaled)(1) == 6);
        fill();
        CHECK_THROWS_AS(s.run(tn::feed(scale, {1, 2, 3}), scaled), tn::invalid_argument_error);
        s.run(tn::feed(xs, {{5, 0, 0}}), tn::feed(ys, {2}), put);
        s.run(close);
        while (s.run(size).item() > 1) s.run(one);
        CHECK(s.run(tn::feed(scale, {7}), scaled)(0) == 14); // what is left
    });
}

TEST_CASE_FIXTURE(in_session, "named sizes of components stay named: an element has its own, and one in a step") {
    const tn::fifo_queue<tn::component<float, tn::shape<batch, 2>>, tn::component<float, tn::shape<batch>>> q(10);
    const auto xs = tn::placeholder<float, tn::shape<batch, 2>>("xs");
    const auto ys = tn::placeholder<float, tn::shape<batch>>("ys");
    const auto put = q.enqueue(xs, ys);
    const auto [x, y] = q.dequeue();
    const auto products = sum<1>(x) * y; // float[batch]
    s.run(tn::feed(xs, {{1, 2}, {3, 4}}), tn::feed(ys, {10, 20}), put);
    s.run(tn::feed(xs, {{5, 6}}), tn::feed(ys, {30}), put);
    const auto two = s.run(products);
    CHECK(two(0) == 30);
    CHECK(two(1) == 140);
    CHECK(s.run(products)(0) == 330);
}

TEST_CASE_FIXTURE(in_session, "text, and elements without elements") {
    const tn::fifo_queue<std::string, tn::component<float, tn::shape<0, 2>>> q(3, {.name = "texts"});
    const auto empty = tn::zeros<float, tn::shape<0, 2>>();
    s.run(q.enqueue("", empty));
    s.run(q.enqueue("long enough not to fit into a small string", empty));
    const auto [text, nothing] = q.dequeue_many<2>();
    const auto [t, n] = s.run(text, nothing);
    CHECK(t(0) == "");
    CHECK(t(1) == "long enough not to fit into a small string");
    CHECK(n.extents() == tn::extents{2, 0, 2});
    CHECK(s.run(q.size()).item() == 0);
}
