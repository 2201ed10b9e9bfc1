#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <tenon/tenon.hpp>

/// Numbers that processes with a GPU each sum.

namespace all_reduce_test {

namespace tn = tenon;

inline tn::device_name gpu(int i) { return tn::device_name("/gpu:" + std::to_string(i)); }

inline double number_at(const tn::any_array& a, std::int64_t i) {
    switch (a.element()) {
    case tn::element_type::float64: return a.data<double>()[i];
    case tn::element_type::float16: return static_cast<double>(static_cast<float>(a.data<tn::half>()[i]));
    case tn::element_type::bfloat16: return static_cast<double>(static_cast<float>(a.data<tn::bfloat16>()[i]));
    default: return static_cast<double>(a.data<float>()[i]);
    }
}
inline tn::any_array values_of(tn::element_type e, const tn::extents& sizes, int seed) {
    tn::any_array a(e, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const float v = seed < 0 ? NAN : std::sin(static_cast<float>(12 * i + 7 * seed + 1));
        if (e == tn::element_type::float64) a.data<double>()[i] = static_cast<double>(v);
        else if (e == tn::element_type::float16) a.data<tn::half>()[i] = static_cast<tn::half>(v);
        else if (e == tn::element_type::bfloat16) a.data<tn::bfloat16>()[i] = static_cast<tn::bfloat16>(v);
        else a.data<float>()[i] = v;
    }
    return a;
}

} // namespace all_reduce_test
