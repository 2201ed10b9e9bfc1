#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/io/records/records.hpp>
#include <tenon/ops/queue/queue.hpp>

/// Readers: records of files, whose names come from a queue (SEMANTICS 35).
///
///     tn::fifo_queue<std::string> names(32);
///     tn::text_line_reader lines({.skip_header_lines = 1});
///     auto [key, line] = lines.read(names);                   // "data/a.csv:2" and the line, a record a step
///     auto [keys, all] = lines.read_up_to<batch>(names, 100); // string[batch] each
///     tn::tf_record_reader shards({.compressed = tn::compression::gzip});
///     tn::fixed_length_record_reader images(28 * 28, {.header_bytes = 16});
///
/// A reader outlives steps and keeps its place: the next step goes on behind the record that the last one read. Once the file
/// is at its end it takes the next name from the queue, and waits while there is none: an end_of_data_error once the queue is
/// closed and empty. Steps that read at once are served one after another. A key is "file:line" of text, "file:record" of
/// others, both from 1, and "file" of whole files.
///
/// A file that cannot be opened, or is damaged, is an error that names it, once: the next read goes on with the next file, or
/// behind the damage where the format tells where that is. What came before it is given first.
///
/// A reader lives on the device of its node, what uses it runs there, and the queue of names must be there, too: a step that
/// reads places both together, and where the queue is asked for elsewhere, or an earlier step has placed it, that is an error
/// which names them. So make both inside one device scope. Paths that name no file system (has_scheme) are of
/// the machine's files, on a server below the folder that it allows (server_options::files). With a shared_name it is the
/// reader of that name in its container, for all sessions of a task; without one each session has a reader of its own.
///
/// No gradient flows through a reader.

namespace tenon {

/// A reader. Its output stands for it; the value of that is how many records it has given, which nobody needs.
struct reader_op {
    static constexpr const char* name = "reader";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    struct attributes {
        record_kind kind = record_kind::text_lines;
        compression compressed = compression::automatic;
        std::int64_t skip_header_lines = 0;
        std::int64_t header_bytes = 0, record_bytes = 0, footer_bytes = 0;
        std::int64_t largest_record = record_format().largest_record;
        bool ignore_errors = false;
        std::string shared_name;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 0) return fault::components_differ;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reader, reader);

/// in: the reader; a queue of scalar strings. A record: its key and its value, when there is one.
struct reader_read_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "reader_read";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 2 ? inferred(element_type::string, {}) : inferred(fault::expects_more_operands);
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reader, reader_read);

/// in: the reader; a queue of scalar strings. The keys and values of n records, when there are so many; of fewer, but 1 at
/// least, where the names end, or a file is damaged behind them.
struct reader_read_up_to_op : detail::waiting<detail::queue_use> {
    static constexpr const char* name = "reader_read_up_to";
    struct attributes {
        std::int64_t n = 0;
        extents count; ///< one: what the types say of how many there are, a name mostly; none: nothing
    };
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (a.count.rank() > 1) return fault::rank_too_high;
        return inferred(element_type::string, a.count.rank() == 1 ? a.count : extents(dynamic_extent));
    }
    static constexpr extents at_most(const attributes& a, type_list, int) { return {extent(a.n)}; }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reader, reader_read_up_to);

/// in: the reader. Leaves its file, and counts from 0.
struct reader_reset_op : detail::telling<detail::queue_use> {
    static constexpr const char* name = "reader_reset";
    using attributes = no_attributes;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reader, reader_reset);

/// in: the reader. How many records it has given, files it has come to the end of, or damaged records it has left out.
struct reader_count_op : detail::queue_use {
    static constexpr const char* name = "reader_count";
    enum class what { records_produced, work_units_completed, records_ignored };
    struct attributes {
        what counted = what::records_produced;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? inferred(element_type::int64, {}) : inferred(fault::expects_more_operands);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reader, reader_count);

/// Of all readers. `largest_record` is in bytes: a larger one is a resource_exhausted_error. With `ignore_errors` damaged
/// records are left out and counted, where the next can be found.
struct text_line_reader_options {
    std::int64_t skip_header_lines = 0; ///< of each file
    bool csv_rows = false;              ///< a line ends outside of quotes only (RFC 4180)
    compression compressed = compression::automatic;
    std::int64_t largest_record = record_format().largest_record;
    bool ignore_errors = false;
    std::string shared_name = {};
    std::string name = {}; ///< of the node. Empty: the kind of reader. Names of what uses it begin with it
};
struct fixed_length_record_reader_options {
    std::int64_t header_bytes = 0, footer_bytes = 0; ///< of each file, which are left out
    compression compressed = compression::automatic;
    bool ignore_errors = false;
    std::string shared_name = {};
    std::string name = {};
};
struct record_reader_options {
    compression compressed = compression::automatic;
    std::int64_t largest_record = record_format().largest_record;
    bool ignore_errors = false;
    std::string shared_name = {};
    std::string name = {};
};

namespace untyped {

/// A reader, whose results' types are not in the types: a handle on its node.
class reader {
public:
    /// The reader that a tensor of a graph stands for: reader(g.tensor("lines")). invalid_argument_error where it is none.
    explicit reader(const any_tensor& made);

