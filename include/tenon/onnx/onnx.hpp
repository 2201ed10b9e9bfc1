#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <tenon/graph/node.hpp>
#include <tenon/io/safetensors/safetensors.hpp>
#include <tenon/onnx/onnx_write.hpp>

/// ONNX models (https://onnx.ai), in and out.
///
///     const tn::onnx_model net = tn::read_onnx("resnet50.onnx");                      // nodes of the graph in scope
///     tn::session sess;
///     const tn::any_array scores = sess.run(tn::feed(net.input("data"), images), net.output("logits"));
///
///     const tn::onnx_model tuned = tn::read_onnx("net.onnx", {.variables = true});    // weights that can be trained
///     sess.run(tn::untyped::initialize_variables(tuned.variables));
///
///     tn::write_onnx(sess, "mine.onnx", {{"x", x}}, {{"y", y}});                      // with the variables' values

namespace tenon {

struct onnx_read_options {
    /// False: the model's initialisers are constants. True: those of floating elements are trainable variables, called as they are in
    /// the model; initialize_variables gives them the model's values.
    bool variables = false;
    /// Sizes of inputs, in place of those that the model says: {{"x", {8, 3, 224, 224}}}. A number in place of a name is that of the name
    /// in other inputs, too.
    std::map<std::string, extents> sizes{};
    /// Inputs that are constants: sizes, axes and the like, which must be known when the graph is built. They need not be fed.
    std::vector<named_array> values{};
};

/// What a model has become.
struct onnx_model {
    graph in = graph::current();                        ///< the graph that its nodes are in
    std::vector<std::string> input_names, output_names; ///< as in the model, in its order
    std::vector<any_tensor> inputs, outputs;
    std::vector<any_tensor> variables; ///< where onnx_read_options::variables asked for them
    std::string producer;              ///< the program that wrote it
    std::int64_t opset = 0;

    /// By the model's name; not_found_error says which there are.
    const any_tensor& input(const std::string& name) const;
    const any_tensor& output(const std::string& name) const;
};

/// Adds the nodes of a model, of any operator set, to the graph in scope. Inputs are placeholders; sizes that have a name in
/// the model (dim_param) have that name, those that are not said are known in the step. Images are [batch, channels, height, width] at
/// the model's inputs and outputs, as ONNX has them; between convolutions they are kept as Tenon's are. Tensors in files beside the
/// model are read.
///
/// Graphs of If, Loop and Scan become bodies of cond, while_loop and scan, or stand where they are run where that is known now.
///
/// Throws unimplemented_error that names every operator which Tenon lacks, with the nodes' names, before a node is added where an
/// operator as such is not known; data_loss_error for bytes that are no model; invalid_argument_error, naming the node, where the model
/// does not agree with itself; and what opening a file throws.
onnx_model read_onnx(const std::string& path, const onnx_read_options& o = {});
/// The same from memory; `name` stands in messages.
onnx_model parse_onnx(std::span<const std::byte> bytes, const onnx_read_options& o = {},
                      const std::string& name = "ONNX data");
/// The operators of ONNX that are read, sorted.
std::vector<std::string> onnx_operators();

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/onnx/onnx.ipp>
#endif
