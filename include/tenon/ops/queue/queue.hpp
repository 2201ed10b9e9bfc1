#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/queue/component.hpp>
#include <tenon/ops/queue/queue_ops.hpp>

/// Queues of tuples of tensors, which outlive steps and hand values from one step to another (SEMANTICS 30 to 34).
///
///     tn::fifo_queue<std::string> names(32);                                               // of scalars
///     tn::random_shuffle_queue<tn::component<float, tn::shape<784>>, std::int32_t> samples(500, 100, {.seed = 7});
///     sess.run(samples.enqueue(image, label));             // waits while the queue is full
///     auto [x, y] = samples.dequeue_many<32>();            // float[32, 784] and int32[32]; waits for 32
///     auto [u, v] = samples.dequeue_up_to<batch>(32);      // float[batch, 784] and int32[batch]
///     auto [r, t] = samples.dequeue_some<batch>(1, 32);    // what is there once there is 1, 32 at most: batches of requests
///
/// Elements are taken whole: a step that needs one tensor of a dequeued tuple takes the element, once. A fed tensor takes
/// nothing, where no other of its tuple is needed.
///
/// A queue lives on the device of its node, and what uses it runs there. With a shared_name it is the queue of that name
/// in the container (container_scope) that it was made in, for all sessions of a task; without one each session has a queue
/// of its own. One that is there already as another kind, of other components or of another capacity is an
/// invalid_argument_error naming both (SEMANTICS 26).
///
/// In a step: enqueue ops are a cancelled_error once the queue is closed, dequeue ops an end_of_data_error once it is
/// closed and has too few elements; what waits longer than the step may take is a deadline_exceeded_error, and leaves the
/// queue as it was (SEMANTICS 17). No gradient flows through a queue.

namespace tenon {

struct queue_options {
    /// Queues of one shared_name in one container of a task are one queue. Empty: a session's own.
    std::string shared_name = {};
    /// Of the node. Empty: the kind of queue. Names of what uses it begin with it.
    std::string name = {};
};
struct shuffle_queue_options {
    /// As of random ops (SEMANTICS 21): 0 is "not set".
    std::uint64_t seed = 0;
    std::string shared_name = {};
    std::string name = {};
};

namespace untyped {

/// A queue whose components are known at run time only: a handle on its node. The functions say what those of
/// tenon::queue say; a tuple that does not fit is an invalid_argument_error with the rule's words.
class queue {
public:
    /// The queue that a tensor of a graph stands for: queue(g.tensor("jobs")). invalid_argument_error where it is none.
    explicit queue(const any_tensor& made);

    operation enqueue(const std::vector<any_tensor>& tuple, called_from here = caller()) const;
    operation enqueue_many(const std::vector<any_tensor>& tuple, called_from here = caller()) const;
    std::vector<any_tensor> dequeue(called_from here = caller()) const;
    /// `size`: what the types say of n, extent::named("batch") or unknown; not given: the number, and of
    /// dequeue_up_to and dequeue_some unknown.
    std::vector<any_tensor> dequeue_many(std::int64_t n, const extents& size = {}, called_from here = caller()) const;
    std::vector<any_tensor> dequeue_up_to(std::int64_t n, const extents& size = {}, called_from here = caller()) const;
    std::vector<any_tensor> dequeue_some(std::int64_t at_least, std::int64_t at_most, const extents& size = {},
                                         called_from here = caller()) const;
    any_tensor size() const;
    any_tensor is_closed() const;
    operation close(bool cancel_pending_enqueues = false, called_from here = caller()) const;

