#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <tenon/runtime/plan/program.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

/// What a step would take, placed one way or another, by what earlier runs took. cost_placer.hpp says how it is judged.

namespace tenon::runtime {

namespace detail {

/// What a step is thought to take.
struct predicted_step {
    double seconds = 0;
    std::size_t crossing = 0;        ///< bytes
    std::size_t excess = 0;          ///< bytes beyond the devices' limits, together
    std::vector<double> busy;        ///< by device, seconds of its nodes
    std::vector<std::size_t> memory; ///< by device, with all variables

    bool better_than(const predicted_step& other) const noexcept {
        if (excess != other.excess) return excess < other.excess;
        return seconds < other.seconds * (1 - 1e-9) || (seconds <= other.seconds && crossing < other.crossing);
    }
};

/// A program as the cost model sees it: what a step does, grouped by what shares a device.
class cost_model {
public:
    /// group_of[i] is the group of item i of the program, below `groups`.
    cost_model(const program& p, const plan_options& o, const cost_measurements& m, std::vector<int> group_of,
               std::size_t groups);

    /// Bytes of a group's variables, beyond those that count already as the device's.
    void set_variables(std::size_t group, std::size_t bytes) { variables_[group] = bytes; }
    void take_variables(int device, std::size_t bytes) {
        std::size_t& there = there_[static_cast<std::size_t>(device)];
        there -= std::min(there, bytes);
    }

    /// The step with each group on a device. Groups on none (-1) are put, one by one, on the one of `allowed` where
    /// their first node ends earliest, of equal ones the first.
    predicted_step judge(std::vector<int>& device_of, const std::vector<std::vector<int>>& allowed = {}) const;

    /// By device: bytes that a group's nodes read from and give to nodes that are there.
    std::vector<double> shared_bytes(std::size_t group, const std::vector<int>& device_of) const;

    /// Groups in the order in which a step comes to them: to what lies there before it, when it is read first.
    std::vector<std::size_t> in_order(std::vector<std::size_t> groups) const;
    /// By place in such an order: bytes that cross in a step where what comes from there on is on another device than what comes before.
    std::vector<double> cut_bytes(const std::vector<std::size_t>& order) const;
    /// Of its variables, and of what its nodes give.
    double own_bytes(std::size_t group) const;

    /// Not all that it does is done when the step is planned.
    bool works(std::size_t group) const { return !items_of_[group].empty(); }
    /// All its nodes were, on this kind of device.
    bool was_timed(std::size_t group, int device) const;
    std::size_t variables(std::size_t group) const { return variables_[group]; }
    std::size_t limit(int device) const { return limits_[static_cast<std::size_t>(device)]; }
    bool same_kind(int a, int b) const {
        return kind_[static_cast<std::size_t>(a)] == kind_[static_cast<std::size_t>(b)];
    }
    std::size_t visits() const { return items_.size() + reads_.size(); } ///< that one judgement takes
    int nodes() const { return nodes_; }                                 ///< that have a time
    int timed_nodes(const std::vector<int>& device_of) const;            ///< those whose time was measured

private:
    struct item {
        int group = 0;
        std::size_t first_read = 0, first_after = 0, first_output = 0; // the next item's end them
        bool free = false;                                             // takes no time: a variable
    };
    struct value {
        std::size_t bytes = 0;
        int group = -1;     // of what makes it; -1: the host has it
        int last = -1;      // the item that reads it last
        int first = -1;     // and first
        bool once = false;  // crosses when the step is planned
        bool keeps = false; // a variable's
        bool fetched = false;

        bool is_there() const noexcept { return group < 0 || keeps; } // before the step
    };
    void take_items(const program& p, const plan_options& o, const std::vector<int>& group_of);
    void take_times(const program& p, const cost_measurements& m);
    void take_links(const plan_options& o, const cost_measurements& m);
    double time_of(std::size_t n, int device) const {
        return times_[n * kinds_.size() + static_cast<std::size_t>(kind_[static_cast<std::size_t>(device)])];
    }
    bool timed(std::size_t n, int device) const {
        return timed_[n * kinds_.size() + static_cast<std::size_t>(kind_[static_cast<std::size_t>(device)])];
    }
    const link_speed& link(int from, int to) const {
        return links_[static_cast<std::size_t>(from) * kind_.size() + static_cast<std::size_t>(to)];
    }
    class course;

    std::vector<item> items_; // in the order in which they were made; one more at the end
    std::vector<int> number_; // of each item in the program
    std::vector<int> reads_, after_, outputs_;
    std::vector<value> values_;
    std::vector<std::vector<int>> items_of_; // by group
    std::vector<std::vector<int>> readers_;  // by value: groups, each once
    std::vector<std::size_t> variables_;     // by group
    std::vector<double> times_;              // by item and kind, seconds
    std::vector<bool> timed_;
    std::vector<std::string> kinds_;
    std::vector<int> kind_;                   // by device
    std::vector<int> worker_;                 // by device: the line that computes
    std::vector<link_speed> links_;           // by device and device
    std::vector<int> copier_;                 // the same: the line that copies
    std::vector<std::size_t> there_, limits_; // by device
    int nodes_ = 0;
};

} // namespace detail

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/cost_model.ipp>
#endif
