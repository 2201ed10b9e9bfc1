// What a training step of a transformer block is made of on a GPU: how many kernels are launched.

#include <doctest/doctest.h>

#include <benchmarks/transformer.hpp>

#include "emulator/control.hpp"
#include "emulator/libraries/cublaslt.hpp"
#if defined(TENON_WITH_CUDNN)
#include "emulator/libraries/cudnn.hpp"
#endif
#include "environment.hpp"
#include "machine.hpp"

namespace emulator = tenon::emulator;

namespace {

// As what is measured, but smaller.
using block = models::transformer<2, 16, 128, 16>;

// What a step gives the card, from feeds that have come to a loss that leaves: kernels, products of cuBLASLt and graphs of cuDNN, which are
// one launch each here; no copies, and nothing that only sets memory.
struct launches {
    std::size_t kernels = emulator::count_calls("cudaLaunchKernel"), products = emulator::cublaslt::count().products,
                graphs = 0;
    launches() {
#if defined(TENON_WITH_CUDNN)
        graphs = emulator::cudnn::executed().size();
#endif
    }
    std::size_t all() const { return kernels + products + graphs; }
};

// Nodes of a report that are of an op.
int nodes(const models::tn::step_report& r, const std::string& op) {
    int count = 0;
    for (const std::string& line : r.order) count += line.find("(" + op + ")") != std::string::npos;
    return count;
}

} // namespace

TEST_CASE("a training step of a transformer block launches few kernels, and learns as on the host") {
    constexpr std::size_t most = 36;
    const tenon::test::machine m;
    const tenon::test::environment tapes("TENON_CUDA_TAPES", "compiled");
    block gpu("/gpu:0"), host("/cpu:0");
    const auto x = block::values(1), wanted = block::values(2);
    const auto step_of = [](block& b) {
        return b.session.callable(models::tn::feeds(b.x, b.wanted), models::tn::fetches(b.train, b.loss));
    };
    const auto on_gpu = step_of(gpu), on_host = step_of(host);
    const auto r =
        gpu.session.report(models::tn::feed(gpu.x, x), models::tn::feed(gpu.wanted, wanted), gpu.train, gpu.loss);
    const launches before;
    float loss = std::get<0>(on_gpu(x, wanted)).item();
    const launches after;
    const std::size_t all = after.all() - before.all();
    MESSAGE(all, " launches: ", after.kernels - before.kernels, " kernels, ", after.products - before.products,
            " products, ", after.graphs - before.graphs, " of attention");
    CHECK(all <= most);
    CHECK(nodes(r, "fused_group") == 3);           // roundings of variables, the optimiser's updates, and its counts
    CHECK(after.products - before.products == 18); // each variable of products has its gradient of one
    CHECK(nodes(r, "transpose") == 0);             // heads are read where they lie
    CHECK(nodes(r, "sum_like") == 0);
    CHECK(nodes(r, "layer_norm_of_sum") == 1);
    CHECK(nodes(r, "layer_norm_gradient_plus") == 1);
    CHECK(nodes(r, "matmul_gelu_gradient") == 1); // what flows into gelu is never in memory
    float before_it = 0;
    for (int i = 0; i < 4; ++i) {
        CHECK(loss == doctest::Approx(std::get<0>(on_host(x, wanted)).item()).epsilon(0.01));
        if (i > 0) CHECK(loss < before_it);
        before_it = loss;
        loss = std::get<0>(on_gpu(x, wanted)).item();
    }
}
