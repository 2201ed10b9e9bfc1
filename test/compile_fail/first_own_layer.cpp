// A layer of one's own that cannot be called with what the one before it returns.
// error[gcc]: In instantiation of .*operator>>
// error: tenon::nn::sequential: a layer cannot be called with what the one before it returns
// error: own_layer
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

struct own_layer {
    auto operator()(const tn::tensor<float, tn::shape<batch, 300>>& x) const { return relu(x); }
};

auto program(const images& x) {
#ifdef TENON_EXPECT_ERROR
    auto model = tn::nn::sequential(tn::nn::dense<200>(), own_layer(), tn::nn::dense<10>());
#else
    auto model = tn::nn::sequential(tn::nn::dense<300>(), own_layer(), tn::nn::dense<10>());
#endif
    return mean(model(x));
}
