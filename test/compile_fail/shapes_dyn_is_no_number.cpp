// A tensor known less exactly does not stand for one known more exactly without a check.
// error: (conversion from|no viable conversion from) '(const )?(tn::)?tensor<
// lines: 40
#include <tenon/graph/tensor.hpp>

namespace tn = tenon;

tn::tensor<float, tn::shape<32, 784>> f(const tn::tensor<float, tn::shape<tn::dyn, 784>>& x) {
#ifdef TENON_EXPECT_ERROR
    tn::tensor<float, tn::shape<32, 784>> y = x;
    return y;
#else
    return tn::as<float, tn::shape<32, 784>>(x);
#endif
}
