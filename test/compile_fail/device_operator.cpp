// The same of a literal with the suffix _dev.
// error[gcc]: operator""_dev\(\) .*"/gpu:one"
// error: malformed<tenon::detail::device_name_fault::number_that_is_not_decimal>
#include <tenon/core/device_name.hpp>

namespace tn = tenon;
using namespace tn::literals;

tn::device_name f() {
#ifdef TENON_EXPECT_ERROR
    return "/gpu:one"_dev;
#else
    return "/gpu:1"_dev;
#endif
}
