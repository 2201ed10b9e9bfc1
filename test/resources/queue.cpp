#include "resources/queue_attempts.hpp"

// Queues as resources: what waits is kept, and completed later (SEMANTICS 30 to 34). What any sequence of calls gives: queue_random.cpp.

using namespace queues;
using tn::element_type;

namespace {

void put(tn::queue_resource& q, const std::vector<std::int64_t>& all) {
    for (const std::int64_t n : all) {
        attempt a(number(n));
        q.enqueue(a);
        REQUIRE(a.done);
        REQUIRE(a.failure.empty());
    }
}
std::vector<std::int64_t> take(tn::queue_resource& q, int n) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < n; ++i) {
        attempt a;
        q.dequeue(a);
        REQUIRE(a.done);
        REQUIRE(a.failure.empty());
        all.push_back(a.got()[0]);
    }
    return all;
}

} // namespace

TEST_CASE("SEMANTICS 31: who finds it full or empty waits, first come, first served") {
    tn::queue_resource q("q", of_numbers(2));
    attempt first, second;
    q.dequeue(first);
    q.dequeue(second);
    CHECK(!first.done);
    put(q, {1});
    CHECK(first.done);
    CHECK(first.got() == list{1});
    CHECK(!second.done);
    put(q, {2, 3, 4});
    CHECK(second.got() == list{2});
    attempt third(number(5)), many(numbers({6, 7, 8})), last(number(9));
    q.enqueue(third);
    q.enqueue_many(many);
    q.enqueue(last);
    CHECK(!third.done);
    CHECK(take(q, 1) == list{3});
    CHECK(third.done);
    CHECK(take(q, 2) == list{4, 5});
    CHECK(!many.done); // 6 and 7 are in, and it is full
    CHECK(take(q, 1) == list{6});
    CHECK(many.done);
    CHECK(!last.done);
    CHECK(take(q, 1) == list{7});
    CHECK(last.done);
    CHECK(take(q, 2) == list{8, 9});
}

TEST_CASE("who waits is told for what; numbers that make no sense are refused") {
    tn::queue_resource q("q", of_numbers(4));
    attempt waits, none;
    q.dequeue_some(waits, 2, 8);
    CHECK(q.awaited(waits) == "queue \"q\" to have 2 elements; it has 0");
    CHECK(message_of<tn::invalid_argument_error>([&] { q.dequeue_some(none, 3, 2); }) ==
          "queue \"q\": 3 to 2 elements cannot be dequeued; give 0 or more, and as most no fewer than as least");
    CHECK(q.stop(waits));
}

TEST_CASE("SEMANTICS 31: a batch of a priority queue is the least that there are when it completes, in order") {
    tn::queue_description d = of_numbers(3);
    d.order = tn::queue_order::priority;
    tn::queue_resource q("q", d);
    SUBCASE("those that came while it waited, too") {
        attempt three;
        q.dequeue_many(three, 3);
        put(q, {9});
        attempt more(numbers({5, 4, 1}));
        q.enqueue_many(more);
        CHECK(three.got() == list{1, 4, 5});
        CHECK(take(q, 1) == list{9});
    }
    SUBCASE("of more than it ever holds") {
        attempt five;
        q.dequeue_many(five, 5);
        put(q, {9, 2, 7, 3});
        attempt more(numbers({8, 1, 6}));
        q.enqueue_many(more);
        CHECK(five.got() == list{1, 2, 3, 6, 7});
        CHECK(take(q, 2) == list{8, 9});
    }
    SUBCASE("what is left of a closed one") {
        attempt up_to, some;
        q.dequeue_up_to(up_to, 4);
        put(q, {9, 2, 7});
        q.close();
        CHECK(up_to.got() == list{2, 7, 9});
    }
    SUBCASE("and of several attempts the one that came first has the least") {
        attempt first, second;
        q.dequeue_many(first, 2);
        q.dequeue_some(second, 2, 3);
        put(q, {9});
        attempt more(numbers({5, 4, 1}));
        q.enqueue_many(more);
        CHECK(first.got() == list{1, 4});
        CHECK(second.got() == list{5, 9});
    }
}

TEST_CASE("SEMANTICS 32: who closes a queue that is closed is told so") {
    tn::queue_resource q("jobs", of_numbers(4));
    CHECK(!q.is_closed());
    q.close();
    CHECK(message_of<tn::aborted_error>([&] { q.close(); }) == "queue \"jobs\" is closed already.");
}

