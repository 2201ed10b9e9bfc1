#pragma once

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/schedule.hpp>

namespace tenon::runtime {

namespace detail {

class scheduler {
public:
    scheduler(program& p, const plan_options& o) : p_(p), o_(o) {}

    scheduled run() {
        copy_resident_fetches();
        prepare();
        keep_old_values();
        if (!o_.check_numerics) forward_assignments(); // what is checked is written apart from the variable first
        order();
        find_dependencies();
        lay_out();
        if (worth_side_by_side()) lay_out_side_by_side();
        else s_.waits_for.clear();
        return std::move(s_);
    }

private:
    using edges = std::vector<std::vector<int>>;

    program_item& item(int i) { return p_.item(i); }
    int items() const { return static_cast<int>(p_.items.size()); }

    variable_resource* variable_of(int value) const { return p_.value(p_.root(value)).variable; }

    // What is fetched must lie in memory of its own: feeds, constants and variables are copied out, and a
    // variable before it is updated.
    void copy_resident_fetches() {
        for (std::size_t f = 0; f < p_.fetches.size(); ++f) {
            const int v = p_.fetches[f], root = p_.root(v);
            const program_value& r = p_.value(root);
            if (r.producer >= 0 && !r.variable && r.fetch < 0 && r.feed < 0 && root == v && !r.constant) {
                p_.value(v).fetch = static_cast<int>(f);
                continue;
            }
            program_item copy;
            copy.origin = p_.value(v).origin.node;
            copy.op = &identity_definition;
            copy.inputs = {v};
            program_value out;
            out.origin = p_.value(v).origin;
            out.type = p_.value(v).type;
            out.producer = items();
            out.fetch = static_cast<int>(f);
            copy.outputs = {static_cast<int>(p_.values.size())};
            p_.fetches[f] = copy.outputs[0];
            p_.values.push_back(std::move(out));
            p_.items.push_back(std::move(copy));
        }
    }

    void prepare() {
        for (int i = 0; i < items(); ++i) {
            program_item& it = item(i);
            if (it.removed) continue;
            it.kernel = prepare_kernel(p_, it, o_);
            it.read.resize(it.inputs.size());
            for (std::size_t k = 0; k < it.inputs.size(); ++k) it.read[k] = p_.reads(it, static_cast<int>(k));
        }
    }

    // Items that must run before each item, by data and by control.
    edges needs() const {
        edges before(p_.items.size());
        for (int i = 0; i < items(); ++i) {
            const program_item& it = p_.item(i);
            if (it.removed) continue;
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) {
                    const int from = p_.value(p_.root(it.inputs[k])).producer;
                    if (from >= 0) before[static_cast<std::size_t>(i)].push_back(from);
                }
            // A removed item that others run after stands for what it ran after itself.
            std::vector<int> stack(it.after);
            std::set<int> seen;
            while (!stack.empty()) {
                const int a = stack.back();
                stack.pop_back();
                if (!seen.insert(a).second) continue;
                if (!p_.item(a).removed) before[static_cast<std::size_t>(i)].push_back(a);
                else stack.insert(stack.end(), p_.item(a).after.begin(), p_.item(a).after.end());
            }
        }
        return before;
    }

    static edges reversed(const edges& before) {
        edges after(before.size());
        for (std::size_t i = 0; i < before.size(); ++i)
            for (const int b : before[i]) after[static_cast<std::size_t>(b)].push_back(static_cast<int>(i));
        return after;
    }

    static std::vector<bool> downstream(const edges& after, int from) {
        std::vector<bool> reached(after.size());
        std::vector<int> stack{from};
        while (!stack.empty()) {
            const int i = stack.back();
            stack.pop_back();
            for (const int n : after[static_cast<std::size_t>(i)])
                if (!reached[static_cast<std::size_t>(n)]) {
                    reached[static_cast<std::size_t>(n)] = true;
                    stack.push_back(n);
                }
        }
        return reached;
    }

    bool reads_variable(const program_item& i, const variable_resource* v) const {
        for (std::size_t k = 0; k < i.inputs.size(); ++k)
            if (i.read[k] && variable_of(i.inputs[k]) == v) return true;
        return false;
    }

