#pragma once

#include <vector>

#include <tenon/runtime/place/late_sizes.hpp>
#include <tenon/runtime/run/crossing.hpp>

/// What will cross in the steps of a placed program.

namespace tenon::runtime {

/// As cutting by task, rewriting and transfers will have it: what is fed and fetched too; without what is constant, which crosses when the
/// step is planned. Steps that wait hand values of GPUs on by way of the host, which is not seen here.
std::vector<crossing> crossings_of(const program& p, const plan_options& o, const std::vector<late_sizes>& sizes);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/crossings.ipp>
#endif
