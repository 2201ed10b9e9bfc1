#pragma once

#include <string>
#include <vector>

#include "gpu_run.hpp"

/// The same steps on the host and on the GPU.

namespace tenon::test {

/// What `build` makes of placeholders for the values, in each of some steps of one session, on a device.
inline std::vector<std::vector<any_array>> steps_on(const char* device, int steps, std::uint64_t graph_seed,
                                                    const std::vector<const any_array*>& values,
                                                    const build_function& build) {
    graph g;
    const graph_scope scope(g);
    g.set_seed(graph_seed);
    std::vector<any_tensor> in, out;
    for (const any_array* v : values) in.push_back(untyped::placeholder(v->element(), v->extents()));
    {
        const device_scope there{device_name(std::string(device))};
        out = build(in);
    }
    session s(g);
    std::vector<std::vector<any_array>> all;
    for (int i = 0; i < steps; ++i) {
        std::vector<fed_value> feeds;
        for (std::size_t k = 0; k < in.size(); ++k) feeds.push_back({in[k], values[k]->share()});
        all.push_back(s.run_untyped(std::move(feeds), out));
    }
    return all;
}

/// "" where both devices give the same bits in each step, else where they do not.
inline std::string difference_of_devices(int steps, std::uint64_t graph_seed,
                                         const std::vector<const any_array*>& values, const build_function& build) {
    const auto host = steps_on("/cpu:0", steps, graph_seed, values, build);
    const auto gpu = steps_on("/gpu:0", steps, graph_seed, values, build);
    for (std::size_t step = 0; step < host.size(); ++step)
        for (std::size_t o = 0; o < host[step].size(); ++o) {
            const any_array &a = host[step][o], &b = gpu[step][o];
            if (same_bits(a, b)) continue;
            const std::string where = "step " + std::to_string(step) + ", result " + std::to_string(o);
            if (a.extents() != b.extents() || a.element() != b.element()) return where + ": of another type";
            std::int64_t i = 0;
            const std::size_t size = size_of(a.element());
            const auto at = [&](const any_array& of) {
                return static_cast<const std::byte*>(of.data()) + static_cast<std::size_t>(i) * size;
            };
            while (std::memcmp(at(a), at(b), size) == 0) ++i;
            return where + ", element " + std::to_string(i) + " of " + std::to_string(a.elements()) + ": " +
                   std::to_string(number_at(b, i)) + " in the place of " + std::to_string(number_at(a, i));
        }
    return "";
}

/// What the error says that a function throws; "" where it throws none of this type.
template <class Error, class F> std::string message_of(const F& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

/// Indices below `size`.
template <class I> any_array indices_below(std::int64_t size, const extents& sizes, std::mt19937_64& random) {
    return array_of<I>(sizes,
                       [&](std::int64_t) { return static_cast<double>(random() % static_cast<std::uint64_t>(size)); });
}

/// Numbers that all types have, and sums of which are rounded in those that round.
template <class T> any_array numbers(const extents& sizes, std::mt19937_64& random) {
    return array_of<T>(sizes, [&](std::int64_t) {
        if constexpr (std::is_same_v<T, bool>) return static_cast<double>(random() % 2);
        else if constexpr (std::is_integral_v<T>) return static_cast<double>(random() % 100);
        else return static_cast<double>(random() % 20001) / 3000.0 - 3.3;
    });
}

} // namespace tenon::test
