#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/plan/segments.hpp>
#include <tenon/runtime/plan/task_programs.hpp>

namespace tenon::runtime {

namespace detail {

class task_cutter {
public:
    task_cutter(const program& p, const std::vector<task_devices>& tasks, const plan_options& o) :
        p_(p),
        o_(o),
        task_of_device_(o.described.size()),
        own_number_(o.described.size()),
        made_by_(p.values.size(), -1),
        comes_after_update_(p.items.size()),
        is_used_(p.values.size()) {
        for (std::size_t t = 0; t < tasks.size(); ++t)
            for (std::size_t d = 0; d < tasks[t].devices.size(); ++d) {
                const auto device = static_cast<std::size_t>(tasks[t].devices[d]);
                task_of_device_[device] = static_cast<int>(t);
                own_number_[device] = static_cast<int>(d);
            }
        for (std::size_t n = 0; n < p.items.size(); ++n)
            for (const int v : p.items[n].outputs) made_by_[static_cast<std::size_t>(v)] = static_cast<int>(n);
        for (std::size_t n = 0; n < p.items.size(); ++n) {
            const program_item& i = p.items[n];
            comes_after_update_[n] =
                std::any_of(i.inputs.begin(), i.inputs.end(), [&](int v) { return ends_after_update(maker_of(v)); }) ||
                std::any_of(i.predecessors.begin(), i.predecessors.end(), [&](int b) { return ends_after_update(b); });
        }
        for (std::size_t n = p.items.size(); n-- > 0;) {
            const program_item& i = p.items[n];
            const bool changes = i.op->is(op_flags::stateful) && !i.op->is(op_flags::source);
            if (changes || std::any_of(i.outputs.begin(), i.outputs.end(), [&](int v) { return is_used(v); }))
                for (const int v : i.inputs) is_used_[static_cast<std::size_t>(v)] = true;
        }
        cut_.programs.resize(tasks.size());
        here_.resize(tasks.size());
        items_.resize(tasks.size());
        for (program& part : cut_.programs) part.sizes = p.sizes;
        cut_.programs[0].feed_types = p.feed_types;
    }

    task_programs run() {
        for (std::size_t n = 0; n < p_.items.size(); ++n)
            if (!p_.items[n].removed && !is_source(static_cast<int>(n))) enter(static_cast<int>(n));
        program& first = cut_.programs[0];
        for (const int f : p_.fetches) {
            const int v = brought(f, 0);
            first.fetches.push_back(v);
            if (const int from = first.value(v).producer; from >= 0 && first.item(from).op == &receive_definition)
                cut_.edges[static_cast<std::size_t>(first.item(from).attributes.get<std::int64_t>("edge"))].fetched =
                    true;
        }
        first.fetched = p_.fetched;
        return std::move(cut_);
    }

private:
    const program_item& item(int n) const { return p_.item(n); }
    program& part(int t) { return cut_.programs[static_cast<std::size_t>(t)]; }
    int maker_of(int v) const { return made_by_[static_cast<std::size_t>(v)]; }
    int task_of(int n) const { return task_of_device_[static_cast<std::size_t>(item(n).device)]; }
    // Constants are in the graph, which all tasks have; what a variable is only its own knows.
    bool is_source(int n) const {
        return item(n).op->is(op_flags::constant) && item(n).predecessors.empty() && !item(n).target;
    }
    bool is_variable(int n) const { return item(n).op->is(op_flags::variable) && is_read_anywhere(item(n)); }
    bool is_open(int v) const { return !p_.value(v).type.extents.is_static(); }

    // Of an item, or -1.
    bool ends_after_update(int n) const {
        return n >= 0 && (item(n).op->is(op_flags::updates) || comes_after_update_[static_cast<std::size_t>(n)]);
    }

    // Something is changed by what is computed of it.
    bool is_used(int v) const { return is_used_[static_cast<std::size_t>(v)]; }

    int add_value(int v, int t, int device = 0) {
        return here_[static_cast<std::size_t>(t)][v] =
                   part(t).add(program_value{.origin = p_.value(v).origin, .type = p_.value(v).type, .device = device});
    }
    int add_item(program_item&& i, int t) {
        const int number = static_cast<int>(part(t).items.size());
        for (const int o : i.outputs)
            if (!i.removed) part(t).value(o).producer = number;
        part(t).items.push_back(std::move(i));
        return number;
    }

