#include <cuda/device/machine.hpp>

#include <algorithm>

#include <cuda/device/error.hpp>
#include <tenon/concurrency/failure.hpp>

namespace tenon::cuda {

namespace {

using clock = std::chrono::steady_clock;

// How long who waits asks again and again, as CUDA's own functions do, before it sleeps between two questions: to be woken takes
// about 0.1 ms, which is much of most steps.
constexpr std::chrono::milliseconds eager{10};
constexpr std::chrono::microseconds nap{30};

std::int64_t nanoseconds_between(cudaEvent_t first, cudaEvent_t last) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first, last), "cudaEventElapsedTime");
    return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

std::exception_ptr failure_of(cudaError_t answer, int card) {
    return thrown_by([&] { check(answer, ("GPU " + std::to_string(card) + ": cudaEventQuery").c_str()); });
}

} // namespace

machine::~machine() {
    {
        const std::lock_guard lock(guard_);
        ending_ = true;
    }
    changed_.notify_all();
    if (watcher_.get_id() == std::this_thread::get_id()) {
        *ended_by_watcher_ = true; // it has ended the last step, and with it the last session
        watcher_.detach();
    } else if (watcher_.joinable()) watcher_.join();
    for (const auto& [card, e] : timers_) (void)cudaEventDestroy(e);
    for (const auto& [card, m] : moments_) (void)cudaEventDestroy(m.event);
}

void machine::tell(int card, cudaStream_t stream, cudaEvent_t event, completion& told) {
    const std::lock_guard lock(guard_);
    auto at = std::find_if(queues_.begin(), queues_.end(), [&](const stream_queue& l) { return l.stream == stream; });
    if (at == queues_.end())
        at = std::find_if(queues_.begin(), queues_.end(),
                          [](const stream_queue& l) { return !l.stream && l.events.empty(); });
    if (at == queues_.end()) at = queues_.insert(queues_.end(), stream_queue{});
    at->card = card;
    at->stream = stream;
    at->events.push_back({event, &told});
    ++outstanding_;
    changed_.notify_all(); // somebody may sleep because there was nothing to look at
}

// Its line stays: somebody may be looking along them.
void machine::forget(cudaStream_t stream) noexcept {
    const std::lock_guard lock(guard_);
    for (stream_queue& l : queues_)
        if (l.stream == stream) l.stream = nullptr;
}

void machine::time(const timed_command& c) {
    const std::lock_guard lock(guard_);
    timed_.push_back(c);
}

cudaEvent_t machine::take_timer(int card) {
    const std::lock_guard lock(guard_);
    check(cudaSetDevice(card), "cudaSetDevice");
    take_moment(card);
    const auto at = std::find_if(timers_.begin(), timers_.end(), [&](const auto& t) { return t.first == card; });
    cudaEvent_t e = nullptr;
    if (at != timers_.end()) {
        e = at->second;
        timers_.erase(at);
    } else check(cudaEventCreate(&e), "cudaEventCreate");
    return e;
}

machine::moment& machine::moment_of(int card) {
    auto at = std::find_if(moments_.begin(), moments_.end(), [&](const auto& m) { return m.first == card; });
    if (at == moments_.end()) at = moments_.insert(moments_.end(), {card, {}});
    return at->second;
}

// A float counts milliseconds since then, so it is taken anew now and then: before all that is timed by it.
void machine::take_moment(int card) {
    moment& m = moment_of(card);
    const auto is_timed = [&](const timed_command& c) { return c.card == card; };
    if (m.event &&
        (clock::now() - m.taken < std::chrono::seconds(10) || std::any_of(timed_.begin(), timed_.end(), is_timed)))
        return;
    if (!m.event) check(cudaEventCreate(&m.event), "cudaEventCreate");
    check(cudaEventRecord(m.event, cudaStreamPerThread), "cudaEventRecord");
    check(cudaEventSynchronize(m.event), "cudaEventSynchronize");
    m.taken = clock::now();
    m.at = m.taken.time_since_epoch() / std::chrono::nanoseconds(1);
}

