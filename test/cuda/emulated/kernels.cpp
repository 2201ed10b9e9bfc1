#include "emulated/support.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

// What kernels do on the emulated GPU, and which mistakes it shows.

namespace {

using tenon::cuda::dynamic_shared;

constexpr unsigned whole_warp = 0xffffffffu;

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

// Of what they find in memory of their block, which nobody has written.
__global__ void add_to_nothing(double* sums, int* counts) {
    __shared__ double sum[64];
    __shared__ int count;
    sum[threadIdx.x] += 1;
    if (threadIdx.x == 0) ++count;
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = sum[63], counts[blockIdx.x] = count;
}

template <int Threads> __global__ void __launch_bounds__(2 * Threads, 1) number_bounded(std::int64_t* to) {
    to[threadIdx.x] = threadIdx.x;
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
    else __syncthreads(); // of another line
    to[threadIdx.x] = 1;
}

// what it does wrong is for the emulated GPU to see, and for no sanitizer
__global__ __attribute__((no_sanitize("address"))) void write_at(char* to, std::int64_t at) { to[at] = 1; }

struct pointer_in_struct {
    int* at;
};
__global__ void write_through(pointer_in_struct p) { *p.at = 1; }

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
    CHECK(emulator::violations()[0].find("kernels.cpp:") != std::string::npos);
    emulator::reset();
    CHECK(cudaMalloc(&p, 16) == cudaSuccess);
    CHECK(cudaFree(p) == cudaSuccess);
}

} // namespace

TEST_CASE("every thread of every block runs once") {
    emulator::reset();
    for (const std::size_t n : {1u, 255u, 256u, 257u, 100000u}) {
        const device_array<std::int64_t> numbers(n);
        launch(number_threads, tenon::cuda::blocks_for(static_cast<std::int64_t>(n), 1, 100), 256, 0, nullptr,
               numbers.get(), static_cast<std::int64_t>(n));
        CHECK(numbers.read() == up_to(n));
    }
    const device_array<int> places(2 * 3 * 2 * 4 * 5 * 3);
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
        const device_array<int> from(values), to(1024);
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
    const device_array<int> from(values), to(256);
    launch(reverse_without_barrier, 1, 256, 0, nullptr, static_cast<const int*>(from.get()), to.get());
    CHECK(to.read() != reversed);
}

TEST_CASE("a block sums by shuffles and shared memory") {
    emulator::reset();
    std::vector<double> values(1000);
    std::iota(values.begin(), values.end(), 1.0);
    const device_array<double> from(values), to(1);
    launch(sum_in_block, 1, 256, 8 * sizeof(double), nullptr, static_cast<const double*>(from.get()), to.get(), 1000);
    CHECK(to.read()[0] == 500500.0);
}

TEST_CASE("a warp's shuffles and votes are CUDA's") {
    emulator::reset();
    const device_array<int> to(256);
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
    const device_array<int> to(96);
    launch(count_in_block, 1, 96, 0, nullptr, to.get());
    CHECK(to.read() == std::vector<int>(96, 32 + 2000));
}

TEST_CASE("atomics of all threads add up") {
    emulator::reset();
    const device_array<int> count(std::vector<int>(1));
    const device_array<float> sum(std::vector<float>(1));
    const device_array<unsigned> most(std::vector<unsigned>(1));
    const device_array<unsigned long long> swapped(std::vector<unsigned long long>(1));
    launch(count_atomically, 10, 100, 0, nullptr, count.get(), sum.get(), most.get(), swapped.get());
    CHECK(count.read()[0] == 1000);
    CHECK(sum.read()[0] == 500.0f);
    CHECK(most.read()[0] == 999u);
    CHECK(swapped.read()[0] == 7u);
}

TEST_CASE("threads that wait for ever are an error") {
    emulator::reset();
    const device_array<int> to(64);
    launch(leave_before_barrier, 1, 64, 0, nullptr, to.get());
    check_lost("63 at __syncthreads");
    launch(wait_at_two_barriers, 1, 64, 0, nullptr, to.get());
    check_lost("two barriers");
}

