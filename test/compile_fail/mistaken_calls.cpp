// Mistakes in calls of layers, optimisers, sessions, loops and data sets.
#include <tenon/debug/benchmark.hpp>
#include <tenon/debug/graph_picture.hpp>
#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case accumulated_exchanged: The optimiser behind the number of runs.
// error[gcc]: In instantiation of .*accumulated
// error: tenon::accumulated: it takes an optimiser, and of how many runs it has the mean gradient: accumulated\(adam\(1e-3\), 4\)
auto program() {
    return tn::accumulated(4, tn::adam(1e-3)); // wrong
    return tn::accumulated(tn::adam(1e-3), 4); // right
}

// case benchmark_number: A number where something that can be called is timed.
// error[gcc]: In instantiation of .*benchmark
// error: tenon::benchmark: a kernel is timed, .*, or what can be called
auto program() {
    return tn::benchmark(1);                     // wrong
    return tn::benchmark([] {}, {.seconds = 1}); // right
}

// case control_dependencies_by_name: What runs before, by its name.
// error[gcc]: In instantiation of .*control_dependencies
// error: tenon::control_dependencies: it takes the operations and tensors that run before
void program(const tn::operation& train) {
    const tn::control_dependencies after("train"); // wrong
    const tn::control_dependencies after(train);   // right
}

// case data_columns_too_many: More names than columns.
// error[gcc]: In instantiation of .*columns
// error: tenon::data::columns: give a name for each column
auto program() {
    return tn::data::columns<float>("x", "y"); // wrong
    return tn::data::columns<float>("x");      // right
}

// case data_zip_number: What is no data set among those that go on together.
// error[gcc]: In instantiation of .*zip
// error: tenon::data::zip: it takes data sets
auto program() {
    return tn::data::zip(tn::data::range(10), 3);                  // wrong
    return tn::data::zip(tn::data::range(10), tn::data::range(3)); // right
}

// case first_array_in_layer: A layer is called with a tensor.
// error[gcc]: In instantiation of .*an array is no tensor: write constant\(a.copy\(\)\), or feed a placeholder
// error[clang]: an_array_is_no_tensor_write_constant_of_its_copy_or_feed_a_placeholder
auto program(const tn::array<float, tn::shape<2, 784>>& a) {
    return tn::nn::dense<10>()(a);                      // wrong
    return tn::nn::dense<10>()(tn::constant(a.copy())); // right
}

// case gradients_of_nothing: With respect to what is not said.
// error[gcc]: In instantiation of .*gradients
// error: tenon::gradients: say with respect to what: gradients\(loss, w, b\)
auto program(const images& x) {
    return tn::gradients(mean(x));    // wrong
    return tn::gradients(mean(x), x); // right
}

// case group_by_name: An operation that has the group's name before it.
// error[gcc]: In instantiation of .*group
// error: tenon::group: it takes operations and tensors
auto program(const tn::operation& train) {
    return tn::group("both", train);          // wrong
    return tn::group({train, train}, "both"); // right
}

// case mermaid_member: A member of a picture's options by another name.
// error[gcc]: picture_options
// error[clang]: field designator 'constant' does not refer to any field .* did you mean 'constants'
auto program(const images& x) {
    return tn::to_mermaid(x, {.constant = true});  // wrong
    return tn::to_mermaid(x, {.constants = true}); // right
}

// case options_of_layer: A member of a layer's options by another name.
// error[gcc]: In function|could not convert|no matching function
// error[gcc]: transformer_block_options
// error[clang]: no matching function for call to 'transformer_block'
// error[clang]: cannot convert initializer list argument to .*transformer_block_options
auto program() {
    return tn::nn::transformer_block<8, 64>({.casual = true}); // wrong
    return tn::nn::transformer_block<8, 64>({.causal = true}); // right
}

// case producer_of_one_text: One text where a list is asked for.
// error[gcc]: In instantiation of .*string_input_producer
// error: tenon::string_input_producer: texts are a list, string_input_producer\(\{.*a.csv.*\}\)
auto program() {
    return tn::string_input_producer("a.csv");   // wrong
    return tn::string_input_producer({"a.csv"}); // right
}

