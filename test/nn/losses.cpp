#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include <tenon/nn/confusion_matrix.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "ops/check_gradients.hpp"

namespace tn = tenon;
namespace nn = tenon::nn;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE("losses are means over all elements") {
    const tn::graph_scope scope{tn::graph()};
    auto p = tn::placeholder<double, tn::shape<batch, 2>>("p");
    auto t = tn::placeholder<double, tn::shape<batch, 2>>("t");
    const tn::array<double> ps{{0.5, -1}, {2, 0}, {1, 3}}, ts{{0, 1}, {1, 0}, {0.25, 1}};
    tn::session s;
    const auto [square, absolute, binary] = s.run(tn::feed(p, ps), tn::feed(t, ts), nn::mean_squared_error(p, t),
                                                  nn::mean_absolute_error(p, t), nn::binary_cross_entropy(p, t));
    double squares = 0, distances = 0, bits = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
        const double d = ps[i] - ts[i], q = 1 / (1 + std::exp(-ps[i]));
        squares += d * d;
        distances += std::abs(d);
        bits -= ts[i] * std::log(q) + (1 - ts[i]) * std::log(1 - q);
    }
    CHECK(square.item() == doctest::Approx(squares / 6));
    CHECK(absolute.item() == doctest::Approx(distances / 6));
    CHECK(binary.item() == doctest::Approx(bits / 6));
}

TEST_CASE("huber is a square near the target and a line far from it; log_loss takes probabilities") {
    const tn::graph_scope scope{tn::graph()};
    auto p = tn::placeholder<double, tn::shape<batch, 2>>("p");
    auto t = tn::placeholder<double, tn::shape<batch, 2>>("t");
    const tn::array<double> ps{{0.5, 0.9}, {0.25, 0}, {1, 0.125}}, ts{{0, 1}, {1, 0}, {1, 0.5}};
    tn::session s;
    const auto [far, near, log] =
        s.run(tn::feed(p, ps), tn::feed(t, ts), nn::huber(p, t), nn::huber(p, t, 0.2), nn::log_loss(p, t));
    double squares = 0, lines = 0, bits = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
        const double d = std::abs(ps[i] - ts[i]);
        squares += d * d / 2;
        lines += d <= 0.2 ? d * d / 2 : 0.2 * (d - 0.1);
        if (ts[i] != 0) bits -= ts[i] * std::log(ps[i]);
        if (ts[i] != 1) bits -= (1 - ts[i]) * std::log(1 - ps[i]);
    }
    CHECK(far.item() == doctest::Approx(squares / 6));
    CHECK(near.item() == doctest::Approx(lines / 6));
    CHECK(log.item() == doctest::Approx(bits / 6)); // finite where what is certain is right
    CHECK_THROWS_WITH_AS(nn::huber(p, t, 0), doctest::Contains("huber: delta is 0"), tn::invalid_argument_error);
    CHECK_THROWS_AS(nn::huber(p, t, std::nan("")), tn::invalid_argument_error);
}

TEST_CASE("gradients of huber and log_loss agree with central differences") {
    using tn::test::check_gradients, tn::test::given, tn::test::input;
    const auto p = given(input<tn::shape<batch, 3>>(2, 3), {0.1, 0.3, 0.45, 0.6, 0.75, 0.9});
    const auto t = given(input<tn::shape<batch, 3>>(2, 3), {0.2, 0.9, 0.05, 0.5, 0.45, 0.1});
    CHECK(check_gradients([](auto a, auto b) { return nn::huber(a, b, 0.35); }, p, t) == "");
    CHECK(check_gradients([](auto a, auto b) { return nn::log_loss(a, b); }, p, t) == "");
}

