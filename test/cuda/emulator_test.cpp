#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "emulator/device.hpp"

#include <cuda/kernels/launch.hpp>

// The emulated GPU itself: what kernels and CUDA's runtime do on it, and which mistakes it shows.

namespace {

using tenon::cuda::dynamic_shared;
using tenon::cuda::launch;
namespace emulator = tenon::emulator;

constexpr unsigned whole_warp = 0xffffffffu;

/// Device memory of n elements, with what they are made from and read back into.
template <class T> class on_device {
public:
    explicit on_device(const std::vector<T>& values) : n_(values.size()) {
        REQUIRE(cudaMalloc(reinterpret_cast<void**>(&at_), n_ * sizeof(T)) == cudaSuccess);
        REQUIRE(cudaMemcpy(at_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    }
    explicit on_device(std::size_t n) : on_device(std::vector<T>(n)) {}
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device() { (void)cudaFree(at_); }
    T* get() const { return at_; }
    std::vector<T> read() const {
        std::vector<T> values(n_);
        REQUIRE(cudaMemcpy(values.data(), at_, n_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
        return values;
    }

private:
    T* at_ = nullptr;
    std::size_t n_;
};

std::vector<std::int64_t> up_to(std::size_t n) {
    std::vector<std::int64_t> all(n);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
}

cudaStream_t new_stream() {
    cudaStream_t s = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
    return s;
}
cudaEvent_t new_event() {
    cudaEvent_t e = nullptr;
    REQUIRE(cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess);
    return e;
}

// ---- kernels ----

__global__ void number_threads(std::int64_t* to, std::int64_t n) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) to[i] = i;
}

__global__ void number_places(int* to) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    to[block * blockDim.x * blockDim.y * blockDim.z + thread] = static_cast<int>(block * 1000 + thread);
}

__global__ void reverse_in_block(const int* from, int* to) {
    __shared__ int values[256];
    values[threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    to[blockIdx.x * 256 + threadIdx.x] = values[255 - threadIdx.x];
}

__global__ void reverse_without_barrier(const int* from, int* to) {
    __shared__ int values[256];
    values[threadIdx.x] = from[threadIdx.x];
    to[threadIdx.x] = values[255 - threadIdx.x];
}

__global__ void sum_in_block(const double* from, double* to, int n) {
    double* const partial = dynamic_shared<double>();
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) sum += from[i];
    for (unsigned d = 16; d; d /= 2) sum += __shfl_down_sync(whole_warp, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(whole_warp, sum, d);
        if (threadIdx.x == 0) *to = sum;
    }
}

__global__ void shuffle_all_ways(int* to) {
    const int lane = static_cast<int>(threadIdx.x);
    to[lane] = __shfl_sync(whole_warp, lane * 10, 5);
    to[32 + lane] = __shfl_up_sync(whole_warp, lane, 3u);
    to[64 + lane] = __shfl_down_sync(whole_warp, lane, 3u, 8);
    to[96 + lane] = __shfl_xor_sync(whole_warp, lane, 1);
    to[128 + lane] = static_cast<int>(__ballot_sync(whole_warp, lane % 3 == 0));
    to[160 + lane] = __any_sync(whole_warp, lane == 31) + 2 * __all_sync(whole_warp, lane < 31);
    to[192 + lane] = static_cast<int>(__shfl_sync(whole_warp, static_cast<std::int8_t>(-lane), 7));
    to[224 + lane] = lane < 16 ? __shfl_sync(0x0000ffffu, lane, 2) : __shfl_sync(0xffff0000u, lane, 17);
}

__global__ void count_in_block(int* to) {
    to[threadIdx.x] = __syncthreads_count(threadIdx.x % 3 == 0) + 1000 * __syncthreads_and(threadIdx.x < 64) +
                      2000 * __syncthreads_or(threadIdx.x == 70);
}

__global__ void count_atomically(int* count, float* sum, unsigned* most, unsigned long long* swapped) {
    atomicAdd(count, 1);
    atomicAdd(sum, 0.5f);
    atomicMax(most, blockIdx.x * blockDim.x + threadIdx.x);
    atomicCAS(swapped, 0ull, 7ull);
}

__global__ void leave_before_barrier(int* to) {
    if (threadIdx.x == 3) return;
    __syncthreads();
    to[threadIdx.x] = 1;
}

__global__ void wait_at_two_barriers(int* to) {
    if (threadIdx.x % 2) __syncthreads();
    else __syncthreads();
    to[threadIdx.x] = 1;
}

// what it does wrong is for the emulated GPU to see, and for no sanitizer
__global__ __attribute__((no_sanitize("address"))) void write_at(char* to, std::int64_t at) { to[at] = 1; }

struct pointer_in_struct {
    int* at;
};
__global__ void write_through(pointer_in_struct p) { *p.at = 1; }

__global__ void add_one(std::int64_t* to, std::int64_t n) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) ++to[i];
}

