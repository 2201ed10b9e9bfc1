// Numbers in one pair of braces are elements; an array of two dimensions has none such. Were they sizes, they stand in parentheses.
// error[gcc]: use of deleted function .*write_sizes_in_parentheses_or_braces_for_each_dimension
// error[clang]: call to deleted constructor of .*array<float, .*shape<batch, 4>>
// error: write_sizes_in_parentheses_or_braces_for_each_dimension
#include <tenon/core/array/array.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

void program() {
#ifdef TENON_EXPECT_ERROR
    const tn::array<float, tn::shape<batch, 4>> a{64};
#else
    const tn::array<float, tn::shape<batch, 4>> a(64), b{{1, 2, 3, 4}, {5, 6, 7, 8}};
    (void)b;
#endif
    (void)a;
}
