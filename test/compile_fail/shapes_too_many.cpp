// error: struct tenon::shape<1, 2, 3, 4, 5, 6, 7, 8, 9>|tenon::shape: a tensor has at most 8 dimensions
// error: tenon::shape: a tensor has at most 8 dimensions
#include <tenon/core/sizes/shape.hpp>

namespace tn = tenon;

#ifdef TENON_EXPECT_ERROR
[[maybe_unused]] constexpr int rank = tn::shape<1, 2, 3, 4, 5, 6, 7, 8, 9>::rank;
#else
[[maybe_unused]] constexpr int rank = tn::shape<1, 2, 3, 4, 5, 6, 7, 8>::rank;
#endif
