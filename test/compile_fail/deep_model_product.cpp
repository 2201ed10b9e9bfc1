// Fifty layers, and in the 27th a product of matrices that do not fit: one error, whose first line says so.
// error[gcc]: matmul: inner dimensions differ: \[batch, 126\] x \[129, 127\]
// error[clang]: matmul_op, tenon::fault::inner_dimensions_differ, .*<float, batch, .*size<126> ?>, .*<float, .*size<129>, .*size<127> ?>
#ifdef TENON_EXPECT_ERROR
constexpr int rows_of_27 = 129, bias_of_27 = 127;
#else
constexpr int rows_of_27 = 126, bias_of_27 = 127;
#endif
#include <tenon/tenon.hpp>

#include "deep_model.hpp"
