#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/intrusive_list.hpp>
#include <tenon/core/array/any_array.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/resources/resources.hpp>

/// Queues of tuples of tensors (SEMANTICS 30 to 34): what the ops of queues are made of. Nothing here waits: what cannot be
/// done at once is kept, and completed by the thread that makes it possible.

namespace tenon {

/// Which element is taken next.
enum class queue_order {
    fifo,     ///< the one that came first
    shuffled, ///< any
    priority, ///< the one whose component 0, a scalar int64, is least; of equal ones, the one that came first
};

struct queue_description {
    queue_order order = queue_order::fifo;
    /// Sizes that are no numbers may differ from element to element.
    std::vector<tensor_type> components;
    std::int64_t capacity = 1; ///< elements, 1 or more
    /// Batches of elements of different sizes are filled up with zeros, false and empty strings to the largest size of each
    /// dimension (SEMANTICS 34); otherwise they cannot be made.
    bool padded = false;
    std::int64_t min_after_dequeue = 0; ///< shuffled: so many stay until the queue is closed (SEMANTICS 33)
    std::uint64_t key = 0;              ///< shuffled: of its random numbers, as random_key gives it

    friend bool operator==(const queue_description&, const queue_description&) = default;
};
/// "shuffled queue of (float[2], string[]), capacity 50, min_after_dequeue 10"
std::string to_string(const queue_description& d);
/// Throws invalid_argument_error, naming the queue, where the description makes no sense.
void check_queue(const std::string& name, const queue_description& d);

namespace detail {
struct queue_element {
    std::vector<any_array> tuple;
    std::int64_t priority = 0;
    std::uint64_t number = 0; // of all that came, in their order
};
} // namespace detail

/// Something that is asked of a queue: its caller's, who keeps it where it is until it is completed, or stopped.
class queue_attempt {
public:
    /// To be enqueued, or what was dequeued: an array a component.
    std::vector<any_array> tuple;
    /// Whether what is dequeued can be given back.
    bool keeps = false;

protected:
    queue_attempt() = default;
    ~queue_attempt() = default;
    queue_attempt(queue_attempt&&) = delete;

    /// Called once for each attempt that was not stopped, by the thread that asked or by another one, and not under a
    /// lock of the queue. `failure`: why it was not done, or nullptr. The attempt may be asked anew, or end, in it.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

private:
    friend class queue_resource;
    enum class kind { enqueue, dequeue, batch };
    kind what_ = kind::enqueue;
    std::int64_t least_ = 0, most_ = 0; // elements to be dequeued
    bool takes_rest_ = false;           // once the queue is closed fewer will do
    std::int64_t moved_ = 0;            // of those to be enqueued: into the queue
    std::uint64_t first_ = 0;           // number of the first of them
    // Those to be enqueued, the next one last; or those that were taken, of one that keeps them also when it is done.
    std::vector<detail::queue_element> elements_;
    std::exception_ptr failure_;
    bool waits_ = false;
    detail::list_links<queue_attempt> links_; // of those that wait, or are done
};

/// Thread-safe. Who waits is served first come, first served: nobody overtakes one who waits to enqueue with an enqueue, nor
/// one who waits to dequeue with a dequeue.
class queue_resource final : public resource {
public:
    static constexpr const char* kind = "queue";

    /// What check_queue throws. `name` is for messages.
    queue_resource(std::string name, queue_description d);
    ~queue_resource() override;
    queue_resource(queue_resource&&) = delete;

    const queue_description& description() const noexcept { return description_; }

    // These throw invalid_argument_error where the tuple or the number does not fit the queue; then nothing was asked. What
    // happens later is told to completed(): cancelled_error where the queue is closed to enqueuers, end_of_data_error where
    // it is closed and has too few elements.

    /// One element, `tuple`.
    void enqueue(queue_attempt& a);
    /// As many elements as dimension 0 of each array of `tuple` has, one after another as there is room.
    void enqueue_many(queue_attempt& a);
    void dequeue(queue_attempt& a);
    // Of those that follow elements are stacked along a new dimension 0. What a priority queue gives are the least of those that
    // are there when it gives them, in order. Who wants none waits for nobody.

    /// n elements.
    void dequeue_many(queue_attempt& a, std::int64_t n);
    /// The same, and once the queue is closed also fewer, but 1.
    void dequeue_up_to(queue_attempt& a, std::int64_t n);
    /// As many as are there, but `most`, once they are `least`; once the queue is closed also fewer, but 1. With `least` 0 it
    /// never waits, and has nothing where there is nothing, or where others wait before it.
    void dequeue_some(queue_attempt& a, std::int64_t least, std::int64_t most);

    /// Takes back what was asked, where it waits, and then completed() is not called: what it took is put back, what it put
    /// in and nobody took is withdrawn, and those behind it are served as if it had not come. False where it was completed,
    /// or is just being.
    bool stop(queue_attempt& a) noexcept;

    /// Of one that keeps what it dequeued, and is done: that is first in the queue again, or else nobody's but who has it.
    void give_back(queue_attempt& a) noexcept;
    void let_go(queue_attempt& a) noexcept;

    /// Nothing more is enqueued: cancelled_error. Who waits to enqueue goes on, or is cancelled too. aborted_error where it is
    /// closed already; who waits is cancelled then, too, where that is asked for.
    void close(bool cancel_pending_enqueues = false);
    bool is_closed() const;
    /// Elements that can be taken; those that somebody holds who waits for more are not among them.
    std::int64_t size() const;
    /// What an attempt waits for, in words: "queue \"jobs\" to have 3 elements; it has 1".
    std::string awaited(const queue_attempt& a) const;
    /// Everybody who waits fails with this, and what is asked later does, too.
    void fail(std::exception_ptr why) noexcept;
    void forgotten() noexcept override;
    /// "5 of 100 elements of (float[784], int32)", which queue_fill reads.
    void describe(resource_info& to) const override;

private:
    struct state;
    void change(function_ref<void()> what);
    void ask(queue_attempt& a);
    void take(queue_attempt& a, std::int64_t least, std::int64_t most, bool takes_rest);
    void require_tuple(const std::vector<any_array>& tuple, bool many) const;
    const std::string name_;
    const queue_description description_;
    std::unique_ptr<state> state_;
};

/// How full a queue is, of what it says of itself (resource_info::description).
struct queue_fill {
    std::int64_t elements = 0, capacity = 0;
    /// Nothing where the text is no queue's.
    static std::optional<queue_fill> of(const std::string& description);
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/queue.ipp>
#endif
