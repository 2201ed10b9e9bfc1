#include <algorithm>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.hpp"
#include "machine.hpp"

using namespace tenon::emulator;

#if TENON_EMULATOR_SEES_LAUNCH_BOUNDS
extern "C" {
// By kernel with __launch_bounds__, in any order: where the instructions begin that stand in front of it.
extern const std::uintptr_t __start___patchable_function_entries[] __attribute__((weak));
extern const std::uintptr_t __stop___patchable_function_entries[] __attribute__((weak));
}
#endif

namespace {

constexpr unsigned most_threads = 1024;

// Threads that a block of a kernel of the program may have.
unsigned most_threads_of([[maybe_unused]] const void* kernel) {
#if TENON_EMULATOR_SEES_LAUNCH_BOUNDS
    static const std::set<std::uintptr_t> fronts(__start___patchable_function_entries,
                                                 __stop___patchable_function_entries);
    const auto at = reinterpret_cast<std::uintptr_t>(kernel);
    constexpr unsigned char nothing = 0x90;
    constexpr unsigned warp = 32, unbounded = 65536 / 256; // of registers
    const auto next = fronts.lower_bound(at);
    if (next == fronts.begin()) return unbounded;
    const std::uintptr_t front = *std::prev(next);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(front);
    const bool is_its = at - front <= most_threads / warp &&
                        std::all_of(bytes, bytes + (at - front), [](unsigned char b) { return b == nothing; });
    return is_its ? static_cast<unsigned>(at - front) * warp : unbounded;
#else
    return most_threads;
#endif
}

struct loaded_library {
    void* handle;
    int file;
    std::map<std::string, const library_kernel*> kernels;
};
std::set<loaded_library*>& libraries() {
    static auto& all = *new std::set<loaded_library*>;
    return all;
}
const library_kernel* find_kernel(const void* function, std::string& name) {
    for (const loaded_library* l : libraries())
        for (const auto& [n, k] : l->kernels)
            if (static_cast<const void*>(k) == function) {
                name = n;
                return k;
            }
    return nullptr;
}

// Of dynamic shared memory, on the card that is asked or launched on: other cards are not told of it.
std::size_t shared_limit(const machine& m, int card, const void* kernel) {
    const auto asked = m.shared_limits.find({card, kernel});
    return asked == m.shared_limits.end() ? 48 * 1024 : asked->second;
}

cudaError_t check_shape(machine& m, const void* kernel, int card, dim3 grid, dim3 block, std::size_t shared_bytes) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return cudaErrorInvalidConfiguration;
    if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidConfiguration;
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || std::uint64_t{block.x} * block.y * block.z > most_threads)
        return cudaErrorInvalidConfiguration;
    constexpr std::size_t unasked = 48 * 1024;
    const std::size_t most = std::max(unasked, m.all[static_cast<std::size_t>(card)].is.shared_bytes);
    return shared_bytes > std::min(most, std::max(unasked, shared_limit(m, card, kernel))) ? cudaErrorInvalidValue
                                                                                           : cudaSuccess;
}

cudaError_t put_kernel(machine& m, const void* kernel, unsigned most, const std::string& where, dim3 grid, dim3 block,
                       std::size_t shared_bytes, cudaStream_t in, const std::vector<kernel_argument>& pointers,
                       std::function<void()> thread_body) {
    const auto s = m.find_stream(in);
    if (!s || s->card != current_card) return cudaErrorInvalidResourceHandle;
    const int number = s->card;
    if (const cudaError_t e = check_shape(m, kernel, number, grid, block, shared_bytes)) return e;
    if (block.x * block.y * block.z > most) return cudaErrorLaunchOutOfResources;
    const std::uint64_t seed = m.random();
    machine* const machine_then = &m;
    m.put(*s, {"the kernel launched at " + where, work::kernel, number,
               [=, body = std::move(thread_body)] {
                   machine& now = *machine_then;
                   std::string wrong;
                   {
                       const lock_type lock(now.guard);
                       constexpr std::uintptr_t nothing = 65536; // below it there is no memory of anybody
                       for (const auto& [at, i] : pointers)
                           if (reinterpret_cast<std::uintptr_t>(at) >= nothing && now.card_of(at) < 0 &&
                               !now.is_pinned(at, 1))
                               wrong = "has the host's memory as its argument " + std::to_string(i + 1);
                   }
                   if (wrong.empty()) wrong = run_grid(body, grid, block, shared_bytes, seed);
                   if (wrong.empty()) return true;
                   const lock_type lock(now.guard);
                   now.lose(number, cudaErrorIllegalAddress, "the kernel launched at " + where + " " + wrong);
                   return true;
               },
               0, kernel, grid, block, shared_bytes});
    return cudaSuccess;
}

} // namespace

namespace tenon::emulator {

cudaError_t launch(const void* kernel, const std::string& where, dim3 grid, dim3 block, std::size_t shared_bytes,
                   cudaStream_t in, std::vector<kernel_argument> pointers, std::function<void()> thread_body) {
    return api("cudaLaunchKernel", in, where, [&](machine& m, lock_type&) {
        return put_kernel(m, kernel, most_threads_of(kernel), where, grid, block, shared_bytes, in, pointers,
                          std::move(thread_body));
    });
}

} // namespace tenon::emulator

