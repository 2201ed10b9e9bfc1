// A callable takes two lists.
// error[gcc]: In instantiation of .*callable
// error: tenon::session::callable: it takes two lists: callable\(feeds\(x, \.\.\), fetches\(loss, \.\.\)\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
#ifdef TENON_EXPECT_ERROR
    const auto step = s.callable(x, mean(x));
#else
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
#endif
    auto [l] = step(a);
    return l.item();
}
