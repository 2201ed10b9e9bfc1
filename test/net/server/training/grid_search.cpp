#include <net/server/servers.hpp>
#include <tenon/net/net.hpp>
#include <tenon/search/grid_search.hpp>

#include "tests.hpp"
#include "same_results.hpp"

// A search over the devices of a cluster, whose tasks are lost and come back (TOUR 20).

namespace {

struct settings {
    int number = 0;
    int steps = 4;
};
tn::grid<settings> numbers(int n) {
    std::vector<int> all;
    for (int i = 1; i <= n; ++i) all.push_back(i);
    return tn::grid(tn::axis("number", &settings::number, all));
}

// Lines of a search, to wait for.
using net_test::told_lines;

tn::grid_search_options quick(const std::shared_ptr<told_lines>& told, tn::grid_search_options o = {}) {
    o.log = [told](const std::string& line) { told->add(line); };
    o.session.open_timeout = 2;
    return o;
}

// The score of a step is what a random variable and the number give; `before` is called before each.
template <class F> void train(const settings& s, tn::trial& t, F before) {
    const auto w = tn::variable<float, tn::shape<8>>("w", tn::uniform(-1, 1));
    const auto more = tn::mean(w.assign_add(static_cast<float>(s.number)));
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    for (int i = 1; i <= s.steps; ++i) {
        before(i);
        if (!t.report(i, static_cast<double>(sess.run(more)()))) return;
    }
}
void train_undisturbed(const settings& s, tn::trial& t) {
    train(s, t, [](int) {});
}

std::vector<tn::trial_result<settings>> results_alone(int n) {
    tn::grid_search search(numbers(n), tn::devices_of(tn::task()), quick(std::make_shared<told_lines>()));
    search.run(train_undisturbed);
    return search.results();
}

} // namespace

TEST_CASE("TOUR 20: the tasks of a cluster train a network each at a time, with the results of one device") {
    const net_test::clients_that clients;
    net_test::servers all(1, 3);
    const auto expected = results_alone(9);
    const auto told = std::make_shared<told_lines>();
    for (const bool by_one_server : {false, true}) {
        const auto devices = by_one_server ? tn::devices_of(all.target("worker", 0), {"/job:worker"})
                                           : tn::devices_of(all.cluster, {"worker"});
        REQUIRE(devices.size() == 3);
        CHECK(to_string(devices[1].name) == "/job:worker/replica:0/task:1/device:CPU:0");
        tn::grid_search search(numbers(9), devices, quick(told));
        std::mutex guard;
        std::set<std::string> used;
        std::condition_variable changed;
        search.run([&](const settings& s, tn::trial& t) {
            std::unique_lock lock(guard);
            used.insert(to_string(t.device()));
            changed.notify_all();
            changed.wait(lock, [&] { return used.size() == 3; }); // so that each has one
            lock.unlock();
            train_undisturbed(s, t);
        });
        same_results(search.results(), expected);
        CHECK(search.progress().lost == 0);
    }
    for (int i = 0; i < 3; ++i) // what trials had there is given back; a session's close does not wait for it
        net_test::status_when(all.at("worker", i), [](const tn::net::task_row& row) { return row.resources.empty(); });
    CHECK(tn::devices_of(all.cluster).size() == 4);
}

