#include <chrono>

#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>

#include "tests.hpp"

namespace {

using lines = std::vector<std::string>;
auto into(lines& to) {
    return [&to](const std::string& line) { to.push_back(line); };
}

// A variable w that training takes towards 1; each step halves its distance.
struct model {
    own_graph graph;
    tn::variable_tensor<float, tn::shape<>> w{tn::variable("w", 0.0f)};
    tn::tensor<float, tn::shape<>> loss{tn::square(w - 1.0f)};
    tn::operation train{tn::gradient_descent(0.25).minimize(loss)};
};

// Tells what it is called with.
struct telling final : tn::session_hook {
    explicit telling(lines& l, const tn::any_tensor& t) : to(l), fetched(t) {}
    void begin() override { to.push_back("begin"); }
    void opened(tn::hook_context&, bool rebuilt) override { to.push_back(rebuilt ? "opened rebuilt" : "opened live"); }
    std::vector<tn::any_tensor> before_run(tn::hook_context&) override {
        to.push_back("before");
        return {fetched};
    }
    void after_run(tn::hook_context& c, const std::vector<tn::any_array>& values) override {
        REQUIRE(values.size() == 1);
        to.push_back("after " + std::to_string(c.step()) + " " + std::to_string(values[0].data<float>()[0]));
    }
    void end(tn::hook_context& c) override {
        (void)c.session();
        to.push_back("end");
    }
    lines& to;
    const tn::any_tensor fetched;
};

} // namespace

TEST_CASE("SEMANTICS 46: a monitored session initialises, runs until a step, saves, and goes on from there") {
    const temporary_folder folder;
    const auto train_until = [&](std::int64_t last, lines& told) {
        model m;
        tn::monitored_session sess({.checkpoint = folder / "m", .hooks = {tn::stop_at_step(last)}, .log = into(told)});
        int steps = 0;
        while (!sess.should_stop()) {
            sess.run(m.train);
            ++steps;
        }
        CHECK(sess.session().run(m.w)() == doctest::Approx(1 - std::pow(0.5, static_cast<double>(last))));
        CHECK_THROWS_AS(sess.run(m.train), tn::failed_precondition_error);
        sess.close();
        sess.close();
        CHECK_THROWS_AS(sess.run(m.train), tn::failed_precondition_error);
        return steps;
    };
    lines told;
    CHECK(train_until(5, told) == 5);
    CHECK(told == lines{"session: initialised 2 variables", "session: saved " + folder / "m-0.json",
                        "session: saved " + folder / "m-5.json"});
    told.clear();
    CHECK(train_until(8, told) == 3);
    CHECK(told == lines{"session: restored " + folder / "m-5.json", "session: saved " + folder / "m-8.json"});
    told.clear();
    CHECK(train_until(8, told) == 0); // nothing is left to do, and nothing new to save
    CHECK(told.size() == 1);
}

TEST_CASE("hooks are called in their order, with what they fetch; a run returns what was asked for") {
    model m;
    lines told;
    {
        tn::monitored_session sess({.hooks = {std::make_shared<telling>(told, m.loss)}});
        const auto [l, w] = sess.run(m.train, m.loss, m.w);
        CHECK(l() == 1);
        CHECK(w() == 0);
        CHECK(sess.run(m.w)() == 0.5f);
        static_assert(std::is_void_v<decltype(sess.run(m.train))>);
    }
    CHECK(told == lines{"begin", "opened rebuilt", "before", "after 1 1.000000", "before", "after 2 0.250000", "end"});
}

TEST_CASE_FIXTURE(in_folder, "what training has left on a task is gone on with, and not what was saved before") {
    const tn::task shared;
    lines told;
    const auto tell = into(told);
    {
        model m;
        tn::monitored_session sess({.tasks = {shared}, .checkpoint = folder / "m", .log = tell});
        sess.run(m.train);
        sess.close();
    }
    {
        model m; // another client, which is killed, so to say: it saves nothing
        tn::session sess(shared);
        sess.run(m.train);
    }
    told.clear();
    {
        model m;
        tn::monitored_session sess({.tasks = {shared}, .checkpoint = folder / "m", .log = tell});
        CHECK(sess.session().run(m.w)() == 0.75f);
        sess.close();
    }
    CHECK(told ==
          lines{"session: all variables have values, and are gone on with", "session: saved " + folder / "m-2.json"});
}

