#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/place/placer.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>
#include <tenon/runtime/plan/sizes.hpp>

namespace tenon {

namespace runtime {

namespace detail {

// Whether it runs where the resource is that its input 0 stands for.
inline bool has_resource(const node& n) { return n.op->is(op_flags::updates) || n.op->is(op_flags::uses); }

inline element_type element_of(const node& n) {
    if (!n.outputs.empty()) return n.outputs[0].element;
    return n.inputs.empty() ? element_type::none : n.input_type(0).element;
}

inline std::string quoted(const std::string& text) { return "'" + text + "'"; }

// "v (variable), int32 [] asked for '/device:GPU:0'"
inline std::string request_of(const node& n) {
    std::string text = n.name + " (" + shown_op(n) + ")";
    if (!n.outputs.empty()) text += ", " + to_string(n.outputs[0]);
    return text + (n.device.empty() ? ", asked for nothing" : ", asked for " + quoted(to_string(n.device)));
}

inline std::string listed(element_types set) {
    if (set == all_elements) return "all element types";
    if (set.empty()) return "none";
    std::string text;
    for (int e = 1; e <= static_cast<int>(element_type::string); ++e)
        if (set.has(static_cast<element_type>(e)))
            text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<element_type>(e)));
    return text;
}

inline bool name_different_tasks(const device_name& a, const device_name& b) {
    const auto differ = [](int x, int y) { return x >= 0 && y >= 0 && x != y; };
    return (!a.job.empty() && !b.job.empty() && !(a.job == b.job)) || differ(a.replica, b.replica) ||
           differ(a.task, b.task);
}
// "node" and "colocated" requests that name different devices.
inline bool disagree(const device_name& a, const device_name& b) {
    return name_different_tasks(a, b) || (!a.type.empty() && !b.type.empty() && !(a.type == b.type)) ||
           (a.index >= 0 && b.index >= 0 && a.index != b.index);
}

// A number for each of some nodes of a graph, else -1.
class node_numbers {
public:
    int& operator[](const node* n) {
        const auto at = static_cast<std::size_t>(n->number);
        if (at >= numbers_.size()) numbers_.resize(std::max(at + 1, 2 * numbers_.size()), -1);
        return numbers_[at];
    }
    int at(const node* n) const noexcept {
        const auto at = static_cast<std::size_t>(n->number);
        return at < numbers_.size() ? numbers_[at] : -1;
    }
    const std::vector<int>& by_node() const noexcept { return numbers_; }

private:
    std::vector<int> numbers_;
};

// With what a node must share its device, whatever its scopes say: the resource that it updates or uses; or, of what is
// computed of a variable's current value, that variable. An update computed elsewhere would be of what the variable was when it
// was read, and those of other steps in between would be lost (SEMANTICS 4).
class data_ties {
public:
    explicit data_ties(const std::vector<const node*>& nodes) { // in the order in which they were made
        for (const node* n : nodes) {
            // What waits is never done together with an update.
            if (has_resource(*n) || !has_no_effects(*n->op) || n->op->is(op_flags::waits)) continue;
            const auto tied = [&](const node_output& in) { return is_current_value(in) || of_current_[in.node] >= 0; };
            const auto by = std::find_if(n->inputs.begin(), n->inputs.end(), tied);
            if (by != n->inputs.end()) of_current_[n] = static_cast<int>(by - n->inputs.begin());
        }
    }
    /// nullptr: with nothing.
    const node* of(const node& n) const {
        if (has_resource(n)) return n.inputs[0].node;
        const int input = of_current_.at(&n);
        return input < 0 ? nullptr : n.inputs[static_cast<std::size_t>(input)].node;
    }

private:
    node_numbers of_current_; // of what is computed of a current value: the input by which it is
};

// Of a node's bodies, and of those in them, the first node for which a device has no kernel; "": it has all.
inline std::string without_kernel(const device_attributes& d, const node& n) {
    if (!n.op->bodies || d.name.type != "GPU") return {};
    for (const std::string& text : n.op->bodies(n.attributes)) {
        const std::shared_ptr<const body> b = body::of_text(text);
        for (std::int64_t k = 0; k < b->of().size(); ++k) {
            const node& own = *b->of().at(k);
            if (own.op->is(op_flags::fed) || own.op->is(op_flags::constant)) continue;
            if (!tenon::has_kernel(d, *own.op, element_of(own)))
                return own.name + " (" + shown_op(own) + "), " + to_string(own.outputs[0]);
            if (std::string inner = without_kernel(d, own); !inner.empty()) return inner;
        }
    }
    return {};
}
} // namespace detail

