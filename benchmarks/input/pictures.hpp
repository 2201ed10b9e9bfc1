#pragma once

#include <cstdint>
#include <random>

#include <tenon/core/array/array.hpp>

/// Images of 28x28 bytes with a digit each, at random: the same in every run.
template <std::int64_t Count> struct pictures {
    tenon::array<std::uint8_t, tenon::shape<Count, 28, 28>> x;
    tenon::array<std::int32_t, tenon::shape<Count>> y;
    pictures() {
        std::mt19937 random(1);
        for (std::uint8_t& v : x) v = static_cast<std::uint8_t>(random());
        for (std::int32_t& v : y) v = static_cast<std::int32_t>(random() % 10);
    }
};
