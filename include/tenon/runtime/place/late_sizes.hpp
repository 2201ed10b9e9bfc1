#pragma once

#include <vector>

#include <tenon/runtime/place/explanation.hpp>
#include <tenon/runtime/plan/program.hpp>

/// What can be said before a step of sizes that only the step tells.

namespace tenon::runtime {

struct late_sizes {
    extents sizes; ///< open where nothing is known
    bytes_known known = bytes_known::exactly;
};

/// By value. Where ops that wait tell sizes, those are what `told` has of them, which a step told; else the most that they can
/// be (op_definition::at_most). What follows of them is told by the rules of the other ops, asked again.
std::vector<late_sizes> sizes_of_step(const program& p, const given_sizes& told);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/late_sizes.ipp>
#endif
