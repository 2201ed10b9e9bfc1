// Labels that are not two-dimensional: one row a sequence.
// error[gcc]: ctc_loss: logits are \[batch, time, classes\], labels \[batch, most\], times and lengths \[batch\]: .*batch, 20, 5\] x
// error[clang]: ctc_loss_op, tenon::fault::in_own_words, .*operands_are
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 20, 5>>("x");
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
#ifdef TENON_EXPECT_ERROR
    const auto labels = tn::placeholder<std::int32_t, tn::shape<batch>>("labels");
#else
    const auto labels = tn::placeholder<std::int32_t, tn::shape<batch, 7>>("labels");
#endif
    const auto loss = tn::nn::ctc(x, labels, lengths, lengths);
    (void)loss;
}
