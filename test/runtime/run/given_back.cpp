#include <fstream>

#include <tenon/input.hpp>

#include "tests.hpp"

// SEMANTICS 17: what a step took from queues and did not use is put back where it is late, stopped, or fails. Over several tasks: net/server/given_back.cpp.

namespace {

using number = std::int64_t;

// What is in a queue, in order; it is empty afterwards.
template <class Q> std::vector<number> rest_of(tn::session& s, const Q& q) {
    std::vector<number> all;
    for (auto n = s.run(q.size()).item(); n > 0; --n) all.push_back(s.run(q.dequeue()).item());
    return all;
}
template <class Q> void put(tn::session& s, const Q& q, const std::vector<number>& all) {
    for (const number n : all) s.run(q.enqueue(n));
}

} // namespace

TEST_CASE_FIXTURE(
    in_graph,
    "S17, S45: of two dequeues of which one waits in vain the other's element is first again, run or started") {
    const tn::fifo_queue<number> a(10), b(10);
    const auto x = a.dequeue(), y = b.dequeue();
    const auto sum = x + y;
    tn::session s;
    put(s, a, {1, 2, 3});
    const auto step = s.callable(tn::feeds(), tn::fetches(sum, x * number{2}));
    CHECK_THROWS_AS((void)step.run_for(0.02), tn::deadline_exceeded_error);
    CHECK_THROWS_AS((void)step.start_for(0.02).get(), tn::deadline_exceeded_error);
    const auto stopped = step.start();
    while (s.run(a.size()).item() != 2) {
    }
    stopped.stop();
    CHECK_THROWS_AS((void)stopped.get(), tn::cancelled_error);
    CHECK(s.run(a.size()).item() == 3);
    put(s, b, {10});
    CHECK(std::get<0>(step()).item() == 11);
    s.run(b.close());
    CHECK_THROWS_AS((void)step(), tn::end_of_data_error);
    CHECK(rest_of(s, a) == std::vector<number>{2, 3});
}

TEST_CASE_FIXTURE(in_graph,
                  "S17: batches are given back element by element, of every kind of queue, with their own sizes") {
    const tn::fifo_queue<number> never(1), fifo(10);
    const tn::priority_queue<number> least(10);
    const tn::padding_fifo_queue<tn::component<float, tn::shape<tn::dyn>>> padded(10);
    tn::session s;
    put(s, fifo, {4, 5, 6});
    for (const number n : {9, 7, 8}) s.run(least.enqueue(n, n));
    s.run(padded.enqueue(tn::constant({1.0f, 2.0f})));
    s.run(padded.enqueue(tn::constant({3.0f})));
    const auto of_fifo = fifo.dequeue_many<2>();
    const auto of_least = std::get<0>(least.dequeue_many<2>());
    const auto of_padded = padded.dequeue_many<2>();
    CHECK_THROWS_AS((void)s.run_for(0.02, of_fifo, of_least, of_padded, never.dequeue()), tn::deadline_exceeded_error);
    CHECK(rest_of(s, fifo) == std::vector<number>{4, 5, 6});
    for (const number n : {7, 8, 9}) CHECK(s.run(std::get<0>(least.dequeue())).item() == n);
    CHECK(s.run(padded.dequeue()).extents() == tn::extents{2});
    CHECK(s.run(padded.dequeue()).extents() == tn::extents{1});
}

TEST_CASE_FIXTURE(in_graph, "S17: what one step took of one queue by several ops is in its order again") {
    const tn::fifo_queue<number> a(10), never(1);
    const auto one = a.dequeue(), two = a.dequeue(), three = a.dequeue();
    const auto four = a.dequeue_many<2>();
    tn::session s;
    put(s, a, {1, 2, 3, 4, 5, 6});
    for (int i = 0; i < 3; ++i)
        CHECK_THROWS_AS((void)s.run_for(0.02, three, never.dequeue(), one, four, two), tn::deadline_exceeded_error);
    CHECK(rest_of(s, a) == std::vector<number>{1, 2, 3, 4, 5, 6});
}

