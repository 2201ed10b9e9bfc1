#pragma once

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/input/epochs.hpp>
#include <tenon/train/input/producers.hpp>

namespace tenon {

namespace detail {

inline untyped::queue producer_queue(const tensor_type& component, const char* kind, const producer_options& o) {
    if (o.num_epochs < 0)
        throw invalid_argument_error(std::string(kind) + ": num_epochs is " + std::to_string(o.num_epochs) +
                                     "; give 1 or more, or 0 for no end");
    return untyped::fifo_queue({component}, o.capacity,
                               {.shared_name = o.shared_name, .name = o.name.empty() ? kind : o.name});
}

// The numbers of the elements of x along dimension 0.
inline any_tensor order_of(const any_tensor& x, const producer_options& o) {
    epoch_order_op::attributes a{0, o.num_epochs, o.shuffle, static_cast<std::int64_t>(o.seed)};
    if (!x.extents()[0].is_number()) return tenon::add<epoch_order_op>(a, {x});
    a.limit = x.extents()[0].size;
    return tenon::add<epoch_order_op>(a, {});
}

inline void require_elements(const any_tensor& x, const char* kind) {
    if (!x.node()) throw invalid_argument_error(std::string(kind) + ": the tensor is empty");
    if (x.rank() < 1)
        throw invalid_argument_error(std::string(kind) + ": elements are taken along dimension 0, and " + x.name() +
                                     " has none");
    if (x.extents()[0].is_number() && x.extents()[0].size < 1)
        throw invalid_argument_error(std::string(kind) + ": " + x.name() + ", " +
                                     to_string(tensor_type{x.element(), x.extents()}) + ", has no elements");
}

inline untyped::queue elements_of(const any_tensor& x, const char* kind, const producer_options& o) {
    require_elements(x, kind);
    extents sizes = x.extents();
    sizes.erase(0);
    const untyped::queue q = producer_queue({x.element(), sizes}, kind, o);
    const owned_scope there(q.handle());
    add_queue_runner(queue_runner(q, q.enqueue_many({untyped::gather(x, order_of(x, o), 0)}), 1));
    return q;
}

} // namespace detail

namespace untyped {

TENON_INLINE queue input_producer(const any_tensor& x, const producer_options& o) {
    return detail::elements_of(x, "input_producer", o);
}
TENON_INLINE queue string_input_producer(const any_tensor& texts, const producer_options& o) {
    if (texts.node() && (texts.element() != element_type::string || texts.rank() != 1))
        throw invalid_argument_error("string_input_producer: texts are string[n], and " + texts.name() + " is " +
                                     to_string(tensor_type{texts.element(), texts.extents()}));
    return detail::elements_of(texts, "string_input_producer", o);
}
TENON_INLINE queue string_input_producer(const std::vector<std::string>& texts, const producer_options& o) {
    any_array all(element_type::string, {static_cast<std::int64_t>(texts.size())});
    std::copy(texts.begin(), texts.end(), all.data<std::string>());
    return string_input_producer(constant(std::move(all)), o);
}
TENON_INLINE queue range_input_producer(std::int64_t limit, const producer_options& o) {
    if (limit < 1)
        throw invalid_argument_error("range_input_producer: there are no numbers below " + std::to_string(limit) +
                                     "; give 1 or more");
    const queue q = detail::producer_queue({element_type::int64, {}}, "range_input_producer", o);
    const detail::owned_scope there(q.handle());
    const any_tensor order =
        tenon::add<epoch_order_op>({limit, o.num_epochs, o.shuffle, static_cast<std::int64_t>(o.seed)}, {});
    add_queue_runner(queue_runner(q, q.enqueue_many({order}), 1));
    return q;
}
TENON_INLINE std::vector<any_tensor> slice_input_producer(const std::vector<any_tensor>& tensors,
                                                          const producer_options& o, called_from here) {
    const making made(here);
    const char* const kind = "slice_input_producer";
    if (tensors.empty()) throw invalid_argument_error(std::string(kind) + ": give one tensor at least");
    const any_tensor* sized = nullptr; // one whose size is known
    for (const any_tensor& x : tensors) {
        detail::require_elements(x, kind);
        if (!sized || x.extents()[0].is_number()) sized = &x;
    }
    for (const any_tensor& x : tensors)
        if (equal_sizes(sized->extents()[0], x.extents()[0]).what != fault::none)
            throw invalid_argument_error(std::string(kind) + ": " + sized->name() + ", " + to_string(sized->extents()) +
                                         ", and " + x.name() + ", " + to_string(x.extents()) +
                                         ", have not the same number of elements");
    const queue q = detail::producer_queue({element_type::int64, {}}, kind, o);
    any_tensor row;
    {
        const detail::owned_scope there(q.handle());
        add_queue_runner(queue_runner(q, q.enqueue_many({detail::order_of(*sized, o)}), 1));
        row = q.dequeue()[0];
    }
    std::vector<any_tensor> slices;
    for (const any_tensor& x : tensors) slices.push_back(gather(x, row, 0));
    return slices;
}

} // namespace untyped

} // namespace tenon
