#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>

/// What a model that is served takes and gives.

namespace tenon {

/// An input or an output. Dimension 0 is the rows of a batch, which a request has some of; the others may be named or dynamic too.
struct model_tensor {
    std::string name;
    tensor_type type;
};

struct model_signature {
    std::string name;
    std::vector<model_tensor> inputs, outputs;
    std::int64_t largest_batch = 0; ///< rows that a request may have at most
    /// Where it came from elsewhere: what the names of sizes live in.
    std::shared_ptr<const void> names{};
};

namespace detail {

/// invalid_argument_error where a model cannot be served so: no inputs or outputs, a name that is empty or there twice, a tensor without
/// rows or with a fixed number of them, rows of two names.
void check_signature(const model_signature& s);
/// The rows of a request; it has one at least. invalid_argument_error that names both types where a value does not fit its input, or
/// the inputs' rows differ, or are more than a batch may have.
std::int64_t rows_of_request(const model_signature& s, const std::vector<any_array>& inputs);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/serve/model_signature.ipp>
#endif
