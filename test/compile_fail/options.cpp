// Options by another name, which C++ itself refuses, and what stands where options do.
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case accumulator_member: Of an accumulator.
// error[gcc]: deleted function .*accumulator\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::accumulator_options>
// error[clang]: no matching .*accumulator
// error: accumulator_options
void program() {
    tn::accumulator<float, tn::shape<3>> sum({.named = "sum"}); // wrong
    tn::accumulator<float, tn::shape<3>> sum({.name = "sum"});  // right
}

// case batch_member: A member of a batch's options by another name.
// error: no matching .*batch
// error: batching_options
auto program() {
    return tn::data::range(10).batch(5, {.drop_rest = true});      // wrong
    return tn::data::range(10).batch(5, {.drop_remainder = true}); // right
}

// case batch_of_how_many: A batch of nobody knows how many.
// error[gcc]: In instantiation of .*batch
// error: tenon::data_set::batch: say how many once, batch<32>\(\) or batch\(32\)
auto program() {
    return tn::data::range(10).batch();  // wrong
    return tn::data::range(10).batch(5); // right
}

// case csv_member: Of a table's.
// error[gcc]: csv_read_options
// error[clang]: no matching function for call to 'csv'|field designator
auto program() {
    return tn::data::csv<float>("x.csv", {.skip_header = 1});       // wrong
    return tn::data::csv<float>("x.csv", {.skip_header_lines = 1}); // right
}

// case csv_names: Names of columns without their types.
// error: deleted function.*csv
// error: names come with types: csv\(file, columns<float, int>\("a", "b"\)\)
auto program() {
    return tn::data::csv("x.csv", {"a", "b"});                                       // wrong
    return tn::data::csv("x.csv", tn::data::columns<float, std::int32_t>("a", "b")); // right
}

// case dropout_rate: A rate that is not said.
// error: deleted
// error: say how many are dropped: dropout\(0.5\)
auto program() {
    return tn::nn::dropout();    // wrong
    return tn::nn::dropout(0.5); // right
}

// case dropout_of_tensor: The layer and its call in one.
// error: deleted
// error: say how many are dropped: dropout\(0.5\)
auto program(const images& x) {
    return tn::nn::dropout(x, 0.5);                   // wrong
    return tn::nn::dropout(0.5)(x, tn::nn::training); // right
}

// case load_member: Of what is loaded.
// error[gcc]: load_options
// error[clang]: field designator 'partially' does not refer to any field .* did you mean 'partial'
void program(tn::session& s) {
    tn::load_variables(s, "x.safetensors", {.partially = true}); // wrong
    tn::load_variables(s, "x.safetensors", {.partial = true});   // right
}

// case load_exchanged: The file before the session.
// error: tenon::session
void program(tn::session& s) {
    tn::load_variables("x.safetensors", s); // wrong
    tn::load_variables(s, "x.safetensors"); // right
}

// case minibatches_size: The size alone.
// error[gcc]: In instantiation of .*options_in
// error: tenon: here stand options, in braces and with their names: {.size = 32}
void program(const tn::array<float, tn::shape<100, 2>>& x) {
    tn::minibatches batches(32, x.share());           // wrong
    tn::minibatches batches({.size = 32}, x.share()); // right
}

// case optimiser_numbers: Numbers where an optimiser's options are.
// error[gcc]: deleted function .*adam\(.*first_the_learning_rate_then_options_in_braces
// error[clang]: deleted constructor of .*adam|adam.* uses deleted function
// error[clang]: first_the_learning_rate_then_options_in_braces
auto program() {
    return tn::adam(0.1, 0.9, 0.99);                     // wrong
    return tn::adam(0.1, {.beta1 = 0.9, .beta2 = 0.99}); // right
}

// case optimiser_without_rate: The rate among the options.
// error[gcc]: deleted function .*adam\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::learning_rate>
// error[clang]: deleted constructor of .*adam|adam.* uses deleted function
// error[clang]: first_the_learning_rate_then_options_in_braces
auto program() {
    return tn::adam({.learning_rate = 0.1}); // wrong
    return tn::adam(0.1);                    // right
}

// case optimiser_of_one_number: A factor of momentum.
// error: deleted
// error: a rate alone: gradient_descent\(0.1\); momentum has a factor
auto program() {
    return tn::gradient_descent(0.1, 0.9); // wrong
    return tn::momentum(0.1, 0.9);         // right
}

// case optimiser_member: Of an optimiser.
// error[gcc]: deleted function .*adam\(tenon::learning_rate, .*no_such_member_or_its_value_is_of_another_type_in<tenon::adam_options>
// error[clang]: deleted constructor of .*adam|adam.* uses deleted function
// error[clang]: first_the_learning_rate_then_options_in_braces
// error: adam_options
auto program() {
    return tn::adam(0.1, {.beta = 0.8});  // wrong
    return tn::adam(0.1, {.beta1 = 0.8}); // right
}

// case queue_member: Of a queue.
// error[gcc]: deleted function .*fifo_queue\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::queue_options>
// error[clang]: deleted constructor of .*fifo_queue|fifo_queue.* uses deleted function
// error[clang]: the_capacity_then_options_in_braces_and_with_their_names
// error: queue_options
void program() {
    tn::fifo_queue<float> jobs(10, {.shared = "jobs"});      // wrong
    tn::fifo_queue<float> jobs(10, {.shared_name = "jobs"}); // right
}

