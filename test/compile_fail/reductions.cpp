// Reductions, softmax, moments, sorting.
#include <cstdint>

#include <tenon/input.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/reduce/top_k.hpp>
#include <tenon/ops/rows/softmax.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case moments_component: Elements have one component, and that is number 0.
// error[gcc]: In instantiation of .auto tenon::data::moments
// error: tenon::data::moments: give a component's number, from 0, or a member of the struct that elements are
void f() {
    (void)tn::data::moments<1>(tn::data::range(10)); // wrong
    (void)tn::data::moments<0>(tn::data::range(10)); // right
}

// case moments_of_batches: Scalars in batches lie along a dimension whose size is not known, and are no channels.
// error[gcc]: In instantiation of .auto tenon::data::moments
// error: tenon::data::moments: how many channels there are, the last size of the component, must be a number
void f() {
    (void)tn::data::moments<0>(tn::data::range(10).batch(5)); // wrong
    (void)tn::data::moments<0>(tn::data::range(10));          // right
}

// case reduction_axis
// error[gcc]: sum: axis is out of range: \[batch, 10\]
// error[clang]: sum_op, tenon::fault::axis_out_of_range, .*batch.*size<10>
constexpr int axis = 2; // wrong
constexpr int axis = 1; // right

tn::tensor<float, tn::shape<batch, 10>> x;

int main() { (void)tn::sum<axis>(x, tn::keepdims); }

// case reduction_element_type
// error[gcc]: mean: element type must be float, double, half or bfloat16: int32\[4, 10\]
// error[clang]: mean_op, tenon::fault::element_type_must_be_floating, .*shown_tensor<int,
using element = int;   // wrong
using element = float; // right

tn::tensor<element, tn::shape<4, 10>> x;

int main() { (void)tn::mean(x); }

// case softmax_axis
// error[gcc]: softmax: axis is out of range: \[batch, 10\]
// error[clang]: softmax_op, tenon::fault::axis_out_of_range, .*batch, .*size<10>
auto probabilities(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::softmax<2>(x); // wrong
    return tn::softmax<1>(x); // right
}

// case softmax_batch
// error[gcc]: sparse_softmax_cross_entropy: batch sizes differ: \[50, 10\] x \[64\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::batch_sizes_differ, .*size<50>, .*size<10>>, .*size<64>
using labels = tn::tensor<std::int32_t, tn::shape<64>>; // wrong
using labels = tn::tensor<std::int32_t, tn::shape<50>>; // right
auto loss(const tn::tensor<float, tn::shape<50, 10>>& logits, const labels& y) {
    return tn::sparse_softmax_cross_entropy(logits, y);
}

// case softmax_classes
// error[gcc]: softmax_cross_entropy: numbers of classes differ: \[batch, 10\] x \[batch, 11\]
// error[clang]: softmax_cross_entropy_op, tenon::fault::classes_differ, .*size<10>>, .*size<11>
using weights = tn::tensor<float, tn::shape<batch, 11>>; // wrong
using weights = tn::tensor<float, tn::shape<batch, 10>>; // right
auto loss(const tn::tensor<float, tn::shape<batch, 10>>& logits, const weights& p) {
    return tn::softmax_cross_entropy(logits, p);
}

// case softmax_labels
// error[gcc]: sparse_softmax_cross_entropy: element type must be an integer: float\[batch, 10\] x float\[batch\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::element_type_must_be_integer, .*batch, .*size<10>>, .*float, batch
using label = float;        // wrong
using label = std::int64_t; // right
auto loss(const tn::tensor<float, tn::shape<batch, 10>>& logits, const tn::tensor<label, tn::shape<batch>>& y) {
    return tn::sparse_softmax_cross_entropy(logits, y);
}

// case sort_axis
// error[gcc]: sort: axis is out of range: \[batch, 10\], axis 2
// error[clang]: sort_op, tenon::fault::axis_out_of_range, .*asked_axes<2>
auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::sort<2>(x); // wrong
    return tn::sort<1>(x); // right
}

// case top_k_too_many
// error[gcc]: top_k: there are fewer elements along the last axis than k: float\[batch, 10\]
// error[clang]: top_k_op, tenon::fault::in_own_words, .*fewer_than_k>, .*batch, .*size<10>
auto largest(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::top_k<11>(x); // wrong
    return tn::top_k<10>(x); // right
}
