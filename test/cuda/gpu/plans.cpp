#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <cuda/dnn/attention.hpp>
#include <cuda/dnn/backend.hpp>
#include <cuda/dnn/convolution.hpp>
#include <tenon/core/error.hpp>

// The real cuDNN is asked for plans for GPUs that are only described to it: it checks all descriptors, and says whether it has an engine
// that is exact and the same in every run. Needs cuDNN 9.8 or later and no GPU; ends with 77 where there is none.

namespace tn = tenon;
namespace dnn = tenon::cuda::dnn;
using dnn::after_convolution, dnn::operation_kind, tn::element_type;

namespace {

struct described_gpu {
    const char* name;
    int capability, multiprocessors;
    long shared_bytes; ///< that a block may ask for
};
const described_gpu gpus[] = {{"Tesla T4", 750, 40, 65536},
                              {"NVIDIA A100-SXM4-80GB", 800, 108, 166912},
                              {"NVIDIA L4", 890, 58, 101376},
                              {"NVIDIA H200", 900, 132, 232448},
                              {"NVIDIA B200", 1000, 148, 232448}};

std::string json_of(const described_gpu& g) {
    const auto number = [](const char* name, long value) {
        return ",\"" + std::string(name) + "\":" + std::to_string(value);
    };
    return "{\"deviceName\":\"" + std::string(g.name) +
           "\",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]" +
           number("deviceVer", g.capability) + number("driverVer", 13000) + number("cudaDeviceId", 0) +
           number("totalGlobalMem", 15L << 30) + number("regsPerBlock", 65536) +
           number("multiProcessorCount", g.multiprocessors) + number("warpSize", 32) +
           number("maxSharedMemoryPerBlock", 49152) + number("maxSharedMemoryPerBlockOptin", g.shared_bytes) +
           number("reservedSharedMemoryPerBlock", g.capability == 750 ? 0 : 1024) + number("maxRegistersPerSM", 65536) +
           number("maxCtasPerSM", 16) + number("maxThreadsPerBlock", 1024) +
           number("maxThreadsPerSM", g.capability == 750 ? 1024 : 1536) + number("pciDeviceId", 0) +
           number("isTccDriver", 0) + number("supportCoopLaunch", 1) + number("smClockRateKHz", 1500000) +
           number("memClockRateKHz", 2500000) + number("l2CacheSize", 40L << 20) + "}";
}

tn::cuda::convolution_sizes sizes(std::int64_t batch, std::int64_t side, std::int64_t in, std::int64_t out,
                                  std::int64_t window, std::int64_t stride, std::int64_t before, std::int64_t after,
                                  std::int64_t dilation = 1, std::int64_t groups = 1) {
    tn::cuda::convolution_sizes s;
    s.batch = batch;
    s.height = s.width = side;
    s.in_channels = in;
    s.out_channels = out;
    s.kernel_h = s.kernel_w = window;
    s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = before;
    s.dilation_h = s.dilation_w = dilation;
    s.groups = groups;
    s.out_height = s.out_width = (side + before + after - dilation * (window - 1) - 1) / stride + 1;
    return s;
}

struct example {
    const char* what;
    tn::cuda::convolution_sizes sizes;
};
const example examples[] = {{"3 x 3", sizes(8, 28, 64, 64, 3, 1, 1, 1)},
                            {"5 x 5 of one channel", sizes(32, 28, 1, 32, 5, 1, 0, 0)},
                            {"1 x 1", sizes(8, 14, 256, 64, 1, 1, 0, 0)},
                            {"7 x 7 of colours, stride 2", sizes(4, 64, 3, 64, 7, 2, 3, 3)},
                            {"dilated", sizes(4, 20, 32, 32, 3, 1, 2, 2, 2)},
                            {"in groups", sizes(4, 20, 32, 64, 3, 1, 1, 1, 1, 4)},
                            {"a group for each channel", sizes(4, 20, 32, 32, 3, 1, 1, 1, 1, 32)},
                            {"stride 2, padded behind alone", sizes(8, 28, 64, 64, 3, 2, 0, 1)}};

} // namespace

