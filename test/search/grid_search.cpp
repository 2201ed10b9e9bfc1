#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <latch>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <tenon/nn/dense.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/search/grid_search.hpp>
#include <tenon/train/optimize/optimizers.hpp>

#include "temporary_folder.hpp"

// A search over a grid, on devices of this process (TOUR 20). Lost tasks: test/net/server/grid_search.cpp; killed programs:
// test/processes/programs/grid.cpp.

namespace tn = tenon;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr struct batch : tn::dim<"batch"> {} batch;

struct settings {
    float rate = 0.1f;
    int steps = 5;
};
tn::grid<settings> rates() {
    return tn::grid(tn::axis("rate", &settings::rate, {0.3f, 0.1f, 0.03f, 0.01f}),
                    tn::axis("steps", &settings::steps, {3, 6}));
}
// A grid of numbers that are their own scores.
struct number {
    double v = 0;
};
tn::grid<number> numbers(const std::vector<double>& all) { return tn::grid(tn::axis("v", &number::v, all)); }

// Lines, of whatever thread.
struct lines {
    void operator()(const std::string& line) const {
        const std::lock_guard lock(*guard);
        all->push_back(line);
    }
    bool has(const std::string& part) const {
        const std::lock_guard lock(*guard);
        return std::any_of(all->begin(), all->end(),
                           [&](const std::string& l) { return l.find(part) != std::string::npos; });
    }
    std::shared_ptr<std::mutex> guard = std::make_shared<std::mutex>();
    std::shared_ptr<std::vector<std::string>> all = std::make_shared<std::vector<std::string>>();
};
tn::grid_search_options quiet(tn::grid_search_options o = {}) {
    if (!o.log) o.log = lines();
    return o;
}

// Noise in the data, so that a random number that is another would be seen. The score is the loss.
void train_dense(const settings& s, tn::trial& t) {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto noise = tn::random_normal_like(x, 0, 0.1);
    const auto model = tn::nn::dense<1>();
    const auto loss = tn::nn::mean_squared_error(model(x + noise), tn::matmul(x, tn::ones<float, tn::shape<2, 1>>()));
    const auto train = tn::gradient_descent(s.rate).minimize(loss);
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    tn::array<float> xs(tn::extents(32, 2));
    for (int i = 0; i < 32; ++i) {
        xs(i, 0) = static_cast<float>(i % 8) / 8;
        xs(i, 1) = static_cast<float>(i / 8) / 4;
    }
    const auto step = sess.callable(tn::feeds(x), tn::fetches(train, loss));
    for (int i = 1; i <= s.steps; ++i) {
        const auto [l] = step(xs);
        if (!t.report(i, static_cast<double>(l.item()))) return;
    }
}

// Its weights are the number, which is its score.
void train_constant(const number& n, tn::trial& t) {
    (void)tn::variable<float, tn::shape<3>>("w", tn::constant_value(n.v));
    t.session().run(tn::initialize_variables());
    (void)t.report(1, n.v);
}
double value_of(const tn::trial_outcome& o) { return static_cast<double>(o.weights.open()->load<float>("w")(0)); }

template <class S>
void same_results(const std::vector<tn::trial_result<S>>& a, const std::vector<tn::trial_result<S>>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].point == b[i].point);
        CHECK(a[i].text == b[i].text);
        CHECK(a[i].seed == b[i].seed);
        CHECK(a[i].history == b[i].history);
        CHECK(a[i].score == b[i].score);
        CHECK(a[i].best_step == b[i].best_step);
    }
}

} // namespace

TEST_CASE(
    "TOUR 20: a network a device at a time, the same results on one device, three, and simulated GPUs, in any order") {
    const auto searched = [](const tn::task& on, std::size_t devices) {
        const auto all = tn::devices_of(on);
        CHECK(all.size() == devices);
        tn::grid_search search(rates(), all, quiet({.smaller_is_better = true}));
        std::mutex guard;
        std::map<std::string, int> at_once;
        search.run([&](const settings& s, tn::trial& t) {
            const std::string device = to_string(t.device());
            {
                const std::lock_guard lock(guard);
                CHECK(++at_once[device] == 1);
            }
            train_dense(s, t);
            const std::lock_guard lock(guard);
            --at_once[device];
        });
        CHECK(search.is_complete());
        return search.results();
    };
    const auto one = searched(tn::task(), 1);
    REQUIRE(one.size() == 8);
    for (const auto& r : one) {
        CHECK(r.end == tn::trial_end::done);
        CHECK(r.history.size() == static_cast<std::size_t>(r.settings.steps));
    }
    CHECK(one[0].history[0].score != one[2].history[0].score); // other seeds
    same_results(one, searched(tn::task({.cpu_devices = 3}), 3));
    same_results(one, searched(tn::task({.gpus = tn::simulated_gpu(2, 32 << 20)}), 2));
}

