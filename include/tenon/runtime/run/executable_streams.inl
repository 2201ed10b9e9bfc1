#pragma once

// A part of run/executable.ipp: what operations on streams wait for, and which steps give their streams all they do at once.

#include <span>

#include <tenon/memory/memory_pool.hpp>

namespace tenon::runtime {

TENON_INLINE void executable::find_lines() {
    for (std::size_t s = 0; s < size(); ++s) {
        operation& op = operations[s];
        if (op.by.stream < 0) continue;
        const auto at = std::find(streams.begin(), streams.end(), op.by);
        op.line = static_cast<int>(at - streams.begin());
        if (at == streams.end()) streams.push_back(op.by);
        on_streams.push_back(static_cast<int>(s));
        if (op.kernel->may_refuse()) may_refuse.push_back(static_cast<int>(s));
    }
    graph.on_host = static_cast<int>(size() - on_streams.size());
}

// Variables that are updated as a whole after what may be refused: where they are small, they get a second memory, to which the
// values are written, so that neither the host nor a stream waits in the middle of the step.
TENON_INLINE std::vector<const variable_resource*> executable::find_apart() const {
    constexpr std::int64_t most_bytes = std::int64_t{64} << 20; // of all of them
    std::vector<const variable_resource*> apart;
    if (may_refuse.empty()) return apart;
    std::map<const variable_resource*, bool> as_a_whole;
    std::int64_t bytes = 0;
    for (const int s : on_streams) {
        const program_item& it = item(static_cast<std::size_t>(s));
        const variable_resource* const v = it.op->is(op_flags::updates) ? whole.value(it.outputs[0]).variable : nullptr;
        if (!v) continue;
        const auto [at, first] = as_a_whole.emplace(v, true);
        at->second = first && it.op->is(op_flags::replaces); // several are rare, and read each other
        if (first) bytes += bytes_of(v->type());
    }
    for (const auto& [v, is_whole] : as_a_whole)
        if (is_whole && bytes <= most_bytes) apart.push_back(v);
    return apart;
}

// What each operation waits for. Streams do things in order; a stream waits for another by events, and so does the host; the
// rest is waited for on the host. What is known to have ended by what is waited for is not waited for again.
TENON_INLINE void executable::find_waits(const std::vector<const variable_resource*>& apart) {
    std::vector<edges::edge> ended, given;     // an operation, and one that waits for it
    std::vector<int> last(streams.size(), -1); // that was given
    const auto finish = [&] {
        for (const int s : last) operations[static_cast<std::size_t>(s)].ends_line = true;
        graph.ended = edges(size(), ended);
        graph.given = edges(size(), given);
    };
    // A stream gets what it does in the executable's order.
    const auto follow = [&](int number) {
        const int before = std::exchange(last[static_cast<std::size_t>(op(number).line)], number);
        if (before >= 0) given.push_back({before, number});
        return before;
    };
    if (check_numerics) { // one after another: it is told which is the first
        for (const int s : may_refuse) operations[static_cast<std::size_t>(s)].checked.push_back(s);
        for (const int s : on_streams) {
            operations[static_cast<std::size_t>(s)].awaited = operations[static_cast<std::size_t>(s)].calls_host = true;
            follow(s);
        }
        for (int s = 1; s < static_cast<int>(size()); ++s) ended.push_back({s - 1, s});
        finish();
        return;
    }
    // By operation and stream: the last of the stream's that has ended when the operation has; the last that the host knows to have ended
    // before it begins the operation, or gives it to its stream; the last that may refuse among those that come before the operation.
    std::vector<std::vector<int>> known(size()), seen(size()), refusing(size());
    const auto learn_all = [](std::vector<int>& own, const std::vector<int>& from) {
        for (std::size_t l = 0; l < own.size(); ++l) own[l] = std::max(own[l], from[l]);
    };
    const auto changes_variable = [&](std::size_t s) {
        return !item(s).op->is(op_flags::variable) &&
               std::any_of(item(s).outputs.begin(), item(s).outputs.end(), [&](int v) {
                   const variable_resource* const of = whole.value(v).variable;
                   return of && std::find(apart.begin(), apart.end(), of) == apart.end();
               });
    };
    for (std::size_t s = 0; s < size(); ++s) {
        operation& own_op = operations[s];
        const int number = static_cast<int>(s);
        const bool on_stream = own_op.line >= 0;
        std::vector<int>& own = known[s];
        own.assign(streams.size(), -1);
        seen[s] = refusing[s] = own;
        if (on_stream)
            if (const int before = follow(number); before >= 0) {
                learn_all(own, known[static_cast<std::size_t>(before)]);
                learn_all(seen[s], seen[static_cast<std::size_t>(before)]);
            }
        const std::span<const int> all = scheduled.waits_for[s];
        for (const int b : all) {
            const auto from = static_cast<std::size_t>(b);
            learn_all(refusing[s], refusing[from]);
            if (op(b).line >= 0) {
                int& at = refusing[s][static_cast<std::size_t>(op(b).line)];
                if (op(b).kernel->may_refuse()) at = std::max(at, b);
                continue;
            }
            ended.push_back({b, number});
            learn_all(own, known[from]);
            learn_all(seen[s], known[from]);
        }
        for (std::size_t k = all.size(); k-- > 0;) { // the later ones often cover the earlier
            const auto from = static_cast<std::size_t>(all[k]);
            operation& of = operations[from];
            if (of.line < 0 || own[static_cast<std::size_t>(of.line)] >= all[k]) continue;
            of.awaited = true;
            learn_all(own, known[from]);
            if (on_stream) {
                given.push_back({all[k], number});
                own_op.waits.push_back(all[k]);
                learn_all(seen[s], seen[from]);
            } else {
                of.calls_host = true;
                ended.push_back({all[k], number});
            }
        }
        // An update in place cannot be taken back: the host gives it when nothing that it is computed of was refused.
        for (std::size_t l = 0; on_stream && changes_variable(s) && l < streams.size(); ++l) {
            const int b = refusing[s][l];
            if (b <= seen[s][l]) continue;
            operations[static_cast<std::size_t>(b)].awaited = operations[static_cast<std::size_t>(b)].calls_host = true;
            ended.push_back({b, number});
            learn_all(seen[s], known[static_cast<std::size_t>(b)]);
        }
        if (on_stream) own[static_cast<std::size_t>(own_op.line)] = number;
        else seen[s] = own;
    }
    for (const int s : on_streams)
        for (const int r : may_refuse) {
            const auto at = static_cast<std::size_t>(s), l = static_cast<std::size_t>(op(r).line);
            if (op(s).calls_host && r > seen[at][l] && r <= known[at][l]) operations[at].checked.push_back(r);
        }
    finish();
    for (std::size_t s = 0; s < size(); ++s)
        for (std::size_t l = 0; l < streams.size(); ++l)
            if (static_cast<int>(l) != operations[s].line && known[s][l] == last[l])
                operations[static_cast<std::size_t>(last[l])].ends_line = false;
}

// Streams of devices of one kind, kernels among what they do, and none of it that the host waits for in the middle.
TENON_INLINE bool executable::may_be_at_once() const {
    constexpr std::size_t worth_it = 2; // operations
    if (check_numerics || on_streams.size() < worth_it) return false;
    const auto is_simulated = [&](const worker& w) { return device_at(w.device).attributes().simulated; };
    for (const worker& w : streams)
        if (is_simulated(w) != is_simulated(streams.front())) return false;
    bool any_kernel = false;
    for (const int s : on_streams) {
        const std::span<const int> then = graph.ended[static_cast<std::size_t>(s)];
        if (std::any_of(then.begin(), then.end(), [&](int n) { return op(n).line >= 0; })) return false;
        any_kernel = any_kernel || op(s).by.stream == device_streams::compute;
    }
    // What the host does before or after must be short: otherwise it would do it beside the streams.
    constexpr double is_short = 5e4; // ns
    double cost = 0;
    std::vector<char> after(size()), before(size());
    for (std::size_t s = 0; s < size(); ++s)
        for (const int b : scheduled.waits_for[s])
            if (after[static_cast<std::size_t>(b)] || op(b).line >= 0) after[s] = 1;
    for (std::size_t s = size(); s-- > 0;)
        for (const int b : scheduled.waits_for[s])
            if (before[s] || operations[s].line >= 0) before[static_cast<std::size_t>(b)] = 1;
    for (std::size_t s = 0; s < size(); ++s) {
        if (operations[s].line >= 0) continue;
        if (before[s] && after[s]) return false;
        if (before[s] || after[s]) cost += operations[s].cost;
    }
    return any_kernel && cost < is_short;
}

// All operations of streams are one node, the last.
TENON_INLINE std::unique_ptr<executable::streams_work> executable::plan_at_once() const {
    constexpr std::size_t most_staged = std::size_t{64} << 20;
    auto all = std::make_unique<streams_work>();
    const int all_streams = static_cast<int>(size());
    const auto node_of = [&](int s) { return op(s).line < 0 ? s : all_streams; };
    std::vector<edges::edge> ended;
    for (int s = 0; s < all_streams; ++s)
        for (const int b : scheduled.waits_for[static_cast<std::size_t>(s)])
            if (node_of(b) != node_of(s)) ended.push_back({node_of(b), node_of(s)});
    all->graph.ended = edges(size() + 1, ended);
    all->graph.given = edges(size() + 1, {});
    for (int s = 0; s < all_streams; ++s) all->graph.before.push_back(node_of(s) == s ? 0 : -1);
    all->graph.count(0, size() + 1);
    all->graph.on_host = graph.on_host + 1;
    const auto first = std::find_if(streams.begin(), streams.end(),
                                    [](const worker& w) { return w.stream == device_streams::compute; });
    all->devices.push_back(first->device);
    find_parts(*all);
    for (const int number : on_streams) {
        const operation& o = op(number);
        const auto s = static_cast<std::size_t>(number);
        if (std::find(all->devices.begin(), all->devices.end(), o.by.device) == all->devices.end())
            all->devices.push_back(o.by.device);
        if (o.kernel->told_bytes() > 0) all->told.push_back(number);
        if (!o.kernel->may_be_recorded() && !all->given[s]) all->not_recorded.push_back(number);
        if (!o.copies || o.bytes == 0) continue;
        const program_value& read = whole.value(whole.root(item(s).inputs[0]));
        const bool in = !device_at(read.device).streams();
        if (!in && device_at(o.device).streams()) continue; // from one device to another
        const int from = read.producer;
        if (in && from >= 0) { // what the streams have made is copied after the host has staged what they read
            const auto at = std::find(scheduled.order.begin(), scheduled.order.end(), from);
            if (at != scheduled.order.end() && op(static_cast<int>(at - scheduled.order.begin())).line >= 0)
                return nullptr;
        }
        (in ? all->in : all->out).push_back({s, in ? in_begin[s] : out_begin[s], o.bytes, all->staged_bytes});
        all->staged_bytes += (o.bytes + memory_pool::alignment - 1) / memory_pool::alignment * memory_pool::alignment;
    }
    if (all->staged_bytes > most_staged) return nullptr;
    return all;
}

TENON_INLINE void executable::find_parts(streams_work& all) const {
    all.given.resize(size());
    for (std::size_t i = 0; i < on_streams.size(); ++i) {
        const auto s = static_cast<std::size_t>(on_streams[i]);
        all.given[s] = operations[s].by.stream == device_streams::sums && !operations[s].kernel->may_be_recorded();
        if (all.parts.empty() || all.parts.back().is_recorded == static_cast<bool>(all.given[s]))
            all.parts.push_back({i, i, !all.given[s], {}});
        streams_work::part& own = all.parts.back();
        own.last = i + 1;
        if (!own.is_recorded) continue;
        for (const int b : scheduled.waits_for[s]) {
            if (!all.given[static_cast<std::size_t>(b)]) continue;
            const auto same =
                std::find_if(own.sums.begin(), own.sums.end(), [&](int other) { return op(other).line == op(b).line; });
            if (same == own.sums.end()) own.sums.push_back(b);
            else *same = std::max(*same, b);
        }
    }
}

// After find_variables().
TENON_INLINE void executable::find_recorded_pointers(streams_work& all) const {
    const auto operation_of = [](const std::vector<std::size_t>& begins, std::size_t slot) {
        return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), slot) - begins.begin() - 1);
    };
    const auto is_staged = [](const std::vector<staged_copy>& copies, std::size_t slot) {
        return std::any_of(copies.begin(), copies.end(), [&](const staged_copy& c) { return c.slot == slot; });
    };
    for (const variable_pointer& p : pointers) {
        const std::size_t s = operation_of(p.is_output ? out_begin : in_begin, p.slot);
        if (operations[s].line < 0 || is_staged(p.is_output ? all.out : all.in, p.slot)) continue;
        if (const std::pair of(p.variable, p.which); all.pointers.empty() || all.pointers.back() != of)
            all.pointers.push_back(of);
    }
    for (const int s : on_streams)
        if (op(s).updates >= 0) all.updates.push_back(op(s).updates);
}

} // namespace tenon::runtime
