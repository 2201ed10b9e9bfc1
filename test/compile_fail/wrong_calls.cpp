// Calls with nothing, with numbers, with functions, with too much, and of layers with what is no tensor.
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;
using array_of_images = tn::array<float, tn::shape<batch, 784>>;

// case activation_called: As PyTorch has it.
// error[gcc]: In instantiation of .*not_called
// error: tenon::nn: an activation is an object: dense<300>\(nn::relu\)
auto program(const images& x) {
    return nn::sequential(nn::dense<10>(), nn::relu())(x); // wrong
    return nn::sequential(nn::dense<10>(), nn::relu)(x);   // right
}

// case arrays_of_another_type: Whose elements would be converted.
// error: deleted
// error: of another element type: a loop converts its elements, or cast<T>\(x\) in a graph
tn::array<float> program() {
    return tn::array<double>(tn::extents{3}); // wrong
    return tn::array<float>(tn::extents{3});  // right
}

// case clone_of_nothing
// error[gcc]: In instantiation of .*clone
// error: tenon::nn::clone: say of what: clone\(model\)
auto program(const images& x) {
    const auto model = nn::sequential(nn::dense<10>());
    return nn::clone()(x);      // wrong
    return nn::clone(model)(x); // right
}

// case cross_entropy_alone: As a function that gives a loss.
// error[gcc]: In instantiation of .*a_loss_takes_two
// error: tenon::nn: first what the model gives, then what it should be: cross_entropy\(logits, labels\)
auto program(const images& x, const tn::tensor<std::int32_t, tn::shape<batch>>& y) {
    return nn::cross_entropy(x);    // wrong
    return nn::cross_entropy(x, y); // right
}

// case element_type_of_cast: An enumerator.
// error[gcc]: In instantiation of .*cast
// error: tenon::cast: the element type is a type: write cast<float>\(x\)
auto program(const images& x) {
    return tn::cast<tn::element_type::float64>(x); // wrong
    return tn::cast<double>(x);                    // right
}

// case element_type_of_sum
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error: tenon: an axis is a template argument
auto program(const images& x) {
    return tn::sum<float>(x); // wrong
    return tn::sum<1>(x);     // right
}

// case fed_with_nothing
// error[gcc]: In instantiation of .*feed
// error: tenon::feed: say the value, too: feed\(x, value\)
auto program(tn::session& s, const images& x, const array_of_images& a) {
    return s.run(tn::feed(), mean(x));     // wrong
    return s.run(tn::feed(x, a), mean(x)); // right
}

// case fit_without_options
// error[gcc]: In instantiation of .*fit_takes
// error: tenon::fit: a session, options, a callable that trains, and its data: fit\(sess, \{.epochs = 10\}, step, batches\)
void program(tn::session& s, const images& x, const array_of_images& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    tn::minibatches batches({.size = 2}, a);
    tn::fit(s, step, batches);                // wrong
    tn::fit(s, {.epochs = 2}, step, batches); // right
}

// case fit_exchanged: Options behind.
// error[gcc]: In instantiation of .*fit_takes
// error: tenon::fit: a session, options, a callable that trains, and its data: fit\(sess, \{.epochs = 10\}, step, batches\)
void program(tn::session& s, const images& x, const array_of_images& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    tn::minibatches batches({.size = 2}, a);
    tn::fit(s, step, batches, {.epochs = 2}); // wrong
    tn::fit(s, {.epochs = 2}, step, batches); // right
}

// case full_of_nothing
// error[gcc]: In instantiation of .*full
// error: tenon::full: say of what: full<shape<2, 3>>\(1.0f\)
auto program() {
    return tn::full<tn::shape<2, 3>>();     // wrong
    return tn::full<tn::shape<2, 3>>(1.0f); // right
}

// case function_as_layer: One of tensors, where a layer is.
// error[gcc]: In instantiation of .*it_takes_a_tensor
// error: tenon: this takes a tensor, .* a layer is an object: nn::relu
auto program(const images& x) {
    return mean(nn::sequential(nn::dense<10>(), tn::relu, nn::dense<3>())(x)); // wrong
    return mean(nn::sequential(nn::dense<10>(), nn::relu, nn::dense<3>())(x)); // right
}

// case layer_of_bool: Whether it is trained.
// error[gcc]: In instantiation of .*no_tensor_or_phase
// error: tenon::nn: a layer is called with a tensor, and what it is called for is a phase: layer\(x, nn::training\)
auto program(const images& x) {
    return nn::batch_norm()(x, true);         // wrong
    return nn::batch_norm()(x, nn::training); // right
}

// case layer_of_data: Of all elements.
// error[gcc]: In instantiation of .*what is given is no tensor
// error[clang]: what_is_given_is_no_tensor
auto program(const tn::data_set<array_of_images>& d) {
    return nn::dense<10>()(d);                                        // wrong
    return nn::dense<10>()(tn::make_one_shot_iterator(d).get_next()); // right
}

// case layers_in_braces
// error[gcc]: In instantiation of .*layers_in_braces
// error: tenon::nn::sequential: layers are given one by one: sequential\(a, b\)
auto program(const images& x) {
    const auto model = nn::sequential({nn::dense<10>(), nn::relu}); // wrong
    const auto model = nn::sequential(nn::dense<10>(), nn::relu);   // right
    return mean(model(x));
}

