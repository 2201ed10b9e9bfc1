// And of variables.
// error[gcc]: use of deleted function .*declare_auto_or_the_type_it_has.*S2 = tenon::shape<784, 10>; .*S = tenon::shape<784, 11>
// error[clang]: to 'variable_tensor<\[...\], shape<\[...\], 11>>' invokes a deleted function
// error: declare_auto_or_the_type_it_has
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void program() {
#ifdef TENON_EXPECT_ERROR
    tn::variable_tensor<float, tn::shape<784, 11>> w = tn::variable<float, tn::shape<784, 10>>("w", tn::zeros());
#else
    tn::variable_tensor<float, tn::shape<784, 10>> w = tn::variable<float, tn::shape<784, 10>>("w", tn::zeros());
#endif
    (void)w;
}