__global__ void copy_numbers(const std::int64_t* from, std::int64_t* to, std::int64_t n) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

/// Fails unless the runtime now gives the error that stays, and puts all right again.
void check_lost(const std::string& why) {
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    void* p = nullptr;
    CHECK(cudaMalloc(&p, 16) == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    REQUIRE(emulator::violations().size() == 1);
    INFO(emulator::violations()[0]);
    CHECK(emulator::violations()[0].find(why) != std::string::npos);
    CHECK(emulator::violations()[0].find("emulator_test.cpp:") != std::string::npos);
    emulator::reset();
    CHECK(cudaMalloc(&p, 16) == cudaSuccess);
    CHECK(cudaFree(p) == cudaSuccess);
}

} // namespace

TEST_CASE("every thread of every block runs once") {
    emulator::reset();
    for (const std::size_t n : {1u, 255u, 256u, 257u, 100000u}) {
        const on_device<std::int64_t> numbers(n);
        launch(number_threads, tenon::cuda::blocks_for(static_cast<std::int64_t>(n), 1, 100), 256, 0, nullptr,
               numbers.get(), static_cast<std::int64_t>(n));
        CHECK(numbers.read() == up_to(n));
    }
    const on_device<int> places(2 * 3 * 2 * 4 * 5 * 3);
    launch(number_places, {2, 3, 2}, {4, 5, 3}, 0, nullptr, places.get());
    const std::vector<int> is = places.read();
    for (std::size_t i = 0; i < is.size(); ++i) CHECK(is[i] == static_cast<int>(i / 60 * 1000 + i % 60));
}

TEST_CASE("a barrier lets a block's threads see what the others wrote") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        emulator::reset();
        emulator::seed(seed);
        std::vector<int> values(1024);
        std::iota(values.begin(), values.end(), 0);
        const on_device<int> from(values), to(1024);
        launch(reverse_in_block, 4, 256, 0, nullptr, static_cast<const int*>(from.get()), to.get());
        const std::vector<int> is = to.read();
        for (std::size_t i = 0; i < is.size(); ++i) CHECK(is[i] == static_cast<int>(i / 256 * 256 + 255 - i % 256));
    }
}

TEST_CASE("a missing barrier shows") {
    emulator::reset();
    std::vector<int> values(256), reversed(256);
    std::iota(values.begin(), values.end(), 1);
    std::iota(reversed.rbegin(), reversed.rend(), 1);
    const on_device<int> from(values), to(256);
    launch(reverse_without_barrier, 1, 256, 0, nullptr, static_cast<const int*>(from.get()), to.get());
    CHECK(to.read() != reversed);
}

TEST_CASE("a block sums by shuffles and shared memory") {
    emulator::reset();
    std::vector<double> values(1000);
    std::iota(values.begin(), values.end(), 1.0);
    const on_device<double> from(values), to(1);
    launch(sum_in_block, 1, 256, 8 * sizeof(double), nullptr, static_cast<const double*>(from.get()), to.get(), 1000);
    CHECK(to.read()[0] == 500500.0);
}

