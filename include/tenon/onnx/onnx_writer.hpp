#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/node.hpp>

/// Writing: what the functions see that turn a node of a graph into nodes of an ONNX model (onnx_write_*.ipp). Read by .ipp files
/// only.

namespace tenon::detail::onnx {

/// The model's graph while it is put together. A value is known by its name.
class writer {
public:
    /// An attribute of the node that is added next.
    writer& with(const char* name, std::int64_t i);
    writer& with(const char* name, double f);
    writer& with(const char* name, const char* s);
    writer& with(const char* name, const std::vector<std::int64_t>& ints);
    /// Adds a node and gives its output, or its outputs, names of their own; equal nodes of one output are one.
    std::string add(const char* op, const std::vector<std::string>& inputs);
    std::vector<std::string> add(const char* op, const std::vector<std::string>& inputs, int outputs);

    std::string initializer(const any_array& a, const std::string& wished = {});
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
    void reserve(const std::string& name) { used_.insert(name); }

    std::string nodes, initializers; ///< fields 1 and 5 of GraphProto, one after another

private:
    std::string attributes_;
    std::map<std::pair<const node*, int>, std::string> names_;
    std::set<std::string> used_;
    std::unordered_map<std::string, std::string> made_; // a node's bytes without its output, and that
    std::map<std::string, std::pair<std::string, std::vector<std::int64_t>>> transposed_; // what came of what
};

using write_node = void (*)(writer&, const node&);
struct write_entry {
    const char* op;
    write_node write;
};
std::vector<write_entry> written_layers();
std::vector<write_entry> written_shapes();
/// The elementwise op.
void write_fused(writer& w, const node& n);

} // namespace tenon::detail::onnx