extern "C" {

// Of kernels in libraries: those of the program come by launch().
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                             cudaStream_t in) {
    return api("cudaLaunchKernel", in, "", [&](machine& m, lock_type&) {
        std::string name;
        const library_kernel* const k = find_kernel(function, name);
        if (!k) return cudaErrorInvalidDeviceFunction;
        m.log.back().detail = name;
        struct block_of_bytes {
            std::unique_ptr<char[]> memory;
            std::vector<void*> places;
        };
        std::size_t bytes = 16;
        for (std::size_t i = 0; i < k->count; ++i) bytes += k->sizes[i] + 16;
        const auto values = std::make_shared<block_of_bytes>();
        values->memory = std::make_unique<char[]>(bytes);
        char* at = values->memory.get();
        for (std::size_t i = 0; i < k->count; ++i) {
            at += (k->alignments[i] - reinterpret_cast<std::uintptr_t>(at) % k->alignments[i]) % k->alignments[i];
            std::memcpy(at, arguments[i], k->sizes[i]);
            values->places.push_back(at);
            at += k->sizes[i];
        }
        return put_kernel(m, function, most_threads, name, grid, block, shared_bytes, in, {},
                          [run = k->run, values] { run(values->places.data()); });
    });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
    return api("cudaFuncSetAttribute", [&](machine& m, lock_type&) {
        if (which == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
        if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0) return cudaErrorInvalidValue;
        const std::size_t bytes = static_cast<std::size_t>(value);
        if (bytes > m.all[static_cast<std::size_t>(current_card)].is.shared_bytes) return cudaErrorInvalidValue;
        m.shared_limits[{current_card, function}] = bytes;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
    return api("cudaFuncGetAttributes", [&](machine& m, lock_type&) {
        *to = {};
        to->maxThreadsPerBlock = 1024;
        to->numRegs = 32;
        to->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(m, current_card, function));
        to->binaryVersion = to->ptxVersion = 90;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncGetName(const char** name, const void*) {
    return api("cudaFuncGetName", [&](machine&, lock_type&) {
        *name = "emulated";
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t shared_bytes) {
    return api("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](machine& m, lock_type&) {
        if (threads < 1 || threads > 1024) return cudaErrorInvalidValue;
        const std::size_t all = m.all[static_cast<std::size_t>(current_card)].is.shared_bytes;
        *blocks = std::min(32, 2048 / ((threads + 31) / 32 * 32));
        if (shared_bytes) *blocks = std::min(*blocks, static_cast<int>(all / shared_bytes));
        return cudaSuccess;
    });
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* to, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
    return api("cudaLibraryLoadData", [&](machine& m, lock_type&) {
        if (const cudaError_t e = refused_by_capture(m)) return e;
        const kernel_image wanted;
        kernel_image image;
        std::memcpy(&image, code, sizeof image);
        if (std::memcmp(image.magic, wanted.magic, sizeof wanted.magic) != 0) return cudaErrorInvalidKernelImage;
        const int file = memfd_create("kernels", MFD_CLOEXEC);
        const char* from = static_cast<const char*>(code) + sizeof image;
        for (std::size_t left = image.bytes; left;) {
            const ssize_t written = write(file, from, left);
            if (written <= 0) {
                close(file);
                return cudaErrorMemoryAllocation;
            }
            from += written;
            left -= static_cast<std::size_t>(written);
        }
        // By the number of this process, and open as long as it is loaded: the loader takes two files of one name for one.
        const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
        void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) std::fprintf(stderr, "emulated GPU: a library of kernels cannot be opened: %s\n", dlerror());
        if (!handle) {
            close(file);
            return cudaErrorInvalidKernelImage;
        }
        auto* const l = new loaded_library{handle, file, {}};
        libraries().insert(l);
        m.libraries = libraries().size();
        *to = reinterpret_cast<cudaLibrary_t>(l);
        return cudaSuccess;
    });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* to, cudaLibrary_t library, const char* name) {
    return api("cudaLibraryGetKernel", no_stream, name, [&](machine&, lock_type&) {
        auto* const l = reinterpret_cast<loaded_library*>(library);
        if (!libraries().count(l)) return cudaErrorInvalidResourceHandle;
        void* const found = dlsym(l->handle, ("tenon_emulated_" + std::string(name)).c_str());
        if (!found) return cudaErrorSymbolNotFound;
        l->kernels[name] = static_cast<const library_kernel*>(found);
        *to = static_cast<cudaKernel_t>(found);
        return cudaSuccess;
    });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return api("cudaLibraryUnload", [&](machine& m, lock_type& lock) {
        auto* const l = reinterpret_cast<loaded_library*>(library);
        if (!libraries().count(l)) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t e = refused_by_capture(m)) return e;
        m.wait(lock, [&] {
            return std::all_of(m.streams.begin(), m.streams.end(), [](const auto& s) { return s->queue.empty(); });
        });
        libraries().erase(l);
        m.libraries = libraries().size();
        // What has symbols that are unique in a process stays loaded, and keeps its name.
        const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(l->file);
        dlclose(l->handle);
        if (void* const still = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) dlclose(still);
        else close(l->file);
        delete l;
        return cudaSuccess;
    });
}

} // extern "C"
