// error[gcc]: accumulator.apply: a gradient has the type of the accumulator: .*\[784, 300\].*\[300, 784\]
// error[clang]: in_words<.*gradient_of_another_type>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::accumulator<float, tn::shape<784, 300>>& sum, const tn::tensor<float, tn::shape<300, 784>>& g) {
#ifdef TENON_EXPECT_ERROR
    sum.apply(g, 0);
#else
    sum.apply(transpose<1, 0>(g), 0);
#endif
}
