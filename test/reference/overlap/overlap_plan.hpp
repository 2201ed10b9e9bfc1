#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "reference/order.hpp"
#include "reference/overlap/overlap.hpp"
#include "reference/values.hpp"

/// What is known of a step that overlaps others before it runs: its effects, what comes before them, and when variables are read.

namespace reference {

/// Of a node that has an effect, or sees those of others.
struct effect {
    enum class kind {
        enqueue,
        enqueue_many,
        dequeue,
        dequeue_many,
        dequeue_up_to,
        dequeue_some,
        size,
        is_closed,
        close,
        update
    };
    const tenon::node* node = nullptr;
    kind what = kind::size;
    int on = 0;           // its queue, or variable
    std::set<int> before; // effects
    std::set<int> waits;  // those of them that wait: its segment
    std::set<int> data;   // effects that what it does is computed of
    bool is_waiting() const { return what <= kind::dequeue_some; }
    bool is_dequeue() const { return what >= kind::dequeue && what <= kind::dequeue_some; }
};

/// A step, before it runs.
struct plan_of_step {
    const request* asked = nullptr;
    const bindings* in = nullptr;
    std::optional<tenon::error_code> cut;
    std::unique_ptr<reference::order> order;
    std::vector<effect> effects;
    std::map<const tenon::node*, int> effect_of;
    std::map<const tenon::node*, std::set<int>> before; // effects that come before a node
    std::vector<std::set<int>> segments;                // by number: the ops that wait before it; 0: none
    std::map<place, int> places;
    std::map<std::pair<const tenon::node*, const tenon::node*>, std::vector<int>>
        moments; // when a node may read a variable
    std::map<int, std::vector<const std::vector<int>*>>
        read_before;       // by variable: moments of those who must find it as it was
    std::set<int> reading; // segments that read variables
    std::vector<int> fed;  // by feed: values
    bool waits_after_update = false;
    std::set<int> seen; // effects after which something runs that is none, but may count as one
};

std::unique_ptr<plan_of_step> planned(const overlapping_step& s, values& v);

/// The last update of the variable in the step that comes before the node; null: none.
const tenon::node* own_update_before(const plan_of_step& p, const tenon::node& n, const tenon::node& variable);

} // namespace reference
