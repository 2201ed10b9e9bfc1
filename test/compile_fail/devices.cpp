// Names of devices.
#include <tenon/tenon.hpp>

namespace tn = tenon;

// case device_literal: A scope for a device that no device's name can be does not compile (SEMANTICS 1).
// error[gcc]: malformed_device_name\(\).*device_name_fault::unknown_part
// error[clang]: error: device name: a part is none of /job:NAME, /replica:N, /task:N, /device:TYPE:N, /cpu:N and /gpu:N
float f() {
    const auto scope = tn::on("/job:ps/gpuu:0"); // wrong
    const auto scope = tn::on("/job:ps/gpu:0");  // right
    return 0;
}

// case device_operator: The same of a literal with the suffix _dev.
// error[gcc]: operator""_dev\(\) .*"/gpu:one"
// error: malformed<tenon::detail::device_name_fault::number_that_is_not_decimal>
using namespace tn::literals;
tn::device_name f() {
    return "/gpu:one"_dev; // wrong
    return "/gpu:1"_dev;   // right
}
