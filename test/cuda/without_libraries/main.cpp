#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <cuda/nccl/all_reduce.hpp>
#include <tenon/cuda/cuda_source.hpp>
#include <tenon/cuda/gpus.hpp>
#include <tenon/tenon.hpp>

#include "array_of.hpp"
#include "emulator/control.hpp"
#include "messages.hpp"
#include "ops/untyped_run.hpp"
#include "said.hpp"
#include "own_graph.hpp"

// The emulated GPU without stand-ins of NVIDIA's libraries: what programs do where the libraries' files are not there, are damaged, too old,
// or of another version, and where their headers were not there when the library was built. The arguments are what the library's messages must say.

namespace tn = tenon;
using tenon::test::said_by;
using tn::any_array, tn::any_tensor, tn::element_type, tn::extents;

namespace {

std::vector<std::string> reasons;

void check_reasons(const std::string& text) {
    INFO(text);
    for (const std::string& r : reasons) CHECK(contains(text, r));
}

any_array filled(const extents& sizes, const std::vector<float>& values) { return tn::test::array_of(sizes, values); }
std::vector<float> values_of(const any_array& a) { return {a.data<float>(), a.data<float>() + a.elements()}; }

struct text_op {
    static constexpr const char* name = "test_text";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
        return tn::cuda_source("f", "extern \"C\" __global__ void f(const float* x, float* y) { *y = *x; }").prepare(s);
    }
};

} // namespace

TEST_CASE_FIXTURE(in_graph, "without cuBLASLt products are made by Tenon's own kernels, of which one line tells") {
    const any_tensor x = tn::untyped::placeholder(element_type::float32, extents(2, 3));
    const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::matmul(x, x, false, true); });
    for (const bool first : {true, false}) {
        std::vector<float> product;
        const std::string said = said_by([&] {
            tn::session s(g);
            product = values_of(s.run_untyped(tn::test::fed(x, filled(extents(2, 3), {1, 2, 3, 4, 5, 6})), {y})[0]);
        });
        CHECK(product == std::vector<float>{14, 32, 32, 77});
        CHECK(contains(said, "tenon: products of matrices on GPUs are made by Tenon's own kernels") == first);
        if (first) check_reasons(said);
        else CHECK(said.empty());
    }
}

#if defined(TENON_WITH_CUDNN)
TEST_CASE_FIXTURE(in_graph, "without cuDNN convolutions are made by Tenon's own kernels, of which one line tells") {
    const any_tensor x = tn::untyped::placeholder(element_type::float32, extents(1, 2, 2, 1));
    const any_tensor w = tn::untyped::placeholder(element_type::float32, extents(1, 1, 1, 1));
    const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d(x, w); });
    std::vector<float> result;
    const std::string said = said_by([&] {
        tn::session s(g);
        result = values_of(s.run_untyped(
            tn::test::fed(x, filled(extents(1, 2, 2, 1), {1, 2, 3, 4}), w, filled(extents(1, 1, 1, 1), {2})), {y})[0]);
    });
    CHECK(result == std::vector<float>{2, 4, 6, 8});
    CHECK(contains(said, "cuDNN"));
    CHECK(contains(said, "Convolutions and attention on GPUs run without it"));
    check_reasons(said);
}
#endif

TEST_CASE_FIXTURE(
    in_graph,
    "without NVRTC elementwise expressions are interpreted, of which one line tells; asked for compiled ones alone "
    "it is an unavailable_error") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::identity(tn::sqrt(x) * 2.0F + 1.0F); });
    const auto run = [&] {
        tn::session s(g);
        return values_of(s.run_untyped(tn::test::fed(x, filled(extents(3), {1, 4, 9})), {y})[0]);
    };
    std::vector<float> result;
    unsetenv("TENON_CUDA_TAPES");
    const std::string said = said_by([&] { result = run(); });
    CHECK(result == std::vector<float>{3, 5, 7});
    CHECK(contains(said, "tenon: elementwise expressions are interpreted on GPUs"));
    check_reasons(said);
    setenv("TENON_CUDA_TAPES", "compiled", 1);
    check_reasons(message_of<tn::unavailable_error>(run));
    unsetenv("TENON_CUDA_TAPES");
}

