// Arrays: braces, sizes, text.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case array_arithmetic: Arithmetic of arrays.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors: constant\(a.copy\(\)\) makes one
auto program(const tn::array<float, tn::shape<batch, 4>>& a) {
    return mean((a - 0.5f) / 2.0f);                      // wrong
    return mean((tn::constant(a.copy()) - 0.5f) / 2.0f); // right
}

// case array_beside_untyped: An array beside a tensor whose type is known at run time.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors: constant\(a.copy\(\)\) makes one
auto program(const tn::any_tensor& x, const tn::array<float, tn::shape<3>>& a) {
    return x + a;                      // wrong
    return x + tn::constant(a.copy()); // right
}

// case array_indices: Another number of indices than the type has dimensions.
// error[gcc]: In instantiation of .*flat
// error: tenon::array: it has another number of dimensions than there are indices
float program(const tn::array<float, tn::shape<batch, 4>>& a) {
    return a(0);    // wrong
    return a(0, 1); // right
}

// case array_assigned: A variable that is given an array.
// error[gcc]: In instantiation of .*an array is no tensor: write constant\(a.copy\(\)\), or feed a placeholder
// error[clang]: an_array_is_no_tensor_write_constant_of_its_copy_or_feed_a_placeholder
void program(const tn::variable_tensor<float, tn::shape<3>>& w, const tn::array<float, tn::shape<3>>& a) {
    w.assign(a);                      // wrong
    w.assign(tn::constant(a.copy())); // right
}

// case text_beside_tensor: A text beside a tensor.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors
auto program(const tn::tensor<float, tn::shape<batch>>& x) {
    return exp(x + "1") * 2.0f; // wrong
    return exp(x + 1) * 2.0f;   // right
}

// case array_braces_too_deep: Braces in braces are as many as the array has dimensions.
// error[gcc]: use of deleted function .*write_braces_for_each_dimension
// error[clang]: call to deleted constructor of .*array<int, .*shape<3>>
// error: write_braces_for_each_dimension
void program() {
    const tn::array<int, tn::shape<3>> a{{1, 2, 3}}; // wrong
    const tn::array<int, tn::shape<3>> a{1, 2, 3};   // right
    (void)a;
}

// case array_sizes_in_braces: Numbers in one pair of braces are elements; an array of two dimensions has none such. Were they
// sizes, they stand in parentheses.
// error[gcc]: use of deleted function .*write_sizes_in_parentheses_or_braces_for_each_dimension
// error[clang]: call to deleted constructor of .*array<float, .*shape<batch, 4>>
// error: write_sizes_in_parentheses_or_braces_for_each_dimension
void program() {
    const tn::array<float, tn::shape<batch, 4>> a{64};                                // wrong
    const tn::array<float, tn::shape<batch, 4>> a(64), b{{1, 2, 3, 4}, {5, 6, 7, 8}}; // right
    (void)b;                                                                          // right
    (void)a;
}

// case indexed_sizes
// error[gcc]: take_along_axis: sizes differ: \[batch, 10\] x \[batch, 4\]
// error[clang]: take_along_axis_op, tenon::fault::sizes_differ, .*size<10>.*size<4>
auto f(const tn::tensor<float, tn::shape<batch, 10>>& x, const tn::tensor<std::int64_t, tn::shape<batch, 4>>& i) {
    return tn::take_along_axis<0>(x, i); // wrong
    return tn::take_along_axis<1>(x, i); // right
}

// case indexed_tuples
// error[gcc]: gather_nd: the last size of the indices, .* is more than there are: float\[4, 5\] x int32\[batch, 3\]
// error[clang]: gather_nd_op, tenon::fault::in_own_words, .*tuples_are_too_long>
auto f(const tn::tensor<float, tn::shape<4, 5>>& x, const tn::tensor<std::int32_t, tn::shape<batch, 3>>& threes,
       const tn::tensor<std::int32_t, tn::shape<batch, 2>>& pairs) {
    (void)pairs;                     // wrong
    return tn::gather_nd(x, threes); // wrong
    (void)threes;                    // right
    return tn::gather_nd(x, pairs);  // right
}

// case ninth_dimension
// error[gcc]: expand_dims: a tensor has at most 8 dimensions: \[1, 2, 3, 4, 5, 6, 7, 8\]
// error[clang]: expand_dims_op, tenon::fault::too_many_dimensions
tn::tensor<float, tn::shape<1, 2, 3, 4, 5, 6, 7, 8>> x; // wrong
tn::tensor<float, tn::shape<2, 3, 4, 5, 6, 7, 8>> x;    // right

