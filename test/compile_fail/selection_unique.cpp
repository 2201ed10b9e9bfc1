// unique is of vectors.
// error[gcc]: unique: rank is too high: \[3, 2\]
// error[clang]: unique_op>, tenon::fault::rank_too_high, .*<float, .*size<3>, .*size<2> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::tensor<float, tn::shape<3, 2>>& x) {
#ifdef TENON_EXPECT_ERROR
    auto [values, indices] = tn::unique(x);
#else
    auto [values, indices] = tn::unique(tn::reshape<tn::shape<6>>(x));
#endif
    (void)values, (void)indices;
}
