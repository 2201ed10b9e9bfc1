#pragma once

#include <string>

#include <tenon/graph/tensor.hpp>

namespace tenon::detail {

/// What is said of a loss that is, or is computed of, a mean or sum over everything of what has each of [n, 1] beside each of [n], which is [n, n]:
/// nearly always predictions beside targets of another rank. Empty where there is no doubt: axes that are named, mean<0, 1>(x), say that it is
/// meant. Losses of nn/ do not compile so.
std::string doubt_about(const any_tensor& loss);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/doubtful_loss.ipp>
#endif
