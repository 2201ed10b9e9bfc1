#include "tests.hpp"
#include "ops/check_gradients.hpp"
#include "ops/untyped_run.hpp"

namespace nn = tenon::nn;
using tenon::test::check_gradients;
using tenon::test::input;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
inline constexpr struct time_size : tn::dim<"time"> {} steps;

tn::any_array numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<double>()[i] = std::sin(static_cast<double>(12 * i + 7 * seed + 1));
    return a;
}

using matrix = std::vector<std::vector<double>>;

matrix rows_of(const tn::any_array& a, std::int64_t first, std::int64_t rows, std::int64_t columns) {
    matrix m;
    for (std::int64_t i = 0; i < rows; ++i)
        m.emplace_back(a.data<double>() + (first + i) * columns, a.data<double>() + (first + i + 1) * columns);
    return m;
}
matrix projected(const matrix& x, const tn::any_array& kernel, const tn::any_array& bias) {
    const auto n = static_cast<std::size_t>(kernel.extents()[1].size);
    matrix y;
    for (const auto& row : x) {
        y.emplace_back(bias.data<double>(), bias.data<double>() + n);
        for (std::size_t k = 0; k < row.size(); ++k)
            for (std::size_t j = 0; j < n; ++j) y.back()[j] += row[k] * kernel.data<double>()[k * n + j];
    }
    return y;
}
// Of one sequence, by the formula: heads lie side by side, those of keys for one of queries after another.
matrix attended(const matrix& q, const matrix& k, const matrix& v, std::size_t heads, bool causal,
                std::size_t length = 1000, const tn::any_array* bias = nullptr) {
    const std::size_t size = q[0].size() / heads, group = q[0].size() / k[0].size();
    matrix y(q.size(), std::vector<double>(q[0].size()));
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < q.size(); ++i) {
            std::vector<double> weight;
            double sum = 0;
            for (std::size_t j = 0; j < std::min(k.size(), length) && !(causal && j > i); ++j) {
                double s = 0;
                for (std::size_t d = 0; d < size; ++d) s += q[i][h * size + d] * k[j][h / group * size + d];
                const double added = bias ? bias->data<double>()[(h * q.size() + i) * k.size() + j] : 0;
                weight.push_back(std::exp(s / std::sqrt(static_cast<double>(size)) + added));
                sum += weight.back();
            }
            for (std::size_t j = 0; j < weight.size(); ++j)
                for (std::size_t d = 0; d < size; ++d)
                    y[i][h * size + d] += weight[j] / sum * v[j][h / group * size + d];
        }
    return y;
}

} // namespace

TEST_CASE("multi_head_attention is, head by head, softmax(q k^T / sqrt(d)) v of projections, projected") {
    for (const bool causal : {false, true})
        for (const bool other_source : {false, true}) {
            const own_graph g;
            const auto x = tn::placeholder<double, tn::shape<batch, steps, 12>>("x");
            const auto source = tn::placeholder<double, tn::shape<batch, tn::dyn, 5>>("source");
            const auto layer = nn::multi_head_attention<3>({.causal = causal, .bias = tn::uniform(-1, 1, 9)});
            const tn::tensor<double, tn::shape<batch, steps, 12>> y = other_source ? layer(x, source) : layer(x);
            std::vector<std::string> names;
            for (const auto& v : g.collection(tn::trainable_variables)) names.push_back(v.name());
            CHECK(names == std::vector<std::string>{"attention/query/kernel", "attention/query/bias",
                                                    "attention/key/kernel", "attention/key/bias",
                                                    "attention/value/kernel", "attention/value/bias",
                                                    "attention/output/kernel", "attention/output/bias"});
            initialized_session s;
            const tn::any_array xs = numbers({2, 4, 12}, 1), ss = numbers({2, 6, 5}, 2);
            std::vector<tn::fed_value> fed;
            fed.push_back({x, xs.copy()});
            if (other_source) fed.push_back({source, ss.copy()});
            const tn::any_array got = std::move(s.run_untyped(std::move(fed), {y})[0]);
            const auto w = s.run_untyped({}, g.collection(tn::trainable_variables));
            for (std::int64_t b = 0; b < 2; ++b) {
                const matrix mine = rows_of(xs, b * 4, 4, 12), theirs = other_source ? rows_of(ss, b * 6, 6, 5) : mine;
                const matrix joined = attended(projected(mine, w[0], w[1]), projected(theirs, w[2], w[3]),
                                               projected(theirs, w[4], w[5]), 3, causal);
                const matrix expected = projected(joined, w[6], w[7]);
                for (std::size_t i = 0; i < 4; ++i)
                    for (std::size_t j = 0; j < 12; ++j)
                        CHECK(std::fabs(got.data<double>()[(static_cast<std::size_t>(b) * 4 + i) * 12 + j] -
                                        expected[i][j]) < 1e-12);
            }
        }
}

