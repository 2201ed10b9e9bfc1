// A function that makes random tensors, not called.
// error[gcc]: use of deleted function .tenon::initializer::initializer
// error[clang]: deleted
// error: initializer\(random_function\) = delete; +// normal\(\.\.\), uniform\(\.\.\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto weights() {
#ifdef TENON_EXPECT_ERROR
    return tn::variable<float, tn::shape<784, 10>>("w", tn::random_normal);
#else
    return tn::variable<float, tn::shape<784, 10>>("w", tn::normal());
#endif
}
