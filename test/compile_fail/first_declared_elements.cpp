// The same of element types.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*T2 = double; .*T = float
// error[clang]: 'const tensor<double, .*' to '(const )?tensor<float, .*' invokes a deleted function
// error: declare_auto_or_the_type_it_has
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void program(const tn::tensor<double, tn::shape<4>>& x) {
#ifdef TENON_EXPECT_ERROR
    const tn::tensor<float, tn::shape<4>> t = x;
#else
    const tn::tensor<float, tn::shape<4>> t = tn::cast<float>(x);
#endif
    (void)t;
}
