// Where things run. What is pinned runs where it is pinned; what asks for nothing, such as the product here, runs on
// the first GPU. A session says what devices it has, and where it places a node, once: the second run says nothing.
//
//     /cpu:0 -> device: 0, name: CPU, ...
//     /gpu:0 -> device: 0, name: ...
//     a: (variable): /job:localhost/replica:0/task:0/device:CPU:0
//     a/initial_value: (constant): /job:localhost/replica:0/task:0/device:CPU:0
//     a/assign: (assign): /job:localhost/replica:0/task:0/device:CPU:0
//     constant: (constant): /job:localhost/replica:0/task:0/device:CPU:0
//     mul: (mul): /job:localhost/replica:0/task:0/device:GPU:0
//     c = 12
//     c = 12
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>

#include "shared/devices.hpp"

namespace tn = tenon;

int main() {
    const auto a = tn::on("/cpu:0", [] { return tn::variable("a", 3.0f); });
    const auto b = tn::on("/cpu:0", [] { return tn::constant(4.0f); });
    const auto c = a * b;

    const auto say = [](const std::string& line) { std::puts(line.c_str()); };
    tn::session sess({.gpus = gpus(1), .log_device_placement = true, .placement_log = say});
    sess.run(a.initializer());
    std::printf("c = %g\n", static_cast<double>(sess.run(c).item()));
    std::printf("c = %g\n", static_cast<double>(sess.run(c).item()));
    return 0;
}
