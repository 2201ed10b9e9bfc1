// A batch of a named size that does not say how many.
// error[gcc]: In instantiation of .*batch
// error: tenon::data_set::batch: a named size needs a number: batch<rows>\(32\)
#include <tenon/input.hpp>

namespace tn = tenon;

inline constexpr struct rows : tn::dim<"rows"> {} rows;

auto f(const tn::data_set<float>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.batch<rows>();
#else
    return s.batch<rows>(32);
#endif
}
