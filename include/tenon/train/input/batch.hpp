#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/ops/queue/queue.hpp>
#include <tenon/train/input/producers.hpp>

/// Batches of what a graph makes one by one: a queue, threads that fill it, and what is taken out of it.
///
///     auto [x, y] = tn::input::batch<32>(std::tuple{image, label}, {.threads = 4, .capacity = 200}); // [32, 784] and [32]
///     auto [u, v] = tn::input::shuffle_batch<32>(std::tuple{image, label}, 1000, 500, {.seed = 7});  // capacity, min_after_dequeue
///     auto rest = tn::input::batch<some>(line, 32, {.allow_smaller_final_batch = true});             // string[some]
///     auto all = tn::input::batch<32, tn::enqueue_as::many>(rows);                                   // of rows [n, 5]: [32, 5]
///     std::vector<record> readers;                                                            // of five readers, say
///     auto [k, r] = tn::input::shuffle_batch_join<32>(readers, 1000, 500);                           // a thread for each
///
/// Each adds its queue's runner to the graph, where start_queue_runners finds it; a thread runs what it takes to make an element,
/// and puts that into the queue. At the end of the data the queue is closed: what is left and makes no full batch is dropped,
/// or, with allow_smaller_final_batch, the last batch. Then who asks for a batch comes to an end_of_data_error.