// When e was reached, in nanoseconds of the steady clock: to about a microsecond, for a float holds seconds no finer.
std::int64_t machine::time_of(int card, cudaEvent_t e) {
    const moment& m = moment_of(card);
    return m.at + nanoseconds_between(m.event, e);
}

// Those whose end was reached: before anybody is told of an event that comes after them.
void machine::tell_times(std::unique_lock<std::mutex>&) {
    for (std::size_t i = 0; i < timed_.size();) {
        const timed_command c = timed_[i];
        const cudaError_t answer = cudaEventQuery(c.ended);
        if (answer == cudaErrorNotReady) {
            ++i;
            continue;
        }
        timed_.erase(timed_.begin() + static_cast<std::ptrdiff_t>(i));
        if (answer == cudaSuccess) {
            try {
                const std::int64_t began = time_of(c.card, c.began);
                c.monitor->ended(c.number, began, began + nanoseconds_between(c.began, c.ended));
            } catch (...) {
                c.monitor->failed(c.number, std::current_exception());
            }
        }
        timers_.emplace_back(c.card, c.began);
        timers_.emplace_back(c.card, c.ended);
    }
}

// Asks the driver once about the first event of each stream, and tells who waits for those that are reached; true where there were
// some. One thread at a time, so that those of a stream are told in order.
bool machine::look(std::unique_lock<std::mutex>& held) {
    if (looking_ || outstanding_ == 0) return false;
    looking_ = true;
    bool any = false;
    int current = -1; // a thread that asks without having chosen a card would make another one ready for use
    for (auto l = queues_.begin(); l != queues_.end(); ++l) { // lines stay, and are added at the end only
        while (!l->events.empty()) {
            const awaited first = l->events.front();
            if (current != l->card) (void)cudaSetDevice(current = l->card);
            const cudaError_t answer = cudaEventQuery(first.event);
            if (answer == cudaErrorNotReady) break;
            if (!timed_.empty()) tell_times(held);
            l->events.pop_front();
            --outstanding_;
            any = true;
            held.unlock();
            first.told->completed(answer == cudaSuccess ? nullptr : failure_of(answer, l->card));
            current = -1; // who was told may have chosen another
            held.lock();
        }
    }
    looking_ = false;
    if (any) changed_.notify_all();
    return any;
}

// Between two questions, of which the first one in vain was asked at `since`.
void machine::rest(std::unique_lock<std::mutex>& held, clock::time_point since) {
    if (clock::now() - since >= eager) {
        changed_.wait_for(held, nap);
        return;
    }
    held.unlock();
    std::this_thread::yield();
    held.lock();
}

void machine::work_until(function_ref<bool()> done) {
    std::unique_lock held(guard_);
    ++waiting_;
    for (auto since = clock::now();;) {
        const std::uint64_t seen = wakes_;
        held.unlock();
        const bool over = done();
        held.lock();
        if (over) break;
        if (seen != wakes_) continue;
        if (look(held)) {
            since = clock::now();
            continue;
        }
        if (outstanding_ > 0 && !asking_) { // one of them asks, and the others are told
            asking_ = true;
            rest(held, since);
            asking_ = false;
        } else if (outstanding_ > 0) changed_.wait_for(held, nap);
        else changed_.wait(held, [&] { return seen != wakes_ || outstanding_ > 0; });
    }
    --waiting_;
    if (outstanding_ > 0) changed_.notify_all(); // another one goes on asking, or the watcher
}

void machine::wake() noexcept {
    {
        const std::lock_guard lock(guard_);
        ++wakes_;
    }
    changed_.notify_all();
}

void machine::leave() {
    const std::lock_guard lock(guard_);
    if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    changed_.notify_all();
}

void machine::watch() {
    std::unique_lock held(guard_);
    const std::shared_ptr<bool> ended = ended_by_watcher_;
    for (auto since = clock::now(); !ending_;) {
        if (outstanding_ == 0 || waiting_ > 0) {
            changed_.wait(held);
            since = clock::now();
            continue;
        }
        std::shared_ptr<machine> self = weak_from_this().lock();
        if (!self) return; // it is being ended
        if (look(held)) since = clock::now();
        else rest(held, since);
        held.unlock();
        self.reset();
        if (*ended) return;
        held.lock();
    }
}

} // namespace tenon::cuda
