#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "control.hpp"

/// What the emulated machine consists of. All of it is guarded by machine::guard.

namespace tenon::emulator {

using lock_type = std::unique_lock<std::mutex>;
using clock_type = std::chrono::steady_clock;

/// A place in a stream that work reaches.
struct marker {
    bool reached = false;
    clock_type::time_point at{};
};

enum class work { kernel, copy, fill, host, event, wait, library, memory, branch };

struct command {
    std::string name;
    work kind;
    int card;
    std::function<bool()> run; ///< false: ask again when others have got on
    std::uint64_t tried = 0;   ///< the machine's progress when it was last asked
    // Of a kernel:
    const void* function = nullptr;
    dim3 grid{}, block{};
    std::size_t shared_bytes = 0;
};

/// What a conditional node is: a graph for each part, which are the node's.
struct graph;
struct branch {
    cudaGraphConditionalHandle condition;
    cudaGraphConditionalNodeType type;
    std::vector<std::shared_ptr<graph>> parts = {};
    std::vector<cudaGraph_t> handles = {};
};

struct graph_node {
    command what;
    std::vector<std::size_t> after; ///< nodes before it
    std::shared_ptr<branch> parts = {};
    // Of a conditional node at work: the nodes of its part come after all others, and before it ends.
    bool entered = false;
    std::size_t own_after = 0, first = 0;
};
using graph_nodes = std::vector<graph_node>;

struct graph {
    graph_nodes nodes;
};
struct executable {
    std::shared_ptr<const graph_nodes> nodes;
    bool running = false;
};
/// A graph at work in a stream.
struct replay {
    std::shared_ptr<executable> from;
    graph_nodes nodes;
    std::vector<bool> done;
    std::size_t left;
};

struct stream;
struct capture {
    stream* origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    graph_nodes nodes;
    cudaError_t invalid = cudaSuccess;
    graph* into = nullptr;                  ///< it adds to this one, that of a conditional node
    std::vector<cudaGraphNode_t> told = {}; ///< what was asked for last: a node is its number, and 1
};

struct stream {
    int card;
    unsigned flags;
    struct entry {
        command what;
        std::shared_ptr<replay> graph; ///< instead
    };
    std::deque<entry> queue = {};
    bool busy = false, destroyed = false;
    std::shared_ptr<capture> recording = {};
    std::vector<std::size_t> last = {}; ///< nodes that the next one comes after
};

struct event {
    int card;
    unsigned flags;
    std::shared_ptr<marker> last;        ///< none: never recorded
    std::shared_ptr<capture> recording;  ///< it was last recorded in a capture,
    std::vector<std::size_t> nodes = {}; ///< behind these
};

struct pool {
    int card;
};

struct allocation {
    int card;
    std::size_t bytes;
    std::string call;
    bool freed = false; ///< by the host's calls; the device may not yet have got there
};

struct card_state {
    card is;
    char* base = nullptr; ///< of its range of addresses
    std::map<char*, std::size_t> holes;
    std::map<char*, allocation> allocations; ///< by the first byte that the program sees
    std::size_t used = 0;
    bool has_context = false;
    cudaError_t lost = cudaSuccess;
    std::optional<std::uint64_t> lost_after; ///< so many commands, as `lost_as`
    cudaError_t lost_as = cudaErrorIllegalAddress;
    std::array<bool, most_cards> reaches{};
    std::shared_ptr<stream> legacy, per_thread;
    std::size_t reach =
        0; ///< bytes from `base` on that are in use, or were since reset(): what lies behind is never opened
    bool open = false; ///< its memory may be touched
    std::uint64_t closings = 0;
};

struct machine {
    std::mutex guard;
    std::condition_variable wake_worker, progressed;
    std::array<card_state, most_cards> all;
    int cards = 1;
    std::list<std::shared_ptr<stream>> streams; ///< until they are destroyed and empty
    std::set<event*> events;
    std::set<graph*> graphs;
    std::map<executable*, std::shared_ptr<executable>> executables;
    std::map<pool*, std::unique_ptr<pool>> pools;
    std::map<char*, std::size_t> host_allocations;
    std::map<std::pair<int, const void*>, std::size_t> shared_limits; ///< that kernels asked for, by card
    std::size_t libraries = 0;
    std::set<std::shared_ptr<capture>> captures;
    std::map<cudaGraphConditionalHandle, unsigned> conditions;

    std::mt19937_64 random{1};
    std::uint64_t progress = 1, commands = 0, activity = 0;
    std::list<const std::function<bool()>*> waits; ///< the worker goes on until all of them hold
    std::size_t nudges = 0;                        ///< commands that were asked for in passing
    std::vector<std::function<void()>> chores;     ///< of memory, done before the next command
    std::shared_ptr<stream> favourite;
    int running_card = 0; ///< of the command at work

