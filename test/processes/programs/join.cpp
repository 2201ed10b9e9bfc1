// A program as a user writes it that trains wherever it is started: see join.sh.
//
//   join [STEPS [EXIT_REPLICA STATUS]]      joins, trains a line, and says who it was and what came out
//
// Where STEPS is 0 it trains until it is stopped; where it is negative its second step waits for what never comes. A file NAME.ready is made
// by each once it trains; EXIT_REPLICA calls exit(STATUS).

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main(int argc, char** argv) {
    try {
        const tn::net::member self = tn::net::join(argc, argv);
        if (self.is_parameter_server()) return self.serve();
        const int steps = argc > 1 ? std::atoi(argv[1]) : 10;
        const auto placed = tn::on(self.placement());
        const auto x = tn::variable("x", 5.0f);
        const auto train = tn::gradient_descent(0.01).minimize(tn::square(x - 3.0f));
        const auto counted = tn::variable("counted", std::int64_t{0}, {.trainable = false});
        const auto count = counted.assign_add(std::int64_t{1});
        const char* checkpoint = std::getenv("CHECKPOINT");
        tn::session_options limits{.operation_timeout = 30, .device_filters = self.device_filters()};
        tn::monitored_session s({.target = self.target(),
                                 .session = limits,
                                 .is_chief = self.is_chief(),
                                 .checkpoint = checkpoint ? checkpoint : "",
                                 .log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }});
        std::ofstream(std::to_string(self.replica()) + ".ready") << "\n";
        int done = 0;
        const tn::fifo_queue<float> never(1, {.shared_name = "never"});
        const auto waits = never.dequeue();
        s.loop([&] { // whose steps may be lost with the parameter server
            if (steps < 0 && done > 0) s.run(waits);
            else s.run(train, count);
            if (++done == steps) s.request_stop();
        });
        const auto all = s.session().run(counted).item();
        if (argc > 3 && self.replica() == std::atoi(argv[2])) std::exit(std::atoi(argv[3]));
        s.close();
        std::printf("%s %d/%d counted %lld of %d in %s\n", self.device().c_str(), self.replica(), self.replicas(),
                    static_cast<long long>(all), done, self.run().c_str());
        std::fflush(stdout);
        return self.finish();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "join: %s\n", e.what());
        return tn::stop_signal() ? 128 + tn::stop_signal() : 3; // it may wait for others when it is asked to stop
    }
}
