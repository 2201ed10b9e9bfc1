// error: partitioned_variable
// error: tenon::partitioned_variable: there are more parts than rows
#include <tenon/tenon.hpp>

namespace tn = tenon;

#ifdef TENON_EXPECT_ERROR
constexpr int parts = 4;
#else
constexpr int parts = 3;
#endif

void f() { tn::partitioned_variable<float, tn::shape<3, 64>, parts>("table", tn::zeros()); }
