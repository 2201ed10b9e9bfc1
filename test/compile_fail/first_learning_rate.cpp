// An optimiser without a learning rate.
// error[gcc]: use of deleted function
// error[clang]: call to deleted constructor
// error: give it a learning rate: gradient_descent\(0.1\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::gradient_descent().minimize(mean(x));
#else
    return tn::gradient_descent(0.1).minimize(mean(x));
#endif
}
