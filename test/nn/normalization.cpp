#include "tests.hpp"

// Layers that normalise, beside their formulas in double.

namespace nn = tenon::nn;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

using image = tn::shape<batch, 3, 2, 4>;

tn::array<float, image> images(int n, float shift = 0) {
    tn::array<float, image> x(n);
    int k = 0;
    for (float& v : x) {
        ++k;
        v = shift + std::sin(static_cast<float>(7 * k)) * static_cast<float>(1 + k % 4);
    }
    return x;
}

// Elements of x are in one group where `group_of` says the same of (example, position, feature).
std::vector<double> standardized(const tn::array<float, image>& x, const std::function<int(int, int)>& group_of,
                                 double epsilon, bool centered = true) {
    const int features = 4, positions = 6, n = static_cast<int>(x.size()) / (features * positions);
    std::vector<double> sums(1000), squares(1000), counts(1000), y;
    const auto each = [&](auto f) {
        for (int b = 0, i = 0; b < n; ++b)
            for (int p = 0; p < positions; ++p)
                for (int c = 0; c < features; ++c, ++i) {
                    // Groups of rows are of a position, too.
                    const int g = group_of(b * positions + p, c);
                    f(static_cast<std::size_t>(g), static_cast<double>(x[i]));
                }
    };
    each([&](std::size_t g, double v) { sums[g] += v, ++counts[g]; });
    each([&](std::size_t g, double v) {
        const double d = v - (centered ? sums[g] / counts[g] : 0);
        squares[g] += d * d;
    });
    each([&](std::size_t g, double v) {
        y.push_back((v - (centered ? sums[g] / counts[g] : 0)) / std::sqrt(squares[g] / counts[g] + epsilon));
    });
    return y;
}

template <class Layer> std::vector<float> of_layer(const Layer& layer, int n, nn::phase p = nn::inference) {
    const own_graph g;
    const auto x = tn::placeholder<float, image>("x");
    const auto y = nn::call(layer, x, p);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, tn::tensor<float, image>>);
    initialized_session s(g);
    const auto out = s.run(tn::feed(x, images(n)), y);
    return {out.begin(), out.end()};
}

void check_close(const std::vector<float>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
}

} // namespace

TEST_CASE("each norm is its formula over what it is of") {
    constexpr int n = 5;
    const auto x = images(n);
    check_close(of_layer(nn::layer_norm(), n), standardized(
                                                   x, [](int row, int) { return row; }, 1e-5));
    check_close(of_layer(nn::rms_norm({.epsilon = 1e-3}), n), standardized(
                                                                  x, [](int row, int) { return row; }, 1e-3, false));
    check_close(of_layer(nn::batch_norm(), n, nn::training), standardized(
                                                                 x, [](int, int c) { return c; }, 1e-5));
    check_close(of_layer(nn::group_norm<2>(), n), standardized(
                                                      x, [](int row, int c) { return row / 6 * 2 + c / 2; }, 1e-5));
    check_close(of_layer(nn::group_norm<1>({.epsilon = 0.5}), n), standardized(
                                                                      x, [](int row, int) { return row / 6; }, 0.5));
    check_close(of_layer(nn::instance_norm(), n), standardized(
                                                      x, [](int row, int c) { return row / 6 * 4 + c; }, 1e-5));
}

namespace {

// The furthest that the gradient of sum(layer(x) * x) is from central differences, in double.
template <class Layer> double furthest_gradient(const Layer& layer) {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<3, 2, 4>>("x");
    const auto loss = tn::sum(nn::call(layer, x, nn::training) * x);
    const tn::any_tensor slope = tn::untyped::gradients(loss, {x})[0];
    initialized_session s(g);
    tn::array<double, tn::shape<3, 2, 4>> at;
    for (std::int64_t i = 0; i < at.size(); ++i) at[i] = std::sin(static_cast<double>(5 * i + 1));
    std::vector<tn::fed_value> feeds;
    feeds.push_back(tn::feed(x, at));
    const auto found = s.run_untyped(std::move(feeds), {slope});
    double furthest = 0;
    for (std::int64_t i = 0; i < at.size(); ++i) {
        const double step = 1e-5, there = at[i];
        at[i] = there + step;
        const double above = s.run(tn::feed(x, at), loss).item();
        at[i] = there - step;
        const double below = s.run(tn::feed(x, at), loss).item();
        at[i] = there;
        furthest = std::max(furthest, std::fabs((above - below) / (2 * step) - found[0].data<double>()[i]));
    }
    return furthest;
}

} // namespace

