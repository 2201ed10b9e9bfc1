// links: tenon::net
// Variables live on their task, and outlive the sessions that use them. A counter on a server is counted by programs that come and
// go, whatever server they talk to: a variable's name and its task are all that they know of each other. Containers keep apart what
// has the same name, and are reset by name.
//
// As a client of servers that are there (tenon serve):
//
//     11_shared_counter tenon://A init        # sets the counter to 0, then counts
//     11_shared_counter tenon://B             # counts
//     11_shared_counter tenon://A train       # adds up 1, 2, 3, .. until it is killed
//     11_shared_counter tenon://B save NAME   # saves what there is, below the folder that the servers allow
//
// Alone, it has two servers, and is their clients in turn:
//
//     counter: 1
//     counter: 2
//     x of "left": 11, x of "right": 101
//     x of "left": 12, x of "right": 102
//     after a reset of "left": variable "x" is read before it has a value...
//     x of "right": 103
//     counter: 3
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

#include "shared/local_cluster.hpp"

namespace tn = tenon;

namespace {

using counter = tn::variable_tensor<std::int64_t, tn::shape<>>;

// Each client makes its own graph. A program that is not a task of the cluster says where the counter is: it is on the first one.
counter counter_of(const char* name, std::int64_t initial) {
    return tn::on("/task:0", [&] { return tn::variable(name, initial); });
}

void count(const std::string& target, bool init) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = counter_of("counter", 0);
    const auto next = x.assign_add(std::int64_t{1});
    tn::session sess(target, g);
    if (init) sess.run(x.initializer());
    std::printf("counter: %lld\n", static_cast<long long>(sess.run(next).item()));
}

void train(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto steps = counter_of("steps", 0), sum = counter_of("sum", 0);
    const auto step = steps.assign_add(std::int64_t{1});
    const auto added = sum.assign_add(step);
    tn::session sess(target, g);
    sess.run(tn::initialize_variables());
    for (;;) {
        const auto [s, all] = sess.run(step, added);
        std::printf("step %lld: %lld\n", static_cast<long long>(s.item()), static_cast<long long>(all.item()));
        std::fflush(stdout);
    }
}

void save(const std::string& target, const std::string& name) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto steps = counter_of("steps", 0), sum = counter_of("sum", 0);
    tn::session sess(target, g);
    const auto [s, all] = sess.run(steps, sum);
    tn::saver(name).save(sess, s.item());
    std::printf("saved: %lld after %lld steps\n", static_cast<long long>(all.item()), static_cast<long long>(s.item()));
}

void two_containers(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x_of = [](const char* container, std::int64_t initial) {
        const tn::container_scope there(container);
        return counter_of("x", initial);
    };
    const auto left = x_of("left", 10), right = x_of("right", 100);
    const auto next_left = left.assign_add(std::int64_t{1}), next_right = right.assign_add(std::int64_t{1});
    tn::session sess(target, g);
    sess.run(tn::initialize_variables());
    for (int i = 0; i < 2; ++i) {
        const auto [l, r] = sess.run(next_left, next_right);
        std::printf("x of \"left\": %lld, x of \"right\": %lld\n", static_cast<long long>(l.item()),
                    static_cast<long long>(r.item()));
    }
    tn::session::reset(target, {"left"});
    try {
        sess.run(next_left);
    } catch (const tn::error& e) {
        std::printf("after a reset of \"left\": %s\n", e.what());
    }
    std::printf("x of \"right\": %lld\n", static_cast<long long>(sess.run(next_right).item()));
}

void story() {
    const local_cluster cluster({{"server", 2}});
    const std::string a = cluster.target("server", 0), b = cluster.target("server", 1);
    count(a, true);
    count(b, false);
    two_containers(b);
    count(b, false);
}

} // namespace

int main(int argc, char** argv) {
    const std::string target = argc > 1 ? argv[1] : "", command = argc > 2 ? argv[2] : "";
    try {
        if (argc == 1) story();
        else if (argc == 2 || (argc == 3 && command == "init")) count(target, argc == 3);
        else if (argc == 3 && command == "train") train(target);
        else if (argc == 4 && command == "save") save(target, argv[3]);
        else {
            std::fprintf(stderr, "11_shared_counter [tenon://HOST:PORT [init | train | save NAME]]\n");
            return 2;
        }
    } catch (const tn::error& e) {
        std::fprintf(stderr, "11_shared_counter: %s\n", e.what());
        return 1;
    }
    return 0;
}
