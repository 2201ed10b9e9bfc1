#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/cuda/gpus.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "machine.hpp"
#include "own_graph.hpp"

/// Ops run on the GPU, and what they are compared with.

namespace tenon::test {

/// New in each run of the tests, for each use. Printed where a check fails; TENON_TEST_SEED repeats it.
inline std::uint64_t drawn_seed() {
    static std::uint64_t next = [] {
        const char* given = std::getenv("TENON_TEST_SEED");
        const std::uint64_t first = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
        std::printf("TENON_TEST_SEED=%llu\n", static_cast<unsigned long long>(first));
        return first;
    }();
    return next++;
}

using build_function = std::function<std::vector<any_tensor>(const std::vector<any_tensor>&)>;

/// The outputs of what `build` makes of placeholders for the values: on the GPU, but for what has no kernel there where `soft`.
inline std::vector<any_array> run_on_gpu(const std::vector<const any_array*>& values, const build_function& build,
                                         bool soft = false) {
    const own_graph g;
    std::vector<any_tensor> in, out;
    for (const any_array* v : values) in.push_back(untyped::placeholder(v->element(), v->extents()));
    {
        const device_scope there("/gpu:0");
        out = build(in);
    }
    machine::draw_from(drawn_seed());
    session s(g, {.allow_soft_placement = soft});
    std::vector<fed_value> feeds;
    for (std::size_t i = 0; i < in.size(); ++i) feeds.push_back({in[i], values[i]->share()});
    std::vector<any_array> results = s.run_untyped(std::move(feeds), out);
    if (const auto wrong = machine::violations(); !wrong.empty()) throw std::runtime_error(wrong.front());
    return results;
}

/// Element i in double.
inline double number_at(const any_array& a, std::int64_t i) {
    switch (a.element()) {
    case element_type::float32: return a.data<float>()[i];
    case element_type::float64: return a.data<double>()[i];
    case element_type::float16: return static_cast<float>(a.data<half>()[i]);
    case element_type::bfloat16: return static_cast<float>(a.data<bfloat16>()[i]);
    case element_type::int8: return a.data<std::int8_t>()[i];
    case element_type::int16: return a.data<std::int16_t>()[i];
    case element_type::int32: return a.data<std::int32_t>()[i];
    case element_type::int64: return static_cast<double>(a.data<std::int64_t>()[i]);
    case element_type::uint8: return a.data<std::uint8_t>()[i];
    case element_type::uint16: return a.data<std::uint16_t>()[i];
    case element_type::uint32: return a.data<std::uint32_t>()[i];
    case element_type::uint64: return static_cast<double>(a.data<std::uint64_t>()[i]);
    default: return a.data<bool>()[i] ? 1 : 0;
    }
}

/// Elements as `draw` gives them, in double.
template <class T, class Draw> any_array array_of(const extents& sizes, const Draw& draw) {
    any_array a(element_type_of<T>, sizes);
    T* to = a.data<T>();
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const double v = draw(i);
        if constexpr (std::is_same_v<T, bool>) to[i] = v != 0;
        else to[i] = static_cast<T>(v);
    }
    return a;
}

/// The distance of neighbouring numbers at 1; 0 for integers.
inline double spacing(element_type e) {
    switch (e) {
    case element_type::float32: return 0x1p-23;
    case element_type::float64: return 0x1p-52;
    case element_type::float16: return 0x1p-10;
    case element_type::bfloat16: return 0x1p-7;
    default: return 0;
    }
}

/// Each element type in turn.
inline constexpr element_type floating_types[] = {element_type::float32, element_type::float64, element_type::float16,
                                                  element_type::bfloat16};
inline constexpr element_type number_types[] = {element_type::float32,  element_type::float64, element_type::float16,
                                                element_type::bfloat16, element_type::int8,    element_type::int16,
                                                element_type::int32,    element_type::int64,   element_type::uint8,
                                                element_type::uint16,   element_type::uint32,  element_type::uint64};

/// Says where a first differs from what is wanted by more than `tolerance`, of each element; "" where it does nowhere. NaN is as NaN.
inline std::string difference(const any_array& a, const std::vector<double>& wanted,
                              const std::function<double(std::int64_t)>& tolerance) {
    if (a.elements() != static_cast<std::int64_t>(wanted.size()))
        return std::to_string(a.elements()) + " elements in the place of " + std::to_string(wanted.size());
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const double found = number_at(a, i), w = wanted[static_cast<std::size_t>(i)];
        const bool alike = std::isnan(w)   ? std::isnan(found)
                           : std::isinf(w) ? found == w
                                           : std::fabs(found - w) <= tolerance(i);
        if (!alike)
            return "element " + std::to_string(i) + " is " + std::to_string(found) + " in the place of " +
                   std::to_string(w) + ", off by " + std::to_string((found - w) / tolerance(i)) + " tolerances";
    }
    return "";
}

inline bool same_bits(const any_array& a, const any_array& b) {
    return a.extents() == b.extents() && a.element() == b.element() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

} // namespace tenon::test
