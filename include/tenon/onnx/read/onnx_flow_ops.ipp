#pragma once

#include <algorithm>
#include <limits>

#include <tenon/onnx/onnx_import.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/cond.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Operators of ONNX that have graphs: If, Loop, Scan; and sequences, which loops make. What decides is a value of the step, or known now: then the nodes of a graph stand
/// where the operator stands, once or many times.

namespace tenon::detail::onnx {

inline std::vector<any_tensor> tensors_in(const std::vector<value>& values) {
    std::vector<any_tensor> list;
    for (const value& v : values) {
        if (v.items)
            throw unimplemented_error("a sequence that is carried from run to run, or given by a branch, in the step");
        list.push_back(v.first);
    }
    return list;
}
inline std::vector<value> values_in(const std::vector<any_tensor>& tensors) {
    std::vector<value> list;
    for (const any_tensor& t : tensors) list.push_back(value_of(t));
    return list;
}
inline void give_all(const call& c, const std::vector<any_tensor>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) c.give(list[i], static_cast<int>(i));
}
inline value sequence_value(std::vector<value> items, value::sequence kind = value::sequence::listed) {
    value v;
    v.items = std::make_shared<const std::vector<value>>(std::move(items));
    v.kind = kind;
    return v;
}
// What bodies cannot have is refused; a mistake in a graph of the model is one.
template <class F> void as_bodies(const call& c, F&& f) {
    try {
        f();
    } catch (const model_mistake&) {
        throw;
    } catch (const invalid_argument_error& e) {
        c.refuse(e.what());
    }
}

// One bool, which may be in a list of one.
inline any_tensor one_bool(const call& c, const any_tensor& t) {
    if (t.element() != element_type::boolean) c.wrong("its condition is no bool");
    return t.rank() == 0 ? t : reshaped(t, {});
}
inline std::optional<bool> known_bool(const std::optional<any_array>& a) {
    if (!a || a->element() != element_type::boolean || a->elements() != 1) return std::nullopt;
    return *a->data<bool>();
}

// What a body cannot have, as what finds out how much there is: then both graphs run, and all rows of one are kept.
inline std::vector<any_tensor> rows_of_either(const call& c, const any_tensor& condition, const graph_message& yes,
                                              const graph_message& no) {
    const std::vector<any_tensor> a = tensors_in(c.results_of(yes, {})), b = tensors_in(c.results_of(no, {}));
    if (a.size() != b.size())
        c.wrong("its graphs give " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " tensors");
    std::vector<any_tensor> all;
    const auto found = [&](const any_tensor& t) { // nothing that is fed says how much
        if (t.rank() == 0 || t.extents()[0].is_number()) return false;
        const auto n = sum_of(t.extents()[0]);
        return t.extents()[0].is_dynamic() || (n && !c.name_of_input(*n));
    };
    if (std::none_of(a.begin(), a.end(), found) && std::none_of(b.begin(), b.end(), found))
        c.refuse("no body can have it");
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].rank() != b[i].rank() || a[i].element() != b[i].element())
            c.refuse("its graphs give tensors of two kinds");
        if (a[i].rank() == 0) all.push_back(untyped::select(condition, a[i], b[i]));
        else {
            const auto kept = [&](const any_tensor& x, const any_tensor& chosen) {
                const any_tensor from = untyped::select(chosen, untyped::scalar(0, element_type::int64),
                                                        std::numeric_limits<std::int64_t>::max());
                return untyped::boolean_mask(
                    x, untyped::greater_equal(untyped::arange_like(x, element_type::int64), from));
            };
            all.push_back(joined(c, {kept(a[i], condition), kept(b[i], untyped::logical_not(condition))}, 0));
        }
    }
    return all;
}

