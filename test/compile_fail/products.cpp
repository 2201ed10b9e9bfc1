// Products of matrices, and what is solved.
#include <cstdint>

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/einsum.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/matmul_float8.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/linear/triangular.hpp>
#include <tenon/ops/linear/windows.hpp>
#include <tenon/ops/rows/softmax.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case convolution_channels
// error[gcc]: conv2d: numbers of channels differ: \[batch, 28, 28, 3\] x \[5, 5, 1, 32\]
// error[clang]: conv2d_op, tenon::fault::channels_differ, .*batch, .*size<28>, .*size<3>>, .*size<5>, .*size<1>, .*size<32>
auto layer(const tn::tensor<float, tn::shape<batch, 28, 28, 3>>& x, const tn::tensor<float, tn::shape<5, 5, 1, 32>>& w,
           const tn::tensor<float, tn::shape<5, 5, 3, 32>>& w3) {
    return tn::conv2d(x, w);  // wrong
    return tn::conv2d(x, w3); // right
}

// case convolution_groups
// error[gcc]: conv2d: channels are not divisible by groups: \[8, 14, 14, 6\] x \[3, 3, 3, 32\]
// error[clang]: conv2d_op, tenon::fault::channels_not_divisible_by_groups, .*size<6>>, .*size<3>, .*size<32>
auto layer(const tn::tensor<float, tn::shape<8, 14, 14, 6>>& x, const tn::tensor<float, tn::shape<3, 3, 3, 32>>& w) {
    return tn::conv2d<tn::conv2d_options{.groups = 4}>(x, w); // wrong
    return tn::conv2d<tn::conv2d_options{.groups = 2}>(x, w); // right
}

// case convolution_rank
// error[gcc]: conv2d: rank must be 4 \(batch, height, width, channels\): \[28, 28, 1\] x \[5, 5, 1, 32\]
// error[clang]: conv2d_op, tenon::fault::rank_must_be_4, .*size<28>, .*size<28>, .*size<1>>, .*size<5>
auto layer(const tn::tensor<float, tn::shape<28, 28, 1>>& one, const tn::tensor<float, tn::shape<1, 28, 28, 1>>& x,
           const tn::tensor<float, tn::shape<5, 5, 1, 32>>& w) {
    return tn::conv2d(one, w); // wrong
    (void)one;                 // right
    return tn::conv2d(x, w);   // right
}

// case convolution_window: A mistake deep in a model is one error: what follows absorbs it.
// error[gcc]: conv2d: window is larger than the padded input: \[8, 4, 4, 3\] x \[5, 5, 3, 32\]
// error[clang]: conv2d_op, tenon::fault::window_larger_than_input, .*size<4>, .*size<5>
auto model(const tn::tensor<float, tn::shape<8, 4, 4, 3>>& x, const tn::tensor<float, tn::shape<5, 5, 3, 32>>& w) {
    const auto a = tn::conv2d(x, w);              // wrong
    const auto a = tn::conv2d<1, tn::same>(x, w); // right
    const auto b = tn::max_pool2d<2>(a);
    const auto c = tn::average_pool2d<2, 1>(b);
    return tn::softmax(tn::global_average_pool(c));
}

// case einsum_sizes: Two sizes of one letter.
// error[gcc]: einsum bij,bjk->bik: j has two sizes: float\[batch, 3, 4\] x float\[batch, 5, 6\]
// error[clang]: einsum_rule<.*in_own_words, .*einsum_letter<'j'>::has_two_sizes.*size<3>, .*size<4>.*size<5>, .*size<6>
int main() {
    const auto a = tn::placeholder<float, tn::shape<batch, 3, 4>>("a");
    const auto b = tn::placeholder<float, tn::shape<batch, 5, 6>>("b"); // wrong
    const auto b = tn::placeholder<float, tn::shape<batch, 4, 6>>("b"); // right
    const auto c = tn::einsum<"bij,bjk->bik">(a, b);
    (void)c;
}

