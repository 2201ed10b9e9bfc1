#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Ensembles of decision trees (ai.onnx.ml). All rows go down all trees at once, a level a step: tables say of each place which column is
/// compared with what, and where it goes on; leaves go on where they are. What the leaves say is gathered, and put together over the trees.

namespace tenon::detail::onnx {

struct forest {
    enum comparison : int { leq, lt, gte, gt, eq, neq, member };

    // Places, of nodes and leaves: `next` has two for each, the one where the comparison does not hold and the one where it does.
    std::vector<std::int64_t> column, next, roots, leaf, how;
    std::vector<bool> missing_holds; // where the value is NaN
    std::vector<double> limit;
    std::vector<std::vector<double>> of; // what each leaf says of each target; the first one is of no leaf
    std::int64_t targets = 0;

    std::int64_t add_place() {
        const auto at = static_cast<std::int64_t>(column.size());
        column.push_back(0);
        limit.push_back(0);
        how.push_back(leq);
        missing_holds.push_back(false);
        leaf.push_back(0);
        next.insert(next.end(), {at, at});
        return at;
    }
    void set(std::int64_t at, std::int64_t col, double value, comparison by, bool missing) {
        const auto i = static_cast<std::size_t>(at);
        column[i] = col;
        limit[i] = value;
        how[i] = by;
        missing_holds[i] = missing;
    }
    void go(std::int64_t at, std::int64_t otherwise, std::int64_t holds) {
        next[static_cast<std::size_t>(2 * at)] = otherwise;
        next[static_cast<std::size_t>(2 * at + 1)] = holds;
    }
    std::vector<double>& says(std::int64_t at, double nothing) {
        std::int64_t& l = leaf[static_cast<std::size_t>(at)];
        if (l == 0) {
            l = static_cast<std::int64_t>(of.size());
            of.emplace_back(static_cast<std::size_t>(targets), nothing);
        }
        return of[static_cast<std::size_t>(l)];
    }
    bool is_leaf(std::int64_t at) const {
        return next[static_cast<std::size_t>(2 * at)] == at && next[static_cast<std::size_t>(2 * at + 1)] == at;
    }
    // Whether the value is one of a set: a comparison with each, one behind the other.
    void ask_each(std::int64_t at, std::int64_t col, const std::vector<double>& set_of, bool missing,
                  std::int64_t otherwise, std::int64_t holds) {
        for (std::size_t k = 0; k < set_of.size(); ++k) {
            const std::int64_t behind = k + 1 == set_of.size() ? otherwise : add_place();
            set(at, col, set_of[k], eq, missing);
            go(at, behind, holds);
            at = behind;
        }
    }
    // How many comparisons the longest way has.
    std::int64_t depth(const call& c) const {
        constexpr std::int64_t unseen = -1, open = -2;
        std::vector<std::int64_t> below(column.size(), unseen), way = roots; // comparisons from a place on
        const auto height = [&](std::int64_t at) -> std::int64_t& { return below[static_cast<std::size_t>(at)]; };
        while (!way.empty()) {
            const std::int64_t at = way.back(), no = next[static_cast<std::size_t>(2 * at)],
                               yes = next[static_cast<std::size_t>(2 * at + 1)];
            if (height(at) == unseen && !is_leaf(at)) {
                height(at) = open;
                for (const std::int64_t child : {no, yes}) {
                    if (height(child) == open) c.wrong("its trees go round in a circle");
                    if (height(child) == unseen) way.push_back(child);
                }
                continue;
            }
            if (height(at) == unseen) height(at) = 0;
            if (height(at) == open) height(at) = 1 + std::max(height(no), height(yes));
            way.pop_back();
        }
        if (std::find(below.begin(), below.end(), unseen) != below.end())
            c.wrong("it has nodes to which no way leads from a root");
        std::int64_t most = 0;
        for (const std::int64_t r : roots) most = std::max(most, height(r));
        return most;
    }
};

inline constexpr std::int64_t max_tree_depth = 1024;

inline any_tensor compared(const any_tensor& v, const any_tensor& limit, std::int64_t how) {
    switch (how) {
    case forest::leq: return untyped::less_equal(v, limit);
    case forest::lt: return untyped::less(v, limit);
    case forest::gte: return untyped::greater_equal(v, limit);
    case forest::gt: return untyped::greater(v, limit);
    case forest::eq: return untyped::equal(v, limit);
    default: return untyped::not_equal(v, limit);
    }
}

// For each row and tree what its leaf says: [n, trees, targets], of doubles, so that chances of many trees make 0.5 where they should.
// Columns are compared in type `e`.
inline any_tensor leaves_of(const call& c, const forest& f, element_type e) {
    any_tensor x = c.x();
    if (x.rank() == 1) x = untyped::expand_dims(x, {0});
    if (x.rank() != 2 || x.element() == element_type::string)
        c.wrong("its input is " + to_string(tensor_type{x.element(), x.extents()}) + "; it needs rows of numbers");
    x = untyped::cast(x, e);
    const auto places = static_cast<std::int64_t>(f.column.size()), trees = static_cast<std::int64_t>(f.roots.size());
    const std::int64_t depth = f.depth(c);
    if (depth > max_tree_depth)
        c.refuse("trees of " + std::to_string(depth) + " levels; " + std::to_string(max_tree_depth) + " are the most");
    const std::int64_t widest = f.column.empty() ? 0 : *std::max_element(f.column.begin(), f.column.end());
    if (x.extents()[1].is_number() && widest >= x.extents()[1].size)
        c.wrong("its trees ask for column " + std::to_string(widest) + " of rows of " + to_string(x.extents()[1]));
    const any_tensor columns = integer_constant(f.column, {places}), next = integer_constant(f.next, {2 * places}),
                     limits = float_constant(f.limit, {places}, e), hows = integer_constant(f.how, {places});
    const std::set<std::int64_t> used(f.how.begin(), f.how.end());
    const bool any_missing = std::find(f.missing_holds.begin(), f.missing_holds.end(), true) != f.missing_holds.end();
    const any_tensor missing =
        integer_constant(std::vector<std::int64_t>(f.missing_holds.begin(), f.missing_holds.end()), {places});

    // The rows decide how many there are: 0 in each of them, and in each column a tree's root.
    const any_tensor rows =
        untyped::expand_dims(untyped::multiply(untyped::arange_like(x, element_type::int64, 0), std::int64_t{0}), {1});
    any_tensor at = untyped::add(rows, integer_constant(f.roots, {1, trees}));
    for (std::int64_t step = 0; step < depth; ++step) {
        const any_tensor v = untyped::take_along_axis(x, untyped::gather(columns, at, 0), 1),
                         limit = untyped::gather(limits, at, 0);
        any_tensor holds = compared(v, limit, *used.begin());
        for (auto k = std::next(used.begin()); k != used.end(); ++k)
            holds = untyped::select(untyped::equal(untyped::gather(hows, at, 0), *k), compared(v, limit, *k), holds);
        if (any_missing)
            holds = untyped::logical_or(
                holds, untyped::logical_and(untyped::is_nan(v), untyped::equal(untyped::gather(missing, at, 0), 1)));
        at =
            untyped::gather(next, untyped::add(untyped::multiply(at, 2), untyped::cast(holds, element_type::int64)), 0);
    }
    std::vector<double> said;
    for (const auto& l : f.of) said.insert(said.end(), l.begin(), l.end());
    const any_tensor which = untyped::gather(integer_constant(f.leaf, {places}), at, 0);
    return untyped::gather(
        float_constant(said, {static_cast<std::int64_t>(f.of.size()), f.targets}, element_type::float64), which, 0);
}

// What a target that a tree says nothing of counts as.
inline double nothing_said(const std::string& how) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return how == "MIN" ? infinity : how == "MAX" ? -infinity : 0;
}
// [n, targets].
inline any_tensor put_together(const call& c, const any_tensor& leaves, const std::string& how, std::int64_t trees) {
    if (how == "SUM" || how == "AVERAGE") {
        const any_tensor sum = untyped::sum(leaves, {1});
        return how == "SUM" ? sum : untyped::divide(sum, scalar_like(static_cast<double>(trees), sum));
    }
    if (how != "MIN" && how != "MAX") c.wrong("its aggregate_function is \"" + how + '"');
    const any_tensor y = how == "MIN" ? untyped::min(leaves, {1}) : untyped::max(leaves, {1});
    return untyped::select(untyped::is_inf(y), scalar_like(0, y), y);
}

