#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// The nodes that the request needs, with all sizes. Errors: a placeholder that is not fed, sizes that do not
/// agree, a named size with two values.
program prune(const request& r);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/prune.ipp>
#endif
