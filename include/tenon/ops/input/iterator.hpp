#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/op/resource_op.hpp>
#include <tenon/ops/queue/queue.hpp>

/// Places in data sets, as graphs have them: each step that asks gets the next element (SEMANTICS 38). data/iterator.hpp has those
/// whose types are known.
///
/// An iterator lives on the device of its node, in the host's memory. With a shared_name it is the iterator of that name in the container
/// (container_scope) that it was made in, for all sessions of a task; without one each session has one of its own. A data set
/// is a program's, and runs there: a graph refers to it, and the task that the program's session is on asks for its elements. There
/// the iterator is, where nothing pins it. No gradient flows through.

namespace tenon {

class element_source;

/// An iterator. Its output stands for it; the value of that is how many components its elements have.
struct iterator_op {
    static constexpr const char* name = "iterator";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource | op_flags::of_program;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::vector<tensor_type> components;
        std::string shared_name;
        std::int64_t source = 0; ///< the number of the data set that it begins with; 0: it has to be initialised
    };
    static inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 0 || a.components.empty()) return fault::components_differ;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator);

namespace detail {

struct iterator_use : resource_use {
    static constexpr const char* of_kind = "iterator_";
};

} // namespace detail

/// in: the iterator. It goes through a data set from its beginning.
struct iterator_initialize_op : detail::telling<detail::iterator_use> {
    static constexpr const char* name = "iterator_initialize";
    struct attributes {
        std::int64_t source = 0; ///< the data set's number
    };
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_initialize);

/// in: the iterator. The components of the next element.
struct iterator_get_next_op : detail::waiting<detail::iterator_use> {
    static constexpr const char* name = "iterator_get_next";
    using attributes = detail::queue_components;
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1 || a.components.empty()) return fault::components_differ;
        return a.components[static_cast<std::size_t>(output)];
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_get_next);

/// in: a text that iterator_handle gave. The components of the next element of that iterator.
struct iterator_next_of_op {
    static constexpr const char* name = "iterator_next_of";
    static constexpr element_types gpu_types = no_elements;
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits;
    using attributes = detail::queue_components;
    static constexpr char no_handle[] = "an iterator's handle is one text, as string_handle() gives it";
    static int outputs(const attributes& a, int) { return static_cast<int>(a.components.size()); }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1 || a.components.empty()) return fault::components_differ;
        if (in[0].element != element_type::string || in[0].extents.rank() != 0) return no_handle;
        return a.components[static_cast<std::size_t>(output)];
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_next_of);

/// in: the iterator. A text by which other steps of the task find it.
struct iterator_handle_op : detail::asking<detail::iterator_use, element_type::string> {
    static constexpr const char* name = "iterator_handle";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_handle);

/// in: the iterator. A text that iterator_restore takes: where it is.
struct iterator_save_op : detail::asking<detail::waiting<detail::iterator_use>, element_type::string> {
    static constexpr const char* name = "iterator_save";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_save);

/// in: the iterator; a text that iterator_save gave. It goes on from there.
struct iterator_restore_op : detail::iterator_use {
    static constexpr const char* name = "iterator_restore";
    using attributes = no_attributes;
    static constexpr char no_place[] = "where an iterator is must be one text, as save() gives it";
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[1].element != element_type::string || in[1].extents.rank() != 0) return no_place;
        return fault::none;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_restore);

/// in: the iterator. What its steps took, a text for people (tenon::data_report).
struct iterator_report_op : detail::asking<detail::iterator_use, element_type::string> {
    static constexpr const char* name = "iterator_report";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(iterator, iterator_report);

/// The collection of the iterators of a graph, which savers save.
inline constexpr const char* iterators = "iterators";

struct iterator_options {
    /// Iterators of one shared_name in one container of a task are one iterator. Empty: a session's own.
    std::string shared_name = {};
    /// Of the node. Empty: "iterator". Names of what uses it begin with it.
    std::string name = {};
};

namespace untyped {

/// An iterator whose components are known at run time only: a handle on its node. The functions say what those of
/// tenon::iterator say.
class iterator {
public:
    /// One that goes through `first` from its beginning; nullptr: that has to be initialised.
    iterator(const std::vector<tensor_type>& components, const std::shared_ptr<const element_source>& first,
             const iterator_options& o = {});
    /// The iterator that a tensor of a graph stands for. invalid_argument_error where it is none.
    explicit iterator(const any_tensor& made);

    /// The same tensors each time.
    std::vector<any_tensor> get_next(called_from here = caller()) const;
    operation make_initializer(const std::shared_ptr<const element_source>& source, called_from here = caller()) const;
    any_tensor string_handle(called_from here = caller()) const;
    any_tensor save(called_from here = caller()) const;
    operation restore(const any_tensor& state, called_from here = caller()) const;
    any_tensor report(called_from here = caller()) const;

