// error[gcc]: exp: element type must be float, double, half or bfloat16: int32\[3\]
// error[clang]: element_type_must_be_floating
#include <tenon/ops/elementwise/elementwise.hpp>

void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = exp(tenon::cast<float>(a));
#ifdef TENON_EXPECT_ERROR
    auto wrong = exp(a);
#endif
}
