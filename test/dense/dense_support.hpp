#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/core/members.hpp>

#include "each_isa.hpp"

/// What a description says, for messages: "batch 2, height 5, ..".
template <class Description> std::string said_by(const Description& d) {
    std::ostringstream text;
    tenon::each_member(d, [&](const char* name, const auto& is) {
        using T = std::remove_cvref_t<decltype(is)>;
        text << name << ' ';
        if constexpr (std::is_enum_v<T>) text << static_cast<int>(is) << ", ";
        else text << is << ", ";
    });
    return text.str();
}

/// Numbers in [-1, 1], the same ones for the same seed.
template <class T> std::vector<T> random_numbers(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = static_cast<T>(uniform(generator));
    return values;
}

/// The largest difference, relative to `scale`, the number of terms in the sums that are compared; a NaN on
/// either side that the other lacks counts as infinite.
template <class T>
double worst_error(const std::vector<T>& found, const std::vector<double>& expected, double scale = 1.0) {
    if (found.size() != expected.size()) return INFINITY;
    double worst = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double value = static_cast<double>(found[i]);
        if (std::isnan(value) || std::isnan(expected[i])) {
            if (std::isnan(value) != std::isnan(expected[i])) return INFINITY;
            continue;
        }
        if (value == expected[i]) continue; // infinities too
        worst = std::max(worst, std::fabs(value - expected[i]) / scale);
    }
    return worst;
}

/// What sums of products of numbers up to 1 may be off by, per term, in units of worst_error.
template <class T> constexpr double allowed() { return sizeof(T) == 4 ? 2e-7 : 4e-16; }