TEST_CASE("who is no chief waits until the variables have values, and names those that get none") {
    const tn::task shared;
    {
        model m;
        CHECK_ERROR(tn::deadline_exceeded_error, "w, global_step",
                    tn::monitored_session({.tasks = {shared}, .is_chief = false, .open_timeout = 0.05}));
    }
    std::thread other([&] {
        model m;
        tn::monitored_session sess({.tasks = {shared}, .is_chief = false});
        sess.run(m.train);
    });
    {
        model m;
        tn::monitored_session sess({.tasks = {shared}});
        other.join();
        CHECK(sess.run(m.w)() == 0.5f);
    }
}

TEST_CASE("SEMANTICS 28: a chief is who holds the lease: when it leaves, another of those that train is") {
    const temporary_folder folder;
    const tn::task shared;
    std::mutex guard; // of the lines
    lines told;
    const auto tell = [&](const std::string& line) {
        const std::lock_guard lock(guard);
        told.push_back(line);
    };
    model m;
    const auto options = [&](bool chief) {
        return tn::monitored_session_options{
            .tasks = {shared}, .is_chief = chief, .chief_lease = 0.3, .checkpoint = folder / "m", .log = tell};
    };
    std::optional<tn::monitored_session> first(std::in_place, options(true)), second(std::in_place, options(false));
    CHECK(first->is_chief());
    CHECK_FALSE(second->is_chief());
    first->run(m.train);
    {
        tn::monitored_session third(options(true)); // wants to be, and is not while another is
        CHECK_FALSE(third.is_chief());
        third.run(m.train);
    }
    CHECK(first->is_chief());
    first.reset();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!second->is_chief()) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        second->run(m.w);
    }
    second->run(m.train);
    second->close();
    CHECK(std::filesystem::exists(folder / "m-3.json")); // it has saved
    const std::lock_guard lock(guard);
    CHECK(std::count(told.begin(), told.end(), "session: this process is the chief, term 2") == 1);
}

TEST_CASE("SEMANTICS 28: when a chief is gone before it has given values, another gives them") {
    const tn::task shared;
    model m;
    // One that has the lease, and never does anything else.
    const tn::any_tensor lease = tn::add<tn::lease_op>({"chief"}, {});
    const tn::any_tensor claimed =
        tn::add<tn::claim_lease_op>({}, {lease, tn::constant(std::string("a process that ends")), tn::constant(0.2),
                                         tn::constant(std::int64_t{0})});
    tn::session gone(shared);
    CHECK(*gone.run_untyped({}, {claimed})[0].data<std::string>() == "a process that ends");
    tn::monitored_session sess({.tasks = {shared}, .is_chief = false, .chief_lease = 0.2, .open_timeout = 60});
    CHECK(sess.is_chief());
    sess.run(m.train);
    CHECK(sess.session().run(m.w)() == 0.5f);
}

TEST_CASE("who waits for a chief says so every few seconds: for whom, and for what") {
    const tn::task shared;
    model m;
    lines told;
    CHECK_THROWS_AS(tn::monitored_session({.tasks = {shared}, .is_chief = false, .open_timeout = 4, .log = into(told)}),
                    tn::deadline_exceeded_error);
    CHECK(told ==
          lines{"session: waits for the chief, which is nobody, to give values to 2 variables: w, global_step"});
}

TEST_CASE("SEMANTICS 46: a chief whose last checkpoint is damaged takes the one before it where that is asked for, and "
          "says so") {
    const temporary_folder folder;
    model m;
    {
        tn::monitored_session sess({.checkpoint = folder / "m", .save_every = {.steps = 1}});
        for (int i = 0; i < 3; ++i) sess.run(m.train);
    }
    std::filesystem::resize_file(folder / "m-3.json", 10);
    CHECK_THROWS_AS(tn::monitored_session({.checkpoint = folder / "m"}), tn::data_loss_error);
    lines told;
    tn::monitored_session sess({.checkpoint = folder / "m", .fall_back = true, .log = into(told)});
    CHECK(sess.session().run(m.w)() == doctest::Approx(0.75));
    REQUIRE(told.size() == 2);
    CHECK(told[0].find("session: passed over what is damaged: " + folder / "m-3.json") == 0);
    CHECK(told[1] == "session: restored " + folder / "m-2.json");
}