TEST_CASE("a trial's nodes are on its device and its variables apart from those of others, which are given back") {
    const tn::task on({.gpus = tn::simulated_gpu(2, 4 << 20)});
    tn::grid_search search(numbers({1, 2, 3, 4, 5, 6, 7, 8}), tn::devices_of(on), quiet());
    search.run([&](const number& n, tn::trial& t) {
        // Two of them would not fit into a device, nor share a variable.
        const auto v = tn::untyped::variable(
            "v", {tn::element_type::float32, tn::extents(static_cast<std::int64_t>(700000 + n.v))}, tn::zeros());
        for (const auto& placed : t.session().explain_placement(v).nodes) CHECK(placed.device == t.device());
        t.weights_are({tn::variable("small", static_cast<float>(n.v))});
        t.session().run(tn::initialize_variables());
        (void)t.report(1, n.v);
    });
    for (const auto& r : search.results()) CHECK_MESSAGE(r.end == tn::trial_end::done, r.message);
}

TEST_CASE("the best k have the best scores that are numbers; of equal ones the first point is first") {
    for (const bool smaller : {false, true}) {
        tn::grid_search search(numbers({0.5, no_number, 0.25, 0.5, -1, 2}),
                               tn::devices_of(tn::task({.cpu_devices = 2})), quiet({.smaller_is_better = smaller}));
        search.run([](const number& n, tn::trial& t) {
            (void)t.report(0, no_number);
            (void)t.report(1, n.v);
            (void)t.report(2, no_number);
        });
        const auto best = search.best(3);
        REQUIRE(best.size() == 3);
        CHECK(best[0].point == (smaller ? 4 : 5));
        CHECK(best[1].point == (smaller ? 2 : 0));
        CHECK(best[2].point == (smaller ? 0 : 3));
        CHECK(search.best(100).size() == 5); // the one whose scores are none is not among them
        CHECK(std::isnan(search.results()[1].score));
        CHECK(search.results()[1].best_step == -1);
        CHECK(search.best(0).empty());
    }
}

TEST_CASE("the weights are those of the best score, of the best k, and can be loaded under another name") {
    const temporary_folder folder;
    for (const std::string& file : {std::string(), folder / "grid.jsonl"}) {
        tn::grid_search search(numbers({3, 1, 4, 2}), tn::devices_of(tn::task()), quiet({.file = file, .keep = 2}));
        search.run([](const number& n, tn::trial& t) {
            const auto w = tn::variable("w", 0.0f);
            tn::session& sess = t.session();
            sess.run(tn::initialize_variables());
            for (const float part : {1.0f, 100.0f, 3.0f}) { // the second is the best
                sess.run(w.assign(part * static_cast<float>(n.v)));
                (void)t.report(t.history().empty() ? 1 : 2, n.v * static_cast<double>(part));
            }
        });
        const auto best = search.best(4);
        REQUIRE(best.size() == 4);
        CHECK(best[0].settings.v == 4);
        CHECK(best[0].score == 400);
        for (std::size_t i = 0; i < 2; ++i) {
            const tn::graph g;
            const tn::graph_scope in(g);
            const auto own = tn::variable("other", 7.0f);
            const auto w = [] {
                const tn::name_scope member("member_1");
                return tn::variable("w", 0.0f);
            }();
            tn::session sess(g);
            sess.run(own.initializer());
            CHECK(best[i].weights.load(sess, {.prefix = "member_1/"}).loaded == std::vector<std::string>{"member_1/w"});
            CHECK(sess.run(w)() == doctest::Approx(best[i].score));
            CHECK(sess.run(own)() == 7);
        }
        CHECK_FALSE(best[2].weights);
        CHECK_FALSE(best[3].weights);
        tn::session sess;
        CHECK_THROWS_WITH_AS((void)best[3].weights.load(sess), doctest::Contains("were not kept"),
                             tn::failed_precondition_error);
    }
    CHECK(folder.file_count() == 3);
}

