#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>

/// Writing: what the functions see that turn a node of a graph into nodes of an ONNX model (onnx_write_*.ipp). Read by .ipp files
/// only.

namespace tenon::detail::onnx {

/// The model's graph while it is put together. A value is known by its name.
class writer {
public:
    writer() = default;
    /// Of a graph of an attribute: it sees what `around` has, and no name of its own is one of that.
    explicit writer(const writer& around, int) : model_(around.model_) {}

    /// An attribute of the node that is added next.
    writer& with(const char* name, std::int64_t i);
    writer& with(const char* name, double f);
    writer& with(const char* name, const char* s);
    writer& with(const char* name, const std::vector<std::int64_t>& ints);
    writer& with_graph(const char* name, const std::string& graph);
    /// Adds a node and gives its output, or its outputs, names of their own; equal nodes of one output are one.
    std::string add(const char* op, const std::vector<std::string>& inputs);
    std::vector<std::string> add(const char* op, const std::vector<std::string>& inputs, int outputs);
    /// The same of a node that is no other's equal: it draws numbers, or gives a value a name of its own.
    std::string add_distinct(const char* op, const std::vector<std::string>& inputs);
    /// A value under a name that the model promises.
    void give_output(const std::string& x, const std::string& name) { put_node("Identity", {x}, name); }
    std::string copy_of(const std::string& x) { return add_distinct("Identity", {x}); }

    std::string initializer(const any_array& a, const std::string& wished = {});
    /// The value of a name that unused() gave.
    void put_initializer(const std::string& name, const any_array& a) {
        initializers_.emplace_back(name, tensor_bytes(name, a));
    }
    std::string integers(const std::vector<std::int64_t>& list, bool scalar = false);
    std::string number(double v, element_type e);

    /// A transposition; what another one before it undoes is left out.
    std::string transposed(const std::string& x, const std::vector<std::int64_t>& axes);
    std::string channels_first(const std::string& x) { return transposed(x, {0, 3, 1, 2}); }
    std::string channels_last(const std::string& x) { return transposed(x, {0, 2, 3, 1}); }

    /// What a node's output is called.
    const std::string& name_of(const node_output& o) const {
        const auto found = names_.find({o.node, o.index});
        if (found == names_.end())
            throw unimplemented_error("output " + std::to_string(o.index) + " of \"" + o.node->name + "\" is read");
        return found->second;
    }
    const std::string& input(const node& n, int i) const { return name_of(n.inputs[static_cast<std::size_t>(i)]); }
    void give(const node& n, std::string name, int output = 0) { names_[{&n, output}] = std::move(name); }
    bool has(const node_output& o) const { return names_.contains({o.node, o.index}); }

    /// A name that nobody else has.
    std::string unused(std::string wished);
    void reserve(const std::string& name) { model_->used.insert(name); }

    /// The operator set that is written; some operators need a later one than others.
    std::uint64_t opset() const noexcept { return model_->opset; }
    void needs_opset(std::uint64_t n) noexcept { model_->opset = std::max(model_->opset, n); }
    /// Keeps a body, whose nodes' names are kept, too.
    const body& keep(std::shared_ptr<const body> b) { return *model_->bodies.emplace_back(std::move(b)); }

    std::string nodes; ///< field 1 of GraphProto, one after another
    /// Its field 5: those that a node reads.
    std::string initializers() const;

private:
    struct whole_model {
        std::uint64_t opset = 18;
        std::set<std::string> used, read; ///< names that there are, and those that are a node's input
        std::vector<std::shared_ptr<const body>> bodies;
    };
    std::shared_ptr<whole_model> model_ = std::make_shared<whole_model>();
    void put_node(const char* op, const std::vector<std::string>& inputs, const std::string& name);
    void put_inputs(std::string& to, const std::vector<std::string>& names);
    std::vector<std::pair<std::string, std::string>> initializers_; // names, and what is written of them
    std::string attributes_;
    std::map<std::pair<const node*, int>, std::string> names_;
    std::unordered_map<std::string, std::string> made_; // a node's bytes without its output, and that
    std::map<std::string, std::pair<std::string, std::vector<std::int64_t>>> transposed_; // what came of what
};

using write_node = void (*)(writer&, const node&);
struct write_entry {
    const char* op;
    write_node write;
};
std::vector<write_entry> written_flow();
std::vector<write_entry> written_images();
std::vector<write_entry> written_indices();
std::vector<write_entry> written_layers();
std::vector<write_entry> written_shapes();
std::vector<write_entry> written_signals();
/// The elementwise op.
void write_fused(writer& w, const node& n);

/// All ops that are written, but for constants and what is another name of its input.
const std::map<std::string, write_node>& written_ops();
/// unimplemented_error, with the reason where there is more to say than that the op is not written.
void write_one(writer& w, const node& n);
/// A field of a message that is a number.
void put_number(std::string& to, std::uint32_t field, std::uint64_t value);
/// A name and a type, as graphs say what they take and give.
using declared_values = std::vector<std::pair<std::string, tensor_type>>;
std::string value_info(const std::string& name, const tensor_type& type);
/// GraphProto of what w has been given.
std::string graph_bytes(writer& w, const std::string& name, const declared_values& inputs,
                        const declared_values& outputs);

// What several of them use.

/// The size of a dimension of x, as a list of one; and all of them.
std::string size_of_axis(writer& w, const std::string& x, const extent& e, int axis);
std::string count_of(writer& w, const std::string& x, const index_list& axes); ///< along these axes, or all; one int64
std::string sizes_of(writer& w, const std::string& x, const extents& sizes);
std::string cast_to(writer& w, const std::string& x, element_type to);

} // namespace tenon::detail::onnx