TEST_CASE("without NVRTC a kernel of a text is an unavailable_error with its node, and the session goes on") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::add<text_op>({}, {x}, "mine"); });
    tn::session s(g);
    const std::string said = message_of<tn::unavailable_error>([&] { (void)s.run(tn::feed(x, 3), y); });
    check_reasons(said);
    CHECK(contains(said, "NVRTC"));
    CHECK(contains(said, "mine"));
    CHECK(s.run(tn::feed(x, 3), tn::add_n(x, x)).item() == 6);
}

TEST_CASE("without cuFFT Fourier transforms are made by Tenon's own kernels, of which one line tells") {
    const own_graph g;
    const any_tensor x = tn::untyped::placeholder(element_type::float32, extents(4));
    const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::rfft(x); });
    for (const bool first : {true, false}) {
        std::vector<float> result;
        const std::string said = said_by([&] {
            tn::session s(g);
            result = values_of(s.run_untyped(tn::test::fed(x, filled(extents(4), {1, 2, 3, 4})), {y})[0]);
        });
        const std::vector<float> wanted = {10, 0, -2, 2, -2, 0};
        REQUIRE(result.size() == wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(result[i] == doctest::Approx(wanted[i]).scale(1));
        CHECK(contains(said, "tenon: Fourier transforms on GPUs are made by Tenon's own kernels") == first);
        if (first) check_reasons(said);
        else CHECK(said.empty());
    }
}

TEST_CASE("without cuSOLVER large matrices are decomposed by Tenon's own kernels, of which one line tells") {
    const own_graph g;
    const any_tensor x = tn::untyped::placeholder(element_type::float32, extents(64, 64));
    const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::inverse(x); });
    std::vector<float> diagonal(64 * 64), wanted(64 * 64), result;
    for (std::size_t i = 0; i < 64; ++i) {
        diagonal[i * 65] = i % 2 ? 4.0F : 0.5F;
        wanted[i * 65] = i % 2 ? 0.25F : 2.0F;
    }
    const std::string said = said_by([&] {
        tn::session s(g);
        result = values_of(s.run_untyped(tn::test::fed(x, filled(extents(64, 64), diagonal)), {y})[0]);
    });
    CHECK(result == wanted);
    CHECK(contains(said, "tenon: large matrices are decomposed on GPUs by Tenon's own kernels"));
    check_reasons(said);
}

#if defined(TENON_WITH_NCCL)
TEST_CASE(
    "without NCCL sums over GPUs are made by nodes and transfers; asked for NCCL's they are an unavailable_error") {
    tn::emulator::cards(std::vector<tn::emulator::card>(2));
    check_reasons(tn::cuda::why_no_nccl());
    const std::vector<tn::device_name> on{"/gpu:0", "/gpu:1"};
    for (const bool asked : {false, true}) {
        const own_graph g;
        std::vector<any_tensor> fed, xs;
        for (const tn::device_name& d : on) {
            const tn::device_scope inside(d);
            fed.push_back(tn::untyped::placeholder(element_type::float32, extents(3)));
            xs.push_back(tn::untyped::identity(fed.back()));
        }
        const auto sums = asked ? tn::collective_all_reduce().sum(xs, on) : tn::default_all_reduce()->sum(xs, on);
        tn::session s(g);
        std::vector<any_array> got;
        const auto run = [&] {
            got = s.run_untyped(
                tn::test::fed(fed[0], filled(extents(3), {1, 2, 3}), fed[1], filled(extents(3), {10, 20, 30})), sums);
        };
        if (asked) {
            const std::string why = message_of<tn::unavailable_error>(run);
            CHECK(contains(why, "the sum over 2 GPUs: "));
            CHECK(contains(why, "NCCL"));
            check_reasons(why);
            continue;
        }
        run();
        for (const any_array& a : got) CHECK(values_of(a) == std::vector<float>{11, 22, 33});
    }
    tn::emulator::reset();
}
#endif

int main(int count, char** arguments) {
    if (count < 2) {
        std::puts("what must messages say?");
        return 1;
    }
    reasons.assign(arguments + 1, arguments + count);
    for (const char* file :
         {"libcublasLt.so.13", "libcublasLt.so", "libcudnn.so.9", "libnvrtc.so.13", "libnvrtc.so", "libnccl.so.2",
          "libnccl.so", "libcufft.so.12", "libcufft.so", "libcusolver.so.12", "libcusolver.so"})
        if (reasons[0] == "could not be loaded" && dlopen(file, RTLD_LAZY | RTLD_LOCAL)) {
            std::printf("%s is installed here\n", file);
            return 77;
        }
    doctest::Context tests;
    return tests.run();
}
