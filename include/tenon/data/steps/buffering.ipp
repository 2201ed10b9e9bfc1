#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/buffering.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/io/records/record_source.hpp>
#include <tenon/io/records/record_writer.hpp>

namespace tenon::detail {

class prefetched_node final : public data_node {
public:
    prefetched_node(pointer from, std::int64_t n) :
        data_node(n == autotune ? "prefetch" : step_name("prefetch", n), from->components(), {from}), n_(n) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return true; }
    std::int64_t size() const override { return input().size(); }

private:
    // All of it is under guard_, but the stream that the thread takes from while taking_ is set.
    class stream final : public element_stream {
    public:
        stream(const prefetched_node& n, pipeline& p) :
            types_(n.components()),
            pipeline_(p),
            meter_(p.meter(n)),
            tuned_(n.n_ == autotune),
            room_(tuned_ ? 2 : static_cast<std::size_t>(n.n_)),
            from_(open_step(n.input(), p)) {
            meter_.is_parallel = true;
            meter_.buffer = static_cast<std::int64_t>(room_);
        }
        ~stream() override {
            {
                const std::lock_guard lock(guard_);
                stopping_ = true;
            }
            take_.notify_all();
            if (thread_.joinable()) thread_.join();
            pipeline_.give_memory(taken_memory_);
        }

        bool next(data_element& x) override {
            std::unique_lock lock(guard_);
            if (!thread_.joinable() && !ended_) thread_ = std::thread([this] { take(); });
            meter_.fill_samples.fetch_add(1, std::memory_order_relaxed);
            meter_.capacity_sum.fetch_add(room_, std::memory_order_relaxed);
            meter_.fill_sum.fetch_add(held_.size(), std::memory_order_relaxed);
            // What was full when it was last asked, and is empty now, is too small for how unevenly it is asked.
            if (tuned_ && held_.empty() && was_full_ && !ended_) enlarge();
            given_.wait(lock, [&] { return !held_.empty() || ended_; });
            if (held_.empty()) return false;
            kept_element got = std::move(held_.front());
            held_.pop_front();
            const bool is_low = held_.size() <= room_ / 2; // not woken for each element, nor too late
            lock.unlock();
            if (is_low) take_.notify_one();
            if (got.failure) std::rethrow_exception(got.failure);
            x = std::move(got.element);
            last_bytes_ = bytes_of(x);
            return true;
        }
        bool is_ready() const override {
            const std::lock_guard lock(guard_);
            return !held_.empty() || ended_;
        }
        void save(state_writer& to) override {
            std::unique_lock lock(guard_);
            paused_ = true;
            given_.wait(lock, [&] { return !taking_; });
            to.number(ended_);
            to.number(held_.size());
            for (const kept_element& k : held_) save_kept(to, k);
            from_->save(to);
            paused_ = false;
            lock.unlock();
            take_.notify_one();
        }
        void restore(state_reader& from) override {
            const std::lock_guard lock(guard_); // no thread was started
            ended_ = from.number(0, 1) != 0;
            const std::uint64_t count = from.number();
            for (std::uint64_t i = 0; i < count; ++i) held_.push_back(restored_kept(from, types_));
            from_->restore(from);
        }

    private:
        void enlarge() {
            const std::size_t bytes = room_ * last_bytes_;
            if (!pipeline_.take_memory(bytes)) return;
            taken_memory_ += bytes;
            room_ *= 2;
            was_full_ = false;
            meter_.buffer = static_cast<std::int64_t>(room_);
        }
        void take() {
            std::unique_lock lock(guard_);
            for (;;) {
                if (held_.size() >= room_) was_full_ = true;
                take_.wait(lock, [&] { return stopping_ || (!paused_ && held_.size() < room_); });
                if (stopping_) return;
                taking_ = true;
                lock.unlock();
                kept_element single;
                bool got = false;
                const std::int64_t begin = now_ns();
                try {
                    got = from_->next(single.element);
                } catch (...) {
                    single.failure = std::current_exception();
                    got = true;
                }
                pipeline_.note(meter_, begin, now_ns());
                lock.lock();
                taking_ = false;
                if (got) held_.push_back(std::move(single));
                else ended_ = true;
                given_.notify_all();
                if (ended_) return;
            }
        }

        const std::vector<tensor_type>& types_;
        pipeline& pipeline_;
        step_meter& meter_;
        const bool tuned_;
        std::size_t last_bytes_ = 0; // of the element that was given last: next() alone asks for it