TEST_CASE("a training that throws has failed, with its words, and the others go on; or it is what run() throws") {
    const auto train = [](const number& n, tn::trial& t) {
        if (n.v == 1) throw tn::invalid_argument_error("one is too few");
        if (n.v == 2) return; // says nothing
        if (n.v == 3) {
            (void)t.report(5, 3);
            (void)t.report(4, 3);
        }
        (void)t.report(1, n.v);
        if (n.v == 5) throw tn::end_of_data_error("all was read"); // a clean end
        if (n.v == 6) throw 6;
    };
    lines told;
    tn::grid_search search(numbers({1, 2, 3, 4, 5, 6}), tn::devices_of(tn::task()),
                           quiet({.name = "six", .log = told}));
    search.run(train);
    const auto r = search.results();
    REQUIRE(r.size() == 6);
    CHECK(r[0].end == tn::trial_end::failed);
    CHECK(r[0].message == "one is too few");
    CHECK(r[1].message == "it has reported no score");
    CHECK(r[2].message == "trial::report: step 4 after step 5; steps do not go back");
    CHECK(r[3].end == tn::trial_end::done);
    CHECK(r[4].end == tn::trial_end::done);
    CHECK(r[5].message == "what was thrown is no std::exception");
    CHECK(search.best(9).size() == 2);
    CHECK(search.progress().failed == 4);
    CHECK(told.has("six: point 0 (v=1) has failed: one is too few; 1 of 6 done (1 failed), 5 left"));

    tn::grid_search stops(numbers({4, 1, 5, 4}), tn::devices_of(tn::task()), quiet({.stop_on_failure = true}));
    CHECK_THROWS_WITH_AS(stops.run(train), "one is too few", tn::invalid_argument_error);
    CHECK(stops.results().size() == 2);
    stops.run(train); // goes on behind it
    CHECK(stops.is_complete());
}

TEST_CASE("progress: what has ended, runs and is left, and how long that will take by what was measured") {
    double clock = 100;
    lines told;
    tn::grid_search search(numbers({1, 2, 3, 4}), tn::devices_of(tn::task()),
                           quiet({.name = "four", .log = told, .clock = [&] { return clock; }}));
    CHECK(search.progress().text() == "0 of 4 done, 4 left");
    search.run([&](const number& n, tn::trial& t) {
        clock += n.v == 1 ? 10 : 30;
        const tn::search_progress p = search.progress();
        CHECK(p.running == 1);
        CHECK(p.left == 4 - static_cast<int>(n.v));
        if (n.v == 2) CHECK(p.seconds_left == 20 + 0); // two of 10 s; this one should have ended
        (void)t.report(1, n.v / 4);
    });
    CHECK(told.has(
        "four: point 0 (v=1) has ended, best score 0.25; 1 of 4 done, 3 left; best 0.25 by v=1; about 30 s left"));
    CHECK(told.has("2 of 4 done, 2 left; best 0.5 by v=2; about 40 s left"));
    CHECK(search.progress().text() == "4 of 4 done; best 1 by v=4");
    CHECK(search.results()[1].seconds == 30);
}

TEST_CASE("median stopping: what is worse than the median of the completed ones ends early, and is not completed") {
    // One after another on one device, so the order is that of the points.
    const std::vector<double> slopes = {3, 4, 5, 1, 2, 2.5, 6, 4};
    tn::grid_search search(numbers(slopes), tn::devices_of(tn::task()),
                           quiet({.median = tn::median_stopping_options{.min_trials = 3, .min_steps = 2}}));
    std::map<double, int> steps;
    search.run([&](const number& n, tn::trial& t) {
        for (int i = 1; i <= 10; ++i) {
            steps[n.v] = i;
            if (!t.report(i, n.v * i)) {
                CHECK(t.should_stop());
                return;
            }
        }
    });
    std::vector<tn::trial_end> ends;
    for (const auto& r : search.results()) ends.push_back(r.end);
    // 1 at step 2 has 2, the median of the averages 4.5, 6 and 7.5 is 6. So have 2 and 2.5, of which those before that were
    // stopped do not count: 5 < 6. 6 and the second 4 are better.
    const auto done = tn::trial_end::done, stopped = tn::trial_end::stopped;
    CHECK(ends == std::vector<tn::trial_end>{done, done, done, stopped, stopped, stopped, done, done});
    CHECK(steps[1] == 2);
    CHECK(steps[2] == 2);
    CHECK(search.progress().stopped == 3);
    CHECK(search.best(9).size() == 8);
    // Without it all come to their ends.
    tn::grid_search all(numbers(slopes), tn::devices_of(tn::task()), quiet());
    all.run([](const number& n, tn::trial& t) {
        for (int i = 1; i <= 10; ++i) CHECK(t.report(i, n.v * i));
    });
    CHECK(all.progress().done == 8);
}