// case session_exchanged: The options before the graph.
// error[gcc]: In instantiation of .*session
// error: tenon::session: it takes a task, several, or a server's target, a graph, and options, all of which may be left out, in this order
auto program(const tn::graph& g) {
    return tn::session(tn::session_options{}, g); // wrong
    return tn::session(g, tn::session_options{}); // right
}

// case variable_without_sizes: A variable whose sizes are not said.
// error[gcc]: In instantiation of .*variable
// error: tenon::variable: give type, sizes, name and how it begins, zeros\(\), normal\(\), glorot_uniform\(\), ..:
auto program() {
    return tn::variable<float>("w", tn::zeros());                // wrong
    return tn::variable<float, tn::shape<10>>("w", tn::zeros()); // right
}

// case while_loop_condition: A condition that is no tensor.
// error[gcc]: In instantiation of .*what is given is no tensor: constant\(x\) makes one of a number or a text
// error[clang]: what_is_given_is_no_tensor
auto program() {
    const auto next = [](const auto& i) { return i + 1; };
    return tn::while_loop([](const auto&) { return true; }, next, tn::constant(0));     // wrong
    return tn::while_loop([](const auto& i) { return i < 10; }, next, tn::constant(0)); // right
}

// case untyped_in_function: A tensor whose type is known at run time, in a function of typed ones.
// error[gcc]: In instantiation of .*an untyped tensor has no type for the compiler: as<float, shape<batch, 10>>\(x\)
// error[clang]: an_untyped_tensor_gets_its_type_by_as_or_goes_to_functions_of_untyped
auto program(const tn::any_tensor& x) {
    return mean(tn::softmax<1>(x)) * 2.0f;                                       // wrong
    return mean(tn::softmax<1>(tn::as<float, tn::shape<batch, 784>>(x))) * 2.0f; // right
}

// case untyped_in_layer: And in a layer.
// error[gcc]: In instantiation of .*an untyped tensor has no type for the compiler: as<float, shape<batch, 10>>\(x\)
// error[clang]: an_untyped_tensor_gets_its_type_by_as_or_goes_to_functions_of_untyped
auto program(const tn::any_tensor& x) {
    return tn::nn::dense<10>()(x);                                       // wrong
    return tn::nn::dense<10>()(tn::as<float, tn::shape<batch, 784>>(x)); // right
}

// case untyped_number: A number that is to be a tensor.
// error[gcc]: In instantiation of .*tenon::as\(
// error: tenon::as: it gives a tensor its type; of a number or an array write constant\(x\)
auto program() {
    return exp(tn::as<float, tn::shape<>>(5)); // wrong
    return exp(tn::constant(5.0f));            // right
}

// case untyped_one_by_one: Untyped tensors that are not a list.
// error[gcc]: In instantiation of .*concat
// error: tenon::untyped::concat: tensors are given as a list: concat\(\{a, b\}, 1\)
auto program(const tn::any_tensor& x) {
    return tn::untyped::concat(x, x, 1);   // wrong
    return tn::untyped::concat({x, x}, 1); // right
}

// case untyped_numbers: Numbers of the host where an untyped tensor is.
// error: deleted
// error: write untyped::constant\(array<float>\(values\)\)
auto program(const std::vector<float>& values) {
    return tn::untyped::relu(values);                                                           // wrong
    return tn::untyped::relu(tn::untyped::constant(tn::array<float>(values).untyped().copy())); // right
}

// case untyped_half_typed: A type without sizes.
// error[gcc]: In instantiation of .*tenon::as\(
// error: tenon::as: say the sizes, too: as<float, shape<batch, 10>>\(x\)
auto program(const tn::any_tensor& x) {
    return exp(tn::as<float>(x));                       // wrong
    return exp(tn::as<float, tn::shape<batch, 10>>(x)); // right
}
