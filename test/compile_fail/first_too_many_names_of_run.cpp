// And so does a run of one tensor, which can be bound too.
// error[gcc]: In function|2 names provided
// error[gcc]: 2 names provided for structured binding
// error[gcc]: decomposes into 1 element
// error[clang]: decomposes into 1 element, but 2 names were provided
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
#ifdef TENON_EXPECT_ERROR
    auto [l, m] = s.run(tn::feed(x, a), mean(x));
#else
    auto [l] = s.run(tn::feed(x, a), mean(x));
#endif
    return l.item();
}
