// The members of an ensemble say as much of as many classes.
// error[gcc]: ensemble: sizes differ: \[batch, 10\] x \[batch, 9\]
// error[clang]: ensemble_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<10> ?>, .*<float, batch, .*size<9> ?>
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& a, const tn::tensor<float, tn::shape<batch, 9>>& wrong) {
#ifdef TENON_EXPECT_ERROR
    return tn::nn::ensemble(a, wrong).probabilities();
#else
    (void)wrong;
    return tn::nn::ensemble(a, a).probabilities();
#endif
}
