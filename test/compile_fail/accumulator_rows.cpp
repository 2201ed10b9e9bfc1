// error[gcc]: row_accumulator.apply: a gradient of rows is indices, int32 or int64, and values of the indices
// error[clang]: in_words<.*rows_do_not_fit>
#include <tenon/tenon.hpp>

namespace tn = tenon;

void f(const tn::row_accumulator<float, tn::shape<1000, 64>>& sum,
       const tn::tensor<std::int32_t, tn::shape<8>>& indices, const tn::tensor<float, tn::shape<8, 64>>& rows,
       const tn::tensor<float, tn::shape<8, 32>>& narrow) {
#ifdef TENON_EXPECT_ERROR
    sum.apply(indices, narrow, 0);
    (void)rows;
#else
    sum.apply(indices, rows, 0);
    (void)narrow;
#endif
}
