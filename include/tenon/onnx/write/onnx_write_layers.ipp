#pragma once

#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/reduce/top_k.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/rows/softmax.hpp>

/// Products, convolutions, pools, softmax, normalisation and reductions as nodes of an ONNX model.

namespace tenon::detail::onnx {

// The last two dimensions in each other's place.
inline std::string matrix_transposed(writer& w, const node& n, int input, bool wanted) {
    const int rank = n.input_type(input).extents.rank();
    if (!wanted || rank < 2) return w.input(n, input);
    std::vector<std::int64_t> axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i < rank - 2 ? i : 2 * rank - 3 - i);
    return w.transposed(w.input(n, input), axes);
}
inline std::string write_product(writer& w, const node& n, bool a, bool b) {
    const bool bytes = n.input_type(0).element == element_type::int8;
    return w.add(bytes ? "MatMulInteger" : "MatMul", {matrix_transposed(w, n, 0, a), matrix_transposed(w, n, 1, b)});
}
inline void write_matmul(writer& w, const node& n) {
    const auto a = decode<matmul_op::attributes>(n.attributes);
    w.give(n, write_product(w, n, a.transpose_a, a.transpose_b));
}
inline void write_matmul_bias(writer& w, const node& n) {
    const auto a = decode<matmul_bias_op::attributes>(n.attributes);
    const std::string y = w.add("Add", {write_product(w, n, a.transpose_a, a.transpose_b), w.input(n, 2)});
    w.give(n, a.relu ? w.add("Relu", {y}) : y);
}

