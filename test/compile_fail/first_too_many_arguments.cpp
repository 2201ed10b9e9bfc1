// And no more.
// error[gcc]: In instantiation of .*tenon::callable<
// error: tenon::callable: it takes a value for each tensor in feeds\(\.\.\), in that order
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
#ifdef TENON_EXPECT_ERROR
    auto [l] = step(a, a);
#else
    auto [l] = step(a);
#endif
    return l.item();
}