TEST_CASE("a warp's shuffles and votes are CUDA's") {
    emulator::reset();
    const on_device<int> to(256);
    launch(shuffle_all_ways, 1, 32, 0, nullptr, to.get());
    const std::vector<int> is = to.read();
    for (std::size_t l = 0; l < 32; ++l) {
        const int lane = static_cast<int>(l);
        CHECK(is[l] == 50);
        CHECK(is[32 + l] == (lane < 3 ? lane : lane - 3));
        CHECK(is[64 + l] == (lane % 8 + 3 >= 8 ? lane : lane + 3));
        CHECK(is[96 + l] == (lane ^ 1));
        CHECK(static_cast<unsigned>(is[128 + l]) == 0x49249249u);
        CHECK(is[160 + l] == 1);
        CHECK(is[192 + l] == -7);
        CHECK(is[224 + l] == (lane < 16 ? 2 : 17));
    }
}

TEST_CASE("barriers count the threads for which something holds") {
    emulator::reset();
    const on_device<int> to(96);
    launch(count_in_block, 1, 96, 0, nullptr, to.get());
    CHECK(to.read() == std::vector<int>(96, 32 + 2000));
}

TEST_CASE("atomics of all threads add up") {
    emulator::reset();
    const on_device<int> count(1);
    const on_device<float> sum(1);
    const on_device<unsigned> most(1);
    const on_device<unsigned long long> swapped(1);
    launch(count_atomically, 10, 100, 0, nullptr, count.get(), sum.get(), most.get(), swapped.get());
    CHECK(count.read()[0] == 1000);
    CHECK(sum.read()[0] == 500.0f);
    CHECK(most.read()[0] == 999u);
    CHECK(swapped.read()[0] == 7u);
}

TEST_CASE("threads that wait for ever are an error") {
    emulator::reset();
    const on_device<int> to(64);
    launch(leave_before_barrier, 1, 64, 0, nullptr, to.get());
    check_lost("63 at __syncthreads");
    launch(wait_at_two_barriers, 1, 64, 0, nullptr, to.get());
    check_lost("two barriers");
}

TEST_CASE("a kernel that writes beside an allocation is an error") {
    emulator::reset();
    const on_device<char> to(100);
    for (const std::int64_t at : {-1, 100, 130}) {
        launch(write_at, 1, 1, 0, nullptr, to.get(), at);
        check_lost("an allocation of 100 bytes");
    }
    launch(write_at, 1, 1, 0, nullptr, to.get(), std::int64_t{99});
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a kernel that touches what is no device memory is an error") {
    emulator::reset();
    int on_host = 0;
    launch(write_through, 1, 1, 0, nullptr, pointer_in_struct{reinterpret_cast<int*>(4096)});
    check_lost("touches address");
    launch(write_at, 1, 1, 0, nullptr, reinterpret_cast<char*>(&on_host), std::int64_t{0});
    check_lost("the host's memory");
}

TEST_CASE("a launch is checked as a GPU would") {
    emulator::reset();
    const on_device<std::int64_t> numbers(1);
    const auto answer = [&](dim3 grid, dim3 block, std::size_t shared_bytes) {
        try {
            launch(number_threads, grid, block, shared_bytes, nullptr, numbers.get(), std::int64_t{1});
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string shape = "cudaErrorInvalidConfiguration", value = "cudaErrorInvalidValue";
    CHECK(answer(1, 1024, 48 * 1024) == "");
    CHECK(answer(dim3(1, 65535), 1, 0) == "");
    CHECK(answer(0, 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 0, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 1025, 0).find(shape) != std::string::npos);
    CHECK(answer(1, dim3(1, 1, 65), 0).find(shape) != std::string::npos);
    CHECK(answer(dim3(1, 65536), 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1u << 31, 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 1, 48 * 1024 + 1).find(value) != std::string::npos);
    const auto kernel = reinterpret_cast<const void*>(&number_threads);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024) == cudaSuccess);
    CHECK(answer(1, 1, 99 * 1024) == "");
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024 + 1) ==
          cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 0) == cudaSuccess);
}

