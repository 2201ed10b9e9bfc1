#include <deque>

#include <tenon/input.hpp>

#include "tests.hpp"
#include "runtime/every_session.hpp"

// Iterators of data sets in steps: SEMANTICS 38. That they are saved with variables is in train/checkpoint/saver_iterators.cpp.

using numbers = std::vector<std::int64_t>;

namespace {

constexpr double soon = 0.05; // seconds: how long is waited for what must not come
constexpr double late = 60;   // and at most for what must

// Numbers that come when a test lets them.
class tap {
public:
    std::optional<std::int64_t> next() {
        std::unique_lock lock(guard_);
        ++asked_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return closed_ || !there_.empty(); });
        if (there_.empty()) return std::nullopt;
        const std::int64_t x = there_.front();
        there_.pop_front();
        return x;
    }
    void give(const numbers& all) {
        const std::lock_guard lock(guard_);
        there_.insert(there_.end(), all.begin(), all.end());
        changed_.notify_all();
    }
    void close() {
        const std::lock_guard lock(guard_);
        closed_ = true;
        changed_.notify_all();
    }
    void wait_until_asked(int times) {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return asked_ >= times; });
    }

private:
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::deque<std::int64_t> there_;
    bool closed_ = false;
    int asked_ = 0; // times
};
// Lets go whoever waits when a test ends: before its session does.
struct closed_at_end {
    std::shared_ptr<tap> of;
    ~closed_at_end() { of->close(); }
};
tn::data_set<std::int64_t> from(const std::shared_ptr<tap>& t) {
    return tn::data::generator([t] { return [t] { return t->next(); }; });
}

template <class X> numbers all_of(tn::session& s, const X& next) {
    numbers all;
    try {
        for (;;) all.push_back(s.run_for(late, next).item());
    } catch (const tn::end_of_data_error&) {
    }
    return all;
}

} // namespace

