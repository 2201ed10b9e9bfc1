// Values in braces, of which nothing says the sizes.
// error[gcc]: In instantiation of .*tenon::variable\(
// error: tenon::variable: values to begin with are a tensor or an array
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::variable("v", {1.0f, 2.0f});
#else
    return tn::variable("v", tn::constant({1.0f, 2.0f}));
#endif
}
