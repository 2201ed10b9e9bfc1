// A mistake in what a stage's function computes is told once, whatever is made of the pipeline.
// error[gcc]: matmul: inner dimensions differ: \[\?, 3\] x \[4, 1\]
// error[clang]: matmul_op.*inner_dimensions_differ
// lines: 40
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
#ifdef TENON_EXPECT_ERROR
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
#else
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
#endif
    const auto product = [](const auto& v) {
        return matmul(v, tn::variable<float, tn::shape<4, 1>>("w", tn::glorot_uniform()));
    };
    const auto pipe =
        tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::relu), tn::stage("/gpu:1", product));
    const auto [train, loss] = pipe.minimize(
        tn::gradient_descent(0.1), [](const auto& y) { return tn::mean(y); }, x);
}