template <class Attributes> void with_window(writer& w, const Attributes& a) {
    w.with("strides", std::vector<std::int64_t>{a.stride_h, a.stride_w});
    if (a.padding == padding::rule::same) w.with("auto_pad", "SAME_UPPER");
    else if (a.padding != padding::rule::valid)
        w.with("pads", std::vector<std::int64_t>{a.top, a.left, a.bottom, a.right});
}
inline std::string write_convolution(writer& w, const node& n, const conv2d_attributes& a, bool transposed,
                                     const std::vector<std::string>& bias = {}) {
    std::vector<std::string> in{w.channels_first(w.input(n, 0)), w.transposed(w.input(n, 1), {3, 2, 0, 1})};
    in.insert(in.end(), bias.begin(), bias.end());
    with_window(w, a);
    w.with("dilations", std::vector<std::int64_t>{a.dilation_h, a.dilation_w}).with("group", std::int64_t{a.groups});
    return w.add(transposed ? "ConvTranspose" : "Conv", in);
}
inline void write_conv2d(writer& w, const node& n) {
    w.give(n, w.channels_last(write_convolution(w, n, decode<conv2d_op::attributes>(n.attributes), false)));
}
inline void write_conv2d_bias(writer& w, const node& n) {
    const auto a = decode<conv2d_bias_op::attributes>(n.attributes);
    const std::string y = write_convolution(w, n, a.convolution, false, {w.input(n, 2)});
    w.give(n, w.channels_last(a.relu ? w.add("Relu", {y}) : y));
}
inline void write_conv2d_transpose(writer& w, const node& n) {
    w.give(n, w.channels_last(write_convolution(w, n, decode<conv2d_transpose_op::attributes>(n.attributes), true)));
}
inline std::vector<std::string> pooled(writer& w, const node& n, int outputs) {
    const auto a = decode<max_pool2d_op::attributes>(n.attributes);
    const std::string x = w.channels_first(w.input(n, 0));
    with_window(w, a);
    w.with("kernel_shape", std::vector<std::int64_t>{a.window_h, a.window_w});
    if (a.padding == padding::rule::rounded_up) w.with("ceil_mode", std::int64_t{1});
    if (a.dilation_h != 1 || a.dilation_w != 1) {
        if (a.average) w.needs_opset(19);
        w.with("dilations", std::vector<std::int64_t>{a.dilation_h, a.dilation_w});
    }
    return w.add(a.average ? "AveragePool" : "MaxPool", {x}, outputs);
}
inline void write_pool(writer& w, const node& n) { w.give(n, w.channels_last(pooled(w, n, 1)[0])); }
// Of another tensor what stands where the largest are.
inline void write_max_pool_pick(writer& w, const node& n) {
    const std::string places = pooled(w, n, 2)[1], all = w.integers({-1});
    const std::string other = w.add("Reshape", {w.channels_first(w.input(n, 2)), all});
    w.give(n, w.channels_last(w.add("Gather", {other, places})));
}
inline void write_global_average(writer& w, const node& n) {
    const std::string axes = w.integers({1, 2});
    w.give(n, w.with("keepdims", std::int64_t{0}).add("ReduceMean", {w.input(n, 0), axes}));
}
inline void write_softmax(writer& w, const node& n) {
    const auto a = decode<softmax_op::attributes>(n.attributes);
    const bool logarithm = n.op == &definition_of<log_softmax_op>();
    w.give(n, w.with("axis", std::int64_t{a.axis}).add(logarithm ? "LogSoftmax" : "Softmax", {w.input(n, 0)}));
}
// Their second output is for gradients.
inline void write_cross_entropy(writer& w, const node& n) {
    const std::string logs = w.with("axis", std::int64_t{-1}).add("LogSoftmax", {w.input(n, 0)}),
                      last = w.integers({-1});
    if (n.op == &definition_of<softmax_cross_entropy_op>()) {
        const std::string each = w.add("Mul", {logs, w.input(n, 1)});
        return w.give(n, w.add("Neg", {w.with("keepdims", std::int64_t{0}).add("ReduceSum", {each, last})}));
    }
    const std::string label = w.add("Unsqueeze", {w.input(n, 1), last});
    const std::string found = w.with("axis", std::int64_t{-1}).add("GatherElements", {logs, label});
    w.give(n, w.add("Neg", {w.add("Squeeze", {found, last})}));
}
inline void write_layer_norm(writer& w, const node& n) {
    const auto a = decode<layer_norm_op::attributes>(n.attributes);
    w.with("axis", std::int64_t{-1}).with("epsilon", a.epsilon);
    w.give(n, w.add("LayerNormalization", {w.input(n, 0), w.input(n, 1), w.input(n, 2)}));
    // Its other outputs are for gradients.
}
inline void write_add_n(writer& w, const node& n) {
    std::vector<std::string> in;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) in.push_back(w.input(n, i));
    w.give(n, w.add("Sum", in));
}

