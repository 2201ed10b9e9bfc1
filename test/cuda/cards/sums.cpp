#if defined(TENON_WITH_NCCL)

// Gradients are summed by NCCL in buckets, on streams of their own, while the rest of the backward pass goes on.

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include <tenon/tenon.hpp>

#include "emulator/control.hpp"
#include "emulator/libraries/nccl.hpp"
#include "environment.hpp"
#include "summed_cards.hpp"
#include "own_graph.hpp"
#include "initialized_session.hpp"

using namespace all_reduce_test;
namespace emulator = tenon::emulator;
using tn::test::environment;

namespace {

constexpr int rows = 12, width = 6, layers = 4, steps = 8;
constexpr std::int64_t layer_bytes = (width * width + width) * 4;

struct trained {
    std::vector<float> numbers; // losses, and the weights of all copies in the end
    tn::recording_counts told;
    std::uint64_t groups, sums; // of all steps
    std::vector<emulator::call> last_step;
};

// A network of four layers on every card, of a part of each batch.
trained train(int n, const std::shared_ptr<const tn::all_reduce_method>& by) {
    const own_graph g;
    tn::graph(g).set_seed(11);
    const auto x = tn::placeholder<float, tn::shape<rows, width>>("x");
    const auto y = tn::placeholder<float, tn::shape<rows, width>>("y");
    const tn::mirrored_strategy mirrored(gpus(n), by);
    std::vector<decltype(tn::nn::dense<width>())> model;
    for (int l = 0; l < layers; ++l) model.push_back(tn::nn::dense<width>());
    const auto losses = mirrored.run(
        [&](auto part, auto wanted) {
            auto h = model[0](part);
            for (std::size_t l = 1; l < model.size(); ++l) h = model[l](tanh(h));
            return tn::nn::mean_squared_error(h, wanted);
        },
        mirrored.distribute(x), mirrored.distribute(y));
    const auto [update, loss] = mirrored.minimize(tn::momentum(0.05), losses);
    initialized_session s(g);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(update, loss));
    tn::array<float, tn::shape<rows, width>> xs, ys;
    trained all{};
    for (int i = 0; i < steps; ++i) {
        for (int r = 0, k = 7 * i; r < rows; ++r)
            for (int c = 0; c < width; ++c) {
                xs(r, c) = std::sin(static_cast<float>(++k));
                ys(r, c) = xs(r, 0) - xs(r, c);
            }
        const std::size_t before = emulator::calls().size();
        const auto [value] = step(xs, ys);
        all.numbers.push_back(value.item());
        const std::vector<emulator::call> calls = emulator::calls();
        all.last_step.assign(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end());
    }
    all.groups = emulator::nccl::count().groups;
    all.sums = emulator::nccl::count().sums;
    for (const auto& layer : model)
        for (const tn::any_array& w : s.run_untyped({}, mirrored.copies(layer.kernel())))
            all.numbers.insert(all.numbers.end(), w.data<float>(), w.data<float>() + w.elements());
    all.told = s.report(tn::feed(x, xs), tn::feed(y, ys), update, loss).recordings;
    return all;
}

trained train_once(int n, std::int64_t bucket_bytes, const char* one_by_one, std::uint64_t seed = 1) {
    const environment tapes("TENON_CUDA_TAPES", "interpreted"), blocking("CUDA_LAUNCH_BLOCKING", one_by_one);
    const machine m(n);
    emulator::seed(seed);
    trained t = train(n, std::make_shared<const tn::collective_all_reduce>(bucket_bytes));
    return t;
}

} // namespace

TEST_CASE(
    "gradients go to NCCL in buckets, one call each, and are the same in whichever buckets, recorded or not, in any "
    "order of streams") {
    for (const int n : {2, 3}) {
        CAPTURE(n);
        const trained by_tensor = train_once(n, 0, "1");
        CHECK(by_tensor.groups == steps * layers * 2);
        CHECK(by_tensor.sums == steps * layers * 2);
        CHECK(by_tensor.told.replayed == 0);
        CHECK(by_tensor.numbers[steps - 1] < by_tensor.numbers[0]);
        for (const auto& [bytes, buckets] : {std::pair(layer_bytes, layers), std::pair(2 * layer_bytes, layers / 2),
                                             std::pair(std::int64_t{25} << 20, 1)})
            for (const char* one_by_one : {"1", "0"})
                for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                    CAPTURE(bytes);
                    CAPTURE(one_by_one);
                    CAPTURE(seed);
                    const trained t = train_once(n, bytes, one_by_one, seed);
                    CHECK(t.numbers == by_tensor.numbers);
                    CHECK(t.groups == static_cast<std::uint64_t>(steps * buckets));
                    CHECK(t.sums == steps * layers * 2);
                    CHECK(t.told.replayed == (*one_by_one == '1' ? 0 : steps - 1));
                    CHECK(t.told.failed == 0);
                }
    }
}

