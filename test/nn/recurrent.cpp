#include "tests.hpp"

namespace nn = tenon::nn;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;
constexpr int steps = 4, features = 3, hidden = 2;
constexpr std::int64_t rows = 2;
using sequences = tn::shape<batch, steps, features>;
using state_sizes = tn::shape<batch, hidden>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Values that are not alike, from a number.
tn::any_array numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<double>()[i] = std::sin(static_cast<double>(i * 37 % 101 + 13 * seed)) * 0.8;
    return a;
}

struct setup {
    std::vector<tn::fed_value> fed;
    std::vector<tn::any_tensor> of;
    void give(const tn::any_tensor& t, int seed) {
        tn::extents sizes = t.extents();
        if (sizes.rank() > 0 && !sizes[0].is_number()) sizes[0] = rows;
        fed.push_back({t, numbers(sizes, seed)});
        of.push_back(t);
    }
    std::vector<tn::any_array> run(tn::session& s, const std::vector<tn::any_tensor>& fetched) const {
        std::vector<tn::fed_value> feeds;
        for (const tn::fed_value& f : fed) feeds.push_back({f.tensor, f.value.share()});
        return s.run_untyped(std::move(feeds), fetched);
    }
    const double* value(std::size_t i) const { return fed[i].value.data<double>(); }
};

// The formulas, step by step. Values: x, kernel, recurrent kernel, bias, then of a gru the recurrent bias, then the state.
struct by_hand {
    std::vector<double> h = std::vector<double>(rows * hidden), c = h, all = std::vector<double>(rows * steps * hidden);
    by_hand(const setup& in, bool lstm, bool reversed, bool given) {
        const int gates = lstm ? 4 : 3, width = gates * hidden;
        const std::size_t first_state = lstm ? 4 : 5;
        if (given) {
            h.assign(in.value(first_state), in.value(first_state) + rows * hidden);
            if (lstm) c.assign(in.value(first_state + 1), in.value(first_state + 1) + rows * hidden);
        }
        for (int step = 0; step < steps; ++step) {
            const int t = reversed ? steps - 1 - step : step;
            const std::vector<double> before = h;
            for (std::int64_t r = 0; r < rows; ++r)
                for (int j = 0; j < hidden; ++j) {
                    double x[4], u[4];
                    for (int g = 0; g < gates; ++g) {
                        const int column = g * hidden + j;
                        x[g] = in.value(3)[column];
                        for (int f = 0; f < features; ++f)
                            x[g] += in.value(0)[(r * steps + t) * features + f] * in.value(1)[f * width + column];
                        u[g] = lstm ? 0 : in.value(4)[column];
                        for (int k = 0; k < hidden; ++k)
                            u[g] += before[static_cast<std::size_t>(r * hidden + k)] * in.value(2)[k * width + column];
                    }
                    const auto at = static_cast<std::size_t>(r * hidden + j);
                    if (lstm) {
                        c[at] = sigmoid(x[1] + u[1]) * c[at] + sigmoid(x[0] + u[0]) * std::tanh(x[2] + u[2]);
                        h[at] = sigmoid(x[3] + u[3]) * std::tanh(c[at]);
                    } else {
                        const double z = sigmoid(x[1] + u[1]), n = std::tanh(x[2] + sigmoid(x[0] + u[0]) * u[2]);
                        h[at] = (1 - z) * n + z * before[at];
                    }
                    all[static_cast<std::size_t>((r * steps + t) * hidden + j)] = h[at];
                }
        }
    }
};

void check_same(const tn::any_array& is, const std::vector<double>& wanted) {
    REQUIRE(is.elements() == static_cast<std::int64_t>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i)
        CHECK(is.data<double>()[i] == doctest::Approx(wanted[i]).epsilon(1e-12));
}

// Of everything that is fed, against central differences.
void check_slopes(setup& in, tn::session& s, const tn::any_tensor& loss) {
    const std::vector<tn::any_array> slopes = in.run(s, tn::gradients(loss, in.of));
    for (std::size_t k = 0; k < in.of.size(); ++k)
        for (std::int64_t i = 0; i < in.fed[k].value.elements(); ++i) {
            double& x = in.fed[k].value.data<double>()[i];
            const double at = x;
            x = at + 1e-5;
            const double above = in.run(s, {loss})[0].data<double>()[0];
            x = at - 1e-5;
            const double below = in.run(s, {loss})[0].data<double>()[0];
            x = at;
            INFO(in.of[k].name() << " " << i);
            CHECK(slopes[k].data<double>()[i] == doctest::Approx((above - below) / 2e-5).epsilon(1e-6));
        }
}
} // namespace

