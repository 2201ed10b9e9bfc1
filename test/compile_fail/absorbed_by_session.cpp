// What a mistaken call returns is taken by all that runs a graph, and so are the results.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
#include <tenon/tenon.hpp>

#include <iostream>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
#ifdef TENON_EXPECT_ERROR
    auto w2 = tn::variable<float, tn::shape<300, 10>>("w2", tn::glorot_uniform());
#else
    auto w2 = tn::variable<float, tn::shape<784, 10>>("w2", tn::glorot_uniform());
#endif
    auto bad = matmul(x, w2);
    tn::array<float, tn::shape<batch, 784>> images(10);
    tn::session sess;
    auto values = sess.run(tn::feed(x, images), bad);
    std::cout << values(0, 1) + values.row(0)[2] << '\n';
    auto [first, weights] = sess.run_for(1.0, tn::feed(x, images), bad, w2);
    tn::array<float, tn::shape<batch, 10>> kept = std::move(first);
    float one = kept(0, 0) + weights(0, 0);
    auto other = sess.run(tn::feed(bad, kept), mean(bad));
    auto again = sess.callable(tn::feeds(bad), tn::fetches(mean(bad), w2));
    auto [mean_value, same] = again(kept);
    auto report = sess.report(tn::feed(x, images), bad);
    std::vector<float> copied(values.begin(), values.end());
    return one + other.item() + mean_value.item() + same(0, 0) > 0 && report.nodes > 0 && copied.empty() ? 1 : 0;
}
