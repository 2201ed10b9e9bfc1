#pragma once

#include "reference/step.hpp"

/// What runs in a step, and what runs before what (SEMANTICS 13, 15, 16).

namespace reference {

/// A node that runs, and what it waits for.
struct running {
    const tenon::node* node = nullptr;
    std::set<const tenon::node*> data;         ///< that make what it reads
    std::set<const tenon::node*> controls;     ///< that it is made to run after
    std::set<const tenon::node*> after;        ///< all that runs before it, near and far
    std::set<const tenon::node*> begins_after; ///< all that runs before it may read a variable: by its controls alone
};

class order {
public:
    explicit order(const request& r);

    bool is_fed(const tenon::node_output& o) const { return fed_.contains(place_of(o)); }
    /// Fed in one of its outputs: it runs only where another is needed, not because control or a target asks for it,
    /// and nobody waits for it.
    bool is_fed(const tenon::node& n) const;
    bool runs(const tenon::node* n) const { return running_.contains(n); }
    const running& at(const tenon::node* n) const { return running_.at(n); }
    /// Inputs first.
    const std::vector<const tenon::node*>& nodes() const { return nodes_; }
    /// Those that run and those of which only the sizes matter, inputs first.
    const std::vector<const tenon::node*>& sized() const { return sized_; }
    /// Those that fetches and targets name.
    const std::set<const tenon::node*>& asked_for() const { return asked_for_; }

private:
    std::set<place> fed_;
    std::map<const tenon::node*, running> running_;
    std::vector<const tenon::node*> nodes_, sized_;
    std::set<const tenon::node*> asked_for_;
};

/// Where the value of input i matters, not its sizes alone.
bool reads_value(const tenon::node& n, std::size_t i);
bool is_variable(const tenon::node& n);
/// What the parts of a variable in parts are joined to: who reads it reads the variable.
bool is_whole(const tenon::node& n);
bool is_update(const tenon::node& n);
/// What a node waits for besides its inputs: none, where it is a variable.
const std::vector<tenon::node*>& controls_of(const tenon::node& n);

} // namespace reference
