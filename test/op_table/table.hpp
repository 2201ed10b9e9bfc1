#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/ops/control/control.hpp>

/// One table of ops for tests: an entry an op, which says how the op is used; what must hold of every op is checked for
/// each entry, in the files beside this one.
///
///     const add_entries softmaxes{
///         {.op = "softmax",
///          .elements = floating,
///          .samples = {{.operands = {x("rows=2 classes=3")},
///                       .attributes = softmax_op::attributes{-1},
///                       .expected = [](const setting&, const arguments& in) { ... }}}}};

namespace op_table {

using namespace tenon;

/// What a sample is made for: the element type that varies, and what the names of sizes stand for.
struct setting {
    element_type element = element_type::float64;
    std::map<std::string, std::int64_t> sizes;
    std::int64_t operator[](const std::string& name) const { return sizes.at(name); }
};

/// A tensor as plain numbers.
struct plain {
    std::vector<std::int64_t> sizes;
    std::vector<double> values; ///< in row-major order

    template <class... I> double operator()(I... index) const {
        return values[place({static_cast<std::int64_t>(index)...})];
    }
    double at(const std::vector<std::int64_t>& index) const { return values[place(index)]; }
    std::size_t place(const std::vector<std::int64_t>& index) const {
        std::int64_t p = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) p = p * sizes[i] + index[i];
        return static_cast<std::size_t>(p);
    }
};
using index = std::vector<std::int64_t>;
using arguments = std::vector<plain>;

/// The tensor of these sizes whose element at each index is f(index).
plain tabulate(const std::vector<std::int64_t>& sizes, const std::function<double(const index&)>& f);
/// The tensor with f of each element.
plain each(const plain& x, const std::function<double(double)>& f);

/// Of a sample: sizes as a text of numbers and names, "batch=2 3 k=4"; a name's number is given where it is first used.
struct operand {
    std::string sizes;
    element_type element = element_type::none; ///< none: the one that varies
    double low = -2, high = 2;                 ///< of values, which are drawn apart from each other
    std::vector<double> values;                ///< these instead, over and over
    bool held = false;                         ///< a variable, not something fed
    bool slopeless = false;                    ///< no gradient flows to it

    operand positive() const { return between(0.5, 2); }
    operand between(double least, double most) const {
        operand o = *this;
        o.low = least;
        o.high = most;
        return o;
    }
    operand given(std::vector<double> v) const {
        operand o = *this;
        o.values = std::move(v);
        return o;
    }
    operand without_slope() const {
        operand o = *this;
        o.slopeless = true;
        return o;
    }
};

/// An operand of the element type that varies; of a fixed one; a variable.
inline operand x(const std::string& sizes) { return {sizes, element_type::none, -2, 2, {}, false, false}; }
inline operand x(const std::string& sizes, element_type e) { return {sizes, e, -2, 2, {}, false, false}; }
/// Integers that say where elements are.
inline operand places(const std::string& sizes, std::vector<double> values, element_type e = element_type::int32) {
    return x(sizes, e).given(std::move(values));
}
inline operand held(const std::string& sizes) { return {sizes, element_type::none, -2, 2, {}, true, true}; }
inline operand truth(const std::string& sizes) { return x(sizes, element_type::boolean).given({1, 0, 0, 1, 1, 0, 1}); }

/// The attributes of a node: an op's attribute struct, or a function of the setting that gives one.
struct attribute_source {
    std::function<attributes(const setting&)> of = [](const setting&) { return attributes{}; };

    attribute_source() = default;
    template <class A>
        requires(!std::is_invocable_v<A, const setting&>)
    attribute_source(const A& a) : of([a](const setting&) { return encode(a); }) {} // NOLINT: attributes as they are
    template <class F>
        requires std::is_invocable_v<F, const setting&> attribute_source(const F& f) :
            of([f](const setting& s) { return encode(f(s)); }) {} // NOLINT: or made
};

/// One use of an op.
struct sample {
    std::string about = {};
    std::vector<operand> operands = {};
    attribute_source attributes = {};
    /// Its results, computed in the plainest way from the operands' values.
    std::function<arguments(const setting&, const arguments&)> expected = nullptr;
    std::string not_empty = {};     ///< the names of sizes that must not be 0: "k classes"
    std::string numbers_only = {};  ///< sizes that neither a name nor "known in the step" can stand for; "*": all
    std::string without_names = {}; ///< sizes that no name can stand for
    std::string own_sizes = {};     ///< sizes for which the values are made: of other numbers only 0 is tried
    /// The op's inputs, where not all can be chosen freely: the result of another op among them.
    std::function<std::vector<any_tensor>(const std::vector<any_tensor>&)> inputs = nullptr;
};

struct entry {
    std::string op = {};
    element_types elements = fixed_size_elements; ///< that the operands which vary can have
    std::vector<sample> samples = {};
    std::string no_gradient = {}; ///< why none flows
    bool one_order = false;       ///< its gradient is not differentiated again
    int slopes = -1;              ///< through how many outputs gradients flow; -1: all that are floating
    std::string steps = {};       ///< why differences do not tell its gradient, and where that is tested
    double tolerance = 1;         ///< how many times the usual error of rounding is allowed
    bool cpu_only = false;        ///< GPUs have no kernel
    std::string apart = {};       ///< why there are no samples, and where it is tested
};

inline constexpr element_types floating = element_types{}
                                              .with(element_type::float32)
                                              .with(element_type::float64)
                                              .with(element_type::float16)
                                              .with(element_type::bfloat16);
inline constexpr element_types integers = element_types{}
                                              .with(element_type::int8)
                                              .with(element_type::int16)
                                              .with(element_type::int32)
                                              .with(element_type::int64)
                                              .with(element_type::uint8)
                                              .with(element_type::uint16)
                                              .with(element_type::uint32)
                                              .with(element_type::uint64);
inline constexpr element_types numeric{floating.bits | integers.bits};
inline constexpr element_types float_and_double =
    element_types{}.with(element_type::float32).with(element_type::float64);
inline constexpr element_types truths = element_types{}.with(element_type::boolean);

/// Enters a family's entries.
struct add_entries {
    add_entries(std::initializer_list<entry> family);
};
const std::vector<entry>& entries();
std::vector<element_type> every_element();

/// What is known of the sizes when a graph is made: their numbers; names; nothing; or some of them.
enum class known { numbers, names, nothing, some };

/// A graph with one node of the op.
struct built {
    graph in;
    std::vector<any_tensor> operands; ///< placeholders, and variables
    tenon::node* node = nullptr;

    std::vector<any_tensor> results() const;
    std::vector<operation> targets() const; ///< the node, where it has no results
};

/// What the entry's operands are made of where one type stands for all: float, where they can have it.
element_type element_of(const entry& e);
/// The setting that a sample's sizes say.
setting setting_of(const sample& s, element_type e);
/// Throws what the op's rule throws. `device`: the node is made for it ("/gpu:0").
built build(const entry& e, const sample& s, const setting& at, known how = known::numbers,
            const std::string& device = {});
/// Values for the operands: the same for the same sizes.
std::vector<any_array> values_for(const sample& s, const setting& at);

double number_at(const any_array& a, std::int64_t i);
void set_number(any_array& a, std::int64_t i, double value);
plain to_plain(const any_array& a);

} // namespace op_table