    /// Key and value of a record, string []. invalid_argument_error where the queue's elements are not scalar strings.
    std::vector<any_tensor> read(const queue& names, called_from here = caller()) const;
    /// Keys and values of n records. `size`: what the types say of how many, extent::named("batch"); not given: unknown.
    std::vector<any_tensor> read_up_to(const queue& names, std::int64_t n, const extents& size = {},
                                       called_from here = caller()) const;
    operation reset(called_from here = caller()) const;
    any_tensor num_records_produced(called_from here = caller()) const;
    any_tensor num_work_units_completed(called_from here = caller()) const;
    any_tensor num_records_ignored(called_from here = caller()) const;

    record_format format() const;
    const std::string& name() const { return handle_.node()->name; }
    /// What stands for it.
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor handle_;
};

// invalid_argument_error where a reader cannot be so, naming it.
reader text_line_reader(const text_line_reader_options& o = {}, called_from here = caller());
reader whole_file_reader(const record_reader_options& o = {}, called_from here = caller());
reader fixed_length_record_reader(std::int64_t record_bytes, const fixed_length_record_reader_options& o = {},
                                  called_from here = caller());
reader tf_record_reader(const record_reader_options& o = {}, called_from here = caller());
reader idx_reader(const record_reader_options& o = {}, called_from here = caller());
reader npy_reader(const record_reader_options& o = {}, called_from here = caller());

} // namespace untyped

/// A reader: what all kinds of them do.
class reader {
public:
    using record = std::tuple<tensor<std::string, shape<>>, tensor<std::string, shape<>>>;

    explicit reader(const untyped::reader& r) : reader_(r) {}

    /// Key and value of the next record, of the files whose names the queue gives.
    template <class... C> record read(const queue<C...>& names, called_from here = caller()) const {
        const making made(here);
        if constexpr (!of_names<C...>()) return {};
        else return pair<shape<>>(reader_.read(names.untyped()));
    }
    /// Keys and values of n records, or of what is left, but 1 at least, once the queue is closed and empty.
    template <auto Size = dyn, class... C>
    auto read_up_to(const queue<C...>& names, std::int64_t n, called_from here = caller()) const {
        const making made(here);
        static_assert(!detail::is_count<Size>, "tenon::read_up_to: how many it gives is known in the step; write "
                                               "read_up_to(names, 32), or read_up_to<batch>(names, 32)");
        using sizes = typename detail::stacked_shape<Size, shape<>>::type;
        constexpr extent said = detail::extent_of<Size>();
        if constexpr (!of_names<C...>()) return std::tuple<ill_shaped, ill_shaped>();
        else return pair<sizes>(reader_.read_up_to(names.untyped(), n, said.is_named() ? extents(said) : extents()));
    }
    /// An operation: the file that is being read is left, and counts begin at 0.
    operation reset() const { return reader_.reset(); }
    /// Records that were given, files whose ends were met, and damaged records that were left out (ignore_errors).
    tensor<std::int64_t, shape<>> num_records_produced() const { return number(reader_.num_records_produced()); }
    tensor<std::int64_t, shape<>> num_work_units_completed() const {
        return number(reader_.num_work_units_completed());
    }
    tensor<std::int64_t, shape<>> num_records_ignored() const { return number(reader_.num_records_ignored()); }

    const std::string& name() const { return reader_.name(); }
    const untyped::reader& untyped() const noexcept { return reader_; }

private:
    template <class... C> static constexpr bool of_names() {
        if constexpr (sizeof...(C) == 1) {
            constexpr bool texts =
                (std::is_same_v<detail::component_t<C>, detail::operand_type<std::string, shape<>>> && ...);
            static_assert(texts, "tenon::reader: file names come from a queue of scalar texts: queue<std::string>");
            return texts;
        } else {
            static_assert(detail::is_mistake<C...>,
                          "tenon::reader: file names come from a queue of scalar texts: queue<std::string>");
            return false;
        }
    }
    template <class S>
    static std::tuple<tensor<std::string, S>, tensor<std::string, S>> pair(const std::vector<any_tensor>& parts) {
        using text = tensor<std::string, S>;
        return {text::unchecked(parts[0]), text::unchecked(parts[1])};
    }
    static tensor<std::int64_t, shape<>> number(const any_tensor& t) {
        return tensor<std::int64_t, shape<>>::unchecked(t);
    }

