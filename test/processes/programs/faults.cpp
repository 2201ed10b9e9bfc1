// What happens to real servers: killed, stopped past their lease, out of descriptors, out of disk, with a clock that is set. Starts `tenon serve` for each
// task, and is the client.

#include <csignal>
#include <filesystem>

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <net/transport/raw_socket.hpp>
#include <processes/programs/tasks.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

namespace {

// On a ps: a step that says that it has begun, and waits; and a counter.
struct model {
    explicit model(const std::string& ps = "/job:ps/task:0") {
        const tn::device_scope there{tn::device_name(ps)};
        count.push_back(tn::variable("count", std::int64_t{0}));
        more.push_back(count[0].assign_add(std::int64_t{1}));
        queues.emplace_back(4, tn::queue_options{.shared_name = "begun"});
        queues.emplace_back(4, tn::queue_options{.shared_name = "goes_on"});
        begun.push_back(queues[0].dequeue());
        const tn::control_dependencies first(queues[0].enqueue(std::int64_t{1}));
        wait.push_back(queues[1].dequeue() + std::int64_t{0});
    }
    own_graph graph;
    std::vector<tn::variable_tensor<std::int64_t, tn::shape<>>> count;
    std::vector<tn::fifo_queue<std::int64_t>> queues;
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> more, wait, begun;
};

// 16 MiB on a ps, saved.
struct large_model {
    large_model() {
        const tn::device_scope there("/job:ps/task:0");
        v.push_back(tn::variable<float, tn::shape<1 << 22>>("large", tn::zeros()));
        add.push_back(v[0].assign_add(1.0f));
    }
    own_graph graph;
    std::vector<tn::variable_tensor<float, tn::shape<1 << 22>>> v;
    std::vector<tn::tensor<float, tn::shape<1 << 22>>> add;
};

} // namespace

TEST_CASE("SEMANTICS 28: a ps that is killed in mid-step: the step fails within two heartbeats and names it; started "
          "again, it serves") {
    processes all(2, 1);
    model m;
    initialized_session sess(all.target(), m.graph);
    const auto step = sess.callable(tn::feeds(), tn::fetches(m.wait[0])).start();
    (void)sess.run(m.begun[0]);
    const auto at = std::chrono::steady_clock::now();
    all.at("ps", 0).end(SIGKILL);
    CHECK_ERROR(tn::unavailable_error, "/job:ps/task:0", step.get());
    MESSAGE("after " << std::chrono::duration<double>(std::chrono::steady_clock::now() - at).count() << " s");
    all.start("ps", 0);
    CHECK_ERROR(tn::aborted_error, "/job:ps/task:0", sess.run(m.count[0]));
    initialized_session again(all.target(), m.graph);
    CHECK(again.run(m.more[0])() == 1);
}

TEST_CASE("SEMANTICS 28: a process that is stopped past its lease is given up, and when it continues it serves new "
          "sessions") {
    processes all(1, 2);
    model m;
    initialized_session sess(all.target(0), m.graph), other(all.target(1), m.graph);
    CHECK(sess.run(m.more[0])() == 1);
    all.at("ps", 0).stop_still();
    CHECK_ERROR(tn::unavailable_error, "/job:ps/task:0", sess.run(m.more[0]));
    all.at("ps", 0).signal(SIGCONT);
    REQUIRE(all.at("ps", 0).wait_for("has not been heard of for 1.5 s"));
    tn::session again(all.target(0), m.graph);
    const std::int64_t now = again.run(m.count[0])(); // what was asked for while it stood may have come in time, once
    CHECK(now >= 1);
    CHECK(now <= 2);
    CHECK(again.run(m.more[0])() == now + 1);

    // A worker that stood still is no master any more: its client is told, its steps are gone from the ps.
    const auto step = again.callable(tn::feeds(), tn::fetches(m.wait[0])).start();
    (void)again.run(m.begun[0]);
    all.at("worker", 0).stop_still();
    CHECK_ERROR(tn::unavailable_error, "127.0.0.1:", step.get());
    REQUIRE(all.at("ps", 0).wait_for("/job:worker/task:0 (127.0.0.1:"));
    tn::session beside(all.target(1), m.graph, {.device_filters = {"/job:ps", "/job:worker/task:1"}});
    CHECK(beside.run(m.more[0])() == now + 2);
    all.at("worker", 0).signal(SIGCONT);
    tn::session back(all.target(0), m.graph);
    CHECK(back.run(m.more[0])() == now + 3);
}

TEST_CASE("SEMANTICS 46: a ps that is killed while it writes a checkpoint: the one before is whole, and is what is "
          "restored") {
    processes all(1, 1);
    large_model m;
    tn::saver keeper("m");
    {
        initialized_session sess(all.target(), m.graph);
        sess.run(tn::operation(m.add[0].node()));
        CHECK(keeper.save(sess, 1).path == "m-1.json");
        sess.run(tn::operation(m.add[0].node()));
        // The first file that is made is the next checkpoint's shard.
        const int watch = ::inotify_init1(IN_CLOEXEC);
        REQUIRE(::inotify_add_watch(watch, all.files.path().c_str(), IN_CREATE) >= 0);
        std::thread killing([&] {
            pollfd made{watch, POLLIN, 0};
            if (::poll(&made, 1, 60000) == 1) all.at("ps", 0).end(SIGKILL);
        });
        CHECK_ERROR(tn::unavailable_error, "/job:ps/task:0", keeper.save(sess, 2));
        killing.join();
        ::close(watch);
    }
    all.start("ps", 0);
    tn::session sess(all.target(), m.graph);
    CHECK(keeper.restore(sess).path == "m-1.json");
    CHECK(sess.run(m.v[0])(12345) == 1.0f);
    CHECK(keeper.save(sess, 3).path == "m-3.json");
}

