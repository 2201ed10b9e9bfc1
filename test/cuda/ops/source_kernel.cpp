#include <cuda_runtime_api.h>

#include <tenon/cuda/cuda_source.hpp>
#include <tenon/debug/benchmark.hpp>

#include "tests.hpp"
#include "machine.hpp"

// Ops of a program's own whose kernels are texts in CUDA C++.

using tenon::test::machine;

namespace {

// slope * (d of x * sigmoid(x)), as a kernel of two inputs and a number.
struct swish_slope_op {
    static constexpr const char* name = "test_swish_slope";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
        return tn::cuda_source(
                   "slope",
                   R"(extern "C" __global__ void slope(const float* x, const float* g, float* to, long long n) {
            const long long i = blockIdx.x * 256LL + threadIdx.x;
            if (i >= n) return;
            const float s = 1 / (1 + expf(-x[i]));
            to[i] = g[i] * (s + x[i] * s * (1 - s));
        })",
                   {s.outputs[0].extents.elements()})
            .prepare(s);
    }
};
struct swish_op {
    static constexpr const char* name = "test_swish";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static void gradient(tn::gradient_context& g) {
        g.set(0, tn::add<swish_slope_op>({}, {g.input(0), g.output_gradient()}));
    }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
        return tn::cuda_source("swish", R"(extern "C" __global__ void swish(const float* x, float* y, long long n) {
            const long long i = blockIdx.x * 256LL + threadIdx.x;
            if (i < n) y[i] = x[i] / (1 + expf(-x[i]));
        })",
                               {s.outputs[0].extents.elements()})
            .prepare(s);
    }
};

// What the text of the test says; with a scale, which is its argument.
struct text_op {
    static constexpr const char* name = "test_text";
    struct attributes {
        std::string text;
        int threads = 256;
        std::int64_t blocks = 0, shared = 0;
    };
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
        const auto a = tn::decode<attributes>(s.attrs);
        tn::cuda_source k("f", a.text, {2.5f, std::int64_t{3}});
        k.threads[0] = a.threads;
        k.blocks[0] = a.blocks;
        k.shared_bytes = static_cast<std::size_t>(a.shared);
        return k.prepare(s);
    }
};

constexpr const char* scale = R"(extern "C" __global__ void f(const float* x, float* y, float by, long long plus) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 5) y[i] = x[i] * by + plus;
})";

std::string refusal(const text_op::attributes& a) {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<5>>("x");
    tn::session s;
    return message_of<tn::invalid_argument_error>([&] {
        (void)s.run(tn::feed(x, {1, 2, 3, 4, 5}), tn::on("/gpu:0", [&] { return tn::add<text_op>(a, {x}, "mine"); }));
    });
}
} // namespace

TEST_CASE("a kernel of a text is an op's, with its gradient: beside the formula in float64, recorded too") {
    const machine m;
    const own_graph g;
    constexpr int n = 1000;
    const auto x = tn::placeholder<float, tn::shape<n>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::apply_op<swish_op, tn::no_attributes{}>(x); });
    const auto slope = std::get<0>(tn::gradients(tn::sum(y), x));
    tn::session s;
    tn::array<float, tn::shape<n>> values;
    for (int run = 0; run < 4; ++run) {
        for (int i = 0; i < n; ++i) values(i) = static_cast<float>((i * 37 + run) % 200) / 20 - 5;
        const auto [got, got_slope] = s.run(tn::feed(x, values), y, slope);
        for (int i = 0; i < n; ++i) {
            const double v = static_cast<double>(values(i)), sigmoid = 1 / (1 + std::exp(-v));
            CHECK(got(i) == doctest::Approx(v * sigmoid).epsilon(1e-5));
            CHECK(got_slope(i) == doctest::Approx(sigmoid + v * sigmoid * (1 - sigmoid)).epsilon(1e-5));
        }
    }
    CHECK(contains(s.emit(y), "if (i < n) y[i] = x[i] / (1 + expf(-x[i]));"));
}

TEST_CASE_FIXTURE(machine, "numbers, blocks and two texts of one name; a kernel of a text is timed as others are") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<5>>("x");
    std::string other = scale;
    other.replace(other.find("* by"), 4, "- by");
    const auto [a, b, c] = tn::on("/gpu:0", [&] {
        return std::tuple(tn::add<text_op>({.text = scale}, {x}), tn::add<text_op>({.text = other}, {x}),
                          tn::add<text_op>({.text = scale, .threads = 2, .blocks = 3}, {x}));
    });
    tn::session s;
    const tn::array<float, tn::shape<5>> values{1, 2, 3, 4, 5};
    for (const auto& [t, expected] :
         {std::pair(a, 5 * 2.5f + 3), std::pair(b, 5 - 2.5f + 3), std::pair(c, 5 * 2.5f + 3)})
        CHECK(s.run(tn::feed(x, values), t).data<float>()[4] == expected);
    const auto k = s.kernel_of(tn::feed(x, values), c);
    CHECK(k->launches().at(0).blocks == 3);
    CHECK(k->launches().at(0).threads == 2);
    CHECK(k->run(2) > 0);
}

TEST_CASE("a text that does not compile is shown with its line; what no card can launch is said; the session goes on") {
    const machine m;
    std::string wrong = scale;
    wrong.replace(wrong.find("plus;"), 5, "minus;");
    const std::string text = refusal({.text = wrong});
    CAPTURE(text);
    CHECK(contains(text, "kernel \"f\" of node \"mine\" (test_text)"));
    CHECK(contains(text, "f.cu"));
    CHECK(contains(text, "minus"));
    CHECK(contains(text, "3")); // the line
    std::string hidden = scale;
    hidden.replace(hidden.find(" f("), 3, " g(");
    CHECK(contains(refusal({.text = hidden}), "is it extern \"C\"?"));
    CHECK(contains(refusal({.text = scale, .threads = 2000}), "a block of 2000 x 1 x 1 threads is none"));
    CHECK(contains(refusal({.text = scale, .threads = 0}), "a block of 0 x 1 x 1 threads is none"));
    CHECK(contains(refusal({.text = scale, .blocks = -1}), "a grid of -1 x 1 x 1 blocks is none"));
    CHECK(
        contains(refusal({.text = scale, .shared = 1 << 30}), "bytes of shared memory are more than a block can have"));
    CHECK(refusal({.text = scale}) == "nothing was thrown");
}

TEST_CASE("shared memory is asked for on the card that has it, whichever was used last") {
    const machine m(2);
    int cards = 0;
    if (cudaGetDeviceCount(&cards) != cudaSuccess || cards < 2) return;
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<5>>("x");
    const auto scaled = [](const char* device, const tn::any_tensor& of, std::int64_t shared) {
        return tn::on(device, [&] { return tn::add<text_op>({.text = scale, .shared = shared}, {of}); });
    };
    const auto y = scaled("/gpu:1", scaled("/gpu:0", scaled("/gpu:1", x, 0), 0), 60 * 1024); // planned in this order
    tn::session s;
    CHECK(s.run(tn::feed(x, {1, 2, 3, 4, 5}), y).data<float>()[0] == ((2.5f + 3) * 2.5f + 3) * 2.5f + 3);
}
