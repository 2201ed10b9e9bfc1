// What a pipeline minimises is a scalar.
// error[gcc]: gradients: what is differentiated must be a scalar: \[\?, 2\]
// error[clang]: gradients_rule.*loss_must_be_scalar
// lines: 16
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::dense<2>()));
#ifdef TENON_EXPECT_ERROR
    const auto made = pipe.compute_gradients([](const auto& y) { return y * 2.0f; }, x);
#else
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x);
#endif
    (void)made;
}
