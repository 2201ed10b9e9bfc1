#pragma once

#include "reference/order.hpp"

/// Which updates there are in a step, and what they are computed of (SEMANTICS 20, `variable_op`): what an update is
/// computed of a variable's current value, by nodes without effects, is computed for it anew, of what the updates that
/// were made before left. Updates of different variables that take their values from one node find what was left before
/// the first of them; what gives updates their value, and is read by another one's arithmetic too, is that of its own.

namespace reference {

class updates {
public:
    explicit updates(const order& o);

    /// Of each variable, as they were made.
    const std::map<const tenon::node*, std::vector<const tenon::node*>>& all() const { return of_; }
    const std::vector<const tenon::node*>& of(const tenon::node* variable) const;
    /// Before which an update's arithmetic is evaluated.
    const tenon::node* first_of(const tenon::node* update) const { return first_.at(update); }
    /// The latest update of the variable that was made before this node; nullptr: none.
    const tenon::node* latest_before(const tenon::node* variable, const tenon::node* n) const;
    /// Whether the update `first` evaluates this node anew.
    bool is_computed_anew(const tenon::node* n, const tenon::node* first) const {
        return computed_.contains(n) && !computes_for_another(n, first);
    }
    bool reads_current(const tenon::node& n, std::size_t i) const;
    /// Whether an update is computed of the variable as it was before the step.
    bool is_found_as_before(const tenon::node* variable) const { return found_as_before_.contains(variable); }
    /// Whether nobody else asks for it.
    bool is_for_updates_alone(const tenon::node* n) const { return alone_.contains(n); }

private:
    bool is_of_current(const tenon::node& n, std::size_t i) const;
    bool computes_for_another(const tenon::node* n, const tenon::node* first) const;
    void note_what_finds(const tenon::node* update);

    const order& order_;
    std::map<const tenon::node*, std::vector<const tenon::node*>> of_;
    std::map<const tenon::node*, const tenon::node*> first_;
    std::map<const tenon::node*, std::set<const tenon::node*>>
        computes_for_; // by what gives updates their value: the first of them
    std::set<const tenon::node*> computed_, alone_, found_as_before_;
};

} // namespace reference
