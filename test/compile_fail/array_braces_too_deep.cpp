// Braces in braces are as many as the array has dimensions.
// error[gcc]: use of deleted function .*write_braces_for_each_dimension
// error[clang]: call to deleted constructor of .*array<int, .*shape<3>>
// error: write_braces_for_each_dimension
#include <tenon/core/array/array.hpp>

namespace tn = tenon;

void program() {
#ifdef TENON_EXPECT_ERROR
    const tn::array<int, tn::shape<3>> a{{1, 2, 3}};
#else
    const tn::array<int, tn::shape<3>> a{1, 2, 3};
#endif
    (void)a;
}
