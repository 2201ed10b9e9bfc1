#include "random_cluster/graphs.hpp"

#include <net/client/remote_session.hpp>
#include <net/rpc/asking.hpp>
#include <net/server/server_core.hpp>
#include <random_cluster/actors.hpp>
#include <random_graphs/compare.hpp>
#include <random_graphs/generator.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/session/scheme.hpp>

namespace random_cluster {

namespace {

namespace tn = tenon;
using namespace std::chrono_literals;

/// Opens sessions of the program that runs on this thread: "simulated://worker0:1000".
class simulated_scheme final : public tn::detail::session_scheme {
public:
    static thread_local net::transport* of_program;

    std::shared_ptr<tn::detail::session_state> make(const std::string& address, const tn::graph& g,
                                                    const tn::session_options& o) const override {
        net::peer_options to{.address = address};
        to.self.incarnation = of_program->random_number();
        net::speak_calls(to);
        return std::make_shared<net::remote_session>(*of_program, std::move(to), "a program", g, o);
    }
    void reset(const std::string&, const std::vector<std::string>&) const override {
        throw tn::unimplemented_error("programs of random_graphs reset nothing");
    }
    static void enter() {
        static const simulated_scheme scheme;
        static const bool once = (tn::detail::register_session_scheme("simulated", scheme), true);
        (void)once;
    }
};
thread_local net::transport* simulated_scheme::of_program = nullptr;

} // namespace

graphs_outcome run_graphs(std::uint64_t seed, bool faults, std::size_t lines) {
    simulated_scheme::enter();
    random_graphs::session_kind kind{.name = faults ? "cluster_with_faults" : "cluster"};
    kind.target = "simulated://worker" + std::to_string(seed % 2) + ":1000";
    kind.placed = true;
    kind.options.allow_soft_placement = true;
    kind.options.open_timeout = 60; // connections live for half a second
    kind.options.fuse = seed % 5 != 0;
    kind.options.fold_constants = seed % 7 != 0;
    const random_graphs::program p = random_graphs::generate(seed).made;

    graphs_outcome told;
    tn::thread_pool pool(1);
    net::simulated_network network(seed);
    std::unique_ptr<net::server_core> servers[2];
    const tn::cluster cluster({{"worker", {"worker0:1000", "worker1:1000"}}});
    for (int i = 0; i < 2; ++i) {
        net::server_settings s{.tasks = cluster, .job = "worker", .task = i, .pool = &pool};
        if (i == 1) s.of_task.gpus = tn::simulated_gpu(1, std::size_t{64} << 20);
        servers[i] = std::make_unique<net::server_core>(network.start("worker" + std::to_string(i)), std::move(s));
    }
    if (faults) {
        network.set_line("worker0", "worker1", {20ms, 40ms, 1e7});
        network.set_line("worker1", "worker0", {1ms, 100ms, 1e7});
        net::simulated_faults f{
            .duplicate = 0.05, .reorder = 0.1, .slow = 0.05, .slow_by = 50ms, .connection_life = 500ms};
        f.one_side = 0; // else the lease may pass before it is seen
        network.inject(f);
    }
    {
        actors programs(network);
        programs.start("client", [&](net::transport& t) {
            simulated_scheme::of_program = &t;
            try {
                if (const random_graphs::failure f = random_graphs::run(p, kind))
                    told.wrong = f.session + ": " + f.what;
            } catch (const std::exception& e) {
                told.wrong = std::string("an exception: ") + e.what();
            }
        });
        const bool ended = network.work_until(
            [&] {
                programs.run_ready();
                return programs.all_have_ended();
            },
            network.now() + 100s);
        if (!ended) {
            told.wrong = "the program has not ended after 100 s";
            for (const auto& s : servers) {
                const auto c = s->count();
                told.wrong += "; " + s->address() + " waits for " + std::to_string(c.calling.calls) +
                              " answers and has " + std::to_string(c.steps) + " steps of clients";
                for (const net::step_row& row : s->status().steps)
                    for (const net::wait_row& w : row.waits) told.wrong += ", " + w.node + " waits for " + w.what;
            }
        }
        network.inject({});
        // What is left of it is given back.
        network.work_for(20s);
    }
    for (int i = 0; i < 2 && told.wrong.empty(); ++i) {
        const auto c = servers[i]->count();
        if (c.sessions + c.steps + c.of_masters.sessions + c.of_masters.steps + c.of_masters.exchanged.sessions +
            c.calling.calls)
            told.wrong = "worker" + std::to_string(i) + " still holds something of a program that has ended";
    }
    told.events = network.events();
    if (!told.wrong.empty()) told.history = network.history(lines);
    for (int i = 0; i < 2; ++i) {
        network.kill("worker" + std::to_string(i), true);
        servers[i].reset();
    }
    return told;
}

} // namespace random_cluster
