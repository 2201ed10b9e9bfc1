// Heads of keys that do not divide those of the queries.
// error[gcc]: attention: the number of heads of keys does not divide that of queries: float\[batch, 8, 5, 4\] x float\[batch, 3,
// error[clang]: attention_op, tenon::fault::in_own_words, .*heads_do_not_divide
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto q = tn::placeholder<float, tn::shape<batch, 8, 5, 4>>("q");
#ifdef TENON_EXPECT_ERROR
    const auto k = tn::placeholder<float, tn::shape<batch, 3, 7, 4>>("k");
#else
    const auto k = tn::placeholder<float, tn::shape<batch, 2, 7, 4>>("k");
#endif
    const auto y = tn::attention(q, k, k);
    (void)y;
}
