// Elementwise functions: element types and sizes.
#include <tenon/ops/elementwise/activations.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

// case broadcast
// error[gcc]: add: sizes do not broadcast: \[3, 4\] x \[5\]
// error[clang]: sizes_do_not_broadcast
void program(tenon::tensor<float, tenon::shape<3, 4>> a, tenon::tensor<float, tenon::shape<4>> b,
             tenon::tensor<float, tenon::shape<5>> c) {
    auto fits = a + b;
    auto wrong = relu(a + c) * 2 + b; // wrong: one error, whatever comes after
}

// case composite
// error[gcc]: gelu: element type must be float, double, half or bfloat16: int32\[3\]
// error[clang]: element_type_must_be_floating
void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = gelu(tenon::cast<float>(a));
    auto wrong = gelu(a); // wrong
}

// case element_types
// error[gcc]: subtract: element types differ: float\[3\] x double\[3\]
// error[clang]: element_types_differ
void program(tenon::tensor<float, tenon::shape<3>> a, tenon::tensor<double, tenon::shape<3>> b) {
    auto fits = tenon::cast<double>(a) - b;
    auto wrong = a - b; // wrong
}

// case fraction
// error[gcc]: elementwise\(X&& ...\).* X = \{.*int.*double\}
// error[clang]: a number with a fraction stands beside integers or bools
// error: a number with a fraction stands beside integers or bools
void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = a * 2;
    auto wrong = a * 0.5; // wrong
}

// case integers
// error[gcc]: exp: element type must be float, double, half or bfloat16: int32\[3\]
// error[clang]: element_type_must_be_floating
void program(tenon::tensor<int, tenon::shape<3>> a) {
    auto fits = exp(tenon::cast<float>(a));
    auto wrong = exp(a); // wrong
}

// case named_sizes
// error[gcc]: multiply: two different named sizes meet: \[batch\] x \[time\]
// error[clang]: named_sizes_differ
inline constexpr struct batch_size : tenon::dim<"batch"> {} batch;
inline constexpr struct time_steps : tenon::dim<"time"> {} time_;
void program(tenon::tensor<float, tenon::shape<batch>> a, tenon::tensor<float, tenon::shape<time_>> b) {
    auto fits = a * a;
    auto wrong = a * b; // wrong
}

// case select_condition
// error[gcc]: select: element type must be bool: float\[3\] x float\[3\] x float\[3\]
// error[clang]: element_type_must_be_bool
void program(tenon::tensor<float, tenon::shape<3>> a) {
    auto fits = select(a > 0, a, a);
    auto wrong = select(a, a, a); // wrong
}
