#include <cuda/nccl/all_reduce.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/device/library.hpp>
#include <cuda/kernels/add_into.hpp>
#include <tenon/core/error.hpp>

#if defined(TENON_WITH_NCCL)
#include <nccl.h>
#endif

namespace tenon::cuda {

namespace {

cudaStream_t stream_of(const participant& p) { return static_cast<cudaStream_t>(p.stream); }

// What is given to `later` from now on runs after what `first` was given up to now.
void order(const participant& first, const participant& later) {
    cudaEvent_t reached = nullptr;
    first.gpu->use();
    check(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    const auto destroy = [](cudaEvent_t e) { (void)cudaEventDestroy(e); }; // which waits until it is reached, by itself
    const std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, decltype(destroy)> owner(reached, destroy);
    check(cudaEventRecord(reached, stream_of(first)), "cudaEventRecord");
    later.gpu->use();
    check(cudaStreamWaitEvent(stream_of(later), reached, 0), "cudaStreamWaitEvent");
}

// Who called goes on with the card that it had.
class kept_card {
public:
    kept_card() { check(cudaGetDevice(&card_), "cudaGetDevice"); }
    ~kept_card() { (void)cudaSetDevice(card_); }
    kept_card(const kept_card&) = delete;
    kept_card& operator=(const kept_card&) = delete;

private:
    int card_ = 0;
};

// One sum at a time, so that all cards have them in one order.
std::mutex& one_at_a_time() {
    static auto& m = *new std::mutex;
    return m;
}

#if defined(TENON_WITH_NCCL)

struct functions {
    explicit functions(library& from) :
#define TENON_FUNCTION(name) name(from.get<decltype(::name)>(#name))
        TENON_FUNCTION(ncclCommInitAll),
        TENON_FUNCTION(ncclCommAbort),
        TENON_FUNCTION(ncclAllReduce),
        TENON_FUNCTION(ncclGroupStart),
        TENON_FUNCTION(ncclGroupEnd),
        TENON_FUNCTION(ncclGetErrorString) {
    }
#undef TENON_FUNCTION
    decltype(&::ncclCommInitAll) ncclCommInitAll;
    decltype(&::ncclCommAbort) ncclCommAbort;
    decltype(&::ncclAllReduce) ncclAllReduce;
    decltype(&::ncclGroupStart) ncclGroupStart;
    decltype(&::ncclGroupEnd) ncclGroupEnd;
    decltype(&::ncclGetErrorString) ncclGetErrorString;
};

struct found_library {
    std::unique_ptr<const functions> found;
    std::string why_not;
    static const found_library& get() {
        static const found_library& l = *new found_library;
        return l;
    }

private:
    found_library() {
        try {
            static library opened("NCCL", {"libnccl.so.2", "libnccl.so"}, library_folders::nccl);
            found = std::make_unique<const functions>(opened);
        } catch (const unavailable_error& e) {
            why_not = e.what();
        }
    }
};

void require(ncclResult_t answer, const char* call, const std::string& asked) {
    if (answer == ncclSuccess) return;
    const std::string text = std::string(call) + ", for " + asked + ": " +
                             found_library::get().found->ncclGetErrorString(answer) +
                             "; NCCL_DEBUG=WARN has it say more";
    if (answer == ncclSystemError || answer == ncclRemoteError) throw unavailable_error(text);
    throw internal_error(text);
}

ncclDataType_t type_of(element_type e) {
    switch (e) {
    case element_type::float64: return ncclFloat64;
    case element_type::float16: return ncclFloat16;
    case element_type::bfloat16: return ncclBfloat16;
    case element_type::int8: return ncclInt8;
    case element_type::int32: return ncclInt32;
    case element_type::int64: return ncclInt64;
    case element_type::uint8: return ncclUint8;
    case element_type::uint32: return ncclUint32;
    case element_type::uint64: return ncclUint64;
    default: return ncclFloat32;
    }
}

// Of sets of cards, made when they are first asked for, and kept as long as the process runs; and of each card when the last sum on it
// ends, whichever session's: two that run side by side could keep each other from running.
struct communicators {
    std::map<std::vector<int>, std::vector<ncclComm_t>> of;
    std::map<int, cudaEvent_t> ended;
    static communicators& get() {
        static auto& all = *new communicators;
        return all;
    }
};

void sum_by_nccl(element_type element, std::int64_t elements, const std::vector<participant>& leads) {
    const found_library& nccl = found_library::get();
    if (!nccl.found) throw unavailable_error("the sum over " + std::to_string(leads.size()) + " GPUs: " + nccl.why_not);
    const functions& f = *nccl.found;
    std::vector<int> cards;
    std::string asked = std::to_string(elements) + " elements of " + name_of(element) + " on cards";
    for (const participant& p : leads) {
        cards.push_back(p.gpu->card);
        asked += " " + std::to_string(p.gpu->card);
    }
    communicators& all = communicators::get();
    std::vector<ncclComm_t>& ranks = all.of[cards];
    if (ranks.empty()) {
        std::vector<ncclComm_t> made(cards.size());
        require(f.ncclCommInitAll(made.data(), static_cast<int>(cards.size()), cards.data()), "ncclCommInitAll", asked);
        ranks = std::move(made);
    }
    for (const participant& p : leads) {
        p.gpu->use();
        cudaEvent_t& last = all.ended[p.gpu->card];
        if (!last) check(cudaEventCreateWithFlags(&last, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        else check(cudaStreamWaitEvent(stream_of(p), last, 0), "cudaStreamWaitEvent");
    }
    // A group: one thread works for all ranks.
    require(f.ncclGroupStart(), "ncclGroupStart", asked);
    ncclResult_t answer = ncclSuccess;
    for (std::size_t i = 0; i < leads.size() && answer == ncclSuccess; ++i)
        answer = f.ncclAllReduce(leads[i].memory, leads[i].memory, static_cast<std::size_t>(elements), type_of(element),
                                 ncclSum, ranks[i], stream_of(leads[i]));
    const ncclResult_t ended = f.ncclGroupEnd();
    if (answer != ncclSuccess || ended != ncclSuccess) { // of no more use
        for (const ncclComm_t c : ranks) (void)f.ncclCommAbort(c);
        all.of.erase(cards);
        require(answer, "ncclAllReduce", asked);
        require(ended, "ncclGroupEnd", asked);
    }
    for (const participant& p : leads) {
        p.gpu->use();
        check(cudaEventRecord(all.ended[p.gpu->card], stream_of(p)), "cudaEventRecord");
    }
}

#else

void sum_by_nccl(element_type, std::int64_t, const std::vector<participant>& leads) {
    throw unavailable_error("the sum over " + std::to_string(leads.size()) + " GPUs: " + why_no_nccl());
}

#endif

} // namespace

const std::string& why_no_nccl() {
#if defined(TENON_WITH_NCCL)
    return found_library::get().why_not;
#else
    static const std::string why = "Tenon was built without NCCL's header nccl.h";
    return why;
#endif
}

void all_reduce(element_type element, std::int64_t elements, const std::vector<participant>& all) {
    if (elements == 0 || all.size() < 2) return;
    const kept_card kept;
    const std::lock_guard lock(one_at_a_time());
    std::vector<participant> leads; // the first one of each card
    const auto lead_of = [&](const participant& p) {
        return std::find_if(leads.begin(), leads.end(),
                            [&](const participant& l) { return l.gpu->card == p.gpu->card; });
    };
    std::vector<const participant*> others;
    for (const participant& p : all)
        if (const auto lead = lead_of(p); lead == leads.end()) leads.push_back(p);
        else {
            others.push_back(&p);
            order(p, *lead);
            add_into(element, lead->memory, p.memory, elements, lead->stream);
        }
    if (leads.size() > 1) sum_by_nccl(element, elements, leads);
    for (const participant* p : others) {
        const participant& lead = *lead_of(*p);
        lead.gpu->use();
        check(cudaMemcpyAsync(p->memory, lead.memory, static_cast<std::size_t>(elements) * size_of(element),
                              cudaMemcpyDeviceToDevice, stream_of(lead)),
              "cudaMemcpyAsync");
        order(lead, *p);
    }
}

} // namespace tenon::cuda