TEST_CASE(
    "a bucket is given to NCCL when its gradients are there, on streams that nothing else is on, and no stream of "
    "kernels waits for it before the last gradient is computed") {
    const environment tapes("TENON_CUDA_TAPES", "interpreted");
    const machine m(2);
    // Given one after another, so that each command is seen.
    tn::emulator::fail("cudaStreamBeginCapture", cudaErrorStreamCaptureUnsupported);
    const trained t = train(2, std::make_shared<const tn::collective_all_reduce>(layer_bytes));
    CHECK(t.told.replayed == 0);
    std::set<cudaStream_t> of_kernels, of_sums;
    std::vector<std::size_t> sums; // places of calls
    for (std::size_t c = 0; c < t.last_step.size(); ++c) {
        const emulator::call& call = t.last_step[c];
        if (call.name == "cudaLaunchKernel") of_kernels.insert(call.stream);
        if (call.name != "ncclAllReduce") continue;
        of_sums.insert(call.stream);
        sums.push_back(c);
    }
    CHECK(of_kernels.size() == 2);
    CHECK(of_sums.size() == 2);
    for (const cudaStream_t s : of_sums) CHECK(!of_kernels.contains(s));
    REQUIRE(sums.size() == 2 * 2 * layers); // two tensors of each layer, on two cards
    // Between one bucket and the next: kernels of the backward pass, which wait for no sum.
    for (std::size_t bucket = 1; bucket < layers; ++bucket) {
        int kernels = 0, waits = 0;
        for (std::size_t c = sums[4 * bucket - 1]; c < sums[4 * bucket]; ++c) {
            kernels += t.last_step[c].name == "cudaLaunchKernel";
            waits += t.last_step[c].name == "cudaStreamWaitEvent" && of_kernels.contains(t.last_step[c].stream);
        }
        CAPTURE(bucket);
        CHECK(kernels > 0);
        CHECK(waits == 0);
    }
}

TEST_CASE("a recorded step is cut where NCCL sums: as many graphs as it has buckets, and one more") {
    for (const auto& [bytes, buckets] : {std::pair(layer_bytes, layers), std::pair(std::int64_t{25} << 20, 1)}) {
        const trained t = train_once(2, bytes, "0");
        int graphs = 0, captured = 0;
        for (const emulator::call& c : t.last_step) {
            graphs += c.name == "cudaGraphLaunch";
            captured += c.name == "cudaLaunchKernel";
        }
        CHECK(graphs == buckets + 1);
        CHECK(captured == 0);
    }
}

TEST_CASE(
    "a sum that fails between recordings fails its step, whose variables stay as they were, and the next one sums") {
    const environment tapes("TENON_CUDA_TAPES", "interpreted");
    const machine m(2);
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<4, 3>>("x");
    const tn::mirrored_strategy mirrored(gpus(2), std::make_shared<const tn::collective_all_reduce>());
    auto model = tn::nn::dense<1>();
    const auto losses =
        mirrored.run([&](auto part) { return tn::mean(tn::square(model(part) - 1.0f)); }, mirrored.distribute(x));
    const auto [update, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
    initialized_session s(g);
    const auto step = s.callable(tn::feeds(x), tn::fetches(update, loss));
    tn::array<float, tn::shape<4, 3>> xs;
    for (float& v : xs) v = 0.5f;
    const auto weights = [&] {
        std::vector<float> all;
        for (const tn::any_array& w : s.run_untyped({}, mirrored.copies(model.kernel())))
            all.insert(all.end(), w.data<float>(), w.data<float>() + w.elements());
        return all;
    };
    for (int i = 0; i < 4; ++i) (void)step(xs);
    CHECK(s.report(tn::feed(x, xs), update, loss).recordings.replayed == 3);
    const std::vector<float> before = weights();
    emulator::nccl::fail("ncclGroupEnd", ncclInternalError, 0, 1);
    CHECK_THROWS_AS((void)step(xs), tn::internal_error);
    CHECK(weights() == before);
    (void)step(xs);
    CHECK(weights() != before);
    for (int i = 0; i < 3; ++i)
        CHECK(weights()[static_cast<std::size_t>(i)] == weights()[static_cast<std::size_t>(3 + i)]);
}

#endif
