#include <filesystem>

#include <net/server/servers.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

namespace {

using vector4 = tn::shape<4>;
using lines = std::vector<std::string>;

net_test::servers with_files(int ps, int workers, std::string folder) {
    tn::server_options o = net_test::quick();
    o.files = std::move(folder);
    return net_test::servers(ps, workers, std::move(o));
}

// w is on ps 0, v on ps 1 where there is one; each step adds 1 to both.
struct model {
    explicit model(int ps) {
        const auto dealt = tn::on(tn::replica_device_setter(ps));
        step.emplace_back(tn::global_step());
        w.emplace_back(tn::variable<float, vector4>("w", tn::zeros()));
        w.emplace_back(tn::variable<float, vector4>("v", tn::zeros()));
        train = tn::group(w[0].assign_add(1.0f), w[1].assign_add(1.0f), step[0].assign_add(std::int64_t{1}));
    }
    own_graph graph;
    std::vector<tn::variable_tensor<std::int64_t, tn::shape<>>> step;
    std::vector<tn::variable_tensor<float, vector4>> w;
    tn::operation train;
};

} // namespace

TEST_CASE("SEMANTICS 46, TOUR 25: a server is stopped and started again while a monitored session trains through it") {
    const temporary_folder folder;
    net_test::servers all = with_files(2, 1, folder.path().string());
    model m(2);
    lines told;
    tn::monitored_session sess({.target = all.target("worker", 0),
                                .checkpoint = "run/m",
                                .save_every = {.steps = 10},
                                .recovery_timeout = 60,
                                .hooks = {tn::stop_at_step(60)},
                                .log = [&](const std::string& line) { told.push_back(line); }});
    int lost = 0;
    while (!sess.should_stop()) {
        sess.run(m.train);
        const auto at = sess.session().run(m.step[0])();
        if ((at == 25 && lost == 0) || (at == 44 && lost == 1)) {
            ++lost;
            all.stop("ps", lost - 1); // another one each time
            all.start("ps", lost - 1);
        }
    }
    CHECK(lost == 2);
    CHECK(sess.sessions_opened() == 3);
    // What the restarted server held is gone: all variables, also those of the other, are of the last checkpoint.
    const auto [step, w, v] = sess.session().run(m.step[0], m.w[0], m.w[1]);
    CHECK(step() == 60);
    CHECK(w(0) == 60);
    CHECK(v(3) == 60);
    sess.close();
    const auto restored = std::count_if(told.begin(), told.end(),
                                        [](const std::string& l) { return l.starts_with("session: restored"); });
    CHECK(restored == 2);
    CHECK(std::find(told.begin(), told.end(), "session: restored run/m-20.json") != told.end());
    CHECK(std::find(told.begin(), told.end(), "session: restored run/m-40.json") != told.end());
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 46: training goes on while a server is away, and waits for it") {
    net_test::servers all = with_files(1, 1, folder.path().string());
    model m(1);
    std::mutex guard;
    std::condition_variable changed;
    bool missed = false;
    tn::monitored_session sess({.target = all.target("worker", 0),
                                .session = {.open_timeout = 0.5},
                                .checkpoint = "m",
                                .recovery_timeout = 60,
                                .log = [&](const std::string& line) {
                                    const std::lock_guard lock(guard);
                                    missed = missed || line.starts_with("session: could not be opened");
                                    changed.notify_all();
                                }});
    for (int i = 0; i < 3; ++i) sess.run(m.train);
    all.stop("ps", 0);
    std::thread starting([&] { // when the session was tried to be opened without it
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return missed; });
        all.start("ps", 0);
    });
    sess.run(m.train); // the checkpoint is of step 0
    starting.join();
    CHECK(sess.session().run(m.w[0])(0) == 1);
    sess.close();
}

TEST_CASE("SEMANTICS 46: where the variables live on, a lost step is not repeated: it was applied once at most") {
    net_test::servers all(1, 1);
    model m(1);
    tn::monitored_session sess({.target = all.target("worker", 0), .recovery_timeout = 60});
    sess.run(m.train);
    // The session's own server, which holds no variable.
    all.stop("worker", 0);
    all.start("worker", 0);
    sess.run(m.train); // fetches nothing: it returns
    CHECK(sess.sessions_opened() == 2);
    CHECK(sess.session().run(m.w[0])(0) == 1);
    (void)sess.run(m.train, m.w[0]);
    CHECK(sess.session().run(m.w[0])(0) == 2);

    all.stop("worker", 0);
    all.start("worker", 0);
    CHECK_ERROR(tn::unknown_outcome_error, "may have been applied or not", sess.run(m.train, m.w[0]));
    CHECK(sess.run(m.w[0])(0) == 2); // and the next step may be run
    all.stop("worker", 0);
    all.start("worker", 0);
    int turns = 0, done = 0;
    sess.loop([&] {
        ++turns;
        (void)sess.run(m.train, m.w[0]);
        if (++done == 2) sess.request_stop();
    });
    CHECK(turns == 3);
}

