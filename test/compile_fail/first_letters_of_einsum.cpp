// The letters as an ordinary argument, as NumPy has them.
// error[gcc]: In instantiation of .*tenon::einsum\(
// error: tenon::einsum: the letters are a template argument: write einsum<
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::einsum("bi->ib", x);
#else
    return tn::einsum<"bi->ib">(x);
#endif
}
