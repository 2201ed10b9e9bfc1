// error[gcc]: fill_sizes: a size that is no number must be a named one that an operand has: float\[batch, 10\]
// error[clang]: fill_sizes_op, tenon::fault::in_own_words, .*sizes_are_not_the_operands>
#include <tenon/ops/control/sized.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct steps : tn::dim<"steps"> {} steps;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::zeros<float, tn::shape<steps, 64>>(x);
#else
    return tn::zeros<float, tn::shape<batch, 64>>(x);
#endif
}