// ---- as TreeEnsembleRegressor and TreeEnsembleClassifier have them: lists of nodes by tree and number.
class listed_trees {
public:
    // `leaves`: what the names of attributes of leaves begin with.
    listed_trees(const call& c, const std::string& leaves, const char* numbers, std::int64_t targets, double nothing) :
        c_(c) {
        f.targets = targets;
        const auto trees = c.integers("nodes_treeids"), nodes = c.integers("nodes_nodeids"),
                   columns = c.integers("nodes_featureids"), yes = c.integers("nodes_truenodeids"),
                   no = c.integers("nodes_falsenodeids"), missing = c.integers("nodes_missing_value_tracks_true");
        const std::vector<double> limits = numbers_of(c, "nodes_values", "nodes_values_as_tensor");
        const attribute_message* modes = c.attribute("nodes_modes");
        const std::size_t n = nodes.size();
        if (n == 0 || trees.size() != n || columns.size() != n || yes.size() != n || no.size() != n ||
            limits.size() != n || !modes || modes->strings.size() != n || (!missing.empty() && missing.size() != n))
            c.wrong("its lists of nodes have different lengths, or are empty");
        const auto leaf_trees = c.integers((leaves + "_treeids").c_str()),
                   leaf_nodes = c.integers((leaves + "_nodeids").c_str()), ids = c.integers(numbers);
        const std::vector<double> weights =
            numbers_of(c, (leaves + "_weights").c_str(), (leaves + "_weights_as_tensor").c_str());
        if (leaf_nodes.size() != ids.size() || leaf_trees.size() != ids.size() || weights.size() != ids.size())
            c.wrong("its lists of leaves have different lengths");
        if ((checked_size(static_cast<std::int64_t>(n) + 1) * targets).saturated() > max_folded)
            c.refuse("as many nodes and targets as these");

        f.of.emplace_back(static_cast<std::size_t>(targets), nothing);
        for (std::size_t i = 0; i < n; ++i)
            if (!place_.emplace(std::pair(trees[i], nodes[i]), f.add_place()).second)
                c.wrong("tree " + std::to_string(trees[i]) + " has node " + std::to_string(nodes[i]) + " twice");
        std::set<std::int64_t> below; // another one
        for (std::size_t i = 0; i < n; ++i) {
            const std::string& mode = modes->strings[i];
            if (mode == "LEAF") continue;
            static constexpr std::array names{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                              "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
            const auto named = std::find(names.begin(), names.end(), mode);
            if (named == names.end()) c.wrong("a node's mode is \"" + mode + '"');
            const auto at = static_cast<std::int64_t>(i);
            f.set(at, within(c, columns[i], 0, std::int64_t{1} << 40, "a column"), limits[i],
                  static_cast<forest::comparison>(named - names.begin()), !missing.empty() && missing[i] != 0);
            f.go(at, place(trees[i], no[i]), place(trees[i], yes[i]));
            below.insert({f.next[2 * i], f.next[2 * i + 1]});
        }
        std::map<std::int64_t, int> root_of;
        for (std::size_t i = 0; i < n; ++i) {
            int& count = root_of[trees[i]];
            if (below.contains(static_cast<std::int64_t>(i))) continue;
            ++count;
            f.roots.push_back(static_cast<std::int64_t>(i));
        }
        for (const auto& [tree, count] : root_of)
            if (count != 1)
                c.wrong("tree " + std::to_string(tree) + " has " + std::to_string(count) +
                        " nodes that are below no other; one is its root");
        for (std::size_t i = 0; i < ids.size(); ++i) {
            double& says = f.says(place(leaf_trees[i], leaf_nodes[i]),
                                  nothing)[static_cast<std::size_t>(within(c, ids[i], 0, targets - 1, "a target"))];
            says = std::isinf(says) ? weights[i] : says + weights[i];
        }
    }
    forest f;

private:
    std::int64_t place(std::int64_t tree, std::int64_t node) const {
        const auto found = place_.find({tree, node});
        if (found == place_.end()) c_.wrong("tree " + std::to_string(tree) + " has no node " + std::to_string(node));
        return found->second;
    }
    const call& c_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> place_;
};

inline element_type wide_type(const call& c) {
    return c.x().element() == element_type::float64 ? element_type::float64 : element_type::float32;
}
inline any_tensor with_base(const call& c, const any_tensor& y, std::int64_t targets) {
    const std::vector<double> base = numbers_of(c, "base_values", "base_values_as_tensor");
    if (base.empty()) return y;
    if (static_cast<std::int64_t>(base.size()) != targets && base.size() != 1)
        c.wrong("it has " + std::to_string(base.size()) + " base values for " + std::to_string(targets) + " results");
    return untyped::add(y, float_constant(base, {static_cast<std::int64_t>(base.size())}, y.element()));
}

inline void tree_regression(const call& c) {
    const std::int64_t targets = within(c, c.integer("n_targets", 1), 1, max_computed, "n_targets");
    const std::string how = c.text("aggregate_function", "SUM");
    const listed_trees t(c, "target", "target_ids", targets, nothing_said(how));
    const any_tensor y =
        put_together(c, leaves_of(c, t.f, wide_type(c)), how, static_cast<std::int64_t>(t.f.roots.size()));
    c.give(transformed_scores(c, untyped::cast(with_base(c, y, targets), element_type::float32),
                              c.text("post_transform", "NONE")));
}

inline void tree_classification(const call& c) {
    std::int64_t classes = static_cast<std::int64_t>(c.integers("classlabels_int64s").size());
    if (const attribute_message* texts = c.attribute("classlabels_strings"); texts && classes == 0)
        classes = static_cast<std::int64_t>(texts->strings.size());
    if (classes < 2) c.wrong("it has " + std::to_string(classes) + " labels");
    const listed_trees t(c, "class", "class_ids", classes, 0);
    const std::vector<std::int64_t> ids = c.integers("class_ids");
    const std::string how = c.text("post_transform", "NONE");
    any_tensor y = untyped::sum(leaves_of(c, t.f, wide_type(c)), {1});
    if (classes == 2 && std::set(ids.begin(), ids.end()).size() == 1) {
        // The trees score one class, the second; what the first has follows of it.
        y = part_along(y, 1, ids[0], ids[0] + 1);
        std::vector<double> base = numbers_of(c, "base_values", "base_values_as_tensor");
        if (base.size() > 2) c.wrong("it has " + std::to_string(base.size()) + " base values for 2 classes");
        if (!base.empty()) y = untyped::add(y, scalar_like(base.back(), y));
        const std::vector<double> weights = numbers_of(c, "class_weights", "class_weights_as_tensor");
        const bool chances = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; }) &&
                             how != "LOGISTIC" && base.size() < 2;
        // As chances both make 1, as scores both make 0.
        const any_tensor other = chances ? untyped::subtract(scalar_like(1, y), y) : untyped::negative(y);
        y = untyped::concat({other, y}, 1);
    } else y = with_base(c, y, classes);
    y = untyped::cast(y, element_type::float32);
    give_labels(c, y);
    c.give(transformed_scores(c, y, how), 1);
}

