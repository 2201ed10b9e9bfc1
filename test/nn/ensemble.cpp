#include <tenon/nn/ensemble.hpp>

#include "tests.hpp"

// Ensembles in one graph (SEMANTICS 45), held against what is computed by hand in double.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using logits = tn::tensor<float, tn::shape<batch, 4>>;
constexpr int rows = 60, classes = 4;

using table = std::vector<std::vector<double>>; // [rows][classes]

// Quarters, so that votes are often equal.
table random_logits(std::mt19937& random) {
    table t(rows, std::vector<double>(classes));
    for (auto& row : t)
        for (double& v : row) v = std::uniform_int_distribution<int>(-6, 6)(random) / 4.0;
    return t;
}
tn::array<float> array_of(const table& t) {
    tn::array<float> a(tn::extents(rows, classes));
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < classes; ++c)
            a(r, c) = static_cast<float>(t[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
    return a;
}
std::vector<double> softmax_of(const std::vector<double>& row) {
    double sum = 0;
    std::vector<double> p;
    for (const double v : row) sum += std::exp(v);
    for (const double v : row) p.push_back(std::exp(v) / sum);
    return p;
}
int largest(const std::vector<double>& p) {
    int best = 0;
    for (int c = 1; c < classes; ++c)
        if (p[static_cast<std::size_t>(c)] > p[static_cast<std::size_t>(best)]) best = c;
    return best;
}

struct by_hand {
    table mean;
    std::vector<int> predicted, voted;
    std::vector<bool> clear; // what is largest is so by more than rounding
};
by_hand together(const std::vector<table>& members) {
    by_hand h;
    for (int r = 0; r < rows; ++r) {
        std::vector<double> mean(classes), votes(classes);
        for (const table& m : members) {
            const auto p = softmax_of(m[static_cast<std::size_t>(r)]);
            for (std::size_t c = 0; c < classes; ++c) mean[c] += p[c] / static_cast<double>(members.size());
            votes[static_cast<std::size_t>(largest(p))] += 1;
        }
        h.mean.push_back(mean);
        h.predicted.push_back(largest(mean));
        int best = 0;
        for (int c = 1; c < classes; ++c) {
            const auto i = static_cast<std::size_t>(c), b = static_cast<std::size_t>(best);
            if (votes[i] > votes[b] || (votes[i] == votes[b] && mean[i] > mean[b])) best = c;
        }
        h.voted.push_back(best);
        bool is_clear = true;
        for (std::size_t c = 0; c < classes; ++c)
            for (std::size_t other = 0; other < c; ++other)
                is_clear = is_clear && std::abs(mean[c] - mean[other]) > 1e-5;
        h.clear.push_back(is_clear);
    }
    return h;
}

} // namespace

TEST_CASE(
    "SEMANTICS 45: the mean of probabilities, its class, the vote, and accuracies in one step are those by hand") {
    std::mt19937 random(21);
    int ties = 0, compared = 0;
    for (int round = 0; round < 10; ++round) {
        const std::vector<table> members = {random_logits(random), random_logits(random), random_logits(random)};
        const by_hand h = together(members);
        const tn::graph_scope in{tn::graph()};
        const auto a = tn::placeholder<float, tn::shape<batch, 4>>("a"),
                   b = tn::placeholder<float, tn::shape<batch, 4>>("b"),
                   c = tn::placeholder<float, tn::shape<batch, 4>>("c");
        const auto y = tn::placeholder<std::uint8_t, tn::shape<batch>>("y");
        const auto all = tn::nn::ensemble(a, b, c);
        static_assert(std::is_same_v<decltype(all.probabilities()), logits>);
        static_assert(std::is_same_v<decltype(all.voted()), tn::tensor<std::int32_t, tn::shape<batch>>>);
        static_assert(
            std::is_same_v<decltype(all.predicted<std::int64_t>()), tn::tensor<std::int64_t, tn::shape<batch>>>);
        static_assert(std::is_same_v<decltype(all.accuracies(y)), tn::tensor<float, tn::shape<3>>>);
        tn::array<std::uint8_t> labels(tn::extents{rows});
        for (int r = 0; r < rows; ++r)
            labels(r) = static_cast<std::uint8_t>(std::uniform_int_distribution<int>(0, 3)(random));
        tn::session sess;
        const auto [mean, predicted, voted, right, right_vote, each] =
            sess.run(tn::feed(a, array_of(members[0])), tn::feed(b, array_of(members[1])),
                     tn::feed(c, array_of(members[2])), tn::feed(y, labels), all.probabilities(), all.predicted(),
                     all.voted(), all.accuracy(y), all.vote_accuracy(y), all.accuracies(y));
        double rights = 0, right_votes = 0, own[3] = {};
        for (int r = 0; r < rows; ++r) {
            const auto i = static_cast<std::size_t>(r);
            for (int k = 0; k < classes; ++k)
                CHECK(static_cast<double>(mean(r, k)) ==
                      doctest::Approx(h.mean[i][static_cast<std::size_t>(k)]).epsilon(1e-6));
            if (h.clear[i]) {
                ++compared;
                CHECK(predicted(r) == h.predicted[i]);
                CHECK(voted(r) == h.voted[i]);
                ties += h.predicted[i] != h.voted[i];
            }
            rights += predicted(r) == labels(r);
            right_votes += voted(r) == labels(r);
            for (std::size_t m = 0; m < 3; ++m) own[m] += largest(members[m][i]) == labels(r);
        }
        CHECK(static_cast<double>(right.item()) == doctest::Approx(rights / rows));
        CHECK(static_cast<double>(right_vote.item()) == doctest::Approx(right_votes / rows));
        for (int m = 0; m < 3; ++m) CHECK(static_cast<double>(each(m)) == doctest::Approx(own[m] / rows));
    }
    CHECK(compared > 300);
    CHECK(ties > 10); // the vote is another than the mean's now and then
}

