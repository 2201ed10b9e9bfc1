// Training and answering by several: mirrored, parallel, pipelined, replicated, served.
#include <vector>

#include <tenon/models.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case grid_axes: Axes of one grid set members of one struct.
// error[gcc]: In instantiation of .*grid<S>::grid
// error: tenon::grid: all axes are of members of one struct of settings
struct settings {
    float rate = 0;
};
struct others {
    int hidden = 0;
};

int main() {
    const tn::axis rate("rate", &settings::rate, {0.1f, 0.01f});
    const tn::grid points(rate, tn::axis("hidden", &others::hidden, {50})); // wrong
    const tn::grid points(rate);                                            // right
}

// case grid_setting: A setting is what can be shown and kept.
// error[gcc]: In instantiation of .*axis
// error: tenon::axis: a setting is a number, a truth, a text or an enumerator
// lines: 16
struct settings {
    std::vector<int> sizes{};
    int hidden = 0;
};

int main() {
    const tn::axis a("sizes", &settings::sizes, {std::vector<int>{1}}); // wrong
    const tn::axis a("hidden", &settings::hidden, {1});                 // right
}

// case grid_train: What trains takes the settings and the trial.
// error[gcc]: In instantiation of .*run
// error: tenon::grid_search::run: it takes a function of the settings and the trial
struct settings {
    float rate = 0;
};

int main() {
    const tn::grid points(tn::axis("rate", &settings::rate, {0.1f}));
    tn::grid_search search(points, tn::devices_of(tn::task()));
    search.run([](const settings&) {});             // wrong
    search.run([](const settings&, tn::trial&) {}); // right
}

// case mirrored_distribute: A scalar has no rows that replicas could share.
// error[gcc]: distribute: rank is too low: \[\]
// error[clang]: distribute_rule.*rank_too_low
int main() {
    auto x = tn::placeholder<float, tn::shape<>>("x");      // wrong
    auto x = tn::placeholder<float, tn::shape<batch>>("x"); // right
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto parts = mirrored.distribute(x);
    (void)parts;
}

// case mirrored_minimize: What replicas minimise is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[\?\]
// error[clang]: gradients_rule.*loss_must_be_scalar
int main() {
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto losses = mirrored.run(
        [](auto part) {
            auto errors = tn::square(part - tn::variable("w", 1.0f));
            return errors;           // wrong
            return tn::mean(errors); // right
        },
        mirrored.distribute(x));
    auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
}

// case mirrored_run: A mistake in what the replicas compute is told once, whatever is made of it.
// error[gcc]: matmul: inner dimensions differ: \[\?, 3\] x \[4, 1\]
// error[clang]: matmul_op.*inner_dimensions_differ
// lines: 18
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x"); // wrong
    auto x = tn::placeholder<float, tn::shape<batch, 4>>("x"); // right
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto outputs = mirrored.run(
        [](auto part) { return matmul(part, tn::variable<float, tn::shape<4, 1>>("w", tn::glorot_uniform())); },
        mirrored.distribute(x));
    auto losses = mirrored.run([](auto y) { return tn::mean(y); }, outputs);
    auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
    auto joined = mirrored.join(outputs);
    (void)joined;
}

// case parallel_rows: Rows that the devices do not divide.
// error[gcc]: row_parallel_dense: the number of devices does not divide the last size: float\[batch, 7\]
// error[clang]: row_parallel_rule, tenon::fault::in_own_words, .*devices_do_not_divide.*size<7>
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 7>>("x"); // wrong
    const auto x = tn::placeholder<float, tn::shape<batch, 8>>("x"); // right
    const auto y = tn::nn::row_parallel_dense<3>({"/gpu:0", "/gpu:1"})(x);
    (void)y;
}

// case parallel_units: Columns that the devices do not divide.
// error[gcc]: In instantiation of .class tenon::nn::column_parallel_dense_layer<5, 2
// error: tenon::nn::column_parallel_dense: the number of devices does not divide the number of units
int main() {
    const auto layer = tn::nn::column_parallel_dense<5>({"/gpu:0", "/gpu:1"}); // wrong
    const auto layer = tn::nn::column_parallel_dense<6>({"/gpu:0", "/gpu:1"}); // right
    (void)layer;
}

// case pipeline_device: A stage is said with its device.
// error[gcc]: In instantiation of .tenon::ill_shaped tenon::pipeline\(
// error: a stage has a device: write stage\(.?"/gpu:0.?", layer\)
int main() {
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::nn::dense<2>());                      // wrong
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::dense<2>())); // right
    (void)pipe;
}

