#include "tests.hpp"
#include "ops/check_gradients.hpp"

namespace nn = tenon::nn;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "losses are means over all elements") {
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

TEST_CASE_FIXTURE(in_graph, "huber is a square near the target and a line far from it; log_loss takes probabilities") {
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
    CHECK_ERROR(tn::invalid_argument_error, "huber: delta is 0", nn::huber(p, t, 0));
    CHECK_THROWS_AS(nn::huber(p, t, std::nan("")), tn::invalid_argument_error);
}

TEST_CASE("gradients of huber and log_loss agree with central differences") {
    using tn::test::check_gradients, tn::test::given, tn::test::input;
    const auto p = given(input<tn::shape<batch, 3>>(2, 3), {0.1, 0.3, 0.45, 0.6, 0.75, 0.9});
    const auto t = given(input<tn::shape<batch, 3>>(2, 3), {0.2, 0.9, 0.05, 0.5, 0.45, 0.1});
    CHECK(check_gradients([](auto a, auto b) { return nn::huber(a, b, 0.35); }, p, t) == "");
    CHECK(check_gradients([](auto a, auto b) { return nn::log_loss(a, b); }, p, t) == "");
}

namespace {
// Of rows of three.
template <class F> double mean_of_rows(const tn::array<double>& a, F&& f) {
    double sum = 0;
    const std::int64_t rows = a.extents()[0].size;
    for (std::int64_t r = 0; r < rows; ++r) sum += f(r);
    return sum / static_cast<double>(rows);
}
double dot(const tn::array<double>& a, const tn::array<double>& b, std::int64_t r) {
    return a(r, 0) * b(r, 0) + a(r, 1) * b(r, 1) + a(r, 2) * b(r, 2);
}
} // namespace

TEST_CASE_FIXTURE(in_graph, "losses of rows: hinge, divergence, cosine, triplet") {
    using rows = tn::shape<batch, 3>;
    auto x = tn::placeholder<double, rows>("x"), y = tn::placeholder<double, rows>("y"),
         z = tn::placeholder<double, rows>("z");
    const tn::array<double> a{{0.5, -1, 2}, {0, 0, 0}, {1, 3, 0.25}, {-2, 1, 1}},
        b{{1, -1, -1}, {1, 1, -1}, {1, 3, 1}, {2, 1, 0}},
        c{{0, 0.25, 0.75}, {1, 0, 0}, {0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}};
    tn::session s;
    const auto [hinge, divergence, similarity, distance, triplet, tight] =
        s.run(tn::feed(x, a), tn::feed(y, b), tn::feed(z, c), nn::hinge(x, y), nn::kl_divergence(tn::log_softmax(x), z),
              nn::cosine_similarity(x, y), nn::cosine_distance(x, y), nn::triplet(x, y, z), nn::triplet(x, y, z, 0.5));
    double hinges = 0;
    for (std::int64_t i = 0; i < 12; ++i) hinges += std::fmax(0, 1 - a[i] * b[i]) / 12;
    CHECK(hinge.item() == doctest::Approx(hinges));
    CHECK(divergence.item() == doctest::Approx(mean_of_rows(a, [&](std::int64_t r) {
              double all = 0, sum = 0;
              for (int k = 0; k < 3; ++k) all += std::exp(a(r, k));
              for (int k = 0; k < 3; ++k)
                  if (c(r, k) > 0) sum += c(r, k) * (std::log(c(r, k)) - std::log(std::exp(a(r, k)) / all));
              return sum;
          })));
    const auto cosine = [&](std::int64_t r) {
        return r == 1 ? 0 : dot(a, b, r) / std::sqrt(dot(a, a, r) * dot(b, b, r)); // a row of zeros has no direction
    };
    for (std::int64_t r = 0; r < 4; ++r) CHECK(similarity(r) == doctest::Approx(cosine(r)));
    CHECK(distance.item() == doctest::Approx(1 - mean_of_rows(a, cosine)));
    for (const double margin : {1.0, 0.5})
        CHECK((margin == 1 ? triplet : tight).item() == doctest::Approx(mean_of_rows(a, [&](std::int64_t r) {
                                                            const auto to = [&](const tn::array<double>& other) {
                                                                double d = 0;
                                                                for (int k = 0; k < 3; ++k)
                                                                    d += std::pow(a(r, k) - other(r, k), 2);
                                                                return std::sqrt(d);
                                                            };
                                                            return std::fmax(0, to(b) - to(c) + margin);
                                                        })).epsilon(1e-5));
    CHECK_ERROR(tn::invalid_argument_error, "triplet: the margin is -1", nn::triplet(x, y, z, -1));
}

// 300^2 is no half. By hand: 2 * 300 * 400 / 500^2, and 500 - 100 sqrt(2) + 1.
TEST_CASE_FIXTURE(in_graph, "lengths of halves are those of float, and so are their slopes") {
    using row = tn::array<tn::half, tn::shape<1, 2>>;
    const auto of = [](float a, float b) { return tn::constant(row{{tn::half(a), tn::half(b)}}); };
    const auto x = of(300, 400), y = of(400, 300), origin = of(0, 0);
    const tn::any_tensor a = x, b = y, o = origin;
    tn::session s;
    const std::pair<tn::any_tensor, double> wanted[] = {
        {nn::cosine_similarity(x, y), 0.96},   {nn::untyped::cosine_similarity(a, b), 0.96},
        {nn::cosine_distance(x, y), 0.04},     {nn::untyped::cosine_distance(a, b), 0.04},
        {nn::triplet(x, origin, y), 359.5786}, {nn::untyped::triplet(a, o, b), 359.5786}};
    for (const auto& [loss, value] : wanted) {
        const auto got = s.run_untyped({}, {loss});
        CHECK(static_cast<float>(got[0].data<tn::half>()[0]) == doctest::Approx(value).epsilon(1e-3));
    }
    const auto [slope] = tn::gradients(tn::sum(nn::cosine_similarity(x, y)), x); // (y / 500 - 0.96 x / 500) / 500
    const auto slopes = s.run(slope);
    CHECK(static_cast<float>(slopes(0, 0)) == doctest::Approx(0.000448).epsilon(2e-3));
    CHECK(static_cast<float>(slopes(0, 1)) == doctest::Approx(-0.000336).epsilon(2e-3));
}

TEST_CASE_FIXTURE(in_graph, "focal losses, and smoothed labels") {
    auto x = tn::placeholder<double, tn::shape<batch, 3>>("x"), y = tn::placeholder<double, tn::shape<batch, 3>>("y");
    auto labels = tn::placeholder<std::int32_t, tn::shape<batch>>("labels");
    const tn::array<double> a{{0.5, -1, 2}, {40, 0, -900}, {1, 3, 0.25}}, t{{0, 1, 0.25}, {1, 1, 0}, {0, 0, 1}};
    const tn::array<std::int32_t> l{0, 0, 1};
    tn::session s;
    const auto [focal, plain, binary, smooth, sharp] =
        s.run(tn::feed(x, a), tn::feed(y, t), tn::feed(labels, l), nn::focal(x, labels),
              nn::focal(x, labels, {.gamma = 0}), nn::binary_focal(x, y, {.gamma = 1.5, .alpha = 0.75}),
              nn::cross_entropy(x, labels, {.label_smoothing = 0.3}), nn::cross_entropy(x, labels, {}));
    double focals = 0, plains = 0, binaries = 0, smooths = 0;
    for (std::int64_t r = 0; r < 3; ++r) {
        double all = 0;
        for (int k = 0; k < 3; ++k) all += std::exp(a(r, k) - 40);
        const auto log_p = [&](int k) { return a(r, k) - 40 - std::log(all); };
        const double mine = log_p(l(r));
        focals -= std::pow(1 - std::exp(mine), 2) * mine / 3;
        plains -= mine / 3;
        for (int k = 0; k < 3; ++k) {
            smooths -= ((k == l(r) ? 0.7 : 0) + 0.1) * log_p(k) / 3;
            const double p = 1 / (1 + std::exp(-a(r, k))), log_1 = -std::log1p(std::exp(-a(r, k))),
                         log_0 = a(r, k) < -700 ? 0 : -std::log1p(std::exp(a(r, k)));
            if (t(r, k) > 0) binaries -= 0.75 * t(r, k) * std::pow(1 - p, 1.5) * log_1 / 9;
            binaries -= 0.25 * (1 - t(r, k)) * std::pow(p, 1.5) * log_0 / 9;
        }
    }
    CHECK(focal.item() == doctest::Approx(focals));
    CHECK(plain.item() == doctest::Approx(plains));
    CHECK(sharp.item() == doctest::Approx(plains));
    CHECK(binary.item() == doctest::Approx(binaries));
    CHECK(smooth.item() == doctest::Approx(smooths));
    CHECK_ERROR(tn::invalid_argument_error, "focal: gamma is -1", nn::focal(x, labels, {.gamma = -1}));
    CHECK_ERROR(tn::invalid_argument_error, "alpha is 2", nn::binary_focal(x, y, {.alpha = 2}));
    CHECK_ERROR(tn::invalid_argument_error, "label smoothing is 1",
                nn::cross_entropy(x, labels, {.label_smoothing = 1}));
    // What is certain and right has a gradient, which is 0, whatever gamma is.
    for (const double gamma : {0.0, 0.5, 2.0}) {
        const auto d = s.run(tn::feed(x, tn::array<double>{{900, 0, 0}, {0, 900, 0}}),
                             tn::feed(labels, tn::array<std::int32_t>{0, 1}),
                             std::get<0>(tn::gradients(nn::focal(x, labels, {.gamma = gamma}), x)));
        for (std::int64_t i = 0; i < 6; ++i) CHECK(d[i] == 0);
    }
}

TEST_CASE("gradients of losses of rows agree with central differences") {
    using tn::test::check_gradients, tn::test::given, tn::test::input;
    using rows = tn::shape<batch, 3>;
    const auto a = input<rows>(2, 3), b = input<rows>(2, 3), c = input<rows>(2, 3);
    const auto p = given(input<rows>(2, 3), {0.2, 0.9, 0.05, 0.5, 0.45, 0.1});
    CHECK(check_gradients([](auto x, auto y) { return nn::hinge(x, y); }, a, b) == "");
    CHECK(check_gradients([](auto x, auto q) { return nn::kl_divergence(x, q); }, a, p) == "");
    CHECK(check_gradients([](auto x, auto y) { return nn::cosine_distance(x, y); }, a, b) == "");
    CHECK(check_gradients([](auto x, auto y, auto z) { return nn::triplet(x, y, z, 3); }, a, b, c) == "");
    CHECK(check_gradients([](auto x, auto q) { return nn::binary_focal(x, q, {.gamma = 0.5}); }, a, p) == "");
    using two = tn::shape<2, 3>;
    CHECK(check_gradients([](auto x) { return nn::focal(x, tn::constant({2, 0})); }, input<two>()) == "");
    CHECK(check_gradients(
              [&](auto x) {
                  return nn::cross_entropy(x, tn::constant({2, 0}), {.label_smoothing = 0.1});
              },
              input<two>()) == "");
}

TEST_CASE(
    "ctc: what no path reads costs infinity and moves nothing; what lies beyond takes no part; mistakes are named") {
    const tn::graph_scope scope{tn::graph()};
    auto x = tn::placeholder<float, tn::shape<batch, 3, 4>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch, 2>>("y");
    auto times = tn::placeholder<std::int32_t, tn::shape<batch>>("times"),
         lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
    const auto each = tn::ctc_loss(x, y, times, lengths);
    const auto d = std::get<0>(tn::gradients(tn::sum(each), x));
    tn::session s;
    tn::array<float> logits(tn::extents{3, 3, 4});
    for (std::int64_t i = 0; i < 36; ++i) logits[i] = static_cast<float>(i * 7 % 11) / 4;
    for (std::int64_t c = 0; c < 4; ++c) logits(2, 2, c) = std::nanf(""); // beyond the steps of the last
    const auto run = [&](const tn::array<std::int32_t>& of, const tn::array<std::int32_t>& t,
                         const tn::array<std::int32_t>& n) {
        return s.run(tn::feed(x, logits), tn::feed(y, of), tn::feed(times, t), tn::feed(lengths, n), each, d);
    };
    const auto [loss, slope] = run({{1, 1}, {2, 3}, {1, 99}}, {2, 3, 2}, {2, 2, 1}); // the first needs a blank between
    CHECK(std::isinf(loss(0)));
    CHECK(std::isfinite(loss(1)));
    CHECK(std::isfinite(loss(2)));
    for (std::int64_t t = 0; t < 3; ++t)
        for (std::int64_t c = 0; c < 4; ++c) {
            CHECK(slope(0, t, c) == 0);
            CHECK(std::isfinite(slope(1, t, c)));
            if (t == 2) CHECK(slope(2, t, c) == 0);
        }
    CHECK_ERROR(tn::invalid_argument_error, "of sequence 1, label 1 is 4, which is not one of the classes",
                run({{1, 2}, {2, 4}, {1, 2}}, {3, 3, 2}, {2, 2, 1}));
    CHECK_ERROR(tn::invalid_argument_error, "of sequence 2, label 0 is 0, the blank",
                run({{1, 2}, {2, 1}, {0, 2}}, {3, 3, 2}, {2, 2, 1}));
    CHECK_ERROR(tn::invalid_argument_error, "of sequence 0, 4 steps are asked for; the logits have 3",
                run({{1, 2}, {2, 1}, {1, 2}}, {4, 3, 2}, {2, 2, 1}));
    CHECK_ERROR(tn::invalid_argument_error, "of sequence 1, 3 labels are asked for; there are 2",
                run({{1, 2}, {2, 1}, {1, 2}}, {3, 3, 2}, {2, 3, 1}));
}

TEST_CASE_FIXTURE(in_graph, "cross entropy and accuracy are means over the batch") {
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

TEST_CASE_FIXTURE(in_graph, "accuracy takes labels of any integer type and any number of dimensions") {
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
    CHECK_ERROR(tn::invalid_argument_error, "the labels have 2 at 1; classes are 0 to 1",
                add(tn::array<std::int32_t>{0, 2}, tn::array<std::int32_t>{0, 0}));
    CHECK_THROWS_AS(add(tn::array<std::int32_t>{0}, tn::array<std::int32_t>{-1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(add(tn::array<std::int32_t>{0}, tn::array<std::int32_t>{0, 1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(add(tn::array<float>{0}, tn::array<float>{0}), tn::invalid_argument_error);
    CHECK(m.total() == 0);
    CHECK_THROWS_AS(m.count(0, 2), tn::out_of_range_error);
    CHECK_THROWS_AS(nn::confusion_matrix(0), tn::invalid_argument_error);
    CHECK_THROWS_AS(m.to_string({"only one"}), tn::invalid_argument_error);
}
