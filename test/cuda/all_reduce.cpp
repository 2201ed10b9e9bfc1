// Sums over GPUs, by NCCL and beside it.

#include <cuda/device/context.hpp>
#include <cuda/kernels/elementwise/add_into.hpp>
#include <cuda/nccl/all_reduce.hpp>

#include "summed_cards.hpp"

using namespace all_reduce_test;

TEST_CASE_TEMPLATE("SEMANTICS 44: sums over GPUs by NCCL are the sums, on each of them the same", T, float, double,
                   tn::half, tn::bfloat16, std::int8_t, std::int32_t, std::uint64_t) {
    if (!tn::cuda::why_no_nccl().empty()) return;
    for (const int n : {2, 4}) {
        const machine m(n);
        if (cards() < n) continue;
        for (const tn::extents& sizes : {tn::extents{}, tn::extents(0), tn::extents(1000, 3)}) {
            CAPTURE(n);
            CAPTURE(to_string(sizes));
            const own_graph g;
            const fed_tensors<T> x(gpus(n), sizes);
            const auto sums = tn::collective_all_reduce().sum(x.computed, gpus(n));
            tn::session s(g);
            for (int step = 0; step < 3; ++step) {
                const std::vector<tn::any_array> got = s.run_untyped(x.given(), sums);
                x.check(got);
                for (const tn::any_array& c : got) CHECK(std::memcmp(c.data(), got[0].data(), got[0].bytes()) == 0);
            }
        }
        if (const auto made = m.sums_by_nccl()) CHECK(*made == 6);
    }
}

