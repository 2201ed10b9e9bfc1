// Arrays where batches are.
// error[gcc]: In instantiation of .*tenon::fit\(
// error: tenon::fit: it takes a callable and its data
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(tn::session& s, const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& a) {
#ifdef TENON_EXPECT_ERROR
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x, x), tn::fetches(sum(x))), a, a);
#else
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x, x), tn::fetches(sum(x))),
                   tn::minibatches({.size = 2}, a, a));
#endif
}
