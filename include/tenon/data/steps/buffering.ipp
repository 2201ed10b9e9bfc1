#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/data/steps/element_queue.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/measured.hpp>
#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

class prefetched_node final : public data_node {
public:
    prefetched_node(pointer from, std::int64_t n) :
        data_node(n == autotune ? "prefetch" : step_name("prefetch", n), from->components(), {from}), n_(n) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return true; }
    std::int64_t size() const override { return input().size(); }
    std::string no_access() const override { return input().no_access(); }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override { input().at(i, epoch, x); }

private:
    // A thread takes elements ahead. Who finds none there, while the thread is not taking one, takes it himself: he would only wait. Where
    // handing over takes longer than what is done meanwhile, the thread looks on, or rests.
    class stream final : public element_stream {
    public:
        stream(const prefetched_node& n, pipeline& p) :
            types_(n.components()),
            pipeline_(p),
            meter_(p.meter(n)),
            tuned_(n.n_ == autotune),
            input_may_wait_(n.input().may_wait()),
            room_(tuned_ ? 2 : static_cast<std::size_t>(n.n_)),
            from_(open_step(n.input(), p, stopped_)) {
            meter_.is_parallel = true;
            meter_.buffer = static_cast<std::int64_t>(room_.load());
        }
        ~stream() override {
            {
                const std::lock_guard lock(guard_);
                stopping_ = true;
            }
            take_.notify_all();
            stopped_.stop();
            if (thread_.joinable()) thread_.join();
            pipeline_.give_memory(taken_memory_);
        }

        bool next(data_element& x) override {
            if (way_.load(std::memory_order_relaxed) == way::alone) return next_alone(x);
            const std::int64_t now = now_ns();
            if (gave_ != 0) between_.add(static_cast<double>(now - gave_));
            asked_.store(asked_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            const std::size_t there = queue_.size(), room = room_.load(std::memory_order_relaxed);
            meter_.fill_samples.fetch_add(1, std::memory_order_relaxed);
            meter_.capacity_sum.fetch_add(room, std::memory_order_relaxed);
            meter_.fill_sum.fetch_add(there, std::memory_order_relaxed);
            gave_ = 0; // not if it throws
            if (!thread_.joinable() && !ended_) begin_thread();
            if (kept_element* const first = queue_.front()) give(*first, x);
            else if (!take_here(x)) return false;
            if (tuned_) last_bytes_ = bytes_of(x);
            gave_ = now_ns();
            return true;
        }
        bool is_ready() const override {
            // What takes no waiting, and nobody has begun with, is taken by who asks.
            return queue_.size() > 0 || ended_ || (!input_may_wait_ && !taking_);
        }
        void save(state_writer& to) override {
            std::unique_lock lock(guard_);
            paused_ = true;
            came_.wait(lock, [&] { return !taking_; });
            to.number(ended_);
            to.number(queue_.size() + (failed_ ? 1 : 0));
            queue_.for_each([&](const kept_element& k) { save_kept(to, k); });
            if (failed_) save_kept(to, {{}, failed_});
            from_->save(to);
            paused_ = false;
            lock.unlock();
            take_.notify_one();
        }
        void restore(state_reader& from) override {
            const std::lock_guard lock(guard_); // no thread was started
            ended_ = from.number(0, 1) != 0;
            const std::uint64_t count = from.number();
            for (std::uint64_t i = 0; i < count; ++i) {
                queue_.place() = restored_kept(from, types_);
                queue_.push();
            }
            const stop_scope stopped_with(stopped_);
            from_->restore(from);
        }

    private:
        enum class way {
            ahead, // the thread takes whatever there is room for
            watch, // it does where nobody has asked for a while
            alone, // it rests, and from_ is who asks's
        };

        void begin_thread() {
            try {
                thread_ = std::thread([this] { take(); });
            } catch (const std::system_error&) { // there is none to be had: who asks takes them himself
            }
        }
        void give(kept_element& first, data_element& x) {
            const std::exception_ptr failure = queue_.take(first, x);
            // Not woken for each element, nor too late.
            if (sleeping_ && queue_.size() <= room_.load(std::memory_order_relaxed) / 2) {
                { const std::lock_guard lock(guard_); }
                take_.notify_one();
            }
            if (asked_.load(std::memory_order_relaxed) % 16 == 0) choose_way(false);
            if (failure) std::rethrow_exception(failure);
        }
        // The next one, by who asks or, where the thread has begun with it, by the thread; false at the end.
        bool take_here(data_element& x) {
            std::unique_lock lock(guard_);
            // What was full when it was last asked, and is empty now, is too small for how unevenly it is asked.
            if (tuned_ && was_full_ && !ended_) enlarge();
            if (taking_) {
                awaited_ = true;
                came_.wait(lock, [&] { return queue_.size() > 0 || !taking_; });
                awaited_ = false;
            }
            if (kept_element* const first = queue_.front()) {
                lock.unlock();
                give(*first, x);
                return true;
            }
            if (failed_) {
                take_.notify_one();
                std::rethrow_exception(std::exchange(failed_, nullptr));
            }
            if (ended_) return false;
            taking_ = true;
            lock.unlock();
            bool got = false;
            const std::int64_t begin = now_ns();
            const std::exception_ptr failure = thrown_by([&] { got = from_->next(x); });
            took(begin, now_ns());
            lock.lock();
            taking_ = false;
            ended_ = !got && !failure;
            const way before = way_;
            choose_way(true);
            const bool goes_on = !ended_ && (way_ == way::ahead || way_ != before);
            lock.unlock();
            if (goes_on) take_.notify_one();
            if (failure) std::rethrow_exception(failure);
            return got;
        }
        // The thread rests, so from_ is who asks's, and no lock is wanted.
        bool next_alone(data_element& x) {
            const std::int64_t weight = sampler_.weight(), begin = weight > 0 || gave_ != 0 ? now_ns() : 0;
            if (gave_ != 0) between_.add(static_cast<double>(begin - gave_));
            gave_ = 0;
            const bool got = from_->next(x);
            if (got && weight == 0) return true;
            const std::lock_guard lock(guard_);
            if (!got) {
                ended_ = true;
                way_ = way::ahead;
                return false;
            }
            gave_ = now_ns();
            took(begin, gave_);
            choose_way(true);
            if (way_.load(std::memory_order_relaxed) != way::alone) take_.notify_one();
            return true;
        }

        // By who asks. What a thread spares is the shorter of what is done at the same time; what it costs is to hand an element over, and
        // that one of both is woken. `may_be_alone`: the lock is held, and nobody takes.
        void choose_way(bool may_be_alone) {
            const double takes = element_takes_.load(std::memory_order_relaxed), between = between_.value;
            if (takes == 0 || between_.count < enough_measured || pipeline_.options().trace) return;
            const auto room = static_cast<double>(takes < between ? room_.load(std::memory_order_relaxed) : 2);
            const double costs = handing_over + 2 * waking_up / room;
            const way now = way_.load(std::memory_order_relaxed);
            if (std::min(takes, between) > (now == way::ahead ? costs : 1.5 * costs)) way_ = way::ahead;
            else if (may_be_alone && takes < 10 * waking_up && queue_.size() == 0) way_ = way::alone;
            else way_ = way::watch;
        }
        static constexpr double handing_over = 500, waking_up = 5000; // nanoseconds

        void took(std::int64_t begin, std::int64_t end) {
            takes_.add(static_cast<double>(end - begin));
            if (takes_.count >= enough_measured) element_takes_.store(takes_.value, std::memory_order_relaxed);
            pipeline_.note(meter_, begin, end);
        }
        void enlarge() {
            const std::size_t bytes = room_ * last_bytes_;
            if (!pipeline_.take_memory(bytes)) return;
            taken_memory_ += bytes;
            room_ = 2 * room_;
            was_full_ = false;
            meter_.buffer = static_cast<std::int64_t>(room_.load());
            take_.notify_one();
        }

        // Until there is something to take; false: it is stopped.
        bool rest(std::unique_lock<std::mutex>& lock) {
            auto nap = std::chrono::milliseconds(1);
            std::uint64_t seen = asked_.load(std::memory_order_relaxed) + 1; // a number it did not have
            for (;;) {
                if (stopping_) return false;
                sleeping_ = true; // before it looks at the room, which who asks makes before he looks here
                const bool has_room = queue_.size() < room_;
                sleeping_ = !has_room;
                if (!has_room) was_full_ = true;
                const way now = way_;
                const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
                if (has_room && !paused_ && !taking_ && !ended_ && !failed_ &&
                    (now == way::ahead || (now == way::watch && asked == seen)))
                    return true;
                if (now != way::watch || !has_room || ended_) take_.wait(lock);
                else {
                    seen = asked;
                    take_.wait_for(lock, nap);
                    nap = std::min(2 * nap, std::chrono::milliseconds(16));
                }
            }
        }
        void take() {
            const stop_scope stopped_with(stopped_);
            std::unique_lock lock(guard_);
            while (!ended_ && rest(lock)) {
                taking_ = true;
                const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
                lock.unlock();
                bool ended = false;
                std::exception_ptr failed;
                do {
                    failed = thrown_by([&] { // there is no memory for it
                        kept_element& k = queue_.place();
                        const std::int64_t begin = now_ns();
                        k.failure = thrown_by([&] { ended = !from_->next(k.element); });
                        took(begin, now_ns());
                        if (!ended) queue_.push();
                    });
                } while (!ended && !failed && !awaited_ && !paused_ && !stopping_ && queue_.size() < room_ &&
                         (way_ == way::ahead || asked_.load(std::memory_order_relaxed) == asked));
                lock.lock();
                taking_ = false;
                ended_ = ended;
                failed_ = failed;
                if (awaited_ || paused_) came_.notify_all();
            }
        }

        const std::vector<tensor_type>& types_;
        pipeline& pipeline_;
        step_meter& meter_;
        const bool tuned_, input_may_wait_;
        stop_source stopped_;              // what the thread waits for in reads
        element_queue queue_;              // read to by whose from_ is
        std::atomic<way> way_{way::watch}; // until both are measured: elements of what is soon over are not handed over
        std::atomic<std::uint64_t> asked_{0}; // times

        // Of who asks:
        std::size_t last_bytes_ = 0; // of the element that was given last
        std::int64_t gave_ = 0;      // when; 0: that was not measured
        average between_;            // nanoseconds between two that are asked for
        call_sampler sampler_;

        std::mutex guard_; // of all that follows; what is atomic is read without it too
        std::condition_variable take_, came_;
        std::atomic<std::size_t> room_;
        std::atomic<bool> awaited_{false}, paused_{false}, stopping_{false}, sleeping_{false}, ended_{false};
        std::atomic<bool> taking_{false}; // from_ is somebody's, but where who asks is alone
        bool was_full_ = false;
        std::exception_ptr failed_; // comes behind what is in the queue
        std::size_t taken_memory_ = 0;
        average takes_;                        // nanoseconds of an element; of whose from_ is
        std::atomic<double> element_takes_{0}; // the same for all, once there are enough
        std::unique_ptr<element_stream> from_;
        std::thread thread_;
    };
    const std::int64_t n_;
};

TENON_INLINE data_node::pointer prefetched(data_node::pointer from, std::int64_t n) {
    if (n < 1 && n != autotune)
        throw invalid_argument_error("prefetch: " + std::to_string(n) +
                                     " elements; give how many are taken ahead, or tenon::autotune");
    return std::make_shared<prefetched_node>(std::move(from), n);
}

} // namespace tenon::detail
