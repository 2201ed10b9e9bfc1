#include "block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

extern "C" {
extern unsigned char tenon_emulated_shared_begin[] __attribute__((weak));
extern unsigned char tenon_emulated_shared_end[] __attribute__((weak));
}

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

#if defined(__x86_64__)
extern "C" void tenon_emulator_switch(void** from, void* to);
asm(R"(
.text
.type tenon_emulator_switch, @function
tenon_emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size tenon_emulator_switch, .-tenon_emulator_switch
)");
#endif

namespace tenon::emulator {

unsigned char* dynamic_shared_memory = nullptr;

namespace {

constexpr std::size_t stack_bytes = 256 * 1024, page = 4096;
constexpr unsigned most_threads = 1024, no_thread = ~0u;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool sees_addresses = true;
#else
constexpr bool sees_addresses = false;
#endif

struct fiber {
#if defined(__x86_64__)
    void* stack_pointer = nullptr;
#else
    ucontext_t context;
#endif
    char* stack = nullptr; // its lowest byte that may be touched; none: the thread that called run_grid()
    unsigned thread = no_thread;
    [[maybe_unused]] void* fake_stack = nullptr; // of the address sanitizer
};

struct lane_state {
    std::uint64_t value, result;
    unsigned mask;
    int source;
    warp_op op;
    fiber* waiter; // none: it has not come, or its result is there
};

struct warp_state {
    unsigned living, pending;
    lane_state lanes[32];
};

struct block_state {
    const std::function<void()>* body = nullptr;
    fiber main;
    fiber* current = nullptr;
    std::vector<fiber> fibers;
    std::vector<fiber*> free, ready, at_barrier;
    warp_state warps[most_threads / 32];
    unsigned threads = 0, started = 0, ended = 0;
    bool descending = false;
    int predicates = 0, counted = 0;
    const char* file = nullptr;
    int line = 0;
    std::string wrong;
    std::uint64_t random = 1;
};

block_state& state() {
    static block_state* const b = new block_state; // its stacks outlive all
    return *b;
}
thread_local bool inside = false;

std::uint64_t draw(block_state& b) {
    b.random ^= b.random << 13;
    b.random ^= b.random >> 7;
    b.random ^= b.random << 17;
    return b.random;
}

void enter_thread(unsigned t) {
    if (t == no_thread) return;
    threadIdx.x = t % blockDim.x;
    threadIdx.y = t / blockDim.x % blockDim.y;
    threadIdx.z = t / (blockDim.x * blockDim.y);
}

/// What the address sanitizer wants to know of the stack that comes next.
void before_switch([[maybe_unused]] void** kept, [[maybe_unused]] const fiber& next) {
#if defined(__SANITIZE_ADDRESS__)
    static void* main_bottom = nullptr;
    static std::size_t main_bytes = 0;
    if (!main_bottom) {
        pthread_attr_t attributes;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &main_bottom, &main_bytes);
        pthread_attr_destroy(&attributes);
    }
    __sanitizer_start_switch_fiber(kept, next.stack ? next.stack : main_bottom,
                                   next.stack ? stack_bytes - page : main_bytes);
#endif
}
void after_switch([[maybe_unused]] fiber& now) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(now.fake_stack, nullptr, nullptr);
#endif
}

void switch_to(fiber& next) {
    block_state& b = state();
    fiber& now = *b.current;
    if (&now == &next) return;
    b.current = &next;
    enter_thread(next.thread);
    before_switch(&now.fake_stack, next);
#if defined(__x86_64__)
    tenon_emulator_switch(&now.stack_pointer, next.stack_pointer);
#else
    swapcontext(&now.context, &next.context);
#endif
    after_switch(now);
}

/// Gives the processor to whoever can go on.
void go_on_elsewhere() {
    block_state& b = state();
    if (!b.ready.empty()) {
        fiber* const next = b.ready.back();
        b.ready.pop_back();
        switch_to(*next);
    } else if (b.started < b.threads) {
        fiber* const next = b.free.back();
        b.free.pop_back();
        switch_to(*next);
    } else {
        switch_to(b.main); // all have ended, or nobody can go on
    }
}

void give_results(warp_state& w, unsigned group) {
    block_state& b = state();
    unsigned ballot = 0;
    for (unsigned l = 0; l < 32; ++l)
        if (group >> l & 1 && w.lanes[l].value) ballot |= 1u << l;
    for (unsigned l = 0; l < 32; ++l) {
        if (!(group >> l & 1)) continue;
        lane_state& lane = w.lanes[l];
        switch (lane.op) {
        case warp_op::sync: lane.result = 0; break;
        case warp_op::shuffle: {
            const unsigned source = static_cast<unsigned>(lane.source) & 31;
            lane.result = group >> source & 1 ? w.lanes[source].value : ~std::uint64_t{0};
            break;
        }
        case warp_op::ballot: lane.result = ballot; break;
        }
        if (lane.waiter && lane.waiter != b.current) b.ready.push_back(lane.waiter);
        lane.waiter = nullptr;
    }
    w.pending &= ~group;
}

