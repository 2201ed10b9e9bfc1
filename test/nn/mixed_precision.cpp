#include "tests.hpp"

// Models that compute in 16 bits of float variables, beside the same in float.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::shape<batch, 6>;

tn::array<float, images> some_images(int n) {
    tn::array<float, images> x(n);
    int k = 0;
    for (float& v : x) v = std::sin(static_cast<float>(++k));
    return x;
}

std::vector<tn::any_array> fetched(tn::session& s, const tn::any_tensor& x, const tn::array<float, images>& values,
                                   const std::vector<tn::any_tensor>& what) {
    std::vector<tn::fed_value> feeds;
    feeds.push_back(tn::feed(x, values));
    return s.run_untyped(std::move(feeds), what);
}

} // namespace

TEST_CASE_TEMPLATE(
    "a model in mixed precision has float variables, gives float, and is the float model but for 16 bits' rounding", T,
    tn::half, tn::bfloat16) {
    own_graph g;
    g.set_seed(3);
    const auto layers = tn::nn::sequential(tn::nn::dense<16>(tn::nn::relu), tn::nn::dense<4>());
    const auto x = tn::placeholder<float, images>("x");
    const auto mixed = tn::nn::mixed_precision<T>(layers)(x);
    static_assert(std::is_same_v<decltype(mixed), const tn::tensor<float, tn::shape<batch, 4>>>);
    const auto plain = layers(x); // the same variables
    const auto variables = g.collection(tn::trainable_variables);
    REQUIRE(variables.size() == 4);
    for (const tn::any_tensor& v : variables) CHECK(v.element() == tn::element_type::float32);
    const auto slopes = tn::untyped::gradients(tn::sum(tn::square(mixed)), variables),
               plain_slopes = tn::untyped::gradients(tn::sum(tn::square(plain)), variables);

    initialized_session s(g);
    const auto values = some_images(7);
    const auto [a, b] = s.run(tn::feed(x, values), mixed, plain);
    const double unit = std::is_same_v<T, tn::half> ? 1.0 / 1024 : 1.0 / 128;
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < 7; ++i)
        for (std::int64_t k = 0; k < 4; ++k) {
            largest = std::max(largest, std::abs(static_cast<double>(b(i, k))));
            difference = std::max(difference, std::abs(static_cast<double>(a(i, k)) - static_cast<double>(b(i, k))));
        }
    CHECK(difference <= 4 * unit * std::max(largest, 1.0));
    CHECK(difference > 0); // it did compute in 16 bits
    for (std::size_t v = 0; v < variables.size(); ++v) {
        CHECK(slopes[v].element() == tn::element_type::float32);
        const std::vector<tn::any_array> got = fetched(s, x, values, {slopes[v], plain_slopes[v]});
        double size = 0, apart = 0;
        for (std::int64_t i = 0; i < got[0].elements(); ++i) {
            size = std::max(size, std::abs(static_cast<double>(got[1].data<float>()[i])));
            apart = std::max(apart, std::abs(static_cast<double>(got[0].data<float>()[i] - got[1].data<float>()[i])));
        }
        CHECK(apart <= 20 * unit * size);
    }
}

TEST_CASE("a mixed model learns as its float twin does: steps smaller than a bit of bfloat16 add up") {
    const auto train = [](auto how) {
        own_graph g;
        g.set_seed(5);
        const auto x = tn::placeholder<float, images>("x");
        const auto y = tn::placeholder<float, tn::shape<batch, 1>>("y");
        const auto loss = tn::mean(tn::square(how(tn::nn::dense<1>())(x) - y));
        const auto step = tn::gradient_descent(2e-3f).minimize(loss);
        initialized_session s(g);
        const auto values = some_images(32);
        tn::array<float, tn::shape<batch, 1>> wanted(32);
        for (std::int64_t i = 0; i < 32; ++i) wanted(i, 0) = values(i, 0) - 2 * values(i, 3) + 0.5f;
        float last = 0;
        for (int i = 0; i < 2000; ++i) last = s.run(tn::feed(x, values), tn::feed(y, wanted), step, loss).item();
        return last;
    };
    const float plain = train([](auto m) { return m; });
    const float mixed = train([](auto m) { return tn::nn::mixed_precision<tn::bfloat16>(m); });
    CHECK(plain < 0.1f);
    CHECK(mixed == doctest::Approx(plain).epsilon(0.1));
}

TEST_CASE_FIXTURE(in_graph, "a layer knows training from inference in mixed precision, too") {
    const auto x = tn::placeholder<float, tn::shape<1000>>("x");
    const auto model = tn::nn::mixed_precision<tn::bfloat16>(tn::nn::dropout(0.5));
    const auto trained = model(x, tn::nn::training), asked = model(x);
    tn::session s(g);
    tn::array<float, tn::shape<1000>> ones;
    ones.fill(1);
    const auto [a, b] = s.run(tn::feed(x, ones), trained, asked);
    int dropped = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
        dropped += a(i) == 0;
        CHECK(b(i) == 1);
    }
    CHECK(dropped > 300);
    CHECK(dropped < 700);
}