TEST_CASE("a stop that is requested, here or of the threads, ends trials when they report; the next run goes on") {
    for (const bool of_threads : {false, true}) {
        tn::coordinator threads;
        tn::grid_search search(numbers({1, 2, 3, 4}), tn::devices_of(tn::task()),
                               quiet({.threads = of_threads ? &threads : nullptr}));
        bool stops = true;
        const auto train = [&](const number& n, tn::trial& t) {
            (void)t.report(1, n.v);
            if (n.v != 3 || !stops) return;
            CHECK_FALSE(t.should_stop());
            if (of_threads) threads.request_stop();
            else search.request_stop();
            for (int i = 2; t.report(i, n.v); ++i) std::this_thread::yield(); // ends when it is told
        };
        search.run(train);
        CHECK(search.results().size() == 2);
        CHECK_FALSE(search.is_complete());
        stops = false;
        if (of_threads) {
            threads.join();
            threads.clear_stop();
        }
        search.run(train);
        CHECK(search.is_complete());
        search.run(train); // nothing is left
        if (of_threads) threads.join();
    }
}

TEST_CASE(
    "a stop reaches a trial whose step waits: its session is closed after the grace, and its point is not ended") {
    tn::grid_search search(numbers({1, 2}), tn::devices_of(tn::task({.cpu_devices = 2})), quiet({.stop_grace = 0}));
    std::latch both(2);
    search.run([&](const number&, tn::trial& t) {
        const tn::fifo_queue<float> never(1);
        const auto step = t.session().callable(tn::feeds(), tn::fetches(never.dequeue())).start();
        both.arrive_and_wait();
        search.request_stop();
        (void)step.get();
        (void)t.report(1, 1);
    });
    CHECK(search.results().empty());
    CHECK(search.progress().left == 2);
}

TEST_CASE("a trial that has no session yet when a stop is requested gets none, and its point is not ended") {
    tn::grid_search search(numbers({1, 2}), tn::devices_of(tn::task()), quiet({.stop_grace = 0}));
    search.run([&](const number&, tn::trial& t) {
        search.request_stop();
        CHECK_THROWS_AS((void)t.session(), tn::cancelled_error);
        (void)t.session();
    });
    CHECK(search.results().empty());
    CHECK(search.progress().left == 2);
}

TEST_CASE("a search that goes on with its file trains what has not ended, whatever the last line was cut off at") {
    const temporary_folder folder;
    const std::string file = folder / "rates.jsonl", whole_file = folder / "whole.jsonl";
    const auto with = [&](const std::string& path) { return quiet({.file = path, .smaller_is_better = true}); };
    const auto devices = tn::devices_of(tn::task());
    tn::grid_search whole(rates(), devices, with(whole_file));
    whole.run(train_dense);
    const auto expected = whole.results();
    const std::string text = read_bytes(whole_file);
    std::vector<std::size_t> ends; // of lines
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        ends.push_back(at + 1);
    REQUIRE(ends.size() == 9);
    int runs = 0;
    for (std::size_t bytes = 0; bytes <= text.size(); bytes += bytes < ends[1] ? 13 : 97) {
        write_bytes(file, text.substr(0, bytes));
        const auto lines_there =
            static_cast<int>(std::count_if(ends.begin(), ends.end(), [&](std::size_t e) { return e <= bytes; }));
        const int ended = std::max(lines_there - 1, 0);
        tn::grid_search search(rates(), devices, with(file));
        REQUIRE(static_cast<int>(search.results().size()) == ended);
        if (++runs % 8) continue; // opening cuts off what is torn; some are trained to their end, too
        int trained = 0;
        search.run([&](const settings& s, tn::trial& t) {
            ++trained;
            train_dense(s, t);
        });
        CHECK(trained == 8 - ended);
        same_results(search.results(), expected);
        CHECK(search.best(1)[0].point == whole.best(1)[0].point);
    }
    CHECK(runs > 16);
    // The last line's end is there, but not all of it, as a machine that lost its power may leave it.
    write_bytes(file, text.substr(0, ends[3]) + std::string(20, '\0') + "\n");
    CHECK(tn::grid_search(rates(), devices, with(file)).results().size() == 3);
}

