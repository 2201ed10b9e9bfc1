// A layer that does not fit in the middle of a model: one error, which names the layer and what it was given. The layers after it
// are silent.
// error[gcc]: conv2d: rank must be 4 \(batch, height, width, channels\): \[batch, 784\]
// error[clang]: conv2d_layer_rule.*rank_must_be_4.*shown_tensor<float, batch, .*size<784> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 28, 28>>("x");
    auto model = nn::sequential(
#ifdef TENON_EXPECT_ERROR
        nn::flatten(),
#else
        nn::reshaped_to<28, 28, 1>(),
#endif
        nn::conv2d<32, 5>(nn::relu), nn::max_pool<2>(), nn::flatten(), nn::dense<10>());
    auto logits = model(x);
}
