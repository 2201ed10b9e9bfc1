#include <net/server/free_ports.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

TEST_CASE("server: large values between tasks of one machine go through shared memory, unless an option says no") {
    for (const bool wanted : {true, false}) {
        const std::vector<std::string> at = free_addresses(2);
        const tn::cluster cluster({{"ps", {at[0]}}, {"worker", {at[1]}}});
        std::atomic<int> used{0}, refused{0};
        tn::server_options o{.shared_memory = wanted};
        o.log = [&](const std::string& line) {
            used += line.find("large payloads go through shared memory") != std::string::npos;
            refused += line.find("no shared memory") != std::string::npos;
        };
        o.log_verbose = o.log;
        const tn::server ps(cluster, "ps", 0, o), worker(cluster, "worker", 0, o);
        const own_graph g;
        constexpr std::int64_t n = 500'000;
        tn::any_tensor there, sum, pushed;
        {
            const tn::device_scope on("/job:ps");
            there = tn::untyped::variable("there", {tn::element_type::float32, {n}}, tn::zeros());
        }
        {
            const tn::device_scope on("/job:worker");
            sum = tn::untyped::sum(there);
            pushed = tn::untyped::assign_add(
                there, tn::untyped::variable("here", {tn::element_type::float32, {n}}, tn::ones()));
        }
        initialized_session sess(worker.target(), g);
        auto push = sess.callable_untyped({}, {}, {pushed.operation()});
        auto pull = sess.callable_untyped({}, {sum});
        for (int i = 1; i <= 10; ++i) {
            push({});
            CHECK(pull({})[0].data<float>()[0] == static_cast<float>(i) * n);
        }
        CHECK((used > 0) == wanted);
        CHECK(refused == 0);
    }
}
