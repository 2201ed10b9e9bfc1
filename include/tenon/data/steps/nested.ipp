#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/element_queue.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/measured.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

class interleaved_node final : public data_node {
public:
    interleaved_node(std::string step, pointer from, std::vector<tensor_type> types, made_data_set f,
                     std::int64_t cycle, std::int64_t block, int parallelism) :
        data_node(std::move(step), std::move(types), {std::move(from)}),
        made_(std::move(f)),
        cycle_(cycle),
        block_(block),
        parallelism_(parallelism) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return true; } // nobody knows what the function will give

private:
    // What an element stands for, opened. `ahead`: as earlier versions did where they had threads.
    std::unique_ptr<element_stream> open_what(const data_element& made_of, std::uint64_t number, pipeline& p,
                                              std::uint64_t epoch, bool ahead = false) const {
        try {
            data_node::pointer made = made_(made_of);
            if (!made || made->components() != components())
                throw invalid_argument_error("the function gives a data set of " +
                                             (made ? to_string(made->components()) : std::string("nothing")) +
                                             ", not of " + to_string(components()));
            if (ahead) made = prefetched(std::move(made), 2 * block_);
            return made->open(p.options(), nullptr, number_in_epoch(epoch, number, 24));
        } catch (...) {
            throw_at(place_of_element(step(), number));
        }
    }
    // Threads that may read at the same time, who asks among them where he is quick; 0: he reads it all.
    std::size_t workers(const pipeline& p) const {
        const int most = parallelism_ == autotune ? p.threads() : parallelism_;
        return most == 1 ? 0 : static_cast<std::size_t>(std::clamp<std::int64_t>(cycle_, 2, most));
    }

    // Who asks reads where nothing was read ahead, and nobody is about to: he would only wait. Threads read what comes to its turn behind
    // that, where there is enough of it.
    class stream final : public element_stream {
    public:
        stream(const interleaved_node& n, pipeline& p) :
            node_(n),
            pipeline_(p),
            workers_(n.workers(p)),
            epoch_(p.next_epoch(n)),
            from_(open_step(n.input(), p)),
            lanes_(static_cast<std::size_t>(n.cycle_)),
            room_(2 * static_cast<std::size_t>(n.block_)),
            room_of_all_(workers_ * room_) {
            p.meter(n).parallelism = static_cast<int>(std::max<std::size_t>(workers_, 1));
        }
        ~stream() override {
            {
                const std::lock_guard lock(guard_);
                stopping_ = true;
            }
            work_.notify_all();
            stopped_.stop();
            for (std::thread& t : threads_) t.join();
        }

        bool next(data_element& x) override {
            const bool measured = workers_ > 0 && begin_call();
            for (;;) {
                lane& now = lanes_[at_];
                kept_element* const first = now.ahead ? now.ahead->front() : nullptr;
                if (first) {
                    const std::exception_ptr failure = now.ahead->take(*first, x);
                    given_.store(given_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                    if (now.ahead->size() <= room_.load(std::memory_order_relaxed) / 2) offer_work();
                    if (failure) std::rethrow_exception(failure);
                } else if (!now.stream) {
                    if (ended_ && open_ == 0) return false;
                    if (ended_) turn();
                    else take_next(now);
                    continue;
                } else if (!claim(now)) {
                    wait_for(now);
                    continue;
                } else if (now.ahead && now.ahead->size() > 0) { // it was being read when it was looked at
                    release(now);
                    continue;
                } else if (now.ended || !read_here(now, x, measured)) {
                    close(now);
                    continue;
                }
                if (++in_block_ == node_.block_) turn();
                if (measured) gave_ = now_ns();
                return true;
            }
        }
        void save(state_writer& to) override {
            std::unique_lock lock(guard_);
            paused_ = true;
            came_.wait(lock, [&] { return reading_ == 0; });
            to.number(epoch_);
            to.number(number_);
            to.number(at_);
            to.number(static_cast<std::uint64_t>(in_block_));
            to.number(ended_);
            for (lane& l : lanes_) {
                to.number(l.stream != nullptr);
                if (!l.stream) continue;
                to.element(l.made_of);
                to.number(l.number);
                to.number(l.ended);
                to.number(l.ahead ? l.ahead->size() : 0);
                if (l.ahead) l.ahead->for_each([&](const kept_element& k) { save_kept(to, k); });
                l.stream->save(to);
            }
            from_->save(to);
            paused_ = false;
            lock.unlock();
            work_.notify_all();
        }
        void restore(state_reader& from) override {
            const int version = from.version();
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            number_ = from.number();
            at_ = static_cast<std::size_t>(from.number(0, lanes_.size() - 1));
            in_block_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(node_.block_ - 1)));
            ended_ = from.number(0, 1) != 0;
            open_ = 0;
            for (lane& l : lanes_) {
                l.stream.reset();
                if (from.number(0, 1) == 0) continue;
                l.made_of = from.element(node_.input().components());
                l.number = from.number();
                l.ended = l.has_begun = false;
                const bool was_ahead = version < 3 && node_.parallelism_ != 1 &&
                                       (node_.parallelism_ == autotune ||
                                        &l - lanes_.data() < static_cast<std::ptrdiff_t>(node_.parallelism_));
                if (!l.ahead) l.ahead = std::make_unique<element_queue>();
                if (version >= 3) {
                    l.ended = from.number(0, 1) != 0;
                    const std::uint64_t count = from.number();
                    for (std::uint64_t i = 0; i < count; ++i) {
                        l.ahead->place() = restored_kept(from, node_.components());
                        l.ahead->push();
                    }
                    made_ += count;
                }
                const stop_scope stopped_with(stopped_);
                l.stream = node_.open_what(l.made_of, l.number, pipeline_, epoch_, was_ahead);
                l.stream->restore(from);
                ++open_;
            }
            from_->restore(from);
        }

    private:
        enum class reader { nobody, who_asks, worker };
        struct alignas(64) lane {
            data_element made_of;
            std::uint64_t number = 0;               // of the element
            std::unique_ptr<element_stream> stream; // set under the lock
            std::unique_ptr<element_queue> ahead;
            std::atomic<reader> read_by{reader::nobody};
            std::atomic<bool> ended{false}; // of whose it is
            bool has_begun = false;         // of who asks: he has read of it
        };

        void turn() {
            at_.store((at_ + 1) % lanes_.size(), std::memory_order_relaxed);
            in_block_ = 0;
        }
        // ---- of who asks
        bool claim(lane& l) {
            if (threads_.empty()) return true; // there is nobody else
            auto free = reader::nobody;
            return l.read_by.compare_exchange_strong(free, reader::who_asks, std::memory_order_acquire);
        }
        void release(lane& l) { l.read_by.store(reader::nobody, std::memory_order_release); }
        bool read_here(lane& l, data_element& x, bool measured) {
            const std::int64_t begin = measured ? now_ns() : 0;
            bool got = false;
            try {
                got = l.stream->next(x);
            } catch (...) {
                release(l);
                throw;
            }
            if (!got) return false;
            release(l);
            // What comes first, with which a file is opened, is always read here.
            if (measured && l.has_begun) {
                const std::int64_t takes = now_ns() - begin;
                takes_.add(static_cast<double>(takes));
                read_here_ += takes * weight_;
                adapt_room(held_bytes(x));
                const bool is_worth_it = is_worth_it_.load(std::memory_order_relaxed);
                is_worth_it_.store(takes_.value > (is_worth_it ? 0.7 : 1.0) * worth_handing_over,
                                   std::memory_order_relaxed);
            }
            l.has_begun = true;
            offer_work();
            return true;
        }
        void take_next(lane& l) {
            data_element made_of;
            if (!from_->next(made_of)) {
                ended_ = true;
                return;
            }
            const std::uint64_t number = number_++;
            const stop_scope stopped_with(stopped_);
            std::unique_ptr<element_stream> made = node_.open_what(made_of, number, pipeline_, epoch_);
            if (workers_ > 0 && !l.ahead) l.ahead = std::make_unique<element_queue>();
            {
                const std::lock_guard lock(guard_);
                l.made_of = std::move(made_of);
                l.number = number;
                l.ended = l.has_begun = false;
                l.stream = std::move(made);
            }
            ++open_;
            offer_work();
        }
        void close(lane& l) {
            std::unique_ptr<element_stream> done; // ends when the lock is free
            {
                const std::lock_guard lock(guard_);
                done = std::move(l.stream);
            }
            l.made_of.clear();
            release(l);
            --open_;
            turn();
        }
        void wait_for(lane& l) {
            const auto is_there = [&] { return l.ahead->size() > 0 || l.read_by == reader::nobody; };
            // It is about to come: to sleep and be woken takes longer than most elements.
            const auto enough =
                static_cast<std::int64_t>(std::clamp<double>(2 * takes_.value, waking_up, 12 * waking_up));
            for (const std::int64_t begin = now_ns(); now_ns() - begin < enough;)
                if (is_there()) return;
            std::unique_lock lock(guard_);
            awaited_ = &l;
            came_.wait(lock, is_there);
            awaited_ = nullptr;
        }
        // Whether this call is measured.
        bool begin_call() {
            weight_ = sampler_.weight();
            if (gave_ != 0) {
                between_.add(static_cast<double>(now_ns() - gave_));
                const bool is_away = between_.count >= enough_measured && between_.value > waking_up;
                if (is_away && !is_away_.load(std::memory_order_relaxed)) offers_wanted_ = 1; // there is more to do now
                is_away_.store(is_away, std::memory_order_relaxed);
                gave_ = 0;
            }
            return weight_ > 0;
        }
        // Something could be read ahead: no small elements, which are read in less time than they are handed over in. A thread is begun
        // once there was enough that it would have read, and woken where that pays.
        void offer_work() {
            if (workers_ == 0 || !is_worth_it_.load(std::memory_order_relaxed)) return;
            const bool is_away = is_away_.load(std::memory_order_relaxed);
            const auto threads = static_cast<std::int64_t>(threads_.size());
            if (threads_.size() < workers_ - (is_away ? 0 : 1) && read_here_ >= worth_a_thread * (threads + 1)) {
                try {
                    threads_.emplace_back([this] { work(); });
                } catch (...) { // there is none to be had: it goes on without, and asks again later
                    read_here_ = 0;
                }
            }
            if (sleeping_.load(std::memory_order_relaxed) == 0 ||
                ++offers_ < offers_wanted_.load(std::memory_order_relaxed))
                return;
            offers_ = 0;
            { const std::lock_guard lock(guard_); }
            work_.notify_one();
        }
        static constexpr std::int64_t worth_handing_over = 1'000, waking_up = 5'000,
                                      worth_a_thread = 50'000; // nanoseconds

        // ---- of all
        static std::size_t held_bytes(const data_element& x) { return memory_of(x, of_lane) + sizeof(kept_element); }
        void adapt_room(std::size_t bytes) {
            const auto least = 2 * static_cast<std::size_t>(node_.block_);
            room_.store(std::max(least, std::min(most_elements, of_lane / bytes)), std::memory_order_relaxed);
            room_of_all_.store(std::max(workers_ * least, std::min(most_elements * lanes_.size(), of_all / bytes)),
                               std::memory_order_relaxed);
        }
        // What may be held ahead, where it is not two blocks: elements and bytes of a lane, bytes of all of them.
        static constexpr std::size_t most_elements = 512, of_lane = std::size_t{256} << 10,
                                     of_all = std::size_t{4} << 20;

        // ---- of workers, under the lock
        lane* wanted() {
            if (!is_worth_it_.load(std::memory_order_relaxed) ||
                made_ - given_.load(std::memory_order_relaxed) >= room_of_all_.load(std::memory_order_relaxed))
                return nullptr;
            const bool is_away = is_away_.load(std::memory_order_relaxed);
            if (reading_ + (is_away ? 0 : 1) >= workers_ && reading_ > 0) return nullptr; // who asks reads too
            const std::size_t at = at_.load(std::memory_order_relaxed), room = room_.load(std::memory_order_relaxed);
            // The one whose turn it is comes last, and is left to who asks where he is quick.
            for (std::size_t k = 1, n = lanes_.size(); k <= n; ++k) {
                if (k == looked_ahead) k = n;
                lane& l = lanes_[(at + k) % n];
                if (!l.stream || l.ended || l.ahead->size() > room / 2 || (k == n && !is_away)) continue;
                auto free = reader::nobody;
                if (l.read_by.compare_exchange_strong(free, reader::worker, std::memory_order_acquire)) return &l;
            }
            return nullptr;
        }
        static constexpr std::size_t looked_ahead = 64; // lanes
        void work() {
            const stop_scope stopped_with(stopped_);
            average takes; // nanoseconds that it read until there was no more
            std::int64_t took = 0;
            std::unique_lock lock(guard_);
            while (!stopping_) {
                lane* const l = paused_ ? nullptr : wanted();
                if (!l) {
                    takes.add(static_cast<double>(std::exchange(took, 0)));
                    // Where that is less than waking it takes, it is woken for more at once, or hardly ever.
                    const double costs = std::clamp(3.0 * waking_up / std::max(takes.value, 1.0), 1.0, 64.0);
                    offers_wanted_.store(static_cast<std::int64_t>(costs * costs), std::memory_order_relaxed);
                    sleeping_.fetch_add(1, std::memory_order_relaxed);
                    work_.wait(lock);
                    sleeping_.fetch_sub(1, std::memory_order_relaxed);
                    continue;
                }
                ++reading_;
                lock.unlock();
                const std::int64_t begin = now_ns();
                const bool goes_on = read_ahead(*l);
                took += now_ns() - begin;
                l->read_by = reader::nobody;
                lock.lock();
                --reading_;
                if (awaited_ == l || paused_) came_.notify_all();
                if (!goes_on) return;
            }
        }
        // As much as there is room for, or until who asks waits for it. False: there is no memory for it, and it is left to who asks.
        bool read_ahead(lane& l) {
            std::size_t bytes = 0;
            while (l.ahead->size() < room_.load(std::memory_order_relaxed) && awaited_ != &l && !paused_ &&
                   !stopping_) {
                kept_element* k = nullptr;
                try {
                    k = &l.ahead->place();
                } catch (const std::bad_alloc&) {
                    return false;
                }
                try {
                    if (!l.stream->next(k->element)) {
                        l.ended = true;
                        return true;
                    }
                } catch (...) {
                    k->failure = std::current_exception();
                }
                if (const std::size_t now = held_bytes(k->element); now != bytes) adapt_room(bytes = now);
                l.ahead->push();
                made_.fetch_add(1, std::memory_order_relaxed);
            }
            return true;
        }

        const interleaved_node& node_;
        pipeline& pipeline_;
        const std::size_t workers_; // threads that there may be; 0: who asks reads it all
        stop_source stopped_;       // what they wait for in reads

        // Of who asks:
        std::uint64_t epoch_;
        std::unique_ptr<element_stream> from_;
        std::uint64_t number_ = 0; // of the next element that a data set is made of
        std::int64_t in_block_ = 0;
        bool ended_ = false;   // from_
        std::size_t open_ = 0; // lanes
        call_sampler sampler_;
        std::int64_t weight_ = 0;
        std::int64_t gave_ = 0, read_here_ = 0; // when; nanoseconds that he read, and somebody else could have
        std::int64_t offers_ = 0;               // since a worker was woken
        average between_, takes_;               // nanoseconds between two that are asked for, and to read one
        std::vector<lane> lanes_;

        // Apart by who writes them.
        alignas(64) std::atomic<std::size_t> at_{0}; // whose turn it is
        std::atomic<std::size_t> given_{0};          // elements that were read ahead
        alignas(64) std::atomic<std::size_t> made_{0};
        alignas(64) std::atomic<std::size_t> room_, room_of_all_; // elements that may be held ahead of a lane, of all
        std::atomic<bool> is_away_{false};                        // who asks does something else most of the time
        std::atomic<bool> is_worth_it_{false};                    // an element takes longer than to hand it over
        std::atomic<std::int64_t> offers_wanted_{1};
        std::atomic<std::size_t> sleeping_{0}; // workers
        std::atomic<const lane*> awaited_{nullptr};
        std::atomic<bool> paused_{false}, stopping_{false};

        std::mutex guard_;
        std::condition_variable work_, came_;
        std::size_t reading_ = 0; // workers, under guard_
        std::vector<std::thread> threads_;
    };
    const made_data_set made_;
    const std::int64_t cycle_, block_;
    const int parallelism_;
};

TENON_INLINE data_node::pointer interleaved(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                                            made_data_set f, std::int64_t cycle, std::int64_t block, int parallelism) {
    if (cycle < 1 || block < 1 || cycle > (std::int64_t{1} << 20))
        throw invalid_argument_error(std::string(step) + ": " + std::to_string(cycle) + " data sets at a time, " +
                                     std::to_string(block) + " elements of each in turn; give 1 or more for both");
    if (parallelism < 1 && parallelism != autotune)
        throw invalid_argument_error(std::string(step) + ": a parallelism of " + std::to_string(parallelism) +
                                     "; give 1 or more, or tenon::autotune");
    return std::make_shared<interleaved_node>(step, std::move(from), std::move(types), std::move(f), cycle, block,
                                              parallelism);
}

} // namespace tenon::detail
