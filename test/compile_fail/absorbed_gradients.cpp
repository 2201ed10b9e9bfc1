// The gradients of what is no scalar are as many as were asked for.
// error[gcc]: gradients: what is differentiated must be a scalar: \[batch, 10\]
// error[clang]: gradients_rule, tenon::fault::loss_must_be_scalar, .*<float, batch, .*size<10> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& x, const tn::variable_tensor<float, tn::shape<10>>& w) {
#ifdef TENON_EXPECT_ERROR
    auto [dx, dw] = tn::gradients(x * w, x, w);
#else
    auto [dx, dw] = tn::gradients(mean(x * w), x, w);
#endif
    return tn::group(w.assign_sub(0.1f * dw), sum(dx));
}
