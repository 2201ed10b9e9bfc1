#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// Where a device works on its own, what small passes of one tape give to updates is computed by one item (fused_group_op) for all variables
/// there: a pass over few numbers takes less time than giving it does. Such as no other of them comes after, and nobody else reads or
/// waits for.
void group_small_updates(program& p, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/grouping.ipp>
#endif