TEST_CASE("work of one stream comes in order, and after the events that it waits for") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        emulator::reset();
        emulator::seed(seed);
        const on_device<std::int64_t> a(100), b(100);
        const cudaStream_t one = new_stream(), two = new_stream();
        const cudaEvent_t e = new_event();
        launch(number_threads, 1, 128, 0, one, a.get(), std::int64_t{100});
        launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
        CHECK(cudaEventRecord(e, one) == cudaSuccess);
        CHECK(cudaStreamWaitEvent(two, e, 0) == cudaSuccess);
        launch(copy_numbers, 1, 32, 0, two, static_cast<const std::int64_t*>(a.get()), b.get(), std::int64_t{100});
        CHECK(cudaStreamSynchronize(two) == cudaSuccess);
        const auto is = b.read();
        for (std::size_t i = 0; i < 100; ++i) CHECK(is[i] == static_cast<std::int64_t>(i) + 1);
        CHECK(cudaEventDestroy(e) == cudaSuccess);
        CHECK(cudaStreamDestroy(one) == cudaSuccess);
        CHECK(cudaStreamDestroy(two) == cudaSuccess);
    }
    CHECK(emulator::count().streams == 0);
    CHECK(emulator::count().events == 0);
    CHECK(emulator::count().device_bytes == 0);
}

TEST_CASE("a missing wait for an event shows for some seed") {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        emulator::reset();
        const on_device<std::int64_t> a(100), b(100);
        const cudaStream_t one = new_stream(), two = new_stream();
        emulator::seed(seed);
        launch(number_threads, 1, 128, 0, one, a.get(), std::int64_t{100});
        launch(copy_numbers, 1, 32, 0, two, static_cast<const std::int64_t*>(a.get()), b.get(), std::int64_t{100});
        CHECK(cudaStreamSynchronize(two) == cudaSuccess);
        wrong += b.read() != up_to(100);
        CHECK(cudaStreamDestroy(one) == cudaSuccess);
        CHECK(cudaStreamDestroy(two) == cudaSuccess);
    }
    CHECK(wrong > 5);
    CHECK(wrong < 35);
}

TEST_CASE("a copy from memory that is not pinned has read it when the call returns; from pinned memory, later") {
    emulator::reset();
    const on_device<int> a(1), b(1);
    int pageable = 1;
    int* pinned = nullptr;
    CHECK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), sizeof(int), cudaHostAllocDefault) == cudaSuccess);
    *pinned = 1;
    const cudaStream_t s = new_stream();
    emulator::lose_card(0, 1000000); // a card that is to be lost far in the future is as any other
    CHECK(cudaMemcpyAsync(a.get(), &pageable, sizeof(int), cudaMemcpyHostToDevice, s) == cudaSuccess);
    CHECK(cudaMemcpyAsync(b.get(), pinned, sizeof(int), cudaMemcpyHostToDevice, s) == cudaSuccess);
    pageable = 2;
    *pinned = 2;
    CHECK(cudaStreamSynchronize(s) == cudaSuccess);
    CHECK(a.read()[0] == 1);
    CHECK(b.read()[0] == 2);
    CHECK(cudaFreeHost(pinned) == cudaSuccess);
    CHECK(cudaStreamDestroy(s) == cudaSuccess);
}

TEST_CASE("a host function is called in its stream's order, though nobody waits for the stream") {
    emulator::reset();
    const on_device<std::int64_t> a(10);
    std::atomic<bool> called = false;
    const cudaStream_t s = new_stream();
    launch(number_threads, 1, 128, 0, s, a.get(), std::int64_t{10});
    CHECK(cudaLaunchHostFunc(
              s,
              [](void* to) {
                  int device = 0;
                  CHECK(cudaGetDevice(&device) == cudaErrorNotPermitted);
                  auto& done = *static_cast<std::atomic<bool>*>(to);
                  done = true;
                  done.notify_all();
              },
              &called) == cudaSuccess);
    called.wait(false);
    CHECK(cudaStreamDestroy(s) == cudaSuccess);
    CHECK(a.read() == up_to(10));
}

