#include <tenon/data/from.hpp>

#include "tests.hpp"

// tn::fit: a loop over epochs.

namespace fitting {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// w follows x by gradient descent, so that what epochs come to can be told.
struct problem {
    own_graph graph;
    tn::tensor<double, tn::shape<batch>> x = tn::placeholder<double, tn::shape<batch>>("x");
    tn::variable_tensor<double, tn::shape<>> w = tn::variable("w", 0.0);
    tn::tensor<double, tn::shape<>> loss = tn::mean(tn::square(x - w));
    tn::operation train = tn::gradient_descent(0.25).minimize(loss);
    tn::session sess;

    auto step() { return sess.callable(tn::feeds(x), tn::fetches(train, loss)); }
    auto test() { return sess.callable(tn::feeds(x), tn::fetches(loss)); }
};

using batches = std::vector<std::tuple<tn::array<double, tn::shape<tn::dyn>>>>;
inline tn::array<double, tn::shape<tn::dyn>> numbers(const std::vector<double>& values) {
    tn::array<double, tn::shape<tn::dyn>> a(static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) a[static_cast<std::int64_t>(i)] = values[i];
    return a;
}
inline batches of(const std::vector<std::vector<double>>& lists) {
    batches all;
    for (const auto& l : lists) all.emplace_back(numbers(l));
    return all;
}
} // namespace fitting

using namespace fitting;

TEST_CASE("fit: epochs, means over rows, callbacks and lines") {
    problem p;
    std::vector<std::string> lines;
    std::vector<std::int64_t> seen;
    int epochs_seen = 0;
    const batches data = of({{1, 1, 1}, {3}});
    tn::fit_options o{.epochs = 2, .restore_best = false, .log = [&](const std::string& l) { lines.push_back(l); }};
    o.after_step.push_back([&](tn::fit_progress& s) { seen.push_back(s.epoch.steps); });
    o.after_epoch.push_back([&](tn::fit_progress& e) { epochs_seen += e.epoch.epoch; });
    const auto step = p.step();
    const tn::fit_history h = tn::fit(p.sess, o, step, data);
    double w = 0;
    for (int e = 0; e < 2; ++e) {
        double sum = 0;
        for (const auto& [x, rows] : {std::pair(1.0, 3), std::pair(3.0, 1)}) {
            sum += rows * (x - w) * (x - w);
            w += 0.25 * 2 * (x - w);
        }
        CHECK(h.epochs[static_cast<std::size_t>(e)].training[0] == doctest::Approx(sum / 4));
    }
    CHECK(p.sess.run(p.w).item() == doctest::Approx(w));
    CHECK(seen == std::vector<std::int64_t>{1, 2, 1, 2});
    CHECK(epochs_seen == 3);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("epoch 1 of 2: loss "));
    CHECK(h.best_epoch == 1 + (h.epochs[1].training[0] < h.epochs[0].training[0]));
    CHECK(!h.stopped_early);
    // It goes on with what there is, and data may be a function of the epoch's number.
    const auto by_epoch = [&](int epoch) { return of({{static_cast<double>(10 * epoch)}}); };
    const tn::fit_history more =
        tn::fit(p.sess, {.restore_best = false, .log = [](const std::string&) {}}, step, by_epoch);
    CHECK(more.epochs[0].training[0] == doctest::Approx((10 - w) * (10 - w)));
}

TEST_CASE("fit: ends when validation gets no better, and leaves the best epoch's variables and slots") {
    problem p;
    // Each epoch moves w by half of the way to the epoch's number; validation wants w to be near 1.
    const auto data = [](int epoch) { return of({{static_cast<double>(epoch)}}); };
    const auto step = p.step();
    const auto test = p.test();
    std::vector<double> at;
    tn::fit_options o{.epochs = 50, .patience = 3, .log = [](const std::string&) {}};
    o.after_epoch.push_back([&](tn::fit_progress& e) { at.push_back(e.in.run(p.w).item()); });
    const tn::fit_history h = tn::fit(p.sess, o, step, data, test, of({{1.0}}));
    REQUIRE(h.best_epoch > 1);
    CHECK(h.stopped_early);
    CHECK(h.epochs.size() == static_cast<std::size_t>(h.best_epoch) + 3);
    CHECK(p.sess.run(p.w).item() == at[static_cast<std::size_t>(h.best_epoch) - 1]);
    CHECK(p.sess.run(tn::global_step()).item() == h.best_epoch);
    CHECK(h.best().validation[0] == doctest::Approx(std::pow(at[static_cast<std::size_t>(h.best_epoch) - 1] - 1, 2)));
    for (const tn::fit_epoch& e : h.epochs) CHECK(e.validation[0] >= h.best().validation[0]);
    // A callback may end it, and larger may be better.
    o.larger_is_better = true;
    o.patience = 0;
    o.after_epoch.push_back([](tn::fit_progress& e) { e.stop = e.epoch.epoch == 4; });
    const tn::fit_history other = tn::fit(p.sess, o, step, data, test, of({{1.0}}));
    CHECK(other.epochs.size() == 4);
    CHECK(other.stopped_early);
    CHECK(other.best_epoch == 4);
}

