// A state of another size than the layer's.
// error[gcc]: gru: a state has batch and hidden as its sizes, and the input.*s element type: float\[batch, 20, 8\] x float\[batch, 8\]
// error[clang]: recurrent_rule.*state_is
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using begins = tn::shape<batch, 8>;
#else
using begins = tn::shape<batch, 16>;
#endif

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 20, 8>>("x");
    auto h = tn::placeholder<float, begins>("h");
    auto [all, last] = tn::nn::gru<16>()(x, h);
    auto loss = tn::mean(all);
}
