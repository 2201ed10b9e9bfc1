#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/node.hpp>
#include <tenon/runtime/session/session.hpp>

/// ONNX models, written; onnx.hpp reads them.

namespace tenon {

/// A tensor and what it is called in a model: {"y", y}, or y alone, which is called as its node.
struct named_tensor {
    named_tensor(std::string called, any_tensor t) : name(std::move(called)), tensor(std::move(t)) {}
    named_tensor(const any_tensor& t) : name(t.name()), tensor(t) {} // NOLINT
    std::string name;
    any_tensor tensor;
};

struct onnx_write_options {
    std::string graph_name = "tenon";
};

/// Writes what the outputs are computed of, from the inputs on, as a model of operator set 18, or a later one where an op
/// needs it; whole or not at all. cond, while_loop and scan become If, Loop and Scan. Variables become
/// initialisers with the values that they have in the session. Sizes with names keep them (dim_param).
///
/// Throws unimplemented_error that names every op which ONNX cannot say; invalid_argument_error for a placeholder that is not among
/// the inputs, and for a name given twice; failed_precondition_error for a variable without a value; and what writing a file throws.
void write_onnx(session& s, const std::string& path, const std::vector<named_tensor>& inputs,
                const std::vector<named_tensor>& outputs, const onnx_write_options& o = {});
/// The bytes that it writes.
std::string onnx_bytes(session& s, const std::vector<named_tensor>& inputs, const std::vector<named_tensor>& outputs,
                       const onnx_write_options& o = {});

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/onnx/onnx_write.ipp>
#endif