inline void choose(const call& c) { // If
    const graph_message &yes = c.graph_of("then_branch"), &no = c.graph_of("else_branch");
    const any_tensor condition = one_bool(c, c.x());
    if (const std::optional<bool> known = known_bool(c.known(0))) {
        const std::vector<value> results = c.results_of(*known ? yes : no, {});
        for (std::size_t i = 0; i < results.size(); ++i) c.give(results[i], static_cast<int>(i));
        return;
    }
    const auto as_cond = [&] {
        as_bodies(c, [&] {
            give_all(c, untyped::cond(
                            condition, [&] { return tensors_in(c.results_of(yes, {})); },
                            [&] { return tensors_in(c.results_of(no, {})); }));
        });
    };
    if (c.tried(as_cond) || c.tried([&] { give_all(c, rows_of_either(c, condition, yes, no)); })) return;
    as_cond(); // which complains
}

// A loop that is known to run so often and is not long stands there as often.
inline constexpr std::int64_t max_unrolled_nodes = 1024;

struct loop {
    explicit loop(const call& of) : c(of), body(c.graph_of("body")), carried(static_cast<std::size_t>(c.inputs()) - 2) {
        if (c.inputs() < 2 || body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
            c.wrong("its graph does not take and give what it carries");
        given = body.outputs.size() - 1 - carried;
        for (std::size_t i = 0; i < carried; ++i) {
            if (!c.in(static_cast<int>(i) + 2).items) (void)c.x(static_cast<int>(i) + 2);
            first.push_back(c.in(static_cast<int>(i) + 2));
            first.back().last = {};
        }
        if (!c.has(0)) trips = std::numeric_limits<std::int64_t>::max();
        else if (c.known(0)) trips = c.integer(0, "the number of runs");
        if (!c.has(1)) goes_on = true;
        else goes_on = known_bool(c.known(1));
    }

    // One run: whether it goes on, what it carries on, what is stacked.
    std::vector<value> run(const any_tensor& number, const any_tensor& go, const std::vector<value>& state) const {
        std::vector<value> in{value_of(number), value_of(go)};
        in.insert(in.end(), state.begin(), state.end());
        return c.results_of(body, in);
    }
    // The same of tensors: what it adds to sequences, one at a time, is stacked behind the rest.
    std::vector<any_tensor> run_on(const any_tensor& number, const any_tensor& go, const any_tensor* state) const {
        std::vector<value> in, out;
        for (const value& v : first) {
            in.push_back(v.items ? sequence_value({}, value::sequence::growing) : value_of(*state));
            state += v.items ? 0 : 1;
        }
        std::vector<value> made = run(number, go, in), added;
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (i == 0 || i > carried || !first[i - 1].items) out.push_back(made[i]);
            else if (made[i].kind == value::sequence::growing && made[i].items->size() == 1)
                added.push_back(made[i].items->at(0));
            else c.refuse("a sequence to which each run adds other than one tensor");
        }
        out.insert(out.end(), added.begin(), added.end());
        std::vector<any_tensor> all = tensors_in(out);
        all[0] = one_bool(c, all[0]);
        return all;
    }
    std::vector<any_tensor> first_tensors() const {
        std::vector<any_tensor> list;
        for (const value& v : first)
            if (!v.items) list.push_back(v.first);
        return list;
    }

