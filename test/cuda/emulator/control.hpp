#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

/// An NVIDIA GPU that is none: kernels and CUDA's runtime run on the host, in orders that a GPU might choose.
///
/// How a test is written, in test/cuda/NAME.cpp (built into test_cuda; into test_cuda_gpu, for real GPUs, too, where the file
/// includes nothing of emulator/):
///
///     #include <cuda/kernels/rows/softmax.hpp>       // what is tested: plain functions that put kernels on a stream
///     #include "device_array.hpp"
///     using tenon::cuda::testing::device_array;
///
///     TEST_CASE("the softmax of a row sums to one") {
///         const device_array<float> x(values), y(values.size());   // y: all bits set, and no access for the host
///         tenon::cuda::softmax(x.get(), y.get(), rows, columns, nullptr);
///         check_near(y.read(), softmax_in_double(values));
///     }
///
/// With this header, a file of its own can ask for more:
///         emulator::reset();                    // work that is left done, no faults, one card; then
///         emulator::seed(n);                    // streams, blocks and threads in another order
///         emulator::fail("cudaMalloc", cudaErrorMemoryAllocation, {2});    // from the third call on
///         CHECK(emulator::count().events == before.events);                // leaks; calls(), count_calls("...")
///
/// Static shared memory has all bits set when a block begins: what is not a number, and -1 (but not under the address sanitizer). A kernel
/// without __launch_bounds__ is taken to need 255 registers a thread, so that a block of more than 256 threads does not fit into the
/// 65536 of a multiprocessor; one that has them fits for as many threads as they say, and is not launched for more
/// (cudaErrorLaunchOutOfResources). What nvcc makes of it is not known here (test/cuda/resources.sh).
///
/// A kernel that writes beside an allocation, touches memory of the host or of another card, waits at a barrier for ever or
/// uses an unaligned address gives cudaErrorIllegalAddress to all calls that follow, as a GPU does. Standard error and
/// violations() say what it did, and which source line launched it; reset() mends that. A build with the address
/// sanitizer sees what is read beside allocations, too. A host that touches device memory ends with SIGSEGV, and a line
/// that says so (where much memory is in use: most of the time).

namespace tenon::emulator {

/// A GPU as tests want it to be.
struct card {
    std::string name = "Emulated GPU";
    int major = 9, minor = 0;
    std::size_t memory = std::size_t{8} << 30;
    int multiprocessors = 8;
    std::size_t shared_bytes = 99 * 1024; ///< of dynamic shared memory that a block may ask for
    bool reaches_peers = true;            ///< cudaDeviceCanAccessPeer
    bool has_pools = true;
};
inline constexpr int most_cards = 8;

/// What follows is drawn from `n`: orders of streams, of a graph's nodes, of blocks and threads.
void seed(std::uint64_t n);
/// Waits for all work, then: one card, no faults, an empty log, no violations, a seed of 1. What was allocated stays.
void reset();
/// The machine's cards, which takes effect at once: ask before a program looks for devices. At the start one, or as many as
/// TENON_EMULATOR_CARDS says.
void cards(const std::vector<card>& all);

/// `call` ("cudaMalloc") answers `error`, and does nothing, from its call number `after` + 1 on, for `times` calls.
/// With `above`: only where it would bring a card's allocated bytes above that.
struct fault {
    std::uint64_t after = 0;
    std::uint64_t times = ~std::uint64_t{0};
    std::optional<std::size_t> above = {};
};
void fail(const std::string& call, cudaError_t error, const fault& when = {});
/// The card is lost when it has run `commands` more commands: every later call gives the same error.
void lose_card(int card, std::uint64_t commands, cudaError_t error = cudaErrorIllegalAddress);
/// Whether the program has made a context on the card, as most calls do of a thread that has chosen it, or of one that has chosen none, for
/// which that is card 0. It takes some hundred megabytes of the card, and a part of a second.
bool has_context(int card);
/// While a stream is captured another thread of the process waits for a whole card, whichever, at one in `calls` calls, as other libraries'
/// threads may: that capture is lost. 0: none does, but at the start what TENON_EMULATOR_OTHERS_WAIT says.
void others_wait(unsigned calls);
/// Every call answers `error` (cudaErrorInsufficientDriver, cudaErrorNoDevice); cudaSuccess: there is a driver.
void driver(cudaError_t error);
/// Whether the host is kept from touching device memory (true at the start; reset() leaves it).
void protect(bool on);

/// A call of the runtime, in the order of calls.
struct call {
    std::string name;   ///< cudaLaunchKernel
    std::string detail; ///< of a launch: the source file and line that asked for it; of copies: bytes
    cudaStream_t stream;
};
std::vector<call> calls();
/// How many calls of that name.
std::size_t count_calls(const std::string& name);
/// What kernels and copies did that they may not.
std::vector<std::string> violations();

struct counts {
    std::size_t device_bytes, device_allocations, host_allocations;     ///< now
    std::size_t streams, events, graphs, executables, pools, libraries; ///< that live
    std::uint64_t commands;                                             ///< run since the program began
};
counts count();

// ---- for stand-ins of libraries ----

/// Puts work on a stream as one command, which a capture records. `run` is called when its turn comes, by the thread
/// that runs commands, with device memory open: it returns true when it is done, false to be asked again after others
/// have got on (for what several GPUs do together). It makes no calls of the runtime.
cudaError_t enqueue(cudaStream_t stream, const std::string& name, std::function<bool()> run);
/// What answered false may answer otherwise now, without that others have got on.
void ask_again();
/// An error of a library's work: what violations() lists; the card is lost.
void report(const std::string& what);

/// A shared object with kernels, as cudaLibraryLoadData takes it: this, then `bytes` bytes of it. Its source is
/// compiled with -include device.hpp, -fPIC -shared, and ends with TENON_EMULATED_KERNEL(name) for each kernel.
struct kernel_image {
    char magic[8] = {'T', 'N', 'I', 'M', 'A', 'G', 'E', '1'};
    std::uint64_t bytes = 0;
};
/// What TENON_EMULATED_KERNEL defines under the name tenon_emulated_NAME.
struct library_kernel {
    void (*run)(void** arguments);
    const std::size_t* sizes;
    const std::size_t* alignments;
    std::size_t count;
};

// ---- for cuda/kernels/launch.hpp ----

struct kernel_argument {
    const void* pointer; ///< of an argument that is a pointer
    int index;
};
cudaError_t launch(const void* kernel, const std::string& where, dim3 grid, dim3 block, std::size_t shared_bytes,
                   cudaStream_t stream, std::vector<kernel_argument> pointers, std::function<void()> thread_body);

} // namespace tenon::emulator