TEST_CASE("a host that polls an event gets there") {
    emulator::reset();
    const on_device<std::int64_t> a(10);
    const cudaEvent_t e = new_event();
    CHECK(cudaEventQuery(e) == cudaSuccess);
    for (int i = 0; i < 5; ++i) launch(add_one, 1, 32, 0, nullptr, a.get(), std::int64_t{10});
    CHECK(cudaEventRecord(e, nullptr) == cudaSuccess);
    int asked = 0;
    for (; cudaEventQuery(e) == cudaErrorNotReady; ++asked) {
    }
    CHECK(asked > 0);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaEventDestroy(e) == cudaSuccess);
    CHECK(a.read() == std::vector<std::int64_t>(10, 5));
}

TEST_CASE("two streams are captured as one graph, which runs as often as it is launched") {
    emulator::reset();
    const on_device<std::int64_t> a(100), b(100);
    const cudaStream_t one = new_stream(), two = new_stream();
    const cudaEvent_t fork = new_event(), join = new_event();
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(cudaEventRecord(fork, one) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(two, fork, 0) == cudaSuccess);
    launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
    launch(add_one, 1, 32, 0, two, b.get(), std::int64_t{50});
    CHECK(cudaEventRecord(join, two) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(one, join, 0) == cudaSuccess);
    launch(copy_numbers, 1, 32, 0, one, static_cast<const std::int64_t*>(a.get()), b.get() + 50, std::int64_t{50});
    cudaStreamCaptureStatus status{};
    CHECK(cudaStreamIsCapturing(two, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(one, &graph) == cudaSuccess);
    std::size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
    CHECK(nodes == 3);
    CHECK(a.read() == std::vector<std::int64_t>(100, 0)); // nothing ran

    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, i % 2 ? one : two) == cudaSuccess);
    CHECK(cudaStreamSynchronize(one) == cudaSuccess);
    CHECK(cudaStreamSynchronize(two) == cudaSuccess);
    CHECK(a.read() == std::vector<std::int64_t>(100, 3));
    CHECK(b.read() == std::vector<std::int64_t>(100, 3));

    // The same with other pointers can be put in its place; another graph cannot.
    const auto capture = [&](int launches) {
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
        for (int i = 0; i < launches; ++i) launch(add_one, 1, 32, 0, one, b.get(), std::int64_t{100});
        cudaGraph_t g = nullptr;
        REQUIRE(cudaStreamEndCapture(one, &g) == cudaSuccess);
        return g;
    };
    const cudaGraph_t other = capture(3), shorter = capture(2), longer = capture(2);
    cudaGraphExecUpdateResultInfo result{};
    CHECK(cudaGraphExecUpdate(executable, other, &result) == cudaErrorGraphExecUpdateFailure);
    CHECK(result.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
    cudaGraphExec_t second = nullptr;
    CHECK(cudaGraphInstantiate(&second, shorter, 0) == cudaSuccess);
    CHECK(cudaGraphExecUpdate(second, longer, &result) == cudaSuccess);
    CHECK(cudaGraphLaunch(second, one) == cudaSuccess);
    CHECK(cudaStreamSynchronize(one) == cudaSuccess);
    CHECK(b.read() == std::vector<std::int64_t>(100, 5));
    for (const cudaGraph_t g : {graph, other, shorter, longer}) CHECK(cudaGraphDestroy(g) == cudaSuccess);
    for (const cudaGraphExec_t g : {executable, second}) CHECK(cudaGraphExecDestroy(g) == cudaSuccess);
    for (const cudaEvent_t e : {fork, join}) CHECK(cudaEventDestroy(e) == cudaSuccess);
    for (const cudaStream_t s : {one, two}) CHECK(cudaStreamDestroy(s) == cudaSuccess);
    CHECK(emulator::count().graphs == 0);
    CHECK(emulator::count().executables == 0);
}

