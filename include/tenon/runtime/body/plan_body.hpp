#pragma once

#include <tenon/runtime/plan/program.hpp>

/// Bodies of control flow: planned as steps are, and run by the kernels of ops/flow.

namespace tenon::runtime {

/// An executable of one device, whose feeds and fetches lie in that device's memory. Throws what planning a step throws.
std::unique_ptr<prepared_body> plan_body(const std::shared_ptr<const body>& of, type_list arguments, int device,
                                         const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/body/plan_body.ipp>
#endif