// case pipeline_loss: What a pipeline minimises is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[\?, 2\]
// error[clang]: gradients_rule.*loss_must_be_scalar
// lines: 16
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::dense<2>()));
    const auto made = pipe.compute_gradients([](const auto& y) { return y * 2.0f; }, x);    // wrong
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x); // right
    (void)made;
}

// case pipeline_micro_batches: Micro-batches that do not divide the rows, where both are known to the compiler.
// error[gcc]: pipeline: the number of micro-batches does not divide the rows: float\[10, 3\] x \[4\]
// error[clang]: micro_batches_rule, tenon::fault::in_own_words, .*do_not_divide.*size<10>
// error[clang]: pipeline_of<4,
// lines: 24
int main() {
    constexpr int parts = 4; // wrong
    constexpr int parts = 5; // right
    const auto x = tn::placeholder<float, tn::shape<10, 3>>("x");
    const auto pipe = tn::pipeline<parts>({}, tn::stage("/gpu:0", tn::nn::dense<2>()));
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x);
    static_assert(std::is_same_v<decltype(made.loss), tn::tensor<float, tn::shape<>>> || parts == 4);
}

// case pipeline_product: A mistake in what a stage's function computes is told once, whatever is made of the pipeline.
// error[gcc]: matmul: inner dimensions differ: \[\?, 3\] x \[4, 1\]
// error[clang]: matmul_op.*inner_dimensions_differ
// lines: 40
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x"); // wrong
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x"); // right
    const auto product = [](const auto& v) {
        return matmul(v, tn::variable<float, tn::shape<4, 1>>("w", tn::glorot_uniform()));
    };
    const auto pipe =
        tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::relu), tn::stage("/gpu:1", product));
    const auto [train, loss] = pipe.minimize(
        tn::gradient_descent(0.1), [](const auto& y) { return tn::mean(y); }, x);
}

// case pipeline_stage: A layer that does not fit what comes into its stage: the first line says which stage, and what is wrong.
// error[gcc]: pipeline: stage 1: dense: a size must be a number here: \[\?, columns\]
// error[clang]: in_stage<1, .*dense_rule, tenon::fault::size_must_be_known, .*columns
// lines: 24
inline constexpr struct columns : tn::dim<"columns"> {} columns;
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, columns>>("x");
    const auto first = [](const auto& v) {
        return v * 2.0f;                                  // wrong
        return tn::reshape<tn::shape<tn::kept<0>, 4>>(v); // right
    };
    const auto pipe =
        tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", first), tn::stage("/gpu:1", tn::nn::dense<3>()));
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x);
    (void)made;
}

// case replicate_number: What builds a replica takes its number.
// error[gcc]: In instantiation of .*replicate
// error: tenon::replicate: it takes a function of the replica's number
int main() {
    tn::replicate({"/cpu:0", "/cpu:1"}, [] { (void)tn::variable("w", 1.0f); });      // wrong
    tn::replicate({"/cpu:0", "/cpu:1"}, [](int) { (void)tn::variable("w", 1.0f); }); // right
}

// case serve_fixed_rows: What a model is fed has rows, as many as a request brings.
// error: model_server
// error: the first dimension of what is fed is the rows of a request, a named size or tn::dyn
void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& fits,
       const tn::tensor<float, tn::shape<1, 784>>& wrong) {
    (void)fits;                                                                   // wrong
    tn::model_server model(s, tn::feeds(wrong), [](auto v) { return v * 2.0f; }); // wrong
    (void)wrong;                                                                  // right
    tn::model_server model(s, tn::feeds(fits), [](auto v) { return v * 2.0f; });  // right
}

// case serve_output_rows: What a model gives has a row for each of its batch: a mean over all rows has none.
// error: model_server
// error: the first dimension of what the function returns must be the rows of the batch
void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x) {
    tn::model_server model(s, tn::feeds(x), [](auto v) { return tn::mean(v); });    // wrong
    tn::model_server model(s, tn::feeds(x), [](auto v) { return tn::mean<1>(v); }); // right
}

// case serve_request_shape: A request to a model is checked as what is fed.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x,
       const tn::array<float, tn::shape<batch, 784>>& fits, const tn::array<float, tn::shape<batch, 300>>& wrong) {
    tn::model_server model(s, tn::feeds(x), [](auto v) { return v * 2.0f; });
    (void)fits;        // wrong
    model(wrong);      // wrong
    (void)wrong;       // right
    model(fits);       // right
    model.start(fits); // right
}
