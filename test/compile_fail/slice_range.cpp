// error[gcc]: slice: slice is out of range: \[5, 4\], begins 0, ends 6, steps 1
// error[clang]: slice_op, tenon::fault::slice_out_of_range, .*size<5>, .*size<4>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tn = tenon;

void a_slice_beyond_the_end() {
    auto x = tn::placeholder<float, tn::shape<5, 4>>("x");
#ifdef TENON_EXPECT_ERROR
    tn::slice<tn::range{0, 6}>(x);
#else
    tn::slice<tn::range{0, 5}>(x);
#endif
}