    std::vector<tensor_type> components() const;
    const std::string& name() const { return handle_.node()->name; }
    /// What stands for it.
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor handle_;
};

// invalid_argument_error where a queue cannot be so, naming it.
queue fifo_queue(const std::vector<tensor_type>& components, std::int64_t capacity, const queue_options& o = {},
                 called_from here = caller());
queue random_shuffle_queue(const std::vector<tensor_type>& components, std::int64_t capacity,
                           std::int64_t min_after_dequeue, const shuffle_queue_options& o = {},
                           called_from here = caller());
queue padding_fifo_queue(const std::vector<tensor_type>& components, std::int64_t capacity, const queue_options& o = {},
                         called_from here = caller());
/// Component 0 is the priority, a scalar int64.
queue priority_queue(const std::vector<tensor_type>& components, std::int64_t capacity, const queue_options& o = {},
                     called_from here = caller());

} // namespace untyped

namespace detail {

template <class C, class X> struct enqueued { using type = void; };
template <class C, Operand X> struct enqueued<C, X> { using type = operand_of_t<X>; };
template <class C, Literal<typename C::element> X>
    requires(!Operand<X>)
struct enqueued<C, X> {
    using type = operand_type<typename C::element, shape<>>;
};
/// The operand_type of what is enqueued: a tensor or an expression, or a number or text for a scalar; else void.
template <class C, class X> using enqueued_t = typename enqueued<C, std::decay_t<X>>::type;

template <class C, class X> any_tensor as_enqueued(const X& x) {
    if constexpr (Operand<X>) return as_tensor(x);
    else return constant(nested<typename C::element>(x).value());
}

// What the rules above say of one component and what is enqueued, and of what is enqueued together.
struct enqueue_rule {
    static constexpr const char* name = "enqueue";
    struct together {
        static constexpr const char* name = "enqueue";
        static constexpr inferred infer(const no_attributes&, type_list, int) { return fault::none; }
    };
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return misfit_of_component(in[0], in[1], false);
    }
};
struct enqueue_many_rule {
    static constexpr const char* name = "enqueue_many";
    struct together {
        static constexpr const char* name = "enqueue_many";
        static constexpr inferred infer(const no_attributes&, type_list in, int) {
            return equal_sizes(in[0].extents[0], in[1].extents[0]).what;
        }
    };
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return misfit_of_component(in[0], in[1], true);
    }
};

// Of what is enqueued together each is held against each, of [?], [2] and [3] the last two: the first verdict that is a complaint.
struct all_agree {
    static constexpr bool agree = true, fits = true;
};
template <class... Verdicts> struct first_complaint { using type = all_agree; };
template <class V, class... More>
struct first_complaint<V, More...> : std::conditional_t<V::fits, first_complaint<More...>, std::type_identity<V>> {};
template <class Rule, class... X> struct verdict_together { using type = all_agree; };
template <class Rule, class First, class... More>
struct verdict_together<Rule, First, More...> : first_complaint<verdict_of<Rule, without_attributes, First, More>...,
                                                                typename verdict_together<Rule, More...>::type> {};

template <auto N, class S> struct stacked_shape;
template <auto N, auto... D> struct stacked_shape<N, shape<D...>> { using type = shape<canonical_dim<N>(), D...>; };

template <class C> using dequeued_t = tensor<typename C::element, typename C::shape>;
template <class C, auto N>
using dequeued_many_t = tensor<typename C::element, typename stacked_shape<N, typename C::shape>::type>;

/// The tensor, where it is one; of several a tuple.
template <class... T> auto typed_tuple(const std::vector<any_tensor>& parts) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (sizeof...(T) == 1) return (T::unchecked(parts[I]), ...);
        else return std::tuple<T...>(T::unchecked(parts[I])...);
    }
    (std::index_sequence_for<T...>{});
}

template <auto N> inline constexpr bool is_count = std::is_integral_v<std::remove_cvref_t<decltype(N)>>;

void check_components(const std::string& name, const std::vector<tensor_type>& given,
                      const std::vector<tensor_type>& asked);

} // namespace detail