TEST_CASE("a point whose task is lost is trained again elsewhere, with the same result; the task takes points when it "
          "is back") {
    const net_test::clients_that clients;
    net_test::servers all(1, 2);
    const auto told = std::make_shared<told_lines>();
    tn::grid_search search(numbers(6), tn::devices_of(all.cluster, {"worker"}), quick(told, {.name = "six"}));
    std::mutex guard;
    std::condition_variable changed;
    bool stopped = false, back = false, used_again = false;
    const auto until = [&](const bool& is) {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return is; });
    };
    const auto set = [&](bool& what) {
        const std::lock_guard lock(guard);
        what = true;
        changed.notify_all();
    };
    search.run([&](const settings& s, tn::trial& t) {
        const bool second = t.device().task == 1;
        train(s, t, [&](int step) {
            if (second && !stopped && step == 3) {
                all.stop("worker", 1);
                set(stopped);
            } else if (second && stopped) set(used_again);
            else if (!second && step == 2) until(stopped);
        });
        if (second || t.attempt() == 1 || back) return;
        // The other's point has come here: the other is started again, and is waited for.
        all.start("worker", 1);
        CHECK(told->wait_for({"/task:1/device:CPU:0 is there again"}) != "");
        back = true;
        until(used_again);
    });
    CHECK(search.is_complete());
    CHECK(search.progress().lost == 1);
    CHECK(search.progress().lost_devices == 0);
    same_results(search.results(), results_alone(6));
    const auto results = search.results();
    const auto lost = std::find_if(results.begin(), results.end(), [](const auto& r) { return !r.lost_on.empty(); });
    REQUIRE(lost != results.end());
    CHECK(lost->lost_on == std::vector<std::string>{"/job:worker/replica:0/task:1/device:CPU:0"});
    CHECK(told->wait_for({"six: /job:worker/replica:0/task:1/device:CPU:0 is lost, and point " +
                          std::to_string(lost->point) + " (" + lost->text + ") is trained again: "}) != "");
}

TEST_CASE("when no device is left run() throws within its limit, names them, and keeps what has ended; it goes on when "
          "one is back") {
    const net_test::clients_that clients;
    net_test::servers all(1, 2);
    const auto told = std::make_shared<told_lines>();
    tn::grid_search search(numbers(5), tn::devices_of(all.cluster, {"worker"}), quick(told, {.device_timeout = 0.5}));
    std::atomic<int> ended{0};
    std::mutex guard;
    CHECK_ERROR(tn::unavailable_error, "no device has been there for 0.5 s",
                search.run([&](const settings& s, tn::trial& t) {
                    train(s, t, [&](int step) {
                        const std::lock_guard lock(guard);
                        const int task = t.device().task;
                        if (ended >= 2 && step == 2 && all.up[{"worker", task}]) all.stop("worker", task);
                    });
                    ++ended;
                }));
    const auto kept = search.results();
    CHECK(kept.size() >= 2);
    CHECK(kept.size() < 5);
    const auto p = search.progress();
    CHECK(p.lost_devices == 2);
    CHECK(p.left == 5 - static_cast<int>(kept.size()));
    CHECK(p.running == 0);
    try { // again, with nothing that is there
        search.run(train_undisturbed);
        FAIL("there are devices");
    } catch (const tn::unavailable_error& e) {
        for (const char* device :
             {"/job:worker/replica:0/task:0/device:CPU:0: ", "/job:worker/replica:0/task:1/device:CPU:0: "})
            CHECK_MESSAGE(contains(e.what(), device), e.what());
    }
    all.start("worker", 1);
    search.run(train_undisturbed);
    same_results(search.results(), results_alone(5));
}

TEST_CASE("a point that loses its task again and again has failed; the others are trained") {
    const net_test::clients_that clients;
    net_test::servers all(1, 1);
    const auto told = std::make_shared<told_lines>();
    tn::grid_search search(numbers(3), tn::devices_of(all.cluster, {"worker"}), quick(told, {.attempts = 2}));
    search.run([&](const settings& s, tn::trial& t) {
        train(s, t, [&](int step) {
            if (s.number != 2 || step != 2) return;
            all.stop("worker", 0);
            all.start("worker", 0);
        });
    });
    const auto r = search.results();
    REQUIRE(r.size() == 3);
    CHECK(r[0].end == tn::trial_end::done);
    CHECK(r[1].end == tn::trial_end::failed);
    CHECK(r[1].message.starts_with("it has lost 2 tasks, the last one by: "));
    CHECK(r[1].lost_on.size() == 2);
    CHECK(r[2].end == tn::trial_end::done);
}

