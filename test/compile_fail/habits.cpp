// What one writes who comes from other libraries.
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case activation_by_name: An activation's name.
// error[gcc]: In instantiation of .*dense
// error: tenon::nn::dense: first the activation, a function of tensors such as nn::relu, then options
auto program(const images& x) {
    return nn::dense<10>("relu")(x);   // wrong
    return nn::dense<10>(nn::relu)(x); // right
}

// case assigned: A variable that is assigned to.
// error[gcc]: use of deleted function .*operator=
// error[clang]: overload resolution selected deleted operator '='
// error: run what changes it: w.assign\(x\)
void program(tn::variable_tensor<float, tn::shape<3>>& w) {
    w = w * 2.0f;       // wrong
    w.assign(w * 2.0f); // right
}

// case assigned_add: And what is added to it.
// error[gcc]: use of deleted function .*operator\+=
// error[clang]: overload resolution selected deleted operator '\+='
// error: run what changes it: w.assign_add\(x\)
void program(tn::variable_tensor<float, tn::shape<3>>& w) {
    w += 1.0f;          // wrong
    w.assign_add(1.0f); // right
}

// case clipped_tensor: A tensor whose norm is bounded.
// error[gcc]: In instantiation of .*gradients_are_clipped
// error: tenon: gradients are clipped, clip_by_norm\(opt.compute_gradients\(loss\), 5\); of a tensor write clip
auto program(const images& x) {
    const tn::adam opt(0.1);
    return tn::clip_by_global_norm(mean(x), 5);                        // wrong
    return tn::clip_by_global_norm(opt.compute_gradients(mean(x)), 5); // right
}

// case concatenated_list: Tensors in braces.
// error[gcc]: In instantiation of .*tensors_are_given_one_by_one
// error: tenon: tensors are given one by one: concat<1>\(x, y\)
auto program(const images& x) {
    return tn::concat<1>({x, x}); // wrong
    return tn::concat<1>(x, x);   // right
}

// case constant_of_tensor: A tensor that is made a tensor.
// error[gcc]: In instantiation of .*constant
// error: tenon::constant: it makes a tensor of numbers, texts or an array; this is a tensor
auto program(const images& x) {
    return tn::constant(x); // wrong
    return x;               // right
}

// case gradients_without_variables: Gradients as `gradients` gives them.
// error[gcc]: In instantiation of .*apply_gradients
// error: tenon::optimizer::apply_gradients: it takes gradients with their variables, which compute_gradients\(loss\) gives
auto program(const images& x) {
    const tn::adam opt(0.1);
    return opt.apply_gradients(tn::gradients(mean(x), x));      // wrong
    return opt.apply_gradients(opt.compute_gradients(mean(x))); // right
}

// case item: A tensor's number.
// error[gcc]: use of deleted function .*item
// error[clang]: attempt to use a deleted function|call to deleted member function 'item'
// error: nothing runs here: session.run\(x\).item\(\)
auto program(tn::session& s, const images& x) {
    return mean(x).item();        // wrong
    return s.run(mean(x)).item(); // right
}

// case layer_window: A convolution whose window is not said.
// error[gcc]: In instantiation of .*conv2d
// error: tenon::nn::conv2d: say the window: conv2d<64, 3>\(nn::relu\)
auto program() {
    return nn::conv2d<8>(nn::relu);    // wrong
    return nn::conv2d<8, 3>(nn::relu); // right
}

// case negative_size: A size that is to follow from the others.
// error[gcc]: In instantiation of .*tenon::shape<-1, 28, 28>
// error: tenon::shape: a size is not negative: .* one that follows from the others in reshape is deduce
auto program(const images& x) {
    return relu(tn::reshape<tn::shape<-1, 28, 28>>(x));         // wrong
    return relu(tn::reshape<tn::shape<tn::deduce, 28, 28>>(x)); // right
}

// case negative_size_fed: A size that the data tell.
// error[gcc]: In instantiation of .*tenon::shape<-1, 784>
// error: tenon::shape: a size is not negative: one that the data tell has a name, shape<batch, 784>, or is dyn
auto program() {
    return relu(tn::placeholder<float, tn::shape<-1, 784>>("x"));    // wrong
    return relu(tn::placeholder<float, tn::shape<batch, 784>>("x")); // right
}

// case layer_of_tensor: A layer that is made of the tensor it is to be called with.
// error[gcc]: In instantiation of .*dense
// error: tenon::nn::dense: .* the layer is called with a tensor: dense<300>\(\)\(x\)
auto program(const images& x) {
    return nn::dense<10>(x);   // wrong
    return nn::dense<10>()(x); // right
}

// case layer_of_images: And a convolution.
// error[gcc]: In instantiation of .*conv2d
// error: tenon::nn::conv2d: .* the layer is called with a tensor: conv2d<64, 3>\(nn::relu\)\(x\)
auto program(const tn::tensor<float, tn::shape<batch, 8, 8, 1>>& x) {
    return nn::conv2d<8, 3>(x);   // wrong
    return nn::conv2d<8, 3>()(x); // right
}

// case number_of_row: A row by its number, with the function.
// error[gcc]: In instantiation of .*gather
// error: tenon::gather: what is gathered is said by a tensor of integers
auto program(const images& x) {
    return tn::gather(x, 0);               // wrong
    return tn::gather(x, tn::constant(0)); // right
}

