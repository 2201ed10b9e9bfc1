// A comparison of untyped tensors is a tensor too.
// error[gcc]: use of deleted function .*operator bool
// error[clang]: deleted function
// error: nothing runs here: select\(condition, a, b\), or fetch it in a session
#include <tenon/tenon.hpp>

namespace tn = tenon;

tn::any_tensor program(const tn::any_tensor& x, const tn::any_tensor& y) {
#ifdef TENON_EXPECT_ERROR
    return x == y ? x : y;
#else
    return tn::untyped::select(x == y, x, y);
#endif
}