TEST_CASE("SEMANTICS 38: a one-shot iterator gives one element a step, however often it is fetched, to its end") {
    const own_graph g;
    const tn::array<float, tn::shape<3, 2>> x{{1, 2}, {3, 4}, {5, 6}};
    const tn::array<std::string, tn::shape<3>> y{"a", "b", "c"};
    const auto it = tn::make_one_shot_iterator(tn::data::slices(x, y));
    const auto [a, b] = it.get_next();
    static_assert(std::is_same_v<decltype(a), const tn::tensor<float, tn::shape<2>>>);
    static_assert(std::is_same_v<decltype(b), const tn::tensor<std::string, tn::shape<>>>);
    const auto [again, text] = it.get_next();
    CHECK(again.name() == a.name());
    CHECK(text.name() == b.name());
    const auto sum = tn::sum(a) + tn::sum(again);
    in_every_session([&, a = a, b = b](tn::session& s) {
        const auto [row, name, twice, same] = s.run(a, b, sum, a);
        CHECK(row(1) == 2);
        CHECK(name.item() == "a");
        CHECK(twice.item() == 6);
        CHECK(same == row);
        CHECK(s.run(sum).item() == 14);
        CHECK(s.run(b).item() == "c"); // one component takes the element
        for (int i = 0; i < 2; ++i) CHECK_ERROR(tn::end_of_data_error, "iterator \"iterator\" is at its end", s.run(a));
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: what is fed in place of an element takes none") {
    const auto x = tn::make_one_shot_iterator(tn::data::range(3)).get_next();
    const auto more = x + std::int64_t{10};
    tn::session s;
    CHECK(s.run(tn::feed(x, std::int64_t{7}), more).item() == 17);
    CHECK(s.run(more).item() == 10);
}

TEST_CASE("SEMANTICS 38: an initialisable iterator begins anew each time, and says so where it has not begun") {
    const own_graph g;
    const auto it = tn::make_initializable_iterator(tn::data::range(3), {.name = "train"});
    const auto x = it.get_next();
    in_every_session([&](tn::session& s) {
        CHECK_ERROR(tn::failed_precondition_error,
                    "iterator \"train\" was not initialised; run its initializer() first", s.run(x));
        CHECK(s.run(it.report()).item() == "");
        s.run(it.initializer());
        CHECK(s.run(x).item() == 0);
        CHECK(s.run(x).item() == 1);
        s.run(it.initializer());
        CHECK(all_of(s, x) == numbers{0, 1, 2});
        s.run(it.initializer());
        CHECK(s.run(x).item() == 0);
    });
}

TEST_CASE("SEMANTICS 38: an iterator without a data set goes through one after another of its components") {
    const own_graph g;
    const tn::iterator<std::int64_t> it({.name = "either"});
    const auto x = it.get_next();
    const auto train = it.make_initializer(tn::data::range(2)), test = it.make_initializer(tn::data::range(5, 8));
    tn::session s;
    s.run(train);
    CHECK(s.run(x).item() == 0);
    s.run(test);
    CHECK(all_of(s, x) == numbers{5, 6, 7});
    s.run(train);
    CHECK(all_of(s, x) == numbers{0, 1});
    // Where the types are not known before, it is found when the graph is made.
    const auto floats = tn::data::tensors(1.0f).untyped();
    CHECK_ERROR(tn::invalid_argument_error,
                "iterator \"either\" has elements of (int64[]), and a data set of (float[]) is given to it",
                it.untyped().make_initializer(floats.source()));
    CHECK_THROWS_AS((void)it.untyped().make_initializer(nullptr), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::iterator<float>(it.untyped()), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::untyped::iterator(tn::any_tensor(x)), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::untyped::iterator({}, nullptr), tn::invalid_argument_error);
}

TEST_CASE("SEMANTICS 38: a feedable iterator is the one whose handle a step is given; each keeps its place") {
    const own_graph g;
    const auto train = tn::make_one_shot_iterator(tn::data::range(100));
    const auto test = tn::make_initializable_iterator(tn::data::range(-3, 0));
    const auto other = tn::make_one_shot_iterator(tn::data::tensors(1.0f).repeat());
    const auto handle = tn::placeholder<std::string>("handle");
    const auto x = tn::feedable_iterator<std::int64_t>(handle).get_next();
    const auto twice = x + x;
    const auto computed = tn::feedable_iterator<std::int64_t>(train.string_handle()).get_next();
    in_every_session([&](tn::session& s) {
        const auto of_train = s.run(train.string_handle()), of_test = s.run(test.string_handle());
        const auto of_other = s.run(other.string_handle());
        CHECK(s.run(tn::feed(handle, of_train), x).item() == 0);
        s.run(test.initializer());
        CHECK(s.run(tn::feed(handle, of_test), twice).item() == -6);
        CHECK(s.run(tn::feed(handle, of_train), twice).item() == 2);
        CHECK(s.run(computed).item() == 2);
        CHECK(s.run(tn::feed(handle, of_test), x).item() == -2);
        CHECK_ERROR(tn::not_found_error, "there is no iterator 'no such'",
                    s.run(tn::feed(handle, std::string("no such")), x));
        CHECK_THROWS_AS(s.run(tn::feed(handle, std::string("no\nsuch")), x), tn::not_found_error);
        CHECK_ERROR(tn::invalid_argument_error, "elements of (int64[]) are asked of iterator",
                    s.run(tn::feed(handle, of_other), x));
        tn::session apart; // iterators without a shared name are their session's
        CHECK_THROWS_AS(apart.run(tn::feed(handle, of_train), x), tn::not_found_error);
    });
}

TEST_CASE_FIXTURE(in_graph, "what is no handle, or no place, is told of those and of no path") {
    const auto number = tn::placeholder<std::int64_t, tn::shape<>>("number");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              (void)tn::untyped::next_of_handle(number, {{tn::element_type::int64, {}}});
          }) ==
          "iterator_next_of: an iterator's handle is one text, as string_handle() gives it: int64[] (inputs number)");
    const auto it = tn::make_initializable_iterator(tn::data::range(3));
    CHECK_ERROR(
        tn::invalid_argument_error,
        "iterator_restore: where an iterator is must be one text, as save() gives it: ", it.untyped().restore(number));
}

