#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

// A model that processes train together, each on its rows of every batch: what they must agree in, and what one device gives for all rows.

namespace joint_training {

inline constexpr int inputs = 24, outputs = 5, words = 40, rows = 30;

struct trained {
    std::vector<float> losses;
    std::vector<tenon::any_array> values;
    std::string explained;
};

inline bool same_bits(const trained& a, const trained& b) {
    if (a.losses != b.losses || a.values.size() != b.values.size()) return false;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        if (std::memcmp(a.values[i].data(), b.values[i].data(), a.values[i].bytes()) != 0) return false;
    return true;
}
// How far losses and values may differ, relatively; values by a hundredth of that absolutely, too.
inline void check_close(const trained& a, const trained& b, double losses, double values) {
    REQUIRE(a.losses.size() == b.losses.size());
    for (std::size_t i = 0; i < a.losses.size(); ++i)
        CHECK(a.losses[i] == doctest::Approx(b.losses[i]).epsilon(losses));
    REQUIRE(a.values.size() == b.values.size());
    for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(all_close(a.values[i], b.values[i], values, values / 100));
}

inline tenon::any_array numbers(const tenon::extents& sizes, int seed) {
    tenon::any_array a(tenon::element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<float>()[i] = std::sin(static_cast<float>(12 * i + 7 * seed + 1));
    return a;
}

// A table, from which rows are gathered, a matrix, that is large or not, and small vectors.
template <int hidden>
inline constexpr auto loss_of = [](const auto& x, const auto& at, const auto& y) {
    namespace tn = tenon;
    const auto table = tn::variable<float, tn::shape<words, hidden>>("table", tn::normal(0, 0.1, 3));
    const auto w1 = tn::variable<float, tn::shape<inputs, hidden>>("w1", tn::normal(0, 0.1, 4));
    const auto b1 = tn::variable<float, tn::shape<hidden>>("b1", tn::zeros());
    const auto w2 = tn::variable<float, tn::shape<hidden, outputs>>("w2", tn::normal(0, 0.1, 5));
    const auto b2 = tn::variable<float, tn::shape<outputs>>("b2", tn::zeros());
    return tn::nn::mean_squared_error(matmul(tanh(matmul(x, w1) + b1 + gather(table, at)), w2) + b2, y);
};

// Rows [begin, end) of each step's batch.
template <class X, class At, class Y>
trained train(tenon::session& s, const X& x, const At& at, const Y& y, const tenon::operation& step,
              const tenon::tensor<float, tenon::shape<>>& loss, int steps, int begin, int end,
              const std::function<void(int)>& before_step = {}) {
    trained t;
    s.run(tenon::initialize_variables());
    for (int i = 0; i < steps; ++i) {
        if (before_step) before_step(i);
        tenon::any_array words_at(tenon::element_type::int32, tenon::extents(rows));
        for (int k = 0; k < rows; ++k) words_at.data<std::int32_t>()[k] = (7 * k + i) % words;
        const auto part = [&](const tenon::any_array& a) { return a.share().slice(begin, end).copy(); };
        t.losses.push_back(s.run(tenon::feed(x, part(numbers(tenon::extents(rows, inputs), 10 + i))),
                                 tenon::feed(at, part(words_at)),
                                 tenon::feed(y, part(numbers(tenon::extents(rows, outputs), 50 + i))), step, loss)
                               .item());
    }
    if (before_step) before_step(steps);
    t.values = s.run_untyped({}, tenon::graph::current().collection(tenon::global_variables));
    return t;
}

} // namespace joint_training
