#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/session/session.hpp>

// Devices of one process, and numbers, for tests of what trains on several.

namespace several_devices {

namespace tn = tenon;

inline std::vector<tn::device_name> devices(int n, const std::string& type = "cpu") {
    std::vector<tn::device_name> names;
    for (int i = 0; i < n; ++i) names.emplace_back("/" + type + ":" + std::to_string(i));
    return names;
}
inline tn::session_options with_cpus(int n) { return {.cpu_devices = n}; }
inline tn::session_options with_gpus(int n) { return {.gpus = tn::simulated_gpu(n, 32 << 20)}; }

// Numbers between -1 and 1 that repeat late.
template <tn::Shape S> tn::array<double, S> numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        static_cast<double*>(a.data())[i] = std::sin(static_cast<double>(12 * i + 7 * seed + 1));
    return tn::array<double, S>(std::move(a));
}

// [n, 3] -> [n, 2], of 26 numbers.
inline constexpr auto model_loss = [](const auto& x, const auto& y) {
    const auto w1 = tn::variable("w1", tn::constant(numbers<tn::shape<3, 4>>(tn::extents(3, 4), 1)));
    const auto b1 = tn::variable("b1", tn::constant(numbers<tn::shape<4>>(tn::extents(4), 2)));
    const auto w2 = tn::variable("w2", tn::constant(numbers<tn::shape<4, 2>>(tn::extents(4, 2), 3)));
    const auto b2 = tn::variable("b2", tn::constant(numbers<tn::shape<2>>(tn::extents(2), 4)));
    return tn::nn::mean_squared_error(matmul(tanh(matmul(x, w1) + b1), w2) + b2, y);
};

} // namespace several_devices