TEST_CASE("a file of another grid is refused by name, a damaged one by its line, and one in use") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    const auto devices = tn::devices_of(tn::task());
    const auto train = [](const number& n, tn::trial& t) { (void)t.report(1, n.v); };
    const auto open = [&](const tn::grid<number>& g, tn::grid_search_options o) {
        o.file = file;
        return tn::grid_search(g, devices, quiet(std::move(o)));
    };
    {
        auto search = open(numbers({1, 2, 3}), {.name = "three"});
        search.run([&](const number& n, tn::trial& t) {
            if (n.v == 2) { // others see what has ended, and write nothing
                auto other = open(numbers({1, 2, 3}), {.name = "three"});
                CHECK(other.results().size() == 1);
                CHECK_THROWS_WITH_AS(other.run(train), doctest::Contains("another search writes to '"),
                                     tn::aborted_error);
            }
            train(n, t);
        });
    }
    CHECK(open(numbers({1, 2, 3}), {.name = "three"}).is_complete());
    CHECK_THROWS_WITH_AS(
        (void)open(numbers({1, 2}), {.name = "two"}),
        doctest::Contains("the results of grid \"three\" of 3 points (v: 1, 2, 3), seed 1, where larger "
                          "is better, and this is grid \"two\" of 2 points (v: 1, 2), seed 1"),
        tn::invalid_argument_error);
    CHECK_THROWS_AS((void)open(numbers({1, 2, 4}), {.name = "three"}), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three", .seed = 2}), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three", .smaller_is_better = true}),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS(
        (void)open(numbers({1, 2, 3, 4}).where([](const number& n) { return n.v != 4; }), {.name = "three"}),
        tn::invalid_argument_error);
    const std::string good = read_bytes(file);
    const std::size_t second = good.find('\n') + 1;
    write_bytes(file, good.substr(0, second) + "{\"point\": 7}\n" + good.substr(second));
    CHECK_THROWS_WITH_AS((void)open(numbers({1, 2, 3}), {.name = "three"}), doctest::Contains("damaged in line 2"),
                         tn::data_loss_error);
    for (const char* other : {"rate,score\n0.1,0.5\n", "some text", "{\"format\": \"tenon checkpoint\"}\n"}) {
        write_bytes(file, other);
        CHECK_THROWS_AS((void)open(numbers({1, 2, 3}), {.name = "three"}), tn::data_loss_error);
        CHECK(read_bytes(file) == other); // it is somebody's
    }
    CHECK_THROWS_AS(tn::grid_search(numbers({1}), devices, quiet({.file = folder / "no/grid.jsonl"})).run(train),
                    tn::not_found_error);
}

TEST_CASE(
    "what has failed is not trained again, unless that is asked for; what is no number comes back from the file") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    const auto devices = tn::devices_of(tn::task());
    const double infinity = std::numeric_limits<double>::infinity();
    bool fails = true;
    int trained = 0;
    const auto train = [&](const number& n, tn::trial& t) {
        ++trained;
        if (n.v == 2 && fails) throw tn::internal_error("no luck");
        (void)t.report(1, n.v == 3 ? no_number : n.v == 4 ? -infinity : infinity);
    };
    tn::grid_search(numbers({1, 2, 3, 4}), devices, quiet({.file = file})).run(train);
    {
        fails = false;
        tn::grid_search failed(numbers({1, 2, 3, 4}), devices, quiet({.file = file}));
        failed.run(train);
        CHECK(failed.progress().failed == 1);
    }
    tn::grid_search again(numbers({1, 2, 3, 4}), devices, quiet({.file = file, .retry_failed = true}));
    CHECK(trained == 4);
    again.run(train);
    CHECK(trained == 5);
    CHECK(again.results()[0].score == infinity);
    CHECK(again.results()[1].end == tn::trial_end::done);
    CHECK(std::isnan(again.results()[2].history.at(0).score));
    CHECK(again.results()[3].score == -infinity);
}

