// links: tenon::net
// Nodes on the tasks of clusters. What one task computes the next one takes from it, without the session's server between them. The
// session says where it places each node, whatever task that is on.
//
//     two tasks with two GPUs each
//     a: (variable): /job:multigpu/replica:0/task:0/device:CPU:0
//     b: (identity): /job:multigpu/replica:0/task:0/device:GPU:0
//     c: (identity): /job:multigpu/replica:0/task:1/device:GPU:1
//     c = 4
//     two parameter servers and three workers
//     a: (variable): /job:ps/replica:0/task:0/device:CPU:0
//     b: (identity): /job:worker/replica:0/task:0/device:CPU:0
//     c: (identity): /job:worker/replica:0/task:1/device:CPU:0
//     c = 4
//     through another task and back
//     b: (identity): /job:worker/replica:0/task:2/device:CPU:0
//     c: (identity): /job:ps/replica:0/task:0/device:CPU:0
//     c = 9
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>

#include "shared/devices.hpp"
#include "shared/local_cluster.hpp"

namespace tn = tenon;

namespace {

using scalar = tn::tensor<float, tn::shape<>>;

tn::session_options telling() {
    tn::session_options o{.log_device_placement = true};
    o.placement_log = [](const std::string& line) {
        if (line.starts_with("a:") || line.starts_with("b:") || line.starts_with("c:")) std::puts(line.c_str());
    };
    return o;
}

void show(tn::session& sess, const scalar& c) { std::printf("c = %g\n", static_cast<double>(sess.run(c).item())); }

void two_gpus_each() {
    std::puts("two tasks with two GPUs each");
    tn::server_options options{.gpus = gpus(2)};
    const local_cluster cluster({{"multigpu", 2}}, options);

    const tn::graph g;
    const tn::graph_scope in(g);
    const auto a = tn::on("/job:multigpu/task:0/cpu:0", [] { return tn::variable("a", 1.0f); });
    const scalar b = tn::on("/job:multigpu/task:0/gpu:0", [&] { return tn::identity(a + 2.0f, "b"); });
    const scalar c = tn::on("/job:multigpu/task:1/gpu:1", [&] { return tn::identity(a + b, "c"); });
    tn::session sess(cluster.target("multigpu", 0), g, telling());
    sess.run(tn::initialize_variables());
    show(sess, c);
}

void three_workers() {
    std::puts("two parameter servers and three workers");
    const local_cluster cluster({{"ps", 2}, {"worker", 3}});
    {
        const tn::graph g;
        const tn::graph_scope in(g);
        const auto a = tn::on("/job:ps", [] { return tn::variable("a", 1.0f); });
        const scalar b = tn::on("/job:worker", [&] { return tn::identity(a + 2.0f, "b"); });
        const scalar c = tn::on("/job:worker/task:1", [&] { return tn::identity(a + b, "c"); });
        tn::session sess(cluster.target("ps", 0), g, telling());
        sess.run(tn::initialize_variables());
        show(sess, c);
    }
    std::puts("through another task and back");
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto a = tn::on("/job:ps", [] { return tn::placeholder<float, tn::shape<>>("a"); });
    const scalar b = tn::on("/job:worker/task:2", [&] { return tn::identity(a + 2.0f, "b"); });
    const scalar c = tn::on("/job:ps", [&] { return tn::identity(b * 3.0f, "c"); });
    tn::session sess(cluster.target("ps", 0), g, telling());
    std::printf("c = %g\n", static_cast<double>(sess.run(tn::feed(a, 1.0f), c).item()));
}

} // namespace

int main() {
    two_gpus_each();
    three_workers();
    return 0;
}
