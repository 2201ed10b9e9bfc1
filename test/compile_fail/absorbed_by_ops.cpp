// What a mistaken call returns is taken by all that builds a graph, whatever it returns.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
#ifdef TENON_EXPECT_ERROR
    auto w2 = tn::variable<float, tn::shape<300, 10>>("w2", tn::glorot_uniform());
#else
    auto w2 = tn::variable<float, tn::shape<784, 10>>("w2", tn::glorot_uniform());
#endif
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