    void enter(int n) {
        const int t = task_of(n);
        program_item i = item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int v = i.inputs[k];
            const int from = maker_of(v);
            // A variable stands beside its updates, also where nobody reads it.
            const bool needed =
                i.read[k] || is_open(v) || (from >= 0 && item(from).op->is(op_flags::variable) && task_of(from) == t);
            i.inputs[k] = needed ? brought(v, t) : known_by_type(v, t);
        }
        const int device = own_number_[static_cast<std::size_t>(i.device)];
        i.device = device;
        for (int& v : i.outputs) v = add_value(v, t, device);
        number_list predecessors;
        for (const int b : item(n).predecessors) before(b, t, predecessors);
        i.predecessors = std::move(predecessors);
        items_[static_cast<std::size_t>(t)].emplace(n, add_item(std::move(i), t));
    }

    int known_by_type(int v, int t) {
        const auto& known = here_[static_cast<std::size_t>(t)];
        const auto at = known.find(v);
        return at != known.end() ? at->second : add_value(v, t);
    }

    // A value of the program, on a task.
    int brought(int v, int t) {
        auto& known = here_[static_cast<std::size_t>(t)];
        const int from = maker_of(v);
        if (const auto at = known.find(v); at != known.end() && has_value(at->second, t)) return at->second;
        if (from >= 0 && (is_source(from) || (item(from).removed && !is_variable(from))))
            return entered_here(from, v, t);
        const int home = from < 0 ? 0 : task_of(from);
        if (home == t) {
            if (from >= 0) return entered_here(from, v, t);
            const int fed = add_value(v, t);
            part(t).value(fed).feed = p_.value(v).feed;
            return fed;
        }
        const auto [at, isnew] = crossed_.try_emplace({v, t}, 0);
        if (isnew) at->second = cross(v, home, t);
        return known[v] = at->second;
    }
    bool has_value(int value, int t) {
        const program_value& v = part(t).value(value);
        return v.producer >= 0 || v.feed >= 0;
    }
    // Of what is read anywhere on its task, or is not run: a copy of its item.
    int entered_here(int n, int v, int t) {
        const auto& known = here_[static_cast<std::size_t>(t)];
        if (!items_[static_cast<std::size_t>(t)].contains(n)) {
            program_item i = item(n);
            i.device = is_source(n) ? 0 : own_number_[static_cast<std::size_t>(i.device)];
            for (int& input : i.inputs) input = is_open(input) ? brought(input, t) : known_by_type(input, t);
            for (int& o : i.outputs) o = add_value(o, t, i.device);
            i.predecessors = {};
            items_[static_cast<std::size_t>(t)].emplace(n, add_item(std::move(i), t));
        }
        return known.at(v);
    }

    std::int64_t new_edge(int from, int to) {
        cut_.edges.push_back({from, to, false});
        return static_cast<std::int64_t>(cut_.edges.size()) - 1;
    }

    int cross(int v, int from, int to) {
        const tensor_type& type = p_.value(v).type;
        const element_type travels_as = o_.travels_as(type);
        const bool rounded = travels_as != element_type::none;
        const int there = rounded ? rounded_at_home(v, from, travels_as) : brought(v, from);
        const std::int64_t edge = new_edge(from, to);
        program_item send;
        send.origin = p_.value(v).origin.node;
        send.op = &send_definition;
        send.attributes = encode(send_op::attributes{edge, is_used(v)});
        send.inputs = {there};
        send.find_reads();
        add_item(std::move(send), from);

        program_value made{.origin = p_.value(v).origin, .type = type};
        if (rounded) made.type.element = travels_as;
        const int received = part(to).add(std::move(made));
        program_item receive;
        receive.origin = p_.value(v).origin.node;
        receive.op = &receive_definition;
        receive.attributes = encode(receive_op::attributes{
            edge, any_tensor(p_.value(v).origin).name(), name_of_device(v, from), name_of_task(to),
            rounded ? travels_as : type.element, type.extents, ends_after_update(maker_of(v))});
        receive.outputs = {received};
        receive.find_reads();
        add_item(std::move(receive), to);
        return rounded ? converted(received, to, type.element, 0) : received;
    }

