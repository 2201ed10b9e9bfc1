#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/core/short_list.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/place/explanation.hpp>

/// Which device each node runs on (SEMANTICS 3 to 8).

namespace tenon {

namespace runtime {

namespace detail {
class data_ties;
}

struct placement_decision {
    int device = -1; ///< -1: undecided
    placement_rule rule = placement_rule::cpu_default;
    int by_rules = 0;            ///< the device that the rules chose
    const node* group = nullptr; ///< the first node of those that share their device with it
    bool told = false;           ///< the log was told, as it is when a run first needs the node
};

/// Nodes that must share a device.
struct placement_group {
    short_list<const node*, 2> members; ///< first those that must share it, in the order in which they were made
    std::size_t followers = 0;          ///< of the members, those at the end that came to it by node::follows
    device_name wanted = {};            ///< what its members asked for, together
    const node* asked = nullptr;        ///< one that asked; nullptr: none did
    short_list<int, 4> candidates = {}; ///< devices that have kernels for all members and were asked for
    int device = -1;
    placement_rule rule = placement_rule::cpu_default;
    bool fixed = false;   ///< one device was asked for, or an earlier run chose it
    bool earlier = false; ///< an earlier run chose it: its variables are there

    const node* head() const { return members.front(); }
};

/// Chooses among the candidates of groups that are not fixed. Called after the rules have chosen for all; where earlier
/// runs did, each node is a group.
using placement_optimizer = shared_function<void(std::vector<placement_group>&)>;

/// The placement of a session: what was decided stays. Thread-safe.
class placer {
public:
    /// Descriptions of the devices that there are, of this task or others: nothing of them is used. devices[0] is the CPU that
    /// holds what is fed and fetched; its task is the one where nodes are placed that ask for none, but for resources, which
    /// are on `resources`, a task's part of a name. log, where it is set, is told each decision once.
    placer(std::vector<device_attributes> devices, bool soft, shared_function<void(const std::string&)> log,
           device_name resources = {}) :
        devices_(std::move(devices)), soft_(soft), log_(std::move(log)), resources_(std::move(resources)) {}

    /// The devices of nodes, given in the order in which they were made; decides for those that are undecided. Throws
    /// invalid_argument_error where a request cannot be satisfied, naming the nodes, what they asked for, and the
    /// kernels or devices that there are; then nothing is decided.
    std::vector<int> place(const std::vector<const node*>& nodes, const placement_optimizer& better = {});

    /// Of a node that was placed.
    placement_decision decision(const node* n) const;

private:
    const placement_decision* decided(const node* n) const; // nullptr: it is not
    void decide(const std::vector<const node*>& nodes, const placement_optimizer& better);
    std::string line_of(const node& n, const placement_decision& d) const;
    std::vector<std::string> news_of(const std::vector<const node*>& nodes);
    std::vector<placement_group> groups_of(const std::vector<const node*>& nodes, const detail::data_ties& ties) const;
    void gather_requests(placement_group& g, const detail::data_ties& ties) const;
    void choose(placement_group& g) const;
    void join_followers(std::vector<placement_group>& groups) const;
    bool has_kernel(const node& n, int device) const;
    [[noreturn]] void disagree(const node& a, const node& b) const;
    [[noreturn]] void no_such_device(const placement_group& g) const;
    [[noreturn]] void no_kernel(const placement_group& g) const;

    const device_name& name_of(int device) const { return devices_[static_cast<std::size_t>(device)].name; }
    bool is_at_home(const placement_group& g, int device) const;

    const std::vector<device_attributes> devices_;
    const bool soft_;
    const shared_function<void(const std::string&)> log_;
    const device_name resources_;               // the task of those that are pinned to none
    mutable std::mutex guard_;                  // of what follows
    std::vector<placement_decision> decisions_; // by the node's number
};

} // namespace runtime
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/placer.ipp>
#endif
