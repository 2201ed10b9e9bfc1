// error[gcc]: reshape: numbers of elements differ: \[6, 784\] x \[6, 28, 27\]
// error[clang]: reshape_op, tenon::fault::element_counts_differ, .*<float, .*size<6>, .*size<784> ?>, .*asked_sizes<.*size<6>, .*size<28>, .*size<27> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<6, 784>>& x) {
#ifdef TENON_EXPECT_ERROR
    return mean(reshape<tn::shape<6, 28, 27>>(x));
#else
    return mean(reshape<tn::shape<6, 28, 28>>(x));
#endif
}
