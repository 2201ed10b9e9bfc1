#if defined(TENON_WITH_NCCL)

#include "nccl.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <tenon/core/half.hpp>

#include "control.hpp"

struct ncclComm { // a rank
    std::shared_ptr<struct clique> all;
    int rank;
    std::uint64_t given = 0; // sums
};

// Ranks that sum together. A sum is known by its number, the same on all ranks.
struct clique {
    std::vector<int> cards;
    struct sum {
        std::size_t elements = 0;
        ncclDataType_t type = ncclFloat32;
        std::map<int, std::vector<char>> sent; // by rank
        std::size_t received = 0;
    };
    std::mutex guard;
    std::map<std::uint64_t, sum> open;
};

namespace {

struct fault {
    ncclResult_t result;
    std::uint64_t after, times, calls = 0;
};
struct library_state {
    std::mutex guard;
    std::map<std::string, fault> faults;
    tenon::emulator::nccl::counts counted{};
};
library_state& the_library() {
    static library_state s;
    return s;
}
std::optional<ncclResult_t> refused(const char* function) {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    const auto at = s.faults.find(function);
    if (at == s.faults.end()) return {};
    fault& f = at->second;
    const std::uint64_t call = f.calls++;
    if (call >= f.after && call - f.after < f.times) return f.result;
    return {};
}
#define TENON_REFUSE(function) \
    if (const std::optional<ncclResult_t> result = refused(#function)) return *result

struct asked_sum {
    const void* from;
    void* to;
    std::size_t elements;
    ncclDataType_t type;
    ncclComm* by;
    cudaStream_t stream;
};
thread_local int depth = 0;
thread_local std::vector<asked_sum> group;
thread_local ncclResult_t group_error = ncclSuccess; // of a call in it, which the end of the group gives again

std::size_t bytes_of(ncclDataType_t t) {
    switch (t) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 4;
    }
}

template <class T> void add(const std::map<int, std::vector<char>>& sent, void* to, std::size_t n) {
    using wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                    std::conditional_t<std::is_integral_v<T>, std::uint64_t, float>>;
    for (std::size_t i = 0; i < n; ++i) {
        wide sum{};
        for (const auto& [rank, bytes] : sent) {
            T x;
            std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
            sum += static_cast<wide>(x);
        }
        static_cast<T*>(to)[i] = static_cast<T>(sum);
    }
}
void add_as(ncclDataType_t type, const std::map<int, std::vector<char>>& sent, void* to, std::size_t n) {
    switch (type) {
    case ncclFloat64: return add<double>(sent, to, n);
    case ncclFloat16: return add<tenon::half>(sent, to, n);
    case ncclBfloat16: return add<tenon::bfloat16>(sent, to, n);
    case ncclInt8: return add<std::int8_t>(sent, to, n);
    case ncclUint8: return add<std::uint8_t>(sent, to, n);
    case ncclInt32: return add<std::int32_t>(sent, to, n);
    case ncclUint32: return add<std::uint32_t>(sent, to, n);
    case ncclInt64: return add<std::int64_t>(sent, to, n);
    case ncclUint64: return add<std::uint64_t>(sent, to, n);
    default: return add<float>(sent, to, n);
    }
}

// One rank's part, as its stream comes to it: it sends what it has, and waits there until all have sent.
ncclResult_t put(const asked_sum& s) {
    const std::shared_ptr<clique> all = s.by->all;
    const int rank = s.by->rank;
    const std::uint64_t number = s.by->given++;
    const auto run = [all, rank, number, s] {
        const std::lock_guard lock(all->guard);
        clique::sum& sum = all->open[number];
        if (!sum.sent.contains(rank)) {
            if (!sum.sent.empty() && (sum.elements != s.elements || sum.type != s.type)) {
                tenon::emulator::report("ncclAllReduce: sum " + std::to_string(number) + " is of " +
                                        std::to_string(sum.elements) + " elements on one card and of " +
                                        std::to_string(s.elements) + " on another, or of another type");
                return true;
            }
            sum.elements = s.elements;
            sum.type = s.type;
            const char* const from = static_cast<const char*>(s.from);
            sum.sent[rank].assign(from, from + s.elements * bytes_of(s.type));
            std::memset(s.to, 0xee, s.elements * bytes_of(s.type)); // parts of sums are there meanwhile
        }
        if (sum.sent.size() < all->cards.size()) return false;
        add_as(s.type, sum.sent, s.to, s.elements);
        if (++sum.received == all->cards.size()) all->open.erase(number);
        return true;
    };
    return tenon::emulator::enqueue(s.stream, "ncclAllReduce", run) == cudaSuccess ? ncclSuccess
                                                                                   : ncclUnhandledCudaError;
}

} // namespace

namespace tenon::emulator::nccl {

void reset() {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    s.faults.clear();
    s.counted = {};
}
void fail(const std::string& function, ncclResult_t result, std::uint64_t after, std::uint64_t times) {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    s.faults[function] = {result, after, times};
}
counts count() {
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    return s.counted;
}

} // namespace tenon::emulator::nccl

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    default: return "unknown result code";
    }
}