/// Ends the meetings of a warp for which all have come: those who ended are not waited for.
void end_meetings(warp_state& w) {
    for (unsigned left = w.pending; left;) {
        const unsigned first = static_cast<unsigned>(__builtin_ctz(left));
        const unsigned group = w.lanes[first].mask & w.living;
        left &= ~(group | 1u << first);
        if ((group & w.pending) != group) continue;
        bool same = true;
        for (unsigned l = 0; l < 32; ++l)
            if (group >> l & 1) same &= w.lanes[l].mask == w.lanes[first].mask && w.lanes[l].op == w.lanes[first].op;
        if (same) give_results(w, group);
    }
}

[[noreturn]] void fiber_main() {
    block_state& b = state();
    after_switch(*b.current);
    for (;;) {
        fiber& self = *b.current;
        while (b.started < b.threads) {
            const unsigned k = b.started++, t = b.descending ? b.threads - 1 - k : k;
            self.thread = t;
            enter_thread(t);
            (*b.body)();
            ++b.ended;
            warp_state& w = b.warps[t / 32];
            w.living &= ~(1u << t % 32);
            if (w.pending) end_meetings(w);
        }
        self.thread = no_thread;
        b.free.push_back(&self);
        go_on_elsewhere();
    }
}

void make_fiber(fiber& f) {
#if defined(__x86_64__)
    // fibers start at different distances from their pages' ends, or all would share a few lines of the cache
    const auto number = static_cast<std::size_t>(&f - state().fibers.data());
    char* const top = f.stack + stack_bytes - page - number % 31 * 64;
    void** p = reinterpret_cast<void**>(top);
    *--p = nullptr;
    *--p = reinterpret_cast<void*>(&fiber_main);
    for (int i = 0; i < 6; ++i) *--p = nullptr;
    f.stack_pointer = p;
#else
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack;
    f.context.uc_stack.ss_size = stack_bytes - page;
    f.context.uc_link = nullptr;
    makecontext(&f.context, reinterpret_cast<void (*)()>(&fiber_main), 0);
#endif
    f.thread = no_thread;
    f.fake_stack = nullptr;
}

void* map_memory(std::size_t bytes, const char* what) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return at;
    std::fprintf(stderr, "emulated GPU: no address space for %s\n", what);
    std::abort();
}

/// Fibers as new: after a kernel that was left in the middle.
void make_fibers(block_state& b) {
    if (b.fibers.empty()) {
        b.fibers.resize(most_threads);
        char* stacks = static_cast<char*>(map_memory(most_threads * stack_bytes, "the stacks of threads"));
        for (fiber& f : b.fibers) {
            mprotect(stacks, page, PROT_NONE);
            f.stack = stacks + page;
            stacks += stack_bytes;
        }
        unsigned char* shared = static_cast<unsigned char*>(map_memory(most_shared_bytes + page, "shared memory"));
        mprotect(shared + most_shared_bytes, page, PROT_NONE);
        dynamic_shared_memory = shared + most_shared_bytes;
    }
#if defined(__SANITIZE_ADDRESS__)
    for (fiber& f : b.fibers) __asan_unpoison_memory_region(f.stack, stack_bytes - page); // of calls that never return
#endif
    b.free.clear();
    for (fiber& f : b.fibers) make_fiber(f);
    for (fiber& f : b.fibers) b.free.push_back(&f);
    std::reverse(b.free.begin(), b.free.end());
}

// What shared.ld has put together, and a file of its size in which all bits are set: each block finds that there, however it began.
struct static_shared_memory {
    static_shared_memory() {
        const int file = bytes ? memfd_create("shared memory", MFD_CLOEXEC) : -1;
        const std::vector<unsigned char> filled(bytes, 0xff);
        if (bytes == 0) return;
        if (file < 0 || write(file, filled.data(), bytes) != static_cast<ssize_t>(bytes) ||
            mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
            std::fprintf(stderr, "emulated GPU: static shared memory cannot be filled\n");
            std::abort();
        }
        close(file);
    }
    // What was written is forgotten.
    void fill() const {
        if (bytes) (void)madvise(begin, bytes, MADV_DONTNEED);
    }
    unsigned char* const begin = tenon_emulated_shared_begin;
    // Not where the address sanitizer has its own zones between variables.
    const std::size_t bytes = sees_addresses || !begin
                                  ? 0
                                  : static_cast<std::size_t>(tenon_emulated_shared_end - tenon_emulated_shared_begin);
};
const static_shared_memory& static_shared() {
    static const static_shared_memory all;
    return all;
}

std::string place(const char* file, int line) {
    const std::string path = file;
    return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line);
}

