#if defined(TENON_WITH_CUDNN)

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "array_of.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cudnn.hpp"
#include "messages.hpp"
#include "own_graph.hpp"
#include "ops/untyped_run.hpp"
#include <cuda/device/context.hpp>
#include <cuda/dnn/convolution.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

// What a convolution does where cuDNN refuses, fails, or is not there.

namespace tn = tenon;
namespace cudnn = tenon::emulator::cudnn;
using tn::any_array, tn::any_tensor, tn::extents;

namespace {

// relu(conv2d(x, w) + bias) of one channel: x = 1, 2, 3, 4; w = 2; bias = -5.
struct small_convolution {
    tn::graph g;
    any_tensor x, y;
    std::unique_ptr<tn::session> s;

    explicit small_convolution(bool tf32 = false) {
        tn::emulator::reset();
        cudnn::reset();
        const tn::graph_scope scope(g);
        x = tn::untyped::placeholder(tn::element_type::float32, extents{1, 2, 2, 1});
        const any_tensor w = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 1, 1});
        const any_tensor b = tn::untyped::placeholder(tn::element_type::float32, extents{1});
        y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d_bias(x, w, b, true); });
        inputs = {x, w, b};
        tn::session_options o{.allow_tf32 = tf32};
        s = std::make_unique<tn::session>(g, o);
    }
    ~small_convolution() {
        s.reset();
        cudnn::reset();
    }
    std::vector<float> run() {
        const std::vector<any_array> results =
            s->run_untyped(tn::test::fed(inputs[0], filled({1, 2, 2, 1}, {1, 2, 3, 4}), inputs[1],
                                         filled({1, 1, 1, 1}, {2}), inputs[2], filled({1}, {-5})),
                           {y});
        return {results[0].data<float>(), results[0].data<float>() + 4};
    }

private:
    static any_array filled(const extents& sizes, const std::vector<float>& values) {
        return tn::test::array_of(sizes, values);
    }
    std::vector<any_tensor> inputs;
};
const std::vector<float> wanted{0, 0, 1, 3};

} // namespace

TEST_CASE("of the engines that cuDNN offers the first is taken that is exact, the same in every run, and small") {
    small_convolution c;
    CHECK(c.run() == wanted);
    CHECK(cudnn::executed() == std::vector<std::string>{"exact"});
}

TEST_CASE("an engine that rounds operands of float is taken where the session allows it") {
    small_convolution c(true);
    CHECK(c.run() == wanted);
    CHECK(cudnn::executed() == std::vector<std::string>{"rounds floats"});
}

TEST_CASE("where cuDNN does not join bias and relu to a convolution, they follow it") {
    small_convolution c;
    cudnn::refuse(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    CHECK(c.run() == wanted);
    CHECK(cudnn::executed().size() == 1);
}

TEST_CASE("cuDNN's engine without tiles is taken for few channels, and Tenon's own kernel for many") {
    {
        small_convolution c;
        cudnn::make_direct();
        CHECK(c.run() == wanted);
        CHECK(cudnn::executed() == std::vector<std::string>{"exact"});
    }
    tn::emulator::reset();
    cudnn::reset();
    cudnn::make_direct();
    const own_graph g;
    const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 1, 16});
    const any_tensor w = tn::untyped::placeholder(tn::element_type::float32, extents{1, 1, 16, 16});
    const any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::conv2d(x, w); });
    tn::session s(g);
    any_array images(tn::element_type::float32, extents{1, 1, 1, 16}),
        filters(tn::element_type::float32, extents{1, 1, 16, 16});
    std::fill_n(images.data<float>(), 16, 2.0F);
    std::fill_n(filters.data<float>(), 256, 3.0F);
    const std::vector<any_array> results = s.run_untyped(tn::test::fed(x, images, w, filters), {y});
    CHECK(std::all_of(results[0].data<float>(), results[0].data<float>() + 16, [](float v) { return v == 96; }));
    CHECK(cudnn::executed().empty());
    cudnn::reset();
}

TEST_CASE("what cuDNN has no engine for is computed without it") {
    small_convolution c;
    cudnn::refuse(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    CHECK(c.run() == wanted);
    CHECK(cudnn::executed().empty());
}

TEST_CASE("where cuDNN cannot be used convolutions are computed without it") {
    small_convolution c;
    cudnn::fail("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
    CHECK(c.run() == wanted);
    CHECK(cudnn::executed().empty());
}

TEST_CASE("want of memory while a plan is made names the op, its sizes, and what cuDNN says") {
    small_convolution c;
    cudnn::fail("cudnnBackendFinalize", CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
    const std::string text = message_of<tn::resource_exhausted_error>([&] { (void)c.run(); });
    for (const char* part : {"conv2d_bias", "float[1, 1, 2, 2]", "CUDNN_STATUS_ALLOC_FAILED"})
        CHECK_MESSAGE(contains(text, part), text);
    cudnn::reset();
    CHECK(c.run() == wanted); // nothing was kept of the failure
}

TEST_CASE("plans for batches of ever other sizes are not all kept") {
    tn::emulator::reset();
    cudnn::reset();
    const std::size_t before = cudnn::descriptors();
    {
        tn::gpu_context context(0);
        tn::cuda::convolution_sizes sizes;
        sizes.height = sizes.width = sizes.in_channels = sizes.out_channels = sizes.out_height = sizes.out_width = 1;
        const auto plan = [&](std::int64_t batch) {
            sizes.batch = batch;
            return tn::cuda::dnn::find_plan(
                context,
                tn::cuda::dnn::convolution_graph(tn::cuda::dnn::operation_kind::convolution, sizes,
                                                 tn::element_type::float32, tn::cuda::dnn::after_convolution::nothing));
        };
        const auto first = plan(1);
        REQUIRE(first);
        CHECK(plan(1) == first);
        const std::size_t each = cudnn::descriptors() - before;
        for (std::int64_t batch = 2; batch < 1500; ++batch) REQUIRE(plan(batch));
        CHECK(cudnn::descriptors() - before <= 1100 * each);
    }
    CHECK(cudnn::descriptors() == before);
}

TEST_CASE("a graph that cuDNN does not run fails its step, and the next one works") {
    small_convolution d;
    cudnn::fail("cudnnBackendExecute", CUDNN_STATUS_EXECUTION_FAILED, 0, 1);
    const std::string not_run = message_of<tn::error>([&] { (void)d.run(); });
    CHECK_MESSAGE(contains(not_run, "conv2d_bias"), not_run);
    CHECK_MESSAGE(contains(not_run, "CUDNN_STATUS_EXECUTION_FAILED"), not_run);
    CHECK(d.run() == wanted);
}

#endif
