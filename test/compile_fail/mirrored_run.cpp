// A mistake in what the replicas compute is told once, whatever is made of it.
// error[gcc]: matmul: inner dimensions differ: \[\?, 3\] x \[4, 1\]
// error[clang]: matmul_op.*inner_dimensions_differ
// lines: 18
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
#ifdef TENON_EXPECT_ERROR
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
#else
    auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
#endif
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto outputs = mirrored.run(
        [](auto part) { return matmul(part, tn::variable<float, tn::shape<4, 1>>("w", tn::glorot_uniform())); },
        mirrored.distribute(x));
    auto losses = mirrored.run([](auto y) { return tn::mean(y); }, outputs);
    auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
    auto joined = mirrored.join(outputs);
    (void)joined;
}
