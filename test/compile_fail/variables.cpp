// Variables: what they begin with, what updates them, their parts.
#include <tenon/tenon.hpp>

namespace tn = tenon;

// case assign_element_type
// error[gcc]: assign: element types differ: float\[3\] x double\[3\]
// error[clang]: assign_rule, tenon::fault::element_types_differ, .*<float, .*size<3> ?>, .*<double, .*size<3> ?>
void f(const tn::variable_tensor<float, tn::shape<3>>& w, const tn::tensor<double, tn::shape<3>>& x) {
    w.assign(x);                  // wrong
    w.assign(tn::cast<float>(x)); // right
}

// case assign_grows: An update that broadcasts the variable to more elements than it has.
// error[gcc]: assign: value does not fit the variable: \[3\] x \[2, 3\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<3> ?>, .*<float, .*size<2>, .*size<3> ?>
void f(const tn::variable_tensor<float, tn::shape<3>>& b, const tn::tensor<float, tn::shape<2, 3>>& gradient) {
    b.assign_sub(gradient * 0.1f);         // wrong
    b.assign_sub(sum<0>(gradient) * 0.1f); // right
}

// case assign_shape
// error[gcc]: assign: value does not fit the variable: \[784, 300\] x \[300, 784\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<784>, .*size<300> ?>, .*<float, .*size<300>, .*size<784> ?>
void f(const tn::variable_tensor<float, tn::shape<784, 300>>& w, const tn::tensor<float, tn::shape<300, 784>>& x) {
    w.assign(x);                  // wrong
    w.assign(transpose<1, 0>(x)); // right
}

// case gradients_of_integers: Only floating tensors have gradients.
// error[gcc]: gradients: element type must be float, double, half or bfloat16: float\[\] x int32\[3\]
// error[clang]: gradients_rule, tenon::fault::element_type_must_be_floating, .*<float>, .*<int, .*size<3> ?>
auto f(const tn::tensor<float, tn::shape<3>>& x, const tn::tensor<std::int32_t, tn::shape<3>>& n) {
    auto loss = mean(x * tn::cast<float>(n));
    auto [g] = tn::gradients(loss, n); // wrong
    auto [g] = tn::gradients(loss, x); // right
    return g;
}

// case nan_guard_by_name
// error: deleted function.*nan_guard
// error: give_the_tensor_not_its_name
void program(tenon::tensor<float, tenon::shape<>> loss) {
    auto fits = tenon::nan_guard(loss);
    auto wrong = tenon::nan_guard("loss"); // wrong
}

// case partition_assign
// error[gcc]: assign: value does not fit the variable: \[1000, 64\] x \[1000, 32\]
// error[clang]: assign_rule, tenon::fault::value_does_not_fit_variable, .*<float, .*size<1000>, .*size<64> ?>, .*<float, .*size<1000>, .*size<32> ?>
void f(const tn::tensor<float, tn::shape<1000, 32>>& x) {
    const auto table = tn::variable<float, tn::shape<1000, 64>>("table", tn::zeros(), {.partition = {.parts = 4}});
    table.assign(x);                   // wrong
    table.assign(tn::concat<1>(x, x)); // right
}

// case partition_parts
// error: partitioned_variable
// error: tenon::partitioned_variable: there are more parts than rows
constexpr int parts = 4; // wrong
constexpr int parts = 3; // right

void f() { tn::partitioned_variable<float, tn::shape<3, 64>, parts>("table", tn::zeros()); }

// case partition_scalar
// error: partitioned_variable
// error: tenon::partitioned_variable: a scalar has no rows to part
using sizes = tn::shape<>;   // wrong
using sizes = tn::shape<64>; // right

void f() { tn::partitioned_variable<float, sizes, 2>("table", tn::zeros()); }

// case queue_runners_exchanged
// error: deleted function.*start_queue_runners
// error: first_the_session_then_the_coordinator
void program(tenon::session& s, tenon::coordinator& c) {
    int fits = tenon::start_queue_runners(s, c);
    int wrong = tenon::start_queue_runners(c, s); // wrong
}

// case variable_of_array: An array whose sizes are known when the program runs.
// error[gcc]: In instantiation of .*variable
// error: tenon::variable: the sizes of a variable must be numbers; of an array whose type does not say them
auto f(const tn::array<float>& a, const tn::array<float, tn::shape<3>>& b) {
    (void)b;                     // wrong
    return tn::variable("v", a); // wrong
    (void)a;                     // right
    return tn::variable("v", b); // right
}

// case variable_parts
// error[gcc]: said_in_partition
// error: how many parts a variable has is said as \{\.partition = \{\.parts = 4\}\}
void program() {
    auto fits = tenon::variable<float, tenon::shape<8, 3>>("w", tenon::zeros(), {.partition = {.parts = 4}});
    auto wrong = tenon::variable<float, tenon::shape<8, 3>>("v", tenon::zeros(), {.parts = 4}); // wrong
}

// case variable_sizes
// error: variable
// error: tenon::variable: the sizes of a variable must be numbers
inline constexpr struct batch : tn::dim<"batch"> {} batch;
void f() { tn::variable<float, tn::shape<batch, 10>>("state", tn::zeros()); } // wrong
void f() { tn::variable<float, tn::shape<32, 10>>("state", tn::zeros()); }    // right
