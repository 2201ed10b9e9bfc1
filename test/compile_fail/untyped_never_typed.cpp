// Beside an untyped tensor the result is untyped: it gets its type by as<T, S>(x).
// error[gcc]: use of deleted function .*write_as_or_constant
// error[clang]: invokes a deleted function
// error: write_as_or_constant
#include <tenon/tenon.hpp>

namespace tn = tenon;
using row = tn::tensor<float, tn::shape<3>>;

row program(const row& x, const tn::any_tensor& y) {
#ifdef TENON_EXPECT_ERROR
    return x + y;
#else
    return tn::as<float, tn::shape<3>>(x + y);
#endif
}