TEST_CASE("gradients of norms agree with differences") {
    CHECK(furthest_gradient(nn::layer_norm()) < 1e-7);
    CHECK(furthest_gradient(nn::rms_norm()) < 1e-7);
    CHECK(furthest_gradient(nn::batch_norm()) < 1e-7);
    CHECK(furthest_gradient(nn::group_norm<2>()) < 1e-7);
    CHECK(furthest_gradient(nn::instance_norm()) < 1e-5); // of two positions: steep
}

TEST_CASE_FIXTURE(in_graph, "16 bits are normalised in float, whose variables are float") {
    const auto x = tn::placeholder<tn::bfloat16, tn::shape<batch, 4>>("x");
    const auto layer = nn::batch_norm();
    const auto y = layer(x, nn::training);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, tn::tensor<tn::bfloat16, tn::shape<batch, 4>>>);
    CHECK(layer.moving_mean().element() == tn::element_type::float32);
}

TEST_CASE(
    "a training step updates the moving averages of what its loss depends on, and no others; inference reads them") {
    const own_graph g;
    const auto x = tn::placeholder<float, image>("x");
    const auto a = nn::batch_norm({.momentum = 0.75}), b = nn::batch_norm({.momentum = 0.5});
    const auto loss = [](const auto& y) { return tn::mean(tn::square(y - 1.0f)); };
    const auto train_a = tn::gradient_descent(0.0).minimize(loss(a(x, nn::training)));
    const auto train_b = tn::gradient_descent(0.0).minimize(loss(b(x, nn::training)));
    const auto seen = a(x);
    initialized_session s(g);
    const auto averages = [&](const nn::batch_norm& of) {
        const auto v = s.run_untyped({}, {of.moving_mean(), of.moving_variance()});
        return std::vector<double>{v[0].data<float>()[1], v[1].data<float>()[1]};
    };
    double mean = 0, variance = 1;
    for (int step = 0; step < 3; ++step) {
        const auto fed = images(4, static_cast<float>(step));
        s.run(tn::feed(x, fed), train_a);
        double sum = 0, squares = 0;
        for (int i = 1; i < static_cast<int>(fed.size()); i += 4) sum += fed[i];
        for (int i = 1; i < static_cast<int>(fed.size()); i += 4) squares += std::pow(fed[i] - sum / 24, 2);
        mean += 0.25 * (sum / 24 - mean);
        variance += 0.25 * (squares / 24 - variance);
        CHECK(averages(a)[0] == doctest::Approx(mean).epsilon(1e-5));
        CHECK(averages(a)[1] == doctest::Approx(variance).epsilon(1e-5));
    }
    CHECK(averages(b) == std::vector<double>{0, 1});
    s.run(tn::feed(x, images(2)), train_b);
    CHECK(averages(b)[0] != 0);
    const auto fed = images(1);
    const auto out = s.run(tn::feed(x, fed), seen);
    CHECK(out[1] == doctest::Approx((fed[1] - mean) / std::sqrt(variance + 1e-5)).epsilon(1e-5));
    // What has no mean leaves them, and the weights, as they are.
    s.run(tn::feed(x, images(0)), train_a);
    CHECK(averages(a)[0] == doctest::Approx(mean).epsilon(1e-5));
    CHECK(averages(a)[1] == doctest::Approx(variance).epsilon(1e-5));
    CHECK(s.run_untyped({}, {a.gamma()})[0].data<float>()[0] == 1);
    // They are saved, and not trained.
    CHECK(g.collection(tn::trainable_variables).size() == 4);
    CHECK(g.collection(tn::global_variables).size() == 9); // and the step
}

TEST_CASE("a momentum that is none is refused") {
    CHECK_ERROR(tn::invalid_argument_error, "batch_norm: the momentum is 1", nn::batch_norm({.momentum = 1}));
}

