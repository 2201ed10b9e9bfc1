#include <stdexcept>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <net/server/servers.hpp>
#include <tenon/net/serving.hpp>

#include "tests.hpp"
#include "scaled.hpp"

// S47, S28: the devices of a model are tasks of a cluster, and tasks are lost.

using namespace net_test;
using namespace serve_test;

namespace {

struct network {
    network() : scope(g), x(tn::placeholder<float, rows4>("x")) {
        const auto there = tn::on("/job:ps");
        w.emplace(tn::variable<float, tn::shape<4, 3>>("w", tn::uniform(-1, 1, 5)));
    }
    auto operator()(const tn::tensor<float, rows4>& in) const { return matmul(in, *w); }
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, rows4> x;
    std::optional<tn::variable_tensor<float, tn::shape<4, 3>>> w;
};

} // namespace

TEST_CASE("S47: the batch of a task that is lost is run again elsewhere; when none is left all are named; one that "
          "comes back serves") {
    const clients_that quick_clients;
    servers all(1, 2);
    const network n;
    std::vector<std::string> said;
    std::mutex guard;
    tn::model_server server(all.target("ps", 0), tn::feeds(n.x), [&](auto in) { return n(in); },
                            {.name = "spread",
                             .devices = workers,
                             .largest_batch = 4,
                             .retry_lost = 0.1,
                             .log = [&](const std::string& line) {
                                 const std::lock_guard lock(guard);
                                 said.push_back(line);
                             }});
    { initialized_session sess(all.target("ps", 0), n.g); }
    const tn::array<float> right = std::get<0>(server(rows(1, 1))).copy();
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0}, wrong{0}, failed{0};
    std::vector<std::thread> clients;
    for (int t = 0; t < 3; ++t)
        clients.emplace_back([&] {
            while (!stop) try {
                    const auto [y] = server(rows(1, 1));
                    for (int c = 0; c < 3; ++c)
                        if (y(0, c) != right(0, c)) ++wrong;
                    ++answered;
                } catch (const tn::error&) {
                    ++failed;
                }
        });
    const auto of = [&](std::size_t d) { return server.metrics().devices[d]; };
    CHECK(comes([&] { return of(0).batches > 3 && of(1).batches > 3; }));
    all.stop("worker", 1);
    CHECK(comes([&] { return of(1).lost; }));
    const int then = answered;
    CHECK(comes([&] { return answered > then + 20; }));
    CHECK(failed == 0);
    CHECK(server.metrics().rerun > 0);
    CHECK(contains(of(1).trouble, "/job:worker/task:1"));
    CHECK(server.why_not_ready().empty());

    all.start("worker", 1);
    CHECK(comes([&] { return !of(1).lost; }));
    const std::uint64_t before = of(1).batches;
    CHECK(comes([&] { return of(1).batches > before + 3; }));
    CHECK(failed == 0);
    stop = true;
    for (std::thread& t : clients) t.join();
    CHECK(wrong == 0);

    all.stop("worker", 0);
    all.stop("worker", 1);
    const std::string none = message_of<tn::unavailable_error>([&] {
        for (int i = 0; i < 100; ++i) (void)server.run_for(20, rows(1, 1));
    });
    CHECK(contains(none, "model 'spread': no device is left"));
    CHECK(contains(none, "/job:worker/task:0"));
    CHECK(contains(none, "/job:worker/task:1"));
    CHECK(contains(server.why_not_ready(), "no device is left"));
    all.start("worker", 0);
    CHECK(comes([&] { return server.why_not_ready().empty(); }));
    CHECK(std::get<0>(server(rows(1, 1)))(0, 1) == right(0, 1));
    const std::lock_guard lock(guard);
    CHECK(contains(said.front(), "is lost"));
}

