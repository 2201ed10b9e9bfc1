// Mistakes of first programs: arguments of functions.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case array_in_op: An array is a value, not a node.
// error[gcc]: In instantiation of .*an array is no tensor: write constant\(a.copy\(\)\), or feed a placeholder
// error[gcc]: tenon::operator\*\(
// error[clang]: an_array_is_no_tensor_write_constant_of_its_copy_or_feed_a_placeholder
auto program(const images& x, const tn::array<float, tn::shape<784>>& a) {
    return mean(x * a);                      // wrong
    return mean(x * tn::constant(a.copy())); // right
}

// case array_in_run: What a run is given beside tensors is fed.
// error[gcc]: In instantiation of .*run_for
// error: tenon::session: a run takes tensors and operations, and feed\(x, value\) for each that is fed
auto program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    return s.run(mean(x), x, a);           // wrong
    return s.run(mean(x), tn::feed(x, a)); // right
}

// case axes_in_braces: Axes in braces.
// error[gcc]: In instantiation of .*axes_are_template_arguments
// error: tenon: axes are template arguments: write transpose<1, 0>\(x\)
auto turned(const images& x) {
    return tn::transpose(x, {1, 0}); // wrong
    return tn::transpose<1, 0>(x);   // right
}

// case axis: An axis as an ordinary argument, as NumPy and TensorFlow have it.
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error[gcc]: required from .*tenon::sum\(
// error: tenon: an axis is a template argument: write sum<1>\(x\)
auto rows(const images& x) {
    return exp(sum(x, 1)) * 2.0f;     // wrong
    return exp(tn::sum<1>(x)) * 2.0f; // right
}

// case axis_of_concat: An axis behind what is concatenated.
// error[gcc]: In instantiation of .*the_axis_is_a_template_argument
// error: tenon: the axis is a template argument: write concat<1>\(x, y\)
auto both(const images& x) {
    return mean(tn::concat(x, x, 1)); // wrong
    return mean(tn::concat<1>(x, x)); // right
}

// case axis_of_sort: An axis as an ordinary argument.
// error[gcc]: In instantiation of .*tenon::sort\(
// error: tenon::sort: the axis is a template argument: write sort<1>\(x\)
auto f(const images& x) {
    return sort(x, 1);     // wrong
    return tn::sort<1>(x); // right
}

// case callable_without_lists: A callable takes two lists.
// error[gcc]: In instantiation of .*callable
// error: tenon::session::callable: it takes two lists: callable\(feeds\(x, \.\.\), fetches\(loss, \.\.\)\)
float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(x, mean(x));                         // wrong
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x))); // right
    auto [l] = step(a);
    return l.item();
}

// case condition: Nothing is known of a value while the graph is built.
// error[gcc]: use of deleted function .*operator B\(\).*B = bool
// error[clang]: deleted function
// error: nothing runs here: select\(condition, a, b\), or fetch it in a session
auto program(const images& x) {
    if (mean(x) > 0.5f) return 1;           // wrong
    return 0;                               // wrong
    return select(mean(x) > 0.5f, x, 0.0f); // right
}

// case condition_declared: A comparison that is given a name.
// error[gcc]: use of deleted function .*operator B\(\).*B = bool
// error[clang]: deleted function
// error: nothing runs here: select\(condition, a, b\), or fetch it in a session
void program(const images& x) {
    const bool same = x == x; // wrong
    const auto same = x == x; // right
    (void)same;
}

// case loop_over_tensor: Its rows in a loop of C++.
// error[gcc]: use of deleted function .*begin
// error[clang]: deleted (member )?function|invalid range expression
// error: rows: unstack<0>\(x\); in the graph a loop is scan; values: session.run\(x\)
void program(const tn::tensor<float, tn::shape<3, 2>>& x) {
    for (const auto& row : x) tn::print(row, "row");                 // wrong
    for (const auto& row : tn::unstack<3>(x)) tn::print(row, "row"); // right
}

// case axis_by_name: An axis by the name of its size.
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error: tenon: an axis is a template argument: write sum<1>\(x\), .* it is a number
auto program(const images& x) {
    return tn::sum<batch>(x); // wrong
    return tn::sum<0>(x);     // right
}

// case sizes_of_zeros: Sizes one by one.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto program() {
    return tn::zeros<float>(2, 3);              // wrong
    return tn::zeros<float, tn::shape<2, 3>>(); // right
}

// case sizes_behind_name: A placeholder's sizes in braces.
// error[gcc]: In instantiation of .*placeholder
// error: tenon::placeholder: the sizes are a template argument: write placeholder<float, shape<batch, 784>>\(name\)
auto program() {
    return tn::placeholder<float>("x", {2, 3});          // wrong
    return tn::placeholder<float, tn::shape<2, 3>>("x"); // right
}

