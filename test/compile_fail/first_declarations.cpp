// Mistakes of first programs: declarations, copies, initializers.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case as_another: A tensor whose type is known is said to be another one.
// error[gcc]: as: element types differ: float\[3\] x int32\[3\]
// error[clang]: as_rule, tenon::fault::element_types_differ
auto program(const tn::tensor<float, tn::shape<3>>& x) {
    return exp(tn::cast<float>(tn::as<std::int32_t, tn::shape<3>>(x))); // wrong
    return exp(tn::as<float, tn::shape<3>>(x));                         // right
}

// case copy: An array is copied by saying so.
// error[gcc]: use of deleted function .*write_copy_or_std_move
// error[clang]: call to deleted constructor of
// error: detail::write_copy_or_std_move = \{\}\) = delete; // a.copy\(\), a.share\(\) or std::move\(a\)
void program(tn::array<float, tn::shape<3>>& a) {
    auto b = a;        // wrong
    auto b = a.copy(); // right
    b(0) = 1;
}

// case copy_by_value: So it is not passed by value as it is.
// error[gcc]: use of deleted function .*write_copy_or_std_move
// error[clang]: call to deleted constructor of
// error: detail::write_copy_or_std_move = \{\}\) = delete; // a.copy\(\), a.share\(\) or std::move\(a\)
void consume(tn::array<float>);
void program(tn::array<float>& a) {
    consume(a);            // wrong
    consume(std::move(a)); // right
}

// case copy_captured: Nor captured.
// error[gcc]: use of deleted function .*write_copy_or_std_move
// error[clang]: call to deleted constructor of
// error: detail::write_copy_or_std_move = \{\}\) = delete; // a.copy\(\), a.share\(\) or std::move\(a\)
auto program(tn::any_array& a) {
    return [a] { return a.rank(); };            // wrong
    return [a = a.copy()] { return a.rank(); }; // right
}

// case declared_elements: The same of element types.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*T2 = double; .*T = float
// error[clang]: 'const tensor<double, .*' to '(const )?tensor<float, .*' invokes a deleted function
// error: declare_auto_or_the_type_it_has
void program(const tn::tensor<double, tn::shape<4>>& x) {
    const tn::tensor<float, tn::shape<4>> t = x;                  // wrong
    const tn::tensor<float, tn::shape<4>> t = tn::cast<float>(x); // right
    (void)t;
}

// case declared_expression: And of expressions.
// error[gcc]: use of deleted function .*S2 = tenon::shape<3>; .*S = tenon::shape<4>
// error[clang]: shape<4>.* to .*shape<3>.* invokes a deleted function
// error: = delete; // it has another type: declare it auto, or with the type it has
void program(const tn::tensor<float, tn::shape<4>>& x) {
    const tn::tensor<float, tn::shape<3>> t = exp(x); // wrong
    const tn::tensor<float, tn::shape<4>> t = exp(x); // right
    (void)t;
}

// case declared_sizes: A tensor is declared with other sizes than it has; both are shown.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<4>; .*S = tenon::shape<3>
// error[clang]: 'const tensor<\[...\], shape<4>>' to '(const )?tensor<\[...\], shape<3>>' invokes a deleted function
// error: declare_auto_or_the_type_it_has
void program(const tn::tensor<float, tn::shape<4>>& x) {
    const tn::tensor<float, tn::shape<3>> t = x; // wrong
    const tn::tensor<float, tn::shape<4>> t = x; // right
    (void)t;
}

// case declared_variable: And of variables.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<784, 10>; .*S = tenon::shape<784, 11>
// error[clang]: to 'variable_tensor<\[...\], shape<\[...\], 11>>' invokes a deleted function
// error: declare_auto_or_the_type_it_has
void program() {
#ifdef TENON_EXPECT_ERROR
    tn::variable_tensor<float, tn::shape<784, 11>> w = tn::variable<float, tn::shape<784, 10>>("w", tn::zeros());
#else
    tn::variable_tensor<float, tn::shape<784, 10>> w = tn::variable<float, tn::shape<784, 10>>("w", tn::zeros());
#endif
    (void)w;
}

// case initializer: A random tensor where it is asked how a variable begins.
// error[gcc]: In instantiation of .*tenon::initializer::initializer\(
// error: tenon: how a variable begins is said by zeros\(\), constant_value\(v\), uniform\(low, high\), normal\(mean, deviation\)
auto weights() {
    return tn::variable<float, tn::shape<784, 10>>("w", tn::random_normal(0, 0.1)); // wrong
    return tn::variable<float, tn::shape<784, 10>>("w", tn::normal(0, 0.1));        // right
}

// case initializer_not_called: A function that makes random tensors, not called.
// error[gcc]: In instantiation of .*variable
// error: tenon::variable: give type, sizes, name and how it begins, zeros\(\), normal\(\), glorot_uniform\(\), ..:
auto weights() {
    return tn::variable<float, tn::shape<784, 10>>("w", tn::random_normal); // wrong
    return tn::variable<float, tn::shape<784, 10>>("w", tn::normal());      // right
}

// case initializer_of_layer: The same as a layer's option.
// error[gcc]: In instantiation of .*tenon::initializer::initializer\(
// error: tenon: how a variable begins is said by zeros\(\), constant_value\(v\), uniform\(low, high\), normal\(mean, deviation\)
auto layer() {
    return tn::nn::dense<10>({.kernel = tn::random_normal<float, tn::shape<784, 10>>()}); // wrong
    return tn::nn::dense<10>({.kernel = tn::normal()});                                   // right
}

// case untyped_declared: An untyped tensor gets its type by as<T, S>(x).
// error[gcc]: use of deleted function .*write_as_or_constant
// error[clang]: invokes a deleted function
// error: write_as_or_constant
void program(const tn::any_tensor& x) {
    const tn::tensor<float, tn::shape<3>> t = x;                              // wrong
    const tn::tensor<float, tn::shape<3>> t = tn::as<float, tn::shape<3>>(x); // right
    (void)t;
}
