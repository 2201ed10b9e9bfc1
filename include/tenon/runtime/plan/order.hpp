#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/runtime/plan/item_order.hpp>
#include <tenon/runtime/plan/program.hpp>

/// The order of a program's items.

namespace tenon::runtime {

/// Why one operation waits for another.
enum class edge_kind : std::uint8_t {
    data = 1,     ///< it reads what the other makes
    control = 2,  ///< the graph says so
    variable = 4, ///< one of them updates what the other reads or updates
    memory = 8,   ///< it writes where values lie that the other makes or reads
};

/// By index, the indices of what comes before or after, each once, in their order, and why. All in one list.
class edges {
public:
    struct edge {
        int of, to; ///< an index, and one of its list
        edge_kind why = edge_kind::data;
    };

    edges() = default;
    edges(std::size_t count, const std::vector<edge>& all);

    bool empty() const noexcept { return begin_.size() < 2; }
    std::size_t size() const noexcept { return begin_.empty() ? 0 : begin_.size() - 1; }
    std::span<const int> operator[](std::size_t i) const {
        return {to_.data() + begin_[i], to_.data() + begin_[i + 1]};
    }
    /// Whether the k-th of a list is there for this reason, among others.
    bool is(std::size_t i, std::size_t k, edge_kind why) const {
        return why_[begin_[i] + k] & static_cast<std::uint8_t>(why);
    }
    edge_kind why(std::size_t i, std::size_t k) const { return static_cast<edge_kind>(why_[begin_[i] + k]); } ///< all
    edges reversed() const;

private:
    std::vector<std::size_t> begin_; // one more than there are
    std::vector<int> to_;
    std::vector<std::uint8_t> why_; // all reasons
};

/// What runs before what: by data, by control, and by the variables that are read and written.
class ordering {
public:
    /// Prepares the items' kernels, gives what is fetched memory of its own, and has updates write straight into their
    /// variables where nobody can see the difference. Where updates read each other's variables, copies of the old
    /// values are added to the program.
    ordering(program& p, const plan_options& o);

    /// All items, each after what it needs. Among what is ready, updates go first (their gradients' memory is free
    /// then), then the order in which the graph was made. `together`: what belongs to updates goes last, so that the step
    /// locks its variables for a short time.
    std::vector<int> order(bool together = false) const;
    bool has_updates() const noexcept { return !updated_.empty(); }

    /// By position in an order of the items: it, one that must end before it begins, and why. Some more than once.
    std::vector<edges::edge> dependencies(const std::vector<int>& order) const;

private:
    // Who touches a variable that the step updates, items in their order. Its version 0 is what the step finds, and each
    // update makes the next.
    struct accesses {
        variable_resource* variable;
        std::vector<int> updates;
        std::vector<number_list> readers; // by version
        int forwarded = -1;               // writes its result for the one update
    };
    // Whether something that runs comes after item i that does not belong to updates.
    bool leads_to_others(int i, const std::vector<char>& of_updates) const;
    bool is_sum(int i) const;
    std::vector<int> sums_that_need(const std::vector<int>& as_made) const;
    program_item& item(int i) { return p_.item(i); }
    const program_item& item(int i) const { return p_.item(i); }
    int items() const { return static_cast<int>(p_.items.size()); }
    int version_of(int value) const; // the value is a variable's, or a view of one
    variable_resource* variable_of(int value) const { return p_.value(p_.root(value)).variable; }
    std::vector<std::pair<int, int>> find_needs();
    void copy_resident_fetches();
    void prepare();
    bool alike(const program_item& a, const program_item& b) const;
    std::size_t content_of(const program_item& i) const;
    void find_updates();
    void find_readers();
    void order_accesses();
    void read_before(const number_list& readers, const variable_resource* variable, int update);
    int add_copy(int value);
    void forward_assignments();

    program& p_;
    const plan_options& o_;
    std::vector<accesses> updated_;          // by the first update
    std::vector<int> version_;               // of the variable, by the update that makes it; 0 for other items
    std::vector<std::pair<int, int>> needs_; // items of which the first runs before the second, by data or by control
    std::vector<edge_kind> why_;             // by need
    detail::item_order before_;              // by the same, and by variables
    std::unordered_map<int, int> copies_;    // value of a variable that is kept; the copy
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/order.ipp>
#endif
