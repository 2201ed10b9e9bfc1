#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/runtime/session/session.hpp>

/// What one step is asked for, what it begins with, and how it ends. Nothing here or in this folder calls the
/// planner: of runtime/ only the struct fed_value is used.

namespace reference {

using shared_array = std::shared_ptr<const tenon::any_array>;

/// See evaluate().
struct noise {
    double units = 0; ///< of rounding; 0: none
    std::uint64_t seed = 1;
    /// Real functions (exp, sin, ..) are another library's, as on a GPU: what they give is not exact either.
    bool other_functions = false;
};

struct request {
    std::vector<tenon::fed_value> feeds = {};
    std::vector<tenon::any_tensor> fetches = {};
    std::vector<tenon::operation> targets;
};

/// What outlives steps, by "container/name".
struct state {
    std::map<std::string, shared_array> variables; ///< those that have a value
    std::map<std::string, std::uint64_t> runs;     ///< how often each random node has run
};

std::string identity_of(const tenon::node& n);

/// A value, and whether every order of additions gives its bits.
struct result {
    shared_array value;
    bool exact = true;
};

/// How a step ends.
struct outcome {
    std::set<tenon::error_code> errors = {}; ///< not empty: it fails with one of these
    std::vector<result> fetches = {};
    /// That have a value after the step; of a step that fails: if its updates were applied, as on each task all are or none.
    std::map<std::string, result> variables = {};
    std::map<std::string, std::uint64_t> runs = {};
    bool begins = true;                  ///< false: it fails before anything runs
    std::set<std::string> not_made = {}; ///< of a step that fails: the variables of which an update does
    /// Of a step that fails: something waits or fails after an update, or in the arithmetic of one, so that some of its updates
    /// may have been made, of which its error tells.
    bool may_be_in_part = false;
    /// Variables of which nothing is said then: of a node of several outputs one may have been computed without what failed,
    /// and which of those that tell a size late failed is not known where they disagree.
    std::set<std::string> unsaid = {};
    bool late_names_disagree = false; ///< a name has two sizes, told by ops of perhaps different tasks
    bool denormal = false;            ///< a number is, that is fed, constant or computed, of float32 or float64
    bool finite = true;               ///< no number that is fed, constant or computed is infinite or NaN
    bool read_finite = true;          ///< the same of those that somebody reads
};

/// A tensor of the graph as a key.
using place = std::pair<const tenon::node*, int>;
inline place place_of(const tenon::node_output& o) { return {o.node, o.index}; }

} // namespace reference
