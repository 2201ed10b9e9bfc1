// error[gcc]: assign: value does not fit the variable: \[1000, 64\] x \[1000, 32\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<1000>, .*size<64> ?>, .*<float, .*size<1000>, .*size<32> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::tensor<float, tn::shape<1000, 32>>& x) {
    const auto table = tn::variable<float, tn::shape<1000, 64>>("table", tn::zeros(), {.partition = {.parts = 4}});
#ifdef TENON_EXPECT_ERROR
    table.assign(x);
#else
    table.assign(tn::concat<1>(x, x));
#endif
}
