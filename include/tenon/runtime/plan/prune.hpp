#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// The nodes that the request needs, with all sizes but those that ops which wait will tell. Errors: a placeholder that is
/// not fed, sizes that do not agree, a named size with two values.
program prune(const request& r);

/// Gives these items the sizes that were left open, now that those of the values that were told are known. Errors as above.
void infer_late(program& p, const std::vector<bool>& items, const std::vector<int>& told);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/prune.ipp>
#endif
