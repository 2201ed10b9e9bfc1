#pragma once

#include <string>
#include <vector>

#include <op_table/running.hpp>

#include "gpu_run.hpp"

/// The same steps on the host and on the GPU.

namespace tenon::test {

/// What `build` makes of placeholders for the values, in each of some steps of one session, on a device.
inline std::vector<std::vector<any_array>> steps_on(const char* device, int steps, std::uint64_t graph_seed,
                                                    const std::vector<const any_array*>& values,
                                                    const build_function& build) {
    own_graph g;
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

/// An array of any element type, of the numbers that are drawn.
inline any_array array_of(element_type e, const extents& sizes, const std::function<double(std::int64_t)>& draw) {
    any_array a(e, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) op_table::set_number(a, i, draw(i));
    return a;
}

/// What the host gives of the same numbers, floating ones in double. Its own kernels are held against formulas in test/ops.
inline std::vector<std::vector<double>> on_host_in_double(const std::vector<const any_array*>& values,
                                                          const build_function& build) {
    std::vector<any_array> wide;
    for (const any_array* v : values)
        wide.push_back(is_floating(v->element()) ? array_of(element_type::float64, v->extents(),
                                                            [&](std::int64_t i) { return number_at(*v, i); })
                                                 : v->share());
    std::vector<const any_array*> fed;
    for (const any_array& a : wide) fed.push_back(&a);
    std::vector<std::vector<double>> all;
    const auto step = std::move(steps_on("/cpu:0", 1, 0, fed, build)[0]);
    for (const any_array& a : step) {
        all.emplace_back();
        for (std::int64_t i = 0; i < a.elements(); ++i) all.back().push_back(number_at(a, i));
    }
    return all;
}

/// Indices below `size`.
template <class I> any_array indices_below(std::int64_t size, const extents& sizes, std::mt19937_64& random) {
    return array_of<I>(sizes,
                       [&](std::int64_t) { return static_cast<double>(random() % static_cast<std::uint64_t>(size)); });
}

/// Numbers that all types have, and sums of which are rounded in those that round.
inline any_array numbers(element_type e, const extents& sizes, std::mt19937_64& random) {
    return array_of(e, sizes, [&](std::int64_t) {
        if (e == element_type::boolean) return static_cast<double>(random() % 2);
        if (!is_floating(e)) return static_cast<double>(random() % 100);
        return static_cast<double>(random() % 20001) / 3000.0 - 3.3;
    });
}
template <class T> any_array numbers(const extents& sizes, std::mt19937_64& random) {
    return numbers(element_type_of<T>, sizes, random);
}

} // namespace tenon::test
