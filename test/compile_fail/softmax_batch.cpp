// error[gcc]: sparse_softmax_cross_entropy: batch sizes differ: \[50, 10\] x \[64\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::batch_sizes_differ, .*size<50>, .*size<10>>, .*size<64>
#include <cstdint>
#include <tenon/ops/rows/softmax.hpp>
namespace tn = tenon;

#ifdef TENON_EXPECT_ERROR
using labels = tn::tensor<std::int32_t, tn::shape<64>>;
#else
using labels = tn::tensor<std::int32_t, tn::shape<50>>;
#endif
auto loss(const tn::tensor<float, tn::shape<50, 10>>& logits, const labels& y) {
    return tn::sparse_softmax_cross_entropy(logits, y);
}