TEST_CASE("add_into adds") {
    const machine m(1);
    const std::vector<float> a{1, 2, 3}, b{10, 20, 30};
    float *x = nullptr, *y = nullptr;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&x), 12) == cudaSuccess);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&y), 12) == cudaSuccess);
    REQUIRE(cudaMemcpy(x, a.data(), 12, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemcpy(y, b.data(), 12, cudaMemcpyHostToDevice) == cudaSuccess);
    tn::cuda::add_into(tn::element_type::float32, x, y, 3, nullptr);
    std::vector<float> sum(3);
    CHECK(cudaMemcpy(sum.data(), x, 12, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(sum == std::vector<float>{11, 22, 33});
    CHECK(cudaFree(x) == cudaSuccess);
    CHECK(cudaFree(y) == cudaSuccess);
}

TEST_CASE("parts of one card sum by themselves, with those of other cards by NCCL") {
    for (const std::vector<int>& on : std::vector<std::vector<int>>{{0, 0}, {0, 0, 0}, {0, 1, 0, 1}, {1, 0, 0}}) {
        const machine m(2);
        const bool two = std::find(on.begin(), on.end(), 1) != on.end();
        if (two && (cards() < 2 || !tn::cuda::why_no_nccl().empty())) continue;
        constexpr std::int64_t n = 300;
        const auto before = m.sums_by_nccl();
        std::vector<std::unique_ptr<tn::gpu_context>> contexts;
        std::vector<tn::participant> all;
        for (std::size_t i = 0; i < on.size(); ++i) {
            contexts.push_back(std::make_unique<tn::gpu_context>(on[i]));
            contexts.back()->use();
            tn::participant p{.gpu = contexts.back().get()};
            cudaStream_t stream = nullptr;
            REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
            p.stream = stream;
            p.memory.resize(1);
            REQUIRE(cudaMalloc(p.memory.data(), n * sizeof(float)) == cudaSuccess);
            const std::vector<float> value(n, static_cast<float>(1 << i));
            REQUIRE(cudaMemcpy(p.memory[0], value.data(), n * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
            REQUIRE(cudaDeviceSynchronize() == cudaSuccess); // the copy is on its way when cudaMemcpy returns
            all.push_back(p);
        }
        for (int again = 0; again < 2; ++again) tn::cuda::all_reduce(tn::element_type::float32, {n}, all);
        const float sum = static_cast<float>(((1 << on.size()) - 1) * static_cast<int>(on.size()));
        for (const tn::participant& p : all) {
            p.gpu->use();
            REQUIRE(cudaStreamSynchronize(static_cast<cudaStream_t>(p.stream)) == cudaSuccess);
            std::vector<float> value(n);
            REQUIRE(cudaMemcpy(value.data(), p.memory[0], n * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
            for (const float v : value) REQUIRE(v == sum);
            CHECK(cudaFree(p.memory[0]) == cudaSuccess);
            CHECK(cudaStreamDestroy(static_cast<cudaStream_t>(p.stream)) == cudaSuccess);
        }
        if (before) CHECK(*m.sums_by_nccl() - *before == (two ? 2 : 0));
    }
}

namespace {
// The losses of a mirrored strategy that learns y = 3 a - 2 b + 1, and what the copies of its weights are in the end.
std::vector<float> mirrored_losses(const std::vector<tn::device_name>& devices, std::vector<float>& weights) {
    constexpr int rows = 26;
    const own_graph g;
    tn::graph(g).set_seed(24);
    const auto x = tn::placeholder<float, tn::shape<rows, 2>>("x");
    const auto y = tn::placeholder<float, tn::shape<rows, 1>>("y");
    const tn::mirrored_strategy mirrored(devices);
    auto model = tn::nn::dense<1>();
    const auto losses =
        mirrored.run([&](auto part, auto targets) { return tn::nn::mean_squared_error(model(part), targets); },
                     mirrored.distribute(x), mirrored.distribute(y));
    const auto [train, loss] = mirrored.minimize(tn::gradient_descent(0.2), losses);
    tn::array<float, tn::shape<rows, 2>> xs;
    tn::array<float, tn::shape<rows, 1>> ys;
    for (int i = 0; i < rows; ++i) {
        const float a = static_cast<float>(i * 37 % 101) / 50 - 1, b = static_cast<float>(i * 53 % 101) / 50 - 1;
        xs(i, 0) = a;
        xs(i, 1) = b;
        ys(i, 0) = 3 * a - 2 * b + 1;
    }
    tn::session_options o{.cpu_devices = 4, .allow_soft_placement = true};
    initialized_session s(g, o);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(train, loss));
    std::vector<float> all;
    for (int i = 0; i < 12; ++i) {
        const auto [l] = step(xs, ys);
        all.push_back(l.item());
    }
    for (const tn::any_array& w : s.run_untyped({}, mirrored.copies(model.kernel())))
        weights.insert(weights.end(), w.data<float>(), w.data<float>() + w.elements());
    return all;
}
} // namespace

TEST_CASE("SEMANTICS 44: mirrored training on GPUs is the CPU's, and its copies stay equal to the bit") {
    const machine m(4);
    std::vector<float> on_cpus, on_gpus;
    const std::vector<float> wanted = mirrored_losses({"/cpu:0", "/cpu:1", "/cpu:2", "/cpu:3"}, on_cpus);
    for (const int n : {2, 4}) {
        if (cards() < n) continue;
        on_gpus.clear();
        const auto before = m.sums_by_nccl();
        const std::vector<float> losses = mirrored_losses(gpus(n), on_gpus);
        for (std::size_t i = 0; i < losses.size(); ++i)
            CHECK(losses[i] == doctest::Approx(wanted[i]).epsilon(1e-4).scale(1));
        CHECK(losses.back() < losses.front() / 10);
        for (std::size_t i = 0; i < on_gpus.size(); ++i) {
            CHECK(on_gpus[i] == on_gpus[i % 2]); // the first copy's
            CHECK(on_gpus[i] == doctest::Approx(on_cpus[i % 2]).epsilon(1e-4).scale(1));
        }
        if (before) CHECK(*m.sums_by_nccl() - *before >= losses.size());
    }
}