    // For all tasks that it goes to.
    int rounded_at_home(int v, int home, element_type e) {
        const auto [at, isnew] = rounded_.try_emplace(v, 0);
        if (isnew) {
            const int maker = maker_of(v);
            const int device = maker < 0 ? 0 : own_number_[static_cast<std::size_t>(item(maker).device)];
            at->second = converted(brought(v, home), home, e, device);
        }
        return at->second;
    }
    // A value of a part in another element type.
    int converted(int value, int t, element_type e, int device) {
        program_value made{
            .origin = part(t).value(value).origin, .type = {e, part(t).value(value).type.extents}, .device = device};
        program_item convert;
        convert.origin = made.origin.node;
        convert.op = &convert_definition;
        convert.attributes = encode(convert_op::attributes{e});
        convert.inputs = {value};
        convert.device = device;
        convert.outputs = {part(t).add(std::move(made))};
        convert.find_reads();
        const int made_as = convert.outputs[0];
        add_item(std::move(convert), t);
        return made_as;
    }

    // What runs on task t before something.
    void before(int b, int t, number_list& predecessors) {
        if (item(b).removed) return;
        auto& known = items_[static_cast<std::size_t>(t)];
        if (const auto at = known.find(b); at != known.end()) {
            predecessors.push_back(at->second);
            return;
        }
        if (is_source(b)) return;
        const int home = task_of(b);
        if (home == t) { // a variable, which runs where it is read
            (void)brought(item(b).outputs[0], t);
            predecessors.push_back(known.at(b));
            return;
        }
        // Who waits for the sizes that an op will tell needs what it gives.
        if (item(b).op->is(op_flags::waits))
            for (const int o : item(b).outputs)
                if (is_open(o)) {
                    predecessors.push_back(part(t).value(brought(o, t)).producer);
                    return;
                }
        const auto [at, isnew] = signs_.try_emplace({b, t}, 0);
        if (isnew) {
            const std::int64_t edge = new_edge(home, t);
            program_item send{
                .origin = item(b).origin, .op = &send_definition, .attributes = encode(send_op::attributes{edge})};
            before(b, home, send.predecessors);
            add_item(std::move(send), home);
            program_item receive{.origin = item(b).origin, .op = &receive_definition};
            receive_op::attributes a;
            a.edge = edge;
            a.from = to_string(o_.name_of(item(b).device));
            a.to = name_of_task(t);
            a.follows_update = ends_after_update(b);
            receive.attributes = encode(a);
            at->second = add_item(std::move(receive), t);
        }
        predecessors.push_back(at->second);
    }

    std::string name_of_device(int v, int from) const {
        const int maker = maker_of(v);
        return maker >= 0 ? to_string(o_.name_of(item(maker).device)) : name_of_task(from);
    }
    std::string name_of_task(int t) const {
        for (std::size_t d = 0; d < task_of_device_.size(); ++d) {
            const device_name& n = o_.name_of(static_cast<int>(d));
            if (task_of_device_[d] == t) return "/job:" + n.job.str() + "/task:" + std::to_string(n.task);
        }
        return {};
    }

    const program& p_;
    const plan_options& o_;
    std::vector<int> task_of_device_, own_number_; // by the program's device
    std::vector<int> made_by_;                     // by value, items that do not run included
    std::vector<bool> comes_after_update_;         // by item
    std::vector<bool> is_used_;                    // by value
    task_programs cut_;
    std::vector<std::unordered_map<int, int>> here_, items_; // by task: of the program's values and items, the part's
    std::map<std::pair<int, int>, int> crossed_;             // a value and a task: the value there
    std::map<int, int> rounded_;                             // a value: the one on its own task that travels for it
    std::map<std::pair<int, int>, int> signs_;               // an item and a task: the item there that tells of it
};

} // namespace detail

TENON_INLINE task_programs cut_by_task(const program& p, const std::vector<task_devices>& tasks,
                                       const plan_options& o) {
    return detail::task_cutter(p, tasks, o).run();
}

} // namespace tenon::runtime
