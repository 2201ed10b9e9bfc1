#include <cuda/nccl/process_sums.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/nccl/all_reduce.hpp>
#include <cuda/nccl/library.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/cuda/gpus.hpp>

namespace tenon::cuda {

#if defined(TENON_NCCL_JOINS_PROCESSES)

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

const nccl::functions& all_calls() { return *nccl::found<nccl::functions>::get().has; }
const nccl::process_functions& calls() { return *nccl::found<nccl::process_functions>::get().has; }

// A factor as NCCL reads it.
union scalar {
    double as_double;
    float as_float;
    half as_half;
    bfloat16 as_bfloat16;
    scalar(double x, element_type e) : as_double(x) {
        if (e == element_type::float32) as_float = static_cast<float>(x);
        if (e == element_type::float16) as_half = half(static_cast<float>(x));
        if (e == element_type::bfloat16) as_bfloat16 = bfloat16(static_cast<float>(x));
    }
};

// One of NCCL's communicators, of one GPU of each process, and the thread that speaks with it, since its calls may wait for other
// processes. Sums have a stream of their own: they go on beside what computes.
class communicator {
public:
    communicator(std::shared_ptr<collective_group> g, const char (&id)[128]) : group_(std::move(g)) {
        static_assert(sizeof id_.internal == sizeof id);
        std::memcpy(id_.internal, id, sizeof id);
    }

    struct job {
        void* memory;
        tensor_type type;
        std::list<job>* home; // where it is while it is not to be summed: nothing is allocated under the group's lock
        std::optional<double> factor = {};
        completion* then = nullptr; // nullptr: not all have come yet
    };
    using job_queue = std::list<job>;

    void enter(job_queue& from) noexcept {
        const std::lock_guard lock(guard_);
        jobs_.splice(jobs_.end(), from);
    }
    void drop(job_queue::iterator j) noexcept {
        const std::lock_guard lock(guard_);
        if (!j->home->empty()) return;
        j->home->splice(j->home->end(), jobs_, j);
        changed_.notify_all();
    }
    void sum(job_queue::iterator j, std::optional<double> factor, completion& then) noexcept {
        const std::lock_guard lock(guard_);
        j->factor = factor;
        j->then = &then;
        changed_.notify_all();
    }

    void use(int card) {
        const std::lock_guard lock(guard_);
        if (card_ >= 0 && card_ != card)
            throw failed_precondition_error("group " + group_->name() + ": cards " + std::to_string(card_) + " and " +
                                            std::to_string(card) +
                                            " of this process are to sum with the other processes by one strategy; "
                                            "make a strategy for each");
        card_ = card;
    }

    void serve() noexcept {
        std::unique_lock lock(guard_);
        const auto is_ready = [&] { return !jobs_.empty() && jobs_.front().then; };
        for (;;) {
            changed_.wait(lock, [&] { return ending_ || is_ready(); });
            if (!is_ready()) break;
            const job_queue::iterator j = jobs_.begin(); // its owner waits for it
            lock.unlock();
            std::exception_ptr failure;
            try {
                add_up(*j);
            } catch (...) {
                failure = std::current_exception();
                give_up();
                tell_others(failure);
            }
            lock.lock();
            completion* const then = std::exchange(j->then, nullptr);
            j->home->splice(j->home->end(), jobs_, j);
            lock.unlock();
            then->completed(std::move(failure));
            lock.lock();
        }
        lock.unlock();
        leave();
    }
    void end() noexcept {
        const std::lock_guard lock(guard_);
        ending_ = true;
        changed_.notify_all();
    }

private:
    std::string asked(const job& j) const {
        return to_string(j.type) + " on card " + std::to_string(card_) + " of rank " + std::to_string(group_->rank()) +
               " of group " + group_->name();
    }

