// Two named sizes are equal exactly when they are the same name.
// error[gcc]: add: two different named sizes meet: \[batch, 3\] x \[time, 3\]
// error[clang]: opcode::add>, tenon::fault::named_sizes_differ, .*<float, batch, .*size<3> ?>, .*<float, time_step, .*size<3> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

auto f(const tn::tensor<float, tn::shape<batch, 3>>& x, const tn::tensor<float, tn::shape<time_step, 3>>& y) {
#ifdef TENON_EXPECT_ERROR
    return x + y;
#else
    return x + x;
#endif
}
