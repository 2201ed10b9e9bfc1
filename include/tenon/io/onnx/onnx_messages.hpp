#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/array/any_array.hpp>

/// The messages of ONNX files (onnx/onnx.proto), as far as models are made of them: read in place, and written.

namespace tenon::detail::onnx {

/// DataType of TensorProto; none and 0 for what the other side lacks.
element_type element_of(std::int64_t data_type) noexcept;
std::int64_t data_type_of(element_type e) noexcept;

/// A tensor where it lies. Its elements are in raw, in a list of the message, or in a file beside the model.
struct tensor_message {
    std::string name;
    std::string_view message; // all of it, from byte `at` of the file
    std::size_t at = 0;
};

struct graph_message;

/// An attribute of a node; `type` says which of the values it has (AttributeProto.AttributeType).
struct attribute_message {
    enum kind : std::int64_t {
        real = 1,
        integer = 2,
        text = 3,
        tensor = 4,
        graph = 5,
        reals = 6,
        integers = 7,
        texts = 8
    };
    std::string name;
    std::string of; // in a function: whose attribute of the node that calls it this is
    std::int64_t type = 0;
    float f = 0;
    std::int64_t i = 0;
    std::string s;
    tensor_message t;
    std::shared_ptr<graph_message> g;
    std::vector<float> floats;
    std::vector<std::int64_t> ints;
    std::vector<std::string> strings;
};

struct node_message {
    std::string name, op, domain;
    std::vector<std::string> inputs, outputs; // an empty name: none
    std::vector<attribute_message> attributes;
};

/// What is said of an input or output: its element type (0: it is no tensor), and its sizes, if they are said.
struct value_message {
    struct size {
        std::int64_t number = -1;
        std::string name;
    };
    std::string name;
    std::int64_t data_type = 0;
    bool has_sizes = false;
    std::vector<size> sizes;
};

struct graph_message {
    std::string name;
    std::vector<node_message> nodes;
    std::vector<tensor_message> initializers;
    std::vector<value_message> inputs, outputs;
    bool sparse = false; // has sparse initialisers
};

/// An operator that a model defines itself, by nodes.
struct function_message {
    std::string name, domain;
    std::int64_t opset = 0; // of ONNX's own operators in it; 0: it does not say
    std::vector<std::string> inputs, outputs;
    std::vector<attribute_message> otherwise; // attributes that a node need not say
    std::vector<node_message> nodes;
};

struct model_message {
    std::int64_t ir_version = 0;
    std::int64_t opset = 0; // of ONNX's own operators; 0: none
    std::string producer;
    std::vector<function_message> functions;
    graph_message graph;
};

/// `who` begins messages. Throws data_loss_error for bytes that are no model, invalid_argument_error for graphs nested too deep.
/// What it gives refers to the bytes.
model_message read_model(std::string_view bytes, const std::string& who);

/// A tensor's elements, in memory of their own. `folder`: where the model lies, for elements in files of their own; empty: such are
/// an unimplemented_error. data_loss_error where there are more or fewer bytes than its sizes say.
any_array read_tensor(const tensor_message& t, const std::string& who, const std::string& folder);

/// TensorProto of an array.
std::string tensor_bytes(const std::string& name, const any_array& a);

} // namespace tenon::detail::onnx

#if TENON_HEADER_ONLY
#include <tenon/io/onnx/onnx_messages.ipp>
#endif
