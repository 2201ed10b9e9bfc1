#pragma once

#include <tenon/runtime/program.hpp>

/// The order of a program's items.

namespace tenon::runtime {

/// By index, the indices of what comes before or after.
using edges = std::vector<std::vector<int>>;

edges reversed(const edges& e);
void keep_each_once(edges& e); ///< sorts each list and drops what is in it again

/// What runs before what: by data, by control, and by the variables that are read and written.
class ordering {
public:
    /// Prepares the items' kernels, gives what is fetched memory of its own, and has updates write straight into their
    /// variables where nobody can see the difference. Where updates read each other's variables, copies of the old
    /// values are added to the program.
    ordering(program& p, const plan_options& o);

    /// All items, each after what it needs. Among what is ready, updates go first (their gradients' memory is free
    /// then), then the order in which the graph was made.
    std::vector<int> order() const;

    /// By position in an order of the items: the positions that must end before it begins, each once, in their order.
    edges dependencies(const std::vector<int>& order) const;

private:
    program_item& item(int i) { return p_.item(i); }
    const program_item& item(int i) const { return p_.item(i); }
    int items() const { return static_cast<int>(p_.items.size()); }
    variable_resource* variable_of(int value) const { return p_.value(p_.root(value)).variable; }
    bool reads(const program_item& i, const variable_resource* v) const;
    bool writes(int item, const variable_resource* v) const;
    variable_resource* updated_by(int item) const { return p_.value(p_.item(item).outputs[0]).variable; }
    edges needs() const;
    void copy_resident_fetches();
    void prepare();
    void keep_old_values();
    int add_copy(int value, const std::vector<int>& after);
    void forward_assignments();

    program& p_;
    const plan_options& o_;
    std::vector<int> updates_;                               // items that update variables
    edges needed_by_;                                        // items that run after each item, by data and by control
    edges before_;                                           // the same, and readers before what writes their variables
    std::vector<std::pair<int, variable_resource*>> writes_; // item, variable it writes
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/order.ipp>
#endif
