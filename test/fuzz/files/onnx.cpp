// Whatever the bytes, parse_onnx adds the nodes of a model whose inputs and outputs it knows, or throws a tenon::error.
// covers: io/onnx/onnx_messages onnx/onnx onnx/read/onnx_attention_ops onnx/read/onnx_pool_ops onnx/read/onnx_shape_ops

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tenon/graph/scope.hpp>
#include <tenon/onnx/onnx.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const tenon::graph g;
    const tenon::graph_scope in(g);
    try {
        const tenon::onnx_model m = tenon::parse_onnx(std::as_bytes(std::span(data, size)));
        if (m.inputs.size() != m.input_names.size() || m.outputs.size() != m.output_names.size()) std::abort();
        for (const tenon::any_tensor& t : m.outputs)
            if (!t.node() || t.element() == tenon::element_type::none) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
