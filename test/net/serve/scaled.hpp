#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <net/server/servers.hpp>
#include <tenon/net/serving.hpp>

#include "initialized_session.hpp"
#include "own_graph.hpp"
#include "../../serve/gated.hpp"
#include "../../temporary_folder.hpp"

namespace serve_test {

inline const std::vector<tn::device_name> workers{"/job:worker/task:0", "/job:worker/task:1"};

/// Sums of rows, scaled by a variable that is on the ps, or with copies on each worker: 1 at first.
struct scaled {
    explicit scaled(bool has_copies, tn::model_server_options o = {}, tn::server_options s = net_test::quick(),
                    double retry_lost = 0.05) :
        all(1, 2, std::move(s)), scope(g), x(tn::placeholder<float, rows4>("x")) {
        o.devices = workers;
        o.copy_variables = has_copies;
        o.retry_lost = retry_lost;
        o.session.open_timeout = 1; // of tasks that are away
        server.emplace(
            // The task at which the session is opened is never stopped.
            all.target(has_copies ? "ps" : "worker", 0), tn::feeds(x),
            [&](auto v) {
                const auto sums = tn::sum<1>(v);
                std::optional<tn::device_scope> there;
                if (!has_copies) there.emplace(tn::device_name("/job:ps"));
                const auto scale = tn::variable("scale", 1.0f);
                there.reset();
                return (sums * scale).materialize();
            },
            o);
    }
    void initialize() { initialized_session sess(all.target("worker", 0), g); }
    // A file that has it be so.
    static std::string saved(const temporary_folder& folder, float value, bool as_manifest = false) {
        const own_graph other;
        const auto scale = tn::variable("scale", value);
        initialized_session sess;
        if (as_manifest) return tn::saver(folder / "model").save(sess, static_cast<std::int64_t>(value)).path;
        const std::string path = folder / (std::to_string(value) + ".safetensors");
        tn::save_variables(sess, path);
        return path;
    }
    float ask() { return std::get<0>(server->run_for(60, rows(1, 1)))(0) / 4.75f; }
    bool is_lost(std::size_t d) const { return server->metrics().devices[d].lost; }
    // The task is gone, and its device known to be.
    void lose(int worker) {
        all.stop("worker", worker);
        CHECK(comes([&] {
            try {
                (void)ask();
            } catch (const tn::unavailable_error&) { // no other is left
            }
            return is_lost(static_cast<std::size_t>(worker));
        }));
    }
    // The answers of each of the two devices, in as many requests as it takes.
    bool all_answer(float value) {
        const auto batches = [&](std::size_t d) { return server->metrics().devices[d].batches; };
        const std::uint64_t first = batches(0), second = batches(1);
        bool right = true;
        return comes([&] {
                   right = right && ask() == value;
                   return batches(0) > first && batches(1) > second;
               }) &&
               right;
    }

    const net_test::clients_that quick_clients;
    net_test::servers all;
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, rows4> x;
    std::optional<
        tn::model_server<tn::feed_list<tn::tensor<float, rows4>>, tn::fetch_list<tn::tensor<float, tn::shape<batch>>>>>
        server;
};

/// Ops may use the folder.
inline tn::server_options with_files(const temporary_folder& folder) {
    tn::server_options o = net_test::quick();
    o.files = folder.path().string();
    return o;
}

} // namespace serve_test
