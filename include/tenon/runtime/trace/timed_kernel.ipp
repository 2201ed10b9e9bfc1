#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <unistd.h>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/trace/timed_kernel.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

namespace tenon {

// Adds up what runs took; `completed` when the last has ended, on whichever thread.
class timed_kernel::monitor final : public step_monitor, public completion {
public:
    explicit monitor(device_streams& of) : streams_(of) {}
    bool wanted(int) noexcept override { return true; }
    void ended(int command, std::int64_t begin, std::int64_t end) noexcept override {
        if (command == timed) nanoseconds += end - begin;
    }
    void failed(int, std::exception_ptr why) noexcept override {
        if (!failure_) failure_ = std::move(why);
    }
    void completed(std::exception_ptr failure) noexcept override {
        if (failure) failed(timed, std::move(failure));
        done_.store(true, std::memory_order_release);
        streams_.wake();
    }
    // All that was given; throws what it failed with.
    void wait_for_end() {
        const auto event = streams_.make_event();
        streams_.record(device_streams::compute, *event, this);
        streams_.work_until([&] { return done_.load(std::memory_order_acquire); });
        if (failure_) std::rethrow_exception(failure_);
    }

    static constexpr int timed = 0, untimed = 1; // commands
    std::int64_t nanoseconds = 0;                // written before `completed`

private:
    device_streams& streams_;
    std::exception_ptr failure_;
    std::atomic<bool> done_{false};
};

TENON_INLINE timed_kernel::timed_kernel(parts p) :
    owner_(std::move(p.owner)),
    on_(*p.on),
    pool_(p.pool),
    kernel_(std::move(p.kernel)),
    node_(std::move(p.node)),
    timed_(std::move(p.timed)),
    outputs_(std::move(p.outputs)),
    operations_(p.operations),
    peak_(std::move(p.peak)),
    denormals_(p.denormals) {
    device_streams* const streams = on_.streams();
    std::map<const void*, const void*> known; // where what is read of the host lies
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
        any_array& value = p.operands[k];
        in_.push_back(nullptr);
        if (!p.read[k]) continue;
        const auto [at, is_new] = known.emplace(value.data(), nullptr);
        if (!is_new) {
            in_.back() = at->second;
            continue;
        }
        bytes_ += static_cast<double>(value.bytes());
        if (streams) {
            memory_.emplace_back(on_, std::max<std::size_t>(value.bytes(), 1));
            in_.back() = at->second = memory_.back().data();
            on_.copy_from_host(memory_.back().data(), value.data(), value.bytes());
        } else {
            in_.back() = at->second = value.data();
            operands_.push_back(std::move(value));
        }
    }
    for (const tensor_type& t : outputs_) {
        bytes_ += static_cast<double>(bytes_of(t));
        if (streams) {
            memory_.emplace_back(on_, std::max<std::size_t>(static_cast<std::size_t>(bytes_of(t)), 1));
            out_.push_back(memory_.back().data());
        } else out_.push_back(host_results_.emplace_back(t.element, t.extents).data());
    }
    how_.in = in_.data();
    how_.out = out_.data();
    how_.pool = streams ? nullptr : pool_;
    if (const std::size_t bytes = kernel_->scratch_bytes(); bytes > 0) {
        memory_.emplace_back(on_, bytes);
        how_.scratch = static_cast<std::byte*>(memory_.back().data());
    }
    if (const std::size_t bytes = kernel_->told_bytes(); streams && bytes > 0) {
        told_ = streams->told_memory(bytes);
        how_.told = told_.get();
    }
}
TENON_INLINE timed_kernel::~timed_kernel() = default;

TENON_INLINE const device_attributes& timed_kernel::on() const { return on_.attributes(); }

TENON_INLINE std::vector<launched_kernel> timed_kernel::launches() {
    device_streams* const streams = on_.streams();
    if (how_.told) kernel_->tell(how_.told);
    return streams ? streams->launches_of(*kernel_, how_) : std::vector<launched_kernel>();
}

TENON_INLINE double timed_kernel::run(int times, bool cold) {
    const denormal_scope mode(denormals_);
    if (!on_.streams()) return run_on_host(times, cold);
    if (!cold || !on().simulated) return run_on_stream(times, cold);
    double all = 0; // a simulated card's caches are the host's
    for (int i = 0; i < times; ++i) {
        detail::flush_host_caches(pool_);
        all += run_on_stream(1, false);
    }
    return all;
}

TENON_INLINE double timed_kernel::run_on_host(int times, bool cold) {
    using clock = std::chrono::steady_clock;
    constexpr double worth_waking = 1e5; // ns, as in a step
    const thread_pool::keep_awake awake(kernel_->cost() > worth_waking ? pool_ : nullptr);
    clock::duration all{};
    for (int left = times; left > 0;) {
        if (cold) detail::flush_host_caches(pool_);
        const int together = cold ? 1 : left;
        const auto begin = clock::now();
        for (int i = 0; i < together; ++i) kernel_->run(how_);
        all += clock::now() - begin;
        left -= together;
    }
    return std::chrono::duration<double>(all).count();
}

TENON_INLINE double timed_kernel::run_on_stream(int times, bool cold) {
    device_streams& streams = *on_.streams();
    monitor m(streams);
    try {
        for (int i = 0; i < times; ++i) {
            if (cold) {
                constexpr std::size_t half = std::size_t{128} << 20; // more than a card's second cache
                if (!filler_.data()) filler_ = device_memory(on_, 2 * half);
                auto* const filler = static_cast<std::byte*>(filler_.data());
                streams.copy(device_streams::compute, filler + half, filler, half, m, monitor::untimed);
            }
            if (how_.told) kernel_->tell(how_.told);
            streams.launch(device_streams::compute, *kernel_, how_, m, monitor::timed);
        }
    } catch (...) { // what was given ends first, for it has the monitor
        m.failed(monitor::timed, std::current_exception());
    }
    m.wait_for_end();
    if (how_.told) kernel_->refuse(how_.told);
    return static_cast<double>(m.nanoseconds) * 1e-9;
}

// By writing more than they hold, of which each thread has a part; for one caller at a time.
TENON_INLINE void detail::flush_host_caches(thread_pool* pool) {
    static std::mutex guard;
    static auto& filler = *new std::vector<unsigned char>;
    const std::lock_guard lock(guard);
    if (filler.empty()) {
        const auto third = static_cast<std::size_t>(std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
        filler.resize(std::clamp(2 * third, std::size_t{64} << 20, std::size_t{512} << 20));
    }
    constexpr std::int64_t line = 64;
    const std::int64_t lines = static_cast<std::int64_t>(filler.size()) / line;
    const auto write = [](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++filler[static_cast<std::size_t>(i * line)];
    };
    const thread_pool::keep_awake awake(pool);
    if (pool) pool->parallel_for(lines, 4096, write);
    else write(0, lines);
}

TENON_INLINE any_array timed_kernel::result(int output) const {
    const auto o = static_cast<std::size_t>(output);
    if (output < 0 || o >= outputs_.size())
        throw invalid_argument_error("timed_kernel::result: " + node_ + " has " + std::to_string(outputs_.size()) +
                                     " outputs, none of number " + std::to_string(output));
    if (!on_.streams()) return host_results_[o].copy();
    any_array value(outputs_[o].element, outputs_[o].extents);
    on_.copy_to_host(value.data(), out_[o], value.bytes());
    return value;
}

TENON_INLINE void timed_kernel::tell(cost_measurements& m, double seconds) const {
    m.add_kernel(timed_on(on_.attributes()), timed_, static_cast<std::int64_t>(seconds * 1e9));
}

} // namespace tenon