TEST_CASE_FIXTURE(in_folder, "fit: goes on where its last checkpoint is") {
    const auto data = [](int epoch) { return of({{static_cast<double>(epoch)}}); };
    const auto run = [&](int epochs, const std::string& name) {
        problem p;
        std::vector<std::string> lines;
        const auto step = p.step();
        const tn::fit_history h = tn::fit(p.sess,
                                          {.epochs = epochs,
                                           .restore_best = false,
                                           .checkpoint = folder / name,
                                           .log = [&](const std::string& l) { lines.push_back(l); }},
                                          step, data);
        return std::tuple(p.sess.run(p.w).item(), h.epochs.size(), lines.front());
    };
    const auto whole = run(5, "whole");
    CHECK(std::get<1>(run(3, "parts")) == 3);
    const auto rest = run(5, "parts");
    CHECK(std::get<0>(rest) == std::get<0>(whole));
    CHECK(std::get<1>(rest) == 2);
    CHECK(std::get<2>(rest) == "goes on after epoch 3");
}

namespace fitting {
// A training whose best epoch is neither the first nor the last, with all that a program which is started again has to find again: an order of data,
// random numbers, slots, an average of weights, patience.
struct long_problem {
    own_graph graph;
    bool is_seeded = (graph.set_seed(7), true);
    tn::tensor<double, tn::shape<batch>> x = tn::placeholder<double, tn::shape<batch>>("x");
    tn::variable_tensor<double, tn::shape<>> w = tn::variable("w", -1.0);
    tn::tensor<double, tn::shape<>> loss = tn::mean(tn::square(x - w));
    tn::tensor<double, tn::shape<>> noisy = loss + w * tn::random_normal<double, tn::shape<>>();
    tn::variable_tensor<double, tn::shape<>> rate = tn::variable("rate", 0.03, {.trainable = false});
    tn::operation slower = rate.assign(0.95 * rate).operation(); // by a callback, after each epoch
    tn::moving_average average{0.5};
    tn::operation train = average.after(tn::momentum(rate, 0.5).minimize(noisy));
    tn::session sess;
};

struct ended {
    std::vector<double> values; // of all variables
    int best_epoch, last_epoch;
    bool stopped_early;
    std::vector<double> best; // what was measured
    bool operator==(const ended&) const = default;
};
// What stops it is thrown.
struct killed {};

// What gives the data of a program, for its length.
inline auto minibatches_of_two() { return tn::minibatches({.size = 2, .seed = 3}, numbers({2, 1, 5, 4, 3})); }
// Orders, what a cache keeps of the first of them, and random numbers, also of data sets that others are made of.
inline auto data_set_of_two() {
    const auto noisy = [](auto x) { return x + tn::random_uniform<double, tn::shape<>>(-0.1, 0.1, 5); };
    return tn::data::slices(numbers({2, 1, 5, 4, 3}))
        .shuffle(5, {.seed = 3})
        .map(noisy)
        .cache()
        .shuffle(3, {.seed = 4})
        .flat_map([=](double x) { return tn::data::slices(numbers({x})).map(noisy); })
        .batch<batch>(2);
}

// One program: `stops` is asked after each step (true) and epoch (false), and kills by throwing or ends by returning true.
template <class Make>
ended run_long(const Make& make, const std::string& checkpoint, const std::function<bool(bool)>& stops,
               tn::fit_options o = {}) {
    long_problem p;
    auto data = make();
    const auto step = p.sess.callable(tn::feeds(p.x), tn::fetches(p.train, p.loss));
    const auto test = p.sess.callable(tn::feeds(p.x), tn::fetches(p.loss));
    o.epochs = 30;
    o.patience = 3;
    o.checkpoint = checkpoint;
    o.keep = 1;
    o.average = &p.average;
    o.log = [](const std::string&) {};
    int last = 0;
    if (stops) o.after_step.push_back([&](tn::fit_progress& f) { f.stop = stops(true); });
    o.after_epoch.push_back([&](tn::fit_progress& f) {
        last = f.epoch.epoch;
        if (!f.stop) f.in.run(p.slower);
        if (stops) f.stop = stops(false) || f.stop;
    });
    const tn::fit_history h = tn::fit(p.sess, o, step, data, test, of({{1.5}}));
    ended e{{}, h.best_epoch, last, h.stopped_early, h.best().validation};
    e.best.insert(e.best.end(), h.best().training.begin(), h.best().training.end());
    e.best.push_back(static_cast<double>(h.best().steps));
    for (const tn::any_tensor& v : tn::graph::current().collection(tn::global_variables)) {
        if (v.name() == "fit_epochs") continue;
        const tn::any_array value = std::move(p.sess.run_untyped({}, {v})[0]);
        e.values.push_back(value.element() == tn::element_type::int64 ? static_cast<double>(*value.data<std::int64_t>())
                                                                      : *value.data<double>());
    }
    return e;
}
} // namespace fitting