// case on_a_number: A device by its number.
// error[gcc]: In instantiation of .*tenon::on
// error: tenon::on: a device has a name: on\(.*/gpu:0
auto program(const images& x) {
    return tn::on(0, [&] { return x * 2.0f; });        // wrong
    return tn::on("/gpu:0", [&] { return x * 2.0f; }); // right
}

// case on_a_device: A tensor that is to be on a device.
// error[gcc]: In instantiation of .*tenon::on
// error: tenon::on: what is made there is a function: on\(.*/gpu:0.*, \[&\] \{ return x \* 2.0f; \}\)
auto program(const images& x) {
    return tn::on("/gpu:0", x * 2.0f);                 // wrong
    return tn::on("/gpu:0", [&] { return x * 2.0f; }); // right
}

// case printed: First what is said, then the tensor.
// error[gcc]: In instantiation of .*print
// error: tenon::print: first the tensor, which it gives again: print\(x, .*x is.*, more..\)
auto program(const images& x) {
    return tn::print("x is", x); // wrong
    return tn::print(x, "x is"); // right
}

// case printed_alone: A tensor whose value is to be seen at once.
// error[gcc]: In instantiation of .*print
// error: tenon::print: say what it is: print\(x, .*x is.*, which gives x again; or run x: session.run\(x\)
auto program(const images& x) {
    return tn::print(x);         // wrong
    return tn::print(x, "x is"); // right
}

// case row: A row by its number.
// error[gcc]: use of deleted function .*operator\[\]
// error[clang]: overload resolution selected deleted operator '\[\]'
// error: rows: gather\(x, constant\(0\)\), slice<range\{0, 10\}>\(x\)
auto program(const images& x) {
    return x[0];                           // wrong
    return tn::gather(x, tn::constant(0)); // right
}

// case sliced: Where a slice begins and ends, as arguments.
// error[gcc]: In instantiation of .*slice
// error: tenon::slice: ranges are template arguments: write slice<range\{0, 10\}>\(x\)
auto program(const images& x) {
    return tn::slice(x, 0, 10);            // wrong
    return tn::slice<tn::range{0, 10}>(x); // right
}

// case sliced_by_numbers: Numbers where a range is.
// error[gcc]: In instantiation of .*slice
// error: tenon::slice: a range for each axis: write slice<range\{0, 10\}>\(x\)
auto program(const images& x) {
    return tn::slice<0, 10>(x);            // wrong
    return tn::slice<tn::range{0, 10}>(x); // right
}

// case stacked_vector: A list of tensors.
// error[gcc]: In instantiation of .*tensors_are_given_one_by_one
// error: tenon: tensors are given one by one: .*stack<0>\(x, y\)
auto program(const std::vector<tn::tensor<float, tn::shape<3>>>& rows) {
    return tn::stack<0>(rows);                                // wrong
    return tn::untyped::stack({rows.begin(), rows.end()}, 0); // right
}

// case bounds: In braces.
// error[gcc]: In instantiation of .*clip
// error: tenon::clip: the least and the largest value: clip\(x, 0.0f, 1.0f\)
auto program(const images& x) {
    return mean(tn::clip(x, {0.0f, 1.0f})); // wrong
    return mean(tn::clip(x, 0.0f, 1.0f));   // right
}

// case bound: And one of them.
// error[gcc]: In instantiation of .*clip
// error: tenon::clip: the least and the largest value: clip\(x, 0.0f, 1.0f\)
auto program(const images& x) {
    return mean(tn::clip(x, 1.0f));        // wrong
    return mean(tn::clip(x, -1.0f, 1.0f)); // right
}

// case condition_alone: Where something is true.
// error[gcc]: In instantiation of .*where
// error: tenon::where: a condition, then two tensors, or a tensor and a number: where\(x > 0.0f, x, 0.0f\)
auto program(const images& x) {
    return tn::where(x > 0.0f);   // wrong
    return tn::nonzero(x > 0.0f); // right
}

// case gradients_beside_variables: Variables behind their gradients.
// error[gcc]: In instantiation of .*apply_gradients
// error: tenon::optimizer::apply_gradients: it takes gradients with their variables, which compute_gradients\(loss\) gives
auto program(const images& x, const tn::variable_tensor<float, tn::shape<3>>& w) {
    const tn::adam opt(0.1);
    const auto loss = mean(w) * mean(x);
    return opt.apply_gradients(tn::gradients(loss, w), w);   // wrong
    return opt.apply_gradients(opt.compute_gradients(loss)); // right
}

// case rows: Rows by their numbers.
// error[gcc]: In instantiation of .*gather
// error: tenon::gather: what is gathered is said by a tensor of integers: gather\(x, constant\(\{0, 2\}\)\)
auto program(const images& x) {
    return mean(tn::gather(x, {0, 2}));               // wrong
    return mean(tn::gather(x, tn::constant({0, 2}))); // right
}

// case training: Whether a model is trained.
// error[gcc]: In instantiation of .*layer_list
// error: tenon::nn::sequential: what it is called for is a phase: model\(x, nn::training\)
auto program(const images& x) {
    const auto model = nn::sequential(nn::dense<10>(), nn::dropout(0.5));
    return mean(model(x, true));         // wrong
    return mean(model(x, nn::training)); // right
}

// case values_assigned: Values in braces.
// error[gcc]: In instantiation of .*what is given is no tensor: constant\(x\) makes one of a number or a text
// error[clang]: what_is_given_is_no_tensor
void program(const tn::variable_tensor<float, tn::shape<3>>& w) {
    w.assign({1.0f, 2.0f, 3.0f});               // wrong
    w.assign(tn::constant({1.0f, 2.0f, 3.0f})); // right
}
