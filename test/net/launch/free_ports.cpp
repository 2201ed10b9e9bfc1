#include <net/launch/free_ports.hpp>

#include "tests.hpp"

using tn::net::free_ports;

TEST_CASE("launch: free ports are all different") {
    const std::vector<int> ports = free_ports("127.0.0.1", 50);
    CHECK(std::set<int>(ports.begin(), ports.end()).size() == 50);
    for (const int p : ports) CHECK(p > 0);
    CHECK_ERROR(tn::unavailable_error, "no free port is found on no.such.host.invalid",
                free_ports("no.such.host.invalid", 1));
}
