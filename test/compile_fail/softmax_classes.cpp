// error[gcc]: softmax_cross_entropy: numbers of classes differ: \[batch, 10\] x \[batch, 11\]
// error[clang]: softmax_cross_entropy_op, tenon::fault::classes_differ, .*size<10>>, .*size<11>
#include <tenon/ops/rows/softmax.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using weights = tn::tensor<float, tn::shape<batch, 11>>;
#else
using weights = tn::tensor<float, tn::shape<batch, 10>>;
#endif
auto loss(const tn::tensor<float, tn::shape<batch, 10>>& logits, const weights& p) {
    return tn::softmax_cross_entropy(logits, p);
}
