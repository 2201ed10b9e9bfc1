#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/short_list.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/op/prepared_body.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/plan/prepared_memory.hpp>
#include <tenon/runtime/plan/sizes.hpp>

/// What the planner works on: the part of a graph that one step needs. It is made by `prune`, put on devices by `place`, and,
/// where ops wait, cut into segments by `cut_into_segments`. Each, with all sizes known, is changed by `rewrite`, parted by
/// `insert_transfers`, ordered and laid out by `schedule`, and made an `executable`.

namespace tenon::runtime {

/// What a step is asked for.
struct request {
    std::vector<node_output> feeds;
    std::vector<tensor_type> feed_types; ///< with numbers only
    std::vector<node_output> fetches;
    std::vector<node*> targets; ///< operations to run for their effect
};

struct program_value {
    node_output origin;                             ///< for messages
    tensor_type type;                               ///< with numbers only, but where an op that waits will tell
    int producer = -1;                              ///< item, or -1 for feeds, constants and views
    int feed = -1;                                  ///< index of the feed it is
    int view_of = -1;                               ///< the value whose memory it is seen in with other sizes
    std::shared_ptr<const any_array> constant = {}; ///< its value, where it is known already
    variable_resource* variable = nullptr;          ///< the variable whose memory it is
    bool current = false;                           ///< of that, what the step's updates are computed of: SEMANTICS 20
    int fetch = -1;                                 ///< index of the fetch it answers
    int device = 0;                                 ///< in whose memory it lies
};

/// Values or items by number. Most lists are short, and a large program has many.
using number_list = short_list<int, 4>;

struct program_item {
    const node* origin = nullptr;
    const op_definition* op = nullptr;
    tenon::attributes attributes = {};
    number_list inputs = {};
    number_list outputs = {};
    number_list predecessors = {};  ///< items that run before it although no data flows
    short_list<bool, 16> read = {}; ///< inputs whose values its kernel reads: find_reads()
    int device = 0;                 ///< that runs it
    bool removed = false;
    bool target = false;             ///< was asked for by itself: it runs although nobody may read it
    tenon::kernel* kernel = nullptr; ///< the program's; of several items, where nothing tells them apart

    /// To be called where op, attributes or the number of inputs were changed: of other inputs only the sizes matter.
    void find_reads() {
        read.resize(inputs.size());
        for (std::size_t k = 0; k < inputs.size(); ++k) read[k] = op->reads(attributes, static_cast<int>(k));
    }
};

struct program {
    std::shared_ptr<prepared_memory> prepared = {}; ///< what its kernels hold; nullptr while there are none
    std::vector<program_value> values = {};
    std::vector<program_item> items = {};
    std::vector<kernel_pointer> kernels = {};                       ///< of the items
    std::vector<std::shared_ptr<variable_resource>> variables = {}; ///< of the values
    std::vector<tensor_type> feed_types = {};                       ///< by feed
    std::vector<int> fetches = {};                                  ///< values
    std::vector<bool> lent = {};                 ///< by fetch: it may be a variable's own memory; empty: none may
    std::vector<node_output> fetched = {};       ///< what they were asked for as, for messages
    size_bindings sizes;                         ///< the named sizes of the step
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
    bool reads(const program_item& i, int k) const { return i.read[static_cast<std::size_t>(k)]; }
    /// Appends an item; its number.
    int add(program_item&& i) {
        i.find_reads();
        items.push_back(std::move(i));
        return static_cast<int>(items.size()) - 1;
    }
    int add(program_value&& v) {
        values.push_back(std::move(v));
        return static_cast<int>(values.size()) - 1;
    }
};

struct plan_options;
using body_planning = std::unique_ptr<prepared_body> (*)(const std::shared_ptr<const body>& of, type_list arguments,
                                                         int device, const plan_options& o);

struct plan_options {
    int threads = 1;
    int side_by_side = 1; ///< nodes that may run at the same time
    bool fold = true;
    bool fuse = true;
    bool check_numerics = false; ///< the step is refused where a number is not finite
    bool measure = false;        ///< its nodes can be timed (session::set_measurements)
    bool allow_tf32 = false;     ///< as session_options says
    std::uint64_t epoch = 0;     ///< of the task's resources: how often containers were reset
    std::uint64_t graph_seed = 0;
    std::string session_container = {};          ///< of what one session alone uses
    element_type wire_type = element_type::none; ///< as session_options says
    /// Where what is sent is copied on its way to other tasks, so that a variable's value can be sent as it lies: what keeps the
    /// memory of the devices while it is on its way. nullptr: what is sent is what arrives.
    std::shared_ptr<void> lender = nullptr;
    body_planning plan_body = nullptr; ///< of kernels that run bodies of control flow
    int home = 0;                      ///< the device in whose memory what is fed and fetched lies
    bool is_body = false;              ///< of a kernel, out of whose memory it takes its own
    int kept_segments = 64;            ///< plans of a segment that are kept, each for some sizes that were known late
    /// Give memory, kernels and resources, and outlive the plan. The first is the CPU that folds, and holds
    /// constants. nullptr: another process's, of which only what is described is known.
    std::vector<tenon::device*> devices = {};
    std::vector<device_description> described = {}; ///< by device; needed until the program is cut by task

    tenon::device& device(int d) const { return *devices[static_cast<std::size_t>(d)]; }
    const device_description& description(int d) const { return described[static_cast<std::size_t>(d)]; }
    const device_name& name_of(int d) const { return description(d).attributes.name; }
    /// Whether a step that takes so many bytes, beside the variables, keeps within a device's limit.
    bool fits(int d, std::size_t bytes) const {
        const std::size_t limit = device(d).memory().limit;
        return limit == 0 || bytes + device(d).resources().bytes() <= limit;
    }
    bool has_streams() const {
        return std::any_of(devices.begin(), devices.end(), [](tenon::device* d) { return d->streams() != nullptr; });
    }
    /// What a tensor is rounded to on its way to another task; none: it travels as it is.
    element_type travels_as(const tensor_type& t) const noexcept {
        return t.element == element_type::float32 && t.extents.rank() > 0 ? wire_type : element_type::none;
    }
    /// Devices of this process.
    void set_devices(std::vector<tenon::device*> own) {
        devices = std::move(own);
        described.clear();
        for (tenon::device* d : devices) described.push_back(describe(*d));
    }
};

/// "mul_3 (mul) on /device:CPU:0".
std::string place_of(const node& n, const tenon::device& d);

/// What does an item's work: a stream of a device, or the host's threads.
struct worker {
    int device = 0;
    int stream = -1; ///< device_streams::stream, or -1
    friend bool operator==(const worker&, const worker&) = default;
};
worker worker_of(const program& p, const plan_options& o, const program_item& i);

/// The variable that an item is or updates; nullptr: none. Throws invalid_argument_error where what it updates is none.
const node* variable_of(const program_item& i);

/// Gives each variable its memory, on the device where it was placed. Throws what resource_manager::variable throws.
void bind_variables(program& p, const plan_options& o);

/// True for what a step does from its first update to its last, beside what is only in between: updates, what writes
/// straight into variables, and who reads values that updates are computed of or leave.
bool belongs_to_updates(const program& p, const program_item& i);

/// What an item is timed as, in the sizes of the step.
std::string timed_as(const program& p, const program_item& i);

/// Makes the kernel of an item, for its sizes; what it holds is counted in p.prepared, which outlives it. resource_exhausted_error, which
/// names node, sizes and limit, where that is more than the host has or may take.
kernel_pointer prepare_kernel(program& p, const program_item& i, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/program.ipp>
#endif