    variable_resource* updated_by(int item) const { return p_.value(p_.item(item).outputs[0]).variable; }

    // Readers of a variable run before its updates, unless they are made to run after them. Where updates read each
    // other's variables that would be a cycle: the reader on it gets a copy of the old value.
    void keep_old_values() {
        for (int i = 0; i < items(); ++i)
            if (!item(i).removed && item(i).op->is(op_flags::updates)) updates_.push_back(i);
        if (updates_.empty()) return;
        needed_by_ = reversed(needs());
        before_ = needed_by_;
        std::map<std::pair<int, std::vector<int>>, int> copies; // value read and writers before it; the copy
        const int n = items();
        for (const int u : updates_) {
            const variable_resource* v = updated_by(u);
            const std::vector<bool> after_update = downstream(needed_by_, u), reached = downstream(before_, u);
            for (int r = 0; r < n; ++r) {
                if (r == u || item(r).removed || after_update[static_cast<std::size_t>(r)] ||
                    !reads_variable(item(r), v))
                    continue;
                if (!reached[static_cast<std::size_t>(r)]) {
                    before_[static_cast<std::size_t>(r)].push_back(u);
                    continue;
                }
                std::vector<int> writers;
                for (const int w : updates_)
                    if (updated_by(w) == v && downstream(needed_by_, w)[static_cast<std::size_t>(r)])
                        writers.push_back(w);
                for (std::size_t k = 0; k < item(r).inputs.size(); ++k) {
                    const int value = item(r).inputs[k];
                    if (!item(r).read[k] || variable_of(value) != v) continue;
                    int& copy = copies.try_emplace({value, writers}, -1).first->second;
                    if (copy < 0) copy = add_copy(value, writers);
                    item(r).inputs[k] = p_.item(copy).outputs[0];
                    before_[static_cast<std::size_t>(copy)].push_back(r);
                    needed_by_[static_cast<std::size_t>(copy)].push_back(r);
                    for (const int w : updates_)
                        if (updated_by(w) == v && std::find(writers.begin(), writers.end(), w) == writers.end())
                            before_[static_cast<std::size_t>(copy)].push_back(w);
                }
            }
        }
    }

    int add_copy(int value, const std::vector<int>& after) {
        const int made = items();
        program_item copy;
        copy.origin = p_.value(value).origin.node;
        copy.op = &identity_definition;
        copy.inputs = {value};
        copy.outputs = {static_cast<int>(p_.values.size())};
        copy.after = after;
        copy.read = {true};
        program_value out;
        out.origin = p_.value(value).origin;
        out.type = p_.value(value).type;
        out.producer = made;
        p_.values.push_back(std::move(out));
        copy.kernel = prepare_kernel(p_, copy, o_);
        p_.items.push_back(std::move(copy));
        needed_by_.emplace_back();
        before_.emplace_back();
        for (const int w : after) {
            needed_by_[static_cast<std::size_t>(w)].push_back(made);
            before_[static_cast<std::size_t>(w)].push_back(made);
        }
        return made;
    }

    // An update whose new value is computed for it alone is written straight into the variable, where every
    // reader of the old value can run before.
    void forward_assignments() {
        std::vector<int> uses(p_.values.size());
        for (const program_item& it : p_.items) {
            if (it.removed) continue;
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) ++uses[static_cast<std::size_t>(p_.root(it.inputs[k]))];
        }
        for (const int u : updates_) {
            program_item& assign = item(u);
            variable_resource* v = updated_by(u);
            const int value = assign.inputs[1];
            const program_value& from = p_.value(value);
            if (from.producer < 0 || from.variable || from.fetch >= 0 ||
                from.type != p_.value(assign.outputs[0]).type || uses[static_cast<std::size_t>(value)] != 1)
                continue;
            if (std::count_if(updates_.begin(), updates_.end(), [&](int w) { return updated_by(w) == v; }) != 1)
                continue;
            program_item& producer = item(from.producer);
            // Elementwise kernels only: others read their inputs again after they began to write.
            int o = 0;
            while (producer.outputs[static_cast<std::size_t>(o)] != value) ++o;
            if (producer.kernel->resident(o)) continue;
            bool safe = true;
            for (std::size_t k = 0; k < producer.inputs.size(); ++k)
                if (producer.read[k] && variable_of(producer.inputs[k]) == v)
                    safe = safe && producer.kernel->may_share(static_cast<int>(k), o);
            const std::vector<bool> after_assign = downstream(needed_by_, u);
            const std::vector<bool> after_producer = downstream(before_, from.producer);
            std::vector<int> readers;
            for (int r = 0; r < items(); ++r)
                if (r != from.producer && !item(r).removed && reads_variable(item(r), v) &&
                    !after_assign[static_cast<std::size_t>(r)]) {
                    readers.push_back(r);
                    safe = safe && !after_producer[static_cast<std::size_t>(r)];
                }
            if (!safe) continue;
            for (const int r : readers) before_[static_cast<std::size_t>(r)].push_back(from.producer);
            p_.value(value).variable = v;
            writes_.push_back({from.producer, v});
        }
    }

