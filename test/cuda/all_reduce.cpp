// Sums over GPUs, by NCCL and beside it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/kernels/add_into.hpp>
#include <cuda/nccl/all_reduce.hpp>
#include <tenon/cuda/gpus.hpp>
#include <tenon/tenon.hpp>

#include "emulated_libraries_if_any.hpp"

namespace {

namespace tn = tenon;

// A machine of so many cards; a real one may have fewer.
struct machine {
#if defined(TENON_CUDA_EMULATED)
    explicit machine(int n) {
        begin();
        tn::emulator::cards(std::vector<tn::emulator::card>(static_cast<std::size_t>(n)));
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine() { begin(); }
    static void begin() {
        tn::emulator::reset();
#if defined(TENON_WITH_NCCL)
        tn::emulator::nccl::reset();
#endif
    }
    bool is_clean() const { return tn::emulator::violations().empty(); }
#else
    explicit machine(int) {}
    bool is_clean() const { return cudaDeviceSynchronize() == cudaSuccess; }
#endif
};
int cards() {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

std::vector<tn::device_name> gpus(int n) {
    std::vector<tn::device_name> names;
    for (int i = 0; i < n; ++i) names.emplace_back("/gpu:" + std::to_string(i));
    return names;
}

// x of a fed x, on each GPU.
template <class T> struct fed_tensors {
    fed_tensors(const std::vector<tn::device_name>& on, const tn::extents& sizes) {
        std::mt19937_64 random(on.size());
        for (const tn::device_name& d : on) {
            const tn::device_scope inside(d);
            fed.push_back(tn::untyped::placeholder(tn::element_type_of<T>, sizes));
            computed.push_back(tn::untyped::identity(fed.back()));
            values.emplace_back(tn::element_type_of<T>, sizes);
            for (std::int64_t i = 0; i < sizes.elements(); ++i)
                values.back().template data<T>()[i] = static_cast<T>(static_cast<int>(random() % 201) - 100);
        }
    }
    std::vector<tn::fed_value> given() const {
        std::vector<tn::fed_value> f;
        for (std::size_t i = 0; i < fed.size(); ++i) f.push_back({fed[i], values[i].share()});
        return f;
    }
    // Whole numbers, which all types here add up exactly, or in 8 bits wrapping around.
    void check(const std::vector<tn::any_array>& sums) const {
        REQUIRE(sums.size() == fed.size());
        for (const tn::any_array& s : sums)
            for (std::int64_t i = 0; i < s.elements(); ++i) {
                double sum = 0;
                std::uint64_t wrapped = 0;
                for (const tn::any_array& v : values) {
                    sum += static_cast<double>(v.template data<T>()[i]);
                    if constexpr (std::is_integral_v<T>) wrapped += static_cast<std::uint64_t>(v.template data<T>()[i]);
                }
                if constexpr (std::is_integral_v<T>) REQUIRE(s.template data<T>()[i] == static_cast<T>(wrapped));
                else REQUIRE(static_cast<double>(s.template data<T>()[i]) == doctest::Approx(sum).epsilon(1e-2));
            }
    }
    std::vector<tn::any_tensor> fed, computed;
    std::vector<tn::any_array> values;
};

std::uint64_t sums_by_nccl() {
#if defined(TENON_CUDA_EMULATED) && defined(TENON_WITH_NCCL)
    return tn::emulator::nccl::count().sums;
#else
    return 0;
#endif
}

} // namespace

TEST_CASE_TEMPLATE("SEMANTICS 44: sums over GPUs by NCCL are the sums, on each of them the same", T, float, double,
                   tn::half, tn::bfloat16, std::int8_t, std::int32_t, std::uint64_t) {
    if (!tn::cuda::why_no_nccl().empty()) return;
    for (const int n : {2, 4}) {
        const machine m(n);
        if (cards() < n) continue;
        for (const tn::extents& sizes : {tn::extents{}, tn::extents(0), tn::extents(1000, 3)}) {
            CAPTURE(n);
            CAPTURE(to_string(sizes));
            const tn::graph g;
            const tn::graph_scope scope(g);
            const fed_tensors<T> x(gpus(n), sizes);
            const auto sums = tn::collective_all_reduce().sum(x.computed, gpus(n));
            tn::session s(g);
            for (int step = 0; step < 3; ++step) {
                const std::vector<tn::any_array> got = s.run_untyped(x.given(), sums);
                x.check(got);
                for (const tn::any_array& c : got) CHECK(std::memcmp(c.data(), got[0].data(), got[0].bytes()) == 0);
            }
        }
#if defined(TENON_CUDA_EMULATED)
        CHECK(sums_by_nccl() == 6);
#endif
        CHECK(m.is_clean());
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
    CHECK(m.is_clean());
}

TEST_CASE("parts of one card sum by themselves, with those of other cards by NCCL") {
    for (const std::vector<int>& on : std::vector<std::vector<int>>{{0, 0}, {0, 0, 0}, {0, 1, 0, 1}, {1, 0, 0}}) {
        const machine m(2);
        const bool two = std::find(on.begin(), on.end(), 1) != on.end();
        if (two && (cards() < 2 || !tn::cuda::why_no_nccl().empty())) continue;
        constexpr std::int64_t n = 300;
        [[maybe_unused]] const std::uint64_t before = sums_by_nccl();
        std::vector<std::unique_ptr<tn::gpu_context>> contexts;
        std::vector<tn::participant> all;
        for (std::size_t i = 0; i < on.size(); ++i) {
            contexts.push_back(std::make_unique<tn::gpu_context>(on[i]));
            contexts.back()->use();
            tn::participant p;
            p.gpu = contexts.back().get();
            cudaStream_t stream = nullptr;
            REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
            p.stream = stream;
            REQUIRE(cudaMalloc(&p.memory, n * sizeof(float)) == cudaSuccess);
            const std::vector<float> value(n, static_cast<float>(1 << i));
            REQUIRE(cudaMemcpy(p.memory, value.data(), n * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
            all.push_back(p);
        }
        for (int again = 0; again < 2; ++again) tn::cuda::all_reduce(tn::element_type::float32, n, all);
        const float sum = static_cast<float>(((1 << on.size()) - 1) * static_cast<int>(on.size()));
        for (const tn::participant& p : all) {
            p.gpu->use();
            REQUIRE(cudaStreamSynchronize(static_cast<cudaStream_t>(p.stream)) == cudaSuccess);
            std::vector<float> value(n);
            REQUIRE(cudaMemcpy(value.data(), p.memory, n * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
            for (const float v : value) REQUIRE(v == sum);
            CHECK(cudaFree(p.memory) == cudaSuccess);
            CHECK(cudaStreamDestroy(static_cast<cudaStream_t>(p.stream)) == cudaSuccess);
        }
#if defined(TENON_CUDA_EMULATED)
        CHECK(sums_by_nccl() - before == (two ? 2 : 0));
#endif
        CHECK(m.is_clean());
    }
}

namespace {
// The losses of a mirrored strategy that learns y = 3 a - 2 b + 1, and what the copies of its weights are in the end.
std::vector<float> mirrored_losses(const std::vector<tn::device_name>& devices, std::vector<float>& weights) {
    constexpr int rows = 26;
    const tn::graph g;
    const tn::graph_scope scope(g);
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
    tn::session_options o;
    o.cpu_devices = 4;
    o.allow_soft_placement = true;
    tn::session s(g, o);
    s.run(tn::initialize_variables());
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
        const std::uint64_t before = sums_by_nccl();
        const std::vector<float> losses = mirrored_losses(gpus(n), on_gpus);
        for (std::size_t i = 0; i < losses.size(); ++i)
            CHECK(losses[i] == doctest::Approx(wanted[i]).epsilon(1e-4).scale(1));
        CHECK(losses.back() < losses.front() / 10);
        for (std::size_t i = 0; i < on_gpus.size(); ++i) {
            CHECK(on_gpus[i] == on_gpus[i % 2]); // the first copy's
            CHECK(on_gpus[i] == doctest::Approx(on_cpus[i % 2]).epsilon(1e-4).scale(1));
        }
#if defined(TENON_CUDA_EMULATED) && defined(TENON_WITH_NCCL)
        CHECK(sums_by_nccl() - before >= losses.size());
#else
        (void)before;
#endif
    }
    CHECK(m.is_clean());
}

#if defined(TENON_CUDA_EMULATED) && defined(TENON_WITH_NCCL)

namespace {
// How many nodes of the op the sum of such tensors has, as it is chosen where nothing is asked for.
int collective_nodes(tn::element_type e, const std::vector<tn::device_name>& on) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    std::vector<tn::any_tensor> xs;
    for (const tn::device_name& d : on) {
        const tn::device_scope inside(d);
        xs.push_back(tn::untyped::placeholder(e, tn::extents(6)));
    }
    (void)tn::default_all_reduce()->sum(xs, on);
    int found = 0;
    for (std::int64_t i = 0; i < g.size(); ++i) found += std::string(g.at(i)->op->name) == "all_reduce";
    return found;
}
} // namespace

TEST_CASE("NCCL sums where nothing else is asked for, and where it can; what it cannot do nodes and transfers do") {
    const machine m(3);
    CHECK(collective_nodes(tn::element_type::float32, gpus(3)) == 3);
    CHECK(collective_nodes(tn::element_type::float32, {"/job:worker/task:1/gpu:0", "/job:worker/task:1/gpu:2"}) == 2);
    CHECK(collective_nodes(tn::element_type::int16, gpus(3)) == 0);
    CHECK(collective_nodes(tn::element_type::float32, gpus(4)) == 0); // a part of another one's card
    CHECK(collective_nodes(tn::element_type::float32, {"/cpu:0", "/gpu:0"}) == 0);
    CHECK(collective_nodes(tn::element_type::float32, {"/cpu:0", "/cpu:1"}) == 0);
    CHECK(collective_nodes(tn::element_type::float32, {"/job:worker/task:0/gpu:0", "/job:worker/task:1/gpu:1"}) == 0);
}

TEST_CASE("what NCCL refuses is an error that says what was summed; the next step sums again") {
    const machine m(2);
    const tn::graph g;
    const tn::graph_scope scope(g);
    const fed_tensors<float> x(gpus(2), tn::extents(40));
    const auto sums = tn::collective_all_reduce().sum(x.computed, gpus(2));
    tn::session s(g);
    using tn::emulator::nccl::fail;
    fail("ncclGroupEnd", ncclInternalError, 0, 1);
    CHECK_THROWS_WITH_AS(s.run_untyped(x.given(), sums), doctest::Contains("40 elements of float on cards 0 1"),
                         tn::internal_error);
    x.check(s.run_untyped(x.given(), sums));
    CHECK(tn::emulator::nccl::count().cliques >= 1); // the first is of no more use
    fail("ncclAllReduce", ncclSystemError, 1, 1);
    CHECK_THROWS_WITH_AS(s.run_untyped(x.given(), sums), doctest::Contains("unhandled system error"),
                         tn::unavailable_error);
    fail("ncclCommInitAll", ncclSystemError, 0, 1);
    CHECK_THROWS_AS(s.run_untyped(x.given(), sums), tn::unavailable_error);
    x.check(s.run_untyped(x.given(), sums));
    CHECK(m.is_clean());
}

TEST_CASE("sums of several sessions go one after another on all cards, in any order of streams") {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const machine m(2);
        tn::emulator::seed(seed);
        const tn::graph g;
        const tn::graph_scope scope(g);
        const fed_tensors<float> x(gpus(2), tn::extents(64)), y(gpus(2), tn::extents(8));
        const tn::collective_all_reduce reduce;
        auto sums = reduce.sum(x.computed, gpus(2));
        for (const tn::any_tensor& t : reduce.sum(y.computed, gpus(2))) sums.push_back(t);
        const auto steps = [&] {
            tn::session s(g);
            for (int i = 0; i < 5; ++i) {
                std::vector<tn::fed_value> fed = x.given();
                for (tn::fed_value& f : y.given()) fed.push_back(std::move(f));
                std::vector<tn::any_array> got = s.run_untyped(std::move(fed), sums);
                std::vector<tn::any_array> first, second;
                for (std::size_t k = 0; k < 4; ++k) (k < 2 ? first : second).push_back(std::move(got[k]));
                x.check(first);
                y.check(second);
            }
        };
        std::thread other(steps);
        steps();
        other.join();
        CHECK(m.is_clean());
    }
}

#endif
