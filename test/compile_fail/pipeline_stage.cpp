// A layer that does not fit what comes into its stage: the first line says which stage, and what is wrong.
// error[gcc]: pipeline: stage 1: dense: a size must be a number here: \[\?, columns\]
// error[clang]: in_stage<1, .*dense_rule, tenon::fault::size_must_be_known, .*columns
// lines: 24
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct columns : tn::dim<"columns"> {} columns;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, columns>>("x");
    const auto first = [](const auto& v) {
#ifdef TENON_EXPECT_ERROR
        return v * 2.0f;
#else
        return tn::reshape<tn::shape<tn::kept<0>, 4>>(v);
#endif
    };
    const auto pipe =
        tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", first), tn::stage("/gpu:1", tn::nn::dense<3>()));
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x);
    (void)made;
}
