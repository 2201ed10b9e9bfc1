// Batches in another order than the callable is fed.
// lines: 17
// error[gcc]: feed: element types differ: float\[batch\] x int32\[\?\]
// error[clang]: feed_rule, tenon::fault::element_types_differ
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(tn::session& s, const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& a,
       const tn::array<std::int32_t, tn::shape<batch>>& b) {
#ifdef TENON_EXPECT_ERROR
    (void)a;
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x), tn::fetches(sum(x))), tn::minibatches({.size = 2}, b));
#else
    (void)b;
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x), tn::fetches(sum(x))), tn::minibatches({.size = 2}, a));
#endif
}