TEST_CASE_FIXTURE(in_graph, "embedding gives the rows that integers name, of a table that is trained row by row") {
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch, 3>>("ids");
    const auto layer = nn::embedding<10, 4>({.name = "words"});
    const auto y = layer(ids);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, tn::tensor<float, tn::shape<batch, 3, 4>>>);
    CHECK(layer.table().name() == "words/table");
    const auto train = tn::gradient_descent(0.5).minimize(tn::sum(y));
    initialized_session s(g);
    const auto before = s.run_untyped({}, {layer.table()});
    const tn::array<std::int32_t, tn::shape<tn::dyn, 3>> fed{{1, 2, 2}};
    const auto out = s.run(tn::feed(ids, fed), y);
    CHECK(out[4] == before[0].data<float>()[2 * 4]);
    s.run(tn::feed(ids, fed), train);
    const auto after = s.run_untyped({}, {layer.table()});
    for (int row = 0; row < 10; ++row)
        CHECK(after[0].data<float>()[row * 4] ==
              doctest::Approx(before[0].data<float>()[row * 4] - (row == 1   ? 0.5
                                                                  : row == 2 ? 1.0
                                                                             : 0.0)));
}

TEST_CASE_FIXTURE(in_graph, "residual adds its layers' result to their input") {
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    const auto inner = nn::dense<4>({.kernel = tn::uniform(-1, 1, 3)});
    const auto y = nn::residual(inner)(x);
    const auto z = x + inner(x);
    initialized_session s(g);
    const tn::array<float, tn::shape<tn::dyn, 4>> fed{{1, 2, 3, 4}, {-1, 0.5, 2, 7}};
    const auto [a, b] = s.run(tn::feed(x, fed), y, z);
    for (int i = 0; i < 8; ++i) CHECK(a[i] == b[i]);
}

TEST_CASE("a transformer block is attention and a network, each of what is normalised, added to what they are of") {
    own_graph g;
    g.set_seed(5);
    const auto x = tn::placeholder<float, tn::shape<batch, 5, 8>>("x");
    const auto block = nn::transformer_block<2, 16>({.causal = true});
    const auto y = block(x, nn::training);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, tn::tensor<float, tn::shape<batch, 5, 8>>>);
    const auto by_name = [&](const std::string& name) {
        for (const tn::any_tensor& v : g.collection(tn::trainable_variables))
            if (v.name() == "transformer_block/" + name) return v;
        FAIL("no ", name);
        return tn::any_tensor();
    };
    using namespace tn::untyped;
    const auto norm = [&](const tn::any_tensor& t, const std::string& of) {
        return layer_norm(t, by_name(of + "/gamma"), by_name(of + "/beta"));
    };
    const auto map = [&](const tn::any_tensor& t, const std::string& of) {
        return add(matmul(t, by_name(of + "/kernel")), by_name(of + "/bias"));
    };
    const tn::any_tensor n = norm(x, "attention_norm");
    const auto heads = [&](const std::string& of) {
        return transpose(reshape(map(n, "attention/" + of), {-1, 5, 2, 4}), {0, 2, 1, 3});
    };
    const tn::any_tensor joined =
        reshape(transpose(attention(heads("query"), heads("key"), heads("value"), tn::attention_op::attributes{true}),
                          {0, 2, 1, 3}),
                {-1, 5, 8});
    const tn::any_tensor h = add(tn::any_tensor(x), map(joined, "attention/output"));
    const tn::any_tensor wanted = add(h, map(gelu_tanh(map(norm(h, "network_norm"), "hidden")), "output"));
    initialized_session s(g);
    tn::array<float, tn::shape<batch, 5, 8>> fed(3);
    int k = 0;
    for (float& v : fed) v = std::sin(static_cast<float>(++k));
    std::vector<tn::fed_value> feeds;
    feeds.push_back(tn::feed(x, fed));
    const auto out = s.run_untyped(std::move(feeds), {y, wanted});
    for (std::int64_t i = 0; i < out[0].elements(); ++i)
        CHECK(out[0].data<float>()[i] == doctest::Approx(out[1].data<float>()[i]).epsilon(1e-4));
}
