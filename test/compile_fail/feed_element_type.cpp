// SEMANTICS 16: a fed value of the wrong dtype does not compile.
// error[gcc]: feed: element types differ: float\[batch\] x double\[batch\]
// error[clang]: feed_rule, tenon::fault::element_types_differ, .*<float, batch>, .*<double, batch>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& fits,
       const tn::array<double, tn::shape<batch>>& wrong) {
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    return tn::feed(x, wrong);
#else
    (void)wrong;
    return tn::feed(x, fits);
#endif
}
