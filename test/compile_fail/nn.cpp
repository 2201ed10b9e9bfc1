// Layers and losses.
#include <tenon/models.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case ensemble_answer: A member answers with what the queues are of.
// error[gcc]: enqueue: value does not fit its component: float\[batch, 10\] x float\[batch, 9\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component
// lines: 16
int main() {
    const tn::ensemble_queues<tn::component<float, tn::shape<batch, 784>>, tn::component<float, tn::shape<batch, 10>>>
        queues(tn::ensemble_options{});
    const auto serve = queues.serve(0, [](auto x) { return tn::softmax(tn::nn::dense<9>()(x)); });  // wrong
    const auto serve = queues.serve(0, [](auto x) { return tn::softmax(tn::nn::dense<10>()(x)); }); // right
}

// case ensemble_labels: A label for each row.
// error[gcc]: accuracy: two different named sizes meet: \[batch, 10\] x \[other\]
// error[clang]: accuracy_rule, tenon::fault::named_sizes_differ
inline constexpr struct other : tn::dim<"other"> {} other;
auto f(const tn::tensor<float, tn::shape<batch, 10>>& a, const tn::tensor<std::int32_t, tn::shape<batch>>& labels,
       const tn::tensor<std::int32_t, tn::shape<other>>& wrong) {
    auto e = tn::nn::ensemble(a, a);
    (void)labels;              // wrong
    return e.accuracy(wrong);  // wrong
    (void)wrong;               // right
    return e.accuracy(labels); // right
}

// case ensemble_layers: So do networks that are one layer, when they are called.
// error[gcc]: ensemble: sizes differ: \[batch, 10\] x \[batch, 9\]
// error[clang]: ensemble_rule, tenon::fault::sizes_differ
// lines: 20
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    auto model = tn::nn::ensemble(tn::nn::dense<10>(), tn::nn::dense<9>());  // wrong
    auto model = tn::nn::ensemble(tn::nn::dense<10>(), tn::nn::dense<10>()); // right
    auto p = model(x);
    auto mean = tn::mean(p);
    (void)mean;
}

// case ensemble_shapes: The members of an ensemble say as much of as many classes.
// error[gcc]: ensemble: sizes differ: \[batch, 10\] x \[batch, 9\]
// error[clang]: ensemble_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<10> ?>, .*<float, batch, .*size<9> ?>
auto f(const tn::tensor<float, tn::shape<batch, 10>>& a, const tn::tensor<float, tn::shape<batch, 9>>& wrong) {
    return tn::nn::ensemble(a, wrong).probabilities(); // wrong
    (void)wrong;                                       // right
    return tn::nn::ensemble(a, a).probabilities();     // right
}

// case nn_ctc: Labels that are not two-dimensional: one row a sequence.
// error[gcc]: ctc_loss: logits are \[batch, time, classes\], labels \[batch, most\], times and lengths \[batch\]: .*batch, 20, 5\] x
// error[clang]: ctc_loss_op, tenon::fault::in_own_words, .*operands_are
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 20, 5>>("x");
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
    const auto labels = tn::placeholder<std::int32_t, tn::shape<batch>>("labels");    // wrong
    const auto labels = tn::placeholder<std::int32_t, tn::shape<batch, 7>>("labels"); // right
    const auto loss = tn::nn::ctc(x, labels, lengths, lengths);
    (void)loss;
}

// case nn_deep_model: One mistake in a model of 50 layers: one error, and no more lines than in a small model.
// error[gcc]: max_pool2d: window is larger than the padded input: \[batch, 1, 1, 8\]
// error[clang]: max_pool2d_op.*window_larger_than_input.*shown_tensor<float, batch, .*size<1>, .*size<1>, .*size<8> ?>
constexpr tn::conv2d_options padded{.padding = tn::same};
auto conv() { return nn::conv2d<8, 3, padded>(nn::relu); }
auto eight() { return nn::sequential(conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv()); }

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 4, 4, 3>>("x");
    auto model = nn::sequential(conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                nn::max_pool<4>(), conv(), conv(), conv(), conv(),
                                nn::max_pool<2>(), // wrong
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), nn::flatten(),
                                nn::dense<100>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
    auto logits = model(x);
}

// case nn_dense_size: A dense layer needs to know how many inputs it has.
// error[gcc]: dense: a size must be a number here: \[batch, \?\]
// error[clang]: dense_rule.*size_must_be_known.*shown_tensor<float, batch, .*unknown_size>
using inputs = tn::shape<batch, tn::dyn>; // wrong
using inputs = tn::shape<batch, 784>;     // right

int main() {
    auto x = tn::placeholder<float, inputs>("x");
    auto h = tn::nn::dense<300>(tn::nn::relu)(x);
}

// case nn_labels: Labels of another batch than the predictions'.
// error[gcc]: accuracy: two different named sizes meet: \[batch, 10\] x \[others\]
// error[clang]: accuracy_rule.*named_sizes_differ.*shown_tensor<float, batch, .*size<10> ?>, .*shown_tensor<int, others>
inline constexpr struct others : tn::dim<"others"> {} others;
using labels = tn::shape<others>; // wrong
using labels = tn::shape<batch>;  // right

int main() {
    auto logits = tn::placeholder<float, tn::shape<batch, 10>>("logits");
    auto y = tn::placeholder<std::int32_t, labels>("y");
    auto right = tn::nn::accuracy(logits, y);
}

