#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/device_name.hpp>
#include <tenon/op/step.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/collective/collective_group.hpp>

/// Values on GPUs of several processes that are summed where they lie: what the ops of device collectives
/// (ops/collective/device_collective.hpp) have to do with the library that sums.

namespace tenon {

/// A value that a GPU keeps from the segment that computes it to the one that reads the sum; one step has it at a time.
class kept_value {
public:
    explicit kept_value(tensor_type t) : type(std::move(t)) {}
    kept_value(kept_value&&) = delete;
    virtual ~kept_value() = default;

    const tensor_type type;

    /// It is the next to be summed, as on all processes: sums are made in the order of these calls. Under a lock of the group's.
    virtual void enter() noexcept = 0;
    /// All processes have come: it becomes the sum of all their values, or the group ends, for all. Each value is multiplied by its
    /// process's factor first, where they have one, as all have or none; whatever it is, by 0 it is 0. Calls then.completed() on a thread of
    /// its own.
    virtual void sum(std::optional<double> factor, completion& then) noexcept = 0;
    /// It is not to be summed, whether it had entered or not.
    virtual void drop() noexcept = 0;
};

/// What the step keeps at a place, until its owner ends. Thread-safe.
void keep_value(const step* in, std::int64_t place, const std::shared_ptr<kept_value>& v);
/// Throws internal_error where there is nothing.
std::shared_ptr<kept_value> value_kept(const step* in, std::int64_t place);

/// What a process says of its device before all choose how values on their devices are summed. Bytes that travel.
struct process_offer {
    char card[16] = {};     ///< no two cards of any machines have the same
    char id[128] = {};      ///< of rank 0: by which they find each other
    char why_not[240] = {}; ///< "": it can
};

/// A library that sums over GPUs of several processes. Thread-safe.
class process_sums {
public:
    virtual ~process_sums() = default;
    virtual process_offer offer(const collective_group& g, const device_name& d) const = 0;
    /// All of the group can. What sums is found under the name until it is dropped; `id` is rank 0's.
    virtual std::shared_ptr<void> join(const std::shared_ptr<collective_group>& g, const std::string& name,
                                       const char (&id)[128]) const = 0;
};
/// Called by a GPU library when it is loaded; the last one stays.
void register_process_sums(std::shared_ptr<const process_sums> s);

/// How values on devices of a group's processes are summed.
struct chosen_process_sums {
    std::shared_ptr<void> by; ///< nullptr: by the group, in the host's memory
    std::string name;         ///< of `by`, in this process
    std::string explained;    ///< which way, and why; "": no value lies on a GPU
};
/// All processes call it, in the same order, and choose alike. Throws what the group ends with, or deadline_exceeded_error, which ends
/// it, where not all have come within so many seconds.
chosen_process_sums choose_process_sums(const std::shared_ptr<collective_group>& g, const device_name& d,
                                        double seconds = 60);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/collective/process_sums.ipp>
#endif
