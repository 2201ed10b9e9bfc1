#include <tenon/input.hpp>

#include "tests.hpp"
#include "train/running_session.hpp"

namespace {

using numbers = std::vector<std::int64_t>;

// What steps that fetch `next` give, until the data end.
template <class T> auto drained(const T& next, tn::graph& g) {
    std::vector<std::decay_t<decltype(std::declval<tn::session&>().run(next)())>> all;
    running_session sess(g);
    CHECK(sess.started >= 1);
    while (sess.coord.stop_on_exception([&] { all.push_back(sess.run(next)()); })) {
    }
    sess.coord.join();
    return all;
}
numbers range_in(const tn::producer_options& o, std::int64_t limit = 20) {
    own_graph g;
    return drained(tn::range_input_producer(limit, o).dequeue(), g);
}
bool is_permutation_of_range(numbers part) {
    std::sort(part.begin(), part.end());
    for (std::size_t i = 0; i < part.size(); ++i)
        if (part[i] != static_cast<std::int64_t>(i)) return false;
    return true;
}

} // namespace

TEST_CASE("SEMANTICS 37: string_input_producer gives the texts epoch after epoch, and closes its queue at the end") {
    own_graph g;
    const tn::queue<std::string> names =
        tn::string_input_producer({"a", "b", "c"}, {.num_epochs = 2, .shuffle = false, .capacity = 2});
    CHECK(drained(names.dequeue(), g) == std::vector<std::string>{"a", "b", "c", "a", "b", "c"});
}

TEST_CASE("SEMANTICS 37: shuffled, each epoch has another order, the same one for the same seeds") {
    const numbers all = range_in({.num_epochs = 3, .seed = 5});
    REQUIRE(all.size() == 60);
    std::set<numbers> epochs;
    for (int e = 0; e < 3; ++e) {
        const numbers epoch(all.begin() + 20 * e, all.begin() + 20 * (e + 1));
        CHECK(is_permutation_of_range(epoch));
        epochs.insert(epoch);
    }
    CHECK(epochs.size() == 3);
    CHECK(range_in({.num_epochs = 3, .seed = 5, .capacity = 3}) == all);
    CHECK(range_in({.num_epochs = 3, .seed = 6}) != all);
}

TEST_CASE("SEMANTICS 21, 37: with the graph's seed the order is the same in each session, and epochs begin anew") {
    own_graph g;
    g.set_seed(11);
    const auto next = tn::range_input_producer(10, {.num_epochs = 2}).dequeue();
    const numbers once = drained(next, g);
    CHECK(once.size() == 20);
    CHECK(drained(next, g) == once);
}

TEST_CASE_FIXTURE(in_graph, "without num_epochs there is no end") {
    const auto next = tn::range_input_producer(2, {.shuffle = false, .capacity = 3}).dequeue_many<2>();
    running_session sess(g);
    for (int i = 0; i < 50; ++i) {
        const auto two = sess.run(next);
        REQUIRE(two(0) == 0);
        REQUIRE(two(1) == 1);
    }
    sess.coord.request_stop();
    sess.coord.join();
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: input_producer gives the elements of a tensor along dimension 0") {
    const auto q = tn::input_producer(tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}),
                                      {.num_epochs = 1, .shuffle = false, .name = "rows"});
    CHECK(q.name() == "rows");
    const auto next = q.dequeue();
    running_session sess(g);
    for (int i = 0; i < 3; ++i) {
        const auto row = sess.run(next);
        CHECK(row(0) == static_cast<float>(2 * i + 1));
        CHECK(row(1) == static_cast<float>(2 * i + 2));
    }
    CHECK_THROWS_AS((void)sess.run(next), tn::end_of_data_error);
    sess.coord.request_stop();
    sess.coord.join();
}

TEST_CASE_FIXTURE(in_graph, "a producer of as many elements as its tensor has in the step") {
    const tn::fifo_queue<std::int64_t> from(9);
    const auto fill = from.enqueue_many(tn::constant({std::int64_t{4}, std::int64_t{5}, std::int64_t{6}}));
    const auto close = from.close();
    const auto next =
        tn::input_producer(from.dequeue_up_to(8), {.num_epochs = 1, .shuffle = false, .name = "x"}).dequeue();
    tn::session sess(g, {.operation_timeout = 60});
    sess.run(fill);
    sess.run(close);
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    for (const std::int64_t i : {4, 5, 6}) CHECK(sess.run(next)() == i);
    CHECK_THROWS_AS((void)sess.run(next), tn::end_of_data_error);
    coord.request_stop();
    coord.join();
}

