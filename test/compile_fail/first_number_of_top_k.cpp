// How many as an ordinary argument.
// error[gcc]: In instantiation of .*tenon::top_k\(
// error: tenon::top_k: how many is a template argument: write top_k<5>\(x\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return top_k(x, 5);
#else
    return tn::top_k<5>(x);
#endif
}
