// Accumulators, queues and readers: what goes in fits what they are of.
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case accumulator_rows
// error[gcc]: row_accumulator.apply: a gradient of rows is indices, int32 or int64, and values of the indices
// error[clang]: in_words<.*rows_do_not_fit>
void f(const tn::row_accumulator<float, tn::shape<1000, 64>>& sum,
       const tn::tensor<std::int32_t, tn::shape<8>>& indices, const tn::tensor<float, tn::shape<8, 64>>& rows,
       const tn::tensor<float, tn::shape<8, 32>>& narrow) {
    sum.apply(indices, narrow, 0); // wrong
    (void)rows;                    // wrong
    sum.apply(indices, rows, 0);   // right
    (void)narrow;                  // right
}

// case accumulator_shape
// error[gcc]: accumulator.apply: a gradient has the type of the accumulator: .*\[784, 300\].*\[300, 784\]
// error[clang]: in_words<.*gradient_of_another_type>
void f(const tn::accumulator<float, tn::shape<784, 300>>& sum, const tn::tensor<float, tn::shape<300, 784>>& g) {
    sum.apply(g, 0);                  // wrong
    sum.apply(transpose<1, 0>(g), 0); // right
}

// case batch_of_scalars: Many elements at a time of what has no dimension to take them along.
// error[gcc]: In instantiation of .struct tenon::detail::batched_element
// lines: 17
// error: tenon: elements are taken along dimension 0, and a scalar has none
auto f(const tn::tensor<float, tn::shape<>>& x) {
    return tn::input::batch<32, tn::enqueue_as::many>(x); // wrong
    return tn::input::batch<32>(x);                       // right
}

// case prefetch_dynamic: Elements whose sizes are known in the step have no places on a device.
// error[gcc]: In instantiation of .constexpr bool tenon::detail::can_be_prefetched
// error: tenon::prefetch_to_device: the places on the device have sizes that are numbers
auto f(const tn::tensor<float, tn::shape<tn::dyn, 3>>& x) {
    return tn::prefetch_to_device(x, "/gpu:0");                                  // wrong
    return tn::prefetch_to_device(tn::as<float, tn::shape<32, 3>>(x), "/gpu:0"); // right
}

// case queue_component: A tuple's value that is not of its component's type, whatever the others are.
// error[gcc]: enqueue: value does not fit its component: float\[3, 2\] x float\[2, 3\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component, .*<float, .*size<3>, .*size<2> ?>, .*<float, .*size<2>, .*size<3> ?>
auto f(const tn::fifo_queue<std::int32_t, tn::component<float, tn::shape<3, 2>>>& q,
       const tn::tensor<float, tn::shape<2, 3>>& x) {
    return q.enqueue(7, x);            // wrong
    return q.enqueue(7, transpose(x)); // right
}

// case queue_element_type: A queue of float is no queue of double.
// error[gcc]: enqueue: value does not fit its component: float\[batch\] x double\[batch\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component, .*<float, batch>, .*<double, batch>
auto f(const tn::fifo_queue<tn::component<float, tn::shape<batch>>>& q, const tn::tensor<double, tn::shape<batch>>& x) {
    return q.enqueue(x);              // wrong
    return q.enqueue(cast<float>(x)); // right
}

// case queue_equally_many: Along dimension 0, all components have as many elements.
// error[gcc]: enqueue_many: sizes differ: \[batch\] x \[7, 784\]
// error[clang]: enqueue_many_rule::together, tenon::fault::sizes_differ, .*<int, batch>, .*<float, .*size<7>, .*size<784> ?>
using samples = tn::random_shuffle_queue<std::int32_t, tn::component<float, tn::shape<784>>>;
auto f(const samples& q, const tn::tensor<std::int32_t, tn::shape<batch>>& labels,
       const tn::tensor<float, tn::shape<7, 784>>& seven, const tn::tensor<float, tn::shape<batch, 784>>& images) {
    (void)images;                          // wrong
    return q.enqueue_many(labels, seven);  // wrong
    (void)seven;                           // right
    return q.enqueue_many(labels, images); // right
}