// case linear_not_square: Of matrices that are not square.
// error[gcc]: cholesky: the matrices are not square: float\[batch, 3, 4\]
// error[clang]: cholesky_op, tenon::fault::in_own_words, .*matrices_are_not_square.*size<3>, .*size<4>
int main() {
    const auto a = tn::placeholder<float, tn::shape<batch, 3, 4>>("a"); // wrong
    const auto a = tn::placeholder<float, tn::shape<batch, 4, 4>>("a"); // right
    const auto l = tn::cholesky(a);
    (void)l;
}

// case matmul_batch
// error[gcc]: matmul: two different named sizes meet: \[batch, 2, 3\] x \[heads, 3, 4\]
// error[clang]: matmul_op, tenon::fault::named_sizes_differ, .*batch.*heads
inline constexpr struct heads : tn::dim<"heads"> {} heads;
tn::tensor<float, tn::shape<batch, 2, 3>> left;
tn::tensor<float, tn::shape<heads, 3, 4>> right; // wrong
tn::tensor<float, tn::shape<batch, 3, 4>> right; // right

int main() { (void)tn::matmul(left, right); }

// case matmul_element_types
// error[gcc]: matmul: element types differ: float\[2, 3\] x double\[3, 4\]
// error[clang]: matmul_op, tenon::fault::element_types_differ, .*shown_tensor<float, .*shown_tensor<double,
using other = double; // wrong
using other = float;  // right

tn::tensor<float, tn::shape<2, 3>> left;
tn::tensor<other, tn::shape<3, 4>> right;

int main() { (void)tn::matmul(left, right); }

// case matmul_float8_elements
// error[gcc]: matmul_float8: elements are float, half or bfloat16: double\[2, 3\] x double\[3, 4\]
// error[clang]: in_words<.*matmul_float8_op::what_it_takes>
tn::tensor<double, tn::shape<2, 3>> left;  // wrong
tn::tensor<double, tn::shape<3, 4>> right; // wrong
tn::tensor<float, tn::shape<2, 3>> left;   // right
tn::tensor<float, tn::shape<3, 4>> right;  // right

int main() { (void)tn::matmul_float8(left, right); }

// case matmul_inner_dimensions
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op, tenon::fault::inner_dimensions_differ, .*shown_tensor<float, .*batch.*, .*size<784>>, .*shown_tensor<float, .*size<300>, .*size<10>>
tn::tensor<float, tn::shape<batch, 784>> x;
tn::tensor<float, tn::shape<784, 300>> w1;
tn::tensor<float, tn::shape<300, 10>> w2;

int main() {
    auto y = tn::matmul(tn::matmul(x, w2), w2); // wrong: one complaint, although two calls are mistaken
    auto y = tn::matmul(tn::matmul(x, w1), w2); // right
    (void)y;
}

// case pooling_element
// error[gcc]: average_pool2d: element type must be float, double, half or bfloat16: int32\[1, 4, 4, 6\]
// error[clang]: average_pool2d_op, tenon::fault::element_type_must_be_floating, .*int, .*size<4>
using element = std::int32_t; // wrong
using element = float;        // right
auto layer(const tn::tensor<element, tn::shape<1, 4, 4, 6>>& x) { return tn::average_pool2d<2>(x); }

// case pooling_window
// error[gcc]: max_pool2d: window is larger than the padded input: \[batch, 2, 14, 6\]
// error[clang]: max_pool2d_op, tenon::fault::window_larger_than_input, .*batch, .*size<2>, .*size<14>
auto layer(const tn::tensor<float, tn::shape<batch, 2, 14, 6>>& x) {
    return tn::max_pool2d<3>(x);              // wrong
    return tn::max_pool2d<3, 3, tn::same>(x); // right
}

// case windows_channels: A convolution of lines with windows of other channels.
// error[gcc]: conv1d: numbers of channels differ: \[batch, 100, 8\] x \[5, 4, 16\]
// error[clang]: conv1d_rule<false>, tenon::fault::channels_differ, .*size<100>, .*size<8>.*size<5>, .*size<4>, .*size<16>
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 100, 8>>("x");
    const auto w = tn::placeholder<float, tn::shape<5, 4, 16>>("w"); // wrong
    const auto w = tn::placeholder<float, tn::shape<5, 8, 16>>("w"); // right
    const auto y = tn::conv1d(x, w);
    (void)y;
}
