#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenon/core/fault.hpp>

/// What nodes and transfers took in earlier steps: what a cost-based placement goes by.
///
///     tn::cost_measurements m;
///     sess.set_measurements(&m);
///     step(images, labels);                          // a few steps, the nodes placed as the rules say
///     sess.set_measurements(nullptr);
///     m.save("costs.json");
///
///     tn::session_options o;                         // and later
///     o.cost_measurements = std::make_shared<tn::cost_measurements>(tn::cost_measurements::load("costs.json"));

namespace tenon {

struct op_definition;
struct node;
struct device_attributes;
class attributes;

/// What a node is timed as: its op, its attributes, and all types in the sizes of the step. Nodes with the same text
/// take the same time; values of arrays do not count.
std::string timed_as(const op_definition& op, const attributes& a, type_list inputs, type_list outputs);
/// The same for a node all of whose sizes are numbers.
std::string timed_as(const node& n);
/// The kind of device that it is timed on: type and description. Devices of one kind take the same time.
std::string timed_on(const device_attributes& d);

/// Of what crosses from one kind of device to another.
struct link_speed {
    double latency = 0;   ///< seconds
    double bandwidth = 0; ///< bytes a second; 0: no limit

    double seconds(std::size_t bytes) const noexcept {
        return latency + (bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0);
    }
};

/// Times of nodes, by kind of device and timed_as(), and of transfers, by kinds of devices and bytes. Of each the last
/// 9 are kept, and their median counts: a first run with cold caches or a busy moment does not move it, and a machine
/// that has changed does, soon. Thread-safe.
class cost_measurements {
public:
    cost_measurements();
    ~cost_measurements();
    cost_measurements(cost_measurements&&) noexcept;
    cost_measurements& operator=(cost_measurements&&) noexcept;

    /// Throws invalid_argument_error where a name is empty, or a time is negative or longer than 11 days.
    void add_kernel(const std::string& device, const std::string& node, std::int64_t nanoseconds);
    void add_transfer(const std::string& from, const std::string& to, std::size_t bytes, std::int64_t nanoseconds);

    /// Seconds; nothing where it was never timed.
    std::optional<double> kernel_seconds(const std::string& device, const std::string& node) const;
    /// The line through the times of transfers of different sizes, each weighed by its share and none below zero. Where
    /// there is one size, it tells the latency up to 64 KiB, else the bandwidth. Nothing where there is none.
    std::optional<link_speed> link(const std::string& from, const std::string& to) const;

    std::size_t kernels() const; ///< different ones that were timed
    std::size_t links() const;

    /// A line each: {"device", "node", "count", "nanoseconds": [the last times]} and {"from", "to", "bytes", "count",
    /// "nanoseconds"}. Read again, it is the same. Throws invalid_argument_error for a name that is not UTF-8.
    std::string to_json() const;
    /// Throws data_loss_error when the text is no JSON, and invalid_argument_error for all else, naming the entry: what
    /// is missing, unknown, out of range, or there twice.
    static cost_measurements from_json(const std::string& text);
    /// Writes and reads such a file; throws what fits where that fails: not_found_error, permission_denied_error, ...
    void save(const std::string& path) const;
    static cost_measurements load(const std::string& path);

private:
    struct state;
    state& live() const; // failed_precondition_error where this was moved from
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/cost_measurements.ipp>
#endif
