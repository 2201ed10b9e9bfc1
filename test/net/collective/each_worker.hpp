#pragma once

#include <doctest/doctest.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/kernel/collective_group.hpp>
#include <tenon/net/server.hpp>

/// Processes of one group, which are threads of one process here, each with a server.

using group = std::shared_ptr<tenon::collective_group>;

/// body(rank, group) for each of n workers, on a thread of its own; what each throws. The group of each has another name, "<called> 0".
inline std::vector<std::string> each_worker(int n, const std::string& called,
                                            const std::function<tenon::server&(int rank)>& server,
                                            const std::function<void(int rank, const group&)>& body) {
    std::vector<std::string> said(static_cast<std::size_t>(n));
    std::vector<std::thread> threads;
    for (int r = 0; r < n; ++r)
        threads.emplace_back([&, r] {
            try {
                const group g = server(r).processes({}, 60, called + " " + std::to_string(r));
                REQUIRE(g->rank() == r);
                body(r, g);
            } catch (const std::exception& e) {
                said[static_cast<std::size_t>(r)] = e.what();
            }
        });
    for (std::thread& t : threads) t.join();
    return said;
}
