// error[gcc]: gelu: element type must be float, double, half or bfloat16: int32\[3\]
// error[clang]: element_type_must_be_floating
#include <tenon/ops/elementwise/activations.hpp>

void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = gelu(tenon::cast<float>(a));
#ifdef TENON_EXPECT_ERROR
    auto wrong = gelu(a);
#endif
}
