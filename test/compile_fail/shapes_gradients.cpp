// error[gcc]: gradients: what is differentiated must be a scalar: \[batch, 10\]
// error[clang]: gradients_rule, tenon::fault::loss_must_be_scalar, .*<float, batch, .*size<10> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::gradients(x, x);
#else
    return tn::gradients(mean(x), x);
#endif
}
