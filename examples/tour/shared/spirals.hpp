#pragma once

#include <tenon/tenon.hpp>

#include <cmath>
#include <cstdint>

// A small task for grids and ensembles: which of three spirals a point of the plane is on.
namespace spirals {

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

using inputs = tn::tensor<float, tn::shape<batch, 2>>;
using logits = tn::tensor<float, tn::shape<batch, 3>>;
using points = tn::array<float, tn::shape<batch, 2>>;
using labels = tn::array<std::int32_t, tn::shape<batch>>;

struct samples {
    points x;
    labels y;
};

// The same points wherever it runs. `noise` moves them across.
inline samples make(int n, std::uint32_t seed, float noise = 1.1f) {
    samples s{points(n), labels(n)};
    const auto random = [&seed] { // 0 .. 1
        seed = seed * 1664525u + 1013904223u;
        return static_cast<float>(seed >> 8) / 16777216.0f;
    };
    for (int i = 0; i < n; ++i) {
        const int arm = i % 3;
        const float along = random();
        const float angle = 4 * along + 2.0944f * static_cast<float>(arm) + noise * (random() + random() - 1);
        s.x(i, 0) = along * std::cos(angle);
        s.x(i, 1) = along * std::sin(angle);
        s.y(i) = arm;
    }
    return s;
}

struct settings {
    float rate = 0.01f;
    int hidden = 8;
};
inline tn::grid<settings> grid() {
    return tn::grid(tn::axis("rate", &settings::rate, {0.1f, 0.03f, 0.01f, 0.003f}),
                    tn::axis("hidden", &settings::hidden, {4, 16, 32}));
}

// A new network of so many units: the sizes are known by type, so each is a network of its own.
template <int Hidden> logits network(const inputs& x) {
    return nn::sequential(nn::dense<Hidden>(nn::tanh), nn::dense<Hidden>(nn::tanh), nn::dense<3>())(x);
}
inline logits network(const settings& s, const inputs& x) {
    switch (s.hidden) {
    case 4: return network<4>(x);
    case 16: return network<16>(x);
    default: return network<32>(x);
    }
}

// Trains one, and tells the accuracy on points that it is not trained on.
inline void train(const settings& s, tn::trial& t, int steps = 120) {
    const samples known = make(300, 1), validation = make(300, 2);
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    const logits z = network(s, x);
    const auto minimize = tn::adam(s.rate).minimize(nn::cross_entropy(z, y));
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    const auto step = sess.callable(tn::feeds(x, y), tn::fetches(minimize));
    const auto accuracy = sess.callable(tn::feeds(x, y), tn::fetches(nn::accuracy(z, y)));
    for (int i = 1; i <= steps; ++i) {
        step(known.x, known.y);
        if (i % 10) continue;
        const auto [right] = accuracy(validation.x, validation.y);
        if (!t.report(i, static_cast<double>(right.item()))) return;
    }
}

} // namespace spirals
