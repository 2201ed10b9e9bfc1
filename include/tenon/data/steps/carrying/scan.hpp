#pragma once

#include <memory>
#include <vector>

#include <tenon/data/steps/transform.hpp>

/// A state that is handed on from element to element.

namespace tenon::detail {

/// f replaces the state's arrays and an element's behind them by the next state's and what stands for the element: arrays of `types`. The state
/// is `initial` at first, and always of the types `state`, which `types` begins with: invalid_argument_error where it does not. Where f
/// throws, which next() passes on, the state stays as it was.
data_node::pointer scanned(const char* step, data_node::pointer from, std::vector<any_array> initial,
                           std::vector<tensor_type> state, const std::vector<tensor_type>& types,
                           std::shared_ptr<const element_function> f);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/carrying/scan.ipp>
#endif
