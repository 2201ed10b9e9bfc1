// error[gcc]: multiply: two different named sizes meet: \[batch\] x \[time\]
// error[clang]: named_sizes_differ
#include <tenon/ops/elementwise/elementwise.hpp>

inline constexpr struct batch_size : tenon::dim<"batch"> {} batch;
inline constexpr struct time_steps : tenon::dim<"time"> {} time_;

void program(tenon::tensor<float, tenon::shape<batch>> a, tenon::tensor<float, tenon::shape<time_>> b) {
    auto fits = a * a;
#ifdef TENON_EXPECT_ERROR
    auto wrong = a * b;
#endif
}
