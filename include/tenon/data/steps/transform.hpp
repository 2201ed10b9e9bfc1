#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/data/steps/pipeline.hpp>
#include <tenon/graph/tensor.hpp>

/// Steps that compute: map and filter.

namespace tenon::detail {

/// What is computed of an element. Thread-safe.
class element_function {
public:
    virtual ~element_function() = default;
    /// Replaces the element; false: it is left out. `run`: a number that each element of each epoch has for itself, the same
    /// whoever computes it when.
    virtual bool apply(data_element& x, std::uint64_t run) const = 0;
    /// Whether it may wait, or is the user's.
    virtual bool may_wait() const { return false; }
    virtual bool may_leave_out() const { return false; }
    /// Whether what it makes of an element may depend on `run`.
    virtual bool draws() const { return false; }
};
/// apply() on an element of this number in this epoch; what it throws says which it was, of which step.
bool apply_to(const element_function& f, const std::string& step, data_element& x, std::uint64_t epoch,
              std::uint64_t number);

/// Of tensors: `outputs` computed of `inputs`, nodes of `g`, which holds nothing else. Random ops are drawn for each element
/// anew, whoever computes it. `keep`: what is computed says whether the element stays as it is, a bool.
std::shared_ptr<const element_function> graph_function(const graph& g, std::vector<any_tensor> inputs,
                                                       std::vector<any_tensor> outputs, bool keep);

struct transform_options {
    int parallelism = 1; ///< elements at the same time; autotune: settled by what is measured
    bool ordered = true; ///< false: each as soon as it is ready
};
/// What `f` makes of each element, of these types. What it throws is thrown by next(), of the same type, saying which element it was;
/// the next call goes on behind it.
data_node::pointer transformed(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                               std::shared_ptr<const element_function> f, const transform_options& o);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/transform.ipp>
#endif
