#pragma once

#include <cstdint>
#include <vector>

#include <tenon/train/optimize/optimizers.hpp>

/// Gradients of which fewer bytes go to the variables: between compute_gradients and apply_gradients of any optimiser,
/// sync_replicas among them.
///
///     auto opt = tn::momentum(0.1);
///     auto small = tn::compressed(opt.compute_gradients(loss), tn::top_k_gradients{.fraction = 0.01});
///     auto train = opt.apply_gradients(small);
///
/// A gradient is compressed where it is computed, on a worker, and made a dense one again where its variable is, on a parameter
/// server. What crosses is the largest elements and their places, or integers of 8 bits and their scales.
///
/// **Error feedback.** What a step leaves out, or rounds away, is added to the next step's gradient: what was sent and what is left
/// add up to the sum of the gradients. F. Seide et al., Interspeech 2014; S. Stich, J.-B. Cordonnier, M. Jaggi, NeurIPS 2018. What is
/// left is kept in a variable beside the gradient, "replica_0/w/residual", which is the worker's own: it is neither trained nor
/// saved, begins as zeros (initialize_variables(), or a monitored session, which gives local_variables values), and counts in the memory
/// of its device. Workers whose tasks are their own can have the same names; workers that share a task give `replica`. Where a
/// step fails after it has compressed, what it had sent is lost, as is a gradient that is not compressed. What is infinite or NaN is
/// sent first, and not kept: of more such elements than top_k_gradients sends, the others are dropped; of a block of
/// quantized_gradients that has one, all are NaN.
///
/// Gradients of fewer than `least_elements`, and those that are not floating or have sizes known in the step only, stay as they are.

namespace tenon {

/// The collection of variables that are a process's own: they are not saved, and each process gives its own their values.
inline constexpr const char* local_variables = "local_variables";

/// Of each gradient the elements of the largest absolute value: A. Aji, K. Heafield, EMNLP 2017. An element travels with its place, of 4
/// bytes, so float gradients take twice `fraction` of their bytes. Gradients of rows (sparse_rows) stay as they are.
struct top_k_gradients {
    /// Of a gradient's elements, rounded up.
    double fraction = 0.01;
    bool error_feedback = true;
    std::int64_t least_elements = 1024;
    /// Tells workers apart that share a task.
    int replica = 0;
};

/// Each element as an integer from -127 to 127 times a scale, which is the largest absolute value of its block divided by 127:
/// rounded to the nearest. A scale travels as double. Of gradients of rows each row is a block, and nothing is fed back.
struct quantized_gradients {
    /// Elements of a block, about: the nearest size of which blocks have no remainder is taken, from half of it to twice it, or this
    /// one, and the last block is filled up with zeros. 0: one block a gradient.
    std::int64_t block = 256;
    bool error_feedback = true;
    std::int64_t least_elements = 1024;
    /// Tells workers apart that share a task.
    int replica = 0;
};

/// The gradients of the same variables, compressed on the way; a variable in parts is given as its parts, as apply_gradients takes
/// it. invalid_argument_error where an option makes no sense, or a gradient does not have its variable's type.
std::vector<gradient_and_variable> compressed(const std::vector<gradient_and_variable>& gradients,
                                              const top_k_gradients& how);
std::vector<gradient_and_variable> compressed(const std::vector<gradient_and_variable>& gradients,
                                              const quantized_gradients& how);

namespace detail {

/// What is sent of a gradient of rank 1, and what is left: of its compute type.
struct quantized_list {
    any_tensor values; ///< int8 [blocks, length]
    any_tensor scales; ///< of the compute type, [blocks, 1]
};
/// Throws invalid_argument_error where an option makes no sense.
void check(const top_k_gradients& how);
void check(const quantized_gradients& how);
/// Elements of the blocks that a list of `elements` is taken apart into.
std::int64_t block_length(std::int64_t elements, std::int64_t about) noexcept;
/// Of a list whose size is known; `scales`, where it is given, are not less than those of its blocks.
quantized_list quantize(const any_tensor& list, std::int64_t about, const any_tensor& scales = {});
/// The scales of its blocks.
any_tensor scales_of(const any_tensor& list, std::int64_t about);
/// The list of `elements` again, of the scales' type.
any_tensor dequantize(const quantized_list& q, std::int64_t elements);
/// A variable of this type beside x, of this process alone, which begins as zeros.
any_tensor add_local_variable(const std::string& name, const tensor_type& type, const any_tensor& beside);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/compression.ipp>
#endif
