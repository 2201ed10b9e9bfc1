// error[gcc]: add: sizes do not broadcast: \[3, 4\] x \[5\]
// error[clang]: sizes_do_not_broadcast
#include <tenon/ops/elementwise/elementwise.hpp>

void program(tenon::tensor<float, tenon::shape<3, 4>> a, tenon::tensor<float, tenon::shape<4>> b,
             tenon::tensor<float, tenon::shape<5>> c) {
    auto fits = a + b;
#ifdef TENON_EXPECT_ERROR
    auto wrong = relu(a + c) * 2 + b; // one error, whatever comes after
#endif
}
