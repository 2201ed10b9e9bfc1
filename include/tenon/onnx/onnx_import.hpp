#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
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
    void set(const std::string& name, value v);
    void add_nodes(const graph_message& g);
    void add_initializers(const graph_message& g, bool as_variables);
    /// A graph of an attribute, in the graph in scope.
    std::vector<value> add_graph(const graph_message& g, const std::vector<value>& inputs);
    bool tried(function_ref<void()> f);
    extent named(const std::string& text);
    /// The value of a tensor that is computed of constants alone.
    std::optional<any_array> evaluated(const any_tensor& t);
    std::optional<std::pair<any_tensor, int>> with_size(const call& c, const extent& e);
    std::optional<extent> name_of_input(const size_sum& s) const;
    void name_size(value& v, const std::string& of, int axis);
    /// Gives the sizes of a list that are computed in the step names, and tensors that have them.
    void name_computed(const call& c, value& v, const std::string& of);
    /// Makes a tensor that has size e: as many elements as n, an int64 of no dimensions, says.
    void count(const extent& e, const any_tensor& n);
    /// "of.2", as nothing else is called.
    extent free_name(const std::string& of, int at);
    /// Whether it is computed of what has as many elements as values say. Not of what stands around a body.
    bool is_found(node* n);
    bool in_body() const { return levels_.size() > 1; }
    any_array read(const tensor_message& t) const { return read_tensor(t, who_, folder_); }

private:
    // A graph while nodes are added to it.
    struct level {
        graph of = graph::current();
        std::unique_ptr<session> runs; // what is constant in it
        std::unordered_map<const tenon::node*, bool> constant;
        std::vector<std::pair<std::string, std::optional<value>>> before; // what names stood for around it
    };
    // Enters the graph in scope where it is another one, which is a body's, and leaves it.
    class inner_level;

    level& level_of(const node& n);
    bool is_constant(level& in, node* n);
    // Whether `is` holds of a node and of all that it is computed of.
    static bool all_of(std::unordered_map<const tenon::node*, bool>& known, node* n,
                       function_ref<bool(const node&)> is);
    void add_node_of(const node_message& n);
    void add_function(const function_message& f, const node_message& n);
    void bind_names(const value_message& v);
    extent size_called(const std::string& name);
    any_tensor solved_for(const call& c, const std::multiset<std::string>& name);
    void add_input(const value_message& v, onnx_model& to);
    any_tensor with_names_of(const value_message& v, any_tensor t);

    const onnx_read_options& options_;
    std::string who_, folder_;
    std::int64_t opset_;
    std::unordered_map<std::string, value> values_;
    std::vector<level> levels_;                       // the model's, and those of bodies in it
    std::int64_t added_ = 0, most_added_ = max_added; // nodes of graphs of attributes
    std::unordered_map<const tenon::node*, bool> not_found_;
    std::vector<any_tensor> variables_;
    std::vector<std::shared_ptr<const char>> names_;        // of sizes that are followed, until nodes hold them
    std::unordered_map<std::string, extent> named_outputs_; // what names of sizes that outputs alone have stand for
    std::unordered_map<std::string, const function_message*> functions_; // that the model defines
    std::unordered_map<std::string, extent> bound_;                      // what names of sizes are, by the options
    std::vector<std::pair<size_sum, extent>> named_;                     // sizes of inputs
    std::unordered_map<std::string, std::pair<any_tensor, int>>
        sized_;                                     // what has a size of that name, in the model's graph
    int nameless_ = 0;                              // sizes of inputs that are neither said nor named
    int calls_ = 0, depth_ = 0;                     // of these, and how deep within each other
    std::vector<std::string> refused_;              // what cannot be done, a node each
    std::unordered_map<std::string, bool> missing_; // values that nodes which were refused would give
};

/// A mistake of the model, not of what is made of it.
struct model_mistake : invalid_argument_error {
    using invalid_argument_error::invalid_argument_error;
};

/// All operators, by their names; those of other domains than ONNX's own have it before a point.
const std::unordered_map<std::string, handler>& operators();

} // namespace tenon::detail::onnx