// case text_as_exponent: A number in quotes.
// error[gcc]: In instantiation of .*pow
// error: tenon::pow: two tensors, or a tensor and a number: pow\(x, 2.0f\)
auto program(const images& x) {
    return tn::pow(x, "2");  // wrong
    return tn::pow(x, 2.0f); // right
}

// case text_chosen: A text where a number is chosen.
// error[gcc]: In instantiation of .*select
// error: tenon::select: a condition, then two tensors, or a tensor and a number
auto program(const images& x) {
    return tn::select(x > 0.0f, x, "none"); // wrong
    return tn::select(x > 0.0f, x, 0.0f);   // right
}

// case dense_inputs: Inputs and units.
// error[gcc]: In instantiation of .*tenon::nn::dense\(
// error: tenon::nn::dense: one template argument, the number of units: dense<300>\(\)
auto program(const images& x) {
    return mean(tn::nn::dense<784, 10>()(x)); // wrong
    return mean(tn::nn::dense<10>()(x));      // right
}

// case dense_units: The units of a layer.
// error[gcc]: In instantiation of .*tenon::nn::dense\(
// error: tenon::nn::dense: the number of units is a template argument: write dense<300>\(\)
auto program(const images& x) {
    return mean(tn::nn::dense(300)(x));   // wrong
    return mean(tn::nn::dense<300>()(x)); // right
}

// case feed_by_name: A feed names its tensor by the handle.
// error[gcc]: In instantiation of .*tenon::feed\(
// error: tenon::feed: first the tensor that is fed, by its handle, not by its name, then its value: feed\(x, value\)
auto program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const std::string name = "x";
    return s.run(tn::feed(name, a), mean(x)); // wrong
    return s.run(tn::feed(x, a), mean(x));    // right
}

// case feed_string: Text by name is fed to what holds text, not to numbers.
// error[gcc]: In instantiation of .*check_feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
auto program(tn::session& s, const tn::tensor<float, tn::shape<>>& rate,
             const tn::tensor<std::string, tn::shape<>>& title) {
    const std::string text = "0.1";
    return s.run(tn::feed(rate, text), rate);   // wrong
    return s.run(tn::feed(title, text), title); // right
}

// case labels: Labels that are no integers, in the layer that is called first.
// error[gcc]: sparse_softmax_cross_entropy: element type must be an integer: float\[batch, 10\] x float\[batch\]
// error[clang]: sparse_softmax_cross_entropy_op, tenon::fault::element_type_must_be_integer
auto program(const tn::tensor<float, tn::shape<batch, 10>>& logits, const tn::tensor<float, tn::shape<batch>>& y) {
    return tn::nn::cross_entropy(logits, y);                         // wrong
    return tn::nn::cross_entropy(logits, tn::cast<std::int32_t>(y)); // right
}

// case learning_rate: An optimiser without a learning rate.
// error[gcc]: use of deleted function
// error[clang]: call to deleted constructor
// error: give it a learning rate: gradient_descent\(0.1\)
auto program(const images& x) {
    return tn::gradient_descent().minimize(mean(x));    // wrong
    return tn::gradient_descent(0.1).minimize(mean(x)); // right
}

// case letters_of_einsum: The letters as an ordinary argument, as NumPy has them.
// error[gcc]: In instantiation of .*tenon::einsum\(
// error: tenon::einsum: the letters are a template argument: write einsum<
auto f(const images& x) {
    return tn::einsum("bi->ib", x); // wrong
    return tn::einsum<"bi->ib">(x); // right
}

// case margins_of_pad: Numbers where margins are.
// error[gcc]: In instantiation of .*tenon::pad\(
// error: tenon::pad: it is written pad<margin\{1, 2\}>\(x\)
auto f(const images& x) {
    return tn::pad<1, 1>(x, tn::pad_mode::reflect);                               // wrong
    return tn::pad<tn::margin{0, 0}, tn::margin{1, 1}>(x, tn::pad_mode::reflect); // right
}

// case kept_by_bool: An axis that is kept is asked for by a word.
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error: or sum<1>\(x, keepdims\)
auto rows(const images& x) {
    return exp(tn::sum<1>(x, true)) * 2.0f;         // wrong
    return exp(tn::sum<1>(x, tn::keepdims)) * 2.0f; // right
}

// case list_of_sizes: Sizes in braces.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto f() {
    return exp(tn::zeros<float>({2, 3}));            // wrong
    return exp(tn::zeros<float, tn::shape<2, 3>>()); // right
}

// case number_of_top_k: How many as an ordinary argument.
// error[gcc]: In instantiation of .*a_count_is_a_template_argument
// error: tenon: depths, counts and windows are template arguments: write one_hot<10>\(x\)
auto f(const images& x) {
    return top_k(x, 5);     // wrong
    return tn::top_k<5>(x); // right
}

