#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/number.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>

/// What the functions see that turn a node of an ONNX model into nodes of a graph (onnx_*_ops.ipp). Read by .ipp files only.

namespace tenon::detail::onnx {

/// A value of the model. An image is in the model's order of dimensions, in Tenon's (channels last), or in both: what a convolution
/// gives is transposed where somebody asks for it in the other one.
struct value {
    any_tensor first, last;
    std::optional<std::vector<extent>> sizes; // where it is a list of sizes of which some are known in the step only
    std::size_t level = 0;                    // of the graph that it is in: 0 the model's, 1 one of an attribute, ..
    std::shared_ptr<const std::vector<value>> items{}; // of a sequence, which is no tensor itself
    // Stacked: of as many as the step knows, which are one tensor, item 0. Growing: items that a run of a loop adds to others.
    enum class sequence { listed, stacked, growing } kind = sequence::listed;
};
/// The size of a list that is computed of sizes in the step, and has no name of its own.
inline constexpr extent computed_size = extent::named("?");
/// The size of such a list that a tensor has without a name. (-1 is the number.)
inline constexpr extent unnamed_size = extent::named("unnamed");
/// What a list has at most that is one of sizes which the step computes: two for each dimension.
inline constexpr std::int64_t most_sizes = 2 * max_rank;
/// A number of such a list, also one below 0, as a step or a bound.
inline extent size_entry(std::int64_t n) {
    extent e;
    e.size = n;
    return e;
}
inline bool is_nameless(const extent& e) { return e == computed_size || e == unnamed_size; }
inline value value_of(const any_tensor& t) { return {t, {}, {}}; }

/// A size as a sum of products of names: "past+seq", "2*n - 1".
struct size_sum {
    std::map<std::multiset<std::string>, std::int64_t> terms; // none is 0

    bool is_number() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()); }
    std::int64_t number() const { return terms.empty() ? 0 : terms.begin()->second; }
    friend bool operator==(const size_sum&, const size_sum&) = default;
};

class importer;

/// One node.
class call {
public:
    call(importer& in, const node_message& n) : in_(in), node_(n) {}

    const node_message& node() const noexcept { return node_; }
    std::int64_t opset() const noexcept;
    int inputs() const noexcept { return static_cast<int>(node_.inputs.size()); }
    bool has(int i) const noexcept { return i < inputs() && !node_.inputs[static_cast<std::size_t>(i)].empty(); }
    bool wants(int o) const noexcept {
        return o < static_cast<int>(node_.outputs.size()) && !node_.outputs[static_cast<std::size_t>(o)].empty();
    }

    value& in(int i) const;
    /// Those of a sequence.
    const std::vector<value>& items(int i) const;
    /// An input as the model has it, and with channels last, of rank 4.
    any_tensor x(int i = 0) const;
    any_tensor last(int i = 0) const;
    bool is_last(int i) const { return in(i).last.node() != nullptr; }

    /// An input's value where it is known now.
    std::optional<any_array> known(int i) const;
    std::optional<any_array> known(const value& v) const;
    /// The same, where it must be: a constant, or computed of such.
    any_array known(int i, const char* what) const;
    /// As integers, of any integer type.
    std::vector<std::int64_t> integers(int i, const char* what) const;
    std::int64_t integer(int i, const char* what) const;
    double real(int i, const char* what) const;
    /// A tensor of the graph that has all of the sizes with names that this list has, and whose other sizes are 1 or the list's
    /// numbers; the handle is empty where no tensor has them.
    any_tensor of_sizes(const std::vector<extent>& sizes, element_type e, const number& value) const;
    /// A size of that name.
    extent named(const std::string& text) const;
    /// A tensor and which of its dimensions has a size with a name: an input of the model, one whose size a node asked for, or one
    /// made of such.
    std::optional<std::pair<any_tensor, int>> with_size(const extent& e) const;
    /// The name that an input has for a size.
    std::optional<extent> name_of_input(const size_sum& s) const;
    /// Whether a step finds that size out where it gets there, as how many boxes are left.
    bool is_found(const any_tensor& t, int axis) const;
    /// Gives size `axis` of an input a name, where it has none and can have one.
    void name_size(int i, int axis) const;
    /// An input that is a list of sizes; nullopt where it is none that is known.
    std::optional<std::vector<extent>> sizes(int i) const;
    /// The same, where sizes that nothing follows are numbers of the step: they have names from here on. Not in bodies.
    std::optional<std::vector<extent>> sizes_in_step(int i) const;
    /// A name for a size that n, an int64 of no dimensions, says; computed_size in bodies.
    extent size_in_step(const any_tensor& n) const;