TEST_CASE("a kernel that writes beside an allocation is an error") {
    emulator::reset();
    const device_array<char> to(100);
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
    const device_array<std::int64_t> numbers(1);
    const auto answer = [&](dim3 grid, dim3 block, std::size_t shared_bytes) {
        return message_of<std::exception>(
            [&] { launch(number_threads, grid, block, shared_bytes, nullptr, numbers.get(), std::int64_t{1}); });
    };
    const std::string shape = "cudaErrorInvalidConfiguration", value = "cudaErrorInvalidValue";
    CHECK(answer(1, 256, 48 * 1024) == "nothing was thrown");
    CHECK(answer(dim3(1, 65535), 1, 0) == "nothing was thrown");
    CHECK(answer(0, 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 0, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 1025, 0).find(shape) != std::string::npos);
    CHECK(answer(1, dim3(1, 1, 65), 0).find(shape) != std::string::npos);
    CHECK(answer(dim3(1, 65536), 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1u << 31, 1, 0).find(shape) != std::string::npos);
    CHECK(answer(1, 1, 48 * 1024 + 1).find(value) != std::string::npos);
    const auto kernel = reinterpret_cast<const void*>(&number_threads);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024) == cudaSuccess);
    CHECK(answer(1, 1, 99 * 1024) == "nothing was thrown");
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024 + 1) ==
          cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 0) == cudaSuccess);
}

#if TENON_EMULATOR_SEES_LAUNCH_BOUNDS
TEST_CASE(
    "a launch fails where a block's registers may not suffice: beyond the kernel's launch bounds, or 256 threads") {
    emulator::reset();
    const device_array<std::int64_t> numbers(1024);
    const auto fits = [&](auto kernel, unsigned threads, auto... more) {
        try {
            launch(kernel, 1, threads, 0, nullptr, numbers.get(), more...);
        } catch (const std::exception& e) {
            CHECK(std::string(e.what()).find("cudaErrorLaunchOutOfResources") != std::string::npos);
            return false;
        }
        return true;
    };
    CHECK(fits(number_threads, 256, std::int64_t{1}));
    CHECK_FALSE(fits(number_threads, 257, std::int64_t{1}));
    CHECK(fits(number_bounded<512>, 1024));
    CHECK(fits(number_bounded<64>, 128));
    CHECK_FALSE(fits(number_bounded<64>, 129));
    CHECK(fits(number_bounded<192>, 384));
    CHECK_FALSE(fits(number_bounded<192>, 385));
}
#endif

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("static shared memory holds no numbers when a block begins") {
    emulator::reset();
    const device_array<double> sums(20);
    const device_array<int> counts(20);
    launch(add_to_nothing, 20, 64, 0, nullptr, sums.get(), counts.get());
    for (const double sum : sums.read()) CHECK(std::isnan(sum));
    for (const int count : counts.read()) CHECK(count == 0); // of -1
}
#endif

#if defined(TENON_EMULATOR_SEES_ALIGNMENT)
namespace {
__global__ void write_number_at(char* to, int at) { *reinterpret_cast<int*>(to + at) = 1; }
} // namespace

TEST_CASE("a kernel that writes at an address that is no multiple of the element's size is an error") {
    emulator::reset();
    const device_array<char> to(100);
    launch(write_number_at, 1, 1, 0, nullptr, to.get(), 4);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    launch(write_number_at, 1, 1, 0, nullptr, to.get(), 6);
    check_lost("not a multiple");
}
#endif

TEST_CASE("a kernel of a library that is loaded takes its arguments when it is launched") {
    emulator::reset();
    std::ifstream file(TENON_EMULATED_MODULE, std::ios::binary);
    const std::string code((std::istreambuf_iterator<char>(file)), {});
    emulator::kernel_image image{.bytes = code.size()};
    const std::string bytes = std::string(reinterpret_cast<const char*>(&image), sizeof image) + code;
    cudaLibrary_t library = nullptr;
    REQUIRE(cudaLibraryLoadData(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess);
    cudaKernel_t kernel = nullptr;
    CHECK(cudaLibraryGetKernel(&kernel, library, "no_such_kernel") == cudaErrorSymbolNotFound);
    REQUIRE(cudaLibraryGetKernel(&kernel, library, "scale_and_sum") == cudaSuccess);
    const device_array<double> from(std::vector<double>(100, 2.0)), sum(1);
    const double* from_at = from.get();
    double* sum_at = sum.get();
    char n = 100;
    double factor = 1.5;
    void* arguments[] = {&from_at, &n, &factor, &sum_at};
    CHECK(cudaLaunchKernel(static_cast<const void*>(kernel), 1, 64, arguments, 64 * sizeof(double), nullptr) ==
          cudaSuccess);
    factor = 0;
    CHECK(sum.read()[0] == 300.0);
    CHECK(cudaLibraryUnload(library) == cudaSuccess);
    CHECK(emulator::count().libraries == 0);
    CHECK(cudaLaunchKernel(static_cast<const void*>(kernel), 1, 64, arguments, 0, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    const std::string other(64, 'x');
    CHECK(cudaLibraryLoadData(&library, other.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          cudaErrorInvalidKernelImage);
}