    // Readers of a variable run before its update, unless they are made to run after it. Among what is ready,
    // updates go first (their gradients' memory is free then), then the order in which the graph was made.
    void order() {
        for (const int u : updates_) writes_.push_back({u, updated_by(u)});
        const edges before = needs();
        edges after = reversed(before);
        std::vector<int> waiting(p_.items.size()), soft(p_.items.size());
        edges soft_after(p_.items.size());
        for (int i = 0; i < items(); ++i)
            waiting[static_cast<std::size_t>(i)] = static_cast<int>(before[static_cast<std::size_t>(i)].size());
        for (const auto& [w, v] : writes_) {
            const std::vector<bool> later = downstream(after, w);
            for (int r = 0; r < items(); ++r)
                if (r != w && !item(r).removed && !later[static_cast<std::size_t>(r)] && reads_variable(item(r), v) &&
                    !writes(r, v)) {
                    soft_after[static_cast<std::size_t>(r)].push_back(w);
                    ++soft[static_cast<std::size_t>(w)];
                }
        }
        const auto key = [&](int i) {
            return std::pair(item(i).op->is(op_flags::updates) ? 0 : 1, item(i).origin->number);
        };
        const auto later = [&](int a, int b) { return std::pair(key(a), a) > std::pair(key(b), b); };
        std::priority_queue<int, std::vector<int>, decltype(later)> ready(later), held(later);
        std::vector<bool> done(p_.items.size());
        int left = 0;
        for (int i = 0; i < items(); ++i) {
            if (item(i).removed) continue;
            ++left;
            if (waiting[static_cast<std::size_t>(i)] == 0)
                (soft[static_cast<std::size_t>(i)] == 0 ? ready : held).push(i);
        }
        while (left > 0) {
            if (ready.empty()) {
                // Updates that read each other's variables: one of them must go first.
                while (!held.empty() && done[static_cast<std::size_t>(held.top())]) held.pop();
                if (held.empty()) throw internal_error("the nodes of this step wait for each other in a cycle");
                ready.push(held.top());
                held.pop();
            }
            const int i = ready.top();
            ready.pop();
            if (done[static_cast<std::size_t>(i)]) continue;
            done[static_cast<std::size_t>(i)] = true;
            --left;
            s_.order.push_back(i);
            for (const int n : after[static_cast<std::size_t>(i)])
                if (--waiting[static_cast<std::size_t>(n)] == 0)
                    (soft[static_cast<std::size_t>(n)] == 0 ? ready : held).push(n);
            for (const int n : soft_after[static_cast<std::size_t>(i)])
                if (--soft[static_cast<std::size_t>(n)] == 0 && waiting[static_cast<std::size_t>(n)] == 0)
                    ready.push(n);
        }
    }

    bool writes(int i, const variable_resource* v) const {
        return std::any_of(writes_.begin(), writes_.end(),
                           [&](const auto& w) { return w.first == i && w.second == v; });
    }

    struct block {
        int value; // or -1 for the scratch of a position
        int position;
        std::size_t bytes, offset = 0;
        int first, last;
        std::vector<int> users;           // positions that write or read it
        std::vector<std::uint64_t> later; // positions that come after all users, whichever way the threads go
    };

