#include "runtime/support.hpp"
#include "tests.hpp"

// Threads that take their rows through several kernels compute what one does.

namespace {

constexpr int rows = 96, in = 320, wide = 256, classes = 16;

tn::session_options with_threads(int threads) {
    return {.intra_op_threads = threads, .inter_op_threads = 1, .use_per_session_threads = true};
}
// Small whole numbers, of which products and their sums are exact in any order.
template <class Shape> tn::array<float, Shape> whole_numbers(unsigned seed) {
    tn::array<float, Shape> a;
    std::mt19937 r(seed);
    for (float& v : a) v = static_cast<float>(static_cast<int>(r() % 5) - 2);
    return a;
}

// x w1 and what follows it, whose gradients are a product, sums of rows, and a product with what is transposed.
struct network {
    tn::tensor<float, tn::shape<rows, in>> x = tn::placeholder<float, tn::shape<rows, in>>("x");
    tn::tensor<std::int32_t, tn::shape<rows>> y = tn::placeholder<std::int32_t, tn::shape<rows>>("y");
    tn::variable_tensor<float, tn::shape<in, wide>> w1 = tn::variable("w1", whole_numbers<tn::shape<in, wide>>(1));
    tn::variable_tensor<float, tn::shape<wide>> b1 = tn::variable<float, tn::shape<wide>>("b1", tn::zeros());
    tn::variable_tensor<float, tn::shape<wide, classes>> w2 =
        tn::variable("w2", whole_numbers<tn::shape<wide, classes>>(2));
    tn::tensor<float, tn::shape<rows, wide>> h = tn::identity(relu(matmul(x, w1) + b1), "h");
    tn::tensor<float, tn::shape<rows, classes>> z = tn::identity(matmul(h, w2), "z");
    tn::tensor<float, tn::shape<>> loss = tn::mean(tn::sparse_softmax_cross_entropy(z, y));
    tn::operation train = tn::gradient_descent(1.0 / 1024).minimize(loss, {.advance_global_step = false});

    tn::array<float, tn::shape<rows, in>> images = whole_numbers<tn::shape<rows, in>>(3);
    tn::array<std::int32_t, tn::shape<rows>> labels() const {
        tn::array<std::int32_t, tn::shape<rows>> l;
        for (std::int64_t i = 0; i < rows; ++i) l[i] = static_cast<std::int32_t>(i % classes);
        return l;
    }
};
bool same_bits(const auto& a, const auto& b) {
    return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a training step on two threads and four computes what it does on one") {
    const network n;
    std::vector<tn::array<float, tn::shape<in, wide>>> weights;
    std::vector<tn::array<float, tn::shape<wide>>> biases;
    for (const int threads : {1, 2, 4}) {
        initialized_session s(with_threads(threads));
        for (int i = 0; i < 5; ++i) s.run(tn::feed(n.x, n.images), tn::feed(n.y, n.labels()), n.train, n.loss);
        auto [w, b] = s.run(n.w1, n.b1);
        weights.push_back(std::move(w));
        biases.push_back(std::move(b));
    }
    for (std::size_t k = 1; k < weights.size(); ++k) {
        double most = 0, off = 0;
        for (std::int64_t i = 0; i < weights[0].size(); ++i) {
            most = std::max(most, std::abs(static_cast<double>(weights[0][i])));
            off = std::max(off, std::abs(static_cast<double>(weights[k][i]) - static_cast<double>(weights[0][i])));
        }
        CHECK(off < 1e-5 * most);
        for (std::int64_t i = 0; i < biases[0].size(); ++i)
            CHECK(std::abs(biases[k][i] - biases[0][i]) <= 1e-5f * (1 + std::abs(biases[0][i])));
    }
}

TEST_CASE_FIXTURE(in_graph, "what is computed elementwise, and its sums over rows, have the same bits on any threads") {
    const auto x = tn::placeholder<float, tn::shape<rows, in>>("x");
    const auto w = tn::placeholder<float, tn::shape<in, wide>>("w");
    const auto b = tn::placeholder<float, tn::shape<wide>>("b");
    const auto loss = sum(square(tanh(tn::identity(matmul(x, w), "product") * 0.01f + b)));
    const auto [dx, db] = tn::gradients(loss, x, b);
    tn::array<float, tn::shape<wide>> shift;
    for (std::int64_t i = 0; i < wide; ++i) shift[i] = static_cast<float>(i) * 0.003f;
    std::vector<tn::array<float, tn::shape<wide>>> sums;
    for (const int threads : {1, 2, 4}) {
        tn::session s(with_threads(threads));
        auto [summed, whole] = s.run(tn::feed(x, whole_numbers<tn::shape<rows, in>>(4)),
                                     tn::feed(w, whole_numbers<tn::shape<in, wide>>(5)), tn::feed(b, shift), db, dx);
        sums.push_back(std::move(summed));
    }
    CHECK(same_bits(sums[0], sums[1]));
    CHECK(same_bits(sums[0], sums[2]));
}

TEST_CASE_FIXTURE(in_graph,
                  "of several labels that are no classes the first is complained of, and nothing is updated") {
    const network n;
    for (const int threads : {1, 2, 4}) {
        initialized_session s(with_threads(threads));
        auto labels = n.labels();
        labels[rows - 1] = -3;
        labels[rows / 2 + 1] = classes;
        for (int i = 0; i < 20; ++i) {
            const std::string said = message_of<tn::invalid_argument_error>(
                [&] { s.run(tn::feed(n.x, n.images), tn::feed(n.y, labels), n.train); });
            CHECK(contains(said, "label 16 of row 49 is not one of the 16 classes"));
            CHECK(contains(said, "sparse_softmax_cross_entropy"));
        }
        CHECK(same_bits(s.run(n.w1), whole_numbers<tn::shape<in, wide>>(1)));
        s.run(tn::feed(n.x, n.images), tn::feed(n.y, n.labels()), n.train);
        CHECK_FALSE(same_bits(s.run(n.w1), whole_numbers<tn::shape<in, wide>>(1)));
    }
}