TEST_CASE("lstm: the gates of cuDNN and PyTorch, forward, backward and from a given state, with gradients") {
    for (const bool reversed : {false, true})
        for (const bool given : {false, true}) {
            const tn::graph_scope scope{tn::graph()};
            auto x = tn::placeholder<double, sequences>("x");
            auto h = tn::placeholder<double, state_sizes>("h"), c = tn::placeholder<double, state_sizes>("c");
            const nn::lstm_layer<hidden> layer = nn::lstm<hidden>({.reversed = reversed});
            const auto [all, last] = given ? layer(x, nn::lstm_state{h, c}) : layer(x);
            static_assert(std::is_same_v<decltype(all), const tn::tensor<double, tn::shape<batch, steps, hidden>>>);
            static_assert(std::is_same_v<decltype(last.cell), tn::tensor<double, state_sizes>>);
            CHECK(layer.kernel().name() == "lstm/kernel");
            setup in;
            int seed = 1;
            for (const tn::any_tensor& t : {tn::any_tensor(x), layer.kernel(), layer.recurrent_kernel(), layer.bias()})
                in.give(t, seed++);
            if (given) {
                in.give(h, 5);
                in.give(c, 6);
            }
            tn::session s;
            const std::vector<tn::any_array> got = in.run(s, {all, last.hidden, last.cell});
            const by_hand wanted(in, true, reversed, given);
            check_same(got[0], wanted.all);
            check_same(got[1], wanted.h);
            check_same(got[2], wanted.c);
            if (reversed == given)
                check_slopes(in, s, tn::sum(tn::square(all)) + tn::sum(last.hidden) + tn::sum(tn::sin(last.cell)));
        }
}

TEST_CASE("gru: the reset after the product, forward, backward and from a given state, with gradients") {
    for (const bool reversed : {false, true})
        for (const bool given : {false, true}) {
            const tn::graph_scope scope{tn::graph()};
            auto x = tn::placeholder<double, sequences>("x");
            auto h = tn::placeholder<double, state_sizes>("h");
            const nn::gru_layer<hidden> layer = nn::gru<hidden>({.reversed = reversed, .name = "encoder"});
            const auto [all, last] = given ? layer(x, h) : layer(x);
            CHECK(layer.recurrent_bias().name() == "encoder/recurrent_bias");
            setup in;
            int seed = 1;
            for (const tn::any_tensor& t :
                 {tn::any_tensor(x), layer.kernel(), layer.recurrent_kernel(), layer.bias(), layer.recurrent_bias()})
                in.give(t, seed++);
            if (given) in.give(h, 6);
            tn::session s;
            const std::vector<tn::any_array> got = in.run(s, {all, last});
            const by_hand wanted(in, false, reversed, given);
            check_same(got[0], wanted.all);
            check_same(got[1], wanted.h);
            if (reversed == given) check_slopes(in, s, tn::sum(tn::square(all)) + tn::sum(tn::sin(last)));
        }
}

TEST_CASE(
    "lstm, gru: where the number of steps is known in the run only they are a scan, and give the same, gradients too") {
    const auto check = [](const auto& layer, bool reversed) {
        const tn::graph_scope scope{tn::graph()};
        auto x = tn::placeholder<double, sequences>("x");
        auto later = tn::placeholder<double, tn::shape<batch, tn::dyn, features>>("later");
        const auto one = layer(x);
        const auto other = layer(later);
        static_assert(std::is_same_v<std::remove_cvref_t<decltype(other.sequence)>,
                                     tn::tensor<double, tn::shape<batch, tn::dyn, hidden>>>);
        const std::vector<tn::any_tensor> weights = tn::graph::current().collection(tn::trainable_variables);
        std::vector<tn::any_tensor> of = weights, of_other = weights;
        of.insert(of.begin(), x);
        of_other.insert(of_other.begin(), later);
        const std::vector<tn::any_tensor> slopes = tn::gradients(tn::any_tensor(tn::sum(tn::square(one.sequence))), of),
                                          others = tn::gradients(tn::any_tensor(tn::sum(tn::square(other.sequence))),
                                                                 of_other);
        initialized_session s;
        tn::array<double, tn::shape<tn::dyn, steps, features>> values(3);
        double value = reversed ? 0.3 : -0.2;
        for (double& v : values) v = value = std::sin(3 * value + 1);
        std::vector<tn::any_tensor> all{one.sequence, other.sequence};
        for (std::size_t k = 0; k < slopes.size(); ++k) {
            all.push_back(slopes[k]);
            all.push_back(others[k]);
        }
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(x, values));
        feeds.push_back(tn::feed(later, values));
        const std::vector<tn::any_array> got = s.run_untyped(std::move(feeds), all);
        for (std::size_t k = 0; k < got.size(); k += 2) {
            REQUIRE(got[k].elements() == got[k + 1].elements());
            for (std::int64_t i = 0; i < got[k].elements(); ++i)
                CHECK(got[k].template data<double>()[i] ==
                      doctest::Approx(got[k + 1].template data<double>()[i]).epsilon(1e-12));
        }
    };
    for (const bool reversed : {false, true}) {
        check(nn::lstm<hidden>({.reversed = reversed}), reversed);
        check(nn::gru<hidden>({.reversed = reversed}), reversed);
    }
}

TEST_CASE_FIXTURE(in_graph, "recurrent layers among others: all steps, or the last") {
    auto x = tn::placeholder<float, sequences>("x");
    const auto model = nn::sequential(nn::all_steps(nn::lstm<5>()), nn::last_step(nn::gru<4>()), nn::dense<3>());
    const auto y = model(x);
    static_assert(std::is_same_v<decltype(y), const tn::tensor<float, tn::shape<batch, 3>>>);
    const auto again = model(x);
    initialized_session s;
    tn::array<float> given(tn::extents{2, steps, features});
    for (std::int64_t i = 0; i < 2 * steps * features; ++i) given[i] = static_cast<float>(i % 7) - 3;
    const auto [a, b] = s.run(tn::feed(x, given), y, again);
    for (std::int64_t i = 0; i < 6; ++i) CHECK(a[i] == b[i]); // of the same variables
    CHECK(tn::graph::current().collection(tn::trainable_variables).size() == 3 + 4 + 2);
}
