// error[gcc]: select: element type must be bool: float\[3\] x float\[3\] x float\[3\]
// error[clang]: element_type_must_be_bool
#include <tenon/ops/elementwise/elementwise.hpp>

void program(tenon::tensor<float, tenon::shape<3>> a) {
    auto fits = select(a > 0, a, a);
#ifdef TENON_EXPECT_ERROR
    auto wrong = select(a, a, a);
#endif
}
