// So do networks that are one layer, when they are called.
// error[gcc]: ensemble: sizes differ: \[batch, 10\] x \[batch, 9\]
// error[clang]: ensemble_rule, tenon::fault::sizes_differ
// lines: 20
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
#ifdef TENON_EXPECT_ERROR
    auto model = tn::nn::ensemble(tn::nn::dense<10>(), tn::nn::dense<9>());
#else
    auto model = tn::nn::ensemble(tn::nn::dense<10>(), tn::nn::dense<10>());
#endif
    auto p = model(x);
    auto mean = tn::mean(p);
    (void)mean;
}
