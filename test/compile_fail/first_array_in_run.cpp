// What a run is given beside tensors is fed.
// error[gcc]: In instantiation of .*run_for
// error: tenon::session: a run takes tensors and operations, and feed\(x, value\) for each that is fed
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
#ifdef TENON_EXPECT_ERROR
    return s.run(mean(x), x, a);
#else
    return s.run(mean(x), tn::feed(x, a));
#endif
}
