#pragma once

#include <tenon/net/server.hpp>

#include "tests.hpp"
#include "../../each_thread.hpp"

/// Processes of one group, which are threads of one process here, each with a server.

using group = std::shared_ptr<tenon::collective_group>;

/// body(rank, group) for each of n workers, on a thread of its own; what each throws. The group of each has another name, "<called> 0".
inline std::vector<std::string> each_worker(int n, const std::string& called,
                                            const std::function<tenon::server&(int rank)>& server,
                                            const std::function<void(int rank, const group&)>& body) {
    return each_thread(n, [&](int r) {
        const group g = server(r).processes({}, 60, called + " " + std::to_string(r));
        REQUIRE(g->rank() == r);
        body(r, g);
    });
}
