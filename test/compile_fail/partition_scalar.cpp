// error: partitioned_variable
// error: tenon::partitioned_variable: a scalar has no rows to part
#include <tenon/tenon.hpp>

namespace tn = tenon;

#ifdef TENON_EXPECT_ERROR
using sizes = tn::shape<>;
#else
using sizes = tn::shape<64>;
#endif

void f() { tn::partitioned_variable<float, sizes, 2>("table", tn::zeros()); }