TEST_CASE("SEMANTICS 37: slice_input_producer gives slices of several tensors that belong together, texts among them") {
    own_graph g;
    const auto images = tn::constant({{0.0f, 0.5f}, {1.0f, 1.5f}, {2.0f, 2.5f}, {3.0f, 3.5f}});
    const auto names = tn::constant(tn::array<std::string, tn::shape<4>>{"zero", "one", "two", "three"});
    const auto [image, name] = tn::slice_input_producer(std::tuple{images, names}, {.num_epochs = 5, .seed = 3});
    running_session sess(g);
    CHECK(sess.started == 1);
    const std::vector<std::string> all{"zero", "one", "two", "three"};
    std::multiset<std::string> came;
    for (int i = 0; i < 20; ++i) {
        const auto [x, n] = sess.run(image, name);
        CHECK(x(1) == x(0) + 0.5f);
        CHECK(n() == all[static_cast<std::size_t>(x(0))]);
        came.insert(n());
    }
    for (const std::string& n : all) CHECK(came.count(n) == 5);
    CHECK_THROWS_AS((void)sess.run(image), tn::end_of_data_error);
    sess.coord.request_stop();
    sess.coord.join();
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: a training set in a variable that is neither trained nor saved") {
    const auto data = tn::variable<float, tn::shape<4>>("data", tn::zeros(), {.trainable = false, .collected = false});
    const auto w = tn::variable("w", 1.0f);
    const auto x = tn::slice_input_producer(data, {.num_epochs = 1, .shuffle = false});
    const auto train = tn::gradient_descent(0.5f).minimize(w * x);
    for (const char* collection : {tn::global_variables, tn::trainable_variables}) {
        const auto all = g.collection(collection);
        CHECK(std::none_of(all.begin(), all.end(), [&](const tn::any_tensor& v) { return v.name() == data.name(); }));
    }
    const auto loaded = tn::placeholder<float, tn::shape<4>>("loaded");
    const auto load = data.assign(loaded);
    const temporary_folder folder;
    initialized_session sess(g, {.operation_timeout = 60});
    tn::array<float, tn::shape<4>> values{1.0f, 2.0f, 4.0f, 8.0f};
    sess.run(tn::feed(loaded, values), load);
    tn::saver saver(folder / "model");
    const auto saved = saver.save(sess);
    const auto& held = saved.manifest.tensors;
    const auto holds = [&](const std::string& name) {
        return std::any_of(held.begin(), held.end(), [&](const auto& t) { return t.name == name; });
    };
    CHECK(holds("w"));
    CHECK_FALSE(holds("data"));
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    while (coord.stop_on_exception([&] { sess.run(train); })) {
    }
    coord.join();
    CHECK(sess.run(w)() == 1.0f - 0.5f * 15);
    const auto kept = sess.run(data);
    for (int i = 0; i < 4; ++i) CHECK(kept(i) == values(i));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 37: who waits for a producer that was never started is told so") {
    const auto next = tn::string_input_producer({"a"}, {.name = "names"}).dequeue();
    tn::session sess(g);
    const auto text = message_of<tn::deadline_exceeded_error>([&] { (void)sess.run_for(0.2, next); });
    CHECK_MESSAGE(contains(text, "the queue runners of \"names\" were never started"), text);
}

TEST_CASE("a graph with producers is written and read, and goes on in a session of its own") {
    std::string text;
    {
        own_graph g;
        const auto q = tn::string_input_producer({"a", "b"}, {.num_epochs = 2, .shuffle = false, .name = "names"});
        text = tn::to_json(g);
    }
    tn::graph g = tn::graph_from_json(text);
    const tn::graph_scope in(g);
    const tn::queue<std::string> q(tn::untyped::queue(g.tensor("names")));
    CHECK(drained(q.dequeue(), g) == std::vector<std::string>{"a", "b", "a", "b"});
}

TEST_CASE_FIXTURE(in_graph, "what cannot be produced is refused where the graph is made, or where the step is") {
    CHECK_ERROR(tn::invalid_argument_error, "has no elements", tn::string_input_producer(std::vector<std::string>{}));
    CHECK_ERROR(tn::invalid_argument_error, "range_input_producer: there are no numbers below 0",
                tn::range_input_producer(0));
    CHECK_ERROR(tn::invalid_argument_error, "num_epochs is -1", tn::range_input_producer(3, {.num_epochs = -1}));
    CHECK_ERROR(tn::invalid_argument_error, "capacity is 0", tn::range_input_producer(3, {.capacity = 0}));
    const tn::any_tensor scalar(tn::constant(1.0f)), three(tn::constant({1.0f, 2.0f, 3.0f})),
        two(tn::constant({1.0f, 2.0f}));
    CHECK_ERROR(tn::invalid_argument_error, "has none", tn::untyped::input_producer(scalar));
    CHECK_ERROR(tn::invalid_argument_error, "texts are string[n]", tn::untyped::string_input_producer(three));
    CHECK_ERROR(tn::invalid_argument_error, "one tensor at least", tn::untyped::slice_input_producer({}));
    CHECK_ERROR(tn::invalid_argument_error, "same number of elements", tn::untyped::slice_input_producer({three, two}));

    const tn::fifo_queue<float> none(3);
    const auto close = none.close();
    const auto empty = tn::placeholder<float, tn::shape<tn::dyn>>("empty");
    const auto order = tn::add<tn::epoch_order_op>({}, {empty});
    tn::session sess(g);
    tn::any_array nothing(tn::element_type::float32, tn::extents(0));
    CHECK_ERROR(tn::invalid_argument_error, "nothing to go through", sess.run(tn::feed(empty, nothing), order));
}