    void unroll() const {
        if (!trips || !goes_on) c.refuse("how often it runs");
        if (*trips > max_unrolled_nodes / std::max<std::int64_t>(static_cast<std::int64_t>(body.nodes.size()), 1))
            c.refuse("as many runs as these");
        std::vector<value> state = first;
        std::vector<std::vector<any_tensor>> stacks(given);
        bool go = *goes_on;
        for (std::int64_t i = 0; i < *trips && go; ++i) {
            const any_tensor always = untyped::scalar(1, element_type::boolean);
            const std::vector<value> made = run(untyped::scalar(i, element_type::int64), always, state);
            const std::optional<bool> next = known_bool(c.known(made[0]));
            if (!next) c.refuse("whether it goes on is known in the step only");
            go = *next;
            state.assign(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
            const std::vector<any_tensor> shown =
                tensors_in({made.begin() + 1 + static_cast<std::ptrdiff_t>(carried), made.end()});
            for (std::size_t k = 0; k < given; ++k) stacks[k].push_back(shown[k]);
        }
        for (std::size_t i = 0; i < carried; ++i) c.give(state[i], static_cast<int>(i));
        for (std::size_t k = 0; k < given; ++k) {
            if (stacks[k].empty()) c.refuse("it never runs, and nothing says the sizes of what it stacks");
            c.give(untyped::stack(stacks[k], 0), static_cast<int>(carried + k));
        }
    }

    // Nothing is stacked: while i < trips and it goes on.
    void repeat() const {
        std::vector<any_tensor> start{untyped::scalar(0, element_type::int64),
                                      c.has(1) ? one_bool(c, c.x(1)) : untyped::scalar(1, element_type::boolean)};
        for (const any_tensor& t : tensors_in(first)) start.push_back(t);
        const any_tensor most = c.has(0) ? reshaped(untyped::cast(c.x(0), element_type::int64), {}) : any_tensor();
        std::vector<any_tensor> last = untyped::while_loop(
            [&](const std::vector<any_tensor>& x) {
                return most.node() ? untyped::logical_and(untyped::less(x[0], most), x[1]) : x[1];
            },
            [&](const std::vector<any_tensor>& x) {
                const auto made = run(x[0], x[1], values_in({x.begin() + 2, x.end()}));
                std::vector<any_tensor> next{untyped::add(x[0], 1), one_bool(c, made[0].first)};
                const auto all = tensors_in(made);
                next.insert(next.end(), all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
                return next;
            },
            start);
        last.erase(last.begin(), last.begin() + 2);
        give_all(c, last);
    }

    // As many runs as there may be: those after it has ended change nothing, and what they would stack is left out.
    void scan() const {
        if (!c.has(0)) c.refuse("what it stacks has a size that its runs decide, and nothing says their number before");
        any_tensor numbers;
        if (trips)
            numbers =
                numbers_to(c, within(c, std::max<std::int64_t>(*trips, 0), 0, max_computed, "the number of runs"));
        else if (const auto said = c.sizes_in_step(0); said && said->size() == 1)
            if (const auto n = sum_of(said->at(0))) numbers = counted_to(c, *n, element_type::int64, {});
        if (!numbers.node()) (void)c.known(0, "the number of runs"); // which complains
        std::vector<any_tensor> start{c.has(1) ? one_bool(c, c.x(1)) : untyped::scalar(1, element_type::boolean)};
        for (const any_tensor& t : first_tensors()) start.push_back(t);
        const std::size_t kept = start.size(), stacks = carried + 1 - kept + given;
        bool ends = !goes_on || !*goes_on;
        const auto step = [&](const std::vector<any_tensor>& state, const std::vector<any_tensor>& slices) {
            carried_and_given both;
            const auto once = [&] { return run_on(slices[0], state[0], state.data() + 1); };
            std::vector<any_tensor> made;
            if (!ends) { // unless its condition changes
                made = once();
                ends = !(made[0].output() == state[0].output()) && known_bool(c.known(value_of(made[0]))) != true;
            }
            if (ends) {
                std::vector<tensor_type> types;
                made = untyped::cond(
                    state[0],
                    [&] {
                        auto list = once();
                        for (std::size_t k = kept; k < list.size(); ++k) types.push_back(list[k].type());
                        return list;
                    },
                    [&] {
                        std::vector<any_tensor> list;
                        for (const any_tensor& s : state) list.push_back(untyped::identity(s));
                        for (const tensor_type& t : types) {
                            if (!t.extents.is_static())
                                c.refuse("the sizes of what it stacks are known in the step only");
                            list.push_back(untyped::zeros(t.element, t.extents));
                        }
                        return list;
                    });
            }
            const auto behind = made.begin() + static_cast<std::ptrdiff_t>(kept);
            both.carried.assign(made.begin(), behind);
            both.given.assign(behind, made.end());
            both.given.push_back(untyped::identity(state[0]));
            return both;
        };
        const std::vector<any_tensor> made = untyped::scan(step, start, {numbers});
        std::vector<any_tensor> all;
        for (std::size_t k = 0; k < stacks; ++k)
            all.push_back(ends ? untyped::boolean_mask(made[kept + k], made.back()) : made[kept + k]);
        for (std::size_t k = 0; k < given; ++k) c.give(all[k], static_cast<int>(carried + k));
        for (std::size_t i = 0, tensor = 1, sequence = given; i < carried; ++i)
            if (!first[i].items) c.give(made[tensor++], static_cast<int>(i));
            else c.give(grown(first[i], all[sequence++]), static_cast<int>(i));
    }
    // A sequence with as many behind it as are stacked.
    static value grown(const value& before, any_tensor more) {
        std::vector<any_tensor> parts = tensors_in(*before.items);
        if (before.kind == value::sequence::listed)
            for (any_tensor& t : parts) t = untyped::expand_dims(t, {0});
        parts.push_back(more);
        return sequence_value({value_of(untyped::concat(parts, 0))}, value::sequence::stacked);
    }

    const call& c;
    const graph_message& body;
    std::size_t carried, given = 0;
    std::vector<value> first;
    std::optional<std::int64_t> trips; // where that is known
    std::optional<bool> goes_on;       // at first
};
inline void repeat_graph(const call& c) { // Loop
    if (c.inputs() < 2) c.wrong("it has " + std::to_string(c.inputs()) + " inputs; 2 are needed");
    const loop l(c);
    if (c.tried([&] { l.unroll(); })) return;
    const bool stacks = l.given > 0 || l.first_tensors().size() < l.carried;
    as_bodies(c, [&] { stacks ? l.scan() : l.repeat(); });
}

// What a graph that takes what is carried, then a slice of each of xs, carries and gives.
inline std::vector<any_tensor> scanned_graph(const call& c, const graph_message& body,
                                             const std::vector<any_tensor>& first, const std::vector<any_tensor>& xs) {
    return untyped::scan(
        [&](const std::vector<any_tensor>& state, const std::vector<any_tensor>& slices) {
            std::vector<any_tensor> in = state;
            in.insert(in.end(), slices.begin(), slices.end());
            const std::vector<any_tensor> all = tensors_in(c.results_of(body, values_in(in)));
            const auto behind = all.begin() + static_cast<std::ptrdiff_t>(first.size());
            return carried_and_given{{all.begin(), behind}, {behind, all.end()}};
        },
        first, xs);
}

// Before operator set 9 each sequence of a batch was gone through by itself.
inline void scan_batch(const call& c) {
    const graph_message& body = c.graph_of("body");
    const auto sliced =
        static_cast<std::size_t>(within(c, c.integer("num_scan_inputs", 0), 1, c.inputs() - 1, "num_scan_inputs"));
    const std::size_t carried = static_cast<std::size_t>(c.inputs()) - 1 - sliced;
    if (c.has(0)) c.refuse("sequences of several lengths");
    if (!c.integers("directions").empty()) c.refuse("directions");
    if (body.inputs.size() != carried + sliced || body.outputs.size() < carried)
        c.wrong("its graph does not take and give what it carries");
    const std::int64_t batch =
        within(c, number_of(c, c.x(1).extents()[0], "the number of sequences"), 1, 1 << 12, "the number of sequences");
    std::vector<std::vector<any_tensor>> results(body.outputs.size());
    as_bodies(c, [&] {
        for (std::int64_t b = 0; b < batch; ++b) {
            std::vector<any_tensor> first, xs;
            for (std::size_t i = 0; i < carried + sliced; ++i)
                (i < carried ? first : xs)
                    .push_back(untyped::squeeze(part_along(c.x(static_cast<int>(i) + 1), 0, b, b + 1), {0}));
            const auto made = scanned_graph(c, body, first, xs);
            for (std::size_t i = 0; i < made.size(); ++i) results[i].push_back(made[i]);
        }
    });
    for (std::size_t i = 0; i < results.size(); ++i) c.give(untyped::stack(results[i], 0), static_cast<int>(i));
}
inline void scan_graph(const call& c) { // Scan
    if (c.opset() < 9) return scan_batch(c);
    const graph_message& body = c.graph_of("body");
    const auto sliced =
        static_cast<std::size_t>(within(c, c.integer("num_scan_inputs", 0), 1, c.inputs(), "num_scan_inputs"));
    const std::size_t carried = static_cast<std::size_t>(c.inputs()) - sliced;
    if (body.inputs.size() != carried + sliced || body.outputs.size() < carried)
        c.wrong("its graph does not take and give what it carries");
    const std::size_t given = body.outputs.size() - carried;
    const auto list = [&](const char* name, std::size_t n) {
        std::vector<std::int64_t> l = c.integers(name);
        if (l.empty()) l.assign(n, 0);
        if (l.size() != n) c.wrong(std::string(name) + " has " + std::to_string(l.size()) + " numbers");
        return l;
    };
    const auto in_axes = list("scan_input_axes", sliced), in_ways = list("scan_input_directions", sliced),
               out_axes = list("scan_output_axes", given), out_ways = list("scan_output_directions", given);
    std::vector<any_tensor> first, xs;
    for (std::size_t i = 0; i < carried; ++i) first.push_back(c.x(static_cast<int>(i)));
    for (std::size_t i = 0; i < sliced; ++i) {
        any_tensor x = c.x(static_cast<int>(carried + i));
        x = untyped::moveaxis(x, axis_in(c, in_axes[i], x.rank()), 0);
        xs.push_back(in_ways[i] != 0 ? untyped::reverse(x, {0}) : x);
    }
    as_bodies(c, [&] {
        const std::vector<any_tensor> made = scanned_graph(c, body, first, xs);
        for (std::size_t i = 0; i < carried; ++i) c.give(made[i], static_cast<int>(i));
        for (std::size_t k = 0; k < given; ++k) {
            any_tensor y = made[carried + k];
            if (out_ways[k] != 0) y = untyped::reverse(y, {0});
            c.give(untyped::moveaxis(y, 0, axis_in(c, out_axes[k], y.rank())), static_cast<int>(carried + k));
        }
    });
}

// Sequences of tensors whose number is known when the graph is built are lists while it is read, and nothing in it. Others are stacked.
inline void give_items(const call& c, std::vector<value> items) { c.give(sequence_value(std::move(items)), 0); }
inline void sequence_of(const call& c) { // SequenceConstruct, SequenceEmpty
    std::vector<value> items;
    for (int i = 0; i < c.inputs(); ++i) items.push_back(value_of(c.x(i)));
    give_items(c, std::move(items));
}
inline void split_to_sequence(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    const bool dropped = !c.has(1) && c.integer("keepdims", 1) == 0;
    if (!c.has(1) && !x.extents()[axis].is_number()) {
        const any_tensor all = untyped::moveaxis(x, axis, 0);
        return c.give(
            sequence_value({value_of(dropped ? all : untyped::expand_dims(all, {axis + 1}))}, value::sequence::stacked),
            0);
    }
    const auto whole = [&] {
        return within(c, number_of(c, x.extents()[axis], "the size that is split"), 0, max_tried,
                      "the number of parts");
    };
    std::vector<std::int64_t> sizes;
    if (!c.has(1)) sizes.assign(static_cast<std::size_t>(whole()), 1);
    else if (c.x(1).rank() > 0) sizes = c.integers(1, "the sizes of the parts");
    else {
        const std::int64_t each = within(c, c.integer(1, "the size of a part"), 1, max_folded, "the size of a part");
        for (std::int64_t left = whole(); left > 0; left -= each) sizes.push_back(std::min(left, each));
    }
    std::vector<value> items;
    std::int64_t at = 0;
    for (const std::int64_t n : sizes) {
        const any_tensor part = part_along(x, axis, at, at + within(c, n, 0, max_folded, "the size of a part"));
        items.push_back(value_of(dropped ? untyped::squeeze(part, {axis}) : part));
        at += n;
    }
    if (x.extents()[axis].is_number() && at != x.extents()[axis].size)
        c.wrong("its parts have " + std::to_string(at) + " of " + to_string(x.extents()[axis]));
    give_items(c, std::move(items));
}
// The place that input i says, or `otherwise`; `most` is the last one there may be.
inline std::int64_t place_in(const call& c, int i, std::int64_t count, std::int64_t otherwise, std::int64_t most) {
    if (!c.has(i)) return within(c, otherwise, 0, most, "a place in a sequence");
    const std::int64_t at = c.integer(i, "the place in a sequence");
    return within(c, at < 0 ? at + count : at, 0, most, "a place in a sequence");
}
inline void change_sequence(const call& c) { // SequenceAt, SequenceErase, SequenceInsert, SequenceLength
    std::vector<value> items = c.items(0);
    const std::string& op = c.node().op;
    if (c.in(0).kind == value::sequence::stacked) {
        const any_tensor all = items[0].first;
        if (op == "SequenceLength") return c.give(size_of_axis(all, 0));
        if (op == "SequenceAt") return c.give(untyped::gather(all, from_the_start(c, 1, all, 0), 0));
        c.refuse("a change of a sequence of as many tensors as the step knows");
    }
    if (c.in(0).kind == value::sequence::growing) {
        if (op != "SequenceInsert" || c.has(2)) c.refuse("a sequence that a loop carries is asked for what is in it");
        items.push_back(value_of(c.x(1)));
        return c.give(sequence_value(std::move(items), value::sequence::growing), 0);
    }
    const auto count = static_cast<std::int64_t>(items.size());
    if (op == "SequenceLength") return c.give(untyped::scalar(count, element_type::int64));
    if (op == "SequenceAt") return c.give(items[static_cast<std::size_t>(place_in(c, 1, count, -1, count - 1))], 0);
    if (op == "SequenceErase") items.erase(items.begin() + place_in(c, 1, count, count - 1, count - 1));
    else items.insert(items.begin() + place_in(c, 2, count, count, count), value_of(c.x(1)));
    give_items(c, std::move(items));
}
inline void join_sequence(const call& c) { // ConcatFromSequence
    const std::vector<any_tensor> xs = tensors_in(c.items(0));
    if (c.in(0).kind == value::sequence::growing) c.refuse("a sequence that a loop carries is joined in it");
    if (xs.empty()) c.wrong("there are no tensors to join");
    if (c.in(0).kind == value::sequence::stacked) {
        const bool is_new = c.integer("new_axis", 0) != 0;
        const int axis = axis_in(c, c.integer("axis", 0), xs[0].rank() - (is_new ? 0 : 1));
        const any_tensor all = untyped::moveaxis(xs[0], 0, axis);
        if (is_new) return c.give(all);
        std::vector<std::int64_t> sizes = copied_sizes(0, axis), rest = copied_sizes(axis + 2, all.rank());
        sizes.push_back(reshape_op::deduced);
        sizes.insert(sizes.end(), rest.begin(), rest.end());
        return c.give(reshaped(all, sizes));
    }
    const int rank = xs[0].rank();
    if (c.integer("new_axis", 0) == 0) return c.give(joined(c, xs, axis_in(c, c.integer("axis", 0), rank)));
    if (rank == max_rank) c.refuse("a result of more than 8 dimensions");
    c.give(untyped::stack(agreed(c, xs), axis_in(c, c.integer("axis", 0), rank + 1)));
}

TENON_INLINE std::vector<entry> flow_operators() {
    return {{"ConcatFromSequence", join_sequence},
            {"If", choose},
            {"Loop", repeat_graph},
            {"Scan", scan_graph},
            {"SequenceAt", change_sequence},
            {"SequenceConstruct", sequence_of},
            {"SequenceEmpty", sequence_of},
            {"SequenceErase", change_sequence},
            {"SequenceInsert", change_sequence},
            {"SequenceLength", change_sequence},
            {"SplitToSequence", split_to_sequence}};
}

} // namespace tenon::detail::onnx
