// A tensor known less exactly does not stand for one known more exactly without a check.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<tenon::dynamic_size\(\), 784>
// error[clang]: conversion function from .*tensor<.* to .*tensor<.* invokes a deleted function
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