/// A queue of elements with components C...: component<T, S>, a tensor's type, or T for a scalar of it.
template <class... C> class queue {
    static_assert(sizeof...(C) > 0,
                  "tenon::queue: say what its elements are made of: queue<component<float, shape<3>>>");
    static_assert((!std::is_void_v<detail::component_t<C>> && ...),
                  "tenon::queue: a component is component<T, shape<...>>, a tensor's type, or the type of a scalar");

public:
    /// One of a graph that was read. invalid_argument_error, naming both, where its components are others.
    explicit queue(const untyped::queue& q) : queue_(q) {
        detail::check_components(q.name(), q.components(), components());
    }

    /// An operation that adds an element, when there is room. For a scalar a number or a text may be given.
    template <class... X> operation enqueue(const X&... values) const {
        return put<detail::enqueue_rule>(&untyped::queue::enqueue, values...);
    }
    template <class V, class V2 = detail::not_given, class V3 = detail::not_given, class V4 = detail::not_given>
    operation enqueue(const V& value, const V2& second = {}, const V3& third = {}, const V4& fourth = {},
                      called_from here = caller()) const {
        const making made(here);
        constexpr auto how = &untyped::queue::enqueue;
        if constexpr (!detail::is_given<V2>) return put<detail::enqueue_rule>(how, value);
        else if constexpr (!detail::is_given<V3>) return put<detail::enqueue_rule>(how, value, second);
        else if constexpr (!detail::is_given<V4>) return put<detail::enqueue_rule>(how, value, second, third);
        else return put<detail::enqueue_rule>(how, value, second, third, fourth);
    }
    /// An operation that adds the elements along dimension 0 of the tensors, which is as long in all of them.
    template <class... X> operation enqueue_many(const X&... values) const {
        return put<detail::enqueue_many_rule>(&untyped::queue::enqueue_many, values...);
    }
    template <class V, class V2 = detail::not_given, class V3 = detail::not_given, class V4 = detail::not_given>
    operation enqueue_many(const V& value, const V2& second = {}, const V3& third = {}, const V4& fourth = {},
                           called_from here = caller()) const {
        const making made(here);
        constexpr auto how = &untyped::queue::enqueue_many;
        if constexpr (!detail::is_given<V2>) return put<detail::enqueue_many_rule>(how, value);
        else if constexpr (!detail::is_given<V3>) return put<detail::enqueue_many_rule>(how, value, second);
        else if constexpr (!detail::is_given<V4>) return put<detail::enqueue_many_rule>(how, value, second, third);
        else return put<detail::enqueue_many_rule>(how, value, second, third, fourth);
    }
    /// An element, when there is one: a tensor, or a tuple of them.
    auto dequeue(called_from here = caller()) const {
        const making made(here);
        return detail::typed_tuple<detail::dequeued_t<detail::component_t<C>>...>(queue_.dequeue());
    }
    /// N elements, stacked along a dimension 0, when there are so many: of [3, 2] an [N, 3, 2].
    template <auto N> auto dequeue_many(called_from here = caller()) const {
        const making made(here);
        static_assert(detail::is_count<N>, "tenon::dequeue_many: a named size needs a number: dequeue_many<batch>(32)");
        return stacked<N>(queue_.dequeue_many(N));
    }
    /// n of them, of which the types say what Size says: dyn, or a named size.
    template <auto Size = dyn> auto dequeue_many(std::int64_t n, called_from here = caller()) const {
        const making made(here);
        static_assert(!detail::is_count<Size>, "tenon::dequeue_many: write the number once: dequeue_many<32>()");
        return stacked<Size>(queue_.dequeue_many(n, size_of<Size>(n)));
    }
    /// n of them, or what is left, but 1 at least, once the queue is closed.
    template <auto Size = dyn> auto dequeue_up_to(std::int64_t n, called_from here = caller()) const {
        const making made(here);
        static_assert(!detail::is_count<Size>, "tenon::dequeue_up_to: how many it gives is known in the step; write "
                                               "dequeue_up_to(32), or dequeue_up_to<batch>(32)");
        return stacked<Size>(queue_.dequeue_up_to(n, size_of<Size>(-1)));
    }
    template <auto N> auto dequeue_up_to() const {
        static_assert(detail::is_mistake<decltype(N)>, "tenon::dequeue_up_to: how many it gives is known in the step; "
                                                       "write dequeue_up_to(32), or dequeue_up_to<batch>(32)");
        return stacked<dyn>(std::vector<any_tensor>(sizeof...(C)));
    }
    /// As many as are there, but at_most, once they are at_least: of those that ask, who need not wait for a full batch. Once the
    /// queue is closed also fewer, but 1 at least. With at_least 0 it never waits, and may give none.
    template <auto Size = dyn>
    auto dequeue_some(std::int64_t at_least, std::int64_t at_most, called_from here = caller()) const {
        const making made(here);
        static_assert(!detail::is_count<Size>, "tenon::dequeue_some: how many it gives is known in the step; write "
                                               "dequeue_some(1, 32), or dequeue_some<batch>(1, 32)");
        return stacked<Size>(queue_.dequeue_some(at_least, at_most, size_of<Size>(-1)));
    }

    /// How many elements can be taken; those are not among them that somebody holds who waits for more.
    tensor<std::int64_t, shape<>> size() const { return tensor<std::int64_t, shape<>>::unchecked(queue_.size()); }
    tensor<bool, shape<>> is_closed() const { return tensor<bool, shape<>>::unchecked(queue_.is_closed()); }
    /// An operation after which nothing more is enqueued. Who waits to enqueue goes on, or is cancelled too. Closed twice
    /// it is an aborted_error, and who waits is cancelled where the second asks for that.
    operation close(bool cancel_pending_enqueues = false, called_from here = caller()) const {
        const making made(here);
        return queue_.close(cancel_pending_enqueues);
    }

    const std::string& name() const { return queue_.name(); }
    const untyped::queue& untyped() const noexcept { return queue_; }
    operator const untyped::queue&() const noexcept { return queue_; } // NOLINT

protected:
    static std::vector<tensor_type> components() { return {detail::component_t<C>::type...}; }

private:
    template <class Rule, class... X> operation put(auto how, const X&... values) const {
        static_assert(sizeof...(X) == sizeof...(C),
                      "tenon::queue: give one value for each component of the queue's elements");
        if constexpr (sizeof...(X) != sizeof...(C) || detail::any_ill_shaped<X...>) return {};
        else if constexpr ((std::is_void_v<detail::enqueued_t<detail::component_t<C>, X>> || ...)) {
            static_assert(detail::is_mistake<X...>,
                          "tenon::queue: what is enqueued is a tensor, or for a scalar a number "
                          "or text of its kind");
            return {};
        } else {
            using detail::verdict_of, detail::without_attributes, detail::component_t, detail::enqueued_t;
            constexpr bool fits =
                (verdict_of<Rule, without_attributes, component_t<C>, enqueued_t<component_t<C>, X>>::fits && ...);
            static_assert(
                (verdict_of<Rule, without_attributes, component_t<C>, enqueued_t<component_t<C>, X>>::agree && ...),
                "tenon: shapes do not agree");
            if constexpr (!fits) return {};
            else {
                using together =
                    typename detail::verdict_together<typename Rule::together, enqueued_t<component_t<C>, X>...>::type;
                static_assert(together::agree, "tenon: shapes do not agree");
                if constexpr (together::fits)
                    return (queue_.*how)({detail::as_enqueued<component_t<C>>(values)...}, caller());
                else return {};
            }
        }
    }
    template <auto Size> static auto stacked(const std::vector<any_tensor>& parts) {
        return detail::typed_tuple<detail::dequeued_many_t<detail::component_t<C>, Size>...>(parts);
    }
    // What the types say of a number of elements that is known where the graph is made, or is not.
    template <auto Size> static extents size_of(std::int64_t n) {
        constexpr extent said = detail::extent_of<Size>();
        return said.is_named() ? extents(said) : n < 0 ? extents() : extents(n);
    }

    untyped::queue queue_;
};

