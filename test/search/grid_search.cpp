#include <latch>
#include <stdexcept>

#include "grids.hpp"

// A search over a grid, on devices of this process (TOUR 20). Lost tasks: test/net/server/grid_search.cpp; killed programs:
// test/processes/programs/grid.cpp.

using namespace grid_search_test;

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
            const own_graph g;
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
        CHECK_ERROR(tn::failed_precondition_error, "were not kept", best[3].weights.load(sess));
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
        CHECK_ERROR(tn::invalid_argument_error, words, tn::grid_search(numbers({1}), on, std::move(o)));
    };
    refused({}, {}, "there is no device");
    refused({{"/cpu:0"}}, {}, "has neither a target nor a task");
    refused(devices, {.keep = -1}, "keep is -1");
    refused(devices, {.attempts = 0}, "attempts is 0");
    refused(devices, {.device_timeout = -1}, "device_timeout is -1");
    refused(devices, {.stop_grace = no_number}, "stop_grace is nan");
    refused(devices, {.stop_grace = 2e9}, "stop_grace is 2e+09; give seconds");
}

TEST_CASE("how long a search will take is told in seconds, minutes or hours") {
    const auto told = [](double seconds) {
        return tn::search_progress{.points = 3, .done = 1, .left = 2, .best_score = no_number, .seconds_left = seconds}
            .text();
    };
    CHECK(told(no_number) == "1 of 3 done, 2 left");
    CHECK(told(89) == "1 of 3 done, 2 left; about 89 s left");
    CHECK(told(90) == "1 of 3 done, 2 left; about 2 min left");
    CHECK(told(5399) == "1 of 3 done, 2 left; about 90 min left");
    CHECK(told(5400) == "1 of 3 done, 2 left; about 2 h left");
}
