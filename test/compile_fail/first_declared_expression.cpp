// And of expressions.
// error[gcc]: use of deleted function .*S2 = tenon::shape<3>; .*S = tenon::shape<4>
// error[clang]: shape<4>.* to .*shape<3>.* invokes a deleted function
// error: = delete; // it has another type: declare it auto, or with the type it has
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void program(const tn::tensor<float, tn::shape<4>>& x) {
#ifdef TENON_EXPECT_ERROR
    const tn::tensor<float, tn::shape<3>> t = exp(x);
#else
    const tn::tensor<float, tn::shape<4>> t = exp(x);
#endif
    (void)t;
}
