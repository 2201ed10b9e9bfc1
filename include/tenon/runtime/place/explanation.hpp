#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/fault.hpp>
#include <tenon/runtime/run/crossing.hpp>

/// Why each node of a step runs where it does.

namespace tenon {

/// What decided where a node runs.
enum class placement_rule {
    requested,   ///< the device that its scopes named
    with_data,   ///< where the variable is that it updates or computes an update of, or what it is the gradient of
    colocated,   ///< with a node that it must share its device with
    gpu_default, ///< nothing was asked for: the task's first GPU
    cpu_default, ///< nothing was asked for, and there is no GPU, or no kernel for it
    softened,    ///< what was asked for is not there: as if only the task had been, as allow_soft_placement allows
    cheapest,    ///< the cost model chose it
};
const char* name_of(placement_rule r) noexcept;

struct placement_explanation {
    struct node {
        std::string name, op;
        device_name requested; ///< what its scopes asked for
        device_name device;    ///< where it runs
        placement_rule rule = placement_rule::cpu_default;
        std::string group; ///< the first of the nodes that share a device with it; its own name where there are none
    };
    struct edge {
        std::string tensor;
        tensor_type type;                         ///< in the sizes of the step; open where only the step will tell
        std::string from, to;                     ///< nodes; to none: it is fetched, and crosses to the host
        std::int64_t bytes = 0;                   ///< that cross for it; 0 where both are on one device
        bytes_known known = bytes_known::exactly; ///< what these are told from
        bool once = false;                        ///< a constant: it crosses when the step is planned
        bool shared = false;                      ///< it crosses for another reader there already
    };
    std::vector<node> nodes; ///< in the order in which they were made
    std::vector<edge> edges; ///< by reader
    /// What crosses in each step, by tensor and devices; of it nothing is there twice, what is fed and fetched is, and views are not.
    std::vector<tenon::crossing> crossings;
    std::string cost;              ///< what the cost model says, where the session has one; else empty
    double predicted_seconds = 0;  ///< that a step takes, by the cost model
    double predicted_by_rules = 0; ///< that it would take where the rules alone would put it

    /// Bytes that cross between devices in each step for ops that read them, and those that cross only since they are fetched, as far as
    /// they are known: together those of `crossings`.
    std::int64_t crossing_bytes() const;
    std::int64_t fetched_bytes() const;
    /// What they are told from: the least of what is known of those that cross.
    bytes_known crossing_known() const;
    /// A line a node, then one for each tensor that crosses.
    std::string to_text() const;
    std::string to_json() const;
    /// A picture for Graphviz, a colour a device.
    std::string to_dot() const;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/explanation.ipp>
#endif