    const attribute_message* attribute(const char* name) const noexcept;
    std::int64_t integer(const char* name, std::int64_t otherwise) const;
    double real(const char* name, double otherwise) const;
    std::string text(const char* name, const char* otherwise) const;
    std::vector<std::int64_t> integers(const char* name) const;
    any_array read(const attribute_message& a) const; ///< the tensor of an attribute

    void give(const any_tensor& t, int output = 0) const;
    void give_last(const any_tensor& t, int output = 0) const;
    void give(value v, int output) const;
    /// A graph of an attribute.
    const graph_message& graph_of(const char* name) const;
    /// Adds the nodes of a graph of an attribute to the graph in scope, the one that this node is in or a body's, and gives its outputs.
    std::vector<value> results_of(const graph_message& g, const std::vector<value>& inputs) const;
    /// Whether f adds its nodes without a refusal; where it does not, what it refused is forgotten.
    bool tried(function_ref<void()> f) const;

    [[noreturn]] void refuse(const std::string& why) const; ///< unimplemented_error
    [[noreturn]] void wrong(const std::string& why) const;  ///< invalid_argument_error

private:
    importer& in_;
    const node_message& node_;
};

using handler = void (*)(const call&);
struct entry {
    const char* op;
    handler add;
};
std::vector<entry> attention_operators();
std::vector<entry> category_operators();
std::vector<entry> detection_operators();
std::vector<entry> elementwise_operators();
std::vector<entry> feature_operators();
std::vector<entry> flow_operators();
std::vector<entry> forgotten_operators();
std::vector<entry> index_operators();
std::vector<entry> layer_operators();
std::vector<entry> learned_operators();
std::vector<entry> norm_operators();
std::vector<entry> pool_operators();
std::vector<entry> quantized_operators();
std::vector<entry> random_operators();
std::vector<entry> recurrent_operators();
std::vector<entry> reduction_operators();
std::vector<entry> resize_operators();
std::vector<entry> sampling_operators();
std::vector<entry> scatter_operators();
std::vector<entry> shape_operators();
std::vector<entry> signal_operators();
std::vector<entry> training_operators();
std::vector<entry> tree_operators();
std::vector<entry> vector_operators();
std::vector<entry> window_operators();

// What several of them use.

