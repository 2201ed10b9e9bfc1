#pragma once

#include <net/transport/transport.hpp>
#include <random_cluster/world.hpp>

/// What clients do.

namespace random_cluster {

/// Opens sessions and runs steps until the world is faulty no more, and keeps the books of them.
void run_client(world& w, net::transport& t, const std::string& host, std::uint64_t seed);

/// When all is mended: sessions on all servers read and update all variables, and nothing fails.
void run_last_client(world& w, net::transport& t, const std::string& host);

} // namespace random_cluster