    cudaError_t driver = cudaSuccess;
    unsigned others_wait = 0; ///< at one in so many calls
    bool protects = true;
    struct fault_state {
        cudaError_t error;
        fault when;
        std::uint64_t calls = 0;
    };
    std::map<std::string, fault_state> faults;
    std::deque<call> log;
    std::map<std::string, std::size_t> call_counts;
    std::vector<std::string> violations;

    machine();
    std::uint64_t draw(std::uint64_t below) { return random() % below; }

    // machine.cpp
    void work_on();
    bool run_one(lock_type& lock);
    void do_chores();
    bool enter_branch(replay& g, std::size_t node);
    void wait(lock_type& lock, const std::function<bool()>& until);
    void nudge(lock_type& lock);
    void put(stream& s, command c);
    void lose(int card, cudaError_t error, const std::string& why);
    std::shared_ptr<stream> find_stream(cudaStream_t handle);
    bool has_work(int card) const;

    // memory.cpp
    /// For a card's work: its memory and that of the cards that it reaches; -1: all of it.
    void open_memory(int for_card);
    void close_memory();
    /// The allocation that holds `at`, and its first byte; null: no device memory that is allocated.
    std::pair<char*, allocation*> find(const void* at);
    int card_of(const void* at) const; ///< -1: no device memory
    char* allocate(int card, std::size_t bytes, const std::string& call);
    void release(char* at);
    /// Gives back what is free, since closing and opening memory takes time for each page that was ever written; behind all that is
    /// allocated, where that is so much, and none can touch it then.
    void forget_free_memory();
    void forget_tails(std::size_t least);
    std::string broken_red_zones();
    bool is_pinned(const void* at, std::size_t bytes) const;
    /// Whether so many bytes can be read or written by a copy.
    cudaError_t check_range(const void* at, std::size_t bytes, const char* call);
};

machine& the_machine();
extern thread_local int current_card;
extern thread_local cudaError_t last_error;
bool on_worker();

/// What every call of the runtime does first and last: counts it, refuses it where a test wants that, keeps the error.
cudaError_t enter(machine& m, const char* name, const std::string& detail, cudaStream_t stream, int card);
/// What has been caught gives no error any more.
inline cudaError_t answer(cudaError_t e) {
    if (e != cudaSuccess && e != cudaErrorNotReady) last_error = e;
    return e;
}

/// Wraps the body of a function of the runtime: body(machine&, lock&).
template <class F> cudaError_t api(const char* name, cudaStream_t stream, const std::string& detail, F&& body) {
    machine& m = the_machine();
    lock_type lock(m.guard);
    if (const cudaError_t e = enter(m, name, detail, stream, current_card)) return answer(e);
    return answer(body(m, lock));
}
/// Of a function that has to do with no stream.
inline const cudaStream_t no_stream = reinterpret_cast<cudaStream_t>(~std::uintptr_t{0});
template <class F> cudaError_t api(const char* name, F&& body) {
    return api(name, no_stream, "", std::forward<F>(body));
}

/// Of a function of a stream: body(machine&, lock&, stream).
template <class F> cudaError_t stream_api(const char* name, cudaStream_t handle, const std::string& detail, F&& body) {
    return api(name, handle, detail, [&](machine& m, lock_type& lock) {
        const std::shared_ptr<stream> s = m.find_stream(handle);
        return s ? body(m, lock, s) : cudaErrorInvalidResourceHandle;
    });
}

// What CUDA refuses while streams are captured, and what being asked does to the capture: its programming guide ("Prohibited and unhandled
// operations") and cudaThreadExchangeStreamCaptureMode. enter() sees to what streams are asked.

/// Of what memory or code is asked for beside streams, "potentially unsafe": by a thread that captures, unless in the relaxed mode, and,
/// while another captures in the global mode, by all. A thread's own mode may say less.
cudaError_t refused_by_capture(machine& m);
/// Of what waits for a whole card: while any stream of it is captured, in whichever mode, by whichever thread.
cudaError_t refused_by_captures_of(machine& m, int card);
extern thread_local cudaStreamCaptureMode capture_mode;
/// An injected fault that depends on bytes.
cudaError_t refused_bytes(machine& m, const char* call, std::size_t used, std::size_t more);

inline constexpr unsigned char fresh_byte = 0xff, freed_byte = 0xdd, red_byte = 0xa5;

} // namespace tenon::emulator
