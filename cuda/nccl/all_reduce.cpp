#include <cuda/nccl/all_reduce.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/kernels/elementwise/add_into.hpp>
#include <cuda/nccl/library.hpp>
#include <tenon/core/error.hpp>

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
    kept_card(kept_card&&) = delete;

private:
    int card_ = 0;
};

// One sum at a time, so that all cards have them in one order.
std::mutex& one_at_a_time() {
    static auto& m = *new std::mutex;
    return m;
}

#if defined(TENON_WITH_NCCL)

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

void sum_by_nccl(element_type element, const std::vector<std::int64_t>& elements,
                 const std::vector<participant>& leads) {
    using namespace nccl;
    const found<functions>& library = found<functions>::get();
    if (!library.has)
        throw unavailable_error("the sum over " + std::to_string(leads.size()) + " GPUs: " + library.why_not);
    const functions& f = *library.has;
    std::vector<int> cards;
    std::string asked;
    for (const std::int64_t n : elements) asked += (asked.empty() ? "" : " and ") + std::to_string(n);
    asked += std::string(" elements of ") + name_of(element) + " on cards";
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
    for (std::size_t t = 0; t < elements.size(); ++t)
        for (std::size_t i = 0; i < leads.size() && elements[t] > 0 && answer == ncclSuccess; ++i)
            answer = f.ncclAllReduce(leads[i].memory[t], leads[i].memory[t], static_cast<std::size_t>(elements[t]),
                                     type_of(element), ncclSum, ranks[i], stream_of(leads[i]));
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

void sum_by_nccl(element_type, const std::vector<std::int64_t>&, const std::vector<participant>& leads) {
    throw unavailable_error("the sum over " + std::to_string(leads.size()) + " GPUs: " + why_no_nccl());
}

#endif

} // namespace

const std::string& why_no_nccl() {
#if defined(TENON_WITH_NCCL)
    return nccl::found<nccl::functions>::get().why_not;
#else
    static const std::string why = "this build has no NCCL: configure it where nccl.h can be found";
    return why;
#endif
}

void all_reduce(element_type element, const std::vector<std::int64_t>& elements, const std::vector<participant>& all) {
    const auto is_none = [](std::int64_t n) { return n == 0; };
    if (std::all_of(elements.begin(), elements.end(), is_none) || all.size() < 2) return;
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
            for (std::size_t t = 0; t < elements.size(); ++t)
                if (elements[t] > 0) add_into(element, lead->memory[t], p.memory[t], elements[t], lead->stream);
        }
    if (leads.size() > 1) sum_by_nccl(element, elements, leads);
    for (const participant* p : others) {
        const participant& lead = *lead_of(*p);
        lead.gpu->use();
        for (std::size_t t = 0; t < elements.size(); ++t)
            check(cudaMemcpyAsync(p->memory[t], lead.memory[t],
                                  static_cast<std::size_t>(elements[t]) * size_of(element), cudaMemcpyDeviceToDevice,
                                  stream_of(lead)),
                  "cudaMemcpyAsync");
        order(lead, *p);
    }
}

} // namespace tenon::cuda
