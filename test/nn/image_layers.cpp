#include "tests.hpp"

namespace nn = tenon::nn;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a convolutional layer is activation(conv2d(x, kernel) + bias)") {
    constexpr tn::conv2d_options strided{.stride = 2, .padding = tn::same};
    auto x = tn::placeholder<double, tn::shape<batch, 5, 4, 2>>("x");
    const auto layer =
        nn::conv2d<3, 3, strided>(nn::tanh, {.kernel = tn::uniform(-1, 1, 3), .bias = tn::uniform(-1, 1, 4)});
    auto y = layer(x);
    static_assert(std::is_same_v<decltype(y), tn::tensor<double, tn::shape<batch, 3, 2, 3>>>);
    initialized_session s;
    tn::array<double, tn::shape<batch, 5, 4, 2>> fed(2);
    for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = std::sin(static_cast<double>(i));
    const auto out = s.run(tn::feed(x, fed), y);
    const std::vector<tn::any_array> v = s.run_untyped({}, {layer.kernel(), layer.bias()});
    const tn::array<double> kernel(v[0].share()), bias(v[1].share());
    CHECK(kernel.extents() == tn::extents{3, 3, 2, 3});
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 2; ++j)
                for (int o = 0; o < 3; ++o) {
                    double sum = bias(o);
                    // Rows: 5 become 3 with a padding of 1 and 1; columns: 4 become 2 with 0 and 1.
                    for (int p = 0; p < 3; ++p)
                        for (int q = 0; q < 3; ++q)
                            for (int c = 0; c < 2; ++c) {
                                const int row = 2 * i + p - 1, column = 2 * j + q;
                                if (row >= 0 && row < 5 && column < 4)
                                    sum += fed(b, row, column, c) * kernel(p, q, c, o);
                            }
                    CHECK(out(b, i, j, o) == doctest::Approx(std::tanh(sum)));
                }
}

TEST_CASE_FIXTURE(in_graph, "a convolutional layer names its variables, and needs no bias") {
    auto x = tn::placeholder<float, tn::shape<batch, 8, 8, 4>>("x");
    nn::conv2d<6, tn::height_width{1, 3}, tn::conv2d_options{.groups = 2}>({.use_bias = false, .name = "grouped"})(x);
    const auto variables = g.collection(tn::trainable_variables);
    REQUIRE(variables.size() == 1);
    CHECK(variables[0].name() == "grouped/kernel");
    CHECK(variables[0].extents() == tn::extents{1, 3, 2, 6});
}

TEST_CASE("a stride and a padding alone are said without their names") {
    constexpr tn::conv2d_options two{.stride = 2, .padding = tn::same};
    static_assert(
        std::is_same_v<decltype(nn::conv2d<6, 3, 2, tn::same>(nn::relu)), decltype(nn::conv2d<6, 3, two>(nn::relu))>);
    static_assert(std::is_same_v<decltype(nn::conv2d<6, 3, 2>({.use_bias = false})),
                                 decltype(nn::conv2d<6, 3, tn::conv2d_options{.stride = 2}>())>);
    static_assert(std::is_same_v<decltype(nn::conv2d_transpose<6, 3, 2, tn::same>()),
                                 decltype(nn::conv2d_transpose<6, 3, two>())>);
    const tn::graph_scope scope{tn::graph()};
    const auto layer = nn::conv2d<6, 3, 2, tn::same>({.use_bias = false, .name = "half"});
    CHECK(layer(tn::placeholder<float, tn::shape<batch, 8, 8, 4>>("x")).type() ==
          tn::placeholder<float, tn::shape<batch, 4, 4, 6>>("like").type());
    CHECK(layer.kernel().name() == "half/kernel");
    CHECK(!layer.bias().node());
}

TEST_CASE_FIXTURE(in_graph, "pooling layers take the largest element or the mean of each window") {
    auto x = tn::placeholder<float, tn::shape<batch, 4, 4, 1>>("x");
    tn::session s;
    tn::array<float, tn::shape<batch, 4, 4, 1>> fed(1);
    for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = static_cast<float>(i);
    const auto [largest, mean, all] =
        s.run(tn::feed(x, fed), nn::max_pool<2>()(x), nn::average_pool<2>()(x), nn::global_average_pool()(x));
    CHECK(largest(0, 0, 0, 0) == 5);
    CHECK(largest(0, 1, 1, 0) == 15);
    CHECK(mean(0, 0, 1, 0) == 4.5f);
    CHECK(all(0, 0) == 7.5f);
}

