#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>

/// Bytes that cross from device to device, by edge: before a step as it is placed (placement_explanation::crossings), and after steps as
/// they were traced.
///
///     const auto expected = sess.explain_placement(tn::feed(x, images), train).crossings;
///     tn::trace t;
///     sess.set_trace(&t);
///     step(images);
///     sess.set_trace(nullptr);
///     std::puts(tn::to_text(tn::crossings(t)).c_str());
///
///     tensor        from                            to                              bytes a step
///     dense/relu    /job:worker/task:0/device:CPU:0 /job:worker/task:1/device:CPU:0        76800

namespace tenon {

class trace;

/// What the bytes of a tensor are told from, of whose sizes some only a step knows.
enum class bytes_known {
    exactly,   ///< all sizes are known before the step; or they were counted
    last_step, ///< they are those of the last step of this request that this session ran
    at_most,   ///< the most that the ops which tell them can give
    not_yet,   ///< nothing is known: bytes is 0
};
const char* name_of(bytes_known k) noexcept;

/// A tensor that goes from one device to another: once a step, however many read it there.
struct crossing {
    std::string tensor;
    /// Devices: "/device:GPU:0"; of tasks with a name of their own "/job:worker/task:0/device:CPU:0". What goes from task to task
    /// leaves and arrives in memory of their hosts: between these and their GPUs it is a crossing of its own.
    std::string from, to;
    std::int64_t bytes = 0; ///< a step; as it travels (session_options::wire_type)
    bytes_known known = bytes_known::exactly;
    std::int64_t steps = 0; ///< in which it was seen to cross, whose mean the bytes are; 0: before any
    bool fetched = false;   ///< no op reads it there: it crosses since it is fetched; not known of what was seen
};

/// What crossed in the steps of a trace, by devices and then by tensor. Values without bytes, such as signs that something has
/// run, are left out.
std::vector<crossing> crossings(const trace& of);
/// All bytes of a step.
std::int64_t crossing_bytes(const std::vector<crossing>& all);
/// A line for each, and one for all.
std::string to_text(const std::vector<crossing>& all);

namespace detail {
std::string shown_bytes(std::int64_t bytes, bytes_known known, const char* unit);
/// In the order of devices, then of tensors.
void sort_crossings(std::vector<crossing>& all);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/crossing.ipp>
#endif
