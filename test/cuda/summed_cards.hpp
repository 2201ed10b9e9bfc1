#pragma once

#include <tenon/cuda/gpus.hpp>

#include "tests.hpp"
#include "machine.hpp"

/// Machines of several cards, and what is summed over them.

namespace all_reduce_test {

using tn::test::machine;

/// Those of the machine; a real one may have fewer than a test asks for.
inline int cards() {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

inline std::vector<tn::device_name> gpus(int n) {
    std::vector<tn::device_name> names;
    for (int i = 0; i < n; ++i) names.emplace_back("/gpu:" + std::to_string(i));
    return names;
}

/// x of a fed x, on each GPU.
template <class T> struct fed_tensors {
    fed_tensors(const std::vector<tn::device_name>& on, const tn::extents& sizes) {
        std::mt19937_64 random(on.size());
        for (const tn::device_name& d : on) {
            const tn::device_scope inside(d);
            fed.push_back(tn::untyped::placeholder(tn::element_type_of<T>, sizes));
            computed.push_back(tn::untyped::identity(fed.back()));
            values.emplace_back(tn::element_type_of<T>, sizes);
            for (std::int64_t i = 0; i < sizes.elements(); ++i)
                values.back().template data<T>()[i] = static_cast<T>(static_cast<int>(random() % 201) - 100);
        }
    }
    std::vector<tn::fed_value> given() const {
        std::vector<tn::fed_value> f;
        for (std::size_t i = 0; i < fed.size(); ++i) f.push_back({fed[i], values[i].share()});
        return f;
    }
    /// Whole numbers, which all types here add up exactly, or in 8 bits wrapping around.
    void check(const std::vector<tn::any_array>& sums) const {
        REQUIRE(sums.size() == fed.size());
        for (const tn::any_array& s : sums)
            for (std::int64_t i = 0; i < s.elements(); ++i) {
                double sum = 0;
                std::uint64_t wrapped = 0;
                for (const tn::any_array& v : values) {
                    sum += static_cast<double>(v.template data<T>()[i]);
                    if constexpr (std::is_integral_v<T>) wrapped += static_cast<std::uint64_t>(v.template data<T>()[i]);
                }
                if constexpr (std::is_integral_v<T>) REQUIRE(s.template data<T>()[i] == static_cast<T>(wrapped));
                else REQUIRE(static_cast<double>(s.template data<T>()[i]) == doctest::Approx(sum).epsilon(1e-2));
            }
    }
    std::vector<tn::any_tensor> fed, computed;
    std::vector<tn::any_array> values;
};

} // namespace all_reduce_test
