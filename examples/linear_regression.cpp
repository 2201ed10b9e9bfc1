// Fits a line to noisy points: a model in 20 lines.
#include <tenon/tenon.hpp>

#include <cstdio>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch; // a named size, known at run time

int main() {
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
    auto y = tn::placeholder<float, tn::shape<batch>>("y");
    auto slope = tn::variable("slope", 0.0f);
    auto offset = tn::variable("offset", 0.0f);
    auto loss = tn::nn::mean_squared_error(slope * x + offset, y);
    auto train = tn::gradient_descent(0.1).minimize(loss);

    tn::array<float> xs(tn::extents{100}), ys(tn::extents{100});
    for (int i = 0; i < 100; ++i) {
        const float at = static_cast<float>(i) / 50 - 1, noise = 0.1f * static_cast<float>(i * 37 % 11 - 5) / 5;
        xs(i) = at;
        ys(i) = 3 * at - 2 + noise;
    }
    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));
    for (int i = 0; i <= 100; ++i) {
        auto [l] = step(xs, ys);
        if (i % 25 == 0) std::printf("step %3d  loss %.4f\n", i, static_cast<double>(l.item()));
    }
    auto [a, b] = sess.run(slope, offset);
    std::printf("y = %.2f x %+.2f\n", static_cast<double>(a.item()), static_cast<double>(b.item()));
    return 0;
}
