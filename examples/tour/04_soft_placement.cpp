// Not every op has a kernel on every device: GPUs keep no variables of int32. To pin one there is an error, which says
// what was asked for and what there is. With soft placement it runs on the CPU instead, and the log says so.
//
//     Cannot assign a device for operation 'n': ...
//     Its group:
//       n (variable), int32[], asked for '/device:GPU:0'
//       n/assign (assign), int32[], asked for nothing
//     Registered kernels:
//       variable: device CPU: all element types; device GPU: float, double, half, bfloat16, int64
//     ...
//     n: (variable): /job:localhost/replica:0/task:0/device:CPU:0 (soft placement: it asked for /device:GPU:0)
//     n/initial_value: (constant): /job:localhost/replica:0/task:0/device:CPU:0
//     n/assign: (assign): /job:localhost/replica:0/task:0/device:CPU:0
//     n = 5
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>

#include "shared/devices.hpp"

namespace tn = tenon;

int main() {
    const auto n = tn::on("/gpu:0", [] { return tn::variable("n", 5); });

    tn::session strict({.gpus = gpus(1)});
    try {
        strict.run(n.initializer());
    } catch (const tn::invalid_argument_error& e) {
        std::printf("%s\n", e.what());
    }

    const auto say = [](const std::string& line) { std::puts(line.c_str()); };
    tn::session soft(
        {.gpus = gpus(1), .allow_soft_placement = true, .log_device_placement = true, .placement_log = say});
    soft.run(n.initializer());
    std::printf("n = %d\n", soft.run(n).item());
    return 0;
}
