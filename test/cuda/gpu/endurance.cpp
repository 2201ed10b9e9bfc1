// A network is trained on the GPU for many steps; then the GPU, and this process, hold what they held after the first thousand.
//
//     cuda_endurance [STEPS]      1000000

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include <cuda_runtime_api.h>

#include <tenon/tenon.hpp>

#include "gpu/needs_gpu.hpp"
#include "initialized_session.hpp"

namespace tn = tenon;

namespace {

constexpr int batch = 32;

struct held {
    long resident = 0;   // kB of this process
    std::size_t gpu = 0; // bytes of the card
};

held held_now() {
    held h;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) h.resident = std::atol(line.c_str() + 6);
    std::size_t free = 0, all = 0;
    if (cudaMemGetInfo(&free, &all) == cudaSuccess) h.gpu = all - free;
    return h;
}

} // namespace

int main(int argc, char** argv) {
    const long steps = argc > 1 ? std::atol(argv[1]) : 1000000;
    if (steps < 2000) {
        std::puts("cuda_endurance [STEPS]: at least 2000");
        return 2;
    }
    if (!has_gpu()) return 77;
    // Kernels are compiled before the first step: what the compiler takes, and code that it leaves, would come at some later one.
    (void)setenv("TENON_CUDA_TAPES", "compiled", 0);

    const auto on_gpu = tn::on("/gpu:0");
    const auto x = tn::placeholder<float, tn::shape<batch, 20>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    const auto w1 = tn::variable<float, tn::shape<20, 64>>("w1", tn::glorot_uniform(1));
    const auto b1 = tn::variable<float, tn::shape<64>>("b1", tn::zeros());
    const auto w2 = tn::variable<float, tn::shape<64, 5>>("w2", tn::glorot_uniform(2));
    const auto h = tn::dropout(relu(matmul(x, w1) + b1), 0.1);
    const auto loss = tn::mean(tn::sparse_softmax_cross_entropy(matmul(h, w2), y));
    const auto train = tn::adam(0.001).minimize(loss);

    initialized_session s;
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(train, loss));
    tn::array<float, tn::shape<batch, 20>> images;
    tn::array<std::int32_t, tn::shape<batch>> labels;
    std::mt19937 r(7);
    held early;
    float last = 0;
    for (long i = 0; i < steps; ++i) {
        for (float& v : images) v = static_cast<float>(r()) * 0x1p-32F;
        for (std::int32_t& l : labels) l = static_cast<std::int32_t>(r() % 5);
        const auto [value] = step(images, labels);
        last = value.item();
        if (i == 999) early = held_now();
    }
    const held late = held_now();
    std::printf(
        "%ld steps, the last loss %g: %ld kB and %zu bytes of the GPU after 1,000 steps, %ld kB and %zu at the end\n",
        steps, static_cast<double>(last), early.resident, early.gpu, late.resident, late.gpu);
    constexpr long tolerated = 4096; // kB: what malloc keeps varies
    return late.gpu <= early.gpu && late.resident <= early.resident + tolerated ? 0 : 1;
}
