// Sizes that are no shape.
// error[gcc]: In instantiation of .*tenon::placeholder\(
// error: tenon::placeholder: the sizes are a shape: write placeholder<float, shape<batch, 784>>\(name\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto input() {
#ifdef TENON_EXPECT_ERROR
    return tn::placeholder<float, batch, 784>("x");
#else
    return tn::placeholder<float, tn::shape<batch, 784>>("x");
#endif
}