    void add_up(const job& j) {
        group_->check();
        const std::int64_t elements = j.type.extents.elements();
        if (elements == 0) return;
        const std::string text = asked(j);
        check(cudaSetDevice(card_), "cudaSetDevice");
        begin(text);
        if (j.factor == 0) // no number may be there
            check(cudaMemsetAsync(j.memory, 0, static_cast<std::size_t>(elements) * size_of(j.type.element), stream_),
                  "cudaMemsetAsync");
        const ncclDataType_t type = nccl::type_of(j.type.element);
        ncclRedOp_t op = ncclSum; // or another one, for all processes
        scalar factor(j.factor.value_or(1), j.type.element);
        if (j.factor)
            settle(calls().ncclRedOpCreatePreMulSum(&op, &factor, type, ncclScalarHostImmediate, comm_),
                   "ncclRedOpCreatePreMulSum", text);
        settle(
            all_calls().ncclAllReduce(j.memory, j.memory, static_cast<std::size_t>(elements), type, op, comm_, stream_),
            "ncclAllReduce", text);
        if (j.factor) settle(calls().ncclRedOpDestroy(op, comm_), "ncclRedOpDestroy", text);
        check(cudaEventRecord(summed_, stream_), "cudaEventRecord");
        wait([&] {
            const cudaError_t now = cudaEventQuery(summed_);
            if (now == cudaSuccess) return true;
            if (now != cudaErrorNotReady) check(now, "cudaEventQuery");
            ncclResult_t state = ncclSuccess;
            nccl::require(calls().ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError", text);
            if (state != ncclInProgress) nccl::require(state, "ncclAllReduce", text);
            return false;
        });
        group_->check(); // what was aborted is reached, too
    }

    void begin(const std::string& text) {
        if (comm_) return;
        if (!stream_) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        if (!summed_) check(cudaEventCreateWithFlags(&summed_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0; // so that it can be ended while it waits for others
        settle(calls().ncclCommInitRankConfig(&comm_, group_->size(), id_, group_->rank(), &config),
               "ncclCommInitRankConfig", text);
    }

    // Until NCCL is through with a call.
    void settle(ncclResult_t answer, const char* call, const std::string& text) {
        if (answer != ncclInProgress) return nccl::require(answer, call, text);
        wait([&] {
            ncclResult_t now = ncclSuccess;
            nccl::require(calls().ncclCommGetAsyncError(comm_, &now), "ncclCommGetAsyncError", text);
            if (now != ncclInProgress) nccl::require(now, call, text);
            return now != ncclInProgress;
        });
    }

    // Asks again and again, more and more seldom. Throws what the group ends with meanwhile.
    template <class F> void wait(F done) {
        const auto since = clock::now();
        while (!done()) {
            group_->check();
            if (leaving_ && clock::now() - since > 5s) throw deadline_exceeded_error("NCCL does not end");
            std::this_thread::sleep_for(std::clamp<clock::duration>((clock::now() - since) / 8, 3us, 500us));
        }
    }

    // What the GPU was given ends, and touches no memory any more.
    void give_up() noexcept {
        if (comm_) (void)all_calls().ncclCommAbort(std::exchange(comm_, nullptr));
        if (stream_) (void)cudaStreamSynchronize(stream_);
    }

    // Of a lost process NCCL may know before the group does, which will say whose it was.
    void tell_others(std::exception_ptr& failure) noexcept {
        try {
            try {
                std::rethrow_exception(failure);
            } catch (const unavailable_error&) {
                for (const auto until = clock::now() + 10s; clock::now() < until; std::this_thread::sleep_for(5ms))
                    group_->check();
                throw;
            }
        } catch (const error& e) {
            failure = std::current_exception();
            group_->abort(e.code(), said(e.what()));
        } catch (const std::exception& e) {
            group_->abort(error_code::resource_exhausted, said(e.what()));
        }
    }
    std::string said(const char* why) const noexcept {
        try {
            return group_->member(group_->rank()) + ": " + why;
        } catch (...) { // no memory for words
            return {};
        }
    }

    // The others may still be sent what they sum: NCCL is given some time for that.
    void leave() noexcept {
        leaving_ = true;
        try {
            if (comm_) {
                settle(calls().ncclCommFinalize(comm_), "ncclCommFinalize", "the end");
                (void)calls().ncclCommDestroy(std::exchange(comm_, nullptr));
            }
        } catch (const std::exception&) { // the group has ended, or others have not left
            give_up();
        }
        if (summed_) (void)cudaEventDestroy(summed_);
        if (stream_) (void)cudaStreamDestroy(stream_);
    }

    const std::shared_ptr<collective_group> group_;
    ncclUniqueId id_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    job_queue jobs_; // in the order of sums
    bool ending_ = false;
    int card_ = -1;
    // The thread's own:
    ncclComm_t comm_ = nullptr;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t summed_ = nullptr;
    bool leaving_ = false;
};

// Its thread ends with the last owner, which may be that thread; and so does all else, though some may still know of it.
std::shared_ptr<communicator> start(const std::shared_ptr<collective_group>& g, const char (&id)[128]) {
    auto inner = std::make_shared<communicator>(g, id);
    const auto thread = std::make_shared<std::thread>([inner] { inner->serve(); });
    communicator* const made = inner.get();
    return {made, [inner = std::move(inner), thread](communicator*) mutable {
                inner->end();
                if (thread->get_id() == std::this_thread::get_id()) thread->detach();
                else thread->join();
                inner.reset();
            }};
}

struct joined {
    std::mutex guard;
    std::map<std::string, std::weak_ptr<communicator>> by_name;
    static joined& get() {
        static auto& j = *new joined;
        return j;
    }
};

class kept_by_nccl final : public kept_on_gpu {
public:
    kept_by_nccl(std::shared_ptr<communicator> by, const tensor_type& t, const gpu_context& gpu) :
        kept_on_gpu(t), by_(std::move(by)) {
        by_->use(gpu.card);
        gpu.use();
        if (const std::size_t bytes = static_cast<std::size_t>(t.extents.elements()) * size_of(t.element))
            check(cudaMalloc(&memory_, bytes), "cudaMalloc");
        own_.push_back({memory_, t, &own_});
        job_ = own_.begin();
    }
    ~kept_by_nccl() override { (void)cudaFree(memory_); }
    void* memory() const noexcept override { return memory_; }
    void enter() noexcept override { by_->enter(own_); }
    void sum(std::optional<double> factor, completion& then) noexcept override { by_->sum(job_, factor, then); }
    void drop() noexcept override { by_->drop(job_); }

private:
    const std::shared_ptr<communicator> by_;
    void* memory_ = nullptr;
    communicator::job_queue own_; // the job, or nothing while that is in the line
    communicator::job_queue::iterator job_;
};

class nccl_sums final : public process_sums {
    process_offer offer(const collective_group& g, const device_name& d) const override {
        process_offer o;
        try {
            if (!why_no_nccl().empty()) throw unavailable_error(why_no_nccl());
            if (const auto& f = nccl::found<nccl::process_functions>::get(); !f.has) throw unavailable_error(f.why_not);
            if (d.index < 0 || d.index >= static_cast<int>(cuda_gpus()->physical().size()))
                throw unavailable_error("it has no " + to_string(d));
            cudaDeviceProp about{};
            check(cudaGetDeviceProperties(&about, d.index), "cudaGetDeviceProperties");
            static_assert(sizeof about.uuid.bytes == sizeof o.card);
            std::memcpy(o.card, about.uuid.bytes, sizeof o.card);
            ncclUniqueId id{};
            if (g.rank() == 0) nccl::require(calls().ncclGetUniqueId(&id), "ncclGetUniqueId", "group " + g.name());
            std::memcpy(o.id, id.internal, sizeof o.id);
        } catch (const error& e) {
            std::string(e.what()).copy(o.why_not, sizeof o.why_not - 1);
        }
        return o;
    }
    std::shared_ptr<void> join(const std::shared_ptr<collective_group>& g, const std::string& name,
                               const char (&id)[128]) const override {
        auto made = start(g, id);
        joined& all = joined::get();
        const std::lock_guard lock(all.guard);
        std::erase_if(all.by_name, [](const auto& e) { return e.second.expired(); });
        all.by_name[name] = made;
        return made;
    }
};

} // namespace

std::shared_ptr<kept_on_gpu> keep_on_gpu(const std::string& sums, const tensor_type& type, const gpu_context& gpu) {
    std::shared_ptr<communicator> by;
    {
        joined& all = joined::get();
        const std::lock_guard lock(all.guard);
        if (const auto at = all.by_name.find(sums); at != all.by_name.end()) by = at->second.lock();
    }
    if (!by)
        throw failed_precondition_error("this process sums with no others by \"" + sums +
                                        "\": such steps run in the process whose strategy made them, while it lives");
    return std::make_shared<kept_by_nccl>(std::move(by), type, gpu);
}

std::shared_ptr<const process_sums> nccl_process_sums() { return std::make_shared<const nccl_sums>(); }

#else

namespace {
class no_sums final : public process_sums {
    process_offer offer(const collective_group&, const device_name&) const override {
        process_offer o;
        (why_no_nccl().empty() ? std::string("Tenon was built with an NCCL before 2.14") : why_no_nccl())
            .copy(o.why_not, sizeof o.why_not - 1);
        return o;
    }
    std::shared_ptr<void> join(const std::shared_ptr<collective_group>&, const std::string&,
                               const char (&)[128]) const override {
        return nullptr;
    }
};
} // namespace

std::shared_ptr<kept_on_gpu> keep_on_gpu(const std::string&, const tensor_type&, const gpu_context&) {
    throw unavailable_error("sums over GPUs of several processes: there is no NCCL");
}

std::shared_ptr<const process_sums> nccl_process_sums() { return std::make_shared<const no_sums>(); }

#endif

} // namespace tenon::cuda