namespace fitting {
// A training that is stopped at any instant, and started again, ends as one that was not.
template <class Make> void goes_on_alike(const Make& make, const temporary_folder& folder) {
    int instants = 0;
    ended whole = run_long(make, folder / "whole", [&](bool) { return ++instants, false; });
    REQUIRE(whole.best_epoch > 2);
    REQUIRE(whole.last_epoch == whole.best_epoch + 3);
    REQUIRE(whole.stopped_early);
    REQUIRE(instants == 4 * whole.last_epoch);
    const auto same = [&](const ended& e) {
        CHECK(e.values == whole.values);
        CHECK(e.best_epoch == whole.best_epoch);
        CHECK(e.stopped_early);
        CHECK(e.best == whole.best);
    };
    // An end that was asked for is an end only of what could have gone on.
    for (const bool kills : {true, false})
        for (int at = 1; at <= instants; ++at) {
            CAPTURE(kills);
            CAPTURE(at);
            const std::string name = folder / ("m" + std::to_string(at) + (kills ? "k" : "s"));
            int now = 0;
            try {
                (void)run_long(make, name, [&](bool) {
                    if (++now == at && kills) throw killed();
                    return now == at;
                });
            } catch (const killed&) {
            }
            same(run_long(make, name, {}));
            same(run_long(make, name, {})); // what has ended stays so
        }
    // A step at a time.
    for (int i = 0; i < instants; ++i) (void)run_long(make, folder / "steps", [](bool) { return true; });
    same(run_long(make, folder / "steps", {}));
}
} // namespace fitting

TEST_CASE_FIXTURE(in_folder, "fit: what was stopped ends as what was not: minibatches") {
    goes_on_alike(minibatches_of_two, folder);
}
TEST_CASE_FIXTURE(in_folder, "fit: what was stopped ends as what was not: a data set") {
    goes_on_alike(data_set_of_two, folder);
}

TEST_CASE("fit: each epoch of a data set has an order of its own, that of the rounds of repeat") {
    const auto set = tn::data::slices(numbers({1, 2, 3, 4, 5, 6, 7, 8})).shuffle(8, {.seed = 2});
    std::vector<double> rounds;
    for (const double x : set.repeat(5)) rounds.push_back(x);
    problem p;
    std::vector<double> seen; // w stays 0, so the loss is the square of what was fed
    const auto step = p.sess.callable(tn::feeds(p.x), tn::fetches(p.loss));
    tn::fit_options o{.epochs = 5, .log = [](const std::string&) {}};
    o.after_step.push_back([&](tn::fit_progress& s) { seen.push_back(std::sqrt(s.epoch.training[0])); });
    (void)tn::fit(p.sess, o, step, set.batch<batch>(1));
    REQUIRE(seen.size() == rounds.size());
    std::set<std::vector<double>> orders;
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == doctest::Approx(rounds[i]));
    for (auto at = rounds.begin(); at != rounds.end(); at += 8) {
        orders.insert({at, at + 8});
        CHECK(std::set<double>(at, at + 8).size() == 8);
    }
    CHECK(orders.size() == 5);
    // Who wants one order says so.
    seen.clear();
    (void)tn::fit(p.sess, o, step,
                  tn::data::slices(numbers({1, 2, 3, 4, 5, 6, 7, 8}))
                      .shuffle(8, {.seed = 2, .reshuffle_each_epoch = false})
                      .batch<batch>(1));
    for (std::size_t i = 8; i < seen.size(); ++i) CHECK(seen[i] == seen[i - 8]);
}

