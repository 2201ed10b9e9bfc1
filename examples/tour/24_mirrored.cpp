// Dense(1) under a mirrored strategy: each device has a copy of the model, works on its part of the batch, and the
// gradients are averaged over all. On four devices of the CPU; on the machine's GPUs where there are two or more. Prints
//     step  0  loss 3...
//     step 20  loss 0.0...
//     step 40  loss 0.000...
//     step 60  loss 0.00000...
//     /device:CPU:0: y = 2.999 a -1.999 b +1.000
//     /device:CPU:1: y = 2.999 a -1.999 b +1.000
//     /device:CPU:2: y = 2.999 a -1.999 b +1.000
//     /device:CPU:3: y = 2.999 a -1.999 b +1.000
//     984 bytes cross between devices in a step
#include <tenon/tenon.hpp>

#include <cstdio>
#include <vector>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    tn::session sess({.cpu_devices = 4});
    std::vector<tn::device_name> devices;
    for (const auto& d : sess.list_logical_devices())
        if (d.name.type == "GPU") devices.push_back(d.name);
    if (devices.size() < 2) devices = {"/cpu:0", "/cpu:1", "/cpu:2", "/cpu:3"};

    tn::graph::current().set_seed(24); // the same numbers in each run of the program
    auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    auto y = tn::placeholder<float, tn::shape<batch, 1>>("y");
    tn::mirrored_strategy mirrored(devices);
    auto model = tn::nn::dense<1>();
    auto losses =
        mirrored.run([&](auto part, auto targets) { return tn::nn::mean_squared_error(model(part), targets); },
                     mirrored.distribute(x), mirrored.distribute(y));
    auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.2), losses);

    constexpr int rows = 102; // over four devices: 26, 26, 25 and 25
    tn::array<float> xs(tn::extents(rows, 2)), ys(tn::extents(rows, 1));
    for (int i = 0; i < rows; ++i) {
        const float a = static_cast<float>(i * 37 % 101) / 50 - 1, b = static_cast<float>(i * 53 % 101) / 50 - 1;
        xs(i, 0) = a;
        xs(i, 1) = b;
        ys(i, 0) = 3 * a - 2 * b + 1;
    }
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));
    for (int i = 0; i <= 60; ++i) {
        auto [l] = step(xs, ys);
        if (i % 20 == 0) std::printf("step %2d  loss %.6f\n", i, static_cast<double>(l.item()));
    }

    auto kernels = mirrored.copies(model.kernel()), biases = mirrored.copies(model.bias());
    for (int i = 0; i < mirrored.replicas(); ++i) {
        auto [w, b] = sess.run(tn::as<float, tn::shape<2, 1>>(kernels[static_cast<std::size_t>(i)]),
                               tn::as<float, tn::shape<1>>(biases[static_cast<std::size_t>(i)]));
        std::printf("%s: y = %.3f a %+.3f b %+.3f\n", to_string(devices[static_cast<std::size_t>(i)]).c_str(),
                    static_cast<double>(w(0, 0)), static_cast<double>(w(1, 0)), static_cast<double>(b(0)));
    }
    const auto report = sess.explain_placement(tn::feed(x, xs), tn::feed(y, ys), train);
    std::printf("%lld bytes cross between devices in a step\n", static_cast<long long>(report.crossing_bytes()));
    return 0;
}
