// What is minimised is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[batch\]
// error[clang]: gradients_rule.*loss_must_be_scalar.*shown_tensor<float, batch>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
    auto w = tn::variable<float, tn::shape<>>("w", tn::ones());
    auto loss = tn::square(x - w);
#ifdef TENON_EXPECT_ERROR
    auto train = tn::gradient_descent(0.1).minimize(loss);
#else
    auto train = tn::gradient_descent(0.1).minimize(tn::mean(loss));
#endif
}
