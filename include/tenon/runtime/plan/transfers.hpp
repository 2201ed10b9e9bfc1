#pragma once

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// Makes what an item reads from another device's memory cross to it: each tensor once, constants when the step is
/// planned.
void insert_transfers(program& p, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/transfers.ipp>
#endif
