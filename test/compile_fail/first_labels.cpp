// Labels that are no integers, in the layer that is called first.
// error[gcc]: sparse_softmax_cross_entropy: element type must be an integer: float\[batch, 10\] x float\[batch\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::element_type_must_be_integer
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(const tn::tensor<float, tn::shape<batch, 10>>& logits, const tn::tensor<float, tn::shape<batch>>& y) {
#ifdef TENON_EXPECT_ERROR
    return tn::nn::cross_entropy(logits, y);
#else
    return tn::nn::cross_entropy(logits, tn::cast<std::int32_t>(y));
#endif
}