TEST_CASE("an attempt that was stopped can be asked anew") {
    tn::queue_resource q("q", of_numbers(3));
    attempt a;
    q.dequeue_many(a, 3);
    put(q, {1});
    CHECK(q.stop(a));
    CHECK(!a.done);
    q.dequeue(a);
    CHECK(a.got() == list{1});
}

TEST_CASE("what was dequeued and is given back has its place in the order again, whoever is first to do so") {
    tn::queue_resource q("q", of_numbers(3));
    put(q, {1, 2, 3});
    attempt first, second;
    for (attempt* a : {&first, &second}) {
        a->keeps = true;
        q.dequeue(*a);
    }
    q.give_back(first);
    q.give_back(second);
    CHECK(take(q, 3) == list{1, 2, 3});
}

TEST_CASE("SEMANTICS 33: of a shuffled queue so many stay until it is closed, and three wanted complete with three") {
    tn::queue_description d = of_numbers(50);
    d.order = tn::queue_order::shuffled;
    d.min_after_dequeue = 10;
    d.key = tn::random_key(1, 2);
    tn::queue_resource q("q", d), same("same", d);
    for (tn::queue_resource* each : {&q, &same}) {
        list all(22);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
        put(*each, all);
    }
    attempt a, b, c;
    q.dequeue_many(a, 5);
    q.dequeue_many(b, 5);
    q.dequeue_many(c, 5);
    CHECK(a.done);
    CHECK(b.done);
    CHECK(!c.done);
    CHECK(q.size() == 10);
    put(q, {22, 23});
    CHECK(!c.done);
    put(q, {24});
    CHECK(c.done);
    attempt x, y;
    same.dequeue_many(x, 5);
    same.dequeue_many(y, 5);
    CHECK(x.got() == a.got()); // the same seeds
    CHECK(y.got() == b.got());
    CHECK(a.got() != list{0, 1, 2, 3, 4});
    q.close();
    list rest = take(q, 10);
    for (const attempt* each : {&a, &b, &c}) {
        const list got = each->got();
        rest.insert(rest.end(), got.begin(), got.end());
    }
    std::sort(rest.begin(), rest.end());
    for (std::size_t i = 0; i < 25; ++i) CHECK(rest[i] == static_cast<std::int64_t>(i)); // each once
}

TEST_CASE("SEMANTICS 33: a shuffled queue takes each element with the same probability") {
    tn::queue_description d = of_numbers(8);
    d.order = tn::queue_order::shuffled;
    d.key = tn::random_key(3, 4);
    tn::queue_resource q("q", d);
    int places[8][8] = {}; // of each number
    for (int round = 0; round < 4000; ++round) {
        put(q, {0, 1, 2, 3, 4, 5, 6, 7});
        const list out = take(q, 8);
        for (std::size_t i = 0; i < 8; ++i) ++places[out[i]][i];
    }
    for (const auto& of_one : places)
        for (const int n : of_one) CHECK(std::abs(n - 500) < 120); // 5.7 standard deviations
}