TEST_CASE("S47: a copy of the weights on each task comes back with the checkpoint that was taken last") {
    const clients_that quick_clients;
    const temporary_folder folder;
    servers all(1, 2);
    const own_graph g;
    const auto x = tn::placeholder<float, rows4>("x");
    tn::model_server server(all.target("ps", 0), tn::feeds(x),
                            [](auto v) { return tn::sum<1>(v) * tn::variable("scale", 1.0f); },
                            {.devices = workers, .copy_variables = true, .retry_lost = 0.1});
    const std::string file = folder / "scale.safetensors";
    {
        initialized_session sess(all.target("ps", 0), g);
        sess.run(tn::untyped::assign(g.tensor("scale"), 3.0f));
        tn::save_variables(sess, file);
    }
    CHECK(server.replace(file).version == 2);
    all.stop("worker", 1);
    const auto ask = [&] { return std::get<0>(server(rows(1, 0)))(0); };
    CHECK(comes([&] {
        (void)ask();
        return server.metrics().devices[1].lost;
    }));
    all.start("worker", 1);
    CHECK(comes([&] { return !server.metrics().devices[1].lost; }));
    const std::uint64_t before = server.metrics().devices[1].batches;
    bool right = true;
    CHECK(comes([&] {
        right = right && ask() == 0.75f * 3;
        return server.metrics().devices[1].batches > before + 3;
    }));
    CHECK(right);
}

TEST_CASE("S47: a request wakes a device that serves, however long others are lost") {
    scaled m(true, {}, quick(), 1000);
    m.initialize();
    m.lose(1);
    for (int i = 0; i < 500; ++i) REQUIRE(m.ask() == 1);
}

TEST_CASE("S47: variables of a task that was restarted have again what was replaced last, and are replaced further") {
    const temporary_folder folder;
    for (const bool as_manifest : {false, true}) {
        scaled m(false, {}, with_files(folder));
        m.server->replace(scaled::saved(folder, 3, as_manifest));
        REQUIRE(m.ask() == 3);
        m.all.stop("ps", 0);
        m.all.start("ps", 0);
        CHECK(comes([&] {
            try {
                return m.ask() == 3;
            } catch (const tn::unavailable_error&) {
                return false;
            }
        }));
        CHECK(comes([&] { return !m.is_lost(0) && !m.is_lost(1); }));
        CHECK(m.all_answer(3));
        CHECK(m.server->replace(scaled::saved(folder, 5, as_manifest)).version == 3);
        CHECK(m.all_answer(5));
        // Nobody has asked since it was restarted.
        m.all.stop("ps", 0);
        m.all.start("ps", 0);
        CHECK(m.server->replace(scaled::saved(folder, 7, as_manifest)).version == 4);
        CHECK(comes([&] {
            try {
                return m.ask() == 7;
            } catch (const tn::unavailable_error&) {
                return false;
            }
        }));
    }
}

namespace {

// Whether requests, which nobody may be there to answer, find the task lost.
bool is_found_lost(scaled& m, std::size_t task) {
    return comes([&] {
        try {
            (void)m.ask();
        } catch (const tn::unavailable_error&) {
        }
        return m.is_lost(task);
    });
}

} // namespace

TEST_CASE("S47: of tasks with copies that were all lost each comes back by itself, with what was replaced last") {
    const temporary_folder folder;
    for (const bool as_manifest : {false, true}) {
        scaled m(true, {}, with_files(folder));
        m.server->replace(scaled::saved(folder, 3, as_manifest));
        m.all.stop("worker", 1);
        m.lose(0);
        CHECK(is_found_lost(m, 1));
        m.all.start("worker", 1);
        CHECK(comes([&] { return !m.is_lost(1); }));
        CHECK(m.is_lost(0));
        CHECK(m.ask() == 3);
        CHECK(m.server->replace(scaled::saved(folder, 5, as_manifest)).version == 3);
        CHECK(m.ask() == 5);
        m.all.start("worker", 0);
        CHECK(comes([&] { return !m.is_lost(0); }));
        CHECK(m.all_answer(5));
    }
}