TEST_CASE_FIXTURE(in_graph, "multi_head_attention with fewer heads of keys, and sequences of several lengths") {
    const auto x = tn::placeholder<double, tn::shape<batch, steps, 12>>("x");
    const auto source = tn::placeholder<double, tn::shape<batch, tn::dyn, 5>>("source");
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
    const auto layer = nn::multi_head_attention<6, 2>({.bias = tn::uniform(-1, 1, 9)});
    const tn::tensor<double, tn::shape<batch, steps, 12>> y = layer(x, source, lengths);
    const auto bias = tn::placeholder<double, tn::shape<6, steps, tn::dyn>>("bias");
    const tn::tensor<double, tn::shape<batch, steps, 12>> z = layer(x, source, lengths, bias);
    const auto biased = layer(x, source, bias - 1.0); // what all scores have in common changes nothing
    const auto variables = g.collection(tn::trainable_variables);
    CHECK(variables[2].extents() == tn::extents(5, 4));
    initialized_session s;
    const tn::any_array xs = numbers({2, 4, 12}, 1), ss = numbers({2, 6, 5}, 2);
    tn::any_array counts(tn::element_type::int32, {2});
    counts.data<std::int32_t>()[0] = 6;
    counts.data<std::int32_t>()[1] = 3;
    const tn::any_array added = numbers({6, 4, 6}, 3);
    const auto got = s.run_untyped(
        {{x, xs.copy()}, {source, ss.copy()}, {lengths, counts.copy()}, {bias, added.copy()}}, {y, z, biased});
    const auto w = s.run_untyped({}, variables);
    for (std::size_t which = 0; which < 3; ++which)
        for (std::int64_t b = 0; b < 2; ++b) {
            const matrix theirs = rows_of(ss, b * 6, 6, 5);
            const matrix joined = attended(projected(rows_of(xs, b * 4, 4, 12), w[0], w[1]),
                                           projected(theirs, w[2], w[3]), projected(theirs, w[4], w[5]), 6, false,
                                           b == 0 || which == 2 ? 6 : 3, which == 0 ? nullptr : &added);
            const matrix expected = projected(joined, w[6], w[7]);
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 12; ++j) {
                    const std::size_t at = (static_cast<std::size_t>(b) * 4 + i) * 12 + j;
                    CHECK(std::fabs(got[which].data<double>()[at] - expected[i][j]) < 1e-12);
                }
        }
}

TEST_CASE("gradients of attention are those of differences, whatever is known of its sizes") {
    const auto plain = [](const auto& q, const auto& k, const auto& v) {
        return tn::sum(tn::square(nn::attention(q, k, v)));
    };
    const auto causal = [](const auto& q, const auto& k, const auto& v) {
        return tn::sum(tn::square(nn::attention(q, k, v, true)));
    };
    CHECK(check_gradients(plain, input<tn::shape<4, 3>>(), input<tn::shape<5, 3>>(), input<tn::shape<5, 2>>()) == "");
    CHECK(check_gradients(plain, input<tn::shape<2, tn::dyn, 3>>(2, 4, 3), input<tn::shape<2, tn::dyn, 3>>(2, 5, 3),
                          input<tn::shape<2, tn::dyn, 2>>(2, 5, 2)) == "");
    CHECK(check_gradients(causal, input<tn::shape<4, 3>>(), input<tn::shape<4, 3>>(), input<tn::shape<4, 2>>()) == "");
    CHECK(check_gradients(causal, input<tn::shape<2, tn::dyn, 3>>(2, 4, 3), input<tn::shape<2, tn::dyn, 3>>(2, 4, 3),
                          input<tn::shape<2, tn::dyn, 2>>(2, 4, 2)) == "");
}

TEST_CASE_FIXTURE(in_graph,
                  "a transformer block of sequences of several lengths gives each what it gives that sequence alone") {
    const auto x = tn::placeholder<double, tn::shape<batch, steps, 8>>("x");
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
    const auto block = nn::transformer_block<2, 16>();
    const auto some = block(x, lengths), all = block(x), trained = block(x, lengths, nn::training);
    initialized_session s;
    const tn::array<double> xs(numbers({2, 5, 8}, 1));
    const auto got = s.run(tn::feed(x, xs), tn::feed(lengths, {3, 5}), some);
    for (const std::int64_t b : {0, 1}) {
        const std::int64_t length = b == 0 ? 3 : 5;
        tn::array<double, tn::shape<1, tn::dyn, 8>> one(length);
        std::copy_n(xs.data() + b * 40, length * 8, one.data());
        const auto alone = s.run(tn::feed(x, one), all);
        CHECK(std::equal(alone.data(), alone.data() + length * 8, got.data() + b * 40,
                         [](double p, double q) { return std::fabs(p - q) < 1e-12; }));
    }
    CHECK(tn::all_close(s.run(tn::feed(x, xs), tn::feed(lengths, {3, 5}), trained), got, 0, 0));
}

TEST_CASE_FIXTURE(in_graph, "causal attention: what comes later changes nothing before it, and no weight is NaN") {
    const auto x = tn::placeholder<float, tn::shape<steps, 8>>("x");
    const auto y = nn::multi_head_attention<2>({.causal = true, .use_bias = false})(x);
    CHECK(g.collection(tn::trainable_variables).size() == 4);
    initialized_session s;
    tn::array<float, tn::shape<tn::dyn, 8>> a(5);
    for (int i = 0; i < 40; ++i) a.data()[i] = std::sin(static_cast<float>(i));
    auto b = a.copy();
    for (int i = 24; i < 40; ++i) b.data()[i] = 100; // positions 3 and 4
    const auto one = s.run(tn::feed(x, a), y), two = s.run(tn::feed(x, b), y);
    for (int i = 0; i < 24; ++i) CHECK(one.data()[i] == two.data()[i]);
    float most = 0;
    for (int i = 24; i < 40; ++i) most = std::max(most, std::fabs(one.data()[i] - two.data()[i]));
    CHECK(most > 0.01f);
    for (int i = 0; i < 40; ++i) CHECK(std::isfinite(two.data()[i]));
}