TEST_CASE(
    "SEMANTICS 46: a ps whose disk is full: the error names the file and the task, the checkpoint before is whole") {
    processes all(1, 1);
    large_model m;
    tn::saver keeper("m");
    {
        initialized_session sess(all.target(), m.graph);
        (void)keeper.save(sess, 1);
    }
    all.start("ps", 0, {.most_file = rlim_t{4} << 20}); // no file may be larger
    tn::session sess(all.target(), m.graph);
    CHECK(keeper.restore(sess).path == "m-1.json");
    sess.run(tn::operation(m.add[0].node()));
    const std::string words = message_of<tn::error>([&] { (void)keeper.save(sess, 2); });
    MESSAGE(words);
    for (const char* part : {"m-2", "on /job:ps/replica:0/task:0", "too large"}) CHECK(contains(words, part));
    CHECK(sess.run(m.v[0])(7) == 1.0f); // the session goes on
    CHECK(keeper.restore(sess).path == "m-1.json");
    CHECK(sess.run(m.v[0])(7) == 0.0f);
    CHECK(keeper.checkpoints(sess).size() == 1);
}

TEST_CASE(
    "a server that has no descriptors left says so, serves those who are there, and others when it has some again") {
    processes all(1, 1);
    all.start("worker", 0, {.most_open = 64});
    model m;
    initialized_session sess(all.target(), m.graph);
    {
        std::vector<net_test::raw_socket> many;
        for (int i = 0; i < 100; ++i) many.emplace_back(all.cluster.address("worker", 0));
        REQUIRE(all.at("worker", 0).wait_for("nobody more can connect to "));
        CHECK(sess.run(m.more[0])() == 1);
    }
    tn::session other(all.target(), m.graph, {.open_timeout = 30});
    CHECK(other.run(m.more[0])() == 2);
}

// Its library comes after that of a sanitizer, which wants to be the first.
TEST_CASE("servers whose clock is set back an hour: a running training, heartbeats, leases and time limits go on" *
          doctest::skip(IS_SANITIZED)) {
    const temporary_folder folder;
    const std::filesystem::path set_back = folder.path() / "set_back";
    ::setenv("LD_PRELOAD", SET_BACK_CLOCK, 1);
    ::setenv("TENON_TEST_SET_BACK", set_back.c_str(), 1);
    processes all(1, 1, {.more = {"--verbose"}});
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("TENON_TEST_SET_BACK");
    model m;
    const auto go_on = m.queues[1].enqueue(std::int64_t{7});
    initialized_session sess(all.target(), m.graph);
    const auto before = sess.callable(tn::feeds(), tn::fetches(m.wait[0])).start();
    (void)sess.run(m.begun[0]);

    std::atomic<bool> enough{false};
    std::atomic<std::int64_t> steps{0}, wrong{0};
    std::thread training([&] {
        try {
            while (!enough) wrong += sess.run(m.more[0])() != ++steps;
        } catch (const tn::error&) {
            ++wrong;
        }
    });
    ::fclose(::fopen(set_back.c_str(), "w"));
    {
        tn::session other(all.target(), m.graph); // that it has come is a line with the time
        CHECK(other.run(m.count[0])() >= 0);
    }
    CHECK(all.at("worker", 0).wait_for("the clock was set back"));
    CHECK(tn::session("tenon://" + all.cluster.address("ps", 0), m.graph).run(m.count[0])() >= 0);
    CHECK(all.at("ps", 0).wait_for("the clock was set back"));

    // Longer than a lease; and its own time, not that of the clock.
    const auto at = std::chrono::steady_clock::now();
    CHECK_THROWS_AS((void)sess.run_for(1.7, m.wait[0]), tn::deadline_exceeded_error);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - at).count();
    CHECK(seconds >= 1.7);
    CHECK(seconds < 30);
    CHECK_FALSE(before.has_ended());
    sess.run(go_on);
    CHECK(std::get<0>(before.get())() == 7);
    enough = true;
    training.join();
    CHECK(wrong == 0);
    CHECK(steps > 10);
    CHECK(sess.run(m.count[0])() == steps);

    // Who is silent is still found out, and served again.
    all.at("ps", 0).stop_still();
    CHECK_ERROR(tn::unavailable_error, "/job:ps/task:0", sess.run(m.more[0]));
    all.at("ps", 0).signal(SIGCONT);
    REQUIRE(all.at("ps", 0).wait_for("has not been heard of for 1.5 s"));
    CHECK(tn::session(all.target(), m.graph).run(m.count[0])() >= steps);
}
