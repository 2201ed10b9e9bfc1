#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>
#include <tenon/ops/state/state.hpp>

namespace tenon::detail {

/// The current graph's counter of this name, made where it is first asked for: a variable that begins at 0 and is not trained. It is
/// its graph's collection of the same name. Scopes that happen to be open name it not, nor keep it more than once.
variable_tensor<std::int64_t, shape<>> global_counter(const char* name);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/global_counter.ipp>
#endif