/// Elements are taken in the order in which they came. invalid_argument_error unless capacity is 1 or more.
template <class... C> class fifo_queue : public queue<C...> {
public:
    fifo_queue() = delete; // say how many elements it holds: fifo_queue<float>(10)
    explicit fifo_queue(std::int64_t capacity, const queue_options& o = {}) :
        queue<C...>(untyped::fifo_queue(queue<C...>::components(), capacity, o)) {}
    TENON_OTHER_BRACES(fifo_queue(std::int64_t, detail::other_braces_than<queue_options, N>&));
    TENON_OTHER_ARGUMENTS(fifo_queue, queue_options, the_capacity_then_options_in_braces_and_with_their_names);
};

/// Elements are taken in random order; at least min_after_dequeue of them, which is less than the capacity, stay until the
/// queue is closed.
template <class... C> class random_shuffle_queue : public queue<C...> {
public:
    random_shuffle_queue(std::int64_t capacity, std::int64_t min_after_dequeue, const shuffle_queue_options& o = {}) :
        queue<C...>(untyped::random_shuffle_queue(queue<C...>::components(), capacity, min_after_dequeue, o)) {}
    explicit random_shuffle_queue(std::int64_t) = delete; // say how many stay in it: random_shuffle_queue<float>(10, 3)
    TENON_OTHER_BRACES(random_shuffle_queue(std::int64_t, detail::other_braces_than<std::int64_t, N>&));
    TENON_OTHER_BRACES(random_shuffle_queue(std::int64_t, std::int64_t,
                                            detail::other_braces_than<shuffle_queue_options, N>&));
};

