#include "tests.hpp"

namespace nn = tenon::nn;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

std::vector<std::string> names_of(const std::vector<tn::any_tensor>& tensors) {
    std::vector<std::string> names;
    for (const tn::any_tensor& t : tensors) names.push_back(t.name());
    return names;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a dense layer is activation(x kernel + bias)") {
    auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
    const auto layer = nn::dense<2>(nn::relu, {.kernel = tn::uniform(-1, 1, 7), .bias = tn::uniform(-1, 1, 8)});
    auto y = layer(x);
    static_assert(std::is_same_v<decltype(y), tn::tensor<double, tn::shape<batch, 2>>>);
    initialized_session s;
    const tn::array<double, tn::shape<tn::dyn, 3>> fed{{1, 2, 3}, {-1, 0.5, 2}, {0, -2, 1}, {3, 3, -3}};
    const auto [out] = s.callable(tn::feeds(x), tn::fetches(y))(fed);
    const std::vector<tn::any_array> v = s.run_untyped({}, {layer.kernel(), layer.bias()});
    for (int b = 0; b < 4; ++b)
        for (int u = 0; u < 2; ++u) {
            double sum = v[1].data<double>()[u];
            for (int i = 0; i < 3; ++i) sum += fed(b, i) * v[0].data<double>()[i * 2 + u];
            CHECK(out(b, u) == doctest::Approx(std::max(0.0, sum)));
        }
}

TEST_CASE_FIXTURE(in_graph, "a dense layer's product is of 8 bits where that is asked for") {
    auto x = tn::placeholder<tn::bfloat16, tn::shape<batch, 3>>("x");
    const auto layer = nn::dense<2>(nn::relu, {.kernel = tn::uniform(-1, 1, 7), .float8 = true});
    const auto y = layer(x);
    const auto wanted =
        tn::untyped::relu(tn::untyped::add(tn::untyped::matmul_float8(x, layer.kernel()), layer.bias()));
    initialized_session s;
    tn::array<tn::bfloat16, tn::shape<tn::dyn, 3>> fed(4);
    for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = static_cast<tn::bfloat16>(0.37F * static_cast<float>(i) - 1);
    const auto [got, expected] =
        s.callable(tn::feeds(x), tn::fetches(y, tn::as<tn::bfloat16, tn::shape<batch, 2>>(wanted)))(fed);
    for (std::int64_t i = 0; i < got.size(); ++i)
        CHECK(static_cast<float>(got[i]) == doctest::Approx(static_cast<float>(expected[i])).epsilon(0.01));
    auto wide = tn::placeholder<double, tn::shape<batch, 3>>("wide");
    const auto variables = [] { return tn::graph::current().collection(tn::trainable_variables).size(); };
    const auto before = variables();
    CHECK_ERROR(tn::invalid_argument_error, "not of double", nn::dense<2>({.float8 = true})(wide));
    CHECK(variables() == before);
}

TEST_CASE_FIXTURE(in_graph, "a dense layer works along the last dimension of any tensor, and without a bias") {
    auto x = tn::placeholder<float, tn::shape<batch, 4, 3>>("x");
    const auto layer = nn::dense<2>({.kernel = tn::ones(), .use_bias = false});
    auto y = layer(x);
    static_assert(std::is_same_v<decltype(y), tn::tensor<float, tn::shape<batch, 4, 2>>>);
    CHECK(layer.bias().node() == nullptr);
    initialized_session s;
    tn::array<float, tn::shape<batch, 4, 3>> fed(5);
    for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = static_cast<float>(i);
    const auto out = s.run(tn::feed(x, fed), y);
    for (int b = 0; b < 5; ++b)
        for (int t = 0; t < 4; ++t)
            for (int u = 0; u < 2; ++u) CHECK(out(b, t, u) == fed(b, t, 0) + fed(b, t, 1) + fed(b, t, 2));
}

