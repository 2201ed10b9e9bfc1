// Reductions, softmax, moments.
#include <cstdint>

#include <tenon/input.hpp>
#include <tenon/ops/reduce/reduction.hpp>
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

// case top_k_too_many
// error[gcc]: top_k: there are fewer elements along the last axis than k: float\[batch, 10\]
// error[clang]: top_k_op, tenon::fault::in_own_words, .*fewer_than_k>, .*batch, .*size<10>
auto largest(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::top_k<11>(x); // wrong
    return tn::top_k<10>(x); // right
}