/// As fifo_queue, but elements whose sizes differ where the components' are no numbers can be dequeued many at a time: they
/// are filled up with zeros, false and empty strings at their ends to the largest size of each dimension.
template <class... C> class padding_fifo_queue : public queue<C...> {
public:
    padding_fifo_queue() = delete; // say how many elements it holds: padding_fifo_queue<float>(10)
    explicit padding_fifo_queue(std::int64_t capacity, const queue_options& o = {}) :
        queue<C...>(untyped::padding_fifo_queue(queue<C...>::components(), capacity, o)) {}
    TENON_OTHER_BRACES(padding_fifo_queue(std::int64_t, detail::other_braces_than<queue_options, N>&));
    TENON_OTHER_ARGUMENTS(padding_fifo_queue, queue_options, the_capacity_then_options_in_braces_and_with_their_names);
};

/// A component more, in front of the others: a scalar int64, the element's priority. The least is taken first, of equal
/// ones that which came first.
template <class... C> class priority_queue : public queue<std::int64_t, C...> {
    using base = queue<std::int64_t, C...>;

public:
    priority_queue() = delete; // say how many elements it holds: priority_queue<float>(10)
    explicit priority_queue(std::int64_t capacity, const queue_options& o = {}) :
        base(untyped::priority_queue(base::components(), capacity, o)) {}
    TENON_OTHER_BRACES(priority_queue(std::int64_t, detail::other_braces_than<queue_options, N>&));
    TENON_OTHER_ARGUMENTS(priority_queue, queue_options, the_capacity_then_options_in_braces_and_with_their_names);
};

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_queue)

#include <utility>

#include <tenon/graph/graph_state.inl>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/queue/queue.inl>