TEST_CASE("SEMANTICS 38: of several threads each gets elements in order, and together they get each once") {
    const numbers all = [] {
        numbers n(400);
        for (std::size_t i = 0; i < n.size(); ++i) n[i] = static_cast<std::int64_t>(i);
        return n;
    }();
    const auto plain = tn::data::range(400);
    const auto same = [](std::int64_t v) { return v; };
    const tn::data_set<std::int64_t> sets[] = {plain, plain.map_host(same), plain.prefetch(3),
                                               plain.map_host(same, {.parallelism = 3}).batch(7).unbatch().prefetch()};
    for (const auto& set : sets) {
        const own_graph g;
        const auto x = tn::make_one_shot_iterator(set).get_next();
        tn::session s;
        const auto step = s.callable(tn::feeds(), tn::fetches(x));
        numbers got[4];
        std::atomic<int> unordered{0};
        tn::coordinator coord;
        for (numbers& mine : got)
            coord.start("taker", [&] {
                while (!coord.should_stop()) {
                    const std::int64_t v = std::get<0>(step()).item();
                    if (!mine.empty() && mine.back() >= v) ++unordered;
                    mine.push_back(v);
                }
            });
        coord.join(); // the end of the data is a clean stop
        CHECK(unordered == 0);
        numbers together;
        for (const numbers& mine : got) together.insert(together.end(), mine.begin(), mine.end());
        std::sort(together.begin(), together.end());
        CHECK(together == all);
    }
}

TEST_CASE("SEMANTICS 17: a step that waits too long says what for, and its element is the next step's") {
    const own_graph g;
    const auto slow = std::make_shared<tap>();
    const auto x = tn::make_one_shot_iterator(from(slow), {.name = "slow"}).get_next();
    tn::session s;
    const closed_at_end later{slow};
    for (int i = 0; i < 2; ++i)
        CHECK_ERROR(tn::deadline_exceeded_error, "the next element of iterator \"slow\"", s.run_for(soon, x));
    slow->give({1, 2, 3});
    CHECK(s.run_for(late, x).item() == 1);
    CHECK(s.run_for(late, x).item() == 2);
    CHECK(s.run_for(late, x).item() == 3);
    CHECK_THROWS_AS(s.run_for(soon, x), tn::deadline_exceeded_error);
    slow->close();
    CHECK_THROWS_AS(s.run_for(late, x), tn::end_of_data_error);
}

TEST_CASE_FIXTURE(in_graph, "steps that are started wait in line; one that is stopped leaves it, and nothing is lost") {
    const auto slow = std::make_shared<tap>();
    const auto x = tn::make_one_shot_iterator(from(slow)).get_next();
    tn::session s;
    const closed_at_end later{slow};
    const auto step = s.callable(tn::feeds(), tn::fetches(x));
    const auto one = step.start();
    slow->wait_until_asked(1);
    const auto two = step.start(), three = step.start(), four = step.start();
    three.stop();
    CHECK_THROWS_AS(three.get(), tn::cancelled_error);
    one.stop(); // whose element is being taken
    CHECK_THROWS_AS(one.get(), tn::cancelled_error);
    slow->give({1, 2, 3});
    const numbers got{std::get<0>(two.get()).item(), std::get<0>(four.get()).item(), std::get<0>(step()).item()};
    CHECK(std::is_permutation(got.begin(), got.end(), numbers{1, 2, 3}.begin()));
    CHECK(got[2] == 3);
}

