#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/measured.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/steps.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/random/random_run.hpp>
#include <tenon/runtime/session/session.hpp>

namespace tenon::detail {

// Runs on the thread that asks for it, one step at a time on each, so that what is drawn belongs to the element.
class graph_function_state final : public element_function {
public:
    graph_function_state(const graph& g, const std::vector<any_tensor>& inputs, const std::vector<any_tensor>& outputs,
                         bool keep) :
        session_(g, {.intra_op_threads = 1, .inter_op_threads = 1, .use_per_session_threads = true}),
        step_(session_.callable_untyped(inputs, outputs)),
        keep_(keep) {
        for (std::int64_t n = 0; n < g.size(); ++n) may_loop_ = may_loop_ || g.at(n)->op->bodies;
    }

    bool apply(data_element& x, std::uint64_t run) const override {
        const random_run_scope drawn(run);
        std::vector<any_array> made = step_(x);
        if (keep_) return *made[0].data<bool>();
        // What is somebody else's too, as what the function passes on, stays theirs: nobody writes to it.
        x = std::move(made);
        return true;
    }

    bool may_wait() const override { return may_loop_; } // for long, or for ever
    bool may_leave_out() const override { return keep_; }
    bool draws() const override { return true; } // there may be random ops in it

private:
    mutable session session_;
    untyped_callable step_;
    const bool keep_;
    bool may_loop_ = false;
};

TENON_INLINE bool apply_to(const element_function& f, const std::string& step, data_element& x, std::uint64_t epoch,
                           std::uint64_t number) {
    try {
        return f.apply(x, number_in_epoch(epoch, number, 40));
    } catch (...) {
        throw_at(place_of_element(step, number));
    }
}

class transformed_node final : public data_node {
public:
    transformed_node(const char* step, pointer from, std::vector<tensor_type> types,
                     std::shared_ptr<const element_function> f, const transform_options& o) :
        data_node(step, std::move(types), {std::move(from)}), function(std::move(f)), options(o) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override;
    bool may_wait() const override { return function->may_wait() || options.parallelism != 1 || input().may_wait(); }
    std::int64_t size() const override { return function->may_leave_out() ? size_unknown : input().size(); }
    std::string no_access() const override {
        if (function->may_leave_out()) return step() + " does not know which elements it leaves out";
        return input().no_access();
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        input().at(i, epoch, x);
        (void)apply_to(*function, step(), x, epoch, static_cast<std::uint64_t>(i));
    }
    bool changes() const override { return function->draws(); }

    const std::shared_ptr<const element_function> function;
    const transform_options options;
};

// What applying the function of a step needs to know, and to keep.
class numbered_elements {
public:
    numbered_elements(const transformed_node& n, pipeline& p) : node_(n), pipeline_(p), epoch_(p.next_epoch(n)) {}

    std::uint64_t take_number() noexcept { return number_++; }
    bool apply(data_element& x, std::uint64_t number) const {
        return apply_to(*node_.function, node_.step(), x, epoch_, number);
    }
    void save(state_writer& to) const {
        to.number(epoch_);
        to.number(number_);
    }
    void restore(state_reader& from) {
        epoch_ = from.number();
        number_ = from.number();
        pipeline_.set_epoch(node_, epoch_ + 1);
    }

private:
    const transformed_node& node_;
    pipeline& pipeline_;
    std::uint64_t epoch_, number_ = 0;
};

class serial_transform final : public element_stream {
public:
    serial_transform(const transformed_node& n, pipeline& p) :
        types_(n.components()), from_(open_step(n.input(), p)), numbers_(n, p) {}
    bool next(data_element& x) override {
        if (!held_.empty()) {
            kept_element first = std::move(held_.front());
            held_.pop_front();
            if (first.failure) std::rethrow_exception(first.failure);
            x = std::move(first.element);
            return true;
        }
        while (from_->next(x))
            if (numbers_.apply(x, numbers_.take_number())) return true;
        return false;
    }
    // As parallel_transform does: it may go on with more threads than it had, or fewer.
    void save(state_writer& to) override {
        numbers_.save(to);
        to.number(0);
        to.number(held_.size());
        for (const kept_element& k : held_) save_kept(to, k);
        from_->save(to);
    }
    void restore(state_reader& from) override {
        numbers_.restore(from);
        (void)from.number(0, 1);
        const std::uint64_t count = from.number();
        for (std::uint64_t i = 0; i < count; ++i) held_.push_back(restored_kept(from, types_));
        from_->restore(from);
    }

private:
    const std::vector<tensor_type>& types_;
    std::list<kept_element> held_; // of a state: what was computed ahead
    std::unique_ptr<element_stream> from_;
    numbered_elements numbers_;
};

// Threads of its own take elements from the step before, one at a time, and compute side by side; who asks does so too where he would
// only wait. All of it is under guard_, but what is being taken or computed, which is its thread's. Where the function takes less than to
// hand an element over, or is found to be faster so, the threads rest, and who asks does it all without the lock.
class parallel_transform final : public element_stream {
public:
    parallel_transform(const transformed_node& n, pipeline& p) :
        node_(n),
        pipeline_(p),
        meter_(p.meter(n)),
        tuned_(n.options.parallelism == autotune),
        helps_ahead_(!n.input().may_wait() && !n.function->may_wait()),
        wanted_(tuned_ ? 1 : n.options.parallelism),
        from_(open_step(n.input(), p, stopped_)),
        numbers_(n, p) {
        meter_.is_parallel = true;
        tell();
    }
    ~parallel_transform() override {
        {
            const std::lock_guard lock(guard_);
            stopping_ = true;
        }
        work_.notify_all();
        stopped_.stop();
        for (std::thread& t : threads_) t.join();
        pipeline_.give_memory(taken_memory_);
    }