int main() { (void)tn::repeat<2>(x); }

// case run_of_an_array: An array that is asked for alone.
// error[gcc]: In instantiation of .*run_for
// error: tenon::session: a run takes tensors and operations, and feed\(x, value\) for each that is fed
using images = tn::tensor<float, tn::shape<batch, 784>>;
void f(tn::session& s, const images& x, const tn::array<float>& a) {
    (void)x;                                  // wrong
    [[maybe_unused]] const auto r = s.run(a); // wrong
    (void)a;                                  // right
    [[maybe_unused]] const auto r = s.run(x); // right
}

// case sized_name
// error[gcc]: fill_sizes: a size that is no number must be a named one that an operand has: float\[batch, 10\]
// error[clang]: fill_sizes_op, tenon::fault::in_own_words, .*sizes_are_not_the_operands>
inline constexpr struct steps : tn::dim<"steps"> {} steps;
auto f(const tn::tensor<float, tn::shape<batch, 10>>& x) {
    return tn::zeros<float, tn::shape<steps, 64>>(x); // wrong
    return tn::zeros<float, tn::shape<batch, 64>>(x); // right
}

// case sizes_overflow
// error[gcc]: concat: the result would take more than 2\^62 bytes: \[4000000000000000000, 2\] x \[4000000000000000000, 2\]
// error[clang]: concat_op, tenon::fault::sizes_overflow
tn::tensor<std::uint8_t, tn::shape<4000000000000000000, 2>> x; // wrong
tn::tensor<std::uint8_t, tn::shape<400000000000000000, 2>> x;  // right

int main() { (void)tn::concat<0>(x, x); }

// case array_size_of_number: A size where the type says all.
// error[gcc]: deleted function .*array
// error[clang]: deleted constructor of .*array
// error: an integer for each size that the type leaves open; elements are in braces
void program() {
    tn::array<float, tn::shape<3>> a(5); // wrong
    tn::array<float, tn::shape<3>> a;    // right
}

// case array_of_another_element: An array of other elements.
// error[gcc]: deleted function .*array
// error[clang]: deleted (constructor|function)
// error: of another element type: a loop converts its elements, or cast<T>\(x\) in a graph
void program(const tn::array<float, tn::shape<3>>& a) {
    tn::array<double, tn::shape<3>> b = a.copy(); // wrong
    tn::array<float, tn::shape<3>> b = a.copy();  // right
}

// case text_compared: A text beside a tensor.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors: constant\(a.copy\(\)\) makes one
auto program(const tn::tensor<float, tn::shape<3>>& x) {
    return x == "a";  // wrong
    return x == 1.0f; // right
}

// case texts_compared: A text beside a tensor of texts.
// error[gcc]: In instantiation of .*texts_are_compared_by_string_equal
// error: tenon: texts are compared by string_equal\(x, constant\(text\)\), in tenon/input.hpp
auto program(const tn::tensor<std::string, tn::shape<3>>& x) {
    return x == "a"; // wrong
    return x;        // right
}

// case array_of_tensor: A tensor's value, without a run.
// error[gcc]: use of deleted function .*array
// error[clang]: invokes a deleted function
// error: a tensor has its value in a step: session.run\(x\)
void program(tn::session& s, const tn::tensor<float, tn::shape<3>>& x) {
    const tn::array<float> a = x;        // wrong
    const tn::array<float> a = s.run(x); // right
    (void)a;
}

// case array_of_expression: And of what is computed of tensors, with its sizes.
// error[gcc]: use of deleted function .*array
// error[clang]: invokes a deleted function
// error: a tensor has its value in a step: session.run\(x\)
void program(tn::session& s, const tn::tensor<float, tn::shape<3>>& x) {
    const tn::array<float, tn::shape<3>> a = exp(x);        // wrong
    const tn::array<float, tn::shape<3>> a = s.run(exp(x)); // right
    (void)a;
}

// case result_compared: A step's result beside a number.
// error[gcc]: In instantiation of .*arrays_and_texts_are_no_tensors
// error: tenon: arrays and texts are no tensors
bool program(tn::session& s, const tn::tensor<float, tn::shape<>>& x) {
    return s.run(x) < 0.5f;        // wrong
    return s.run(x).item() < 0.5f; // right
}