std::string deadlock(block_state& b) {
    std::string text = "threads wait for each other for ever in block (" + std::to_string(blockIdx.x) + ", " +
                       std::to_string(blockIdx.y) + ", " + std::to_string(blockIdx.z) + "): ";
    if (!b.at_barrier.empty())
        text += std::to_string(b.at_barrier.size()) + " at __syncthreads (" + place(b.file, b.line) + "), ";
    unsigned at_warps = 0;
    for (const warp_state& w : b.warps) at_warps += static_cast<unsigned>(__builtin_popcount(w.pending));
    if (at_warps) text += std::to_string(at_warps) + " at warp operations, ";
    return text + std::to_string(b.ended) + " of " + std::to_string(b.threads) + " have ended";
}

void run_block(block_state& b) {
    b.started = b.ended = 0;
    b.predicates = 0;
    b.descending = draw(b) & 1;
    b.ready.clear();
    b.at_barrier.clear();
    for (unsigned w = 0; w * 32 < b.threads; ++w) {
        const unsigned lanes = std::min(32u, b.threads - w * 32);
        b.warps[w].living = lanes == 32 ? ~0u : (1u << lanes) - 1;
        b.warps[w].pending = 0;
    }
    b.current = &b.main;
    go_on_elsewhere();
    if (b.ended != b.threads && b.wrong.empty()) b.wrong = deadlock(b);
}

/// Ends the kernel for what block_state::wrong says. What the caller's frames own is never destroyed.
[[noreturn]] void leave() {
    switch_to(state().main);
    std::abort();
}

} // namespace

int block_barrier(bool predicate, const char* file, int line) {
    block_state& b = state();
    if (b.at_barrier.empty()) {
        b.file = file;
        b.line = line;
        b.predicates = 0;
    } else if (line != b.line || std::strcmp(file, b.file) != 0) {
        b.wrong = "threads of block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                  std::to_string(blockIdx.z) + ") wait at two barriers: __syncthreads at " + place(b.file, b.line) +
                  " and at " + place(file, line);
        leave();
    }
    b.predicates += predicate;
    if (b.at_barrier.size() + 1 == b.threads) {
        b.counted = b.predicates;
        if (draw(b) & 1) std::reverse(b.at_barrier.begin(), b.at_barrier.end());
        b.ready.insert(b.ready.end(), b.at_barrier.begin(), b.at_barrier.end());
        b.at_barrier.clear();
        return b.counted;
    }
    b.at_barrier.push_back(b.current);
    go_on_elsewhere();
    return b.counted; // the next barrier cannot end before all have read it
}

int lane() {
    const fiber* const f = state().current;
    return static_cast<int>(f->thread % 32);
}

std::uint64_t warp_meet(unsigned mask, warp_op op, std::uint64_t value, int source, const char* file, int line) {
    block_state& b = state();
    const unsigned t = b.current->thread, l = t % 32;
    warp_state& w = b.warps[t / 32];
    if (!(mask >> l & 1)) {
        b.wrong = "a warp operation at " + place(file, line) + " is called by lane " + std::to_string(l) +
                  ", which its mask does not name";
        leave();
    }
    lane_state& mine = w.lanes[l];
    mine.value = value;
    mine.mask = mask;
    mine.source = source;
    mine.op = op;
    mine.waiter = b.current;
    w.pending |= 1u << l;
    end_meetings(w);
    if (w.pending >> l & 1) go_on_elsewhere();
    return mine.result;
}

bool in_kernel() { return inside; }

void leave_kernel(const char* why) {
    state().wrong = why;
    leave();
}

std::string run_grid(const std::function<void()>& thread_body, dim3 grid, dim3 block, std::size_t shared_bytes,
                     std::uint64_t seed) {
    block_state& b = state();
    if (b.fibers.empty()) make_fibers(b);
    b.body = &thread_body;
    b.threads = block.x * block.y * block.z;
    b.random = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
    b.wrong.clear();
    gridDim = grid;
    blockDim = block;
    unsigned char* const end = dynamic_shared_memory; // of all there is; the block's part ends there
    dynamic_shared_memory = end - (shared_bytes + 15) / 16 * 16;
    const bool back = draw(b) & 1;
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    inside = true;
    for (std::uint64_t k = 0; k < blocks && b.wrong.empty(); ++k) {
        const std::uint64_t i = back ? blocks - 1 - k : k;
        blockIdx.x = static_cast<unsigned>(i % grid.x);
        blockIdx.y = static_cast<unsigned>(i / grid.x % grid.y);
        blockIdx.z = static_cast<unsigned>(i / grid.x / grid.y);
        static_shared().fill();
        if (shared_bytes) std::memset(dynamic_shared_memory, 0xff, (shared_bytes + 15) / 16 * 16);
        run_block(b);
    }
    inside = false;
    dynamic_shared_memory = end;
    if (!b.wrong.empty()) make_fibers(b);
    return b.wrong;
}

} // namespace tenon::emulator