TEST_CASE_FIXTURE(in_graph, "S17: who waits for an element gets the one that is given back") {
    const tn::fifo_queue<number> a(10), never(1);
    tn::session s({.intra_op_threads = 2, .use_per_session_threads = true});
    put(s, a, {1});
    const auto both = s.callable(tn::feeds(), tn::fetches(a.dequeue(), never.dequeue())).start();
    while (s.run(a.size()).item() != 0) {
    }
    const auto waits = s.callable(tn::feeds(), tn::fetches(a.dequeue())).start();
    both.stop();
    CHECK(std::get<0>(waits.get()).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "S17: what went through ops whose values decide their sizes is given back, too") {
    const tn::fifo_queue<number> q(10), never(1);
    const auto table = tn::variable<float, tn::shape<8, 2>>("table", tn::ones(), {.partition = {.parts = 3}});
    const auto x = q.dequeue_many<2>();
    const auto positive = tn::sum(tn::boolean_mask<tn::dyn>(x, x > number{0}));
    const auto [distinct, which] = tn::unique(x);
    const auto rows = tn::sum(tn::gather(table, x));
    initialized_session s;
    put(s, q, {3, 5, 3});
    const auto late = s.callable(tn::feeds(), tn::fetches(positive, distinct, which, rows, never.dequeue()));
    CHECK_THROWS_AS((void)late.run_for(0.02), tn::deadline_exceeded_error);
    auto stopped = late.start();
    while (s.run(q.size()).item() != 1) {
    }
    stopped.stop();
    CHECK_THROWS_AS((void)stopped.get(), tn::cancelled_error);
    CHECK(rest_of(s, q) == std::vector<number>{3, 5, 3});
}

TEST_CASE_FIXTURE(in_graph, "S17: what another stage of the step fails over is given back") {
    const tn::fifo_queue<number> q(10);
    const auto v = tn::variable("v", number{0});
    const auto fits = tn::placeholder<bool>("fits");
    const auto added = v.assign_add(q.dequeue());
    const auto asserted = tn::assert_true(fits, "it does not fit");
    initialized_session s;
    put(s, q, {1, 2});
    CHECK_THROWS_AS((void)s.run(tn::feed(fits, false), added, asserted), tn::invalid_argument_error);
    CHECK(s.run(v).item() == 0);
    s.run(tn::feed(fits, true), added, asserted);
    CHECK(s.run(v).item() == 1);
    CHECK(rest_of(s, q) == std::vector<number>{2});
}

TEST_CASE_FIXTURE(in_graph, "S17: what changed something is used, and so is what a stage failed over") {
    const tn::fifo_queue<number> a(10), b(10), full(1);
    const auto v = tn::variable("v", number{0});
    tn::session s;
    s.run(v.initializer());
    put(s, a, {1, 2, 3, 4});
    // An update, and then a wait.
    s.run(full.enqueue(number{0}));
    const auto after = full.enqueue(v.assign_add(a.dequeue()));
    CHECK_THROWS_AS(s.run_for(0.02, after), tn::deadline_exceeded_error);
    CHECK(s.run(v).item() == 1);
    CHECK(s.run(a.size()).item() == 3);
    // It is in another queue.
    const tn::fifo_queue<number> never(1);
    CHECK_THROWS_AS((void)s.run_for(0.02, b.enqueue(a.dequeue()), never.dequeue()), tn::deadline_exceeded_error);
    CHECK(rest_of(s, b) == std::vector<number>{2});
    CHECK(s.run(a.size()).item() == 2);
    // It cannot be computed with.
    const auto picked = tn::gather(tn::constant({1.0f, 2.0f}), tn::reshape<tn::shape<1>>(a.dequeue() * number{10}));
    CHECK_THROWS_AS((void)s.run(picked), tn::invalid_argument_error);
    CHECK(rest_of(s, a) == std::vector<number>{4});
}

TEST_CASE_FIXTURE(
    in_graph, "S17, S35, S38: records of a reader and elements of an iterator that a late step took come again, states "
              "included") {
    const temporary_folder folder;
    const std::string file = folder / "lines.txt";
    std::ofstream(file) << "one\ntwo\nthree\nfour\n";
    const tn::fifo_queue<std::string> names(3);
    const tn::text_line_reader reader;
    const auto [key, line] = reader.read(names);
    const auto [keys, lines] = reader.read_up_to(names, 2);
    const auto it = tn::make_one_shot_iterator(tn::data::range(5));
    const auto element = it.get_next();
    const tn::fifo_queue<number> never(1);
    const auto wait = never.dequeue();
    tn::session s;
    s.run(names.enqueue(file));
    s.run(names.close());
    const auto late = [&](auto... fetches) {
        CHECK_THROWS_AS((void)s.run_for(0.02, wait, fetches...), tn::deadline_exceeded_error);
    };
    late(line, element);
    CHECK(s.run(element).item() == 0);
    CHECK(s.run(line).item() == "one");
    late(keys, element);
    const std::string state = s.run(it.save()).item();
    CHECK(s.run(element).item() == 1);
    CHECK(s.run(keys)(0) == file + ":2");
    CHECK(s.run(lines)(0) == "four");
    CHECK(s.run(reader.num_records_produced()).item() == 4);
    s.run(it.restore(tn::constant(state)));
    for (const number n : {1, 2, 3, 4}) CHECK(s.run(element).item() == n);
    CHECK_THROWS_AS((void)s.run(element), tn::end_of_data_error);
}

TEST_CASE_FIXTURE(in_graph, "S17: what several steps took and gave back in any order is in its order again") {
    const temporary_folder folder;
    std::ofstream(folder / "lines") << "0\n1\n2\n3\n4\n5\n";
    const tn::fifo_queue<number> never(1), queue(10);
    const tn::fifo_queue<std::string> names(2);
    const auto it = tn::make_initializable_iterator(tn::data::range(6));
    const auto waits = tn::make_initializable_iterator(tn::data::range(6).map_host([](number n) { return n; }));
    const tn::text_line_reader reader;
    const auto [key, line] = reader.read(names);
    const auto x = it.get_next(), y = waits.get_next(), z = queue.dequeue();
    tn::session s({.intra_op_threads = 2, .use_per_session_threads = true});
    const auto step = s.callable(tn::feeds(), tn::fetches(x, y, z, line, never.dequeue()));
    s.run(names.enqueue(folder / "lines"));
    put(s, queue, {0, 1, 2, 3, 4, 5});
    s.run(it.initializer(), waits.initializer());
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<decltype(step.start())> all;
        for (unsigned i = 0; i < 2 + random() % 4; ++i) all.push_back(step.start());
        if (random() % 2) // some have taken all that they can
            while (s.run(queue.size()).item() > 4) {
            }
        std::shuffle(all.begin(), all.end(), random);
        for (const auto& started : all) started.stop();
        for (const auto& started : all) CHECK_THROWS_AS((void)started.get(), tn::cancelled_error);
    }
    for (number n = 0; n < 6; ++n) {
        CHECK(s.run(x).item() == n);
        CHECK(s.run(y).item() == n);
        CHECK(s.run(z).item() == n);
        CHECK(s.run(line).item() == std::to_string(n));
    }
}

