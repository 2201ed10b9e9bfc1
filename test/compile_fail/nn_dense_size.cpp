// A dense layer needs to know how many inputs it has.
// error[gcc]: dense: a size must be a number here: \[batch, \?\]
// error[clang]: dense_rule.*size_must_be_known.*shown_tensor<float, batch, .*unknown_size>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using inputs = tn::shape<batch, tn::dyn>;
#else
using inputs = tn::shape<batch, 784>;
#endif

int main() {
    auto x = tn::placeholder<float, inputs>("x");
    auto h = tn::nn::dense<300>(tn::nn::relu)(x);
}