TEST_CASE(
    "SEMANTICS 46: what a checkpoint does not have, or otherwise, is initialised where that is asked for, and named") {
    const temporary_folder folder;
    {
        const own_graph g;
        const auto w = tn::variable("w", 0.0f);
        (void)tn::variable<float, tn::shape<2>>("other", tn::zeros());
        tn::monitored_session sess({.checkpoint = folder / "m"});
        sess.run(w.assign(5.0f));
        sess.close();
    }
    const own_graph g;
    const auto w = tn::variable("w", 0.0f);
    const auto other = tn::variable<float, tn::shape<3>>("other", tn::constant_value(2));
    const auto table =
        tn::variable<float, tn::shape<4, 2>>("table", tn::constant_value(3), {.partition = {.parts = 2}});
    CHECK_THROWS_AS(tn::monitored_session({.checkpoint = folder / "m"}), tn::invalid_argument_error);
    lines told;
    tn::monitored_session sess({.checkpoint = folder / "m", .partial = true, .log = into(told)});
    REQUIRE(told.size() == 2);
    CHECK(told[1] == "session: initialised what " + folder / "m-1.json" +
                         " does not have: table, other: float[3] here, float[2] in the file");
    auto [is_w, is_other, is_table] = sess.session().run(w, other, table);
    CHECK(is_w() == 5);
    CHECK(is_other(2) == 2);
    CHECK((is_table(0, 0) == 3 && is_table(3, 1) == 3));
}

TEST_CASE("SEMANTICS 46: a list of checkpoints that is damaged ends no training: it is passed over where that is asked "
          "for, and made anew by the next save") {
    const temporary_folder folder;
    model m;
    const std::string list = folder / "m.checkpoints.json";
    lines told;
    const auto options = [&] {
        return tn::monitored_session_options{
            .checkpoint = folder / "m", .fall_back = true, .save_every = {.steps = 1}, .log = into(told)};
    };
    {
        tn::monitored_session sess(options());
        sess.run(m.train);
        std::filesystem::resize_file(list, 0);
        told.clear();
        sess.run(m.train);
        REQUIRE(told.size() == 2);
        CHECK(told[0].find("session: made the list of checkpoints anew, without what is damaged: " + list) == 0);
        CHECK(told[1] == "session: saved " + folder / "m-2.json");
    }
    std::filesystem::resize_file(list, 10);
    CHECK_ERROR(tn::data_loss_error, "fall_back", tn::monitored_session({.checkpoint = folder / "m"}));
    {
        told.clear();
        tn::monitored_session sess(options());
        CHECK(sess.session().run(m.w)() == doctest::Approx(0.75));
        REQUIRE(told.size() == 2);
        CHECK(told[0].find("session: passed over what is damaged: " + list) == 0);
        CHECK(told[1] == "session: restored " + folder / "m-2.json");
        sess.run(m.train);
    }
    CHECK(tn::monitored_session({.checkpoint = folder / "m"}).session().run(m.w)() == doctest::Approx(0.875));
    // Of a list without checkpoints it is not known what was lost: nothing begins from the beginning in silence.
    for (const int step : {0, 1, 2, 3}) std::filesystem::remove(folder / ("m-" + std::to_string(step) + ".json"));
    std::filesystem::resize_file(list, 0);
    CHECK_ERROR(tn::data_loss_error, "is whole:", tn::monitored_session{options()});
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 46: checkpoints by steps and by seconds") {
    model m;
    double now = 0;
    lines told;
    tn::monitored_session sess({.checkpoint = folder / "m",
                                .keep = 0,
                                .save_every = {.steps = 4, .seconds = 10},
                                .clock = [&] { return now; },
                                .log = into(told)});
    for (int i = 0; i < 5; ++i) sess.run(m.train); // saves at 4
    now = 11;
    sess.run(m.train);                             // by time, at 6
    for (int i = 0; i < 4; ++i) sess.run(m.train); // at 10
    sess.close();
    CHECK(told == lines{"session: initialised 2 variables", "session: saved " + folder / "m-0.json",
                        "session: saved " + folder / "m-4.json", "session: saved " + folder / "m-6.json",
                        "session: saved " + folder / "m-10.json"});
}