namespace tenon {

/// What the tensors of one run are.
enum class enqueue_as {
    one,  ///< an element
    many, ///< elements, along dimension 0, as many in each tensor
};

struct batch_options {
    int threads = 1;            ///< that enqueue, of a join: for each of its tuples
    std::int64_t capacity = 32; ///< of the queue, in elements
    /// Elements of different sizes are filled up with zeros, false and empty strings to the largest of the batch (SEMANTICS 34).
    /// Without it a batch of elements that differ is an error.
    bool dynamic_pad = false;
    /// How many elements a batch has is known in the step, then: batch(x, 32, ...) or batch<name>(x, 32, ...).
    bool allow_smaller_final_batch = false;
    std::string shared_name = {};
    /// Of the queue's node. Empty: what it is.
    std::string name = {};
};
struct shuffle_batch_options {
    int threads = 1;
    std::uint64_t seed = 0; ///< as of random ops (SEMANTICS 21): 0 is "not set"
    bool allow_smaller_final_batch = false;
    std::string shared_name = {};
    std::string name = {};
};

namespace untyped {

/// n elements of each of the tensors, stacked along a dimension 0. `size`: what the types say of n, extent::named("batch") or
/// unknown; not given: the number, and where the last batch may be smaller, unknown. invalid_argument_error for what cannot be:
/// no tensors, an n below 1, no threads.
std::vector<any_tensor> batch(const std::vector<any_tensor>& tensors, std::int64_t n, const batch_options& o = {},
                              enqueue_as how = enqueue_as::one, const extents& size = {}, called_from here = caller());
/// Of several tuples of tensors of the same types, each with threads of its own.
std::vector<any_tensor> batch_join(const std::vector<std::vector<any_tensor>>& tuples, std::int64_t n,
                                   const batch_options& o = {}, enqueue_as how = enqueue_as::one,
                                   const extents& size = {}, called_from here = caller());
/// In random order: out of min_after_dequeue elements at least, until the data end (random_shuffle_queue).
std::vector<any_tensor> shuffle_batch(const std::vector<any_tensor>& tensors, std::int64_t n, std::int64_t capacity,
                                      std::int64_t min_after_dequeue, const shuffle_batch_options& o = {},
                                      enqueue_as how = enqueue_as::one, const extents& size = {},
                                      called_from here = caller());
std::vector<any_tensor> shuffle_batch_join(const std::vector<std::vector<any_tensor>>& tuples, std::int64_t n,
                                           std::int64_t capacity, std::int64_t min_after_dequeue,
                                           const shuffle_batch_options& o = {}, enqueue_as how = enqueue_as::one,
                                           const extents& size = {}, called_from here = caller());

} // namespace untyped

namespace detail {

// Of a tensor or a tuple of them: the tensors, and the types that their batches have.
template <class X, enqueue_as How> struct batched_element {
    static_assert(Operand<X>, "tenon: what makes batches is a tensor, or a std::tuple of tensors");
    using shape = typename operand_of_t<X>::shape;
};
template <class X> struct batched_element<X, enqueue_as::many> {
    static_assert(Operand<X>, "tenon: what makes batches is a tensor, or a std::tuple of tensors");
    static_assert(produced_rows<X>::has_rows, "tenon: elements are taken along dimension 0, and a scalar has none");
    using shape = typename produced_rows<X>::type;
};
template <class X, auto Size, enqueue_as How>
using batched_t = tensor<typename operand_of_t<X>::element,
                         typename stacked_shape<Size, typename batched_element<X, How>::shape>::type>;

template <class T> struct batch_of {
    static std::vector<any_tensor> list(const T& x) { return {any_tensor(as_tensor(x))}; }
    template <auto Size, enqueue_as How> static auto typed(const std::vector<any_tensor>& parts) {
        return batched_t<T, Size, How>::unchecked(parts[0]);
    }
};
template <class... X> struct batch_of<std::tuple<X...>> {
    static_assert(sizeof...(X) > 0, "tenon: a batch is made of one tensor at least");
    static std::vector<any_tensor> list(const std::tuple<X...>& all) {
        return std::apply([](const X&... x) { return std::vector<any_tensor>{any_tensor(as_tensor(x))...}; }, all);
    }
    template <auto Size, enqueue_as How> static auto typed(const std::vector<any_tensor>& parts) {
        return typed<Size, How>(parts, std::index_sequence_for<X...>{});
    }
    template <auto Size, enqueue_as How, std::size_t... I>
    static auto typed(const std::vector<any_tensor>& parts, std::index_sequence<I...>) {
        return std::tuple<batched_t<X, Size, How>...>(batched_t<X, Size, How>::unchecked(parts[I])...);
    }
};
template <class T> std::vector<std::vector<any_tensor>> batch_lists(const std::vector<T>& tuples) {
    std::vector<std::vector<any_tensor>> all;
    for (const T& t : tuples) all.push_back(batch_of<T>::list(t));
    return all;
}
// What the types say of how many there are: of a number nothing more.
template <auto Size> extents batch_size() {
    if constexpr (is_count<Size>) return {};
    else return extents(detail::extent_of<Size>());
}
/// Where the types have a number, each batch has that many.
void require_full_batches(const char* kind, std::int64_t n, bool allow_smaller);

template <auto N>
concept BatchNumber = is_count<N>;
template <auto Size>
concept BatchSize = !is_count<Size>;

} // namespace detail

// Not beside the rest: many a program calls a size batch.
namespace input {

/// Batches of N elements: of a tensor [...] an [N, ...], of a std::tuple of tensors a tuple of those.
template <auto N, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchNumber<N>
auto batch(const T& tensors, const batch_options& o = {}) {
    detail::require_full_batches("batch", N, o.allow_smaller_final_batch);
    using of = detail::batch_of<T>;
    return of::template typed<N, How>(untyped::batch(of::list(tensors), N, o, How));
}
/// Batches of n, of which the types say what Size says: dyn, or a named size.
template <auto Size = dyn, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchSize<Size>
auto batch(const T& tensors, std::int64_t n, const batch_options& o = {}) {
    using of = detail::batch_of<T>;
    return of::template typed<Size, How>(untyped::batch(of::list(tensors), n, o, How, detail::batch_size<Size>()));
}

/// Batches of the elements that several tensors, or tuples of tensors, of one type make, each with threads of its own.
template <auto N, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchNumber<N>
auto batch_join(const std::vector<T>& tuples, const batch_options& o = {}) {
    detail::require_full_batches("batch_join", N, o.allow_smaller_final_batch);
    return detail::batch_of<T>::template typed<N, How>(untyped::batch_join(detail::batch_lists(tuples), N, o, How));
}
template <auto Size = dyn, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchSize<Size>
auto batch_join(const std::vector<T>& tuples, std::int64_t n, const batch_options& o = {}) {
    return detail::batch_of<T>::template typed<Size, How>(
        untyped::batch_join(detail::batch_lists(tuples), n, o, How, detail::batch_size<Size>()));
}

/// As batch, but in random order, out of min_after_dequeue elements at least; the more, the better they are mixed. A capacity
/// of that many and several batches keeps the threads busy.
template <auto N, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchNumber<N>
auto shuffle_batch(const T& tensors, std::int64_t capacity, std::int64_t min_after_dequeue,
                   const shuffle_batch_options& o = {}) {
    detail::require_full_batches("shuffle_batch", N, o.allow_smaller_final_batch);
    using of = detail::batch_of<T>;
    return of::template typed<N, How>(
        untyped::shuffle_batch(of::list(tensors), N, capacity, min_after_dequeue, o, How));
}
template <auto Size = dyn, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchSize<Size>
auto shuffle_batch(const T& tensors, std::int64_t n, std::int64_t capacity, std::int64_t min_after_dequeue,
                   const shuffle_batch_options& o = {}) {
    using of = detail::batch_of<T>;
    return of::template typed<Size, How>(
        untyped::shuffle_batch(of::list(tensors), n, capacity, min_after_dequeue, o, How, detail::batch_size<Size>()));
}

/// As batch_join, in random order.
template <auto N, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchNumber<N>
auto shuffle_batch_join(const std::vector<T>& tuples, std::int64_t capacity, std::int64_t min_after_dequeue,
                        const shuffle_batch_options& o = {}) {
    detail::require_full_batches("shuffle_batch_join", N, o.allow_smaller_final_batch);
    return detail::batch_of<T>::template typed<N, How>(
        untyped::shuffle_batch_join(detail::batch_lists(tuples), N, capacity, min_after_dequeue, o, How));
}
template <auto Size = dyn, enqueue_as How = enqueue_as::one, class T>
    requires detail::BatchSize<Size>
auto shuffle_batch_join(const std::vector<T>& tuples, std::int64_t n, std::int64_t capacity,
                        std::int64_t min_after_dequeue, const shuffle_batch_options& o = {}) {
    return detail::batch_of<T>::template typed<Size, How>(untyped::shuffle_batch_join(
        detail::batch_lists(tuples), n, capacity, min_after_dequeue, o, How, detail::batch_size<Size>()));
}

} // namespace input
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/input/batch.ipp>
#endif
