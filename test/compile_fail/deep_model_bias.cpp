// Fifty layers, and in the 27th a bias of another size.
// error[gcc]: add: sizes do not broadcast: \[batch, 127\] x \[132\]
// error[clang]: opcode::add>, tenon::fault::sizes_do_not_broadcast, .*<float, batch, .*size<127> ?>, .*<float, .*size<132> ?>
#ifdef TENON_EXPECT_ERROR
constexpr int rows_of_27 = 126, bias_of_27 = 132;
#else
constexpr int rows_of_27 = 126, bias_of_27 = 127;
#endif
#include <tenon/tenon.hpp>

#include "deep_model.hpp"
