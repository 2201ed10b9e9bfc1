// Functions that move elements, and those that choose some.
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

// case diagonal_rank
// error[gcc]: tril: rank is too low: \[batch\]
// error[clang]: tril_rule, tenon::fault::rank_too_low, .*batch
inline constexpr struct batch : tn::dim<"batch"> {} batch;
auto f(const tn::tensor<float, tn::shape<batch>>& x, const tn::tensor<float, tn::shape<batch, batch>>& y) {
    return mean(tn::tril(x) + y); // wrong
    return mean(tn::tril(y) + x); // right
}

// case movement_broadcast_to: The complaint shows what was asked for.
// error[gcc]: broadcast_to: sizes do not broadcast: \[batch, 784\] x \[batch, 300\]
// error[clang]: broadcast_to_op, tenon::fault::sizes_do_not_broadcast, .*size<784> ?>, .*asked_sizes<batch, .*size<300> ?>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
auto f(const tn::tensor<float, tn::shape<batch, 784>>& x) {
    return mean(tn::broadcast_to<tn::shape<batch, 300>>(x));    // wrong
    return mean(tn::broadcast_to<tn::shape<2, batch, 784>>(x)); // right
}

// case movement_concat
// error[gcc]: concat: sizes differ: \[batch, 3\] x \[7, 5\]
// error[clang]: concat_op, tenon::fault::sizes_differ, .*batch.*size<3>.*size<7>, .*size<5>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
tn::tensor<float, tn::shape<batch, 3>> left;
tn::tensor<float, tn::shape<7, 5>> right;     // wrong
tn::tensor<float, tn::shape<batch, 5>> right; // right

int main() { (void)tn::concat<1>(left, right); }

// case movement_gather_axis: The complaint shows the axis.
// error[gcc]: gather: axis is out of range: \[1000, 64\] x \[batch\], axis -3
// error[clang]: gather_op, tenon::fault::axis_out_of_range, .*asked_axes<-3>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
auto f(const tn::tensor<float, tn::shape<1000, 64>>& x, const tn::tensor<std::int32_t, tn::shape<batch>>& i) {
    return mean(tn::gather<-3>(x, i)); // wrong
    return mean(tn::gather<-2>(x, i)); // right
}

// case movement_gather_indices
// error[gcc]: gather: element type must be an integer: float\[1000, 64\] x float\[batch\]
// error[clang]: gather_op, tenon::fault::element_type_must_be_integer, .*shown_tensor<float, .*shown_tensor<float,
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using places = float;        // wrong
using places = std::int64_t; // right

tn::tensor<float, tn::shape<1000, 64>> table;
tn::tensor<places, tn::shape<batch>> ids;

int main() { (void)tn::gather(table, ids); }

// case movement_reshape
// error[gcc]: reshape: numbers of elements differ: \[batch, 28, 28\]
// error[clang]: reshape_op, tenon::fault::element_counts_differ, .*batch.*size<28>, .*size<28>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using wanted_sizes = tn::shape<batch, 28>;  // wrong
using wanted_sizes = tn::shape<batch, 784>; // right

tn::tensor<float, tn::shape<batch, 28, 28>> x;

int main() { (void)tn::reshape<wanted_sizes>(x); }

// case movement_split
// error[gcc]: split: size is not divisible: \[7, batch\]
// error[clang]: split_op, tenon::fault::size_not_divisible, .*size<7>, .*batch
inline constexpr struct batch : tn::dim<"batch"> {} batch;
tn::tensor<float, tn::shape<7, batch>> x; // wrong
tn::tensor<float, tn::shape<8, batch>> x; // right

int main() { (void)tn::split<2>(x); }

// case movement_transpose
// error[gcc]: transpose: axes are not a permutation: \[2, 3, 4\]
// error[clang]: transpose_op, tenon::fault::axes_are_not_a_permutation, .*size<2>, .*size<3>, .*size<4>
constexpr int last = 1; // wrong
constexpr int last = 2; // right

tn::tensor<float, tn::shape<2, 3, 4>> x;

int main() { (void)tn::transpose<1, 0, last>(x); }

// case scatter_shape
// error[gcc]: scatter: value does not fit the variable: \[1000, 64\] x \[batch\] x \[batch, 32\]
// error[clang]: scatter_op, tenon::fault::value_does_not_fit_variable, .*<float, .*size<1000>, .*size<64> ?>, .*<int, batch_size>, .*<float, batch_size, .*size<32> ?>
inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
void f(const tn::variable_tensor<float, tn::shape<1000, 64>>& table, const tn::tensor<int, tn::shape<batch>>& ids,
       const tn::tensor<float, tn::shape<batch, 32>>& x) {
    table.scatter_add(ids, x);                   // wrong
    table.scatter_add(ids, tn::concat<1>(x, x)); // right
}

// case selection_mask: A mask has the first of x's sizes.
// error[gcc]: boolean_mask: two different named sizes meet: \[batch, 784\] x \[time\]
// error[clang]: boolean_mask_op>, tenon::fault::named_sizes_differ, .*<float, batch, .*size<784> ?>, .*<bool, steps>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct steps : tn::dim<"time"> {} steps;
auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::tensor<bool, tn::shape<steps>>& wrong,
       const tn::tensor<bool, tn::shape<batch>>& mask) {
    (void)mask;                        // wrong
    return tn::boolean_mask(x, wrong); // wrong
    (void)wrong;                       // right
    return tn::boolean_mask(x, mask);  // right
}

// case selection_mask_type: A mask is of bools, not of numbers.
// error[gcc]: boolean_mask: element type must be bool: float\[7\] x int32\[7\]
// error[clang]: boolean_mask_op>, tenon::fault::element_type_must_be_bool, .*<float, .*size<7> ?>, .*<int, .*size<7> ?>
auto f(const tn::tensor<float, tn::shape<7>>& x, const tn::tensor<std::int32_t, tn::shape<7>>& n) {
    return tn::boolean_mask(x, n);     // wrong
    return tn::boolean_mask(x, n > 0); // right
}

// case selection_unique: unique is of vectors.
// error[gcc]: unique: rank is too high: \[3, 2\]
// error[clang]: unique_op>, tenon::fault::rank_too_high, .*<float, .*size<3>, .*size<2> ?>
void f(const tn::tensor<float, tn::shape<3, 2>>& x) {
    auto [values, indices] = tn::unique(x);                            // wrong
    auto [values, indices] = tn::unique(tn::reshape<tn::shape<6>>(x)); // right
    (void)values, (void)indices;
}

// case slice_producer_sizes: Slices of tensors that are not equally long.
// error[gcc]: slice_input_producer: sizes differ: \[10, 3\] x \[9\]
// error[clang]: equally_long_rule, tenon::fault::sizes_differ
auto f(const tn::tensor<float, tn::shape<10, 3>>& x, const tn::tensor<float, tn::shape<9>>& y) {
    return tn::slice_input_producer(std::tuple{x, y});                           // wrong
    return std::tuple(tn::slice_input_producer(x), tn::slice_input_producer(y)); // right
}
