// error[gcc]: sparse_softmax_cross_entropy: element type must be an integer: float\[batch, 10\] x float\[batch\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::element_type_must_be_integer, .*batch, .*size<10>>, .*float, batch
#include <cstdint>
#include <tenon/ops/rows/softmax.hpp>
namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using label = float;
#else
using label = std::int64_t;
#endif
auto loss(const tn::tensor<float, tn::shape<batch, 10>>& logits, const tn::tensor<label, tn::shape<batch>>& y) {
    return tn::sparse_softmax_cross_entropy(logits, y);
}
