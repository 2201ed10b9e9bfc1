#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/data/steps/kept_failure.hpp>

/// Elements on their way from one thread to another.

namespace tenon::detail {

/// Bytes that an element holds, its texts too; once they are more than `enough`, some number above it.
inline std::size_t memory_of(const data_element& x, std::size_t enough) {
    std::size_t bytes = bytes_of(x);
    for (const any_array& a : x) {
        if (a.element() != element_type::string) continue;
        const auto* const texts = static_cast<const std::string*>(a.data());
        for (std::int64_t i = 0; i < a.elements() && bytes <= enough; ++i) bytes += texts[i].capacity();
    }
    return bytes;
}

/// Elements from who reads them to who asks for them, in order. Each is seen as soon as it is there, and neither takes a lock. At any
/// time one thread does what is said to be of who reads, and one, which may be the same, what is of who asks. The memory of
/// small elements that were taken is used again.
class element_queue {
public:
    element_queue() : first_(new block), last_(first_) {}
    element_queue(element_queue&&) = delete;
    ~element_queue() {
        for (block* of : {first_, free_, spare_.load(std::memory_order_relaxed)})
            while (of) delete std::exchange(of, of->next);
    }

    /// Of who reads: where the next one is written; the same until push().
    kept_element& place() {
        if (in_last_ == block_size) {
            if (!free_) free_ = spare_.exchange(nullptr, std::memory_order_acquire);
            block* const next = free_ ? free_ : new block;
            if (free_) free_ = std::exchange(next->next, nullptr);
            last_->next = next;
            last_ = next;
            in_last_ = 0;
        }
        return last_->elements[in_last_];
    }
    /// Of who reads: it is there. This, take() and size() are in one order with whatever else is sequentially consistent: what each
    /// side says when it goes to sleep.
    void push() noexcept {
        ++in_last_;
        made_.store(made_.load(std::memory_order_relaxed) + 1);
    }

    /// Of who asks: the first one; nullptr: there is none.
    kept_element* front() noexcept {
        const std::size_t given = given_.load(std::memory_order_relaxed);
        if (given == seen_) {
            seen_ = made_.load();
            if (given == seen_) return nullptr;
        }
        if (in_first_ == block_size) {
            block* const done = std::exchange(first_, first_->next);
            in_first_ = 0;
            done->next = spare_.load(std::memory_order_relaxed);
            while (
                !spare_.compare_exchange_weak(done->next, done, std::memory_order_release, std::memory_order_relaxed)) {
            }
        }
        return &first_->elements[in_first_];
    }
    /// Of who asks: takes the first one, which front() gave, into `x`; gives what was thrown in its place.
    std::exception_ptr take(kept_element& first, data_element& x) {
        std::exception_ptr failure = std::exchange(first.failure, nullptr);
        if (memory_of(first.element, small) <= small) copy(first.element, x);
        else x = std::move(first.element);
        ++in_first_;
        given_.store(given_.load(std::memory_order_relaxed) + 1);
        return failure;
    }
    /// Of who asks, while nobody reads: all that are there, the first one first.
    template <class F> void for_each(F f) const {
        const block* from = first_;
        std::size_t at = in_first_;
        for (std::size_t left = size(); left > 0; --left) {
            if (at == block_size) {
                from = from->next;
                at = 0;
            }
            f(from->elements[at++]);
        }
    }

    /// Elements that are there. Any thread.
    std::size_t size() const noexcept {
        const std::size_t given = given_.load();
        return made_.load() - given;
    }

private:
    static constexpr std::size_t block_size = 16, small = 1024; // elements, bytes

    // What is small is copied, so that memory ends on the thread that took it: heaps of threads are slow at what others give back.
    static void copy(const data_element& from, data_element& to) {
        to.resize(from.size());
        for (std::size_t c = 0; c < from.size(); ++c) {
            const any_array& a = from[c];
            if (!to[c] || !(to[c].type() == a.type()) || !to[c].is_unique())
                to[c] = any_array(a.element(), a.extents());
            copy_elements(a.element(), to[c].data(), 0, a.data(), 0, a.elements());
        }
    }
    struct block {
        kept_element elements[block_size];
        block* next = nullptr;
    };
    // Of who asks:
    alignas(64) std::atomic<std::size_t> given_{0};
    std::size_t seen_ = 0; // made_, when it was last looked at
    std::size_t in_first_ = 0;
    block* first_;
    // Of who reads:
    alignas(64) std::atomic<std::size_t> made_{0};
    std::size_t in_last_ = 0;
    block* last_;
    block* free_ = nullptr;                          // blocks to be used again
    alignas(64) std::atomic<block*> spare_{nullptr}; // the same, on their way back
};

} // namespace tenon::detail