// case own_layer: A layer of one's own that cannot be called with what the one before it returns.
// error[gcc]: In instantiation of .*operator>>
// error: tenon::nn::sequential: a layer cannot be called with what the one before it returns
// error: own_layer
struct own_layer {
    auto operator()(const tn::tensor<float, tn::shape<batch, 300>>& x) const { return relu(x); }
};

auto program(const images& x) {
    auto model = tn::nn::sequential(tn::nn::dense<200>(), own_layer(), tn::nn::dense<10>()); // wrong
    auto model = tn::nn::sequential(tn::nn::dense<300>(), own_layer(), tn::nn::dense<10>()); // right
    return mean(model(x));
}

// case sizes_of_placeholder: Sizes that are no shape.
// error[gcc]: In instantiation of .*tenon::placeholder\(
// error: tenon::placeholder: the sizes are a shape: write placeholder<float, shape<batch, 784>>\(name\)
auto input() {
    return tn::placeholder<float, batch, 784>("x");            // wrong
    return tn::placeholder<float, tn::shape<batch, 784>>("x"); // right
}

// case sizes_alone: Sizes without an element type.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto f() {
    return tn::random_uniform<tn::shape<3>>();        // wrong
    return tn::random_uniform<float, tn::shape<3>>(); // right
}

// case sizes_before_type: A placeholder's sizes before its element type.
// error[gcc]: In instantiation of .*tenon::placeholder\(
// error: tenon::placeholder: give its element type and sizes: write placeholder<float, shape<batch, 784>>\(name\)
auto input() {
    return tn::placeholder<tn::shape<batch, 784>, float>("x"); // wrong
    return tn::placeholder<float, tn::shape<batch, 784>>("x"); // right
}

// case no_window: A pool without a window.
// error[gcc]: In instantiation of .*a_count_is_a_template_argument
// error: tenon: depths, counts and windows are template arguments: write one_hot<10>\(x\), tile<2, 1>\(x\), max_pool2d<2>\(x\)
auto f(const tn::tensor<float, tn::shape<batch, 8, 8, 3>>& x) {
    return tn::max_pool2d(x);    // wrong
    return tn::max_pool2d<2>(x); // right
}

// case sizes_of_random: Sizes as an ordinary argument.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto f() {
    return tn::random_normal(tn::shape<3, 4>());        // wrong
    return tn::random_normal<float, tn::shape<3, 4>>(); // right
}

// case sizes_of_reshape: Sizes as a list.
// error[gcc]: In instantiation of .*tenon::reshape\(
// error: tenon::reshape: the sizes are a template argument: write reshape<shape<batch, 28, 28>>\(x\)
auto pictures(const images& x) {
    return tn::reshape(x, {-1, 28, 28});             // wrong
    return tn::reshape<tn::shape<batch, 28, 28>>(x); // right
}

// case texts_type: An element type by its name.
// error[gcc]: In instantiation of .*tenon::cast\(
// error: tenon::cast: the element type is a type: write cast<float>\(x\)
auto f(const images& x) {
    return tn::cast<"float64">(x) * 2.0; // wrong
    return tn::cast<double>(x) * 2.0;    // right
}

// case too_few_arguments: A callable takes a value for each tensor that is fed.
// error[gcc]: In instantiation of .*tenon::callable<
// error: tenon::callable: it takes a value for each tensor in feeds\(\.\.\), in that order
float program(tn::session& s, const images& x, const tn::tensor<float, tn::shape<>>& rate,
              const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x, rate), tn::fetches(mean(x) * rate));
    auto [l] = step(a);       // wrong
    auto [l] = step(a, 0.1f); // right
    return l.item();
}

// case too_few_names: Two fetches, one name.
// error[gcc]: In function|only 1 name provided
// error[gcc]: only 1 name provided for structured binding
// error[clang]: decomposes into 2 elements, but only 1 name was provided
float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x), sum(x)));
    auto [l] = step(a);    // wrong
    auto [l, m] = step(a); // right
    return l.item();
}

// case too_many_arguments: And no more.
// error[gcc]: In instantiation of .*tenon::callable<
// error: tenon::callable: it takes a value for each tensor in feeds\(\.\.\), in that order
float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    auto [l] = step(a, a); // wrong
    auto [l] = step(a);    // right
    return l.item();
}

// case too_many_names: A step of one fetch gives one result.
// error[gcc]: In function|2 names provided
// error[gcc]: 2 names provided for structured binding
// error[gcc]: decomposes into 1 element
// error[clang]: decomposes into 1 element, but 2 names were provided
float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    auto [l, m] = step(a); // wrong
    auto [l] = step(a);    // right
    return l.item();
}

