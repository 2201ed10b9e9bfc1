// Of what a recurrent layer gives one result goes on.
// lines: 14
// error[gcc]: In instantiation of .*as_layer_input
// error: tenon::nn::sequential: a layer gives no tensor; of lstm and gru all_steps\(lstm<64>\(\)\) or last_step
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const tn::tensor<float, tn::shape<batch, 20, 8>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::nn::sequential(tn::nn::lstm<16>(), tn::nn::dense<2>())(x);
#else
    return tn::nn::sequential(tn::nn::last_step(tn::nn::lstm<16>()), tn::nn::dense<2>())(x);
#endif
}
