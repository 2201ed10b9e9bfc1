// What a program's first step loads and makes, counted, since there the time goes that it waits for.

#include "tests.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cublaslt.hpp"
#include "emulator/libraries/nvrtc.hpp"
#if defined(TENON_WITH_CUDNN)
#include "emulator/libraries/cudnn.hpp"
#endif
#if defined(TENON_WITH_CUSOLVER)
#include "emulator/libraries/cusolver.hpp"
#endif
#include "machine.hpp"

namespace emulator = tenon::emulator;

// In a process of its own: cuda.first_step.
TEST_CASE("a program's first step launches few kinds of kernels, waits for no compiler, and starts cuBLASLt alone" *
          doctest::skip()) {
    const tenon::test::machine m;
    unsetenv("TENON_CUDA_TAPES"); // as programs have it: the interpreter runs until kernels are compiled
    const emulator::nvrtc_pause compiling;
    const emulator::counts before = emulator::count();
    const std::size_t handles = emulator::cublaslt::count().handles;
    {
        const own_graph g;
        const auto there = tn::on("/gpu:0");
        const auto model =
            tn::nn::sequential(tn::nn::dense<24>(tn::nn::relu), tn::nn::dense<12>(tn::nn::relu), tn::nn::dense<10>());
        const auto x = tn::placeholder<float, tn::shape<8, 32>>("x");
        const auto y = tn::placeholder<std::int32_t, tn::shape<8>>("y");
        const auto loss = tn::mean(tn::sparse_softmax_cross_entropy(model(x), y));
        const auto train = tn::adam(0.01).minimize(loss);
        initialized_session s(g);
        const auto step = s.callable(tn::feeds(x, y), tn::fetches(train, loss));
        const tn::array<float, tn::shape<8, 32>> images;
        const tn::array<std::int32_t, tn::shape<8>> labels;
        CHECK(std::get<0>(step(images, labels)).item() > 0);

        // CUDA loads a kernel when it is first launched, and of its library of kernels nothing else.
        std::set<std::string> kernels;
        for (const emulator::call& c : emulator::calls())
            if (c.name == "cudaLaunchKernel") kernels.insert(c.detail);
        const emulator::counts after = emulator::count();
        MESSAGE(kernels.size(), " kernels, ", after.streams - before.streams, " streams, ",
                after.events - before.events, " events, ", after.pools - before.pools, " pools, ",
                after.device_allocations - before.device_allocations, " allocations of the card, ",
                after.host_allocations - before.host_allocations, " of the host");
        CHECK(kernels.size() <= 6);
        CHECK(after.streams - before.streams <= 6);
        CHECK(after.events - before.events <= 10);
        CHECK(after.pools - before.pools == 1);
        CHECK(after.device_allocations - before.device_allocations <= 2);
        CHECK(after.libraries == before.libraries); // compiled later
        CHECK(after.executables == before.executables);
        CHECK(emulator::cublaslt::count().handles == handles + 1);
#if defined(TENON_WITH_CUDNN)
        CHECK(emulator::cudnn::descriptors() == 0);
#endif
#if defined(TENON_WITH_CUSOLVER)
        CHECK(emulator::cusolver::handles() == 0);
#endif
    }
}
