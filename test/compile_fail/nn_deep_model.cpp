// One mistake in a model of 50 layers: one error, and no more lines than in a small model.
// error[gcc]: max_pool2d: window is larger than the padded input: \[batch, 1, 1, 8\]
// error[clang]: max_pool2d_op.*window_larger_than_input.*shown_tensor<float, batch, .*size<1>, .*size<1>, .*size<8> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

constexpr tn::conv2d_options padded{.padding = tn::same};
auto conv() { return nn::conv2d<8, 3, padded>(nn::relu); }
auto eight() { return nn::sequential(conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv()); }

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 4, 4, 3>>("x");
    auto model = nn::sequential(conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                nn::max_pool<4>(), conv(), conv(), conv(), conv(),
#ifdef TENON_EXPECT_ERROR
                                nn::max_pool<2>(),
#endif
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(),
                                conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), conv(), nn::flatten(),
                                nn::dense<100>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
    auto logits = model(x);
}
