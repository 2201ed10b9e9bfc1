// error[gcc]: gather_nd: the last size of the indices, .* is more than there are: float\[4, 5\] x int32\[batch, 3\]
// error[clang]: gather_nd_op, tenon::fault::in_own_words, .*tuples_are_too_long>
#include <tenon/ops/shape/indexed.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<4, 5>>& x, const tn::tensor<std::int32_t, tn::shape<batch, 3>>& threes,
       const tn::tensor<std::int32_t, tn::shape<batch, 2>>& pairs) {
#ifdef TENON_EXPECT_ERROR
    (void)pairs;
    return tn::gather_nd(x, threes);
#else
    (void)threes;
    return tn::gather_nd(x, pairs);
#endif
}