namespace tenon {

namespace detail {

inline any_tensor add_queue(const queue_op::attributes& a, const std::string& name, const char* kind) {
    const std::string shown = name.empty() ? kind : name;
    const std::string& called = a.shared_name.empty() ? shown : a.shared_name;
    check_queue(called, description_of(a, called));
    const no_controls apart;
    return tenon::add<queue_op>(a, {}, shown);
}

inline void require_count(const char* op, std::int64_t n, const std::string& queue) {
    if (n < 0)
        throw invalid_argument_error(std::string(op) + ": " + std::to_string(n) + " elements of " + queue +
                                     " cannot be dequeued; give 0 or more");
}

TENON_INLINE void check_components(const std::string& name, const std::vector<tensor_type>& given,
                                   const std::vector<tensor_type>& asked) {
    if (given != asked)
        throw invalid_argument_error("queue \"" + name + "\" has elements of " + to_string(given) + ", not of " +
                                     to_string(asked));
}

} // namespace detail

namespace untyped {

TENON_INLINE queue::queue(const any_tensor& made) : handle_(made) {
    const node* n = detail::require_node(made.node(), "queue: the tensor");
    if (n->op != &definition_of<queue_op>())
        throw invalid_argument_error(made.name() + " stands for no queue: it is made by " + shown_op(*n));
}
TENON_INLINE std::vector<tensor_type> queue::components() const {
    return handle_.node()->attributes.get<std::vector<tensor_type>>("components");
}
TENON_INLINE operation queue::enqueue(const std::vector<any_tensor>& tuple, called_from here) const {
    const making made(here);
    return operation(detail::add_use<enqueue_op>(handle_, tuple, {components()}));
}
TENON_INLINE operation queue::enqueue_many(const std::vector<any_tensor>& tuple, called_from here) const {
    const making made(here);
    return operation(detail::add_use<enqueue_many_op>(handle_, tuple, {components()}));
}
TENON_INLINE std::vector<any_tensor> queue::dequeue(called_from here) const {
    const making made(here);
    return detail::outputs_of(detail::add_use<dequeue_op>(handle_, {}, {components()}));
}
TENON_INLINE std::vector<any_tensor> queue::dequeue_many(std::int64_t n, const extents& size, called_from here) const {
    const making made(here);
    detail::require_count("dequeue_many", n, name());
    return detail::outputs_of(detail::add_use<dequeue_many_op>(handle_, {}, {components(), n, size}));
}
TENON_INLINE std::vector<any_tensor> queue::dequeue_up_to(std::int64_t n, const extents& size, called_from here) const {
    const making made(here);
    detail::require_count("dequeue_up_to", n, name());
    return detail::outputs_of(detail::add_use<dequeue_up_to_op>(handle_, {}, {components(), n, size}));
}
TENON_INLINE std::vector<any_tensor> queue::dequeue_some(std::int64_t at_least, std::int64_t at_most,
                                                         const extents& size, called_from here) const {
    const making made(here);
    if (at_least < 0 || at_most < at_least)
        throw invalid_argument_error("dequeue_some: at least " + std::to_string(at_least) + " and at most " +
                                     std::to_string(at_most) + " elements of " + name() +
                                     " cannot be dequeued; give 0 or more, and as most no fewer than as least");
    return detail::outputs_of(detail::add_use<dequeue_some_op>(handle_, {}, {components(), at_least, at_most, size}));
}
TENON_INLINE any_tensor queue::size() const { return any_tensor({detail::add_use<queue_size_op>(handle_, {}, {}), 0}); }
TENON_INLINE any_tensor queue::is_closed() const {
    return any_tensor({detail::add_use<queue_is_closed_op>(handle_, {}, {}), 0});
}
TENON_INLINE operation queue::close(bool cancel_pending_enqueues, called_from here) const {
    const making made(here);
    return operation(detail::add_use<queue_close_op>(handle_, {}, {cancel_pending_enqueues}));
}

TENON_INLINE queue fifo_queue(const std::vector<tensor_type>& components, std::int64_t capacity, const queue_options& o,
                              called_from here) {
    const making made(here);
    return queue(
        detail::add_queue({queue_op::way::fifo, components, capacity, 0, 0, o.shared_name}, o.name, "fifo_queue"));
}
TENON_INLINE queue random_shuffle_queue(const std::vector<tensor_type>& components, std::int64_t capacity,
                                        std::int64_t min_after_dequeue, const shuffle_queue_options& o,
                                        called_from here) {
    const making made(here);
    return queue(detail::add_queue({queue_op::way::random_shuffle, components, capacity, min_after_dequeue,
                                    static_cast<std::int64_t>(o.seed), o.shared_name},
                                   o.name, "random_shuffle_queue"));
}
TENON_INLINE queue padding_fifo_queue(const std::vector<tensor_type>& components, std::int64_t capacity,
                                      const queue_options& o, called_from here) {
    const making made(here);
    return queue(detail::add_queue({queue_op::way::padding_fifo, components, capacity, 0, 0, o.shared_name}, o.name,
                                   "padding_fifo_queue"));
}
TENON_INLINE queue priority_queue(const std::vector<tensor_type>& components, std::int64_t capacity,
                                  const queue_options& o, called_from here) {
    const making made(here);
    return queue(detail::add_queue({queue_op::way::priority, components, capacity, 0, 0, o.shared_name}, o.name,
                                   "priority_queue"));
}

} // namespace untyped

TENON_KERNEL(queue, detail::queue_kernel);
TENON_KERNEL(queue_size, detail::queue_size_kernel);
TENON_KERNEL(queue_is_closed, detail::queue_is_closed_kernel);
TENON_KERNEL(queue_close, detail::queue_close_kernel);
TENON_INLINE kernel_pointer enqueue_op::prepare(const kernel_setup& s) {
    return detail::prepare_waiting(s, &queue_resource::enqueue);
}
TENON_INLINE kernel_pointer enqueue_many_op::prepare(const kernel_setup& s) {
    return detail::prepare_waiting(s, &queue_resource::enqueue_many, true);
}
TENON_INLINE kernel_pointer dequeue_op::prepare(const kernel_setup& s) {
    return detail::prepare_waiting(s, &queue_resource::dequeue);
}
TENON_INLINE kernel_pointer dequeue_many_op::prepare(const kernel_setup& s) {
    return detail::prepare_waiting(
        s, [n = s.attrs.get<std::int64_t>("n")](queue_resource& q, queue_attempt& a) { q.dequeue_many(a, n); });
}
TENON_INLINE kernel_pointer dequeue_up_to_op::prepare(const kernel_setup& s) {
    return detail::prepare_waiting(
        s, [n = s.attrs.get<std::int64_t>("n")](queue_resource& q, queue_attempt& a) { q.dequeue_up_to(a, n); });
}
TENON_INLINE kernel_pointer dequeue_some_op::prepare(const kernel_setup& s) {
    const auto of = decode<attributes>(s.attrs);
    return detail::prepare_waiting(s, [least = of.at_least, most = of.at_most](queue_resource& q, queue_attempt& a) {
        q.dequeue_some(a, least, most);
    });
}

} // namespace tenon

#endif