TEST_CASE_FIXTURE(in_folder,
                  "fit: a best epoch that cannot be compared with is said, and the best is one of those that follow") {
    const auto data = [](int epoch) { return of({{static_cast<double>(epoch)}}); };
    std::vector<std::string> lines;
    const auto run = [&](const std::string& name, const tn::fit_options& options) {
        problem p;
        tn::fit_options o = options;
        o.checkpoint = folder / name;
        o.keep = 1;
        o.log = [&](const std::string& l) { lines.push_back(l); };
        lines.clear();
        return tn::fit(p.sess, o, p.step(), data, p.test(), of({{1.0}}));
    };
    const auto said = [&](const char* what) {
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& l) { return contains(l, what); });
    };
    // Of epochs 1 .. 5 the second is the best.
    for (const char* name : {"other", "old", "lost"}) REQUIRE(run(name, {.epochs = 5}).best_epoch == 2);
    CHECK(run("other", {.epochs = 5}).best().epoch == 2);
    CHECK(run("other", {.epochs = 6, .larger_is_better = true}).best_epoch == 6);
    CHECK(said("the best of those epochs is not known: they were measured otherwise"));
    // What older versions wrote.
    const std::string manifest = folder / "old-5.json", text = read_bytes(manifest);
    const std::size_t at = text.rfind(",\n \"metadata\"");
    REQUIRE(at != std::string::npos);
    write_bytes(manifest, text.substr(0, at) + "\n}\n");
    CHECK(run("old", {.epochs = 6}).best_epoch == 6);
    CHECK(said("not known: the checkpoint says nothing of them"));
    std::filesystem::remove(folder.path() / "lost-2.json");
    CHECK(run("lost", {.epochs = 6}).best_epoch == 6);
    CHECK(said("lost-2.json"));
    // Another optimiser: its slots begin anew, or all of it is refused.
    problem p;
    p.train = tn::momentum(0.25).minimize(p.loss);
    tn::fit_options o{
        .epochs = 7, .checkpoint = folder / "lost", .log = [&](const std::string& l) { lines.push_back(l); }};
    CHECK_ERROR(tn::not_found_error, "lacks w/momentum", tn::fit(p.sess, o, p.step(), data));
    o.partial = true;
    const tn::fit_history h = tn::fit(p.sess, o, p.step(), data);
    CHECK(said("the best of those epochs is not known: not in the checkpoint, and begun anew: w/momentum"));
    CHECK(h.epochs.size() == 1);
    CHECK(h.best_epoch == 7);
    // An average that there was not begins at what the weights are by then.
    const double w = p.sess.run(p.w).item();
    const tn::moving_average average(0.75);
    p.train = average.after(p.w.assign(p.w + 4.0).operation());
    o.epochs = 8;
    o.average = &average;
    const auto step = p.sess.callable(tn::feeds(p.x), tn::fetches(p.train, p.loss));
    (void)tn::fit(p.sess, o, step, data, p.test(), of({{1.0}}));
    CHECK(p.sess.run(p.w).item() == doctest::Approx(w + 1));
}

TEST_CASE_FIXTURE(in_folder, "fit: another program that saves under the same name is said, once") {
    for (const bool is_there : {false, true}) {
        problem p;
        std::vector<std::string> lines;
        tn::fit_options o{.epochs = 5, .checkpoint = folder / "m", .resume = false, .log = [&](const std::string& l) {
                              lines.push_back(l);
                          }};
        o.after_epoch.push_back([&](tn::fit_progress& e) {
            if (is_there && e.epoch.epoch > 1) (void)tn::saver(folder / "m").save(e.in, e.epoch.epoch - 1);
        });
        (void)tn::fit(p.sess, o, p.step(), of({{1.0}}));
        CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& l) {
                  return contains(l, "another program saves checkpoints of '");
              }) == is_there);
    }
}