TEST_CASE("what a capture forbids makes it invalid") {
    emulator::reset();
    const on_device<std::int64_t> a(100);
    const cudaStream_t one = new_stream(), two = new_stream();
    const cudaEvent_t fork = new_event(), before = new_event();
    CHECK(cudaEventRecord(before, two) == cudaSuccess);
    const auto captured = [&](const std::function<void()>& body) {
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
        launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
        body();
        cudaGraph_t g = nullptr;
        const cudaError_t answer = cudaStreamEndCapture(one, &g);
        CHECK((g != nullptr) == (answer == cudaSuccess));
        if (g) CHECK(cudaGraphDestroy(g) == cudaSuccess);
        (void)cudaGetLastError();
        return answer;
    };
    CHECK(captured([] {}) == cudaSuccess);
    CHECK(captured([&] { CHECK(cudaStreamSynchronize(one) == cudaErrorStreamCaptureUnsupported); }) ==
          cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] {
              void* p = nullptr;
              CHECK(cudaMalloc(&p, 16) == cudaErrorStreamCaptureUnsupported);
          }) == cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] { CHECK(cudaStreamWaitEvent(one, before, 0) == cudaErrorStreamCaptureIsolation); }) ==
          cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] {
              CHECK(cudaEventRecord(fork, one) == cudaSuccess);
              CHECK(cudaStreamWaitEvent(two, fork, 0) == cudaSuccess);
              launch(add_one, 1, 32, 0, two, a.get(), std::int64_t{100});
              CHECK(cudaEventQuery(fork) == cudaErrorCapturedEvent);
          }) == cudaErrorStreamCaptureUnjoined);
    CHECK(a.read() == std::vector<std::int64_t>(100, 0));
    for (const cudaEvent_t e : {fork, before}) CHECK(cudaEventDestroy(e) == cudaSuccess);
    for (const cudaStream_t s : {one, two}) CHECK(cudaStreamDestroy(s) == cudaSuccess);
}

TEST_CASE("memory of a pool is there between its two places in a stream") {
    int seen = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        emulator::reset();
        const on_device<std::int64_t> to(100);
        const cudaStream_t one = new_stream(), two = new_stream();
        const cudaEvent_t written = new_event();
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        cudaMemPool_t pool = nullptr;
        CHECK(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
        emulator::seed(seed);
        void* region = nullptr;
        CHECK(cudaMallocFromPoolAsync(&region, 800, pool, one) == cudaSuccess);
        auto* const numbers = static_cast<std::int64_t*>(region);
        launch(number_threads, 1, 128, 0, one, numbers, std::int64_t{100});
        CHECK(cudaEventRecord(written, one) == cudaSuccess);
        CHECK(cudaStreamWaitEvent(two, written, 0) == cudaSuccess);
        launch(copy_numbers, 1, 32, 0, two, static_cast<const std::int64_t*>(numbers), to.get(), std::int64_t{100});
        CHECK(cudaFreeAsync(region, one) == cudaSuccess); // without a wait for the second stream
        CHECK(cudaFreeAsync(region, one) == cudaErrorInvalidValue);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        seen += to.read() != up_to(100);
        CHECK(cudaMemPoolDestroy(pool) == cudaSuccess);
        CHECK(cudaEventDestroy(written) == cudaSuccess);
        for (const cudaStream_t s : {one, two}) CHECK(cudaStreamDestroy(s) == cudaSuccess);
    }
    CHECK(seen > 3);
    CHECK(seen < 27);
    CHECK(emulator::count().device_allocations == 0);
    CHECK(emulator::count().pools == 0);
}

