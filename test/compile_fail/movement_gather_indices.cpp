// error[gcc]: gather: element type must be an integer: float\[1000, 64\] x float\[batch\]
// error[clang]: gather_op, tenon::fault::element_type_must_be_integer, .*shown_tensor<float, .*shown_tensor<float,

#include <tenon/ops/shape/gather.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#if defined(TENON_EXPECT_ERROR)
using index = float;
#else
using index = std::int64_t;
#endif

tn::tensor<float, tn::shape<1000, 64>> table;
tn::tensor<index, tn::shape<batch>> ids;

int main() { (void)tn::gather(table, ids); }
