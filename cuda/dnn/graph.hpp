#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>

namespace tenon {
class gpu_context;
}

/// Graphs of operations that cuDNN computes. A graph is described by plain values; cuDNN is asked for the fastest engine that takes it;
/// the plan that this gives runs many times.

namespace tenon::cuda::dnn {

/// A tensor of a graph. Sizes are in cuDNN's order (images: batch, channels, height, width) whatever the order in memory, which the
/// strides (in elements) tell.
struct tensor {
    std::vector<std::int64_t> sizes, strides;
    element_type element = element_type::float32;
    /// Given from one operation to the next, and never in memory.
    bool between = false;
    /// A number of float, given as it is.
    bool is_number = false;
    float number = 0;
    std::int64_t alignment = 16; ///< of where it lies, in bytes
};

/// An image [batch, height, width, channels], dense and in that order.
tensor image(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels, element_type e);
/// Filters that lie as [outputs, height, width, channels].
tensor filters(std::int64_t outputs, std::int64_t height, std::int64_t width, std::int64_t channels, element_type e);
/// `of` as a tensor between two operations, in the type that they compute in.
tensor between(const tensor& of);

enum class operation_kind {
    convolution,                 ///< x, w, y
    convolution_backward_input,  ///< dy, w, dx
    convolution_backward_filter, ///< x, dy, dw
    add,                         ///< a, b, y
    relu,                        ///< x, y; NaN stays NaN
    subtract,                    ///< a, b, y
    multiply,                    ///< a, b, y
    divide,                      ///< a, b, y
    exp,                         ///< x, y
    log,                         ///< x, y
    index,                       ///< x, y: the place of each element along an axis
    at_least,                    ///< a, b, y: whether a >= b
    less,                        ///< a, b, y: whether a < b
    both,                        ///< a, b, y: whether both are true
    select,                      ///< a, b, condition, y: a where it is true
    product,                     ///< a, b, y: of matrices
    largest,                     ///< x, y: over the last axis
    sum,                         ///< x, y: over the axes along which y has one element, or a part of them
    transpose,                   ///< x, y: of matrices
};

/// What the windows of convolutions do, vertically and horizontally.
struct window {
    std::array<std::int64_t, 2> stride{1, 1}, dilation{1, 1}, before{0, 0}, after{0, 0};
};

struct operation {
    operation_kind kind;
    std::vector<int> operands; ///< places in graph::tensors
    dnn::window window = {};
    std::int64_t axis = 0; ///< of an index
};

struct graph {
    std::string name = {}; ///< of the op that it is for: what messages begin with
    std::vector<tensor> tensors = {};
    std::vector<operation> operations = {};
    /// float or double.
    element_type compute = element_type::float32;
    /// Operands of float may be rounded to 10 bits of fraction.
    bool tf32 = false;
    /// The most memory beside the tensors.
    std::size_t most_workspace_bytes = std::size_t{512} << 20;

    int add(tensor t) {
        tensors.push_back(std::move(t));
        return static_cast<int>(tensors.size()) - 1;
    }
};

/// All of a graph as text: equal graphs have equal texts.
std::string text_of(const graph& g);

/// How a graph is computed on one GPU. Thread-safe; uses what it was made of for as long as it lives.
class plan {
public:
    virtual ~plan() = default;
    /// Of device memory, aligned to 256.
    virtual std::size_t workspace_bytes() const = 0;
    /// Whether a convolution's engine is cuDNN's number 0, which has a thread for each result: fast for groups of few channels alone.
    virtual bool is_direct() const = 0;
    /// Puts the graph on a stream. `data` has a pointer per tensor, aligned to `alignment`; those between operations are not looked at.
    /// Throws internal_error where cuDNN refuses, resource_exhausted_error for want of memory.
    virtual void run(void* stream, const std::vector<void*>& data, void* workspace) const = 0;
};
inline constexpr std::size_t alignment = 16;
/// Whether a plan can take these. Memory of whole tensors always is so aligned.
inline bool are_aligned(std::initializer_list<const void*> pointers) {
    for (const void* p : pointers)
        if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) return false;
    return true;
}

/// The plan for a graph, made when it is first asked for and kept with the GPU. nullptr where cuDNN is missing (which is said once on
/// stderr) or has no engine that computes the graph as exactly as it asks, the same in every run, within its memory. Throws
/// resource_exhausted_error where there is no memory to find out.
std::shared_ptr<const plan> find_plan(gpu_context& on, const graph& g);

/// Why a GPU that this machine has not, described as cuDNN describes GPUs in JSON (cuDNN 9.8 and later), has no plan for the graph: ""
/// where it has one, which is not kept.
std::string why_no_plan_for(const std::string& gpu_as_json, const graph& g);

} // namespace tenon::cuda::dnn
