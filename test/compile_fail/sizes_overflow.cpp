// error[gcc]: concat: the result would take more than 2\^62 bytes: \[4000000000000000000, 2\] x \[4000000000000000000, 2\]
// error[clang]: concat_op, tenon::fault::sizes_overflow

#include <tenon/ops/shape/assembly.hpp>

namespace tn = tenon;

#if defined(TENON_EXPECT_ERROR)
tn::tensor<std::uint8_t, tn::shape<4000000000000000000, 2>> x;
#else
tn::tensor<std::uint8_t, tn::shape<400000000000000000, 2>> x;
#endif

int main() { (void)tn::concat<0>(x, x); }
