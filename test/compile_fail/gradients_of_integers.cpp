// Only floating tensors have gradients.
// error[gcc]: gradients: element type must be float, double, half or bfloat16: float\[\] x int32\[3\]
// error[clang]: gradients_rule, tenon::fault::element_type_must_be_floating, .*<float>, .*<int, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<3>>& x, const tn::tensor<std::int32_t, tn::shape<3>>& n) {
    auto loss = mean(x * tn::cast<float>(n));
#ifdef TENON_EXPECT_ERROR
    auto [g] = tn::gradients(loss, n);
#else
    auto [g] = tn::gradients(loss, x);
#endif
    return g;
}