TEST_CASE("copies stay within allocations") {
    emulator::reset();
    const on_device<char> a(100);
    std::vector<char> host(200);
    CHECK(cudaMemcpy(a.get(), host.data(), 101, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(host.data(), a.get() + 1, 100, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaMemset(a.get(), 0, 101) == cudaErrorInvalidValue);
    CHECK(emulator::violations().size() == 3);
    CHECK(cudaMemcpy(a.get(), host.data(), 100, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
    CHECK(cudaMemset(a.get(), 3, 100) == cudaSuccess);
    CHECK(a.read() == std::vector<char>(100, 3));
    emulator::reset();
}

TEST_CASE("fresh memory holds no zeros") {
    emulator::reset();
    void* p = nullptr;
    CHECK(cudaMalloc(&p, 4) == cudaSuccess);
    float x = 0;
    CHECK(cudaMemcpy(&x, p, 4, cudaMemcpyDefault) == cudaSuccess);
    CHECK(x != x);
    CHECK(cudaFree(p) == cudaSuccess);
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
}

TEST_CASE("a card has as much memory as it is said to have") {
    emulator::reset();
    emulator::card small;
    small.name = "Small GPU";
    small.memory = 1 << 20;
    emulator::cards({small, {}});
    int n = 0;
    CHECK(cudaGetDeviceCount(&n) == cudaSuccess);
    CHECK(n == 2);
    cudaDeviceProp properties{};
    CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    CHECK(properties.name == std::string("Small GPU"));
    void *p = nullptr, *q = nullptr;
    CHECK(cudaMalloc(&p, 1 << 19) == cudaSuccess);
    CHECK(cudaMalloc(&q, (1 << 19) + 1) == cudaErrorMemoryAllocation);
    std::size_t free = 0, total = 0;
    CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
    CHECK(free == 1 << 19);
    CHECK(total == 1 << 20);
    CHECK(cudaFree(p) == cudaSuccess);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    emulator::reset();
}

TEST_CASE("a kernel reaches another card's memory where that was asked for") {
    for (const bool asked : {true, false}) {
        emulator::reset();
        emulator::cards({{}, {}});
        CHECK(cudaSetDevice(1) == cudaSuccess);
        void* there = nullptr;
        CHECK(cudaMalloc(&there, 800) == cudaSuccess);
        CHECK(cudaSetDevice(0) == cudaSuccess);
        if (asked) CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
        launch(number_threads, 1, 128, 0, nullptr, static_cast<std::int64_t*>(there), std::int64_t{100});
        CHECK(cudaDeviceSynchronize() == (asked ? cudaSuccess : cudaErrorIllegalAddress));
        if (asked) CHECK(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
        emulator::reset();
        CHECK(cudaFree(there) == cudaSuccess);
    }
}

TEST_CASE("faults come when they are asked for") {
    emulator::reset();
    void *p = nullptr, *q = nullptr;
    emulator::fail("cudaMalloc", cudaErrorMemoryAllocation, {1, 1, {}});
    CHECK(cudaMalloc(&p, 16) == cudaSuccess);
    CHECK(cudaMalloc(&q, 16) == cudaErrorMemoryAllocation);
    CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaMalloc(&q, 16) == cudaSuccess);
    CHECK(emulator::count_calls("cudaMalloc") == 3);
    CHECK(emulator::calls().size() >= 3);
    CHECK(emulator::calls()[0].name == "cudaMalloc");
    CHECK(cudaFree(p) == cudaSuccess);
    CHECK(cudaFree(q) == cudaSuccess);
    const std::size_t used = emulator::count().device_bytes;
    emulator::fail("cudaMalloc", cudaErrorMemoryAllocation, {0, 100, used + 1000});
    CHECK(cudaMalloc(&p, 1001) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&p, 1000) == cudaSuccess);
    CHECK(cudaFree(p) == cudaSuccess);

    emulator::reset();
    emulator::driver(cudaErrorInsufficientDriver);
    int n = 0;
    CHECK(cudaGetDeviceCount(&n) == cudaErrorInsufficientDriver);
    emulator::reset();
    emulator::cards({});
    CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice);

    emulator::reset();
    const on_device<std::int64_t> a(10);
    emulator::lose_card(0, 2);
    for (int i = 0; i < 5; ++i) launch(add_one, 1, 32, 0, nullptr, a.get(), std::int64_t{10});
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
    emulator::reset();
    CHECK(a.read() == std::vector<std::int64_t>(10, 2));
}
