#include <net/link/gate.hpp>
#include <net/transport/tcp.hpp>

#include "tests.hpp"

namespace net = tenon::net;

TEST_CASE("gate: who shuts it waits for those inside, and nobody comes in later") {
    const std::shared_ptr<net::transport> t = net::make_tcp_transport();
    for (int round = 0; round < 300; ++round) {
        const auto g = std::make_shared<net::gate>(*t);
        auto owner = std::make_unique<std::atomic<int>>(0); // what is told, which ends as the gate is shut
        std::atomic<int>* const told = owner.get();
        std::atomic<int> tried{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([&tried, told, g] {
                for (int n = 0; n < 50; ++n) {
                    ++tried;
                    g->pass([&] { ++*told; });
                }
            });
        while (tried < round % 50) std::this_thread::yield();
        g->shut();
        const int before = *owner;
        std::this_thread::yield();
        CHECK(*owner == before);
        owner.reset();
        for (std::thread& by : threads) by.join();
        CHECK(tried == 150);
    }
}
