#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <tenon/dense/strided_copy.hpp>

// Copies between views, of numbers and of texts, against their definition. (test/cuda/strided_copy.cpp compares these with a GPU's.)

namespace tn = tenon::detail;

namespace {

struct views {
    std::vector<tn::copied_dimension> dims;
    std::int64_t from_size = 1, to_size = 1;
};

// Dimensions in any order in the source, where some repeat, and dense or with gaps in the destination.
views draw(std::mt19937& random) {
    views v;
    const auto rank = static_cast<std::size_t>(random() % 5);
    std::vector<std::size_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        v.dims.push_back({static_cast<std::int64_t>(random() % 6 == 0 ? random() % 80 : random() % 5), 0, 0});
        order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
        if (random() % 5 == 0) continue;
        v.dims[i].from_step = v.from_size;
        v.from_size *= std::max<std::int64_t>(1, v.dims[i].size + static_cast<std::int64_t>(random() % 2));
    }
    for (std::size_t i = rank; i-- > 0;) {
        v.dims[i].to_step = v.to_size;
        v.to_size *= std::max<std::int64_t>(1, v.dims[i].size + static_cast<std::int64_t>(random() % 4 == 0));
    }
    return v;
}

template <class T> T numbered(std::int64_t i) {
    if constexpr (std::is_same_v<T, std::string>)
        return (i % 3 == 0 ? "a text that is longer than what fits beside its length: " : "") + std::to_string(i);
    else return static_cast<T>(i * 2654435761 + (i >> 8));
}

template <class T> void copy_by_definition(const views& v, std::size_t d, const T* from, T* to) {
    if (d == v.dims.size()) {
        *to = *from;
        return;
    }
    for (std::int64_t i = 0; i < v.dims[d].size; ++i)
        copy_by_definition(v, d + 1, from + i * v.dims[d].from_step, to + i * v.dims[d].to_step);
}

} // namespace

TEST_CASE_TEMPLATE("a strided copy is its definition", T, std::uint8_t, std::uint16_t, float, double, std::string) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        const views v = draw(random);
        std::vector<T> from;
        for (std::int64_t k = 0; k < v.from_size; ++k) from.push_back(numbered<T>(k));
        std::vector<T> found(static_cast<std::size_t>(v.to_size), numbered<T>(-1)), wanted = found;
        tn::strided_copy(v.dims.data(), static_cast<int>(v.dims.size()), sizeof(T))
            .run(from.data(), found.data(), nullptr);
        copy_by_definition(v, 0, from.data(), wanted.data());
        CAPTURE(i);
        REQUIRE(found == wanted);
    }
}