// case queue_named_size: A named size of a component is no number, and no other name.
// error[gcc]: enqueue_many: value does not fit its component: float\[length\] x float\[batch, 7\]
// error[clang]: enqueue_many_rule, tenon::fault::value_does_not_fit_component, .*<float, length>, .*<float, batch, .*size<7> ?>
inline constexpr struct length : tn::dim<"length"> {} length;
auto f(const tn::queue<tn::component<float, tn::shape<length>>>& q, const tn::tensor<float, tn::shape<batch, 7>>& wrong,
       const tn::tensor<float, tn::shape<batch, length>>& x) {
    (void)x;                      // wrong
    return q.enqueue_many(wrong); // wrong
    (void)wrong;                  // right
    return q.enqueue_many(x);     // right
}

// case queue_not_typed: What has no type, or is an array, is not enqueued as it is.
// error[gcc]: In instantiation of .*put
// error: tenon::queue: what is enqueued is a tensor, or for a scalar a number or text of its kind
auto f(const tn::fifo_queue<tn::component<float, tn::shape<3>>>& q, const tn::any_tensor& x) {
    return q.enqueue(x);                              // wrong
    return q.enqueue(tn::as<float, tn::shape<3>>(x)); // right
}

// case queue_together: Along dimension 0, all components have as many elements, also where what stands between says nothing.
// error[gcc]: enqueue_many: sizes differ: \[2\] x \[3\]
// error[clang]: enqueue_many_rule::together, tenon::fault::sizes_differ, .*<int, .*size<2> ?>, .*<float, .*size<3> ?>
using samples = tn::fifo_queue<std::int64_t, std::int32_t, float>;
auto f(const samples& q, const tn::tensor<std::int64_t, tn::shape<tn::dyn>>& any,
       const tn::tensor<std::int32_t, tn::shape<2>>& two, const tn::tensor<float, tn::shape<3>>& three,
       const tn::tensor<float, tn::shape<2>>& also_two) {
    (void)also_two;                            // wrong
    return q.enqueue_many(any, two, three);    // wrong
    (void)three;                               // right
    return q.enqueue_many(any, two, also_two); // right
}

// case queue_tuple: A tuple of another number of components.
// error[gcc]: In instantiation of .*put
// error: tenon::queue: give one value for each component of the queue's elements
auto f(const tn::fifo_queue<std::int32_t, std::string>& q, const tn::tensor<std::int32_t, tn::shape<>>& x) {
    return q.enqueue(x);             // wrong
    return q.enqueue(x, "its name"); // right
}

// case queue_up_to: How many dequeue_up_to gives is known in the step.
// error[gcc]: In instantiation of .*dequeue_up_to
// error: tenon::dequeue_up_to: how many it gives is known in the step; write dequeue_up_to\(32\), or dequeue_up_to<batch>\(32\)
auto f(const tn::fifo_queue<float>& q) {
    return q.dequeue_up_to<32>(); // wrong
    return q.dequeue_up_to(32);   // right
}

// case reader_names: File names that are no texts.
// error[gcc]: In instantiation of .*of_names
// error: tenon::reader: file names come from a queue of scalar texts: queue<std::string>
auto f(const tn::text_line_reader& lines, const tn::fifo_queue<std::int64_t>& numbers,
       const tn::fifo_queue<std::string>& names) {
    (void)names;                // wrong
    return lines.read(numbers); // wrong
    (void)numbers;              // right
    return lines.read(names);   // right
}

// case reader_up_to: How many records there are is known in the step only.
// error[gcc]: In instantiation of .*read_up_to
// error: tenon::read_up_to: how many it gives is known in the step; write read_up_to\(names, 32\), or read_up_to<batch>\(names, 32\)
auto f(const tn::text_line_reader& lines, const tn::fifo_queue<std::string>& names) {
    return lines.read_up_to<32>(names, 32); // wrong
    return lines.read_up_to(names, 32);     // right
}
