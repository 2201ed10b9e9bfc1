// A server, and a program that trains on it, in one process. Says its target, then does what lines ask for: "steps N" runs N steps; "train"
// goes on until the next line. Each line is answered with how many steps have run, and with what the variable is. Ends with its input.
#include <atomic>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <tenon/net/server.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
    const tn::server server = tn::server::create_local_server();
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::container_scope there("model");
    const auto w = tn::variable<float, tn::shape<50, 1000>>("w", tn::zeros());
    const auto step = w.assign_add(1.0f);
    const auto count = tn::variable<std::int64_t, tn::shape<>>("count", tn::zeros());
    {
        const tn::container_scope elsewhere("other");
        (void)tn::variable<double, tn::shape<2>>("v", tn::ones());
    }
    tn::session sess(server.target(), g);
    sess.run(tn::initialize_variables());
    std::ofstream("server.json") << tn::to_json(g);
    std::cout << server.target() << std::endl;

    auto one = sess.callable(tn::feeds(), tn::fetches(step.operation()));
    long steps = 0;
    std::string line;
    std::atomic<bool> go{false};
    std::thread training;
    while (std::getline(std::cin, line)) {
        if (training.joinable()) {
            go = false;
            training.join();
        }
        if (line.starts_with("steps "))
            for (long n = std::stol(line.substr(6)); n > 0; --n, ++steps) one();
        std::cout << steps << " " << sess.run(w)(0, 0) << std::endl;
        if (line == "train") {
            go = true;
            training = std::thread([&] {
                for (; go; ++steps) one();
            });
        }
    }
    if (training.joinable()) {
        go = false;
        training.join();
    }
}