TEST_CASE(
    "S47: a copy of weights that came from no checkpoint comes back as the others are; where none is left it stays "
    "lost, which is said, until they are replaced") {
    const temporary_folder folder;
    scaled m(true);
    m.initialize();
    {
        tn::session sess(m.all.target("worker", 0), m.g);
        sess.run(tn::untyped::assign(m.g.tensor("scale"), 4.0f));
        sess.run(tn::untyped::assign(m.g.tensor("scale/replica_1"), 4.0f));
    }
    m.lose(1);
    m.all.start("worker", 1);
    CHECK(comes([&] { return !m.is_lost(1); }));
    CHECK(m.all_answer(4));
    m.all.stop("worker", 1);
    m.lose(0);
    CHECK(is_found_lost(m, 1));
    m.all.start("worker", 1);
    CHECK(comes([&] { return contains(m.server->metrics().devices[1].trouble, "forgotten scale/replica_1"); }));
    CHECK(contains(m.server->why_not_ready(), "replace() the weights"));
    CHECK(m.server->replace(scaled::saved(folder, 6)).version == 2);
    CHECK(comes([&] { return !m.is_lost(1); }));
    CHECK(m.ask() == 6);
}

TEST_CASE_FIXTURE(in_folder, "S47: weights are replaced while a copy's task is away, which has them when it is back") {
    for (const bool as_manifest : {false, true})
        for (const int away : {0, 1}) {
            scaled m(true, {}, with_files(folder));
            m.server->replace(scaled::saved(folder, 3, as_manifest));
            CHECK(m.all_answer(3));
            m.lose(away);
            CHECK(m.server->replace(scaled::saved(folder, 5, as_manifest)).version == 3);
            CHECK(m.ask() == 5);
            m.all.start("worker", away);
            CHECK(comes([&] { return !m.is_lost(static_cast<std::size_t>(away)); }));
            CHECK(m.all_answer(5));
            // And one that is away without anybody knowing.
            m.all.stop("worker", away);
            CHECK(m.server->replace(scaled::saved(folder, 7, as_manifest)).version == 4);
            CHECK(m.is_lost(static_cast<std::size_t>(away)));
            CHECK(m.ask() == 7);
            CHECK(m.server->metrics().trouble.empty());
        }
}

TEST_CASE(
    "S47: a task that is lost in the middle of a replacement has the version when it is back, the others at once") {
    const temporary_folder folder;
    scaled m(true, {}, with_files(folder));
    m.server->replace(scaled::saved(folder, 3, true));
    CHECK(m.all_answer(3));
    // The manifest comes through a pipe: what was read of it says that the replacement has begun.
    const std::string manifest = read_bytes(scaled::saved(folder, 5, true)), pipe = folder / "piped.json";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const int end = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(end >= 0);
    const auto write = [&](const std::string& text) {
        CHECK(::write(end, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    };
    write(manifest.substr(0, 1));
    std::int64_t version = 0;
    std::thread replaces([&] { version = m.server->replace(pipe).version; });
    CHECK(comes([&] {
        int left = 0;
        return ::ioctl(end, FIONREAD, &left) == 0 && left == 0;
    }));
    m.all.stop("worker", 1);
    write(manifest.substr(1));
    ::close(end);
    replaces.join();
    CHECK(version == 3);
    CHECK(m.is_lost(1));
    CHECK(m.ask() == 5);
    m.all.start("worker", 1);
    CHECK(comes([&] { return !m.is_lost(1); }));
    CHECK(m.all_answer(5));
}

TEST_CASE_FIXTURE(in_folder, "S47: a log that throws stops neither devices nor replacements") {
    std::atomic<int> told{0};
    scaled m(true, {.log = [&](const std::string&) {
                 ++told;
                 throw std::runtime_error("there is no room for the log");
             }});
    CHECK(m.server->replace(scaled::saved(folder, 3)).version == 2);
    m.lose(1);
    CHECK(m.ask() == 3);
    m.all.start("worker", 1);
    CHECK(m.all_answer(3));
    CHECK(told >= 3);
}