inline std::vector<std::int64_t> listed_axes(const index_list& axes) { return {axes.begin(), axes.end()}; }
inline std::string reduced(writer& w, const char* op, const std::string& x, const index_list& axes, bool keep) {
    std::vector<std::string> in{x};
    if (axes.count > 0) in.push_back(w.integers(listed_axes(axes)));
    return w.with("keepdims", std::int64_t{keep}).add(op, in);
}
inline void write_reduction(writer& w, const node& n) {
    const auto a = decode<sum_op::attributes>(n.attributes);
    const std::string op = n.op->name;
    const std::string x = w.input(n, 0);
    const auto of = [&](const char* name) { w.give(n, reduced(w, name, x, a.axes, a.keepdims)); };
    if (op == "sum") return of("ReduceSum");
    if (op == "mean") return of("ReduceMean");
    if (op == "prod") return of("ReduceProd");
    if (op == "min") return of("ReduceMin");
    if (op == "max") return of("ReduceMax");
    if (op == "logsumexp") return of("ReduceLogSumExp");
    // Truth as numbers.
    const bool any = op == "any";
    const std::string number = w.with("to", std::int64_t{6}).add("Cast", {x});
    const std::string extreme = reduced(w, any ? "ReduceMax" : "ReduceMin", number, a.axes, a.keepdims);
    w.give(n,
           w.add("Greater", {extreme, w.number(0, element_type::int32)})); // of none the least number, or the largest
}
inline void write_arg(writer& w, const node& n) {
    const auto a = decode<sum_op::attributes>(n.attributes);
    if (a.axes.count != 1) throw unimplemented_error("the place among several dimensions");
    w.with("axis", a.axes[0]).with("keepdims", std::int64_t{a.keepdims});
    w.give(n, w.add(n.op == &definition_of<argmax_op>() ? "ArgMax" : "ArgMin", {w.input(n, 0)}));
}
inline void write_variance(writer& w, const node& n) {
    const auto a = decode<variance_op::attributes>(n.attributes);
    const std::string x = w.input(n, 0), centred = w.add("Sub", {x, reduced(w, "ReduceMean", x, a.axes, true)});
    const std::string squares = w.add("Mul", {centred, centred});
    std::string v = reduced(w, a.ddof == 0 ? "ReduceMean" : "ReduceSum", squares, a.axes, a.keepdims);
    if (a.ddof != 0) {
        const std::string less = w.add("Sub", {count_of(w, x, a.axes), w.integers({a.ddof}, true)});
        const std::string divisor = w.add("Max", {less, w.integers({0}, true)});
        v = w.add("Div", {v, cast_to(w, divisor, n.outputs[0].element)});
    }
    w.give(n, a.root ? w.add("Sqrt", {v}) : v);
}
inline void write_norm(writer& w, const node& n) {
    const auto a = decode<norm_op::attributes>(n.attributes);
    if (a.order != 1 && a.order != 2) throw unimplemented_error("a norm of order " + std::to_string(a.order));
    w.give(n, reduced(w, a.order == 1 ? "ReduceL1" : "ReduceL2", w.input(n, 0), a.axes, a.keepdims));
}
inline void write_cumsum(writer& w, const node& n) {
    const auto a = decode<cumsum_op::attributes>(n.attributes);
    const std::string axis = w.integers({a.axis}, true);
    w.with("exclusive", std::int64_t{a.exclusive}).with("reverse", std::int64_t{a.reversed});
    w.give(n, w.add("CumSum", {w.input(n, 0), axis}));
}
inline void write_top_k(writer& w, const node& n) {
    const auto a = decode<top_k_op::attributes>(n.attributes);
    const std::string k = w.integers({a.k});
    const auto made = w.with("axis", std::int64_t{-1}).add("TopK", {w.input(n, 0), k}, 2);
    w.give(n, made[0], 0);
    const element_type e = n.outputs[1].element;
    w.give(n,
           e == element_type::int64
               ? made[1]
               : w.with("to", std::int64_t{e == element_type::int32 ? 6 : 7}).add("Cast", {made[1]}),
           1);
}

TENON_INLINE std::vector<write_entry> written_layers() {
    return {{"add_n", write_add_n},
            {"all", write_reduction},
            {"any", write_reduction},
            {"argmax", write_arg},
            {"argmin", write_arg},
            {"average_pool2d", write_pool},
            {"conv2d", write_conv2d},
            {"conv2d_bias", write_conv2d_bias},
            {"conv2d_transpose", write_conv2d_transpose},
            {"cumsum", write_cumsum},
            {"global_average_pool", write_global_average},
            {"layer_norm", write_layer_norm},
            {"log_softmax", write_softmax},
            {"logsumexp", write_reduction},
            {"matmul", write_matmul},
            {"matmul_bias", write_matmul_bias},
            {"max", write_reduction},
            {"max_pool2d", write_pool},
            {"max_pool2d_pick", write_max_pool_pick},
            {"mean", write_reduction},
            {"min", write_reduction},
            {"norm", write_norm},
            {"prod", write_reduction},
            {"softmax", write_softmax},
            {"softmax_cross_entropy", write_cross_entropy},
            {"sparse_softmax_cross_entropy", write_cross_entropy},
            {"sum", write_reduction},
            {"top_k", write_top_k},
            {"variance", write_variance}};
}

} // namespace tenon::detail::onnx