TENON_INLINE bool placer::has_kernel(const node& n, int device) const {
    if (!n.op->cpu) return true; // what must be fed lies where it is used
    const device_attributes& d = devices_[static_cast<std::size_t>(device)];
    return tenon::has_kernel(d, *n.op, detail::element_of(n)) && detail::without_kernel(d, n).empty();
}

TENON_INLINE const placement_decision* placer::decided(const node* n) const {
    const auto at = static_cast<std::size_t>(n->number);
    return at < decisions_.size() && decisions_[at].device >= 0 ? &decisions_[at] : nullptr;
}

// Nodes tied by resources and by colocate_with; what they are tied to is decided with them, and so is what they follow.
TENON_INLINE std::vector<placement_group> placer::groups_of(const std::vector<const node*>& nodes,
                                                            const detail::data_ties& ties) const {
    std::vector<const node*> all;
    detail::node_numbers place;
    const auto enter = [&](const node* n) {
        int& number = place[n];
        if (number < 0) {
            number = static_cast<int>(all.size());
            all.push_back(n);
        }
        return number;
    };
    for (const node* n : nodes)
        if (!decided(n)) enter(n);
    std::vector<int> parent;
    const auto root = [&](int i) {
        while (parent[static_cast<std::size_t>(i)] != i)
            i = parent[static_cast<std::size_t>(i)] =
                parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(i)])];
        return i;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        const node& n = *all[i];
        const auto tie = [&](const node* to) {
            const int other = enter(to);
            while (parent.size() < all.size()) parent.push_back(static_cast<int>(parent.size()));
            parent[static_cast<std::size_t>(root(static_cast<int>(i)))] = root(other);
        };
        while (parent.size() < all.size()) parent.push_back(static_cast<int>(parent.size()));
        if (const node* data = ties.of(n)) tie(data);
        for (const node* c : n.colocated) tie(c);
        if (n.follows) enter(n.follows);
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < parent.size(); ++i) count += parent[i] == static_cast<int>(i);
    std::vector<placement_group> groups;
    groups.reserve(count);
    std::vector<int> group_of(all.size(), -1); // by root
    for (const int i : place.by_node()) {      // in the order in which they were made
        if (i < 0) continue;
        int& group = group_of[static_cast<std::size_t>(root(i))];
        if (group < 0) {
            group = static_cast<int>(groups.size());
            groups.emplace_back();
        }
        groups[static_cast<std::size_t>(group)].members.push_back(all[static_cast<std::size_t>(i)]);
    }
    return groups;
}

TENON_INLINE void placer::disagree(const node& a, const node& b) const {
    const auto told = [&](const node& n) {
        const placement_decision* d = decided(&n);
        if (!d) return detail::request_of(n);
        return n.name + " is on " + to_string(name_of(d->device)) + " since an earlier run";
    };
    throw invalid_argument_error("cannot place '" + a.name + "' and '" + b.name +
                                 "' on one device, which they must share: " + told(a) + "; " + told(b) +
                                 "; take one of the two out of its device scope or of colocate_with, or allow soft "
                                 "placement [node " +
                                 described(a) + "] [node " + described(b) + "]");
}

// What holds a resource decides for what is tied to it: that follows, whatever its scopes say.
TENON_INLINE void placer::gather_requests(placement_group& g, const detail::data_ties& ties) const {
    for (const node* n : g.members) {
        const placement_decision* d = decided(n);
        if (!d) continue;
        if (g.fixed && g.device != d->device) {
            if (!soft_) disagree(*n, *g.asked);
            continue;
        }
        g.device = d->device;
        g.fixed = g.earlier = true;
        g.wanted = name_of(g.device);
        g.asked = n;
    }
    for (const node* n : g.members) {
        if (n->device.empty() || ties.of(*n) || decided(n)) continue;
        if (g.asked && detail::disagree(g.wanted, n->device)) {
            if (!soft_ || detail::name_different_tasks(g.wanted, n->device)) disagree(*n, *g.asked);
            continue;
        }
        if (!g.asked) g.asked = n;
        if (!g.fixed) g.wanted = g.wanted.filled_from(n->device);
    }
}

