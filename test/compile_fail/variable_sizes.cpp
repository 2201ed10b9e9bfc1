// error: variable
// error: tenon::variable: the sizes of a variable must be numbers
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
void f() { tn::variable<float, tn::shape<batch, 10>>("state", tn::zeros()); }
#else
void f() { tn::variable<float, tn::shape<32, 10>>("state", tn::zeros()); }
#endif
