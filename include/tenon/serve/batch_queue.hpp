#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include <tenon/core/config.hpp>

/// Requests that wait, and the batches that they become: without threads and without a clock of its own.

namespace tenon::detail {

using serving_clock = std::chrono::steady_clock;

/// A request as the queue sees it.
struct queued_request {
    std::int64_t rows = 1;
    std::vector<std::int64_t> sizes{}; ///< those that requests of one batch have in common, beside their rows
    serving_clock::time_point arrived{};
    serving_clock::time_point deadline = serving_clock::time_point::max();

protected:
    queued_request() = default;
    ~queued_request() = default; // by who knows what it is
};

struct batching_policy {
    std::int64_t largest_batch = 32; ///< rows
    serving_clock::duration longest_wait{};
    std::size_t capacity = 1024; ///< requests
};

/// First come, first served: a batch is the requests of the same sizes that came first and fit together. Used by one thread at a time.
class batch_queue {
public:
    using request = std::shared_ptr<queued_request>;

    explicit batch_queue(const batching_policy& p) : policy_(p) {}

    bool is_full() const noexcept { return size_ >= policy_.capacity; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    void push(request r);
    /// Requests that were taken go ahead of all that wait, in the order in which they came.
    void put_back(const std::vector<request>& taken);
    /// False where it does not wait here.
    bool remove(const queued_request* r);
    std::vector<request> remove_all();

    /// When a device that is free is to take a batch: at once where one is full; else when the first has waited for as long as one may,
    /// or earlier, where one would be late otherwise, as a batch takes `step`. The end of time where nothing waits.
    serving_clock::time_point due(serving_clock::duration step) const;
    /// The next batch, where it is due; else nothing.
    std::vector<request> take(serving_clock::time_point now, serving_clock::duration step);

private:
    // Those of the same sizes.
    struct group {
        std::list<request> waiting;
        std::int64_t rows = 0;
    };
    serving_clock::time_point due(const group& g, serving_clock::duration step) const;

    batching_policy policy_;
    std::map<std::vector<std::int64_t>, group> groups_; // none is empty
    std::size_t size_ = 0;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/serve/batch_queue.ipp>
#endif
