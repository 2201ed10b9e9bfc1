// A tensor is declared with other sizes than it has; both are shown.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<4>; .*S = tenon::shape<3>
// error[clang]: 'const tensor<\[...\], shape<4>>' to '(const )?tensor<\[...\], shape<3>>' invokes a deleted function
// error: declare_auto_or_the_type_it_has
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void program(const tn::tensor<float, tn::shape<4>>& x) {
#ifdef TENON_EXPECT_ERROR
    const tn::tensor<float, tn::shape<3>> t = x;
#else
    const tn::tensor<float, tn::shape<4>> t = x;
#endif
    (void)t;
}