    void lay_out() {
        const int n = static_cast<int>(s_.order.size());
        s_.placements.assign(p_.values.size(), {});
        s_.scratch.assign(static_cast<std::size_t>(n), 0);
        s_.arena_bytes = s_.lower_bound = s_.fetched_bytes = 0;
        s_.largest.clear();
        std::vector<int> last(p_.values.size(), -1);
        edges readers(p_.values.size());
        for (int at = 0; at < n; ++at) {
            const program_item& it = item(s_.order[static_cast<std::size_t>(at)]);
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) {
                    int& end = last[static_cast<std::size_t>(p_.root(it.inputs[k]))];
                    end = std::max(end, until(at));
                    readers[static_cast<std::size_t>(p_.root(it.inputs[k]))].push_back(at);
                }
            for (const int o : it.outputs) {
                int& end = last[static_cast<std::size_t>(o)];
                end = std::max(end, until(at));
            }
        }
        // Feeds, constants and variables lie where they lie.
        for (std::size_t v = 0; v < p_.values.size(); ++v) {
            const program_value& value = p_.values[v];
            placement& at = s_.placements[v];
            if (value.view_of >= 0) continue;
            if (value.feed >= 0) at = {placement::kind::feed, 0, nullptr, value.feed};
            else if (value.constant) at = {placement::kind::resident, 0, value.constant->data(), -1};
            else if (value.variable) at = {placement::kind::resident, 0, value.variable->value.data(), -1};
            else if (value.fetch >= 0) {
                at = {placement::kind::fetch, 0, nullptr, value.fetch};
                s_.fetched_bytes += static_cast<std::size_t>(bytes_of(value.type));
            }
        }
        std::vector<block> blocks;
        std::vector<int> block_of(p_.values.size(), -1);
        for (int at = 0; at < n; ++at) {
            program_item& it = item(s_.order[static_cast<std::size_t>(at)]);
            if (const std::size_t scratch = it.kernel->scratch_bytes())
                blocks.push_back({-1, at, round_up(scratch), 0, at, until(at), {at}, {}});
            for (std::size_t o = 0; o < it.outputs.size(); ++o) {
                const int v = it.outputs[o];
                placement& place = s_.placements[static_cast<std::size_t>(v)];
                if (place.where != placement::kind::none) continue;
                // One of several outputs that nobody reads is not written at all.
                if (it.outputs.size() > 1 && readers[static_cast<std::size_t>(v)].empty()) continue;
                if (const void* resident = it.kernel->resident(static_cast<int>(o))) {
                    place = {placement::kind::resident, 0, resident, -1};
                    continue;
                }
                const std::size_t bytes = round_up(static_cast<std::size_t>(bytes_of(p_.value(v).type)));
                const int end = last[static_cast<std::size_t>(v)];
                place.where = placement::kind::arena;
                // In place of an input that ends here.
                for (std::size_t k = 0; k < it.inputs.size() && block_of[static_cast<std::size_t>(v)] < 0; ++k) {
                    const int from = p_.root(it.inputs[k]);
                    const int b = block_of[static_cast<std::size_t>(from)];
                    if (b < 0 || !it.read[k] || !ends_at(blocks[static_cast<std::size_t>(b)], at) ||
                        blocks[static_cast<std::size_t>(b)].bytes != bytes ||
                        !it.kernel->may_share(static_cast<int>(k), static_cast<int>(o)))
                        continue;
                    block_of[static_cast<std::size_t>(v)] = b;
                    int& block_end = blocks[static_cast<std::size_t>(b)].last;
                    block_end = std::max(block_end, end);
                }
                int& b = block_of[static_cast<std::size_t>(v)];
                if (b < 0) {
                    b = static_cast<int>(blocks.size());
                    blocks.push_back({v, -1, bytes, 0, at, end, {at}, {}});
                }
                std::vector<int>& users = blocks[static_cast<std::size_t>(b)].users;
                const std::vector<int>& more = readers[static_cast<std::size_t>(v)];
                users.insert(users.end(), more.begin(), more.end());
            }
        }
        if (!later_.empty())
            for (block& b : blocks) {
                b.later.assign(words(), ~std::uint64_t{0});
                for (const int u : b.users) {
                    const std::uint64_t* const set = &later_[static_cast<std::size_t>(u) * words()];
                    for (std::size_t w = 0; w < words(); ++w) b.later[w] &= set[w];
                }
            }
        place_blocks(blocks);
        for (std::size_t v = 0; v < p_.values.size(); ++v)
            if (block_of[v] >= 0) s_.placements[v].offset = blocks[static_cast<std::size_t>(block_of[v])].offset;
        for (const block& b : blocks)
            if (b.value < 0) s_.scratch[static_cast<std::size_t>(b.position)] = b.offset;
        for (std::size_t v = 0; v < p_.values.size(); ++v)
            if (p_.values[v].view_of >= 0)
                s_.placements[v] = s_.placements[static_cast<std::size_t>(p_.root(static_cast<int>(v)))];
        report(blocks, n);
    }

    static std::size_t round_up(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64; }

    // The last position that begins before this one ends.
    int until(int at) const { return until_.empty() ? at : until_[static_cast<std::size_t>(at)]; }
    std::size_t words() const { return (s_.order.size() + 63) / 64; }
    static bool has(const std::uint64_t* set, int position) {
        return set[static_cast<std::size_t>(position) / 64] >> (static_cast<unsigned>(position) % 64) & 1;
    }
    // True when a position that uses a block is its last user: in order, or whichever way the threads go.
    bool ends_at(const block& b, int at) const {
        return std::all_of(b.users.begin(), b.users.end(), [&](int u) {
            return u == at ||
                   (later_.empty() ? until(u) < at : has(&later_[static_cast<std::size_t>(u) * words()], at));
        });
    }
    bool never_together(const block& a, const block& b) const {
        if (later_.empty()) return a.last < b.first || b.last < a.first;
        return has(a.later.data(), b.first) || has(b.later.data(), a.first);
    }

    // Largest first, each at the lowest place that is free during its life.
    void place_blocks(std::vector<block>& blocks) {
        std::vector<int> by_size(blocks.size());
        for (std::size_t b = 0; b < blocks.size(); ++b) by_size[b] = static_cast<int>(b);
        std::sort(by_size.begin(), by_size.end(), [&](int x, int y) {
            const block &a = blocks[static_cast<std::size_t>(x)], &b = blocks[static_cast<std::size_t>(y)];
            return std::pair(a.bytes, -a.first) > std::pair(b.bytes, -b.first);
        });
        std::vector<const block*> placed; // by offset
        for (const int n : by_size) {
            block& b = blocks[static_cast<std::size_t>(n)];
            std::size_t at = 0;
            for (const block* other : placed) {
                if (never_together(*other, b)) continue;
                if (at + b.bytes <= other->offset) break;
                at = std::max(at, other->offset + other->bytes);
            }
            b.offset = at;
            s_.arena_bytes = std::max(s_.arena_bytes, at + b.bytes);
            placed.insert(std::upper_bound(placed.begin(), placed.end(), &b,
                                           [](const block* x, const block* y) { return x->offset < y->offset; }),
                          &b);
        }
    }

    void report(const std::vector<block>& blocks, int n) {
        std::vector<std::ptrdiff_t> change(static_cast<std::size_t>(n) + 1);
        for (const block& b : blocks) {
            change[static_cast<std::size_t>(b.first)] += static_cast<std::ptrdiff_t>(b.bytes);
            change[static_cast<std::size_t>(b.last) + 1] -= static_cast<std::ptrdiff_t>(b.bytes);
            const std::string name =
                b.value >= 0 ? any_tensor(p_.value(b.value).origin).name() + " " + to_string(p_.value(b.value).type)
                             : "working memory of " + item(s_.order[static_cast<std::size_t>(b.position)]).origin->name;
            s_.largest.emplace_back(b.bytes, name);
        }
        for (std::size_t f = 0; f < p_.fetches.size(); ++f) {
            const tensor_type& type = p_.value(p_.fetches[f]).type;
            s_.largest.emplace_back(static_cast<std::size_t>(bytes_of(type)),
                                    any_tensor(p_.fetched[f]).name() + " " + to_string(type) + ", fetched");
        }
        std::ptrdiff_t live = 0;
        for (const std::ptrdiff_t c : change) {
            live += c;
            s_.lower_bound = std::max(s_.lower_bound, static_cast<std::size_t>(live));
        }
        std::sort(s_.largest.rbegin(), s_.largest.rend());
        if (s_.largest.size() > 8) s_.largest.resize(8);
    }

    // What each position waits for: data, control, and readers and writers of a variable in their order.
    void find_dependencies() {
        const int n = static_cast<int>(s_.order.size());
        s_.waits_for.assign(static_cast<std::size_t>(n), {});
        std::vector<int> position(p_.items.size(), -1);
        for (int at = 0; at < n; ++at) position[static_cast<std::size_t>(s_.order[static_cast<std::size_t>(at)])] = at;
        const edges before = needs();
        for (int at = 0; at < n; ++at)
            for (const int b : before[static_cast<std::size_t>(s_.order[static_cast<std::size_t>(at)])])
                s_.waits_for[static_cast<std::size_t>(at)].push_back(position[static_cast<std::size_t>(b)]);
        std::set<variable_resource*> changed;
        for (const auto& [i, v] : writes_) changed.insert(v);
        for (variable_resource* v : changed) {
            int writer = -1;
            std::vector<int> readers;
            for (int at = 0; at < n; ++at) {
                const int i = s_.order[static_cast<std::size_t>(at)];
                std::vector<int>& waits = s_.waits_for[static_cast<std::size_t>(at)];
                if (writes(i, v)) {
                    if (writer >= 0) waits.push_back(writer);
                    waits.insert(waits.end(), readers.begin(), readers.end());
                    readers.clear();
                    writer = at;
                } else if (reads_variable(item(i), v)) {
                    if (writer >= 0) waits.push_back(writer);
                    readers.push_back(at);
                }
            }
        }
        keep_each_once();
    }

    void keep_each_once() {
        for (std::vector<int>& w : s_.waits_for) {
            std::sort(w.begin(), w.end());
            w.erase(std::unique(w.begin(), w.end()), w.end());
        }
    }

    // Where a good part of the work does not wait for each other and is worth a thread.
    bool worth_side_by_side() {
        constexpr std::size_t largest = 4000; // the searches below are quadratic
        if (o_.side_by_side < 2 || s_.order.size() > largest) return false;
        std::vector<double> ends(s_.order.size());
        double cost = 0, critical_path = 0;
        for (std::size_t at = 0; at < ends.size(); ++at) {
            const double own = item(s_.order[at]).kernel->cost();
            for (const int w : s_.waits_for[at]) ends[at] = std::max(ends[at], ends[static_cast<std::size_t>(w)]);
            ends[at] += own;
            cost += own;
            critical_path = std::max(critical_path, ends[at]);
        }
        return cost > 2e5 && critical_path < 0.75 * cost;
    }

    // At first memory passes on between nodes only where the second waits for the first anyway. Where that takes more
    // than the limit, or more times the serial step's than nodes run at a time, the lifetimes are those on so many
    // threads, and what takes over memory waits for those that had it.
    void lay_out_side_by_side() {
        const scheduled in_order = s_;
        const auto fits = [&] { return o_.memory_limit == 0 || s_.arena_bytes + s_.fetched_bytes <= o_.memory_limit; };
        find_later();
        lay_out();
        constexpr std::size_t little = 1 << 20;
        const std::size_t enough = in_order.arena_bytes * static_cast<std::size_t>(o_.side_by_side) + little;
        if (fits() && s_.arena_bytes <= enough) return;
        later_.clear();
        order_on_threads();
        find_dependencies();
        lay_out();
        wait_for_memory();
        if (fits() && worth_side_by_side()) return;
        s_ = in_order;
        s_.waits_for.clear();
    }

    void find_later() {
        later_.assign(s_.order.size() * words(), 0);
        for (std::size_t at = s_.order.size(); at-- > 0;)
            for (const int w : s_.waits_for[at]) {
                std::uint64_t* const set = &later_[static_cast<std::size_t>(w) * words()];
                const std::uint64_t* const more = &later_[at * words()];
                for (std::size_t k = 0; k < words(); ++k) set[k] |= more[k];
                set[at / 64] |= std::uint64_t{1} << (at % 64);
            }
    }

    // The order in which nodes begin on as many threads as run them side by side, if they take the time they are
    // thought to; and which begin before each ends.
    void order_on_threads() {
        const std::size_t n = s_.order.size();
        const edges after = reversed(s_.waits_for);
        std::vector<std::size_t> waiting(n);
        std::vector<double> begins, ends; // by place in the new order
        std::vector<int> order;
        using ending = std::pair<double, int>;
        std::priority_queue<ending, std::vector<ending>, std::greater<>> running;
        std::priority_queue<int, std::vector<int>, std::greater<>> ready;
        for (std::size_t at = 0; at < n; ++at) {
            waiting[at] = s_.waits_for[at].size();
            if (waiting[at] == 0) ready.push(static_cast<int>(at));
        }
        double now = 0;
        while (order.size() < n) {
            while (!ready.empty() && running.size() < static_cast<std::size_t>(o_.side_by_side)) {
                const int at = ready.top();
                ready.pop();
                order.push_back(s_.order[static_cast<std::size_t>(at)]);
                begins.push_back(now);
                ends.push_back(now + item(order.back()).kernel->cost());
                running.push({ends.back(), at});
            }
            now = running.top().first;
            for (const int next : after[static_cast<std::size_t>(running.top().second)])
                if (--waiting[static_cast<std::size_t>(next)] == 0) ready.push(next);
            running.pop();
        }
        s_.order = std::move(order);
        until_.resize(n);
        for (std::size_t at = 0; at < n; ++at) {
            const auto before = std::lower_bound(begins.begin(), begins.end(), ends[at]) - begins.begin() - 1;
            until_[at] = static_cast<int>(std::max(before, static_cast<std::ptrdiff_t>(at)));
        }
    }

    void wait_for_memory() {
        // Who touched which part of the arena since it was last written over.
        struct touch {
            std::size_t begin, end;
            int position;
        };
        std::vector<touch> touches;
        const auto part_of = [&](int v, int at) -> touch {
            const int root = p_.root(v);
            const placement& place = s_.placements[static_cast<std::size_t>(root)];
            if (place.where != placement::kind::arena) return {0, 0, at};
            return {place.offset, place.offset + round_up(static_cast<std::size_t>(bytes_of(p_.value(root).type))), at};
        };
        const auto write = [&](const touch& w) {
            if (w.begin == w.end) return;
            for (const touch& t : touches)
                if (t.begin < w.end && w.begin < t.end && t.position != w.position)
                    s_.waits_for[static_cast<std::size_t>(w.position)].push_back(t.position);
            std::erase_if(touches, [&](const touch& t) { return w.begin <= t.begin && t.end <= w.end; });
            touches.push_back(w);
        };
        for (int at = 0; at < static_cast<int>(s_.order.size()); ++at) {
            const program_item& it = item(s_.order[static_cast<std::size_t>(at)]);
            for (const int o : it.outputs) write(part_of(o, at));
            if (const std::size_t scratch = it.kernel->scratch_bytes()) {
                const std::size_t begin = s_.scratch[static_cast<std::size_t>(at)];
                write({begin, begin + round_up(scratch), at});
            }
            for (std::size_t k = 0; k < it.inputs.size(); ++k)
                if (it.read[k]) touches.push_back(part_of(it.inputs[k], at));
        }
        keep_each_once();
    }

    program& p_;
    const plan_options& o_;
    scheduled s_;
    std::vector<int> updates_;                               // items that update variables
    edges needed_by_;                                        // items that run after each item, by data and by control
    edges before_;                                           // the same, and readers before what writes their variables
    std::vector<std::pair<int, variable_resource*>> writes_; // item, variable it writes
    std::vector<std::uint64_t> later_; // side by side: by position, the set of those that come after it
    std::vector<int> until_;           // on threads: by position, the last that begins before it ends
};

} // namespace detail

TENON_INLINE scheduled schedule(program& p, const plan_options& o) { return detail::scheduler(p, o).run(); }

} // namespace tenon::runtime
