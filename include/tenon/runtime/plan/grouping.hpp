#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// Where a device works on its own, small passes of one tape there are computed by one item (fused_group_op): those that give updates their
/// values, and those that read variables and constants alone, as roundings of float variables do. A pass over few numbers takes less
/// time than giving it does. None of a group comes after another, is fetched, or is waited for by control; who reads updates' values is
/// nobody else.
void group_small_passes(program& p, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/grouping.ipp>
#endif