TEST_CASE("S17: what does not fit the step that took it is given back too") {
    static constexpr struct n_t : tn::dim<"n"> {} n;
    using vector = tn::shape<n>;
    const auto of_size = [](std::int64_t size) {
        return tn::array<float, vector>(tn::any_array::zeros(tn::element_type::float32, tn::extents{size}));
    };
    const own_graph g;
    const tn::fifo_queue<tn::component<float, vector>> a(10), b(10);
    const tn::fifo_queue<number> never(1);
    const auto it = tn::make_one_shot_iterator(tn::data::range(6).map_host([&](number i) {
        auto v = of_size(2);
        v.data()[0] = v.data()[1] = static_cast<float>(i);
        return v;
    }));
    const auto x = a.dequeue(), y = b.dequeue(), z = it.get_next();
    const auto given = tn::placeholder<float, vector>("given");
    const auto to_a = a.enqueue(given), to_b = b.enqueue(given);
    tn::session s;
    s.run(to_a, tn::feed(given, of_size(2)));
    s.run(to_b, tn::feed(given, of_size(3)));
    for (int i = 0; i < 20; ++i) { // whichever comes second does not fit
        CHECK_THROWS_AS((void)s.run(x, y), tn::invalid_argument_error);
        CHECK_THROWS_AS((void)s.run(z, y, never.dequeue()), tn::invalid_argument_error);
        CHECK(s.run(a.size()).item() == 1);
        CHECK(s.run(b.size()).item() == 1);
    }
    CHECK_THROWS_AS((void)s.run_for(0.02, z, x, never.dequeue()), tn::deadline_exceeded_error);
    for (int i = 0; i < 3; ++i) CHECK(s.run(z).data()[1] == static_cast<float>(i));
}
