#include "tests.hpp"

using namespace tenon;

TEST_CASE_TEMPLATE("ctc_loss and its gradient are computed in double and rounded once", T, float, bfloat16, half) {
    constexpr int batch = 3, time = 60, classes = 4, labels = 12;
    const graph_scope scope{graph()};
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    array<T, shape<batch, time, classes>> drawn;
    array<double, shape<batch, time, classes>> same;
    for (std::int64_t i = 0; i < drawn.size(); ++i)
        same[i] = static_cast<double>(drawn[i] = static_cast<T>(static_cast<float>(normal(random))));
    array<int, shape<batch, labels>> of_sequences; // blanks between them meet in one class, from many states
    for (int& label : of_sequences) label = 1 + static_cast<int>(random() % 3);
    const array<int, shape<batch>> times{60, 57, 40}, lengths{12, 12, 5};
    const auto both = [&]<class N>(const array<N, shape<batch, time, classes>>& logits) {
        const auto x = placeholder<N, shape<batch, time, classes>>("x");
        const auto y = placeholder<int, shape<batch, labels>>("y");
        const auto t = placeholder<int, shape<batch>>("t"), n = placeholder<int, shape<batch>>("n");
        const auto loss = ctc_loss(x, y, t, n);
        session s;
        return s.run(feed(x, logits), feed(y, of_sequences), feed(t, times), feed(n, lengths), loss,
                     std::get<0>(gradients(sum(loss), x)));
    };
    const auto [loss, slope] = both(drawn);
    const auto [exact_loss, exact_slope] = both(same);
    const auto within_rounding = [](T found, double exact) {
        return std::abs(static_cast<double>(found) - exact) <=
               static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(exact) / 1.99;
    };
    for (std::int64_t i = 0; i < loss.size(); ++i) CHECK(within_rounding(loss[i], exact_loss[i]));
    for (std::int64_t i = 0; i < slope.size(); ++i) {
        const T found = slope[i];
        const double exact = exact_slope[i];
        INFO("element ", i, ": ", static_cast<double>(found), " for ", exact);
        CHECK(within_rounding(found, exact));
    }
}