TEST_CASE("SEMANTICS 34: elements of several sizes are padded to the largest of a batch, and have their own alone") {
    tn::queue_description d;
    d.components = {{element_type::float32, {tn::dynamic_extent, tn::dynamic_extent}}, {element_type::string, {}}};
    d.capacity = 10;
    d.padded = true;
    tn::queue_resource q("q", d);
    const auto enqueue = [&](const tn::array<float>& x, const std::string& name) {
        attempt a;
        a.tuple.push_back(x.untyped().copy());
        a.tuple.push_back(tn::any_array(element_type::string, {}));
        *a.tuple[1].data<std::string>() = name;
        q.enqueue(a);
        CHECK(a.failure.empty());
    };
    enqueue({{1, 2}, {3, 4}, {5, 6}}, "3x2");
    enqueue({{7}}, "1x1");
    enqueue({{1, 2, 3, 4}, {5, 6, 7, 8}}, "2x4");
    enqueue({{9, 9}}, "1x2");
    attempt three;
    q.dequeue_many(three, 3);
    REQUIRE(three.tuple[0].type() == tn::tensor_type{element_type::float32, {3, 3, 4}});
    const std::vector<float> wanted{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 0, 0, 0, 0, 0,
                                    0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
    CHECK(std::equal(wanted.begin(), wanted.end(), three.tuple[0].data<float>()));
    CHECK(three.tuple[1].data<std::string>()[2] == "2x4");
    attempt alone;
    q.dequeue(alone);
    CHECK(alone.tuple[0].type() == tn::tensor_type{element_type::float32, {1, 2}});
}

TEST_CASE("elements of several sizes are dequeued singly; together they are refused, and none is lost") {
    tn::queue_description d{.components = {{element_type::int64, {tn::dynamic_extent}}}, .capacity = 10};
    tn::queue_resource q("q", d);
    for (const list& l : {list{1}, list{2, 3}, list{4, 5}}) {
        attempt a(numbers(l));
        q.enqueue(a);
    }
    attempt three;
    q.dequeue_many(three, 3);
    CHECK(three.failure.find(
              "invalid_argument: queue \"q\": elements with component 0 as int64[1] and int64[2] make no batch") == 0);
    CHECK(q.size() == 3);
    attempt one, two;
    q.dequeue(one);
    CHECK(one.got() == list{1});
    q.dequeue_many(two, 2);
    CHECK(two.tuple[0].type() == tn::tensor_type{element_type::int64, {2, 2}});
    CHECK(two.got() == list{2, 3, 4, 5});
}

TEST_CASE("SEMANTICS 30: a priority queue gives the least first, and of equal ones the first that came") {
    tn::queue_description d;
    d.order = tn::queue_order::priority;
    d.components = {{element_type::int64, {}}, {element_type::int64, {}}};
    d.capacity = 10;
    tn::queue_resource q("q", d);
    attempt a;
    a.tuple.push_back(numbers({3, 1, 2, 1, -5}));
    a.tuple.push_back(numbers({30, 10, 20, 11, -50}));
    q.enqueue_many(a);
    attempt five;
    q.dequeue_many(five, 5);
    CHECK(five.got() == list{-5, 1, 1, 2, 3});
    CHECK(values_of(five.tuple[1]) == list{-50, 10, 11, 20, 30});
    d.components[0] = {element_type::float32, {}};
    CHECK_ERROR(tn::invalid_argument_error,
                "component 0 of a priority queue is the priority, a scalar int64, not float[]",
                tn::queue_resource("q", d));
}

TEST_CASE("what does not fit a queue is refused when it is asked, with names, types and sizes") {
    tn::queue_description d{.components = {{element_type::float32, {2}}, {element_type::string, {}}}, .capacity = 0};
    const auto refused = [&] { return message_of<tn::invalid_argument_error>([&] { tn::queue_resource("q", d); }); };
    CHECK(refused() == "queue \"q\": its capacity is 0; give 1 or more");
    d.capacity = 5;
    d.min_after_dequeue = 5;
    CHECK(contains(refused(), "min_after_dequeue is 5 of a capacity of 5"));
    d.min_after_dequeue = 0;
    d.components.clear();
    CHECK(contains(refused(), "no components"));
    tn::queue_resource q("jobs", of_numbers(5));
    const auto words = [&](attempt& a, bool many) {
        return message_of<tn::invalid_argument_error>([&] { many ? q.enqueue_many(a) : q.enqueue(a); });
    };
    attempt none, floats(tn::any_array(element_type::float32, {})), row(numbers({1, 2})), scalar(number(1));
    CHECK(words(none, false) == "queue \"jobs\": its elements have 1 components, and 0 are enqueued");
    CHECK(contains(words(floats, false), "component 0 is int64[], and float[] is enqueued"));
    CHECK(contains(words(row, false), "component 0 is int64[], and int64[2] is enqueued"));
    CHECK(contains(words(scalar, true), "component 0 is int64[?], and int64[] is enqueued"));
    CHECK_ERROR(tn::invalid_argument_error, "-1 elements", q.dequeue_many(none, -1));
    CHECK(q.size() == 0);
    tn::queue_description two = of_numbers(5);
    two.components.push_back(two.components[0]);
    tn::queue_resource pairs("pairs", two);
    attempt uneven(numbers({1, 2}));
    uneven.tuple.push_back(numbers({3}));
    CHECK(message_of<tn::invalid_argument_error>([&] { pairs.enqueue_many(uneven); }) ==
          "queue \"pairs\": component 0 has 2 elements, component 1 has 1");
    CHECK(to_string(of_numbers(5)) == "queue of (int64[]), capacity 5");
}

TEST_CASE("SEMANTICS 25: who waits on a queue whose container is cleared is told") {
    tn::resource_manager r;
    const auto q = r.find_or_make<tn::queue_resource>(
        "box", "jobs", [] { return std::make_shared<tn::queue_resource>("jobs", of_numbers(1)); });
    attempt waiting, later;
    q->dequeue(waiting);
    r.clear("box");
    CHECK(waiting.failure == "aborted: queue \"jobs\": its container was reset.");
    q->dequeue(later);
    CHECK(later.failure == waiting.failure);
}
