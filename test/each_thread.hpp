#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// body(i) for each of so many threads, at once. What one throws ends the program.
template <class N, class F> void on_threads(N n, const F& body) {
    std::vector<std::thread> threads;
    for (N i = 0; i < n; ++i) threads.emplace_back([&body, i] { body(i); });
    for (std::thread& t : threads) t.join();
}

/// The same; what each throws, "" where that is nothing.
inline std::vector<std::string> each_thread(int n, const std::function<void(int)>& body) {
    std::vector<std::string> said(static_cast<std::size_t>(n));
    on_threads(n, [&](int i) {
        try {
            body(i);
        } catch (const std::exception& e) {
            said[static_cast<std::size_t>(i)] = e.what();
        }
    });
    return said;
}
