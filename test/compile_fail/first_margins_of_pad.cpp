// Numbers where margins are.
// error[gcc]: In instantiation of .*tenon::pad\(
// error: tenon::pad: it is written pad<margin\{1, 2\}>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::pad<1, 1>(x, tn::pad_mode::reflect);
#else
    return tn::pad<tn::margin{0, 0}, tn::margin{1, 1}>(x, tn::pad_mode::reflect);
#endif
}
