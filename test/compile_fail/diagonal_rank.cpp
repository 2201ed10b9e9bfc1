// error[gcc]: tril: rank is too low: \[batch\]
// error[clang]: tril_rule, tenon::fault::rank_too_low, .*batch
#include <tenon/tenon.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch>>& x, const tn::tensor<float, tn::shape<batch, batch>>& y) {
#ifdef TENON_EXPECT_ERROR
    return mean(tn::tril(x) + y);
#else
    return mean(tn::tril(y) + x);
#endif
}
