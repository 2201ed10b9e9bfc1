// Rows that the devices do not divide.
// error[gcc]: row_parallel_dense: the number of devices does not divide the last size: float\[batch, 7\]
// error[clang]: row_parallel_rule, tenon::fault::in_own_words, .*devices_do_not_divide.*size<7>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
#ifdef TENON_EXPECT_ERROR
    const auto x = tn::placeholder<float, tn::shape<batch, 7>>("x");
#else
    const auto x = tn::placeholder<float, tn::shape<batch, 8>>("x");
#endif
    const auto y = tn::nn::row_parallel_dense<3>({"/gpu:0", "/gpu:1"})(x);
    (void)y;
}
