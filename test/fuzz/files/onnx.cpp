// Whatever the bytes, parse_onnx adds the nodes of a model whose inputs and outputs it knows, or throws a tenon::error.
// covers: io/onnx/onnx_messages onnx/onnx onnx/onnx_sizes onnx/read/onnx_attention_ops onnx/read/onnx_pool_ops onnx/read/onnx_shape_ops

#include <tenon/graph/scope.hpp>
#include <tenon/onnx/onnx.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    const tenon::graph g;
    const tenon::graph_scope scope(g);
    fuzz::is_read<tenon::error>([&] {
        const tenon::onnx_model m = tenon::parse_onnx(in.bytes());
        if (m.inputs.size() != m.input_names.size() || m.outputs.size() != m.output_names.size()) std::abort();
        for (const tenon::any_tensor& t : m.outputs)
            if (!t.node() || t.element() == tenon::element_type::none) std::abort();
    });
}
