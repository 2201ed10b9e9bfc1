#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <dlfcn.h>

#include <cuda/dnn/attention.hpp>
#include <cuda/dnn/backend.hpp>
#include <cuda/dnn/convolution.hpp>
#include <tenon/core/error.hpp>

// The real cuDNN is asked for plans for GPUs that are only described to it: it checks all descriptors, and says whether it has an engine
// that is exact and the same in every run. Needs cuDNN 9.8 or later and no GPU; ends with 77 where there is none. Where there is a driver it is
// not asked, which would have to take kernels of other GPUs: no_driver.so, beside this program, is there by its name first.

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
           number("multiProcessorCount", g.multiprocessors) + number("smCountOrigin", 0) + number("warpSize", 32) +
           number("maxSharedMemoryPerBlock", 49152) + number("maxSharedMemoryPerBlockOptin", g.shared_bytes) +
           number("oversizedSharedMemoryPerBlock", 0) + number("memoryBusWidth", 5120) +
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

namespace {

enum class heads { lie_densely, follow_positions, follow_sequences }; // [b, h, n, s], [b, n, h, s], [n, b, h, s]

struct attended {
    element_type element;
    heads lie;
    std::int64_t heads_of_queries, heads_of_keys, queries, keys, size, value_size;
    bool causal, has_lengths;
};
const attended attentions[] = {
    {element_type::float16, heads::lie_densely, 8, 8, 500, 512, 64, 64, false, false},
    {element_type::bfloat16, heads::follow_positions, 8, 2, 512, 512, 64, 64, true, false},
    // the transformer's that is measured
    {element_type::bfloat16, heads::follow_positions, 16, 16, 1024, 1024, 64, 64, true, false},
    {element_type::float16, heads::follow_positions, 4, 4, 77, 333, 128, 128, false, false},
    {element_type::float16, heads::follow_positions, 4, 2, 77, 333, 64, 64, false, true},
    {element_type::bfloat16, heads::follow_sequences, 8, 4, 256, 256, 128, 128, true, true},
    {element_type::float16, heads::follow_sequences, 8, 8, 100, 100, 32, 64, false, false},
};

tn::cuda::attention_layout layout_of(const attended& a) {
    tn::cuda::attention_layout l;
    l.batch = 2;
    l.heads = a.heads_of_queries;
    l.key_heads = a.heads_of_keys;
    l.queries = a.queries;
    l.keys = a.keys;
    l.size = a.size;
    l.value_size = a.value_size;
    l.scale = 0.125;
    l.causal = a.causal;
    l.has_lengths = a.has_lengths;
    l.lie_densely();
    const auto lie = [&](std::int64_t all_heads, std::int64_t rows, std::int64_t size, auto*... tensors) {
        const tn::detail::attention_steps by =
            a.lie == heads::follow_positions
                ? tn::detail::attention_steps{rows * all_heads * size, size, all_heads * size}
                : tn::detail::attention_steps{all_heads * size, size, l.batch * all_heads * size};
        if (a.lie != heads::lie_densely) ((*tensors = by), ...);
    };
    lie(l.heads, l.queries, l.size, &l.q, &l.dq);
    lie(l.key_heads, l.keys, l.size, &l.k, &l.dk);
    lie(l.key_heads, l.keys, l.value_size, &l.v, &l.dv);
    lie(l.heads, l.queries, l.value_size, &l.y, &l.dy);
    return l;
}

} // namespace

// Its engines are compiled when a plan is made, and then given to the driver: here no_driver.cpp.
TEST_CASE("cuDNN has engines for attention of 16 bits and its gradient, causal, with key lengths, with fewer heads of "
          "keys, and where heads follow positions") {
    for (const described_gpu& gpu : gpus) {
        if (gpu.capability < 800) continue;
        for (const attended& a : attentions) { // each compiles for some tenths of a second
            const tn::cuda::attention_layout l = layout_of(a);
            const dnn::graph forward = dnn::attention_graph(l, a.element);
            const dnn::graph backward = dnn::attention_gradient_graph(dnn::gradient_part(l, false), a.element);
            INFO(std::string(gpu.name) << ": " << dnn::text_of(forward));
            CHECK(dnn::why_no_plan_for(json_of(gpu), forward) == "");
            CHECK(dnn::why_no_plan_for(json_of(gpu), backward) == "");
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
    const auto instead = std::filesystem::read_symlink("/proc/self/exe").replace_filename("no_driver.so");
    if (!dlopen(instead.c_str(), RTLD_NOW)) {
        std::puts(dlerror());
        return 1;
    }
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
