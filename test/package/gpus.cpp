// A user's program that links tenon::cuda, and names nothing of it: it has the machine's GPUs, or is told why it has none.
#include <tenon/tenon.hpp>

#include <cstdio>
#include <string>

int main() {
    const auto x = tenon::placeholder<float, tenon::shape<2>>("x");
    const auto y = tenon::on("/gpu:0", [&] { return x + 1.0f; });

    tenon::session sess;
    const bool has_gpu = sess.list_logical_devices().back().name.type == "GPU";
    try {
        const auto value = sess.run(tenon::feed(x, {1.0f, 2.0f}), y);
        std::printf("%g %g\n", static_cast<double>(value(0)), static_cast<double>(value(1)));
        return has_gpu && value(0) == 2 && value(1) == 3 ? 0 : 1;
    } catch (const tenon::invalid_argument_error& e) {
        std::puts(e.what());
        return !has_gpu && std::string(e.what()).find("cudaGetDeviceCount") != std::string::npos ? 0 : 1;
    }
}
