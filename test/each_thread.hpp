#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// body(i) for each of so many threads, at once; what each throws, "" where that is nothing.
inline std::vector<std::string> each_thread(int n, const std::function<void(int)>& body) {
    std::vector<std::string> said(static_cast<std::size_t>(n));
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i)
        threads.emplace_back([&, i] {
            try {
                body(i);
            } catch (const std::exception& e) {
                said[static_cast<std::size_t>(i)] = e.what();
            }
        });
    for (std::thread& t : threads) t.join();
    return said;
}