TEST_CASE("SEMANTICS 37, 46: the end of the data, and errors that are no loss, are what they are on a server, too") {
    net_test::servers all(1, 1);
    model m(1);
    const auto on_ps = tn::on("/job:ps/task:0");
    const tn::fifo_queue<float> queue(4);
    const auto x = queue.dequeue();
    const tn::operation close = queue.close();
    tn::monitored_session sess({.target = all.target("worker", 0)});
    sess.run(m.train);
    sess.run(close);
    CHECK_ERROR(tn::aborted_error, "is closed already", sess.run(close));
    CHECK_THROWS_AS((void)sess.run(x), tn::end_of_data_error);
    sess.loop([&] { (void)sess.run(x); });
    CHECK(sess.should_stop());
    CHECK(sess.sessions_opened() == 1);
    CHECK(sess.session().run(m.w[0])(0) == 1);
}

TEST_CASE("a session that is not to recover fails as any") {
    net_test::servers all(1, 1);
    model m(1);
    tn::monitored_session sess({.target = all.target("worker", 0), .recovery_timeout = 0});
    sess.run(m.train);
    all.stop("ps", 0);
    all.start("ps", 0);
    CHECK_THROWS_AS(sess.run(m.train), tn::lost_task_error);
}

TEST_CASE(
    "SEMANTICS 46: shards are written by the tasks that hold the variables, and restored into another number of them") {
    const temporary_folder folder;
    std::string path;
    {
        net_test::servers all = with_files(3, 1, folder.path().string());
        model m(3);
        initialized_session sess(all.target("worker", 0), m.graph);
        for (int i = 0; i < 4; ++i) sess.run(m.train);
        const tn::saved_checkpoint saved = tn::saver("run/m").save(sess);
        path = saved.path;
        REQUIRE(saved.manifest.shards.size() == 3);
        CHECK(saved.manifest.shards[2].task == "/job:ps/replica:0/task:2");
    }
    for (const int ps : {1, 2}) {
        net_test::servers all = with_files(ps, 2, folder.path().string());
        model m(ps);
        tn::session sess(all.target("worker", 1), m.graph);
        const tn::restored_checkpoint r = tn::saver("run/m").restore(sess);
        CHECK(r.path == path);
        CHECK(r.step == 4);
        CHECK(sess.run(m.w[0])(1) == 4);
        CHECK(sess.run(m.w[1])(2) == 4);
        CHECK(sess.run(m.step[0])() == 4);
        // Damage is found where the file is read, and named.
        const auto shard = tn::saver("run/m").manifest(sess, path).shards[1].file;
        const std::string file = folder / ("run/" + shard), good = read_bytes(file);
        std::string bad = good;
        bad.back() ^= 1;
        write_bytes(file, bad);
        CHECK_ERROR(tn::data_loss_error, shard, tn::saver("run/m").restore(sess));
        write_bytes(file, good);
    }
}

TEST_CASE("a server that allows no files refuses to save; one that allows a folder refuses what is outside") {
    const temporary_folder folder;
    std::filesystem::create_directories(folder / "allowed");
    const auto try_it = [&](const std::string& files, const std::string& prefix) {
        net_test::servers all = with_files(1, 1, files);
        model m(1);
        initialized_session sess(all.target("worker", 0), m.graph);
        return tn::saver(prefix).save(sess).path;
    };
    CHECK_ERROR(tn::permission_denied_error, "server_options::files", try_it("", "m"));
    CHECK_ERROR(tn::permission_denied_error, "alone", try_it(folder / "allowed", "../m"));
    CHECK_THROWS_AS(try_it(folder / "allowed", folder / "m"), tn::permission_denied_error);
    CHECK(try_it(folder / "allowed", "m") == "m-0.json");
    CHECK_THROWS_AS(try_it(folder / "absent", "m"), tn::not_found_error);
}
