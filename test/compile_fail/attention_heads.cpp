// Heads that do not divide the width.
// error[gcc]: multi_head_attention: the number of heads does not divide the width: float\[batch, 5, 12\]
// error[clang]: multi_head_attention_rule, tenon::fault::in_own_words, .*heads_do_not_divide.*size<12>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 5, 12>>("x");
#ifdef TENON_EXPECT_ERROR
    const auto y = tn::nn::multi_head_attention<5>()(x);
#else
    const auto y = tn::nn::multi_head_attention<4>()(x);
#endif
    (void)y;
}