ncclResult_t ncclCommInitAll(ncclComm_t* to, int count, const int* cards) {
    TENON_REFUSE(ncclCommInitAll);
    int there = 0;
    if (!to || count < 1 || cudaGetDeviceCount(&there) != cudaSuccess) return ncclInvalidArgument;
    std::set<int> different;
    const auto all = std::make_shared<clique>();
    for (int i = 0; i < count; ++i) {
        const int card = cards ? cards[i] : i;
        if (card < 0 || card >= there || !different.insert(card).second) return ncclInvalidUsage;
        all->cards.push_back(card);
    }
    for (int i = 0; i < count; ++i) to[i] = new ncclComm{all, i};
    library_state& s = the_library();
    const std::lock_guard lock(s.guard);
    ++s.counted.cliques;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (!comm) return ncclInvalidArgument;
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    TENON_REFUSE(ncclGroupStart);
    ++depth;
    return ncclSuccess;
}
static ncclResult_t add_to_group(const void* from, void* to, size_t elements, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream) {
    TENON_REFUSE(ncclAllReduce);
    if (!from || !to || !comm || op != ncclSum || type < 0 || type > ncclBfloat16) return ncclInvalidArgument;
    cudaPointerAttributes about{};
    for (const void* p : {from, static_cast<const void*>(to)})
        if (cudaPointerGetAttributes(&about, p) != cudaSuccess || about.type != cudaMemoryTypeDevice ||
            about.device != comm->all->cards[static_cast<std::size_t>(comm->rank)])
            return ncclInvalidArgument;
    group.push_back({from, to, elements, type, comm, stream});
    if (depth == 0) {
        group.clear();
        tenon::emulator::report("ncclAllReduce: one thread has several cards, and no group: it would wait for ever");
        return ncclInvalidUsage;
    }
    return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t elements, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
    const ncclResult_t result = add_to_group(from, to, elements, type, op, comm, stream);
    if (depth > 0 && group_error == ncclSuccess) group_error = result;
    return result;
}
ncclResult_t ncclGroupEnd() {
    if (depth == 0) return ncclInvalidUsage;
    if (--depth > 0) return ncclSuccess;
    const std::vector<asked_sum> asked = std::move(group);
    group.clear();
    if (const ncclResult_t failed = std::exchange(group_error, ncclSuccess)) return failed;
    TENON_REFUSE(ncclGroupEnd);
    std::map<clique*, std::set<int>> ranks;
    for (const asked_sum& s : asked) ranks[s.by->all.get()].insert(s.by->rank);
    for (const auto& [all, present] : ranks)
        if (present.size() != all->cards.size()) {
            tenon::emulator::report("ncclGroupEnd: " + std::to_string(present.size()) + " of " +
                                    std::to_string(all->cards.size()) +
                                    " ranks are in the group: it would wait for ever");
            return ncclInvalidUsage;
        }
    for (const asked_sum& s : asked)
        if (const ncclResult_t result = put(s)) return result;
    library_state& l = the_library();
    const std::lock_guard lock(l.guard);
    l.counted.sums += ranks.size();
    return ncclSuccess;
}

} // extern "C"

#endif