TENON_INLINE void placer::no_such_device(const placement_group& g) const {
    std::string text = "Cannot assign a device for operation '" + g.asked->name +
                       "': Could not satisfy explicit device specification '" + to_string(g.wanted) +
                       "' because no such device exists; the devices of this session are:";
    device_name place = g.wanted; // soft placement changes neither job nor task
    place.type = {};
    place.index = -1;
    bool any_gpu = false, may_be_soft = false;
    for (const device_attributes& d : devices_) {
        text += "\n  " + to_string(d.name) + "  " + d.description;
        any_gpu = any_gpu || d.name.type == "GPU";
        may_be_soft = may_be_soft || place.allows(d.name);
    }
    if (g.wanted.type == "GPU" && !any_gpu) {
        const auto linked = linked_gpu_backend();
        std::string why = linked ? linked->why_none() : "link a GPU library of Tenon";
        if (why.empty()) why = "its options leave none of this machine's";
        text += "\nThis program has no GPUs: " + why +
                ", or try the program on simulated ones with session_options::gpus = simulated_gpu(count, bytes)";
    }
    if (g.wanted.type == "CPU" && may_be_soft)
        text += "\nThe CPU is several devices where session_options::cpu_devices says so";
    if (!may_be_soft)
        text += "\nThis session has no such task: where it is one of the cluster, session_options::device_filters "
                "leave it out";
    throw invalid_argument_error(text + "\nName another device" +
                                 (may_be_soft ? ", or set session_options::allow_soft_placement" : "") + " [node " +
                                 described(*g.asked) + "]");
}

TENON_INLINE void placer::no_kernel(const placement_group& g) const {
    const std::string type =
        g.wanted.type.empty() ? std::string("the session's") : g.wanted.type.str(); // some is asked for: see choose
    std::string text = "Cannot assign a device for operation '" + g.asked->name +
                       "': Could not satisfy explicit device specification '" + to_string(g.wanted) +
                       "' because no supported kernel for " + type + " devices is available.\nIts group:";
    for (const node* n : g.members) text += "\n  " + detail::request_of(*n);
    for (const node* n : g.members)
        for (const device_attributes& d : devices_) {
            const std::string inner = g.wanted.allows(d.name) ? detail::without_kernel(d, *n) : std::string();
            if (inner.empty()) continue;
            text += "\n" + n->name + " runs a body, whose node " + inner + " has no kernel for " + d.name.type.str() +
                    " devices";
            break;
        }
    text += "\nRegistered kernels:";
    std::vector<const op_definition*> told;
    for (const node* n : g.members) {
        if (std::find(told.begin(), told.end(), n->op) != told.end()) continue;
        told.push_back(n->op);
        text += "\n  " + std::string(n->op->name) +
                ": device CPU: " + (n->op->cpu ? detail::listed(all_elements) : std::string("none")) +
                "; device GPU: " + detail::listed(n->op->gpu_types);
    }
    throw invalid_argument_error(
        text +
        (g.earlier ? "\nThe group is there since an earlier run: in a new session, place it on /device:CPU:0"
         : soft_   ? "\nNo device of this session has kernels for all of them"
                   : "\nPlace it on /device:CPU:0, or set session_options::allow_soft_placement") +
        " [node " + described(*g.asked) + "]");
}

// Whether a device is on the task where a group is that does not say on which (SEMANTICS 3).
TENON_INLINE bool placer::is_at_home(const placement_group& g, int device) const {
    const auto has = [&](op_flags f) {
        return std::any_of(g.members.begin(), g.members.end(), [f](const node* n) { return n->op->is(f); });
    };
    const device_name& own = name_of(0); // of the task that the session is on
    device_name task;
    task.job = g.wanted.job;
    task.task = g.wanted.task;
    const bool of_program = has(op_flags::of_program) && task.allows(own);
    if (of_program || (task.job.empty() && task.task < 0)) {
        const device_name& home = !of_program && has(op_flags::resource) && !resources_.job.empty() ? resources_ : own;
        task.job = home.job;
        task.task = home.task;
    } else if (task.task < 0) task.task = 0;
    return task.allows(name_of(device));
}