    bool next(data_element& x) override {
        if (alone_.load(std::memory_order_relaxed)) return next_alone(x);
        std::unique_lock lock(guard_);
        const std::int64_t asked = now_ns();
        meter_.fill_samples.fetch_add(1, std::memory_order_relaxed);
        meter_.capacity_sum.fetch_add(room(), std::memory_order_relaxed);
        meter_.fill_sum.fetch_add(ready_, std::memory_order_relaxed);
        if (gave_ != 0) between_.add(static_cast<double>(asked - gave_));
        for (;;) {
            if (is_small_ && slots_.empty() && busy_ == 0 && !ended_) {
                alone_ = true;
                meter_.parallelism.store(1, std::memory_order_relaxed);
                lock.unlock();
                return next_alone(x);
            }
            start_threads();
            const auto at = first_ready();
            if (at != slots_.end()) {
                slot got = std::move(*at);
                slots_.erase(at);
                --ready_;
                ++given_;
                gave_ = now_ns();
                if (faster_.gave()) {
                    faster_.look(gave_);
                    choose_way();
                }
                if (tuned_) tune(got.element);
                adapt_room(got.element);
                const bool is_low =
                    slots_.size() <= room() / 2 && wants_worker(); // not woken for each element, nor too late
                lock.unlock();
                if (is_low) work_.notify_all();
                if (got.failure) std::rethrow_exception(got.failure);
                x = std::move(got.element);
                return true;
            }
            if (ended_ && slots_.empty()) return false;
            if (may_help()) {
                helping_ = true;
                work_on_one(lock);
                helping_ = false;
            } else if (!has_news(lock)) done_.wait(lock);
        }
    }
    bool is_ready() const override { return alone_ && helps_ahead_; }

    void save(state_writer& to) override {
        std::unique_lock lock(guard_);
        pause(lock);
        numbers_.save(to);
        to.number(ended_);
        to.number(slots_.size());
        for (const slot& s : slots_) save_kept(to, s);
        from_->save(to);
        paused_ = false;
        lock.unlock();
        work_.notify_all();
    }
    void restore(state_reader& from) override {
        const std::unique_lock lock(guard_); // no thread was started
        numbers_.restore(from);
        ended_ = from.number(0, 1) != 0;
        const std::uint64_t count = from.number();
        for (std::uint64_t i = 0; i < count; ++i) {
            slots_.push_back({restored_kept(from, node_.components()), true});
            ++ready_;
        }
        const stop_scope stopped_with(stopped_);
        from_->restore(from);
    }

private:
    struct slot : kept_element {
        bool is_ready = false;
    };

