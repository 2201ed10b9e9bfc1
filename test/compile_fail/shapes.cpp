// Sizes known by type.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case add
// error[gcc]: add: sizes do not broadcast: \[batch, 784\] x \[300\]
// error[clang]: opcode::add>, tenon::fault::sizes_do_not_broadcast, .*<float, batch, .*size<784> ?>, .*<float, .*size<300> ?>
auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<float, tn::shape<300>>& b) {
    return exp(tanh(x + b) * 2.0f) - b; // wrong: what comes after the mistake says nothing
    return exp(b);                      // right
}

// case dyn_is_no_number: A tensor known less exactly does not stand for one known more exactly without a check.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<tenon::dynamic_size\(\), 784>
// error[clang]: conversion function from .*tensor<.* to .*tensor<.* invokes a deleted function
tn::tensor<float, tn::shape<32, 784>> f(const tn::tensor<float, tn::shape<tn::dyn, 784>>& x) {
    tn::tensor<float, tn::shape<32, 784>> y = x; // wrong
    return y;                                    // wrong
    return tn::as<float, tn::shape<32, 784>>(x); // right
}

// case gradients
// error[gcc]: gradients: what is differentiated must be a scalar: \[batch, 10\]
// error[clang]: gradients_rule, tenon::fault::loss_must_be_scalar, .*<float, batch, .*size<10> ?>
auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::gradients(x, x);       // wrong
    return tn::gradients(mean(x), x); // right
}

// case matmul
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op, tenon::fault::inner_dimensions_differ, .*<float, batch, .*size<784> ?>, .*<float, .*size<300>, .*size<10> ?>
auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<float, tn::shape<300, 10>>& w) {
    return softmax(relu(matmul(x, w))); // wrong
    return x;                           // right
}

// case named_size_is_not_another: Two named sizes are equal exactly when they are the same name.
// error[gcc]: add: two different named sizes meet: \[batch, 3\] x \[time, 3\]
// error[clang]: opcode::add>, tenon::fault::named_sizes_differ, .*<float, batch, .*size<3> ?>, .*<float, time_step, .*size<3> ?>
inline constexpr struct time_step : tn::dim<"time"> {} time_step;
auto f(const tn::tensor<float, tn::shape<batch, 3>>& x, const tn::tensor<float, tn::shape<time_step, 3>>& y) {
    return x + y; // wrong
    return x + x; // right
}

// case reshape
// error[gcc]: reshape: numbers of elements differ: \[6, 784\] x \[6, 28, 27\]
// error[clang]: reshape_op, tenon::fault::element_counts_differ, .*<float, .*size<6>, .*size<784> ?>, .*asked_sizes<.*size<6>, .*size<28>, .*size<27> ?>
auto f(const tn::tensor<float, tn::shape<6, 784>>& x) {
    return mean(reshape<tn::shape<6, 28, 27>>(x)); // wrong
    return mean(reshape<tn::shape<6, 28, 28>>(x)); // right
}

// case too_many
// error: struct tenon::shape<1, 2, 3, 4, 5, 6, 7, 8, 9>|tenon::shape: a tensor has at most 8 dimensions
// error: tenon::shape: a tensor has at most 8 dimensions
[[maybe_unused]] constexpr int rank = tn::shape<1, 2, 3, 4, 5, 6, 7, 8, 9>::rank; // wrong
[[maybe_unused]] constexpr int rank = tn::shape<1, 2, 3, 4, 5, 6, 7, 8>::rank;    // right