TEST_CASE("hooks log values and rates") {
    model m;
    lines values, rates;
    double now = 0;
    const auto clock = [&] { return now; };
    tn::monitored_session sess({.hooks = {tn::log_tensors({m.loss, m.w}, {.steps = 3}, into(values)),
                                          tn::step_rate({.steps = 5}, into(rates))},
                                .clock = clock});
    for (int i = 0; i < 10; ++i) {
        now += 0.5;
        sess.run(m.train);
    }
    REQUIRE(values.size() == 4); // in steps 1, 4, 7 and 10
    CHECK(values[0] == "step 1: " + m.loss.name() + " = 1, w = 0");
    CHECK(values[1].starts_with("step 4: "));
    CHECK(rates == lines{"step 5: 2 steps/s", "step 10: 2 steps/s"});
    CHECK_THROWS_AS(tn::log_tensors({m.loss}, {.steps = -1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::step_rate({.seconds = -1}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 46: a loss that is not a number ends training, and is not saved") {
    for (const bool stop : {false, true}) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const auto w = tn::variable("w", 1.0f);
        const tn::tensor<float, tn::shape<>> loss = x * w;
        const auto train = tn::gradient_descent(0.1).minimize(loss);
        tn::monitored_session sess(
            {.checkpoint = folder / "m", .save_every = {.steps = 1}, .hooks = {tn::nan_guard(loss, stop)}});
        const auto nan = std::numeric_limits<float>::quiet_NaN();
        sess.run(tn::feed(x, 1.0f), train);
        if (stop) {
            sess.run(tn::feed(x, nan), train);
            CHECK(sess.should_stop());
        } else CHECK_ERROR(tn::failed_precondition_error, "diverged", sess.run(tn::feed(x, nan), train));
        if (!stop) break;
    }
    const own_graph g;
    CHECK_THROWS_AS(tn::nan_guard(tn::constant(std::int32_t{1})), tn::invalid_argument_error);
}

TEST_CASE("hooks look at the steps that can compute what they want, and ask nothing of others") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const auto w = tn::variable("w", 1.0f);
    const tn::tensor<float, tn::shape<>> loss = x * w;
    const auto train = tn::gradient_descent(0.5).minimize(loss);
    const auto numbers = tn::data::range(3);
    const auto n = tn::make_one_shot_iterator(numbers).get_next();
    const tn::tensor<float, tn::shape<>> of_data = tn::cast<float>(n) / w;
    lines said;
    tn::monitored_session sess(
        {.hooks = {tn::nan_guard(loss), tn::nan_guard(of_data), tn::log_tensors({loss}, {.steps = 1}, into(said))}});
    CHECK(sess.run(w).item() == 1); // without a feed, and without an element
    CHECK(said.empty());
    CHECK(sess.run(n).item() == 0);     // the step takes one: the guard sees the same
    sess.run(tn::feed(x, 0.0f), train); // it does not need the loss itself
    CHECK(said.size() == 1);
    CHECK(sess.run(tn::feed(loss, 5.0f), loss + 1.0f).item() == 6); // which may be fed
    CHECK(said.size() == 2);
    CHECK(sess.run(n).item() == 1);
    sess.run(tn::feed(x, 2.0f), train); // w = 0
    CHECK_ERROR(tn::failed_precondition_error, "diverged", sess.run(n));
    CHECK_ERROR(tn::failed_precondition_error, "diverged",
                sess.run(tn::feed(x, std::numeric_limits<float>::infinity()), train));
}

TEST_CASE("SEMANTICS 37: queue runners are started with the session; the end of the data ends the loop") {
    model m;
    const tn::fifo_queue<float> queue(4);
    const auto count = tn::variable("count", 0.0f, {.collected = false});
    const auto one = tn::constant(1.0f);
    tn::add_queue_runner(tn::queue_runner(queue, queue.enqueue(one), 1));
    const auto x = queue.dequeue();
    const auto close = queue.close();
    const auto sum = count.assign_add(x);
    tn::monitored_session sess({.local_initializer = count.initializer()});
    int steps = 0;
    sess.loop([&] {
        if (++steps == 6) sess.run(close); // the runner ends, and what is left is taken
        (void)sess.run(m.train, sum);
    });
    CHECK(steps >= 6);
    CHECK(sess.session().run(count)() >= 5);
    sess.close();
}

TEST_CASE("a hook that stops is heard by who runs; a hook that throws is, too") {
    struct stopping final : tn::session_hook {
        void after_run(tn::hook_context& c, const std::vector<tn::any_array>&) override { c.request_stop(); }
    };
    struct throwing final : tn::session_hook {
        void after_run(tn::hook_context&, const std::vector<tn::any_array>&) override {
            throw tn::internal_error("the hook's own");
        }
    };
    {
        model m;
        tn::monitored_session sess({.hooks = {std::make_shared<stopping>()}});
        sess.run(m.train);
        CHECK(sess.should_stop());
    }
    model m;
    tn::monitored_session sess({.hooks = {std::make_shared<throwing>()}});
    CHECK_THROWS_WITH_AS(sess.run(m.train), "the hook's own", tn::internal_error);
    CHECK_THROWS_AS(tn::monitored_session({.hooks = {nullptr}}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::monitored_session({.open_timeout = -1}), tn::invalid_argument_error);
}

TEST_CASE("SEMANTICS 37: an index beyond an array is an error of the loop, and no end of the data") {
    model m;
    const tn::array<float, tn::shape<tn::dyn>> known(2);
    tn::monitored_session sess;
    int steps = 0;
    CHECK_THROWS_AS(sess.loop([&] {
        (void)known(steps++);
        sess.run(m.train);
    }),
                    tn::out_of_range_error);
    CHECK(steps == 3);
    CHECK(!sess.should_stop());
    sess.loop([&] { throw tn::end_of_data_error("there is no more"); });
    CHECK(sess.should_stop());
}

TEST_CASE("SEMANTICS 46: where there is no other process nothing is recovered from: the variables stay, and the error "
          "is thrown") {
    struct failing final : tn::session_hook {
        void after_run(tn::hook_context&, const std::vector<tn::any_array>&) override {
            if (what != tn::error_code::unknown) tn::throw_error(what, "the hook's own", why);
        }
        tn::error_code what = tn::error_code::unknown;
        tn::error_reason why{};
    };
    model m;
    const tn::fifo_queue<float> queue(4);
    const tn::operation close = queue.close();
    const auto hook = std::make_shared<failing>();
    tn::monitored_session sess({.hooks = {hook}});
    for (int i = 0; i < 3; ++i) sess.run(m.train);
    sess.run(close);
    CHECK_ERROR(tn::aborted_error, "is closed already", sess.run(close));
    for (const tn::error_code code : {tn::error_code::unavailable, tn::error_code::aborted})
        for (const tn::error_reason reason : {tn::error_reason::none, tn::error_reason::lost_task}) {
            hook->what = code;
            hook->why = reason;
            CHECK_THROWS_WITH_AS(sess.run(m.w), "the hook's own", tn::error);
        }
    hook->what = tn::error_code::unknown;
    CHECK(sess.sessions_opened() == 1);
    CHECK(sess.run(m.w)() == 0.875f);
}

TEST_CASE("variables without values are named") {
    model m;
    tn::session s;
    CHECK(tn::uninitialized_variables(s) == std::vector<std::string>{"w", "global_step"});
    s.run(m.w.initializer());
    CHECK(tn::uninitialized_variables(s) == std::vector<std::string>{"global_step"});
    const std::int64_t size = m.graph.size();
    CHECK(tn::uninitialized_variables(s, {m.w}).empty());
    CHECK(m.graph.size() == size);
}
