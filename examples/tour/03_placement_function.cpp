// A scope may be a function. It is asked for each node that is made inside, is told what the node is, and answers where
// it goes: here the variables to the CPU, all else to the GPU.
//
//     constant    /device:GPU:0
//     w           /device:CPU:0
//     b           /device:CPU:0
//     matmul      /device:GPU:0
//     relu        /device:GPU:0
//     y = float[2, 2]
//     [[0, 0],
//      [0, 2]]
#include <tenon/tenon.hpp>

#include <cstdio>

#include "shared/devices.hpp"

namespace tn = tenon;

namespace {

const char* variables_on_the_cpu(const tn::placed_op& op) { return op.holds_resource ? "/cpu:0" : "/gpu:0"; }

} // namespace

int main() {
    const auto placed = tn::on(variables_on_the_cpu);
    const auto x = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}});
    const auto w = tn::variable("w", tn::constant({{1.0f, 0.0f}, {-2.0f, 1.0f}}));
    const auto b = tn::variable("b", tn::constant({1.0f, -2.0f}));
    const auto y = relu(matmul(x, w) + b);

    tn::session sess({.gpus = gpus(1)});
    sess.run(tn::initialize_variables());
    for (const auto& node : sess.explain_placement(y).nodes)
        std::printf("%-12s/device:%s:%d\n", node.name.c_str(), node.device.type.c_str(), node.device.index);
    std::printf("y = %s\n", to_string(sess.run(y)).c_str());
    return 0;
}
