// error[gcc]: top_k: there are fewer elements along the last axis than k: float\[batch, 10\]
// error[clang]: top_k_op, tenon::fault::in_own_words, .*fewer_than_k>, .*batch, .*size<10>
#include <tenon/ops/reduce/top_k.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto largest(const tn::tensor<float, tn::shape<batch, 10>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::top_k<11>(x);
#else
    return tn::top_k<10>(x);
#endif
}