TEST_CASE("cuDNN has exact engines for convolutions and their gradients, of float, half and double") {
    for (const described_gpu& gpu : gpus)
        for (const element_type e : {element_type::float32, element_type::float16, element_type::float64})
            for (const example& x : examples)
                for (const operation_kind which :
                     {operation_kind::convolution, operation_kind::convolution_backward_input,
                      operation_kind::convolution_backward_filter}) {
                    const dnn::graph g = dnn::convolution_graph(which, x.sizes, e, after_convolution::nothing);
                    INFO(gpu.name << ": " << x.what << ", " << dnn::text_of(g));
                    CHECK(dnn::why_no_plan_for(json_of(gpu), g) == "");
                }
}

TEST_CASE("cuDNN joins bias and relu to convolutions of float and half") {
    for (const described_gpu& gpu : gpus)
        for (const element_type e : {element_type::float32, element_type::float16})
            for (const after_convolution after : {after_convolution::bias, after_convolution::bias_relu}) {
                const dnn::graph g = dnn::convolution_graph(operation_kind::convolution, examples[0].sizes, e, after);
                INFO(gpu.name << ": " << dnn::text_of(g));
                CHECK(dnn::why_no_plan_for(json_of(gpu), g) == "");
            }
}

// Its engines are compiled when a plan is made, and then given to the driver.
TEST_CASE("cuDNN has engines for attention of 16 bits and its gradient, causal and with fewer heads of keys") {
    if (!dlopen("libcuda.so.1", RTLD_NOW)) {
        MESSAGE("left out: there is no driver");
        return;
    }
    for (const described_gpu& gpu : gpus) {
        if (gpu.capability < 800) continue;
        for (const bool causal : {false, true}) { // each compiles for some tenths of a second
            tn::cuda::attention_layout l;
            l.batch = 2;
            l.heads = 8;
            l.key_heads = causal ? 2 : 8;
            l.queries = causal ? 512 : 500;
            l.keys = 512;
            l.size = l.value_size = 64;
            l.scale = 0.125;
            l.causal = causal;
            l.lie_densely();
            if (causal) // positions before heads, as projections leave them
                for (auto* const t : {&l.q, &l.k, &l.v, &l.y, &l.dy, &l.dq, &l.dk, &l.dv}) {
                    const bool of_keys = t == &l.k || t == &l.v || t == &l.dk || t == &l.dv;
                    t->head = l.size;
                    t->row = (of_keys ? l.key_heads : l.heads) * l.size;
                }
            const element_type e = causal ? element_type::bfloat16 : element_type::float16;
            for (const dnn::graph& g :
                 {dnn::attention_graph(l, e), dnn::attention_gradient_graph(dnn::gradient_part(l, false), e)}) {
                INFO(gpu.name << ": " << dnn::text_of(g));
                CHECK(dnn::why_no_plan_for(json_of(gpu), g) == "");
            }
        }
    }
}

TEST_CASE("what is no convolution is refused with cuDNN's words") {
    dnn::graph g = dnn::convolution_graph(operation_kind::convolution, examples[0].sizes, element_type::float32,
                                          after_convolution::nothing);
    g.tensors.back().sizes[2] += 1;
    CHECK(dnn::why_no_plan_for(json_of(gpus[3]), g).find("cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM") == 0);
}

int main(int count, char** arguments) {
    try {
        if (dnn::functions().version() < 90800) {
            std::puts("cuDNN is older than 9.8: it makes no plans for GPUs that are described to it");
            return 77;
        }
    } catch (const tn::unavailable_error& e) {
        std::puts(e.what());
        return 77;
    }
    return doctest::Context(count, arguments).run();
}
