// A scalar has no rows that replicas could share.
// error[gcc]: distribute: rank is too low: \[\]
// error[clang]: distribute_rule.*rank_too_low
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
#ifdef TENON_EXPECT_ERROR
    auto x = tn::placeholder<float, tn::shape<>>("x");
#else
    auto x = tn::placeholder<float, tn::shape<batch>>("x");
#endif
    tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
    auto parts = mirrored.distribute(x);
    (void)parts;
}
