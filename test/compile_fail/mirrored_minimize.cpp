// What replicas minimise is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[\?\]
// error[clang]: gradients_rule.*loss_must_be_scalar
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto losses = mirrored.run(
        [](auto part) {
            auto errors = tn::square(part - tn::variable("w", 1.0f));
#ifdef TENON_EXPECT_ERROR
            return errors;
#else
            return tn::mean(errors);
#endif
        },
        mirrored.distribute(x));
    auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
}