    std::vector<tensor_type> components() const;
    const std::string& name() const { return handle_.node()->name; }
    /// What stands for it.
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor handle_;
};

/// The next element of the iterator whose string_handle() has this value.
std::vector<any_tensor> next_of_handle(const any_tensor& string_handle, const std::vector<tensor_type>& components,
                                       called_from here = caller());

} // namespace untyped
} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_iterator)

#include <tenon/graph/attachments.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/input/iterator.inl>

namespace tenon {

namespace detail {

// The graph keeps the data set that it refers to.
inline std::int64_t number_in(const graph& g, const std::shared_ptr<const element_source>& source) {
    if (!source) return 0;
    attach(g, source);
    return static_cast<std::int64_t>(source_number(source));
}

} // namespace detail

namespace untyped {

TENON_INLINE iterator::iterator(const std::vector<tensor_type>& components,
                                const std::shared_ptr<const element_source>& first, const iterator_options& o) {
    if (components.empty()) throw invalid_argument_error("iterator: its elements have no components; give their types");
    graph g = graph::current();
    const detail::no_controls apart;
    handle_ = tenon::add<iterator_op>({components, o.shared_name, detail::number_in(g, first)}, {},
                                      o.name.empty() ? "iterator" : o.name);
    g.add_to_collection(iterators, handle_);
}
TENON_INLINE iterator::iterator(const any_tensor& made) : handle_(made) {
    const node* n = detail::require_node(made.node(), "iterator: the tensor");
    if (n->op != &definition_of<iterator_op>())
        throw invalid_argument_error(made.name() + " stands for no iterator: it is made by " + shown_op(*n));
}
TENON_INLINE std::vector<tensor_type> iterator::components() const {
    return handle_.node()->attributes.get<std::vector<tensor_type>>("components");
}
TENON_INLINE std::vector<any_tensor> iterator::get_next(called_from here) const {
    const making made(here);
    // Asked again it is the same node: one element a step, however often it is asked for.
    graph g(handle_.node()->graph);
    const std::string elements = "elements of " + name();
    const std::vector<any_tensor> asked = g.collection(elements);
    if (!asked.empty()) return detail::outputs_of(asked.front().node());
    const detail::no_controls apart;
    node* const n = detail::add_use<iterator_get_next_op>(handle_, {}, {components()});
    g.add_to_collection(elements, any_tensor(node_output{n, 0}));
    return detail::outputs_of(n);
}
TENON_INLINE operation iterator::make_initializer(const std::shared_ptr<const element_source>& source,
                                                  called_from here) const {
    const making made(here);
    if (!source) throw invalid_argument_error(name() + ": there is no data set to initialise it with");
    if (source->components() != components())
        throw invalid_argument_error("iterator \"" + name() + "\" has elements of " + to_string(components()) +
                                     ", and a data set of " + to_string(source->components()) + " is given to it");
    const std::int64_t number = detail::number_in(graph(handle_.node()->graph), source);
    return operation(detail::add_use<iterator_initialize_op>(handle_, {}, {number}));
}
TENON_INLINE any_tensor iterator::string_handle(called_from here) const {
    const making made(here);
    return any_tensor({detail::add_use<iterator_handle_op>(handle_, {}, {}), 0});
}
TENON_INLINE any_tensor iterator::save(called_from here) const {
    const making made(here);
    return any_tensor({detail::add_use<iterator_save_op>(handle_, {}, {}), 0});
}
TENON_INLINE operation iterator::restore(const any_tensor& state, called_from here) const {
    const making made(here);
    return operation(detail::add_use<iterator_restore_op>(handle_, {state}, {}));
}
TENON_INLINE any_tensor iterator::report(called_from here) const {
    const making made(here);
    return any_tensor({detail::add_use<iterator_report_op>(handle_, {}, {}), 0});
}

TENON_INLINE std::vector<any_tensor> next_of_handle(const any_tensor& string_handle,
                                                    const std::vector<tensor_type>& components, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(definition_of<iterator_next_of_op>(), {string_handle},
                                       encode(iterator_next_of_op::attributes{components}), "next_of_handle"));
}

} // namespace untyped

TENON_KERNEL(iterator, detail::iterator_kernel);
TENON_KERNEL(iterator_initialize, detail::iterator_initialize_kernel);
TENON_KERNEL(iterator_get_next, detail::iterator_next_kernel);
TENON_KERNEL(iterator_next_of, detail::iterator_next_of_kernel);
TENON_KERNEL(iterator_handle, detail::iterator_handle_kernel);
TENON_KERNEL(iterator_save, detail::iterator_save_kernel);
TENON_KERNEL(iterator_restore, detail::iterator_restore_kernel);
TENON_KERNEL(iterator_report, detail::iterator_report_kernel);

} // namespace tenon

#endif
