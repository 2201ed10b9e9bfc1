#include "emulated/support.hpp"

#include <string>

#include <unistd.h>

// Memory, cards and faults of the emulated GPU.

TEST_CASE("a copy from memory that is not pinned has read it when the call returns; from pinned memory, later") {
    emulator::reset();
    const device_array<int> a(1), b(1);
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

TEST_CASE("memory of a pool is there between its two places in a stream") {
    const emulator::counts before = emulator::count();
    int seen = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        emulator::reset();
        const device_array<std::int64_t> to(100);
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
    CHECK(emulator::count().device_allocations == before.device_allocations);
    CHECK(emulator::count().pools == before.pools);
}

TEST_CASE("copies stay within allocations") {
    emulator::reset();
    const device_array<char> a(100);
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

TEST_CASE("the host is kept from device memory, but where a test allows it") {
    emulator::reset();
    emulator::protect(true);
    const device_array<char> a(std::vector<char>(1, 7));
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const auto can_read = [&] { return write(ends[1], a.get(), 1) == 1; }; // EFAULT, and no signal
    bool refused = false;
    for (int i = 0; i < 10000 && !refused; ++i) { // where much memory is in use it is not closed each time
        CHECK(a.read()[0] == 7);
        refused = !can_read();
    }
    CHECK(refused);
    emulator::protect(false);
    CHECK(a.read()[0] == 7);
    CHECK(can_read());
    emulator::protect(true);
    for (const int end : ends) close(end);
}

TEST_CASE("a card has as much memory as it is said to have") {
    emulator::reset();
    emulator::card small{.name = "Small GPU"};
    const std::size_t used = emulator::count().device_bytes; // by what other tests left
    small.memory = used + (1 << 20);
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
    CHECK(total == used + (1 << 20));
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
    const device_array<std::int64_t> a(all_of(10, 0));
    emulator::lose_card(0, 2);
    for (int i = 0; i < 5; ++i) launch(add_one, 1, 32, 0, nullptr, a.get(), std::int64_t{10});
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
    emulator::reset();
    CHECK(a.read() == all_of(10, 2));
}