        mutable std::mutex guard_; // of all that follows
        std::condition_variable take_, given_;
        std::size_t room_;
        std::deque<kept_element> held_;
        bool taking_ = false, ended_ = false, paused_ = false, stopping_ = false;
        bool was_full_ = false;
        std::size_t taken_memory_ = 0;
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

class cached_node final : public data_node {
public:
    cached_node(pointer from, std::string path) :
        data_node("cache", from->components(), {from}), path_(std::move(path)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        if (path_.empty()) return std::make_unique<stream>(*this, p);
        return std::make_unique<file_stream>(*this, p);
    }
    bool may_wait() const override { return !path_.empty() || input().may_wait(); }
    std::int64_t size() const override { return input().size(); }

private:
    using elements = std::vector<data_element>;
    // Whoever takes an element may write to it.
    static data_element copied(const data_element& x) {
        data_element same;
        for (const any_array& a : x) same.push_back(a.copy());
        return same;
    }

    class stream final : public element_stream {
    public:
        stream(const cached_node& n, pipeline& p) : node_(n), pipeline_(p), whole_(n.whole()) {
            if (!whole_) from_ = open_step(n.input(), p);
        }
        bool next(data_element& x) override {
            if (whole_) {
                if (at_ == whole_->size()) return false;
                x = copied((*whole_)[at_++]);
                return true;
            }
            if (from_->next(x)) {
                gathered_.push_back(copied(x));
                return true;
            }
            // Whoever comes to the end first has gathered what all will have.
            whole_ = node_.keep(std::move(gathered_));
            at_ = whole_->size();
            from_.reset();
            return false;
        }
        void save(state_writer& to) override {
            const elements& held = whole_ ? *whole_ : gathered_;
            to.number(whole_ != nullptr);
            to.number(held.size());
            for (const data_element& e : held) to.element(e);
            to.number(at_);
            if (!whole_) from_->save(to);
        }
        void restore(state_reader& from) override {
            const bool is_whole = from.number(0, 1) != 0;
            elements held;
            const std::uint64_t count = from.number();
            for (std::uint64_t i = 0; i < count; ++i) held.push_back(from.element(node_.components()));
            const std::uint64_t at = from.number();
            if (is_whole) {
                if (at > held.size()) from.damaged("a cache is smaller than it was");
                whole_ = node_.keep(std::move(held));
                if (at > whole_->size()) from.damaged("what is kept is not what was kept");
                from_.reset();
                at_ = static_cast<std::size_t>(at);
                return;
            }
            whole_.reset();
            gathered_ = std::move(held);
            if (!from_) from_ = open_step(node_.input(), pipeline_);
            from_->restore(from);
        }

    private:
        const cached_node& node_;
        pipeline& pipeline_;
        std::shared_ptr<const elements> whole_;
        std::size_t at_ = 0; // of it
        elements gathered_;  // until then
        std::unique_ptr<element_stream> from_;
    };

    // A TFRecord file of elements as state_writer writes them: whole, or not there.
    class file_stream final : public element_stream {
    public:
        file_stream(const cached_node& n, pipeline& p) : node_(n), pipeline_(p) { begin(); }
        bool next(data_element& x) override {
            if (reads_) {
                std::string_view record;
                if (!reads_->next(record)) return false;
                state_reader from(record, "'" + node_.path_ + "'");
                x = from.element(node_.components());
                from.require_end();
                ++given_;
                return true;
            }
            if (ended_) return false;
            if (from_->next(x)) {
                state_writer to;
                to.element(x);
                writes_->write(std::move(to).take());
                ++given_;
                return true;
            }
            writes_->commit();
            ended_ = true;
            return false;
        }
        // The elements that were given are gone through again: they are in the file, or come of the steps before.
        void save(state_writer& to) override { to.number(given_); }
        void restore(state_reader& from) override {
            const std::uint64_t given = from.number();
            begin();
            data_element x;
            while (given_ < given)
                if (!next(x)) from.damaged("a cache has fewer elements than it had");
        }

    private:
        void begin() {
            given_ = 0;
            ended_ = false;
            reads_.reset();
            writes_.reset();
            if (file_system_of(node_.path_).exists(node_.path_))
                reads_ = open_records("cache", node_.path_,
                                      {.kind = record_kind::tfrecord, .largest_record = std::int64_t{1} << 40});
            else {
                from_ = open_step(node_.input(), pipeline_);
                writes_.emplace(node_.path_, compression::none);
            }
        }
        const cached_node& node_;
        pipeline& pipeline_;
        std::unique_ptr<record_source> reads_;
        std::unique_ptr<element_stream> from_;
        std::optional<tfrecord_writer> writes_;
        std::uint64_t given_ = 0;
        bool ended_ = false;
    };

    std::shared_ptr<const elements> whole() const {
        const std::lock_guard lock(guard_);
        return whole_;
    }
    std::shared_ptr<const elements> keep(elements all) const {
        const std::lock_guard lock(guard_);
        if (!whole_) whole_ = std::make_shared<const elements>(std::move(all));
        return whole_;
    }
    const std::string path_;
    mutable std::mutex guard_; // of whole_
    mutable std::shared_ptr<const elements> whole_;
};

TENON_INLINE data_node::pointer cached(data_node::pointer from, const std::string& path) {
    return std::make_shared<cached_node>(std::move(from), path);
}

} // namespace tenon::detail
