// error[gcc]: add: sizes do not broadcast: \[batch, 784\] x \[300\]
// error[clang]: opcode::add>, tenon::fault::sizes_do_not_broadcast, .*<float, batch, .*size<784> ?>, .*<float, .*size<300> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<float, tn::shape<300>>& b) {
#ifdef TENON_EXPECT_ERROR
    return exp(tanh(x + b) * 2.0f) - b; // what comes after the mistake says nothing
#else
    return exp(b);
#endif
}
