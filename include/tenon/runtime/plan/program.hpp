#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <tenon/graph/op.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/place/placer.hpp>

/// What the planner works on: the part of a graph that one step needs, with all sizes known. It is made by
/// `prune`, put on devices by `place`, changed by `rewrite`, parted by `insert_transfers`, ordered and laid out by
/// `schedule`, and frozen into a plan.

namespace tenon::runtime {

/// What a step is asked for.
struct request {
    std::vector<node_output> feeds;
    std::vector<tensor_type> feed_types; ///< with numbers only
    std::vector<node_output> fetches;
    std::vector<node*> targets; ///< operations to run for their effect
};

struct program_value {
    node_output origin;                        ///< for messages
    tensor_type type;                          ///< with numbers only
    int producer = -1;                         ///< item, or -1 for feeds, constants and views
    int feed = -1;                             ///< index of the feed it is
    int view_of = -1;                          ///< the value whose memory it is seen in with other sizes
    std::shared_ptr<const any_array> constant; ///< its value, where it is known already
    variable_resource* variable = nullptr;     ///< the variable whose memory it is
    int fetch = -1;                            ///< index of the fetch it answers
    int device = 0;                            ///< in whose memory it lies
};

struct program_item {
    const node* origin = nullptr;
    const op_definition* op = nullptr;
    tenon::attributes attributes;
    std::vector<int> inputs;
    std::vector<int> outputs;
    std::vector<int> after; ///< items that run before it although no data flows
    int device = 0;         ///< that runs it
    bool removed = false;
    std::vector<bool> read;                ///< inputs whose values the kernel reads; known once the kernel is there
    std::shared_ptr<tenon::kernel> kernel; ///< of several items, where nothing tells them apart
};

struct program {
    std::vector<program_value> values;
    std::vector<program_item> items;
    std::vector<int> fetches;                    ///< values
    std::vector<node_output> fetched;            ///< what they were asked for as, for messages
    int folded = 0, shared_views = 0, fused = 0; ///< what the rewriter did

    int root(int value) const {
        while (values[static_cast<std::size_t>(value)].view_of >= 0)
            value = values[static_cast<std::size_t>(value)].view_of;
        return value;
    }
    program_value& value(int v) { return values[static_cast<std::size_t>(v)]; }
    const program_value& value(int v) const { return values[static_cast<std::size_t>(v)]; }
    program_item& item(int i) { return items[static_cast<std::size_t>(i)]; }
    const program_item& item(int i) const { return items[static_cast<std::size_t>(i)]; }

    /// True when the item's kernel reads input k; otherwise only its sizes matter.
    bool reads(const program_item& i, int k) const { return i.op->reads(i.attributes, k); }
};

class placement_strategy;

struct plan_options {
    int threads = 1;
    int side_by_side = 1; ///< nodes that may run at the same time
    bool fold = true;
    bool fuse = true;
    bool check_numerics = false; ///< the step is refused where a number is not finite
    bool measure = false;        ///< its nodes can be timed (session::set_measurements)
    std::uint64_t graph_seed = 0;
    /// Give memory, kernels and resources, and outlive the plan. The first is the CPU that holds what is fed and
    /// fetched.
    std::vector<tenon::device*> devices;
    tenon::runtime::placer* placer = nullptr;
    placement_strategy* strategy = nullptr; ///< chooses what the rules leave open; nullptr: the rules do

    tenon::device& device(int d) const { return *devices[static_cast<std::size_t>(d)]; }
    /// Whether a step that takes so many bytes, beside the variables, keeps within a device's limit.
    bool fits(int d, std::size_t bytes) const {
        const std::size_t limit = device(d).memory().limit;
        return limit == 0 || bytes + device(d).resources().bytes() <= limit;
    }
    bool has_lanes() const {
        return std::any_of(devices.begin(), devices.end(), [](tenon::device* d) { return d->lanes() != nullptr; });
    }
};

/// Chooses devices for what the rules leave open.
class placement_strategy {
public:
    virtual ~placement_strategy() = default;
    /// Changes `device` and `rule` of groups that are not fixed, within their candidates.
    virtual void choose(const program& p, const plan_options& o, std::vector<placement_group>& groups) = 0;
    /// Tells what it thinks of a program that was placed, and of what the rules chose for it.
    virtual void explain(const program& p, const plan_options& o, placement_explanation& e) = 0;
};

/// "mul_3 (fused) on /device:CPU:0".
std::string place_of(const node& n, const tenon::device& d);

/// The nodes that the request needs, with all sizes. Errors: a placeholder that is not fed, sizes that do not
/// agree, a named size with two values.
program prune(const request& r);

/// Which value of a variable each item reads: what was there before the step's updates, unless the item was made to run
/// after one, or after what runs after it (SEMANTICS 15, 20); then what the latest of those left. From here on it is the
/// value that says so, not who reads it when, so a rewrite may move a read to another item. A part of prune.
void resolve_reads(program& p);

/// Gives each item its device, and each variable its memory there. Throws what placer::place and
/// resource_manager::variable throw.
void place(program& p, const plan_options& o);

/// Of a program that was placed: each node, and each tensor that one reads from another.
placement_explanation explain(const program& p, const plan_options& o);

/// Makes what an item reads from another device's memory cross to it: each tensor once, constants when the step is
/// planned.
void insert_transfers(program& p, const plan_options& o);

/// What an item's output is of its input, where it need not run: the same tensor, or the same memory in other sizes.
enum class view_kind { none, same, reshaped };
view_kind view_kind_of(const program_item& i);
/// Results of constants that take more bytes are computed in each step.
inline constexpr std::int64_t most_folded_bytes = 1 << 20;

/// Folds constants, sees through identities and reshapes, fuses elementwise items and epilogues.
void rewrite(program& p, const plan_options& o);

/// What does an item's work: a lane of a device, or the host's threads.
struct worker {
    int device = 0;
    int lane = -1; ///< device_lanes::lane, or -1
    friend bool operator==(const worker&, const worker&) = default;
};
worker worker_of(const program& p, const plan_options& o, const program_item& i);

/// The variable that an item is or updates; nullptr: none. Throws invalid_argument_error where what it updates is none.
const node* variable_of(const program_item& i);

/// What an item is timed as, in the sizes of the step.
std::string timed_as(const program& p, const program_item& i);

/// Makes the kernel of an item, for its sizes.
kernel_pointer prepare_kernel(const program& p, const program_item& i, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/partition.ipp>
#include <tenon/runtime/plan/prune.ipp>
#include <tenon/runtime/plan/reads.ipp>
#include <tenon/runtime/plan/rewrite.ipp>
#endif
