// A scope for a device that no device's name can be does not compile (SEMANTICS 1).
// error[gcc]: malformed_device_name\(\).*device_name_fault::unknown_part
// error[clang]: error: device name: a part is none of /job:NAME, /replica:N, /task:N, /device:TYPE:N, /cpu:N and /gpu:N
#include <tenon/tenon.hpp>

namespace tn = tenon;

float f() {
#ifdef TENON_EXPECT_ERROR
    const auto scope = tn::on("/job:ps/gpuu:0");
#else
    const auto scope = tn::on("/job:ps/gpu:0");
#endif
    return 0;
}