    // Elements that may be worked on or wait to be taken.
    std::uint64_t room() const { return room_of_a_thread_ * static_cast<std::uint64_t>(wanted_); }
    // Of small ones that take less than to wake a thread there may be more, so that it is not woken for each.
    void adapt_room(const data_element& x) {
        const std::uint64_t best = bytes_of(x) <= 4096 && works_.count > 0 && works_.value < 20e3 ? 16 : 2;
        if (best == room_of_a_thread_) return;
        room_of_a_thread_ = best;
        tell();
    }
    std::list<slot>::iterator first_ready() {
        if (node_.options.ordered) return !slots_.empty() && slots_.front().is_ready ? slots_.begin() : slots_.end();
        return std::find_if(slots_.begin(), slots_.end(), [](const slot& s) { return s.is_ready; });
    }
    void tell() {
        meter_.parallelism.store(wanted_, std::memory_order_relaxed);
        meter_.buffer.store(static_cast<std::int64_t>(room()), std::memory_order_relaxed);
    }
    void start_threads() {
        while (static_cast<int>(threads_.size()) < wanted_ && !ended_)
            threads_.emplace_back([this, index = static_cast<int>(threads_.size())] { work(index); });
    }
    // As many threads as keep up with who takes the elements, where there are so many, and memory for theirs.
    void tune(const data_element& x) {
        if (given_ % 8 != 0 || works_.count == 0 || between_.count == 0) return;
        const double needed = works_.value / std::max(between_.value, 1.0);
        const int most = pipeline_.threads();
        const int best = needed >= most ? most : std::max(1, static_cast<int>(needed + 0.999));
        if (best > wanted_) {
            const std::size_t bytes = 2 * bytes_of(x);
            if (!pipeline_.take_memory(bytes)) return;
            taken_memory_ += bytes;
            ++wanted_;
        } else if (best < wanted_ - 1) --wanted_;
        else return;
        tell();
    }
    void pause(std::unique_lock<std::mutex>& lock) {
        paused_ = true;
        done_.wait(lock, [&] { return busy_ == 0; });
    }

    bool can_take(int busy) const { return !paused_ && !taking_ && busy < wanted_ && slots_.size() < room(); }
    // Who asks works too, as one of those that are wanted, where nothing comes before what he would take, or nothing that he does makes
    // him wait while that is done: no source that falls silent, no function that is somebody else's.
    bool may_help() const {
        return can_take(busy_) && !ended_ && !is_small_ && (helps_ahead_ || (slots_.empty() && node_.options.ordered));
    }
    // Whether a thread is to take one: not in place of him where he is about to.
    bool wants_worker() const {
        const bool comes = helps_ahead_ && !helping_ && between_.count >= enough_measured && between_.value < waking_up;
        return !is_small_ && can_take(busy_ + (comes ? 1 : 0));
    }
    static constexpr double handing_over = 1000,
                            waking_up = 7000; // nanoseconds; who asks is woken where he does not help

    // Whether something has changed that may be what is waited for: looked for a while, where that is less than to sleep and be woken.
    bool has_news(std::unique_lock<std::mutex>& lock) {
        if (works_.value > 10 * spin) return false;
        const std::uint64_t seen = news_.load(std::memory_order_relaxed);
        lock.unlock();
        for (const std::int64_t begin = now_ns(); now_ns() - begin < spin;)
            if (news_.load(std::memory_order_relaxed) != seen) break;
        lock.lock();
        return news_.load(std::memory_order_relaxed) != seen;
    }
    static constexpr std::int64_t spin = 8'000; // nanoseconds

