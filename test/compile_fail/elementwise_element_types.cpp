// error[gcc]: subtract: element types differ: float\[3\] x double\[3\]
// error[clang]: element_types_differ
#include <tenon/ops/elementwise/elementwise.hpp>

void program(tenon::tensor<float, tenon::shape<3>> a, tenon::tensor<double, tenon::shape<3>> b) {
    auto fits = tenon::cast<double>(a) - b;
#ifdef TENON_EXPECT_ERROR
    auto wrong = a - b;
#endif
}
