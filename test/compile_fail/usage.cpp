// Calls of functions with less, with more, or in another form than they take, and ops whose struct is not as it must be.
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case data_map_pair: A pair where a tuple is.
// error[gcc]: In instantiation of .*map
// error: tenon::data_set::map: the function gives a tensor, an expression, or a std::tuple of them
auto f(const tn::data_set<float, float>& d) {
    return d.map([](auto x, auto y) { return std::pair(x, y); });  // wrong
    return d.map([](auto x, auto y) { return std::tuple(x, y); }); // right
}

// case fit_loss: What is trained, where a callable is.
// error[gcc]: required from .*pass_over
// error: tenon::fit: what trains is a callable
auto f(tn::session& s, const tn::tensor<float, tn::shape<tn::dyn, 3>>& x,
       tn::minibatches<tn::detail::plain_rows<tn::array<float, tn::shape<tn::dyn, 3>>>>& d) {
    return tn::fit(s, {.epochs = 3}, mean(x), d);                                        // wrong
    return tn::fit(s, {.epochs = 3}, s.callable(tn::feeds(x), tn::fetches(mean(x))), d); // right
}

// case on_function: A function that gives no device.
// error[gcc]: In instantiation of .*tenon::on\(
// error: tenon::on: a device, .*/gpu:0.*, or a function of a placed_op that gives one
void f() {
    const auto there = tn::on([](const tn::placed_op&) { return 0; });        // wrong
    const auto there = tn::on([](const tn::placed_op&) { return "/cpu:0"; }); // right
    (void)there;
}

// case own_op_rule: A struct whose rule takes something else.
// error[gcc]: In instantiation of .*apply_op
// error: tenon::apply_op: an op is a struct with `name`, `attributes`, and static constexpr inferred infer
struct doubled_op {
    static constexpr const char* name = "doubled_in_a_mistake";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in) { return in[0]; }      // wrong
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; } // right
};
auto f(const tn::tensor<float, tn::shape<3>>& x) { return mean(tn::apply_op<doubled_op, tn::no_attributes{}>(x)); }

// case pad_negative: A margin that takes away, which a slice does.
// error[gcc]: In instantiation of .*pad
// error: tenon::pad: a padding is not negative
auto f(const tn::tensor<float, tn::shape<3>>& x) {
    return mean(tn::pad<tn::margin{-1, 1}>(x)); // wrong
    return mean(tn::pad<tn::margin{1, 1}>(x));  // right
}

// case queue_of_how_few: Out of how many is drawn is not said.
// error: (use of deleted function|call to deleted constructor) .*random_shuffle_queue
// error: say how many stay in it
void f() {
    const tn::random_shuffle_queue<float> q(10);    // wrong
    const tn::random_shuffle_queue<float> q(10, 3); // right
}

// case usage_of_attention: Without values.
// error[gcc]: In instantiation of .*attention_takes_three
// error: tenon::attention: write attention\(queries, keys, values\)
auto f(const tn::tensor<float, tn::shape<batch, 20, 32>>& x) {
    return mean(tn::attention(x, x));    // wrong
    return mean(tn::attention(x, x, x)); // right
}

// case usage_of_fourier: Over how many dimensions, as an ordinary argument.
// error[gcc]: In instantiation of .*dimensions_are_a_template_argument
// error: tenon: over how many dimensions is a template argument: write fft<2>\(x\)
auto f(const tn::tensor<float, tn::shape<batch, 20, 32>>& x) {
    return mean(tn::rfft(x, 2)); // wrong
    return mean(tn::rfft<2>(x)); // right
}

// case usage_of_scatter: An axis behind.
// error[gcc]: In instantiation of .*it_takes_indices
// error: tenon: write take_along_axis<1>\(x, indices\)
auto f(const tn::tensor<float, tn::shape<3>>& x, const tn::tensor<std::int32_t, tn::shape<3>>& i) {
    return mean(tn::take_along_axis(x, i, 0)); // wrong
    return mean(tn::take_along_axis<0>(x, i)); // right
}

// case usage_of_solve: One matrix.
// error[gcc]: In instantiation of .*it_takes_matrices
// error: tenon: write solve\(a, b\)
auto f(const tn::tensor<float, tn::shape<3, 3>>& a) {
    return mean(tn::solve(a));    // wrong
    return mean(tn::solve(a, a)); // right
}

// case usage_of_windows: A window as an ordinary argument.
// error[gcc]: In instantiation of .*windows_are_template_arguments
// error: tenon: windows, strides and padding are template arguments
auto f(const tn::tensor<float, tn::shape<batch, 20, 32>>& x) {
    return mean(tn::max_pool1d(x, 2)); // wrong
    return mean(tn::max_pool1d<2>(x)); // right
}