    void work(int index) {
        const stop_scope stopped_with(stopped_);
        std::unique_lock lock(guard_);
        for (;;) {
            work_.wait(lock, [&] { return stopping_ || ended_ || (index < wanted_ && wants_worker()); });
            if (stopping_ || ended_) return;
            work_on_one(lock);
        }
    }
    // Takes an element and computes, with the lock free meanwhile.
    void work_on_one(std::unique_lock<std::mutex>& lock) {
        slot* const mine = &slots_.emplace_back();
        taking_ = true;
        ++busy_;
        lock.unlock();
        bool got = false, stays = true;
        mine->failure = thrown_by([&] { got = from_->next(mine->element); });
        lock.lock();
        taking_ = false;
        news_.fetch_add(1, std::memory_order_relaxed);
        if (!got && !mine->failure) {
            ended_ = true;
            slots_.pop_back(); // whoever takes an element has the last place
            --busy_;
            work_.notify_all();
            done_.notify_all();
            return;
        }
        // What failed before it came here is no element, as where one thread does it all.
        const std::uint64_t number = mine->failure ? 0 : numbers_.take_number();
        const bool more = wants_worker();
        lock.unlock();
        if (more) work_.notify_all(); // of those that wait some may not be wanted
        const std::int64_t begin = now_ns();
        if (!mine->failure) mine->failure = thrown_by([&] { stays = numbers_.apply(mine->element, number); });
        const std::int64_t end = now_ns();
        lock.lock();
        news_.fetch_add(1, std::memory_order_relaxed);
        worked(begin, end);
        const bool is_awaited = !node_.options.ordered || mine == &slots_.front() || paused_;
        if (stays) {
            mine->is_ready = true;
            ++ready_;
        } else {
            slots_.remove_if([mine](const slot& s) { return &s == mine; });
            if (slots_.size() <= room() / 2) work_.notify_all();
        }
        --busy_;
        if (is_awaited) done_.notify_all();
    }
    void worked(std::int64_t begin, std::int64_t end) {
        meter_.work.fetch_add(end - begin, std::memory_order_relaxed);
        meter_.worked.fetch_add(1, std::memory_order_relaxed);
        pipeline_.note(meter_, begin, end);
        works_.add(static_cast<double>(end - begin));
        choose_way();
    }
    // What threads win, and what waking them costs, is measured where the one is not much more than the other.
    void choose_way() {
        if (works_.count < enough_measured || pipeline_.options().trace) return;
        const bool is_open = works_.value < 10 * waking_up && between_.value < 10 * waking_up;
        const double least = helps_ahead_ ? handing_over : handing_over + waking_up;
        is_small_ = works_.value < (is_small_ ? 1.5 : 1) * least || (is_open && faster_.second());
    }
    // By who asks, to whom all of it belongs while no thread takes elements.
    bool next_alone(data_element& x) {
        while (from_->next(x)) {
            const bool measured = sampler_.weight() > 0;
            const std::int64_t begin = measured ? now_ns() : 0;
            const bool stays = numbers_.apply(x, numbers_.take_number());
            if (measured) measure_alone(begin, now_ns());
            if (stays && faster_.gave()) look_alone();
            if (stays) return true;
            if (!alone_) return next(x);
        }
        return false;
    }
    void measure_alone(std::int64_t begin, std::int64_t end) {
        std::unique_lock lock(guard_);
        worked(begin, end);
        go_on_alone(lock);
    }
    void look_alone() {
        faster_.look(now_ns());
        std::unique_lock lock(guard_);
        choose_way();
        go_on_alone(lock);
    }
    // Or not.
    void go_on_alone(std::unique_lock<std::mutex>& lock) {
        if (is_small_ || !alone_) return;
        alone_ = false;
        gave_ = 0;
        tell();
        lock.unlock();
        work_.notify_all();
    }

    const transformed_node& node_;
    pipeline& pipeline_;
    step_meter& meter_;
    const bool tuned_, helps_ahead_;
    call_sampler sampler_;               // of who asks, where he is alone
    faster_way faster_;                  // of who asks: by threads, or alone
    std::atomic<bool> alone_{false};     // set by who asks
    std::atomic<std::uint64_t> news_{0}; // set under the lock: elements that were taken or computed

    stop_source stopped_; // what threads wait for in reads

    std::mutex guard_; // of all that follows
    std::condition_variable work_, done_;
    int wanted_; // threads
    std::uint64_t room_of_a_thread_ = 2;
    std::list<slot> slots_;   // in the order in which their elements were taken
    std::uint64_t ready_ = 0; // of them
    int busy_ = 0;            // threads that take or compute an element, who asks among them
    bool is_small_ = false;   // the function takes less than to hand an element over
    bool helping_ = false;    // who asks is one of them
    bool taking_ = false;     // one of them has from_
    bool ended_ = false, paused_ = false, stopping_ = false;
    std::unique_ptr<element_stream> from_;
    numbered_elements numbers_;
    std::uint64_t given_ = 0;
    std::int64_t gave_ = 0;   // when
    average works_, between_; // nanoseconds: of the function, and of who takes the elements, between two
    std::size_t taken_memory_ = 0;
    std::vector<std::thread> threads_;
};

inline std::unique_ptr<element_stream> transformed_node::make(pipeline& p) const {
    if (options.parallelism == 1) return std::make_unique<serial_transform>(*this, p);
    return std::make_unique<parallel_transform>(*this, p);
}

TENON_INLINE std::shared_ptr<const element_function> graph_function(const graph& g, std::vector<any_tensor> inputs,
                                                                    std::vector<any_tensor> outputs, bool keep) {
    return std::make_shared<graph_function_state>(g, inputs, outputs, keep);
}

TENON_INLINE data_node::pointer transformed(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                                            std::shared_ptr<const element_function> f, const transform_options& o) {
    if (o.parallelism < 1 && o.parallelism != autotune)
        throw invalid_argument_error(std::string(step) + ": a parallelism of " + std::to_string(o.parallelism) +
                                     "; give how many elements are computed at the same time, or tenon::autotune");
    return std::make_shared<transformed_node>(step, std::move(from), std::move(types), std::move(f), o);
}

} // namespace tenon::detail
