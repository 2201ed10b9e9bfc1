// Nothing is known of a value while the graph is built.
// error[gcc]: use of deleted function .*operator bool
// error[clang]: deleted function
// error: nothing runs here: select\(condition, a, b\), or fetch it in a session
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(const images& x) {
#ifdef TENON_EXPECT_ERROR
    if (mean(x) > 0.5f) return 1;
    return 0;
#else
    return select(mean(x) > 0.5f, x, 0.0f);
#endif
}
