// error[gcc]: average_pool2d: element type must be float, double, half or bfloat16: int32\[1, 4, 4, 6\]
// error[clang]: average_pool2d_op, tenon::fault::element_type_must_be_floating, .*int, .*size<4>
#include <cstdint>
#include <tenon/ops/linear/pooling.hpp>
namespace tn = tenon;

#ifdef TENON_EXPECT_ERROR
using element = std::int32_t;
#else
using element = float;
#endif
auto layer(const tn::tensor<element, tn::shape<1, 4, 4, 6>>& x) { return tn::average_pool2d<2>(x); }
