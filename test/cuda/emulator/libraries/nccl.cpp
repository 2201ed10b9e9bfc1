#if defined(TENON_WITH_NCCL)

#include "nccl.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

#include <tenon/core/half.hpp>

#include "emulator/control.hpp"
#include "held.hpp"
#include "planned_faults.hpp"

struct ncclComm { // a rank
    std::shared_ptr<struct clique> all;
    int rank;
    std::uint64_t given = 0;                                                // sums
    std::vector<std::optional<std::pair<ncclDataType_t, double>>> ops = {}; // sums of products with factors
    bool finalized = false;
};

// Ranks that sum together. A sum is known by its number, the same on all ranks.
struct clique {
    std::vector<int> cards;             // -1: that rank has not joined
    bool of_threads = false;            // each rank has a thread, or a process, of its own
    ncclResult_t refused = ncclSuccess; // by all ranks
    std::set<int> aborted = {};
    struct sum {
        std::size_t elements = 0;
        ncclDataType_t type = ncclFloat32;
        bool scaled = false;
        std::map<int, std::vector<char>> sent; // by rank
        std::size_t received = 0;
    };
    std::mutex guard;
    std::map<std::uint64_t, sum> open;
};

namespace {

auto& faults =
    *new tenon::emulator::planned_faults<ncclResult_t>; // never destroyed: some is called when the program ends
struct library_state {
    std::mutex guard;
    tenon::emulator::nccl::counts counted{};
};
tenon::emulator::held<library_state> the_library() {
    static library_state s;
    return s;
}

// Of ranks that join one by one.
struct unique_ids {
    std::mutex guard;
    std::uint64_t last = 0;
    std::map<std::uint64_t, std::shared_ptr<clique>> all;
    static unique_ids& get() {
        static unique_ids u;
        return u;
    }
};
std::uint64_t number_of(const ncclUniqueId& id) {
    std::uint64_t n = 0;
    std::memcpy(&n, id.internal, sizeof n);
    return n;
}

struct asked_sum {
    const void* from;
    void* to;
    std::size_t elements;
    ncclDataType_t type;
    ncclComm* by;
    cudaStream_t stream;
    std::optional<double> factor = {};
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

template <class T> void scale(void* values, std::size_t n, double factor) {
    for (std::size_t i = 0; i < n; ++i) {
        T& x = static_cast<T*>(values)[i];
        x = static_cast<T>(static_cast<float>(x) * static_cast<float>(factor));
    }
}
void scale_as(ncclDataType_t type, void* values, std::size_t n, double factor) {
    if (type == ncclFloat16) scale<tenon::half>(values, n, factor);
    else if (type == ncclBfloat16) scale<tenon::bfloat16>(values, n, factor);
    else if (type == ncclFloat32) scale<float>(values, n, factor);
    else
        for (std::size_t i = 0; i < n; ++i) static_cast<double*>(values)[i] *= factor;
}

// One rank's part, as its stream comes to it: it sends what it has, and waits there until all have sent.
ncclResult_t put(const asked_sum& s) {
    const std::shared_ptr<clique> all = s.by->all;
    const int rank = s.by->rank;
    const std::uint64_t number = s.by->given++;
    const auto run = [all, rank, number, s] {
        const std::lock_guard lock(all->guard);
        if (all->aborted.contains(rank)) return true; // leaves parts of sums
        clique::sum& sum = all->open[number];
        if (!sum.sent.contains(rank)) {
            if (!sum.sent.empty() &&
                (sum.elements != s.elements || sum.type != s.type || sum.scaled != s.factor.has_value())) {
                tenon::emulator::report("ncclAllReduce: sum " + std::to_string(number) + " is of " +
                                        std::to_string(sum.elements) + " elements on one card and of " +
                                        std::to_string(s.elements) + " on another, or of another type or operation");
                return true;
            }
            sum.elements = s.elements;
            sum.type = s.type;
            sum.scaled = s.factor.has_value();
            const char* const from = static_cast<const char*>(s.from);
            std::vector<char>& sent = sum.sent[rank];
            sent.assign(from, from + s.elements * bytes_of(s.type));
            if (s.factor) scale_as(s.type, sent.data(), s.elements, *s.factor);
            std::memset(s.to, 0xee, s.elements * bytes_of(s.type)); // parts of sums are there meanwhile
        }
        if (sum.sent.size() < all->cards.size()) return false;
        add_as(s.type, sum.sent, s.to, s.elements);
        if (++sum.received == all->cards.size()) {
            all->open.erase(number);
            ++the_library()->counted.sums;
        }
        return true;
    };
    return tenon::emulator::enqueue(s.stream, "ncclAllReduce", run) == cudaSuccess ? ncclSuccess
                                                                                   : ncclUnhandledCudaError;
}

} // namespace

namespace tenon::emulator::nccl {

void reset() {
    faults.clear();
    the_library()->counted = {};
}
void fail(const std::string& function, ncclResult_t result, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, result, after, times);
}
counts count() { return the_library()->counted; }

} // namespace tenon::emulator::nccl

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
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
    ++the_library()->counted.cliques;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (!comm) return ncclInvalidArgument;
    {
        const std::lock_guard lock(comm->all->guard);
        comm->all->aborted.insert(comm->rank);
    }
    tenon::emulator::ask_again();
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    TENON_REFUSE(ncclGetUniqueId);
    if (!id) return ncclInvalidArgument;
    unique_ids& ids = unique_ids::get();
    const std::lock_guard lock(ids.guard);
    *id = {};
    std::memcpy(id->internal, &++ids.last, sizeof ids.last);
    return ncclSuccess;
}
// Of a communicator that does not block: it is there when all ranks have come, which ncclCommGetAsyncError tells.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* to, int count, ncclUniqueId id, int rank, ncclConfig_t* config) {
    TENON_REFUSE(ncclCommInitRankConfig);
    int card = 0;
    if (!to || !config || config->blocking != 0 || count < 1 || rank < 0 || rank >= count ||
        cudaGetDevice(&card) != cudaSuccess)
        return ncclInvalidArgument;
    unique_ids& ids = unique_ids::get();
    const std::lock_guard lock(ids.guard);
    if (number_of(id) == 0 || number_of(id) > ids.last) return ncclInvalidArgument;
    std::shared_ptr<clique>& all = ids.all[number_of(id)];
    if (!all) {
        all = std::make_shared<clique>();
        all->cards.resize(static_cast<std::size_t>(count), -1);
        all->of_threads = true;
    }
    const std::lock_guard mine(all->guard);
    if (all->cards.size() != static_cast<std::size_t>(count) || all->cards[static_cast<std::size_t>(rank)] >= 0)
        return ncclInvalidUsage;
    if (std::find(all->cards.begin(), all->cards.end(), card) != all->cards.end())
        all->refused = ncclInvalidUsage; // two ranks on one card
    all->cards[static_cast<std::size_t>(rank)] = card;
    *to = new ncclComm{all, rank};
    if (std::find(all->cards.begin(), all->cards.end(), -1) == all->cards.end()) {
        ids.all.erase(number_of(id));
        ++the_library()->counted.cliques;
    }
    return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    if (!comm || !error) return ncclInvalidArgument;
    {
        const std::lock_guard lock(comm->all->guard);
        const std::vector<int>& cards = comm->all->cards;
        *error = std::find(cards.begin(), cards.end(), -1) != cards.end() ? ncclInProgress : comm->all->refused;
    }
    if (const auto later = faults.of_call("ncclCommGetAsyncError")) *error = *later;
    return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    if (!comm || comm->finalized) return ncclInvalidArgument;
    comm->finalized = true;
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (!comm) return ncclInvalidArgument;
    if (!comm->finalized) tenon::emulator::report("ncclCommDestroy: what was asked for may not have ended");
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
    TENON_REFUSE(ncclRedOpCreatePreMulSum);
    if (!op || !scalar || !comm || residence != ncclScalarHostImmediate) return ncclInvalidArgument;
    const auto read = [&](auto x) {
        std::memcpy(static_cast<void*>(&x), scalar, sizeof x);
        return static_cast<double>(static_cast<float>(x));
    };
    double factor = 0;
    switch (type) {
    case ncclFloat64: std::memcpy(&factor, scalar, sizeof factor); break;
    case ncclFloat32: factor = read(0.0f); break;
    case ncclFloat16: factor = read(tenon::half()); break;
    case ncclBfloat16: factor = read(tenon::bfloat16()); break;
    default: return ncclInvalidArgument;
    }
    *op = static_cast<ncclRedOp_t>(static_cast<int>(ncclNumOps) + static_cast<int>(comm->ops.size()));
    comm->ops.emplace_back(std::pair(type, factor));
    return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
    const int at = static_cast<int>(op) - static_cast<int>(ncclNumOps);
    if (!comm || at < 0 || at >= static_cast<int>(comm->ops.size()) || !comm->ops[static_cast<std::size_t>(at)])
        return ncclInvalidArgument;
    comm->ops[static_cast<std::size_t>(at)].reset();
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
    if (!from || !to || !comm || type < 0 || type > ncclBfloat16) return ncclInvalidArgument;
    std::optional<double> factor;
    if (op != ncclSum) {
        const int at = static_cast<int>(op) - static_cast<int>(ncclNumOps);
        if (at < 0 || at >= static_cast<int>(comm->ops.size())) return ncclInvalidArgument;
        const auto& made = comm->ops[static_cast<std::size_t>(at)];
        if (!made || made->first != type) return ncclInvalidArgument;
        factor = made->second;
    }
    cudaPointerAttributes about{};
    for (const void* p : {from, static_cast<const void*>(to)})
        if (cudaPointerGetAttributes(&about, p) != cudaSuccess || about.type != cudaMemoryTypeDevice ||
            about.device != comm->all->cards[static_cast<std::size_t>(comm->rank)])
            return ncclInvalidArgument;
    const asked_sum asked{from, to, elements, type, comm, stream, factor};
    if (comm->all->of_threads && depth == 0) return put(asked);
    group.push_back(asked);
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
    ++the_library()->counted.groups;
    return ncclSuccess;
}

} // extern "C"

#endif
