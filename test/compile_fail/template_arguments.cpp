// What is a template argument here, and an ordinary one in other libraries.
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case arange: How many there are.
// error[gcc]: In instantiation of .*arange
// error: tenon::arange: element type and number are template arguments: write arange<float, 10>\(\)
auto program() {
    return exp(tn::arange(10));          // wrong
    return exp(tn::arange<float, 10>()); // right
}

// case axes_in_braces: Axes in braces; clang sees no expression there.
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error[gcc]: tenon: an axis is a template argument: write sum<1>\(x\)
// error[clang]: expected expression
auto program(const images& x) {
    return tn::mean<{0, 1}>(x); // wrong
    return tn::mean<0, 1>(x);   // right
}

// case axis_of_concat: The name of a size.
// error[gcc]: In instantiation of .*the_axis_is_a_template_argument
// error: tenon: the axis is a template argument: write concat<1>\(x, y\)
auto program(const images& x) {
    return exp(tn::concat<batch>(x, x)); // wrong
    return exp(tn::concat<0>(x, x));     // right
}

// case depth: How many classes there are.
// error[gcc]: In instantiation of .*a_count_is_a_template_argument
// error: tenon: depths, counts and windows are template arguments: write one_hot<10>\(x\)
auto program(const tn::tensor<std::int32_t, tn::shape<batch>>& x) {
    return tn::one_hot(x);     // wrong
    return tn::one_hot<10>(x); // right
}

// case element: What is no element type.
// error[gcc]: In instantiation of .*cast
// error: tenon::cast: elements are float, double, half, bfloat16, bool, std::string, or std::int8_t to std::uint64_t
auto program(const images& x) {
    return tn::cast<char>(x) * x;  // wrong
    return tn::cast<float>(x) * x; // right
}

// case element_as_value: A value that says an element type.
// error[gcc]: In instantiation of .*placeholder
// error: tenon::placeholder: its element type is a type: write placeholder<float, shape<batch, 784>>\(name\)
auto program() {
    return exp(tn::placeholder<tn::element_type::float32, tn::shape<batch, 784>>("x")); // wrong
    return exp(tn::placeholder<float, tn::shape<batch, 784>>("x"));                     // right
}

// case element_in_words: Its name.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto program() {
    return tn::zeros("float", {2, 3});          // wrong
    return tn::zeros<float, tn::shape<2, 3>>(); // right
}

// case embedding: Rows and their elements.
// error[gcc]: In instantiation of .*embedding
// error: tenon::nn::embedding: the numbers of rows and of their elements are template arguments: embedding<20000, 64>\(\)
auto program() {
    return nn::embedding(1000, 64);   // wrong
    return nn::embedding<1000, 64>(); // right
}

// case embedding_width: One of the two.
// error[gcc]: In instantiation of .*embedding
// error: tenon::nn::embedding: the numbers of rows and of their elements are template arguments: embedding<20000, 64>\(\)
auto program() {
    return nn::embedding<1000>(64);   // wrong
    return nn::embedding<1000, 64>(); // right
}

// case eye: How many rows.
// error[gcc]: In instantiation of .*eye
// error: tenon::eye: element type and size are template arguments: write eye<float, 3>\(\)
auto program() {
    return tn::eye(3) * 2.0f;          // wrong
    return tn::eye<float, 3>() * 2.0f; // right
}

// case full: Sizes.
// error[gcc]: In instantiation of .*full
// error: tenon::full: the sizes are a template argument: write full<shape<2, 3>>\(1.0f\)
auto program() {
    return tn::full({2, 3}, 1.0f);          // wrong
    return tn::full<tn::shape<2, 3>>(1.0f); // right
}

// case linspace: How many.
// error[gcc]: In instantiation of .*linspace
// error: tenon::linspace: element type and number are template arguments: write linspace<float, 10>\(first, last\)
auto program() {
    return exp(tn::linspace(0, 1, 10));        // wrong
    return exp(tn::linspace<float, 10>(0, 1)); // right
}

// case margins: Numbers where margins are.
// error[gcc]: In instantiation of .*pad
// error: tenon::pad: it is written pad<margin\{1, 2\}>\(x\), with a margin for each axis
auto program(const images& x) {
    return tn::pad<1, 1>(x);                               // wrong
    return tn::pad<tn::margin{0, 0}, tn::margin{1, 1}>(x); // right
}

// case pool: A window.
// error[gcc]: In instantiation of .*no_window
// error: tenon::nn: the window of a pool is a template argument: max_pool<2>\(\)
auto program(const tn::tensor<float, tn::shape<batch, 8, 8, 1>>& x) {
    return nn::sequential(nn::max_pool(2), nn::flatten())(x);   // wrong
    return nn::sequential(nn::max_pool<2>(), nn::flatten())(x); // right
}

// case pool_without_window: And none.
// error[gcc]: In instantiation of .*no_window
// error: tenon::nn: the window of a pool is a template argument: max_pool<2>\(\)
auto program(const tn::tensor<float, tn::shape<batch, 8, 8, 1>>& x) {
    return nn::average_pool()(x);    // wrong
    return nn::average_pool<2>()(x); // right
}

// case recurrent: The size of a state.
// error[gcc]: In instantiation of .*lstm
// error: tenon::nn::lstm: the size of its state is a template argument: lstm<64>\(\)
auto program() {
    return nn::lstm(64);   // wrong
    return nn::lstm<64>(); // right
}

// case transposed: What is transposed.
// error[gcc]: In instantiation of .*matmul
// error: tenon::matmul: what is transposed is a template argument: write matmul<transpose_b>\(a, b\)
auto program(const images& x) {
    return exp(tn::matmul(x, x, true));            // wrong
    return exp(tn::matmul<tn::transpose_b>(x, x)); // right
}
