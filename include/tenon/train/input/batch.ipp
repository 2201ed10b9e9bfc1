#pragma once

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/train/input/batch.hpp>

namespace tenon {

namespace detail {

TENON_INLINE void require_full_batches(const char* kind, std::int64_t n, bool allow_smaller) {
    if (allow_smaller)
        throw invalid_argument_error(
            std::string(kind) + "<" + std::to_string(n) + ">: the types say that each batch has " + std::to_string(n) +
            " elements, and allow_smaller_final_batch that the last may have fewer; write " + kind + "(..., " +
            std::to_string(n) + ", ...), or with a named size " + kind + "<size>(..., " + std::to_string(n) + ", ...)");
}

using tuples_of_tensors = std::vector<std::vector<any_tensor>>;

// What is asked of all four.
struct batching {
    const char* kind;
    const std::string& shared_name;
    const std::string& name;
    std::int64_t n, capacity;
    int threads;
    bool allow_smaller;
    enqueue_as how;
    const extents& size;

    [[noreturn]] void refuse(const std::string& why) const {
        throw invalid_argument_error(std::string(kind) + ": " + why);
    }
    std::string shown() const { return name.empty() ? kind : name; }

    // The elements' types, of the first tuple; where sizes of another differ, and may, they are unknown.
    std::vector<tensor_type> components(const tuples_of_tensors& tuples, bool sizes_may_differ) const {
        if (tuples.empty() || tuples[0].empty()) refuse("give one tensor at least");
        if (n < 1) refuse("batches of " + std::to_string(n) + " elements cannot be; give 1 or more");
        if (threads < 1) refuse(std::to_string(threads) + " threads fill no queue; give 1 or more");
        std::vector<tensor_type> all;
        for (const std::vector<any_tensor>& tuple : tuples) {
            if (tuple.size() != tuples[0].size())
                refuse("a tuple has " + std::to_string(tuples[0].size()) + " tensors, another " +
                       std::to_string(tuple.size()));
            for (std::size_t c = 0; c < tuple.size(); ++c) {
                const any_tensor& x = tuple[c];
                if (!x.node()) refuse("tensor " + std::to_string(c) + " is empty");
                extents sizes = x.extents();
                if (how == enqueue_as::many) {
                    if (sizes.rank() < 1) refuse("elements are taken along dimension 0, and " + x.name() + " has none");
                    sizes.erase(0);
                }
                if (c == all.size()) {
                    all.push_back({x.element(), sizes});
                    continue;
                }
                tensor_type& is = all[c];
                for (int d = 0; sizes_may_differ && is.extents.rank() == sizes.rank() && d < sizes.rank(); ++d)
                    if (!(is.extents[d] == sizes[d])) is.extents[d] = dynamic_extent;
            }
        }
        return all;
    }
    std::vector<any_tensor> of(const untyped::queue& q, const tuples_of_tensors& tuples) const {
        std::vector<operation> fill;
        for (const std::vector<any_tensor>& tuple : tuples) {
            const operation put = how == enqueue_as::many ? q.enqueue_many(tuple) : q.enqueue(tuple);
            fill.insert(fill.end(), static_cast<std::size_t>(threads), put);
        }
        add_queue_runner(queue_runner(q, fill));
        return allow_smaller ? q.dequeue_up_to(n, size) : q.dequeue_many(n, size);
    }
};

inline std::vector<any_tensor> in_order(const char* kind, const tuples_of_tensors& tuples, std::int64_t n,
                                        const batch_options& o, enqueue_as how, const extents& size) {
    const batching b{kind, o.shared_name, o.name, n, o.capacity, o.threads, o.allow_smaller_final_batch, how, size};
    const std::vector<tensor_type> components = b.components(tuples, o.dynamic_pad);
    const queue_options q{.shared_name = o.shared_name, .name = b.shown()};
    return b.of(o.dynamic_pad ? untyped::padding_fifo_queue(components, o.capacity, q)
                              : untyped::fifo_queue(components, o.capacity, q),
                tuples);
}
inline std::vector<any_tensor> shuffled(const char* kind, const tuples_of_tensors& tuples, std::int64_t n,
                                        std::int64_t capacity, std::int64_t min_after_dequeue,
                                        const shuffle_batch_options& o, enqueue_as how, const extents& size) {
    const batching b{kind, o.shared_name, o.name, n, capacity, o.threads, o.allow_smaller_final_batch, how, size};
    return b.of(untyped::random_shuffle_queue(b.components(tuples, false), capacity, min_after_dequeue,
                                              {.seed = o.seed, .shared_name = o.shared_name, .name = b.shown()}),
                tuples);
}

} // namespace detail

namespace untyped {

TENON_INLINE std::vector<any_tensor> batch(const std::vector<any_tensor>& tensors, std::int64_t n,
                                           const batch_options& o, enqueue_as how, const extents& size,
                                           called_from here) {
    const making made(here);
    return detail::in_order("batch", {tensors}, n, o, how, size);
}
TENON_INLINE std::vector<any_tensor> batch_join(const std::vector<std::vector<any_tensor>>& tuples, std::int64_t n,
                                                const batch_options& o, enqueue_as how, const extents& size,
                                                called_from here) {
    const making made(here);
    return detail::in_order("batch_join", tuples, n, o, how, size);
}
TENON_INLINE std::vector<any_tensor> shuffle_batch(const std::vector<any_tensor>& tensors, std::int64_t n,
                                                   std::int64_t capacity, std::int64_t min_after_dequeue,
                                                   const shuffle_batch_options& o, enqueue_as how, const extents& size,
                                                   called_from here) {
    const making made(here);
    return detail::shuffled("shuffle_batch", {tensors}, n, capacity, min_after_dequeue, o, how, size);
}
TENON_INLINE std::vector<any_tensor> shuffle_batch_join(const std::vector<std::vector<any_tensor>>& tuples,
                                                        std::int64_t n, std::int64_t capacity,
                                                        std::int64_t min_after_dequeue, const shuffle_batch_options& o,
                                                        enqueue_as how, const extents& size, called_from here) {
    const making made(here);
    return detail::shuffled("shuffle_batch_join", tuples, n, capacity, min_after_dequeue, o, how, size);
}

} // namespace untyped

} // namespace tenon
