// error[gcc]: elementwise\(X&& ...\).* X = \{.*int.*double\}
// error[clang]: a number with a fraction stands beside integers or bools
// error: a number with a fraction stands beside integers or bools

#include <tenon/ops/elementwise/elementwise.hpp>

void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = a * 2;
#ifdef TENON_EXPECT_ERROR
    auto wrong = a * 0.5;
#endif
}
