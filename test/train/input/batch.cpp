#include <tenon/input.hpp>

#include "tests.hpp"
#include "train/running_session.hpp"

namespace {

inline constexpr struct some : tn::dim<"some"> {} some;
using numbers = std::vector<std::int64_t>;

template <class A> numbers numbers_in(const A& a) { return {a.begin(), a.end()}; }
// The batches that steps give, until the data end.
template <class T> std::vector<numbers> drained(const T& next, tn::graph& g) {
    std::vector<numbers> all;
    running_session sess(g);
    while (sess.coord.stop_on_exception([&] { all.push_back(numbers_in(sess.run(next))); })) {
    }
    sess.coord.join();
    return all;
}
auto counted(std::int64_t limit, std::int64_t epochs = 1) {
    return tn::range_input_producer(limit, {.num_epochs = epochs, .shuffle = false}).dequeue();
}
numbers joined(const std::vector<numbers>& batches) {
    numbers all;
    for (const numbers& b : batches) all.insert(all.end(), b.begin(), b.end());
    return all;
}
numbers sorted(numbers all) {
    std::sort(all.begin(), all.end());
    return all;
}
numbers up_to(std::int64_t n) {
    numbers all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(i);
    return all;
}

} // namespace

TEST_CASE("SEMANTICS 37: batch stacks what comes one by one; what makes no full batch at the end is dropped") {
    own_graph g;
    const auto b = tn::input::batch<3>(counted(7));
    static_assert(std::is_same_v<decltype(b), const tn::tensor<std::int64_t, tn::shape<3>>>);
    CHECK(drained(b, g) == std::vector<numbers>{{0, 1, 2}, {3, 4, 5}});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: with allow_smaller_final_batch the last batch has what is left") {
    const auto b = tn::input::batch<some>(counted(7), 3, {.allow_smaller_final_batch = true});
    static_assert(std::is_same_v<decltype(b), const tn::tensor<std::int64_t, tn::shape<some>>>);
    CHECK(drained(b, g) == std::vector<numbers>{{0, 1, 2}, {3, 4, 5}, {6}});
}

TEST_CASE("batches of a size that is known where the graph is made alone are dynamic in their types") {
    own_graph g;
    const auto b = tn::input::batch(counted(4), 2);
    static_assert(std::is_same_v<decltype(b), const tn::tensor<std::int64_t, tn::shape<tn::dyn>>>);
    CHECK(drained(b, g) == std::vector<numbers>{{0, 1}, {2, 3}});
}

TEST_CASE_FIXTURE(in_graph, "a tuple stays together, with several threads") {
    const auto i = counted(100);
    const auto [x, y] = tn::input::batch<10>(std::tuple{i, i * std::int64_t{2}}, {.threads = 4, .capacity = 7});
    running_session sess(g);
    CHECK(sess.started == 5);
    numbers all;
    for (int k = 0; k < 10; ++k) {
        const auto [a, b] = sess.run(x, y);
        for (int j = 0; j < 10; ++j) {
            CHECK(b(j) == 2 * a(j));
            all.push_back(a(j));
        }
    }
    CHECK(sorted(all) == up_to(100));
    CHECK_THROWS_AS((void)sess.run(x), tn::end_of_data_error);
    sess.coord.request_stop();
    sess.coord.join();
}

TEST_CASE_FIXTURE(in_graph, "elements along dimension 0 are enqueued as many") {
    const auto pairs = tn::range_input_producer(10, {.num_epochs = 1, .shuffle = false}).dequeue_many<2>();
    const auto b = tn::input::batch<5, tn::enqueue_as::many>(pairs);
    CHECK(drained(b, g) == std::vector<numbers>{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}});
}

TEST_CASE(
    "SEMANTICS 34: dynamic_pad fills up the elements of a batch; without it a batch of different ones is an error") {
    for (const bool pads : {true, false}) {
        CAPTURE(pads);
        own_graph g;
        const tn::padding_fifo_queue<tn::component<std::int64_t, tn::shape<tn::dyn>>> from(9);
        const auto put = tn::placeholder<std::int64_t, tn::shape<tn::dyn>>("put");
        const auto fill = from.enqueue(put);
        const auto close = from.close();
        const auto b = tn::input::batch<2>(from.dequeue(), {.dynamic_pad = pads});
        static_assert(std::is_same_v<decltype(b), const tn::tensor<std::int64_t, tn::shape<2, tn::dyn>>>);
        tn::session sess(g, {.operation_timeout = 60});
        for (const std::int64_t n : {3, 1}) {
            tn::any_array a(tn::element_type::int64, tn::extents(n));
            std::fill_n(a.data<std::int64_t>(), n, n);
            sess.run(tn::feed(put, a), fill);
        }
        sess.run(close);
        tn::coordinator coord;
        tn::start_queue_runners(sess, coord);
        if (pads) CHECK(numbers_in(sess.run(b)) == numbers{3, 3, 3, 1, 0, 0});
        else CHECK_THROWS_AS((void)sess.run(b), tn::invalid_argument_error);
        coord.request_stop();
        coord.join();
    }
}

