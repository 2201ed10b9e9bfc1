// An array that is asked for alone.
// error[gcc]: In instantiation of .*run_for
// error: tenon::session: a run takes tensors and operations, and feed\(x, value\) for each that is fed
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void f(tn::session& s, const images& x, const tn::array<float>& a) {
#ifdef TENON_EXPECT_ERROR
    (void)x;
    [[maybe_unused]] const auto r = s.run(a);
#else
    (void)a;
    [[maybe_unused]] const auto r = s.run(x);
#endif
}
