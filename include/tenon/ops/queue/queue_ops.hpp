#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/graph/tensor.hpp>
#include <tenon/op/resource_op.hpp>

/// The ops of queues, which ops/queue/queue.hpp makes nodes of.

namespace tenon {

/// A queue. Its output stands for it; the value of that is its capacity, which nobody needs.
struct queue_op {
    static constexpr const char* name = "queue";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    enum class way { fifo, random_shuffle, padding_fifo, priority };
    struct attributes {
        way how = way::fifo;
        std::vector<tensor_type> components;
        std::int64_t capacity = 1;
        std::int64_t min_after_dequeue = 0;
        std::int64_t seed = 0;
        std::string shared_name;
    };
    static inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 0 || a.components.empty()) return fault::components_differ;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, queue);

namespace detail {

/// What is enqueued as a component, of an element or, where it is `many`, of elements along a dimension 0.
constexpr fault misfit_of_component(const tensor_type& component, const tensor_type& value, bool many) {
    extents declared = component.extents;
    if (many) declared.insert(0, dynamic_extent);
    if (declared.overfull()) return fault::too_many_dimensions;
    return component.element == value.element && equal_shapes(declared, value.extents).what == fault::none
               ? fault::none
               : fault::value_does_not_fit_component;
}

/// in: the queue; what is enqueued.
inline fault misfit_of_tuple(const std::vector<tensor_type>& components, type_list in, bool many) {
    if (components.empty() || in.size() != static_cast<int>(components.size()) + 1) return fault::components_differ;
    for (int i = 1; i < in.size(); ++i) {
        tensor_type component = components[static_cast<std::size_t>(i - 1)];
        for (int d = 0, at = many ? 1 : 0; d < component.extents.rank() && at < in[i].extents.rank(); ++d, ++at)
            if (component.extents[d].is_named() && in[i].extents[at].is_number())
                component.extents[d] = in[i].extents[at]; // in a step a name is a number
        if (const fault f = misfit_of_component(component, in[i], many); f != fault::none) return f;
    }
    if (!many) return fault::none;
    extent rows = in[1].extents[0]; // as much as those before say, whatever stands between
    for (int i = 2; i < in.size(); ++i) {
        const merged_extent m = equal_sizes(rows, in[i].extents[0]);
        if (m.what != fault::none) return m.what;
        rows = m.size;
    }
    return fault::none;
}

/// Attributes of what uses a queue: the types of its components.
struct queue_components {
    std::vector<tensor_type> components;
};

struct queue_use : resource_use {
    static constexpr const char* of_kind = "queue_";
};

} // namespace detail

/// in: the queue; a tensor a component. Adds an element, when there is room.
struct enqueue_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "enqueue";
    static constexpr op_flags flags = waiting::flags | op_flags::keeps;
    using attributes = detail::queue_components;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static inferred infer(const attributes& a, type_list in, int) {
        return detail::misfit_of_tuple(a.components, in, false);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, enqueue);

/// in: the queue; a tensor a component, of one dimension more, which is as long in all of them. Adds an element for each
/// index of that dimension, one after another, as there is room.
struct enqueue_many_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "enqueue_many";
    using attributes = detail::queue_components;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static inferred infer(const attributes& a, type_list in, int) {
        return detail::misfit_of_tuple(a.components, in, true);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, enqueue_many);

/// in: the queue. The components of an element, when there is one.
struct dequeue_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "dequeue";
    using attributes = detail::queue_components;
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1 || a.components.empty()) return fault::components_differ;
        return a.components[static_cast<std::size_t>(output)];
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, dequeue);

/// in: the queue. The components of n elements, each stacked along a new dimension 0, when there are so many.
struct dequeue_many_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "dequeue_many";
    struct attributes {
        std::vector<tensor_type> components;
        std::int64_t n = 0;
        extents count; ///< one: what the types say of how many there are, a name mostly; none: n, or of "up to" nothing
    };
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) { return stacked(a, in, output, extent(a.n)); }
    static void of_before(const graph&, node& n) {
        if (n.attributes.find("size")) n.attributes = renamed(n.attributes, {{"count", "n"}, {"size", "count"}});
    }
    static kernel_pointer prepare(const kernel_setup& s);

    /// The sizes of a component of so many elements.
    template <class A> static extents most(const A& a, int output, std::int64_t n) {
        extents sizes = a.components[static_cast<std::size_t>(output)].extents;
        sizes.insert(0, extent(n));
        return sizes;
    }
    static extents at_most(const attributes& a, type_list, int output) { return most(a, output, a.n); }
    /// The type of a component of so many elements.
    static inferred stacked(const attributes& a, type_list in, int output, const extent& many) {
        if (in.size() != 1 || a.components.empty()) return fault::components_differ;
        if (a.count.rank() > 1) return fault::rank_too_high;
        const tensor_type& component = a.components[static_cast<std::size_t>(output)];
        extents sizes = component.extents;
        sizes.insert(0, a.count.rank() == 1 ? a.count[0] : many);
        return inferred(component.element, sizes);
    }
};
TENON_OP(queue, dequeue_many);

/// The same; of a closed queue that has fewer also those, but 1.
struct dequeue_up_to_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "dequeue_up_to";
    using attributes = dequeue_many_op::attributes;
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        return dequeue_many_op::stacked(a, in, output, dynamic_extent);
    }
    static extents at_most(const attributes& a, type_list, int output) { return dequeue_many_op::most(a, output, a.n); }
    static void of_before(const graph& to, node& n) { dequeue_many_op::of_before(to, n); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, dequeue_up_to);

/// in: the queue. The components of as many elements as are there, but at_most, once they are at_least; of a closed queue that
/// has fewer also those, but 1.
struct dequeue_some_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "dequeue_some";
    struct attributes {
        std::vector<tensor_type> components;
        std::int64_t at_least = 0, at_most = 0;
        extents count; ///< one: what the types say of how many it gives, a name mostly; none: nothing
    };
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        return dequeue_many_op::stacked({a.components, 0, a.count}, in, output, dynamic_extent);
    }
    static extents at_most(const attributes& a, type_list, int output) {
        return dequeue_many_op::most(a, output, a.at_most);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, dequeue_some);

/// in: the queue. How many elements can be taken.
struct queue_size_op : detail::asking<detail::queue_use, element_type::int64> {
    static constexpr const char* name = "queue_size";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, queue_size);

/// in: the queue. Whether it is closed.
struct queue_is_closed_op : detail::asking<detail::queue_use, element_type::boolean> {
    static constexpr const char* name = "queue_is_closed";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, queue_is_closed);

/// in: the queue. Closes it.
struct queue_close_op : detail::telling<detail::queue_use> {
    static constexpr const char* name = "queue_close";
    struct attributes {
        bool cancel_pending_enqueues = false;
    };
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(queue, queue_close);

} // namespace tenon
