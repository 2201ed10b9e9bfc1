// Key lengths that are not one a sequence.
// error[gcc]: attention: there is not one key length for each sequence: float\[batch, 8, 5, 4\] x .* x int32\[batch, 5\]
// error[clang]: attention_op, tenon::fault::in_own_words, .*lengths_differ
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 8, 5, 4>>("x");
#ifdef TENON_EXPECT_ERROR
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch, 5>>("lengths");
#else
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");
#endif
    const auto y = tn::attention(x, x, x, lengths, {.causal = true});
    (void)y;
}