TENON_INLINE void placer::choose(placement_group& g) const {
    if (g.fixed) { // it cannot move any more, so soft placement helps nobody
        for (const node* n : g.members)
            if (!decided(n) && !has_kernel(*n, g.device)) {
                g.asked = n;
                no_kernel(g);
            }
        g.candidates = {g.device};
        return;
    }
    const auto find = [&](const device_name& wanted, bool& exists) {
        exists = false;
        g.candidates.clear();
        for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
            if (!wanted.allows(name_of(d))) continue;
            exists = true;
            if (std::all_of(g.members.begin(), g.members.end(), [&](const node* n) { return has_kernel(*n, d); }))
                g.candidates.push_back(d);
        }
    };
    bool exists = false;
    find(g.wanted, exists);
    bool softened = false;
    if (g.candidates.empty() && soft_) { // neither job nor task changes
        device_name task = g.wanted;
        task.type = {};
        task.index = -1;
        bool task_exists = false;
        find(task, task_exists);
        softened = !g.candidates.empty();
    }
    if (!g.asked) g.asked = g.head();
    if (g.candidates.empty()) exists ? no_kernel(g) : no_such_device(g);
    // The first GPU where nothing else is said, else the first CPU: of the task at home, where that is one that may be.
    const bool at_home = std::any_of(g.candidates.begin(), g.candidates.end(), [&](int d) { return is_at_home(g, d); });
    const auto may_be = [&](int d) { return !at_home || is_at_home(g, d); };
    const auto gpu = std::find_if(g.candidates.begin(), g.candidates.end(),
                                  [&](int d) { return may_be(d) && name_of(d).type == "GPU"; });
    g.device = gpu != g.candidates.end() ? *gpu : *std::find_if(g.candidates.begin(), g.candidates.end(), may_be);
    const bool typed = !g.wanted.type.empty();
    g.fixed = typed && !softened && g.candidates.size() == 1;
    g.rule = softened                    ? placement_rule::softened
             : typed                     ? placement_rule::requested
             : gpu != g.candidates.end() ? placement_rule::gpu_default
                                         : placement_rule::cpu_default;
}

// A group whose nodes follow one of another group becomes a part of that where it may be there: where its own requests
// allow the device, and there are kernels for it.
TENON_INLINE void placer::join_followers(std::vector<placement_group>& groups) const {
    std::vector<const node*> followers;
    detail::node_numbers follower, group_of;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const node* n : groups[g].members) {
            group_of[n] = static_cast<int>(g);
            if (!n->follows || decided(n)) continue;
            follower[n] = static_cast<int>(followers.size());
            followers.push_back(n);
        }
    std::vector<std::size_t> joined(groups.size());
    std::iota(joined.begin(), joined.end(), std::size_t{0});
    const auto now_in = [&](const node* n) {
        auto g = static_cast<std::size_t>(group_of[n]);
        while (joined[g] != g) g = joined[g] = joined[joined[g]];
        return g;
    };
    for (const int i : follower.by_node()) { // in the order in which they were made
        if (i < 0) continue;
        const node* n = followers[static_cast<std::size_t>(i)];
        const std::size_t from = now_in(n), to = now_in(n->follows);
        placement_group &own = groups[from], &leader = groups[to];
        if (from == to || own.fixed ||
            std::find(own.candidates.begin(), own.candidates.end(), leader.device) == own.candidates.end())
            continue;
        joined[from] = to;
        const auto kept = std::remove_if(leader.candidates.begin(), leader.candidates.end(), [&](int d) {
            return std::find(own.candidates.begin(), own.candidates.end(), d) == own.candidates.end();
        });
        leader.candidates.erase(kept, leader.candidates.end());
        leader.members.append(own.members.begin(), own.members.end());
        leader.followers += own.members.size();
        own.members.clear();
    }
    std::erase_if(groups, [](const placement_group& g) { return g.members.empty(); });
}