// case queue_name: Its name where its options are.
// error[gcc]: deleted function .*fifo_queue\(.*the_capacity_then_options_in_braces_and_with_their_names
// error[clang]: deleted constructor of .*fifo_queue|fifo_queue.* uses deleted function
// error[clang]: the_capacity_then_options_in_braces_and_with_their_names
// error: queue_options
void program() {
    tn::fifo_queue<float> jobs(10, "jobs");           // wrong
    tn::fifo_queue<float> jobs(10, {.name = "jobs"}); // right
}

// case minibatches_member: Of batches of arrays.
// error: no matching .*minibatches|no viable .*minibatches
// error: minibatch_options|minibatches\(const O
void program(const tn::array<float, tn::shape<100, 2>>& x) {
    tn::minibatches batches({.sized = 32}, x.share()); // wrong
    tn::minibatches batches({.size = 32}, x.share());  // right
}

// case normalisation_value: The value of an option of another type.
// error[gcc]: deleted function .*layer_norm\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::nn::normalization_options>
// error[clang]: deleted constructor of .*layer_norm|layer_norm.* uses deleted function
// error[clang]: options_in_braces_sizes_are_those_of_what_it_is_called_with
auto program() {
    return tn::nn::layer_norm({.epsilon = "small"}); // wrong
    return tn::nn::layer_norm({.epsilon = 1e-6});    // right
}

// case normalisation_size: The features, which follow from what it is called with.
// error[gcc]: deleted function .*batch_norm\(.*options_in_braces_sizes_are_those_of_what_it_is_called_with
// error[clang]: deleted constructor of .*batch_norm|batch_norm.* uses deleted function
// error[clang]: options_in_braces_sizes_are_those_of_what_it_is_called_with
auto program() {
    return tn::nn::batch_norm(64);                // wrong
    return tn::nn::batch_norm({.momentum = 0.9}); // right
}

// case queue_runner_member: Of what fills a queue.
// error[gcc]: deleted function .*queue_runner\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::queue_runner_options>
// error[clang]: no matching .*queue_runner
void program(const tn::fifo_queue<float>& jobs, const tn::operation& put) {
    tn::queue_runner runner(jobs.untyped(), {put}, {.queues = 3});      // wrong
    tn::queue_runner runner(jobs.untyped(), {put}, {.waited_for = {}}); // right
}

// case placement_member: Of what places variables.
// error[gcc]: deleted function .*replica_device_setter\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::replica_device_options>
// error[clang]: no matching .*replica_device_setter
auto program() {
    return tn::replica_device_setter(2, {.ps = "/job:ps"});        // wrong
    return tn::replica_device_setter(2, {.ps_device = "/job:ps"}); // right
}

// case reader_member: Of a reader.
// error[gcc]: deleted function .*text_line_reader\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::text_line_reader_options>
// error[clang]: deleted constructor of .*text_line_reader|text_line_reader.* uses deleted function
// error[clang]: options_in_braces_its_files_names_come_from_a_queue
void program() {
    tn::text_line_reader lines({.skip = 1});              // wrong
    tn::text_line_reader lines({.skip_header_lines = 1}); // right
}

// case reader_file: A reader is given a file.
// error[gcc]: deleted function .*text_line_reader\(.*options_in_braces_its_files_names_come_from_a_queue
// error[clang]: deleted constructor of .*text_line_reader|text_line_reader.* uses deleted function
// error[clang]: options_in_braces_its_files_names_come_from_a_queue
void program() {
    tn::text_line_reader lines("a.txt"); // wrong
    tn::text_line_reader lines;          // right: its files' names come from a queue, lines.read(names)
}

// case saver_member: Of a saver.
// error[gcc]: deleted function .*saver\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::saver_options>
// error[clang]: no matching .*saver
void program() {
    tn::saver saver("run/model", {.max_to_keep = 3}); // wrong
    tn::saver saver("run/model", {.keep = 3});        // right
}

// case session_member: Of a session.
// error[gcc]: deleted function .*session\(.*no_such_member_or_its_value_is_of_another_type_in<tenon::session_options>
// error[clang]: no matching .*session
// lines: 15
void program() {
    tn::session s({.threads = 1});          // wrong
    tn::session s({.intra_op_threads = 1}); // right
}

// case steps_of_a_schedule: Numbers where a schedule's options are.
// error[gcc]: tenon::exponential_decay_options
// error[clang]: too many arguments
auto program() {
    return tn::exponential_decay(0.1, 1000, 0.9);                      // wrong
    return tn::exponential_decay(0.1, {.steps = 1000, .factor = 0.9}); // right
}

// case warm_up_exchanged: How many steps before what rate.
// error[gcc]: In instantiation of .*linear_warmup
// error: tenon::linear_warmup: first the rate, then the steps: linear_warmup\(rate, 50\)
auto program() {
    const auto rate = tn::cosine_decay(0.02, {.steps = 100});
    return tn::linear_warmup(50, rate); // wrong
    return tn::linear_warmup(rate, 50); // right
}

// case variable_member: Of a variable.
// error[gcc]: deleted function .*variable\(.*no_such_member_or_its_value_is_of_another_type_in<variable_options>
// error[clang]: no matching .*variable
// error: variable_options
void program() {
    tn::variable<float, tn::shape<3>>("w", tn::zeros(), {.trainble = false});  // wrong
    tn::variable<float, tn::shape<3>>("w", tn::zeros(), {.trainable = false}); // right
}
