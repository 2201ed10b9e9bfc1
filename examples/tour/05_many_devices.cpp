// One graph over many devices: the same product on one GPU, on two, on four, added on the CPU. What crosses from one
// device to another is copied without a word in the program. A GPU that is not there is an error that names those that
// are, or, with soft placement, GPU 0.
//
//     on 1: float[2, 2]
//     [[22, 28],
//      [49, 64]]
//     on 2: float[2, 2]
//     [[ 44,  56],
//      [ 98, 128]]
//     on 4: float[2, 2]
//     [[ 88, 112],
//      [196, 256]]
//     Cannot assign a device for operation 'constant_4': ...
//       /job:localhost/replica:0/task:0/device:CPU:0 ...
//       /job:localhost/replica:0/task:0/device:GPU:0 ...
//       /job:localhost/replica:0/task:0/device:GPU:1 ...
//     ...
//     soft: float[2, 2]
//     [[22, 28],
//      [49, 64]]
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "shared/devices.hpp"

namespace tn = tenon;

namespace {

using square = tn::tensor<float, tn::shape<2, 2>>;

square product_on(const tn::device_name& device) {
    const auto here = tn::on(device);
    const auto a = tn::constant({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
    const auto b = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
    return matmul(a, b);
}

square sum_of_products(int count) {
    std::vector<square> products;
    for (int i = 0; i < count; ++i) products.push_back(product_on("/gpu:" + std::to_string(i)));
    return tn::on("/cpu:0", [&] { return tn::add_n(products); });
}

} // namespace

int main() {
    tn::session sess({.gpus = gpus(4)});
    for (const int count : {1, 2, 4})
        std::printf("on %d: %s\n", count, to_string(sess.run(sum_of_products(count))).c_str());

    const square third = product_on("/gpu:2");
    const auto two_gpus = tn::simulated_gpu(2, 64 << 20);
    try {
        tn::session({.gpus = two_gpus}).run(third);
    } catch (const tn::invalid_argument_error& e) {
        std::printf("%s\n", e.what());
    }
    tn::session soft({.gpus = two_gpus, .allow_soft_placement = true});
    std::printf("soft: %s\n", to_string(soft.run(third)).c_str());
    return 0;
}