TEST_CASE("cross entropy and accuracy are means over the batch") {
    const tn::graph_scope scope{tn::graph()};
    auto logits = tn::placeholder<float, tn::shape<batch, 3>>("logits");
    auto labels = tn::placeholder<std::int32_t, tn::shape<batch>>("labels");
    const tn::array<float> l{{1, 2, 0}, {0, 0, 5}, {3, 1, 1}, {0, 1, 0}};
    const tn::array<std::int32_t> y{1, 2, 1, 0};
    tn::session s;
    const auto [loss, right, guessed] =
        s.run(tn::feed(logits, l), tn::feed(labels, y), nn::cross_entropy(logits, labels), nn::accuracy(logits, labels),
              nn::predicted_class(logits));
    double sum = 0;
    for (int b = 0; b < 4; ++b) {
        double total = 0;
        for (int c = 0; c < 3; ++c) total += std::exp(static_cast<double>(l(b, c)));
        sum += std::log(total) - static_cast<double>(l(b, y(b)));
    }
    CHECK(static_cast<double>(loss.item()) == doctest::Approx(sum / 4).epsilon(1e-6));
    CHECK(right.item() == 0.5f);
    static_assert(std::is_same_v<decltype(guessed), const tn::array<std::int32_t, tn::shape<batch>>>);
    CHECK(guessed(0) == 1);
    CHECK(guessed(2) == 0);
}

TEST_CASE("accuracy takes labels of any integer type and any number of dimensions") {
    const tn::graph_scope scope{tn::graph()};
    auto logits = tn::placeholder<float, tn::shape<1, 2, 2>>("logits");
    auto labels = tn::placeholder<std::uint8_t, tn::shape<1, 2>>("labels");
    tn::session s;
    const tn::array<float> l{{{1, 2}, {3, 1}}};
    const tn::array<std::uint8_t> y{{1, 0}};
    CHECK(s.run(tn::feed(logits, l), tn::feed(labels, y), nn::accuracy(logits, labels)).item() == 1);
}

TEST_CASE("a confusion matrix counts what is taken for what") {
    nn::confusion_matrix m(3);
    CHECK(m.accuracy() == 0);
    m.add(tn::array<std::uint8_t>{0, 1, 2, 2}, tn::array<std::int64_t>{0, 2, 2, 1});
    m.add(tn::array<std::int32_t>{2}, tn::array<std::int32_t>{2});
    CHECK(m.total() == 5);
    CHECK(m.right() == 3);
    CHECK(m.accuracy() == doctest::Approx(0.6));
    CHECK(m.count(1, 2) == 1);
    CHECK(m.count(2, 1) == 1);
    CHECK(m.recall(2) == doctest::Approx(2.0 / 3));
    CHECK(m.recall(1) == 0);
    CHECK(m.precision(2) == doctest::Approx(2.0 / 3));
    CHECK(m.to_string({"a", "bc", "d"}) == "    0  1  2    recall\n"
                                           " a  1  .  .   100.0 %\n"
                                           "bc  .  .  1     0.0 %\n"
                                           " d  .  1  2    66.7 %\n");
}

TEST_CASE("a confusion matrix refuses what is no class, and counts nothing of it") {
    nn::confusion_matrix m(2);
    const auto add = [&](const tn::any_array& y, const tn::any_array& p) { m.add(y, p); };
    CHECK_THROWS_WITH_AS(add(tn::array<std::int32_t>{0, 2}, tn::array<std::int32_t>{0, 0}),
                         doctest::Contains("the labels have 2 at 1; classes are 0 to 1"), tn::invalid_argument_error);
    CHECK_THROWS_AS(add(tn::array<std::int32_t>{0}, tn::array<std::int32_t>{-1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(add(tn::array<std::int32_t>{0}, tn::array<std::int32_t>{0, 1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(add(tn::array<float>{0}, tn::array<float>{0}), tn::invalid_argument_error);
    CHECK(m.total() == 0);
    CHECK_THROWS_AS(m.count(0, 2), tn::out_of_range_error);
    CHECK_THROWS_AS(nn::confusion_matrix(0), tn::invalid_argument_error);
    CHECK_THROWS_AS(m.to_string({"only one"}), tn::invalid_argument_error);
}