// case letters_behind: And einsum's letters behind the tensors.
// error[gcc]: In instantiation of .*einsum
// error: tenon::einsum: the letters are a template argument
auto program(const images& x) {
    return tn::einsum(x, x, "bi,bi->b"); // wrong
    return tn::einsum<"bi,bi->b">(x, x); // right
}

// case linear_of_sizes: What other libraries call so.
// error[gcc]: In instantiation of .*linear
// error: tenon::nn::linear: it is the activation x itself; a fully connected layer is nn::dense<300>\(\)
auto program(const images& x) {
    return nn::linear(784, 10)(x); // wrong
    return nn::dense<10>()(x);     // right
}

// case matmul_of_number
// error[gcc]: In instantiation of .*matmul
// error: tenon::matmul: it takes two tensors: matmul\(a, b\); by a number is a \* 2.0f
auto program(const images& x) {
    return tn::matmul(x, 2); // wrong
    return x * 2.0f;         // right
}

// case maximum_of_one
// error[gcc]: In instantiation of .*it_takes_two_tensors
// error: tenon: this takes two tensors, .* the greatest element is max\(x\)
auto program(const images& x) {
    return tn::maximum(x); // wrong
    return tn::max(x);     // right
}

// case mean_of_nothing
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error: tenon: an axis is a template argument
auto program(const images& x) {
    return tn::mean() * x;  // wrong
    return tn::mean(x) * x; // right
}

// case minibatches_of_tensors
// error[gcc]: In instantiation of .*minibatches
// error: tenon::minibatches: first options, then arrays: minibatches\(\{.size = 32\}, xs, ys\)
void program(const images& x, const array_of_images& a) {
    (void)x, (void)a;
    tn::minibatches batches({.size = 32}, x); // wrong
    tn::minibatches batches({.size = 32}, a); // right
    for (const auto& b : batches) (void)b;
}

// case minimize_nothing
// error[gcc]: In instantiation of .*minimize
// error: tenon::optimizer::minimize: say of what: minimize\(loss\)
auto program(const images& x) {
    return tn::adam(0.1).minimize();        // wrong
    return tn::adam(0.1).minimize(mean(x)); // right
}

// case momentum_of_gradient_descent
// error: deleted
// error: a rate alone: gradient_descent\(0.1\); momentum has a factor
auto program(const images& x) {
    return tn::gradient_descent(0.1, {.momentum = 0.9}).minimize(mean(x)); // wrong
    return tn::momentum(0.1, 0.9).minimize(mean(x));                       // right
}

// case moving_average_of_no_decay
// error: deleted
// error: give it a decay: moving_average\(0.999\)
void program() {
    const tn::moving_average average;        // wrong
    const tn::moving_average average(0.999); // right
    (void)average;
}

// case norm_of_no_order
// error[gcc]: In instantiation of .*norm
// error: tenon::norm: the order is a template argument: write norm<2>\(x\)
auto program(const images& x) {
    return tn::norm(x);    // wrong
    return tn::norm<2>(x); // right
}

// case number_in_exp
// error[gcc]: In instantiation of .*it_takes_a_tensor
// error: tenon: this takes a tensor, as relu\(x\) and exp\(constant\(1.0f\)\) do; of a number alone there is std::exp
auto program(const images& x) {
    return tn::exp(1.0) * x;                // wrong
    return tn::exp(tn::constant(1.0f)) * x; // right
}

// case queue_of_no_capacity
// error: deleted
// error: say how many elements it holds: fifo_queue<float>\(10\)
void program() {
    const tn::fifo_queue<float> jobs;     // wrong
    const tn::fifo_queue<float> jobs(10); // right
    (void)jobs;
}

// case shape_compared
// error[gcc]: In instantiation of .*operator==
// error: tenon: a shape is a type: .* those of a tensor x.extents\(\)
bool program(const images& x) {
    return x.type() == tn::shape<batch, 784>();           // wrong
    return x.extents() == tn::shape<batch, 784>::extents; // right
}

// case sizes_of_array
// error: deleted
// error: sizes are extents: array<float>\(extents\{2, 3\}\); elements are in braces
auto program() {
    tn::array<float> a(2, 3);              // wrong
    tn::array<float> a(tn::extents{2, 3}); // right
    return a.size();
}

// case summary_of_array
// error[gcc]: In instantiation of .*summary
// error: tenon::nn::summary: a model, a tensor that it is called with, and a phase
auto program(const images& x, const array_of_images& a) {
    (void)x, (void)a;
    return nn::summary(nn::dense<10>(), a); // wrong
    return nn::summary(nn::dense<10>(), x); // right
}

// case two_tensors_in_model
// error[gcc]: In instantiation of .*layer_list
// error: tenon::nn::sequential: what it is called for is a phase: model\(x, nn::training\), and with is one tensor
auto program(const images& x) {
    return nn::sequential(nn::dense<10>())(x, x); // wrong
    return nn::sequential(nn::dense<10>())(x);    // right
}
