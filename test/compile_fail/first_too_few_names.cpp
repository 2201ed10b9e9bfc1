// Two fetches, one name.
// error[gcc]: In function|only 1 name provided
// error[gcc]: only 1 name provided for structured binding
// error[clang]: decomposes into 2 elements, but only 1 name was provided
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x), sum(x)));
#ifdef TENON_EXPECT_ERROR
    auto [l] = step(a);
#else
    auto [l, m] = step(a);
#endif
    return l.item();
}
