#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/runtime/session/session.hpp>

/// Reading: the values of a model by their names, while its nodes are added to a graph.

namespace tenon {
struct onnx_model;
struct onnx_read_options;
} // namespace tenon

namespace tenon::detail::onnx {

class importer {
public:
    importer(const onnx_read_options& o, std::string who, std::string folder, std::int64_t opset) :
        options_(o), who_(std::move(who)), folder_(std::move(folder)), opset_(opset) {}

    onnx_model read(const model_message& m);

    std::int64_t opset() const noexcept { return opset_; }
    value& find(const std::string& name);
    void set(const std::string& name, value v) { values_[name] = std::move(v); }
    void add_nodes(const graph_message& g);
    void add_initializers(const graph_message& g, bool as_variables);
    /// The value of a tensor that is computed of constants alone.
    std::optional<any_array> evaluated(const any_tensor& t);
    any_array read(const tensor_message& t) const { return read_tensor(t, who_, folder_); }

private:
    bool is_constant(node* n);
    void add_node_of(const node_message& n);
    void add_input(const value_message& v, onnx_model& to);

    const onnx_read_options& options_;
    std::string who_, folder_;
    std::int64_t opset_;
    std::unordered_map<std::string, value> values_;
    std::unordered_map<const tenon::node*, bool> constant_;
    std::unique_ptr<session> session_;
    std::vector<any_tensor> variables_;
    std::vector<std::string> refused_;              // what cannot be done, a node each
    std::unordered_map<std::string, bool> missing_; // values that nodes which were refused would give
};

/// All operators, by their names.
const std::unordered_map<std::string, handler>& operators();

} // namespace tenon::detail::onnx