    untyped::reader reader_;
};

/// Lines of text, without their ends ("\n" or "\r\n").
class text_line_reader : public reader {
public:
    explicit text_line_reader(const text_line_reader_options& o = {}) : reader(untyped::text_line_reader(o)) {}
    TENON_OTHER_BRACES(explicit text_line_reader(detail::other_braces_than<text_line_reader_options, N>&));
    TENON_OTHER_ARGUMENT(text_line_reader, options_in_braces_its_files_names_come_from_a_queue);
};

/// Each file is one record.
class whole_file_reader : public reader {
public:
    explicit whole_file_reader(const record_reader_options& o = {}) : reader(untyped::whole_file_reader(o)) {}
    TENON_OTHER_BRACES(explicit whole_file_reader(detail::other_braces_than<record_reader_options, N>&));
    TENON_OTHER_ARGUMENT(whole_file_reader, options_in_braces_its_files_names_come_from_a_queue);
};

/// Records of so many bytes each, between a header and a footer of the file.
class fixed_length_record_reader : public reader {
public:
    explicit fixed_length_record_reader(std::int64_t record_bytes, const fixed_length_record_reader_options& o = {}) :
        reader(untyped::fixed_length_record_reader(record_bytes, o)) {}
    TENON_OTHER_BRACES(fixed_length_record_reader(std::int64_t,
                                                  detail::other_braces_than<fixed_length_record_reader_options, N>&));
    TENON_OTHER_ARGUMENTS(fixed_length_record_reader, fixed_length_record_reader_options,
                          the_bytes_of_a_record_then_options_in_braces);
};

/// Records of TFRecord files, whose checksums are looked at.
class tf_record_reader : public reader {
public:
    explicit tf_record_reader(const record_reader_options& o = {}) : reader(untyped::tf_record_reader(o)) {}
    TENON_OTHER_BRACES(explicit tf_record_reader(detail::other_braces_than<record_reader_options, N>&));
    TENON_OTHER_ARGUMENT(tf_record_reader, options_in_braces_its_files_names_come_from_a_queue);
};

/// Elements along dimension 0 of IDX files, as they are stored.
class idx_reader : public reader {
public:
    explicit idx_reader(const record_reader_options& o = {}) : reader(untyped::idx_reader(o)) {}
    TENON_OTHER_BRACES(explicit idx_reader(detail::other_braces_than<record_reader_options, N>&));
    TENON_OTHER_ARGUMENT(idx_reader, options_in_braces_its_files_names_come_from_a_queue);
};

/// Elements along dimension 0 of .npy files, as they are stored (decode_raw is told the byte order). Those
/// stored by columns, of more than one dimension, are an unimplemented_error.
class npy_reader : public reader {
public:
    explicit npy_reader(const record_reader_options& o = {}) : reader(untyped::npy_reader(o)) {}
    TENON_OTHER_BRACES(explicit npy_reader(detail::other_braces_than<record_reader_options, N>&));
    TENON_OTHER_ARGUMENT(npy_reader, options_in_braces_its_files_names_come_from_a_queue);
};

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_reader)

#include <tenon/graph/graph_state.inl>
#include <tenon/ops/input/reader.inl>