TEST_CASE("SEMANTICS 37: batch_join has threads for each of several sources, and ends with the last of them") {
    own_graph g;
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> sources;
    for (const std::int64_t n : {10, 0, 25}) {
        if (n == 0) continue;
        sources.push_back(counted(n) + std::int64_t{100} * n);
    }
    const auto b = tn::input::batch_join(sources, 4, {.threads = 2, .allow_smaller_final_batch = true});
    numbers wanted;
    for (const std::int64_t n : {10, 25})
        for (std::int64_t i = 0; i < n; ++i) wanted.push_back(100 * n + i);
    CHECK(sorted(joined(drained(b, g))) == sorted(wanted));
}

TEST_CASE("SEMANTICS 33, 37: shuffle_batch mixes; the same seeds and one thread give the same batches") {
    const auto run = [](std::uint64_t seed) {
        own_graph g;
        return joined(drained(tn::input::shuffle_batch<5>(counted(40, 2), 30, 20, {.seed = seed}), g));
    };
    const numbers all = run(7);
    CHECK(all.size() == 80);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::count(all.begin(), all.end(), i) == 2);
    CHECK(all != joined({up_to(40), up_to(40)}));
    CHECK(run(8) != all);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: shuffle_batch_join gives each element of its sources once") {
    using record = std::tuple<tn::tensor<std::int64_t, tn::shape<>>, tn::tensor<std::int64_t, tn::shape<>>>;
    std::vector<record> sources;
    for (int s = 0; s < 3; ++s) {
        const auto i = counted(20);
        sources.emplace_back(i + std::int64_t{100 * s}, i * std::int64_t{0} + std::int64_t{s});
    }
    const auto joined = tn::input::shuffle_batch_join<some>(sources, 4, 32, 16, {.allow_smaller_final_batch = true});
    const auto &x = std::get<0>(joined), &from = std::get<1>(joined);
    running_session sess(g);
    std::set<std::int64_t> came;
    std::size_t count = 0;
    while (sess.coord.stop_on_exception([&] {
        const auto [a, s] = sess.run(x, from);
        CHECK(a.size() == s.size());
        for (std::int64_t i = 0; i < a.size(); ++i) {
            CHECK(a.data()[i] / 100 == s.data()[i]);
            came.insert(a.data()[i]);
            ++count;
        }
    })) {
    }
    sess.coord.join();
    CHECK(count == 60);
    CHECK(came.size() == 60);
}

TEST_CASE_FIXTURE(in_graph, "what makes no batches is refused where the graph is made") {
    const auto i = counted(3);
    const tn::any_tensor x(i), text(tn::constant("a"));
    CHECK_ERROR(tn::invalid_argument_error, "batch<3>: the types say that each batch has 3 elements",
                tn::input::batch<3>(i, {.allow_smaller_final_batch = true}));
    CHECK_ERROR(tn::invalid_argument_error, "batch: batches of 0 elements", tn::input::batch(i, 0));
    CHECK_ERROR(tn::invalid_argument_error, "0 threads", tn::input::batch(i, 2, {.threads = 0}));
    CHECK_ERROR(tn::invalid_argument_error, "one tensor at least", tn::untyped::batch({}, 2));
    CHECK_ERROR(tn::invalid_argument_error, "has none", tn::untyped::batch({x}, 2, {}, tn::enqueue_as::many));
    CHECK_ERROR(tn::invalid_argument_error, "another 2", tn::untyped::batch_join({{x}, {x, x}}, 2));
    CHECK_ERROR(tn::invalid_argument_error, "value does not fit its component",
                tn::untyped::batch_join({{x}, {text}}, 2));
    CHECK_ERROR(tn::invalid_argument_error, "min_after_dequeue is 10", tn::input::shuffle_batch<2>(i, 10, 10));
    // Sizes of several sources that differ are not known, where batches are padded.
    const tn::any_tensor two(tn::constant({1.0f, 2.0f})), three(tn::constant({1.0f, 2.0f, 3.0f}));
    CHECK(tn::untyped::batch_join({{two}, {three}}, 2, {.dynamic_pad = true})[0].extents() ==
          tn::extents(2, tn::dynamic_extent));
}

TEST_CASE("SEMANTICS 37: an error of what makes the elements ends the batches, and join() rethrows it") {
    own_graph g;
    const auto v = tn::variable("never_initialised", std::int64_t{1});
    const auto b = tn::input::batch<2>(counted(5) + v);
    running_session sess(g);
    CHECK_FALSE(sess.coord.stop_on_exception([&] { (void)sess.run(b); }));
    const auto text = message_of<tn::failed_precondition_error>([&] { sess.coord.join(); });
    CHECK_MESSAGE(contains(text, "never_initialised"), text);
}