TEST_CASE_FIXTURE(in_graph, "dropout works in training only, and keeps the mean") {
    constexpr int size = 40000;
    auto x = tn::placeholder<float, tn::shape<size>>("x");
    auto flag = tn::placeholder<bool, tn::shape<>>("training");
    const auto layer = nn::dropout(0.25, 9);
    auto trained = layer(x, nn::training);
    auto predicted = layer(x);
    auto switched = nn::switched_dropout(0.25, flag, 9)(x);
    tn::session s;
    const auto fed = tn::array<float>::full({size}, 3);
    const auto count_zeros = [](const auto& a) {
        int zeros = 0;
        for (const float v : a) {
            if (v == 0) ++zeros;
            else CHECK_MESSAGE(v == doctest::Approx(4), "each element that stays is multiplied by 1 / (1 - rate)");
        }
        return zeros;
    };
    // A quarter of 40,000, give or take five standard deviations.
    CHECK(std::abs(count_zeros(s.run(tn::feed(x, fed), trained)) - size / 4) < 433);
    CHECK(s.run(tn::feed(x, fed), predicted)[7] == 3);
    CHECK(std::abs(count_zeros(s.run(tn::feed(x, fed), tn::feed(flag, true), switched)) - size / 4) < 433);
    CHECK(s.run(tn::feed(x, fed), tn::feed(flag, false), switched)[7] == 3);
    CHECK_THROWS_AS(nn::dropout(1)(x, nn::training), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "a small convolutional network learns to tell upright bars from lying ones") {
    tn::graph::current().set_seed(77); // with some seeds a unit dies and one image with it
    auto x = tn::placeholder<float, tn::shape<batch, 8, 8>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    const auto model = nn::sequential(nn::reshaped_to<8, 8, 1>(), nn::conv2d<8, 3>(nn::relu), nn::max_pool<2>(),
                                      nn::flatten(), nn::dropout(0.1), nn::dense<2>());
    auto loss = nn::cross_entropy(model(x, nn::training), y);
    auto right = nn::accuracy(model(x), y);
    const tn::operation train = tn::adam(0.01).minimize(loss);
    initialized_session s;
    tn::array<float, tn::shape<batch, 8, 8>> images(16);
    tn::array<std::int32_t, tn::shape<batch>> labels(16);
    for (int i = 0; i < 16; ++i) {
        labels(i) = i % 2;
        for (int k = 0; k < 8; ++k) (i % 2 ? images(i, k, i / 2) : images(i, i / 2, k)) = 1;
    }
    auto step = s.callable(tn::feeds(x, y), tn::fetches(train, loss));
    for (int i = 0; i < 400; ++i) step(images, labels);
    CHECK(s.run(tn::feed(x, images), tn::feed(y, labels), right).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "conv1d, conv3d, and transposed layers: a convolution, a bias, an activation") {
    using namespace tenon;
    session s(graph::current());
    const auto lines = placeholder<double, shape<batch, 9, 4>>("lines");
    const auto images = placeholder<double, shape<batch, 3, 4, 4>>("images");
    const auto volumes = placeholder<double, shape<batch, 3, 3, 4, 4>>("volumes");
    const auto a = nn::conv1d<6, 3, conv1d_options{.stride = 2, .groups = 2}>(nn::relu);
    const auto b = nn::conv1d_transpose<6, 3, conv1d_options{.stride = 2}>();
    const auto c = nn::conv2d_transpose<6, 4, conv2d_options{.stride = 2, .padding = same}>(nn::relu);
    const auto d = nn::conv3d<6, 2>(nn::tanh);
    const auto e =
        nn::conv3d_transpose<6, 2, conv3d_options{.stride = 2}>(nn::relu, {.use_bias = false, .name = "grow"});
    const auto ya = a(lines), ya_again = a(lines);
    const auto yb = b(lines);
    const auto yc = c(images);
    const auto yd = d(volumes);
    const auto ye = e(volumes);
    static_assert(std::is_same_v<decltype(ya), const tensor<double, shape<batch, 4, 6>>>);
    static_assert(std::is_same_v<decltype(yb), const tensor<double, shape<batch, 19, 6>>>);
    static_assert(std::is_same_v<decltype(yc), const tensor<double, shape<batch, 6, 8, 6>>>);
    static_assert(std::is_same_v<decltype(yd), const tensor<double, shape<batch, 2, 2, 3, 6>>>);
    static_assert(std::is_same_v<decltype(ye), const tensor<double, shape<batch, 6, 6, 8, 6>>>);
    CHECK(a.kernel().extents() == extents(3, 2, 6));
    CHECK(b.kernel().extents() == extents(3, 6, 4));
    CHECK(c.kernel().extents() == extents(4, 4, 6, 4));
    CHECK(c.bias().extents() == extents(6));
    CHECK(d.kernel().extents() == extents(2, 2, 2, 4, 6));
    CHECK(e.kernel().extents() == extents(2, 2, 2, 6, 4));
    CHECK(c.kernel().name() == "conv2d_transpose/kernel");
    CHECK(e.kernel().name() == "grow/kernel");
    CHECK(!e.bias().node());
    CHECK(ya.node() == ya_again.node());
    s.run(initialize_variables());
    const auto k = as<double, shape<4, 4, 6, 4>>(c.kernel());
    const auto bias = as<double, shape<6>>(c.bias());
    array<double> x(extents{2, 3, 4, 4});
    for (int i = 0; i < 96; ++i) x.data()[i] = i % 7 - 3;
    const auto by_hand = relu(conv2d_transpose<2, same>(images, k) + bias);
    const auto [got, wanted] = s.run(feed(images, x), yc, by_hand);
    for (std::int64_t i = 0; i < got.size(); ++i) CHECK(got.data()[i] == doctest::Approx(wanted.data()[i]));
}