// ---- as TreeEnsemble has them: nodes and leaves in lists of their own, by their places there.
inline void tree_ensemble(const call& c) {
    const auto columns = c.integers("nodes_featureids"), yes = c.integers("nodes_truenodeids"),
               yes_leaf = c.integers("nodes_trueleafs"), no = c.integers("nodes_falsenodeids"),
               no_leaf = c.integers("nodes_falseleafs"), roots = c.integers("tree_roots"),
               missing = c.integers("nodes_missing_value_tracks_true"), targets_of = c.integers("leaf_targetids");
    const std::vector<double> limits = numbers_of(c, "", "nodes_splits"), modes = numbers_of(c, "", "nodes_modes"),
                              weights = numbers_of(c, "", "leaf_weights"),
                              sets = numbers_of(c, "", "membership_values");
    const std::size_t n = columns.size();
    if (n == 0 || roots.empty() || yes.size() != n || no.size() != n || yes_leaf.size() != n || no_leaf.size() != n ||
        limits.size() != n || modes.size() != n || (!missing.empty() && missing.size() != n) ||
        weights.size() != targets_of.size())
        c.wrong("its lists have different lengths, or are empty");
    static constexpr std::array ways{"AVERAGE", "SUM", "MIN", "MAX"};
    static constexpr std::array transforms{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const std::string
        how = ways[static_cast<std::size_t>(within(c, c.integer("aggregate_function", 1), 0, 3, "aggregate_function"))],
        then = transforms[static_cast<std::size_t>(within(c, c.integer("post_transform", 0), 0, 4, "post_transform"))];
    forest f;
    f.targets = within(c, c.integer("n_targets", 1), 1, max_computed, "n_targets");
    if ((checked_size(2 * static_cast<std::int64_t>(n) + 1) * f.targets).saturated() > max_folded)
        c.refuse("as many leaves and targets as these");
    const double nothing = nothing_said(how);
    f.of.emplace_back(static_cast<std::size_t>(f.targets), nothing);
    for (std::size_t i = 0; i < n; ++i) (void)f.add_place();
    const auto child = [&](std::int64_t at, bool leaf) {
        if (!leaf) return within(c, at, 0, static_cast<std::int64_t>(n) - 1, "a node");
        (void)within(c, at, 0, static_cast<std::int64_t>(weights.size()) - 1, "a leaf");
        const std::int64_t place = f.add_place();
        const std::int64_t target = within(c, targets_of[static_cast<std::size_t>(at)], 0, f.targets - 1, "a target");
        f.says(place, nothing)[static_cast<std::size_t>(target)] = weights[static_cast<std::size_t>(at)];
        return place;
    };
    std::size_t set = 0; // where that of the next node that asks for one begins
    for (std::size_t i = 0; i < n; ++i) {
        auto at = static_cast<std::int64_t>(i);
        const std::int64_t holds = child(yes[i], yes_leaf[i] != 0), otherwise = child(no[i], no_leaf[i] != 0);
        const bool missed = !missing.empty() && missing[i] != 0;
        const std::int64_t column = within(c, columns[i], 0, std::int64_t{1} << 40, "a column");
        const auto by = static_cast<forest::comparison>(
            within(c, static_cast<std::int64_t>(modes[i]), forest::leq, forest::member, "a node's mode"));
        if (by != forest::member) {
            f.set(at, column, limits[i], by, missed);
            f.go(at, otherwise, holds);
            continue;
        }
        // One comparison for each of the set, behind one another. Sets are apart by NaN.
        std::vector<double> all;
        while (set < sets.size() && !std::isnan(sets[set])) all.push_back(sets[set++]);
        ++set;
        if (all.empty()) c.wrong("there is no set for a node that asks whether a value is in one");
        f.ask_each(at, column, all, missed, otherwise, holds);
    }
    for (const std::int64_t r : roots) f.roots.push_back(within(c, r, 0, static_cast<std::int64_t>(n) - 1, "a root"));
    const any_tensor y = put_together(c, leaves_of(c, f, wide_type(c)), how, static_cast<std::int64_t>(f.roots.size()));
    c.give(transformed_scores(c, untyped::cast(y, wide_type(c)), then));
}

TENON_INLINE std::vector<entry> tree_operators() {
    return {{"ai.onnx.ml.TreeEnsemble", tree_ensemble},
            {"ai.onnx.ml.TreeEnsembleClassifier", tree_classification},
            {"ai.onnx.ml.TreeEnsembleRegressor", tree_regression}};
}

} // namespace tenon::detail::onnx