TEST_CASE_FIXTURE(in_graph, "a layer makes its variables in its first call, and uses them again") {
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    auto z = tn::placeholder<float, tn::shape<7, 3>>("z");
    const auto layer = nn::dense<2>(nn::tanh);
    const auto copied = layer; // NOLINT: a copy is the same layer
    CHECK(layer.kernel().node() == nullptr);
    layer(x);
    CHECK(names_of(g.collection(tn::trainable_variables)) == std::vector<std::string>{"dense/kernel", "dense/bias"});
    layer(z);
    copied(z);
    CHECK(g.collection(tn::trainable_variables).size() == 2);
    CHECK(copied.kernel().node() == layer.kernel().node());

    nn::dense<4>()(x);
    CHECK(names_of(g.collection(tn::trainable_variables)) ==
          std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"});
}

TEST_CASE("a layer that is called with other sizes, or in another graph, says so") {
    const tn::graph g;
    const nn::dense_layer<2> layer;
    {
        const tn::graph_scope scope(g);
        layer(tn::placeholder<float, tn::shape<batch, 3>>("x"));
        auto wider = tn::placeholder<float, tn::shape<batch, 4>>("wider");
        CHECK_ERROR(tn::invalid_argument_error,
                    "dense/kernel is float[3, 2] is called with an input for which it "
                    "would be float[4, 2]",
                    layer(wider));
    }
    const own_graph other;
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    CHECK_ERROR(tn::invalid_argument_error, "belongs to another graph", layer(x));
}

TEST_CASE_FIXTURE(in_graph, "flatten joins all dimensions but the first; reshaped_to splits them again") {
    auto x = tn::placeholder<float, tn::shape<batch, 2, 3>>("x");
    auto flat = nn::flatten()(x);
    static_assert(std::is_same_v<decltype(flat), tn::tensor<float, tn::shape<batch, 6>>>);
    auto back = nn::reshaped_to<3, 2, 1>()(flat);
    static_assert(std::is_same_v<decltype(back), tn::tensor<float, tn::shape<batch, 3, 2, 1>>>);
    auto open = nn::flatten()(tn::placeholder<float, tn::shape<batch, 2, tn::dyn>>("open"));
    static_assert(std::is_same_v<decltype(open), tn::tensor<float, tn::shape<batch, tn::dyn>>>);
    tn::session s;
    tn::array<float, tn::shape<batch, 2, 3>> fed(2);
    for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = static_cast<float>(i);
    const auto out = s.run(tn::feed(x, fed), back);
    CHECK(std::equal(out.begin(), out.end(), fed.begin(), fed.end()));
}

TEST_CASE("sequential calls layers one after another, and tells those that ask whether they are trained") {
    const own_graph g;
    auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    const auto only_in_training = [](const auto& t, nn::phase p) {
        return tn::detail::as_tensor(p == nn::training ? t * 100.0f : t * 1.0f);
    };
    const auto model = nn::sequential(
        nn::dense<3>(nn::relu, {.kernel = tn::ones()}), only_in_training, [](const auto& t) { return t + 1.0f; },
        nn::dense<2>({.kernel = tn::ones()}));
    auto trained = model(x, nn::training);
    auto predicted = model(x);
    static_assert(std::is_same_v<decltype(trained), tn::tensor<float, tn::shape<batch, 2>>>);
    static_assert(model.size() == 4);
    CHECK(model.layer<0>().kernel().type() == tn::tensor_type{tn::element_type::float32, {4, 3}});
    CHECK(g.collection(tn::trainable_variables).size() == 4);
    initialized_session s;
    const tn::array<float, tn::shape<tn::dyn, 4>> fed{{1, 2, 3, 4}};
    const auto [t, p] = s.run(tn::feed(x, fed), trained, predicted);
    CHECK(t(0, 1) == 3 * (10 * 100 + 1));
    CHECK(p(0, 1) == 3 * (10 + 1));
}

TEST_CASE_FIXTURE(in_graph, "a sequential of sequentials is one model") {
    auto x = tn::placeholder<float, tn::shape<batch, 2, 2>>("x");
    const auto encoder = nn::sequential(nn::flatten(), nn::dense<3>(nn::relu));
    const auto model = nn::sequential(encoder, nn::dense<4>());
    auto y = model(x);
    static_assert(std::is_same_v<decltype(y), tn::tensor<float, tn::shape<batch, 4>>>);
    encoder(x);
    CHECK(g.collection(tn::trainable_variables).size() == 4);
}

TEST_CASE_FIXTURE(in_graph, "mlp is dense layers with an activation behind each but the last") {
    const auto model = nn::mlp<5, 2>(nn::tanh);
    static_assert(std::is_same_v<std::remove_const_t<decltype(model)>,
                                 nn::sequential<nn::dense_layer<5, nn::tanh_activation>, nn::dense_layer<2>>>);
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto difference = tn::max(abs(model(x) - model.layer<1>()(model.layer<0>()(x))));
    initialized_session s;
    const auto step = s.callable(tn::feeds(x), tn::fetches(difference));
    CHECK(std::get<0>(step(tn::array<float, tn::shape<tn::dyn, 3>>{{1, 2, 3}, {-1, 0.5f, 2}})).item() == 0);
}

TEST_CASE_FIXTURE(in_graph, "repeated layers are like the one that is given, each with weights of its own") {
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    const auto layer = nn::dense<4>(nn::tanh, {.kernel = tn::normal(0, 1)});
    const auto model = nn::repeated<3>(layer);
    const auto y = model(x);
    CHECK(model.size() == 3);
    CHECK(names_of({model.layer<0>().kernel(), model.layer<1>().kernel(), model.layer<2>().bias()}) ==
          std::vector<std::string>{"dense/kernel", "dense_1/kernel", "dense_2/bias"});
    CHECK(layer.kernel().node() == nullptr); // it was not called itself
    const auto by_hand = model.layer<2>()(model.layer<1>()(model.layer<0>()(x)));
    const auto kernel = [](const auto& of) { return tn::as<float, tn::shape<4, 4>>(of.kernel()); };
    const auto apart = tn::max(abs(kernel(model.layer<0>()) - kernel(model.layer<1>())));
    initialized_session s;
    const auto [difference, distance] =
        s.run(tn::feed(x, {{1.0f, 2.0f, 3.0f, -1.0f}}), tn::max(abs(y - by_hand)), apart);
    CHECK(difference.item() == 0);
    CHECK(distance.item() > 0.1f);
}

TEST_CASE_FIXTURE(in_graph, "activations are layers with the formulas of ops/elementwise/elementwise.hpp") {
    auto x = tn::placeholder<double, tn::shape<3>>("x");
    const auto y = [&](const auto& activation) { return nn::sequential(activation)(x); };
    tn::session s;
    const tn::array<double, tn::shape<3>> fed{-1.5, 0.25, 2};
    const auto [relu, leaky, elu, gelu, silu, tanh, sigmoid, softplus, linear] =
        s.run(tn::feed(x, fed), y(nn::relu), y(nn::leaky_relu_activation{0.1}), y(nn::elu), y(nn::gelu), y(nn::silu),
              y(nn::tanh), y(nn::sigmoid), y(nn::softplus), y(nn::linear));
    for (int i = 0; i < 3; ++i) {
        const double v = fed(i), s_v = 1 / (1 + std::exp(-v));
        CHECK(relu(i) == std::max(v, 0.0));
        CHECK(leaky(i) == doctest::Approx(v > 0 ? v : 0.1 * v));
        CHECK(elu(i) == doctest::Approx(v > 0 ? v : std::expm1(v)));
        CHECK(gelu(i) == doctest::Approx(v / 2 * std::erfc(-v / std::sqrt(2.0))));
        CHECK(silu(i) == doctest::Approx(v * s_v));
        CHECK(tanh(i) == doctest::Approx(std::tanh(v)));
        CHECK(sigmoid(i) == doctest::Approx(s_v));
        CHECK(softplus(i) == doctest::Approx(std::log1p(std::exp(v))));
        CHECK(linear(i) == v);
    }
}

TEST_CASE_FIXTURE(in_graph, "a small network learns a function that no line fits") {
    g.state(); // the graph's own seed makes this the same every time
    tn::graph::current().set_seed(5);
    auto x = tn::placeholder<float, tn::shape<4, 2>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<4>>("y");
    const auto model = nn::sequential(nn::dense<8>(nn::tanh), nn::dense<2>());
    auto logits = model(x);
    auto loss = nn::cross_entropy(logits, y);
    const tn::operation train = tn::adam(0.05).minimize(loss);
    initialized_session s;
    const tn::array<float, tn::shape<4, 2>> points{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    const tn::array<std::int32_t, tn::shape<4>> exclusive_or{0, 1, 1, 0};
    auto step = s.callable(tn::feeds(x, y), tn::fetches(train));
    for (int i = 0; i < 300; ++i) step(points, exclusive_or);
    const auto [l, a] = s.run(tn::feed(x, points), tn::feed(y, exclusive_or), loss, nn::accuracy(logits, y));
    CHECK(l.item() < 0.05f);
    CHECK(a.item() == 1);
}
