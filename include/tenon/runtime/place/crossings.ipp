#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <tenon/runtime/place/crossings.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon::runtime {

namespace detail {

class crossing_finder {
public:
    crossing_finder(const program& p, const plan_options& o, const std::vector<late_sizes>& sizes) :
        p_(p), o_(o), sizes_(sizes), awaited_(p.items.size()), live_(p.items.size()), value_(p.values.size()) {
        for (std::size_t v = 0; v < value_.size(); ++v) value_[v].root = static_cast<int>(v);
        find_live();
        find_roots();
    }

    std::vector<crossing> run() {
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            const program_item& i = p_.items[n];
            if (i.removed || !live_[n]) continue;
            for (std::size_t k = 0; k < i.inputs.size(); ++k) {
                const int v = i.inputs[k];
                const bool open = !p_.value(v).type.extents.is_static();
                if (p_.reads(i, static_cast<int>(k)) || (open && !same_task(p_.value(v).device, i.device)))
                    bring(v, i.device, i.outputs.empty() ? -1 : i.outputs[0]);
            }
        }
        fetched_ = true;
        for (const int f : p_.fetches) bring(f, 0, -1);
        tenon::detail::sort_crossings(found_);
        return std::move(found_);
    }

private:
    struct known_value {
        int root = -1;         // on its task: what views of it are made of
        bool constant = false; // on its task, when the step is planned
        bool shared = false;   // is its root's memory: nobody copies it to have it
    };
    known_value& at(int v) { return value_[static_cast<std::size_t>(v)]; }
    bool same_task(int a, int b) const {
        const device_name &x = o_.name_of(a), &y = o_.name_of(b);
        return x.job == y.job && x.replica == y.replica && x.task == y.task;
    }
    // The first device of a device's task.
    int host_of(int device) const {
        for (int d = 0; d < device; ++d)
            if (same_task(d, device)) return d;
        return device;
    }

    // What nobody reads does not run, from the last to the first.
    void find_live() {
        std::vector<bool> read(p_.values.size());
        for (const int f : p_.fetches) read[static_cast<std::size_t>(f)] = true;
        for (const program_item& i : p_.items)
            if (!i.removed)
                for (const int b : i.predecessors) awaited_[static_cast<std::size_t>(b)] = true;
        for (std::size_t n = p_.items.size(); n-- > 0;) {
            const program_item& i = p_.items[n];
            if (i.removed) continue;
            live_[n] = i.target || awaited_[n] || (i.op->is(op_flags::stateful) && !i.op->is(op_flags::source)) ||
                       std::any_of(i.outputs.begin(), i.outputs.end(),
                                   [&](int v) { return read[static_cast<std::size_t>(v)]; });
            if (!live_[n]) continue;
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (p_.reads(i, static_cast<int>(k))) read[static_cast<std::size_t>(i.inputs[k])] = true;
        }
    }

    // Identities and views of what is on their task vanish; what is computed of constants there is constant.
    void find_roots() {
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            const program_item& i = p_.items[n];
            if (i.removed) continue;
            const bool alone = i.predecessors.empty() && !awaited_[n];
            const auto here = [&](int v) { return at(v).constant || same_task(p_.value(v).device, i.device); };
            if (alone && view_kind_of(i) != view_kind::none && here(i.inputs[0])) {
                known_value& made = at(i.outputs[0]);
                made.root = at(i.inputs[0]).root;
                made.constant = at(i.inputs[0]).constant;
                made.shared = true;
                continue;
            }
            if (i.op->is(op_flags::constant)) {
                for (const int v : i.outputs) at(v).constant = i.predecessors.empty() && !i.target;
                continue;
            }
            bool folded = alone && !i.target && o_.fold && !i.op->is(op_flags::stateful) &&
                          !i.op->is(op_flags::source) && i.op->cpu && !i.outputs.empty();
            std::int64_t bytes = 0;
            for (const int v : i.outputs)
                if (!p_.value(v).type.extents.is_static()) folded = false;
                else bytes += bytes_of(p_.value(v).type);
            folded = folded && bytes <= most_folded_bytes;
            for (std::size_t k = 0; k < i.inputs.size() && folded; ++k)
                folded = !p_.reads(i, static_cast<int>(k)) || (at(i.inputs[k]).constant && here(i.inputs[k]));
            if (folded)
                for (const int v : i.outputs) at(v).constant = true;
        }
    }

    void bring(int v, int device, int reader) {
        // A view vanishes; whoever reads it brings what it shows.
        if (reader >= 0 && at(reader).shared) return;
        const int root = at(v).root, home = p_.value(root).device;
        const int producer = p_.value(v).producer;
        if (same_task(home, device)) {
            if (!at(root).constant) add(root, home, device, false);
            return;
        }
        // Constants are in the graph, which all tasks have; what is folded is so on its own task alone.
        if (producer >= 0 && p_.item(producer).op->is(op_flags::constant) && at(v).constant) return;
        const int from = host_of(home), to = host_of(device);
        if (!at(root).constant) add(root, home, from, false);
        add(v, from, to, true);
        add(v, to, device, false);
    }

    void add(int v, int from, int to, bool by_wire) {
        if (from == to || !seen_.insert({v, from, to}).second) return;
        const program_value& value = p_.value(v);
        const late_sizes& is = sizes_[static_cast<std::size_t>(v)];
        tensor_type travels = value.type;
        if (by_wire)
            if (const element_type as = o_.travels_as(travels); as != element_type::none) travels.element = as;
        travels.extents = is.sizes;
        crossing c{any_tensor(value.origin).name(), shown(from), shown(to)};
        c.fetched = fetched_;
        c.known = travels.extents.is_static() ? is.known : bytes_known::not_yet;
        if (travels.extents.is_static()) c.bytes = bytes_of(travels);
        if (c.bytes > 0 || c.known != bytes_known::exactly) found_.push_back(std::move(c));
    }
    std::string shown(int device) const {
        const device_name& d = o_.name_of(device);
        return tenon::detail::traced_task(d) + "/device:" + d.type.str() + ":" + std::to_string(d.index);
    }

    const program& p_;
    const plan_options& o_;
    const std::vector<late_sizes>& sizes_;
    std::vector<bool> awaited_, live_; // by item
    std::vector<known_value> value_;
    std::set<std::tuple<int, int, int>> seen_; // value, from, to
    bool fetched_ = false;                     // what is brought now is for no op
    std::vector<crossing> found_;
};

} // namespace detail

TENON_INLINE std::vector<crossing> crossings_of(const program& p, const plan_options& o,
                                                const std::vector<late_sizes>& sizes) {
    return detail::crossing_finder(p, o, sizes).run();
}

} // namespace tenon::runtime