TEST_CASE("a search removes what one that was killed has left, and no other file, however it is called") {
    const temporary_folder folder;
    const std::string file = folder / "w.jsonl";
    const auto search = [&] {
        return tn::grid_search(numbers({1, 2}), tn::devices_of(tn::task()), quiet({.file = file, .keep = 1}));
    };
    search().run(train_constant);
    std::vector<std::string> others;
    for (const std::string begins : {"w", "w.jsonl", "w.json"})
        for (const char* ends :
             {".point-0.best-of-paper.safetensors", ".point-of-view.safetensors", ".point-3.safetensors",
              ".point-3.safetensors.partial-1-2", ".point-1.safetensors.bak", ".point-1.safetensors.partial-of-mine",
              ".point-1.safetensors.partial-1999-12-31", ".point-1.safetensors.partial-7",
              ".point-1.safetensors.partial-7-", ".point-01.safetensors", ".point--1.safetensors",
              ".point-.safetensors", ".point-0.safetensors"})
            others.push_back(folder / (begins + ends));
    others.push_back(folder / "x.point-0.safetensors");
    for (const std::string& other : others) write_bytes(other, "mine");
    const std::string left_behind = folder / "w.jsonl.point-0.safetensors.partial-123-4";
    write_bytes(left_behind, "a part");
    search().run(train_constant);
    for (const std::string& other : others) CHECK_MESSAGE(read_bytes(other) == "mine", other);
    CHECK_FALSE(std::filesystem::exists(left_behind));
    CHECK(folder.file_count() == static_cast<int>(others.size()) + 2);
}

TEST_CASE("searches whose files differ in what follows the last dot have weights of their own") {
    const temporary_folder folder;
    const auto search = [&](const char* file, double first) {
        return tn::grid_search(numbers({first, first + 1, first + 2}), tn::devices_of(tn::task()),
                               quiet({.file = folder / file}));
    };
    auto one = search("widths.1", 1), two = search("widths.2", 100), three = search("widths", 1000);
    for (auto* each : {&one, &two, &three}) each->run(train_constant);
    for (auto* each : {&one, &two, &three})
        for (const auto& r : each->best(3)) CHECK(value_of(r) == r.score);
}

TEST_CASE("weights that were written with another file of results, or of other settings, are not taken, and are told") {
    const temporary_folder folder;
    const auto search = [&](const char* file, const lines& told) {
        return tn::grid_search(numbers({1, 2, 3}), tn::devices_of(tn::task()),
                               quiet({.file = folder / file, .log = told}));
    };
    search("a", {}).run(train_constant);
    search("b", {}).run(train_constant);
    const std::string of_other = folder / "a.point-0.safetensors", swapped = folder / "a.point-1.safetensors",
                      damaged = folder / "a.point-2.safetensors";
    std::filesystem::rename(swapped, of_other);
    std::filesystem::copy_file(folder / "b.point-1.safetensors", swapped);
    write_bytes(damaged, "no weights");
    for (const bool runs : {false, true}) {
        const lines told;
        auto again = search("a", told);
        if (runs) again.run(train_constant);
        REQUIRE(again.best(3).size() == 3);
        for (const auto& r : again.best(3)) CHECK_FALSE(r.weights);
        CHECK(told.has("grid: the weights of point 0 (v=1) are not taken: '" + of_other + "' is of other settings"));
        CHECK(told.has("grid: the weights of point 1 (v=2) are not taken: '" + swapped +
                       "' was written with another file"));
        CHECK(told.has("grid: the weights of point 2 (v=3) are not taken: "));
        CHECK(told.all->size() == 3);
        for (const std::string& kept : {of_other, swapped, damaged}) CHECK(std::filesystem::exists(kept));
    }
}

TEST_CASE("a file of results that is removed while a search writes to it ends the run, which says so") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    tn::grid_search search(numbers({1, 2, 3}), tn::devices_of(tn::task()), quiet({.file = file}));
    CHECK_THROWS_WITH_AS(search.run([&](const number& n, tn::trial& t) {
        if (n.v == 2) std::filesystem::remove(file);
        train_constant(n, t);
    }),
                         doctest::Contains("grid.jsonl' was removed, or replaced, while this search writes to it"),
                         tn::not_found_error);
    CHECK(search.results().size() == 1);
    search.run(train_constant);
    CHECK(search.is_complete());
    CHECK(tn::grid_search(numbers({1, 2, 3}), tn::devices_of(tn::task()), quiet({.file = file})).is_complete());
    CHECK(folder.file_count() == 4);
}