// case nn_loss: A loss broadcasts nothing: [batch, 1] and [batch] are not the same.
// error[gcc]: mean_squared_error: ranks differ: \[batch, 1\] x \[batch\]
// error[clang]: mean_squared_error_rule.*ranks_differ.*shown_tensor<float, batch, .*size<1> ?>, .*shown_tensor<float, batch>
using target = tn::shape<batch>;    // wrong
using target = tn::shape<batch, 1>; // right

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 5>>("x");
    auto y = tn::placeholder<float, target>("y");
    auto loss = tn::nn::mean_squared_error(tn::nn::dense<1>()(x), y);
}

// case nn_loss_of_rows: Three rows of which one is of another length.
// error[gcc]: triplet: sizes differ: \[batch, 8\] x \[batch, 8\] x \[batch, 9\]
// error[clang]: triplet_rule.*sizes_differ
using far = tn::shape<batch, 9>; // wrong
using far = tn::shape<batch, 8>; // right

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 8>>("x"), y = tn::placeholder<float, tn::shape<batch, 8>>("y");
    auto z = tn::placeholder<float, far>("z");
    auto loss = tn::nn::triplet(x, y, z);
}

// case nn_minimize: What is minimised is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[batch\]
// error[clang]: gradients_rule.*loss_must_be_scalar.*shown_tensor<float, batch>
int main() {
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
    auto w = tn::variable<float, tn::shape<>>("w", tn::ones());
    auto loss = tn::square(x - w);
    auto train = tn::gradient_descent(0.1).minimize(loss);           // wrong
    auto train = tn::gradient_descent(0.1).minimize(tn::mean(loss)); // right
}

// case nn_mixed_precision_of_integers: A model that begins with an embedding.
// error[gcc]: In instantiation of .*mixed_precision_layer
// error: tenon::nn::mixed_precision: the model is called with float; what reads integers, an embedding, comes before it
auto f(const tn::tensor<std::int32_t, tn::shape<batch, 5>>& x) {
    const auto words = tn::nn::embedding<100, 8>();
    return tn::nn::mixed_precision<tn::bfloat16>(tn::nn::sequential(words, tn::nn::dense<10>()))(x); // wrong
    return tn::nn::mixed_precision<tn::bfloat16>(tn::nn::dense<10>())(words(x));                     // right
}

// case nn_mixed_precision_type: Which 16 bits is not said.
// error[gcc]: In instantiation of .*tenon::nn::mixed_precision\(
// error: tenon::nn::mixed_precision: the element type is a template argument: mixed_precision<bfloat16>\(model\)
auto f(const images& x) {
    (void)x;                                                              // wrong
    return tn::nn::mixed_precision(tn::nn::dense<10>());                  // wrong
    return tn::nn::mixed_precision<tn::bfloat16>(tn::nn::dense<10>())(x); // right
}

// case nn_recurrent_result: Both results of a recurrent layer where one goes on.
// error[gcc]: In instantiation of .*a tuple of tensors is no tensor: take it apart, auto \[a, b\] = t
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
auto program(const tn::tensor<float, tn::shape<batch, 5, 8>>& x) {
    return tn::nn::dense<10>()(tn::nn::lstm<16>()(x));          // wrong
    return tn::nn::dense<10>()(tn::nn::lstm<16>()(x).sequence); // right
}

// case nn_recurrent_features: Sequences whose number of features is known in the run only.
// error[gcc]: lstm: features must be a number here, and there is one step at least: float\[batch, time, features\]
// error[clang]: recurrent_rule.*features_are_a_number
inline constexpr struct time_size : tn::dim<"time"> {} time_size;
inline constexpr struct features : tn::dim<"features"> {} features;
using sequences = tn::shape<batch, time_size, features>; // wrong
using sequences = tn::shape<batch, time_size, 8>;        // right

int main() {
    auto x = tn::placeholder<float, sequences>("x");
    auto [all, last] = tn::nn::lstm<16>()(x);
    auto loss = tn::mean(all);
}

// case nn_recurrent_in_sequential: Of what a recurrent layer gives one result goes on.
// lines: 14
// error[gcc]: In instantiation of .*as_layer_input
// error: tenon::nn::sequential: a layer gives no tensor; of lstm and gru all_steps\(lstm<64>\(\)\) or last_step
auto f(const tn::tensor<float, tn::shape<batch, 20, 8>>& x) {
    return tn::nn::sequential(tn::nn::lstm<16>(), tn::nn::dense<2>())(x);                    // wrong
    return tn::nn::sequential(tn::nn::last_step(tn::nn::lstm<16>()), tn::nn::dense<2>())(x); // right
}

// case nn_recurrent_state: A state of another size than the layer's.
// error[gcc]: gru: a state has batch and hidden as its sizes, and the input.*s element type: float\[batch, 20, 8\] x float\[batch, 8\]
// error[clang]: recurrent_rule.*state_is
using begins = tn::shape<batch, 8>;  // wrong
using begins = tn::shape<batch, 16>; // right

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 20, 8>>("x");
    auto h = tn::placeholder<float, begins>("h");
    auto [all, last] = tn::nn::gru<16>()(x, h);
    auto loss = tn::mean(all);
}

// case nn_sequential: A layer that does not fit in the middle of a model: one error, which names the layer and what it was given.
// The layers after it are silent.
// error[gcc]: conv2d: rank must be 4 \(batch, height, width, channels\): \[batch, 784\]
// error[clang]: conv2d_layer_rule.*rank_must_be_4.*shown_tensor<float, batch, .*size<784> ?>
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 28, 28>>("x");
    auto model = nn::sequential(
#ifdef TENON_EXPECT_ERROR
        nn::flatten(),
#else
        nn::reshaped_to<28, 28, 1>(),
#endif
        nn::conv2d<32, 5>(nn::relu), nn::max_pool<2>(), nn::flatten(), nn::dense<10>());
    auto logits = model(x);
}