namespace tenon {

namespace detail {

inline any_tensor add_reader(const record_format& f, const std::string& shared_name, const std::string& name,
                             const char* kind) {
    const std::string shown = name.empty() ? kind : name;
    check_format("reader \"" + (shared_name.empty() ? shown : shared_name) + "\"", f);
    const no_controls apart;
    return tenon::add<reader_op>({f.kind, f.compressed, f.skip_header_lines, f.header_bytes, f.record_bytes,
                                  f.footer_bytes, f.largest_record, f.ignore_errors, shared_name},
                                 {}, shown);
}

// Its name begins with the reader's: "lines/read".
template <class Op>
std::vector<any_tensor> add_reader_use(const any_tensor& reader, const char* name, const typename Op::attributes& a,
                                       const untyped::queue* names = nullptr) {
    std::vector<any_tensor> inputs{reader};
    const owned_scope there(reader);
    if (!names) {
        node* const n = add_node(definition_of<Op>(), std::move(inputs), encode(a), name);
        return n->outputs.empty() ? std::vector<any_tensor>() : std::vector<any_tensor>{any_tensor({n, 0})};
    }
    if (names->components() != std::vector<tensor_type>{{element_type::string, {}}})
        throw invalid_argument_error("reader \"" + reader.node()->name +
                                     "\": file names are scalar strings, and queue \"" + names->name() +
                                     "\" has elements of " + to_string(names->components()));
    inputs.push_back(names->handle());
    const auto with = colocate_with(names->handle());
    node* const n = add_node(definition_of<Op>(), std::move(inputs), encode(a), name);
    return {any_tensor({n, 0}), any_tensor({n, 1})};
}

} // namespace detail

namespace untyped {

TENON_INLINE reader::reader(const any_tensor& made) : handle_(made) {
    const node* n = detail::require_node(made.node(), "reader: the tensor");
    if (n->op != &definition_of<reader_op>())
        throw invalid_argument_error(made.name() + " stands for no reader: it is made by " + shown_op(*n));
}
TENON_INLINE record_format reader::format() const {
    return detail::format_of(decode<reader_op::attributes>(handle_.node()->attributes));
}
TENON_INLINE std::vector<any_tensor> reader::read(const queue& names, called_from here) const {
    const making made(here);
    return detail::add_reader_use<reader_read_op>(handle_, "read", {}, &names);
}
TENON_INLINE std::vector<any_tensor> reader::read_up_to(const queue& names, std::int64_t n, const extents& size,
                                                        called_from here) const {
    const making made(here);
    if (n < 0)
        throw invalid_argument_error("read_up_to: " + std::to_string(n) + " records of " + name() +
                                     " cannot be read; give 0 or more");
    return detail::add_reader_use<reader_read_up_to_op>(handle_, "read_up_to", {n, size}, &names);
}
TENON_INLINE operation reader::reset(called_from here) const {
    const making made(here);
    const detail::owned_scope there(handle_);
    return operation(add_node(definition_of<reader_reset_op>(), {handle_}, encode(no_attributes()), "reset"));
}
TENON_INLINE any_tensor reader::num_records_produced(called_from here) const {
    const making made(here);
    return detail::add_reader_use<reader_count_op>(handle_, "num_records_produced",
                                                   {reader_count_op::what::records_produced})[0];
}
TENON_INLINE any_tensor reader::num_work_units_completed(called_from here) const {
    const making made(here);
    return detail::add_reader_use<reader_count_op>(handle_, "num_work_units_completed",
                                                   {reader_count_op::what::work_units_completed})[0];
}
TENON_INLINE any_tensor reader::num_records_ignored(called_from here) const {
    const making made(here);
    return detail::add_reader_use<reader_count_op>(handle_, "num_records_ignored",
                                                   {reader_count_op::what::records_ignored})[0];
}

TENON_INLINE reader text_line_reader(const text_line_reader_options& o, called_from here) {
    const making made(here);
    record_format f;
    f.kind = o.csv_rows ? record_kind::csv_lines : record_kind::text_lines;
    f.compressed = o.compressed;
    f.skip_header_lines = o.skip_header_lines;
    f.largest_record = o.largest_record;
    f.ignore_errors = o.ignore_errors;
    return reader(detail::add_reader(f, o.shared_name, o.name, "text_line_reader"));
}
TENON_INLINE reader fixed_length_record_reader(std::int64_t record_bytes, const fixed_length_record_reader_options& o,
                                               called_from here) {
    const making made(here);
    record_format f;
    f.kind = record_kind::fixed_length;
    f.compressed = o.compressed;
    f.header_bytes = o.header_bytes;
    f.record_bytes = record_bytes;
    f.footer_bytes = o.footer_bytes;
    f.ignore_errors = o.ignore_errors;
    return reader(detail::add_reader(f, o.shared_name, o.name, "fixed_length_record_reader"));
}
TENON_INLINE reader whole_file_reader(const record_reader_options& o, called_from here) {
    const making made(here);
    return reader(
        detail::add_reader(detail::format_of(record_kind::whole_file, o), o.shared_name, o.name, "whole_file_reader"));
}
TENON_INLINE reader tf_record_reader(const record_reader_options& o, called_from here) {
    const making made(here);
    return reader(
        detail::add_reader(detail::format_of(record_kind::tfrecord, o), o.shared_name, o.name, "tf_record_reader"));
}
TENON_INLINE reader idx_reader(const record_reader_options& o, called_from here) {
    const making made(here);
    return reader(detail::add_reader(detail::format_of(record_kind::idx, o), o.shared_name, o.name, "idx_reader"));
}
TENON_INLINE reader npy_reader(const record_reader_options& o, called_from here) {
    const making made(here);
    return reader(detail::add_reader(detail::format_of(record_kind::npy, o), o.shared_name, o.name, "npy_reader"));
}

} // namespace untyped

TENON_KERNEL(reader, detail::reader_kernel);
TENON_KERNEL(reader_reset, detail::reader_reset_kernel);
TENON_KERNEL(reader_count, detail::reader_count_kernel);
TENON_INLINE kernel_pointer reader_read_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::reading_kernel>(s, -1);
}
TENON_INLINE kernel_pointer reader_read_up_to_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::reading_kernel>(s, s.attrs.get<std::int64_t>("n"));
}

} // namespace tenon

#endif
