// What a mistaken call returns is taken by all that comes after: one error.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/input/producers.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case by_ops: What a mistaken call returns is taken by all that builds a graph, whatever it returns.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    auto w2 = tn::variable<float, tn::shape<300, 10>>("w2", tn::glorot_uniform()); // wrong
    auto w2 = tn::variable<float, tn::shape<784, 10>>("w2", tn::glorot_uniform()); // right
    auto bad = matmul(x, w2);
    auto row = sum<0>(bad);
    auto printed = tn::print(w2, "sum", row);
    auto fed = tn::placeholder_with_default(bad, "fed");
    tn::tensor<float, tn::shape<batch, 10>> declared = bad;
    tn::any_tensor untyped = bad;
    auto back = tn::as<float, tn::shape<batch, 10>>(bad);
    auto v = tn::variable("v", tn::as<float, tn::shape<10>>(row));
    auto u = tn::variable(tn::as<float, tn::shape<10>>(row));
    auto checked = tn::assert_true(bad > 0.0f, "positive", bad);
    tn::operation all = tn::group(bad, checked, v.assign(row), u.assign_add(row));
    const tn::control_dependencies after(bad, all);
    auto slow = tn::gradient_descent(mean(bad)).minimize(mean(declared), {.variables = {w2, v}});
    auto clipped = tn::clip_by_global_norm(tn::adam().compute_gradients(mean(bad)), 1);
    auto careful = tn::adam().apply_gradients(clipped);
    auto both = tn::initialize_variables(v, w2);
    (void)printed, (void)fed, (void)untyped, (void)back, (void)slow, (void)careful, (void)both;
}

// case by_session: What a mistaken call returns is taken by all that runs a graph, and so are the results.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[301, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    auto w2 = tn::variable<float, tn::shape<301, 10>>("w2", tn::glorot_uniform()); // wrong
    auto w2 = tn::variable<float, tn::shape<784, 10>>("w2", tn::glorot_uniform()); // right
    auto bad = matmul(x, w2);
    tn::array<float, tn::shape<batch, 784>> images(10);
    tn::session sess;
    auto values = sess.run(tn::feed(x, images), bad);
    std::cout << values(0, 1) + values.row(0)[2] << '\n';
    auto [first, weights] = sess.run_for(1.0, tn::feed(x, images), bad, w2);
    tn::array<float, tn::shape<batch, 10>> kept = std::move(first);
    float one = kept(0, 0) + weights(0, 0);
    auto other = sess.run(tn::feed(bad, kept), mean(bad));
    auto again = sess.callable(tn::feeds(bad), tn::fetches(mean(bad), w2));
    auto [mean_value, same] = again(kept);
    auto report = sess.report(tn::feed(x, images), bad);
    std::vector<float> copied(values.begin(), values.end());
    return one + other.item() + mean_value.item() + same(0, 0) > 0 && report.nodes > 0 && copied.empty() ? 1 : 0;
}

// case gradients: The gradients of what is no scalar are as many as were asked for.
// error[gcc]: gradients: what is differentiated must be a scalar: \[batch, 10\]
// error[clang]: gradients_rule, tenon::fault::loss_must_be_scalar, .*<float, batch, .*size<10> ?>
auto f(const tn::tensor<float, tn::shape<batch, 10>>& x, const tn::variable_tensor<float, tn::shape<10>>& w) {
    auto [dx, dw] = tn::gradients(x * w, x, w);       // wrong
    auto [dx, dw] = tn::gradients(mean(x * w), x, w); // right
    return tn::group(w.assign_sub(0.1f * dw), sum(dx));
}

// case members: What is asked of a mistaken call's result, and printed of it, adds no error; nor do functions of one's own.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[302, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
using images = tn::tensor<float, tn::shape<batch, 784>>;
template <tn::Operand X> auto layer(const X& x) {
    using element = typename X::element_type;
    return relu(x) * static_cast<element>(2);
}

std::string program(const images& x, const tn::tensor<float, tn::shape<302, 10>>& w,
                    const tn::tensor<float, tn::shape<784, 10>>& fits) {
    (void)w, (void)fits;
    auto bad = matmul(x, w);    // wrong
    auto bad = matmul(x, fits); // right
    std::string text = to_string(bad.type()) + to_string(bad.extents()) + bad.name() + "!";
    std::cout << bad << bad.type() << bad.name() << bad + 1.0f << '\n';
    std::printf("%s %d\n", bad.name().c_str(), static_cast<int>(bad.rank()));
    std::int64_t count = bad.extents()[0].size;
    for (int i = 0; i < bad.rank(); ++i) count += bad.extents()[i].size;
    if (bad.element() == tn::element_type::float32 && bad.type() == x.type() && bad.node()->name == "bad") return "bad";
    std::vector<tn::any_tensor> all{bad, x};
    all.push_back(bad);
    all.emplace_back(bad);
    auto [low, high] = tn::split<2, 1>(bad);
    auto [m, v] = tn::moments<0>(layer(bad));
    tn::operation step = tn::group(bad, low, high, m, v);
    return text + step.name() + std::to_string(count);
}

// case producer_of_a_mistake
// error[gcc]: matmul: inner dimensions differ
// error[clang]: inner_dimensions_differ
void program(tenon::tensor<float, tenon::shape<5, 3>> a, tenon::tensor<float, tenon::shape<3, 2>> b,
             tenon::tensor<float, tenon::shape<4, 2>> c) {
    auto fits = tenon::slice_input_producer(std::tuple{matmul(a, b), a});
    auto wrong = tenon::slice_input_producer(std::tuple{matmul(a, c), a}); // wrong
    auto again = tenon::input_producer(matmul(a, b));                      // wrong
}
