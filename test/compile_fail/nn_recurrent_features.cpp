// Sequences whose number of features is known in the run only.
// error[gcc]: lstm: features must be a number here, and there is one step at least: float\[batch, time, features\]
// error[clang]: recurrent_rule.*features_are_a_number
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_size : tn::dim<"time"> {} time_size;
inline constexpr struct features : tn::dim<"features"> {} features;

#ifdef TENON_EXPECT_ERROR
using sequences = tn::shape<batch, time_size, features>;
#else
using sequences = tn::shape<batch, time_size, 8>;
#endif

int main() {
    auto x = tn::placeholder<float, sequences>("x");
    auto [all, last] = tn::nn::lstm<16>()(x);
    auto loss = tn::mean(all);
}
