// An untyped tensor gets its type by as<T, S>(x).
// error[gcc]: use of deleted function .*write_as_or_constant
// error[clang]: invokes a deleted function
// error: write_as_or_constant
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

void program(const tn::any_tensor& x) {
#ifdef TENON_EXPECT_ERROR
    const tn::tensor<float, tn::shape<3>> t = x;
#else
    const tn::tensor<float, tn::shape<3>> t = tn::as<float, tn::shape<3>>(x);
#endif
    (void)t;
}