TENON_INLINE std::string placer::line_of(const node& n, const placement_decision& d) const {
    std::string line = n.name + ": (" + shown_op(n) + "): " + to_string(name_of(d.device));
    if (d.rule == placement_rule::softened && !n.device.empty())
        line += " (soft placement: it asked for " + to_string(n.device) + ")";
    return line;
}

// The lines of nodes, and of what they must share their device with, that the log was not told. The caller holds the
// guard.
TENON_INLINE std::vector<std::string> placer::news_of(const std::vector<const node*>& nodes) {
    std::vector<const node*> placed;
    const auto tell = [&](const node* n) {
        if (!std::exchange(decisions_[static_cast<std::size_t>(n->number)].told, true)) placed.push_back(n);
    };
    for (const node* n : nodes) {
        tell(n);
        if (detail::has_resource(*n)) tell(n->inputs[0].node);
        for (const node* c : n->colocated) tell(c);
    }
    std::sort(placed.begin(), placed.end(), [](const node* a, const node* b) { return a->number < b->number; });
    std::vector<std::string> lines;
    for (const node* n : placed) lines.push_back(line_of(*n, *decided(n)));
    return lines;
}

TENON_INLINE std::vector<int> placer::place(const std::vector<const node*>& nodes, const placement_optimizer& better) {
    std::vector<int> devices;
    std::vector<std::string> lines;
    {
        const std::lock_guard lock(guard_);
        if (!std::all_of(nodes.begin(), nodes.end(), [&](const node* n) { return decided(n); })) decide(nodes, better);
        devices.reserve(nodes.size());
        for (const node* n : nodes) devices.push_back(decided(n)->device);
        if (log_) lines = news_of(nodes);
    }
    // Outside the lock: what is called may use the session.
    for (const std::string& line : lines) log_(line);
    return devices;
}

// The caller holds the guard.
TENON_INLINE void placer::decide(const std::vector<const node*>& nodes, const placement_optimizer& better) {
    const detail::data_ties ties(nodes);
    std::vector<placement_group> groups = groups_of(nodes, ties);
    for (placement_group& g : groups) {
        gather_requests(g, ties);
        choose(g);
    }
    join_followers(groups);
    std::vector<int> by_rules;
    for (const placement_group& g : groups) by_rules.push_back(g.device);
    if (better) {
        const std::size_t undecided = groups.size();
        for (const node* n : nodes)
            if (const placement_decision* d = decided(n)) {
                placement_group g{.members = {n}, .device = d->device};
                g.candidates = {g.device};
                g.fixed = g.earlier = true;
                groups.push_back(std::move(g));
            }
        better(groups);
        groups.resize(undecided);
    }
    std::int64_t last = -1;
    for (const placement_group& g : groups)
        for (const node* n : g.members) last = std::max(last, n->number);
    if (last >= std::ssize(decisions_)) decisions_.resize(static_cast<std::size_t>(last) + 1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const placement_group& g = groups[i];
        const device_name& device = name_of(g.device);
        const std::size_t own = g.members.size() - g.followers;
        for (std::size_t k = 0; k < g.members.size(); ++k) {
            const node* n = g.members[k];
            placement_rule rule = g.rule;
            if (ties.of(*n)) rule = placement_rule::with_data;
            else if (!n->device.empty() && !n->device.allows(device)) rule = placement_rule::softened;
            else if (k >= own) rule = n->device.type.empty() ? placement_rule::with_data : placement_rule::requested;
            else if (g.rule == placement_rule::requested && n->device.empty() && !n->colocated.empty())
                rule = placement_rule::colocated;
            placement_decision& d = decisions_[static_cast<std::size_t>(n->number)];
            if (d.device < 0) d = {g.device, rule, by_rules[i], g.head()};
        }
    }
}

TENON_INLINE placement_decision placer::decision(const node* n) const {
    const std::lock_guard lock(guard_);
    const placement_decision* d = decided(n);
    return d ? *d : placement_decision{};
}

} // namespace runtime
} // namespace tenon
