// A step of one fetch gives one result.
// error[gcc]: In function|2 names provided
// error[gcc]: 2 names provided for structured binding
// error[gcc]: decomposes into 1 element
// error[clang]: decomposes into 1 element, but 2 names were provided
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
#ifdef TENON_EXPECT_ERROR
    auto [l, m] = step(a);
#else
    auto [l] = step(a);
#endif
    return l.item();
}