TEST_CASE_FIXTURE(in_graph, "what a function throws comes once, and to the next step where its own was stopped") {
    const auto slow = std::make_shared<tap>();
    const auto x = tn::make_one_shot_iterator(from(slow).map_host([](std::int64_t v) {
                       if (v == 2) throw tn::data_loss_error("two is torn");
                       return v;
                   })).get_next();
    tn::session s;
    const closed_at_end later{slow};
    slow->give({1});
    CHECK(s.run_for(late, x).item() == 1);
    CHECK_THROWS_AS(s.run_for(soon, x), tn::deadline_exceeded_error);
    slow->give({2, 3});
    CHECK_ERROR(tn::data_loss_error, "map_host: element 1: two is torn", s.run_for(late, x));
    CHECK(s.run_for(late, x).item() == 3);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 25: an iterator with a shared name is one for all sessions of a task") {
    const tn::task shared;
    const auto ours = tn::make_one_shot_iterator(tn::data::range(10), {.shared_name = "input"}).get_next();
    const auto own = tn::make_one_shot_iterator(tn::data::range(10)).get_next();
    tn::session first(shared, g), second(shared, g);
    CHECK(first.run(ours).item() == 0);
    CHECK(second.run(ours).item() == 1);
    CHECK(first.run(ours).item() == 2);
    CHECK(first.run(own).item() == 0);
    CHECK(second.run(own).item() == 0);
    const own_graph other;
    const auto floats = tn::make_one_shot_iterator(tn::data::tensors(1.0f), {.shared_name = "input"}).get_next();
    tn::session third(shared, other);
    CHECK_ERROR(tn::invalid_argument_error, "iterator \"input\" exists with elements of (int64[]), not of (float[])",
                third.run(floats));
    CHECK(second.run(ours).item() == 3);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 25: a reset of its container tells who waits, before the element comes") {
    tn::task shared;
    const auto slow = std::make_shared<tap>();
    const auto x = [&] {
        const tn::container_scope box("box");
        return tn::make_one_shot_iterator(from(slow), {.shared_name = "input"}).get_next();
    }();
    tn::session s(shared, g);
    const closed_at_end later{slow};
    const auto step = s.callable(tn::feeds(), tn::fetches(x));
    const auto one = step.start(), two = step.start();
    slow->wait_until_asked(1);
    shared.reset({"box"});
    CHECK_ERROR(tn::cancelled_error, "was cleared with its container", one.get());
    CHECK_THROWS_AS((void)two.get(), tn::cancelled_error);
    slow->give({1, 2}); // of which the one that was being taken is the old iterator's
    CHECK(s.run_for(late, x).item() > 0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 19: a session that is closed stops what waits for elements") {
    const auto slow = std::make_shared<tap>();
    const auto x = tn::make_one_shot_iterator(from(slow)).get_next();
    auto s = std::make_unique<tn::session>();
    const closed_at_end later{slow};
    const auto step = s->callable(tn::feeds(), tn::fetches(x));
    const auto one = step.start(), two = step.start();
    slow->wait_until_asked(1);
    s->close();
    CHECK_THROWS_AS((void)one.get(), tn::cancelled_error);
    CHECK_THROWS_AS((void)two.get(), tn::cancelled_error);
    CHECK_THROWS_AS(s->run(x), tn::failed_precondition_error);
    slow->close();
    s.reset();
    tn::session another; // its iterator is another one, at the data set's beginning
    CHECK_THROWS_AS(another.run(x), tn::end_of_data_error);
}

TEST_CASE("an iterator outlives its session and the data set's handles, and begins anew in the next session") {
    const own_graph g;
    const auto it = [] {
        const auto set = tn::data::range(3).map_host([](std::int64_t v) { return 2 * v; });
        return tn::make_one_shot_iterator(set);
    }();
    {
        tn::session s;
        CHECK(all_of(s, it.get_next()) == numbers{0, 2, 4});
    }
    tn::session s;
    CHECK(all_of(s, it.get_next()) == numbers{0, 2, 4});
}

TEST_CASE("a graph that was read has the same data sets, as long as they are in the program") {
    std::string text;
    {
        const own_graph g;
        (void)tn::make_one_shot_iterator(tn::data::range(3)).get_next();
        text = tn::to_json(g);
        const tn::graph read = tn::graph_from_json(text);
        const tn::iterator<std::int64_t> it{tn::untyped::iterator(read.tensor("iterator:0"))};
        const std::int64_t nodes = read.size();
        const auto x = it.get_next();
        CHECK(read.size() == nodes); // the tensors that it had
        tn::session s(read);
        CHECK(all_of(s, x) == numbers{0, 1, 2});
    }
    const tn::graph read = tn::graph_from_json(text);
    const tn::graph_scope scope(read);
    const tn::iterator<std::int64_t> it{tn::untyped::iterator(read.tensor("iterator:0"))};
    tn::session s(read);
    CHECK_ERROR(tn::failed_precondition_error, "its data set is not in this process", s.run(it.get_next()));
}

TEST_CASE_FIXTURE(in_graph, "a report says what its steps took") {
    const auto it = tn::make_one_shot_iterator(
        tn::data::range(10).map_host([](std::int64_t v) { return v; }, {.parallelism = 2}).batch(5));
    const auto x = it.get_next();
    const auto report = it.report();
    tn::session s;
    CHECK(s.run(report).item() == "");
    s.run(x);
    const std::string text = s.run(report).item();
    for (const char* const step : {"step ", "batch(5)", "map_host", "range", "waiting for elements"})
        CHECK_MESSAGE(contains(text, step), text);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 12: an iterator and its ops are where it was placed, in the host's memory") {
    const auto it = [] {
        const auto there = tn::on("/cpu:1");
        return tn::make_one_shot_iterator(tn::data::range(5), {.name = "there"});
    }();
    const auto x = it.get_next();
    const auto y = [&] {
        const auto here = tn::on("/cpu:0");
        return x + std::int64_t{1};
    }();
    tn::session s({.cpu_devices = 2});
    CHECK(s.run(y).item() == 1);
    CHECK(s.run(y).item() == 2);
    tn::session one;
    CHECK_THROWS_AS(one.run(y), tn::invalid_argument_error);
    tn::session soft({.allow_soft_placement = true});
    CHECK(soft.run(y).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "a place that was saved is gone on from, with the element of a step that was stopped") {
    const auto slow = std::make_shared<tap>();
    const auto it = tn::make_one_shot_iterator(from(slow));
    const auto x = it.get_next();
    const auto save = it.save();
    const auto state = tn::placeholder<std::string>("state");
    const auto restore = it.restore(state);
    tn::session s;
    const closed_at_end later{slow};
    slow->give({1});
    CHECK(s.run_for(late, x).item() == 1);
    CHECK_THROWS_AS(s.run_for(soon, x), tn::deadline_exceeded_error); // takes 2, when it comes
    slow->give({2, 3});
    const auto place = s.run_for(late, save);
    CHECK(s.run_for(late, x).item() == 2);
    CHECK(s.run_for(late, x).item() == 3);
    slow->give({1, 2, 4}); // a generator is gone through again to where it was
    s.run_for(late, tn::feed(state, place), restore);
    CHECK(s.run_for(late, x).item() == 2);
    CHECK(s.run_for(late, x).item() == 4);
}

TEST_CASE_FIXTURE(in_graph, "a save waits no longer than it may") {
    const auto slow = std::make_shared<tap>();
    const auto it = tn::make_one_shot_iterator(from(slow).prefetch(2));
    const auto x = it.get_next();
    const auto save = it.save();
    tn::session s;
    const closed_at_end later{slow};
    slow->give({1});
    CHECK(s.run_for(late, x).item() == 1);
    slow->wait_until_asked(2); // its thread takes the next one
    CHECK_THROWS_AS(s.run_for(soon, save), tn::deadline_exceeded_error);
    slow->give({2});
    CHECK(s.run_for(late, x).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "a state of another data set is refused, and the iterator goes on where it was") {
    const auto it = tn::make_initializable_iterator(tn::data::range(10).batch(2).unbatch());
    const auto x = it.get_next();
    const auto others = tn::make_one_shot_iterator(tn::data::range(10).skip(2));
    const auto state = tn::placeholder<std::string>("state");
    const auto restore = it.restore(state);
    tn::session s;
    s.run(others.get_next());
    const auto foreign = s.run(others.save());
    s.run(it.initializer());
    CHECK(s.run(x).item() == 0);
    CHECK_ERROR(tn::data_loss_error, "it is of skip(2) of range, not of unbatch of batch(2) of range",
                s.run(tn::feed(state, foreign), restore));
    CHECK_THROWS_AS(s.run(tn::feed(state, std::string("x")), restore), tn::data_loss_error);
    CHECK(s.run(x).item() == 1);
    const auto own = s.run(it.save());
    CHECK_THROWS_AS(s.run(tn::feed(state, own.item() + "x"), restore), tn::data_loss_error);
    CHECK(s.run(x).item() == 2);
    s.run(tn::feed(state, own), restore);
    CHECK(s.run(x).item() == 2);

    // Before it is initialised nobody knows whose a state is.
    tn::session next;
    next.run(tn::feed(state, own), restore);
    CHECK(next.run(it.save()).item() == own.item());
    next.run(it.initializer());
    CHECK(all_of(next, x) == numbers{2, 3, 4, 5, 6, 7, 8, 9});
    next.run(it.initializer()); // once
    CHECK(next.run(x).item() == 0);
    tn::session last;
    last.run(tn::feed(state, foreign), restore);
    last.run(it.initializer());
    for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(last.run(x), tn::data_loss_error); // and nothing of it is gone through
    last.run(it.initializer());
    CHECK(last.run(x).item() == 0);
}
