// A feed names its tensor by the handle.
// error[gcc]: In instantiation of .*tenon::feed\(
// error: tenon::feed: first the tensor that is fed, by its handle, not by its name, then its value: feed\(x, value\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const std::string name = "x";
#ifdef TENON_EXPECT_ERROR
    return s.run(tn::feed(name, a), mean(x));
#else
    return s.run(tn::feed(x, a), mean(x));
#endif
}
