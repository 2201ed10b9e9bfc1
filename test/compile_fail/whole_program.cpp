// One mistake in the middle of a model of 50 layers: one error, although all that follows rests on it: the loss, its
// training, the step and what the program does with the step's results.
// error[gcc]: matmul: inner dimensions differ: \[batch, 32\] x \[31, 32\]
// error[clang]: matmul_op.*inner_dimensions_differ.*<float, batch, .*size<32> ?>, .*<float, .*size<31>, .*size<32> ?>
#include <tenon/tenon.hpp>

#include <cstdio>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 32>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    auto w = tn::variable<float, tn::shape<32, 32>>("w", tn::glorot_uniform());
    auto b = tn::variable<float, tn::shape<32>>("b", tn::zeros());
#ifdef TENON_EXPECT_ERROR
    auto w26 = tn::variable<float, tn::shape<31, 32>>("w26", tn::glorot_uniform());
#else
    auto w26 = w;
#endif
    const auto h0 = x;
    const auto h1 = relu(matmul(h0, w) + b);
    const auto h2 = relu(matmul(h1, w) + b);
    const auto h3 = relu(matmul(h2, w) + b);
    const auto h4 = relu(matmul(h3, w) + b);
    const auto h5 = relu(matmul(h4, w) + b);
    const auto h6 = relu(matmul(h5, w) + b);
    const auto h7 = relu(matmul(h6, w) + b);
    const auto h8 = relu(matmul(h7, w) + b);
    const auto h9 = relu(matmul(h8, w) + b);
    const auto h10 = relu(matmul(h9, w) + b);
    const auto h11 = relu(matmul(h10, w) + b);
    const auto h12 = relu(matmul(h11, w) + b);
    const auto h13 = relu(matmul(h12, w) + b);
    const auto h14 = relu(matmul(h13, w) + b);
    const auto h15 = relu(matmul(h14, w) + b);
    const auto h16 = relu(matmul(h15, w) + b);
    const auto h17 = relu(matmul(h16, w) + b);
    const auto h18 = relu(matmul(h17, w) + b);
    const auto h19 = relu(matmul(h18, w) + b);
    const auto h20 = relu(matmul(h19, w) + b);
    const auto h21 = relu(matmul(h20, w) + b);
    const auto h22 = relu(matmul(h21, w) + b);
    const auto h23 = relu(matmul(h22, w) + b);
    const auto h24 = relu(matmul(h23, w) + b);
    const auto h25 = relu(matmul(h24, w) + b);
    const auto h26 = relu(matmul(h25, w26) + b);
    const auto h27 = relu(matmul(h26, w) + b);
    const auto h28 = relu(matmul(h27, w) + b);
    const auto h29 = relu(matmul(h28, w) + b);
    const auto h30 = relu(matmul(h29, w) + b);
    const auto h31 = relu(matmul(h30, w) + b);
    const auto h32 = relu(matmul(h31, w) + b);
    const auto h33 = relu(matmul(h32, w) + b);
    const auto h34 = relu(matmul(h33, w) + b);
    const auto h35 = relu(matmul(h34, w) + b);
    const auto h36 = relu(matmul(h35, w) + b);
    const auto h37 = relu(matmul(h36, w) + b);
    const auto h38 = relu(matmul(h37, w) + b);
    const auto h39 = relu(matmul(h38, w) + b);
    const auto h40 = relu(matmul(h39, w) + b);
    const auto h41 = relu(matmul(h40, w) + b);
    const auto h42 = relu(matmul(h41, w) + b);
    const auto h43 = relu(matmul(h42, w) + b);
    const auto h44 = relu(matmul(h43, w) + b);
    const auto h45 = relu(matmul(h44, w) + b);
    const auto h46 = relu(matmul(h45, w) + b);
    const auto h47 = relu(matmul(h46, w) + b);
    const auto h48 = relu(matmul(h47, w) + b);
    const auto h49 = relu(matmul(h48, w) + b);
    const auto h50 = relu(matmul(h49, w) + b);
    auto logits = tn::print(h50, "logits");
    tn::tensor<float, tn::shape<>> loss = mean(tn::nn::cross_entropy(logits, y));
    auto accuracy = tn::nn::accuracy(logits, y);
    auto train = tn::gradient_descent(0.1).minimize(loss + 0.001f * sum(square(w)));
    auto [g, gb] = tn::gradients(mean(h50), w, b);
    auto [low, high] = tn::split<2, 1>(h50);

    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, mean(logits), accuracy));
    tn::array<float, tn::shape<batch, 32>> images(10);
    tn::array<std::int32_t, tn::shape<batch>> labels(10);
    for (int i = 0; i < 10; ++i) {
        auto [l, a] = step(images, labels);
        std::printf("%.4f %.4f\n", static_cast<double>(l.item()), static_cast<double>(100 * a.item()));
        if (l.item() < 0.1f) break;
    }
    auto [gw, norm, parts] = sess.run(tn::feed(x, images), g, sum(square(gb)), tn::concat<1>(low, high));
    for (float value : gw.span()) std::printf("%g ", static_cast<double>(value));
    return gw.size() > 0 && norm.item() > 0 && parts.extent(0) == 10 ? 0 : 1;
}
