// A literal that is no device's name does not compile (SEMANTICS 1).
// error[gcc]: malformed_device_name\(\).*device_name_fault::unknown_part
// error[clang]: call to consteval function 'tenon::device_name::device_name
// error[clang]: malformed_device_name<tenon::detail::device_name_fault::unknown_part>
#include <tenon/core/device_name.hpp>

namespace tn = tenon;

void place(const tn::device_name&);

void f() {
#ifdef TENON_EXPECT_ERROR
    place("/job:ps/gpuu:0");
#else
    place("/job:ps/gpu:0");
#endif
}