// case too_many_names_of_run: And so does a run of one tensor, which can be bound too.
// error[gcc]: In function|2 names provided
// error[gcc]: 2 names provided for structured binding
// error[gcc]: decomposes into 1 element
// error[clang]: decomposes into 1 element, but 2 names were provided
float program(tn::session& s, const images& x, const tn::array<float, tn::shape<batch, 784>>& a) {
    auto [l, m] = s.run(tn::feed(x, a), mean(x)); // wrong
    auto [l] = s.run(tn::feed(x, a), mean(x));    // right
    return l.item();
}

// case values_of_variable: Values in braces, of which nothing says the sizes.
// error[gcc]: In instantiation of .*tenon::variable\(
// error: tenon::variable: .* or a name and a value, a tensor or an array
auto f() {
    return tn::variable("v", {1.0f, 2.0f});               // wrong
    return tn::variable("v", tn::constant({1.0f, 2.0f})); // right
}

// case constant_of_list: A list of which the compiler knows no length.
// error[gcc]: In instantiation of .*constant
// error: tenon::constant: it makes a tensor of a number, a text, a list in braces whose elements have one type
auto program(const std::vector<float>& values) {
    return tn::constant(values);                                 // wrong
    return tn::constant(tn::array<float, tn::shape<3>>(values)); // right
}

// case constant_of_rows: Rows that are not equally long.
// error[gcc]: In instantiation of .*constant
// error: tenon::constant: .* whose rows are equally long, or an array
auto program() {
    return tn::constant({{1.0f, 2.0f}, {3.0f}});       // wrong
    return tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}}); // right
}

// case constant_shape: A list that is given a shape.
// error[gcc]: In instantiation of .*constant
// error: tenon::constant: a list in braces has a shape: constant\(\{1.0f, 2.0f\}\)
auto program() {
    return tn::constant<tn::shape<3>>({1.0f, 2.0f, 3.0f}); // wrong
    return tn::constant({1.0f, 2.0f, 3.0f});               // right
}

// case cast_to_nothing: The element type is not said.
// error[gcc]: In instantiation of .*cast
// error: tenon::cast: the element type is a template argument: write cast<float>\(x\)
auto program(const images& x) {
    return tn::cast(x);           // wrong
    return tn::cast<tn::half>(x); // right
}

// case running_sum: An axis that is not said, where there is no default.
// error[gcc]: In instantiation of .*an_axis_is_a_template_argument
// error: tenon: an axis is a template argument: write sum<1>\(x\)
auto program(const images& x) {
    return tn::cumsum(x);    // wrong
    return tn::cumsum<1>(x); // right
}

// case greater_of_two: The function that has C++'s name for it.
// error[gcc]: In instantiation of .*max
// error: tenon::max: .* the greater of two tensors is maximum\(a, b\)
auto program(const images& x) {
    return tn::max(x, x);     // wrong
    return tn::maximum(x, x); // right
}

// case greater_of_number: And of a number.
// error[gcc]: In instantiation of .*max
// error: tenon::max: .* the greater of two tensors is maximum\(a, b\)
auto program(const images& x) {
    return tn::max(x, 0.0f);     // wrong
    return tn::maximum(x, 0.0f); // right
}

// case lesser_of_two: The same of min.
// error[gcc]: In instantiation of .*min
// error: tenon::min: .* the lesser of two tensors is minimum\(a, b\)
auto program(const images& x) {
    return tn::min(x, x);     // wrong
    return tn::minimum(x, x); // right
}

// case random_sizes: Sizes as numbers.
// error[gcc]: In instantiation of .*sizes_are_a_template_argument
// error: tenon: element type and sizes are template arguments: write zeros<float, shape<2, 3>>\(\)
auto program() {
    return tn::random_uniform<float, 3>();            // wrong
    return tn::random_uniform<float, tn::shape<3>>(); // right
}

// case zeros_of_a_name: A size that nobody knows.
// error[gcc]: In instantiation of .*full
// error: tenon::full: the sizes must be numbers; use ones_like\(x\) \* value
auto program(const images& x) {
    return tn::zeros<float, tn::shape<batch>>() * tn::sum<1>(x); // wrong
    return tn::zeros<float, tn::shape<1>>() * tn::sum<1>(x);     // right
}

// case nothing_joined: No tensors.
// error[gcc]: In instantiation of .*concat
// error: tenon::concat: at least one tensor is needed
auto program(const images& x) {
    return tn::relu(tn::concat<1>());  // wrong
    return tn::relu(tn::concat<1>(x)); // right
}

// case no_parts: No parts.
// error[gcc]: In instantiation of .*split
// error: tenon::split: at least one part is needed
auto program(const images& x) {
    return tn::split<0, 1>(x); // wrong
    return tn::split<2, 1>(x); // right
}
