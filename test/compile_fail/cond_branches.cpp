// error[gcc]: cond: both bodies give as many tensors, of the same types and sizes
// error[clang]: bodies_give_different_types
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/cond.hpp>
#include <tenon/ops/reduce/reduction.hpp>

void program(tenon::tensor<bool, tenon::shape<>> p, tenon::tensor<float, tenon::shape<3>> x) {
    auto fits = tenon::cond(
        p, [&] { return x; }, [&] { return -x; });
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::cond(
        p, [&] { return x; }, [&] { return sum(x); });
#endif
}