TEST_CASE("a task that does not answer when the devices are asked for is tried later") {
    const net_test::clients_that clients;
    net_test::servers all(1, 2);
    all.stop("worker", 0);
    const auto devices = tn::devices_of(all.cluster, {"worker"}, 0.3);
    REQUIRE(devices.size() == 2);
    CHECK(to_string(devices[0].name) == "/job:worker/replica:0/task:0");
    const auto told = std::make_shared<told_lines>();
    tn::grid_search search(numbers(4), devices, quick(told));
    std::atomic<bool> started{false};
    search.run([&](const settings& s, tn::trial& t) {
        if (t.device().task == 1 && !started) {
            CHECK(told->wait_for({"/job:worker/replica:0/task:0 is lost"}) != "");
            started = true;
            all.start("worker", 0);
            CHECK(told->wait_for({"/job:worker/replica:0/task:0 is there again"}) != "");
        }
        train_undisturbed(s, t);
    });
    same_results(search.results(), results_alone(4));
    CHECK(search.progress().lost == 0); // none had begun
}

TEST_CASE(
    "a device whose server asks for a token, or is another cluster's, is lost: no point fails by it, and run() says "
    "why; it goes on when the task is back") {
    const net_test::clients_that clients;
    for (const bool has_token : {true, false}) {
        net_test::servers all(1, 1);
        const auto told = std::make_shared<told_lines>();
        tn::grid_search search(numbers(4), tn::devices_of(all.cluster, {"worker"}),
                               quick(told, {.device_timeout = 0.5}));
        std::optional<tn::server> instead;
        CHECK_ERROR(tn::unavailable_error,
                    has_token ? "it asks for a token" : "which names no task of the cluster; it has /job:other/task:0",
                    search.run([&](const settings& s, tn::trial& t) {
                        train(s, t, [&](int step) {
                            if (s.number != 2 || step != 3 || instead) return;
                            tn::server_options o = all.options;
                            if (has_token) o.token = "secret";
                            all.stop("worker", 0);
                            if (has_token) instead.emplace(all.cluster, "worker", 0, o);
                            else
                                instead.emplace(tn::cluster({{"other", std::vector{all.cluster.address("worker", 0)}}}),
                                                "other", 0, o);
                        });
                    }));
        CHECK(search.results().size() == 1);
        CHECK(search.progress().left == 3);
        CHECK(search.progress().lost == 1);
        CHECK(told->wait_for({"/task:0/device:CPU:0 is lost, and point 1 (number=2"}) != "");
        if (!has_token) CHECK(tn::devices_of(all.cluster, {"worker"}).size() == 1); // to be tried later
        instead->stop(0);
        instead.reset();
        all.start("worker", 0);
        search.run(train_undisturbed);
        same_results(search.results(), results_alone(4));
    }
}

TEST_CASE("an error of a training whose device is there is its point's, also where its own session is another's") {
    const net_test::clients_that clients;
    net_test::servers all(1, 1);
    const auto told = std::make_shared<told_lines>();
    tn::grid_search search(numbers(3), tn::devices_of(all.cluster, {"worker"}), quick(told, {.attempts = 2}));
    search.run([&](const settings& s, tn::trial& t) {
        if (s.number == 1) throw tn::permission_denied_error("no data for it");
        if (s.number == 2) tn::throw_error(tn::error_code::unavailable, "another task", tn::error_reason::lost_task);
        train_undisturbed(s, t);
    });
    const auto r = search.results();
    REQUIRE(r.size() == 3);
    CHECK(r[0].message == "no data for it");
    CHECK(r[1].message == "it has lost 2 tasks, the last one by: another task");
    CHECK(r[2].end == tn::trial_end::done);
}

TEST_CASE("a stop ends trials whose steps wait on a server") {
    const net_test::clients_that clients;
    net_test::servers all(1, 1);
    tn::grid_search search(numbers(2), tn::devices_of(all.cluster),
                           quick(std::make_shared<told_lines>(), {.stop_grace = 0}));
    search.run([&](const settings&, tn::trial& t) {
        const tn::fifo_queue<float> never(1);
        const auto step = t.session().callable(tn::feeds(), tn::fetches(never.dequeue())).start();
        search.request_stop();
        (void)step.get();
    });
    CHECK(search.results().empty());
    search.run(train_undisturbed);
    same_results(search.results(), results_alone(2));
}
