// The README shows this error: test/examples/readme.cpp holds it to these words.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[gcc]: error: invalid application of 'sizeof' to incomplete type 'tenon::detail::shapes_do_not_agree<tenon::fixed_string<58>\{"matmul: inner
// error[clang]: matmul_op.*inner_dimensions_differ.*shown_tensor<float, batch, .*size<784> ?>, .*shown_tensor<float, .*size<300>, .*size<10> ?>
#include "../../examples/wrong_shape.cpp"
