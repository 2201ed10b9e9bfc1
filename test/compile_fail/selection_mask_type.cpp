// A mask is of bools, not of numbers.
// error[gcc]: boolean_mask: element type must be bool: float\[7\] x int32\[7\]
// error[clang]: boolean_mask_op>, tenon::fault::element_type_must_be_bool, .*<float, .*size<7> ?>, .*<int, .*size<7> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<7>>& x, const tn::tensor<std::int32_t, tn::shape<7>>& n) {
#ifdef TENON_EXPECT_ERROR
    return tn::boolean_mask(x, n);
#else
    return tn::boolean_mask(x, n > 0);
#endif
}