TEST_CASE("a line that does not get onto a full disk ends the run, and none of it stays; the next run goes on") {
    const temporary_folder folder;
    const std::string file = folder / "grid.jsonl";
    const auto before = std::signal(SIGXFSZ, SIG_IGN); // writing fails instead
    rlimit as_ever{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &as_ever) == 0);
    tn::grid_search search(numbers({1, 2, 3, 4}), tn::devices_of(tn::task()), quiet({.file = file, .keep = 0}));
    for (const rlim_t more : {rlim_t(0), rlim_t(1), rlim_t(100)}) {
        std::string whole;
        CHECK_THROWS_WITH_AS(search.run([&](const number& n, tn::trial& t) {
            train_constant(n, t);
            if (!whole.empty()) return;
            whole = read_bytes(file);
            const rlimit full{whole.size() + more, as_ever.rlim_max};
            REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
        }),
                             doctest::Contains("grid.jsonl'"), tn::error);
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &as_ever) == 0);
        CHECK(read_bytes(file) == whole);
        CHECK(search.progress().running == 0);
        CHECK(search.progress().left == 4);
    }
    std::signal(SIGXFSZ, before);
    search.run(train_constant);
    CHECK(search.is_complete());
}

TEST_CASE("a log that throws ends the run, which throws it; each point is trained once, and the next run goes on") {
    for (const int devices : {1, 2}) {
        std::atomic<bool> throws{false};
        std::atomic<int> trained{0};
        tn::grid_search search(numbers({1, 2, 3, 4, 5}), tn::devices_of(tn::task({.cpu_devices = devices})),
                               {.log = [&](const std::string&) {
                                   if (throws.exchange(false)) throw std::runtime_error("the disk is full");
                               }});
        for (int runs = 0; !search.is_complete(); ++runs) {
            REQUIRE(runs < 5); // one has ended when the log is first told
            throws = true;
            CHECK_THROWS_WITH_AS(search.run([&](const number& n, tn::trial& t) {
                (void)t.report(1, n.v);
                if (!t.should_stop()) ++trained;
            }),
                                 "the disk is full", std::runtime_error);
            const tn::search_progress p = search.progress();
            CHECK(p.running == 0);
            CHECK(p.done == static_cast<int>(search.results().size()));
            CHECK(p.done + p.left == 5);
        }
        CHECK(trained == 5);
    }
}

TEST_CASE("a log that throws when a device is lost leaves the point to be trained once") {
    bool lost = false;
    int trained = 0;
    tn::grid_search search(numbers({1, 2}), tn::devices_of(tn::task()), {.log = [](const std::string& line) {
                               if (line.find("is lost") != std::string::npos) throw std::runtime_error("no log");
                           }});
    const auto train = [&](const number& n, tn::trial& t) {
        if (!std::exchange(lost, true))
            tn::throw_error(tn::error_code::unavailable, "it is gone", tn::error_reason::lost_task);
        ++trained;
        (void)t.report(1, n.v);
    };
    CHECK_THROWS_WITH_AS(search.run(train), "no log", std::runtime_error);
    CHECK(search.progress().left == 2);
    CHECK(search.progress().running == 0);
    search.run(train);
    CHECK(search.results().size() == 2);
    CHECK(trained == 2);
}

TEST_CASE("options and devices that make no sense are refused by name") {
    const auto devices = tn::devices_of(tn::task());
    const auto refused = [&](const std::vector<tn::grid_device>& on, tn::grid_search_options o, const char* words) {
        CHECK_THROWS_WITH_AS(tn::grid_search(numbers({1}), on, std::move(o)), doctest::Contains(words),
                             tn::invalid_argument_error);
    };
    refused({}, {}, "there is no device");
    refused({{"/cpu:0"}}, {}, "has neither a target nor a task");
    refused(devices, {.keep = -1}, "keep is -1");
    refused(devices, {.attempts = 0}, "attempts is 0");
    refused(devices, {.device_timeout = -1}, "device_timeout is -1");
    refused(devices, {.stop_grace = no_number}, "stop_grace is nan");
}
