#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <net/server/servers.hpp>
#include <tenon/net/serving.hpp>

#include "../../messages.hpp"
#include "../../serve/gated.hpp"
#include "../../temporary_folder.hpp"

// S47, S28: the devices of a model are tasks of a cluster, and tasks are lost.

using namespace net_test;
using serve_test::array4;
using serve_test::comes;
using serve_test::rows;
using serve_test::rows4;
namespace tn = tenon;

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

const std::vector<tn::device_name> workers{"/job:worker/task:0", "/job:worker/task:1"};

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
    {
        tn::session sess(all.target("ps", 0), n.g);
        sess.run(tn::initialize_variables());
    }
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
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, rows4>("x");
    tn::model_server server(all.target("ps", 0), tn::feeds(x),
                            [](auto v) { return tn::sum<1>(v) * tn::variable("scale", 1.0f); },
                            {.devices = workers, .copy_variables = true, .retry_lost = 0.1});
    const std::string file = folder / "scale.safetensors";
    {
        tn::session sess(all.target("ps", 0), g);
        sess.run(tn::initialize_variables());
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