TEST_CASE_FIXTURE(in_folder, "fit: where nobody counts steps, checkpoints are told apart nevertheless") {
    const auto data = [](int epoch) { return of({{static_cast<double>(epoch)}}); };
    const auto run = [&](int epochs) {
        problem p;
        const tn::operation train = p.w.assign(p.w + 0.5 * (tn::mean(p.x) - p.w)).operation();
        const auto step = p.sess.callable(tn::feeds(p.x), tn::fetches(train, p.loss));
        const tn::fit_options o{
            .epochs = epochs, .checkpoint = folder / "m", .keep = 1, .log = [](const std::string&) {}};
        const tn::fit_history h = tn::fit(p.sess, o, step, data, p.test(), of({{1.0}}));
        return std::pair(p.sess.run(p.w).item(), h.best_epoch);
    };
    const auto whole = run(4);
    CHECK(whole.second == 2);
    CHECK(run(5) == whole);
}

TEST_CASE_FIXTURE(in_folder, "fit: epochs of another training, as of a model that was loaded, are not counted") {
    problem p;
    const auto step = p.step();
    const batches data = of({{1.0}});
    tn::fit_options o{.epochs = 3, .log = [](const std::string&) {}};
    (void)tn::fit(p.sess, o, step, data);
    o.epochs = 2;
    o.checkpoint = folder / "m";
    CHECK(tn::fit(p.sess, o, step, data).epochs.size() == 2);
}

TEST_CASE("fit: the average of weights is what is validated and kept") {
    problem p;
    const tn::moving_average average(0.5);
    p.train = average.after(p.train);
    const auto step = p.step();
    const auto test = p.test();
    const tn::fit_history h =
        tn::fit(p.sess, {.average = &average, .log = [](const std::string&) {}}, step, of({{4.0}}), test, of({{0.0}}));
    // w becomes 2, its average 1.
    CHECK(h.epochs[0].validation[0] == doctest::Approx(1));
    CHECK(p.sess.run(p.w).item() == doctest::Approx(1));
}

TEST_CASE("fit: mistakes are named") {
    problem p;
    const auto step = p.step();
    const batches data = of({{1.0}});
    const auto refuses = [&](const tn::fit_options& o, const char* what) {
        CHECK_ERROR(tn::invalid_argument_error, what, tn::fit(p.sess, o, step, data));
    };
    refuses({.epochs = 0}, "0 epochs are asked for");
    refuses({.metrics = {"loss", "accuracy"}}, "fetches 1 scalars; fit_options::metrics names 2");
    // Before anything is trained.
    const auto more = p.sess.callable(tn::feeds(p.x), tn::fetches(p.loss, p.loss));
    CHECK_ERROR(tn::invalid_argument_error,
                "the callable for validation fetches 2 scalars; fit_options::metrics names 1",
                tn::fit(p.sess, {}, step, data, more, data));
    CHECK(tn::uninitialized_variables(p.sess).size() == 2);
    int steps = 0;
    tn::fit_options nowhere{.checkpoint = "/proc/nowhere/m"};
    nowhere.after_step.push_back([&](tn::fit_progress&) { ++steps; });
    CHECK_ERROR(tn::error, "/proc/nowhere", tn::fit(p.sess, nowhere, step, data));
    CHECK(steps == 0);
    refuses({.watched = "accuracy"}, "the watched metric \"accuracy\" is none of");
    CHECK_ERROR(tn::invalid_argument_error, "has no rows", tn::fit(p.sess, {}, step, batches()));
    // A batch without rows is refused before its step, whose mean, and then whose variables, would be NaN.
    CHECK_ERROR(tn::invalid_argument_error, "batch 2 of the data for training has no rows",
                tn::fit(p.sess, {.progress = false}, step, of({{1, 2}, {}, {3}})));
    CHECK(std::isfinite(p.sess.run(p.w).item()));
    CHECK_ERROR(tn::invalid_argument_error, "batch 1 of the data for validation has no rows",
                tn::fit(p.sess, {.progress = false}, step, of({{1}}), p.test(), of({{}})));
    CHECK_ERROR(tn::failed_precondition_error, "loss is inf", tn::fit(p.sess, {}, step, of({{INFINITY}})));
    const auto later = tn::variable("later", 1.0);
    CHECK_ERROR(tn::failed_precondition_error, "these have none: later", tn::fit(p.sess, {}, step, data));
}