/// Axis `a` of a tensor of this rank, counted from 0.
int axis_in(const call& c, std::int64_t a, int rank);
index_list axes_in(const call& c, const std::vector<std::int64_t>& axes, int rank);
/// A number beside tensors of that element type, as a scalar.
any_tensor scalar_like(double v, const any_tensor& beside);
any_tensor integer_constant(const std::vector<std::int64_t>& values, const extents& sizes);
any_tensor float_constant(const std::vector<double>& values, const extents& sizes, element_type e);
/// A size as a product of a number and names: "4*batch" is one, and so is what has no such form. Nullopt where it is not known.
struct size_product {
    std::int64_t number = 1;
    std::multiset<std::string> names;
};
std::optional<size_product> product_of(const extent& e);
/// Of a list of sizes, where numbers may be below 0. Nullopt where it is not known.
std::optional<size_sum> sum_of(const extent& e);
/// a + factor * b, and the product; nullopt where that has too many terms.
std::optional<size_sum> plus(size_sum a, const size_sum& b, std::int64_t factor = 1);
std::optional<size_sum> times(const size_sum& a, const size_sum& b);
/// Whether all its terms are.
bool is_below_0(const size_sum& s);
/// b - a of a list of sizes; nullopt where one is not known.
std::optional<size_sum> distance(const extent& a, const extent& b);
/// The size that it is, with the name that an input of the model has for it, or one that says how it is computed.
extent size_of(const call& c, const size_sum& s);
extent size_of(const call& c, const size_product& p);
/// That size divided by n > 0, rounded down, or to 0; nullopt where its name would be too long.
std::optional<size_sum> part_of(const call& c, const size_sum& s, std::int64_t n, bool to_zero);
/// What becomes of the list of sizes that input 0 is, also as a matrix, where f moves the elements of a tensor; nullopt where it is none.
std::optional<std::vector<extent>> moved_sizes(const call& c, function_ref<any_tensor(const any_tensor&)> f);
/// x, whose size along the axis is called e from here on, if that is a name or a number: equal at run time, which is checked.
any_tensor with_size_named(const any_tensor& x, int axis, const extent& e);
/// Two that have a size in common, along axes a and b, with one name for it.
void agree(const call& c, any_tensor& x, int a, any_tensor& y, int b);
/// The same where its size is n times e, which has a name.
any_tensor with_multiple(const call& c, const any_tensor& x, int axis, const extent& e, std::int64_t n);
/// Operands that are broadcast together, but for an axis (counted from 0) and so many of the last: where a model has two names for
/// sizes that it takes to be equal, or a name and a number, they have one.
std::vector<any_tensor> agreed(const call& c, std::vector<any_tensor> xs, int but = -1, int behind = 0);
/// The same of two matrices, or stacks of such, that are multiplied.
any_tensor product_of_agreed(const call& c, const any_tensor& a, const any_tensor& b);
/// xs one behind the other. A sum of sizes has a name.
any_tensor joined(const call& c, const std::vector<any_tensor>& xs, int axis);
/// 0, 1, .. of as many as a size says, with `start` added; an empty handle where nothing has that size.
any_tensor counted_to(const call& c, const size_sum& n, element_type e, const any_tensor& start);
/// The list as a constant, where it has no sizes that are known in the step only.
std::optional<any_tensor> constant_sizes(const std::vector<extent>& sizes, const any_tensor& like);
/// x with its sizes as they are but for some that are added or joined: numbers, reshape_op::deduced, reshape_op::copied(axis).
any_tensor reshaped(const any_tensor& x, const std::vector<std::int64_t>& sizes);
std::vector<std::int64_t> copied_sizes(int from, int to);
/// What a constant may have at most that is made while a model is read.
inline constexpr std::int64_t max_folded = std::int64_t{1} << 26;
/// What a list may have at most that an operator computes while a model is read, and how many nodes graphs of attributes may add in all,
/// and where something else can be done if they are more.
inline constexpr std::int64_t max_computed = std::int64_t{1} << 22, max_added = std::int64_t{1} << 16, max_tried = 4096;
/// 0 .. n - 1, int64.
any_tensor numbers_to(const call& c, std::int64_t n);
/// The size of dimension `axis` of x: a number, or what counts it in the step. int64.
any_tensor size_of_axis(const any_tensor& x, int axis);
/// Indices of input `i` along an axis of x, int32 or int64: those below 0 count from its end.
any_tensor from_the_start(const call& c, int i, const any_tensor& x, int axis);
/// Indices of input 1 into input 0, tuples along the last dimension, after `batch` dimensions that both have.
any_tensor tuples_from_the_start(const call& c, std::int64_t batch);
/// The elements of x before `to` along an axis, or from `from` on.
any_tensor part_along(const any_tensor& x, int axis, std::int64_t from, std::int64_t to);
/// Element k of a list, an int64 of no dimensions.
any_tensor int64_at(const any_tensor& list, std::int64_t k);
/// n, where it is from `least` to `most`.
std::int64_t within(const call& c, std::int64_t n, std::int64_t least, std::int64_t most, const char* what);
/// The number that a size is, or what says that it must be known.
std::int64_t number_of(const call& c, const extent& e, const char* what);
/// The elements of an attribute that has numbers or a tensor of them, whichever is there; none: neither is.
std::vector<double> numbers_of(const call& c, const char* list, const char* tensor);
/// Rows of numbers, [n, columns], as float: what learned models are given.
any_tensor float_rows(const call& c);
/// What ONNX's learned models do to their scores, [n, classes], by its name; refuses others.
any_tensor transformed_scores(const call& c, const any_tensor& scores, const std::string& how);
/// For each row of the scores the label of the largest: that of an attribute classlabels_*.
void give_labels(const call& c, const any_tensor& scores);
/// Clamped to what an integer type holds, and cast.
any_tensor saturated_cast(const any_tensor& x, element_type to);

} // namespace tenon::detail::onnx
