// Sequences whose number of steps is known in the run only.
// error[gcc]: lstm: the numbers of steps and features must be numbers here: each step becomes nodes of its own: float\[batch, time, 8\]
// error[clang]: recurrent_rule.*unrolled
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_size : tn::dim<"time"> {} time_size;

#ifdef TENON_EXPECT_ERROR
using sequences = tn::shape<batch, time_size, 8>;
#else
using sequences = tn::shape<batch, 20, 8>;
#endif

int main() {
    auto x = tn::placeholder<float, sequences>("x");
    auto [all, last] = tn::nn::lstm<16>()(x);
    auto loss = tn::mean(all);
}