TEST_CASE("networks are a layer: of several types, of a list, in braces, or of types known at run time") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    const auto a = tn::nn::dense<4>(), b = tn::nn::dense<4>();
    const auto c = tn::nn::sequential(tn::nn::dense<5>(tn::nn::relu), tn::nn::dense<4>());
    const auto by_hand = (tn::softmax(a(x)) + tn::softmax(b(x))) * 0.5f;
    const auto with_c = (tn::softmax(a(x)) + tn::softmax(b(x)) + tn::softmax(c(x))) * (1 / 3.0f);
    const auto mixed = tn::nn::ensemble(a, b, c);
    const auto list = tn::nn::ensemble(std::vector{a, b});
    const auto braces = tn::nn::ensemble({a, b});
    const auto tensors = tn::nn::ensemble({a(x), b(x)});
    const auto loose = tn::nn::ensemble(std::vector<tn::any_tensor>{a(x), b(x)});
    const auto given = tn::nn::ensemble_of_probabilities(tn::softmax(a(x)), tn::softmax(b(x)));
    static_assert(std::is_same_v<decltype(mixed(x)), logits>);
    static_assert(std::is_same_v<decltype(list(x)), logits>);
    static_assert(std::is_same_v<decltype(loose.voted()), tn::any_tensor>);
    CHECK(mixed.members(x).members() == 3);
    tn::array<float> xs(tn::extents(7, 3));
    for (int i = 0; i < 21; ++i) xs.data()[i] = static_cast<float>(std::sin(i));
    tn::array<std::int32_t> ys(tn::extents{7});
    for (int i = 0; i < 7; ++i) ys(i) = i % 4;
    initialized_session sess;
    const auto [two, three, m, l, br, t, u, pr] =
        sess.run(tn::feed(x, xs), by_hand, with_c, mixed(x), list(x), braces(x), tensors.probabilities(),
                 loose.probabilities(), given.probabilities());
    for (int i = 0; i < 28; ++i) {
        const auto expected = doctest::Approx(two.data()[i]).epsilon(1e-6);
        CHECK(m.data()[i] == doctest::Approx(three.data()[i]).epsilon(1e-6));
        CHECK(l.data()[i] == expected);
        CHECK(br.data()[i] == expected);
        CHECK(t.data()[i] == expected);
        CHECK(u.data<float>()[i] == expected);
        CHECK(pr.data()[i] == expected);
    }
    const auto [typed, untyped] =
        sess.run(tn::feed(x, xs), tn::feed(y, ys), tensors.accuracies(y), loose.accuracies(y));
    CHECK(typed(0) == untyped.data<float>()[0]);
    CHECK(typed(1) == untyped.data<float>()[1]);
}

TEST_CASE("members of other types, or none, are refused in the words of the compiler where it does not know") {
    const tn::any_tensor a = tn::placeholder<float, tn::shape<5, 4>>("a"),
                         b = tn::placeholder<float, tn::shape<5, 3>>("b"),
                         c = tn::placeholder<std::int32_t, tn::shape<5, 4>>("c");
    CHECK_ERROR(tn::invalid_argument_error, "ensemble: sizes differ: [5, 4] x [5, 3]",
                tn::nn::ensemble(std::vector<tn::any_tensor>{a, b}));
    CHECK_THROWS_AS((void)tn::nn::ensemble(std::vector<tn::any_tensor>{a, c}), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::nn::ensemble(std::vector<tn::any_tensor>{c, c}), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "no members", tn::nn::ensemble(std::vector<tn::any_tensor>{}));
    const tn::any_tensor open = tn::placeholder<float, tn::shape<batch, tn::dyn>>("open");
    CHECK_ERROR(tn::invalid_argument_error, "how many classes",
                tn::nn::ensemble(std::vector<tn::any_tensor>{open, open}).voted());
}
