#pragma once

// A part of session/local_session.ipp: one node's kernel by itself, and all of a step for people.

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/fused_parts.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/shape/fused_rows.hpp>
#include <tenon/runtime/plan/grouping.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>

namespace tenon::detail {

inline void require_own_kernel(const node& n) {
    const op_flags not_alone[] = {op_flags::stateful, op_flags::source, op_flags::updates, op_flags::resource,
                                  op_flags::constant, op_flags::fed,    op_flags::uses,    op_flags::waits};
    if ((n.op->cpu || n.op->gpu) &&
        std::none_of(std::begin(not_alone), std::end(not_alone), [&](op_flags f) { return n.op->is(f); }))
        return;
    throw invalid_argument_error("session::kernel_of: \"" + n.name + "\" (" + n.op->name +
                                 ") is no kernel of its operands alone; time a step that runs it, a callable, say");
}

// The operands are computed as in such a step.
TENON_INLINE std::shared_ptr<timed_kernel> local_session::kernel_of(run_request&& r) {
    if (r.fetches.size() != 1 || !r.targets.empty())
        throw invalid_argument_error(
            "session::kernel_of: give it one tensor, whose node's kernel is meant, and what is fed; here are " +
            std::to_string(r.fetches.size()) + " tensors and " + std::to_string(r.targets.size()) + " operations");
    (void)checked(r); // the handle is one of this graph
    node& n = *r.fetches[0].node();
    require_own_kernel(n);
    run_request asked;
    for (const fed_value& f : r.feeds) asked.feeds.push_back({f.tensor, f.value.share()});
    for (const node_output& from : n.inputs) {
        const auto same = [&](const any_tensor& t) { return t.output() == from; };
        if (std::none_of(asked.fetches.begin(), asked.fetches.end(), same)) asked.fetches.emplace_back(from);
    }
    const std::vector<any_tensor> operands = asked.fetches;
    std::vector<any_array> values;
    if (!operands.empty()) values = run(std::move(asked));
    return timed(n, operands, std::move(values), -1);
}

// Fed with the operands: what is placed and prepared is the node, for their sizes.
TENON_INLINE std::shared_ptr<timed_kernel> local_session::timed(node& n, const std::vector<any_tensor>& operands,
                                                                std::vector<any_array> values, int device) {
    std::vector<const any_array*> fed;
    for (const any_array& v : values) fed.push_back(&v);
    fetch_request whole;
    for (std::size_t o = 0; o < n.outputs.size(); ++o) whole.fetches.emplace_back(node_output{&n, static_cast<int>(o)});
    const runtime::plan_options o = planning(0, true);
    const runtime::request r = planned(operands, fed.data(), whole);
    runtime::program p = device < 0 ? placed(r, o) : runtime::prune(r);
    const auto item = std::find_if(p.items.begin(), p.items.end(), [&](const auto& i) { return i.origin == &n; });
    if (device >= 0) item->device = device;
    tenon::device* const on = o.devices[static_cast<std::size_t>(item->device)];
    if (!on)
        throw unimplemented_error("session::kernel_of: \"" + n.name + "\" is on " + to_string(o.name_of(item->device)) +
                                  ", in another process; time it there");

    timed_kernel::parts of;
    of.on = on;
    of.pool = step_pool_;
    of.node = n.name + " (" + shown_op(n) + ")";
    of.timed = runtime::timed_as(p, *item);
    of.kernel = runtime::prepare_kernel(p, *item, o);
    std::vector<tensor_type> in;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const auto same = [&](const any_tensor& t) { return t.output() == n.inputs[k]; };
        const auto at = std::find_if(operands.begin(), operands.end(), same);
        of.operands.push_back(values[static_cast<std::size_t>(at - operands.begin())].share());
        of.read.push_back(p.reads(*item, static_cast<int>(k)));
        in.push_back(of.operands.back().type());
    }
    for (const int v : item->outputs) of.outputs.push_back(p.value(v).type);
    const auto list = [](const std::vector<tensor_type>& t) { return type_list(t.data(), static_cast<int>(t.size())); };
    if (n.op->operations) of.operations = n.op->operations(item->attributes, list(in), list(of.outputs));
    if (options.flush_denormals) of.denormals = flushed_denormals;
    of.peak = [this, d = item->device, e = of.outputs.front().element] { return peak_of(d, e); };
    // What it holds of the host's memory is counted there, and its devices are the session's.
    using kept = std::pair<std::shared_ptr<local_session>, std::shared_ptr<runtime::prepared_memory>>;
    of.owner = std::make_shared<kept>(shared_from_this(), p.prepared);
    return std::make_shared<timed_kernel>(std::move(of));
}

// Sizes beyond the caches, and large enough for all threads or multiprocessors; the fastest of a few runs. Where there is no memory for
// that, nothing is known.
TENON_INLINE device_peak local_session::peak_of(int device, element_type e) {
    static std::mutex guard;
    static auto& known = *new std::map<std::tuple<std::string, element_type, bool, int>, device_peak>;
    const std::lock_guard lock(guard);
    const device_attributes& on = described_[static_cast<std::size_t>(device)].attributes;
    const bool is_card = on.name.type == "GPU" && !on.simulated;
    const auto [at, is_new] =
        known.emplace(std::tuple(timed_on(on), e, options.allow_tf32, is_card || !step_pool_ ? 1 : step_pool_->size()),
                      device_peak{});
    if (!is_new) return at->second;
    const tenon::graph own;
    const graph_scope in(own);
    const auto least_seconds = [&](const any_tensor& y, const any_tensor& x) {
        any_array value(e, x.extents());
        with_element(e, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>)
                for (std::int64_t i = 0; i < value.elements(); ++i)
                    value.data<T>()[i] = static_cast<T>(static_cast<float>(i % 7));
        });
        std::vector<any_array> values;
        values.push_back(std::move(value));
        const auto k = timed(*y.node(), {x}, std::move(values), device);
        double least = k->run(1);
        for (int i = 0; i < 5; ++i) least = std::min(least, k->run(1));
        return least;
    };
    const auto rate = [](double work, double seconds) { return seconds > 0 ? work / seconds : 0; };
    try {
        const std::int64_t n = (std::int64_t{is_card ? 512 : 128} << 20) / static_cast<std::int64_t>(size_of(e));
        if (is_numeric(e)) {
            const any_tensor x = untyped::placeholder(e, {n});
            at->second.bytes_per_second = rate(2 * static_cast<double>(n) * static_cast<double>(size_of(e)),
                                               least_seconds(untyped::add(x, x), x));
        }
        const std::int64_t m = is_card ? 4096 : 1024;
        if (is_floating(e)) {
            const any_tensor x = untyped::placeholder(e, {m, m});
            at->second.operations_per_second =
                rate(2 * std::pow(static_cast<double>(m), 3), least_seconds(untyped::matmul(x, x), x));
        }
    } catch (const resource_exhausted_error&) {
    }
    return at->second;
}

// Placeholders that the request needs and does not feed, of sizes that are numbers, get such values; nobody looks at them.
inline void feed_known_placeholders(run_request& r) {
    std::set<const node*> seen;
    std::vector<node*> open;
    const auto add = [&](node* n) {
        if (seen.insert(n).second) open.push_back(n);
    };
    for (const fed_value& f : r.feeds) seen.insert(f.tensor.node());
    for (const any_tensor& t : r.fetches) add(t.node());
    for (const operation& o : r.targets) add(o.node());
    while (!open.empty()) {
        node& n = *open.back();
        open.pop_back();
        if (n.op->is(op_flags::fed) && n.outputs[0].extents.is_static())
            r.feeds.push_back({any_tensor({&n, 0}), any_array(n.outputs[0].element, n.outputs[0].extents)});
        for (const node_output& i : n.inputs) add(i.node);
        for (node* c : n.controls) add(c);
    }
}

// A number of a node: its lowest bytes.
inline std::string shown_constant(std::int64_t bits, element_type e) {
    return with_element(e, [&]<class T>(const T&) -> std::string {
        if constexpr (std::is_same_v<T, std::string>) return {};
        else {
            T value{};
            std::memcpy(static_cast<void*>(&value), &bits, sizeof value); // half is no scalar
            return text_of_number(static_cast<double>(value));
        }
    });
}

// A line an instruction: "    r2 = multiply r0 r1".
inline std::string text_of(const fused_attributes& a, const std::vector<std::string>& operands) {
    const tape& t = *a.tape;
    std::string text;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        text += "    r" + std::to_string(r) + " = " + info_of(i.op).name;
        if (i.op == opcode::cast) text += std::string(" to ") + name_of(i.type);
        if (i.op == opcode::input) text += " " + std::to_string(i.a) + ": " + operands[static_cast<std::size_t>(i.a)];
        if (i.op == opcode::constant)
            text += " " + shown_constant(a.constants[static_cast<std::size_t>(i.a)], t.constants[i.a]);
        if (i.op == opcode::literal) text += " " + text_of_number(i.literal().as_double());
        for (int k = 0; k < register_operands(i); ++k) text += " r" + std::to_string(operand_of(i, k));
        text += "\n";
    }
    for (int o = 0; o < t.output_count; ++o) {
        text += "    result " + std::to_string(o) + " = r" + std::to_string(t.outputs[o].reg) + ", " +
                name_of(t.outputs[o].type);
        if (const int like = t.outputs[o].like; like >= 0)
            text += ", summed to the sizes of input " + std::to_string(like);
        text += "\n";
    }
    return text;
}
// Of which a part is read: "x, float[1024, 1024], of it float[1022, 1022] from element 1025 on".
inline std::vector<std::string> with_parts(std::vector<std::string> operands, const fused_parts_op::attributes& a) {
    const std::vector<operand_part> parts = parts_in(a);
    for (std::size_t k = 0; k < parts.size(); ++k)
        if (parts[k].is_part)
            operands[k] +=
                ", of it " + to_string(a.types[k]) + " from element " + std::to_string(parts[k].at.first) + " on";
    return operands;
}
// Operands of a pass over rows of variables, from which it knows which rows.
inline std::vector<std::string> with_rows(const std::vector<std::string>& inputs, const fused_rows_op::attributes& a) {
    const auto variables = static_cast<std::size_t>(a.tape->output_count);
    const std::string& keys = inputs[variables];
    std::vector<std::string> operands;
    std::size_t next = variables + 1;
    for (const std::int64_t what : a.operands) {
        const std::string& from = inputs[what < 0 ? next++ : static_cast<std::size_t>(what)];
        operands.push_back(what == fused_rows_op::one_for_all ? from
                           : what == fused_rows_op::summed    ? "sums of rows of " + from + ", of equal indices"
                                                              : "rows of " + from + ", at " + keys);
    }
    return operands;
}
inline std::string indented(const std::string& text) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (end > at) all += "    " + text.substr(at, end - at);
        all += "\n";
        at = end + 1;
    }
    return all;
}

TENON_INLINE std::string local_session::emit(run_request&& r) {
    feed_known_placeholders(r);
    const fed_tensors fed = checked(r);
    const runtime::plan_options o = planning(graph.seed(), is_measuring());
    runtime::program p = placed(planned(fed.tensors, fed.values.data(), r), o);
    if (std::all_of(o.devices.begin(), o.devices.end(), [](const device* d) { return d != nullptr; })) {
        runtime::part_current_values(p, runtime::find_update_chains(p));
        runtime::bind_variables(p, o);
    }
    runtime::rewrite(p, o);
    const std::vector<runtime::apart> apart = runtime::parts_of_passes(p);
    runtime::group_small_passes(p, o);
    const auto is_open = [&](int v) { return !p.value(v).type.extents.is_static(); };
    std::string text;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const runtime::program_item& i = p.items[n];
        if (i.removed || i.op->is(op_flags::source) || i.op->is(op_flags::constant)) continue;
        text += i.origin->name + " (" + i.op->name + ") on " + short_name(o.name_of(i.device)) + "\n";
        std::vector<std::string> operands;
        for (const int v : i.inputs)
            operands.push_back(any_tensor(p.value(v).origin).name() + ", " + to_string(p.value(v).type));
        if (i.op == &fused_definition) text += text_of(decode<fused_attributes>(i.attributes), operands);
        else if (i.op == &fused_parts_definition) {
            const auto a = decode<fused_parts_op::attributes>(i.attributes);
            text += text_of(a.fused(), with_parts(std::move(operands), a));
        } else if (i.op == &fused_rows_op::definition()) {
            const auto a = decode<fused_rows_op::attributes>(i.attributes);
            text += text_of({a.tape, a.constants, {}}, with_rows(operands, a));
            for (std::size_t k = 0; k < i.outputs.size(); ++k)
                text += "    result " + std::to_string(k) + " replaces the rows of " + operands[k] + "\n";
        } else {
            for (std::size_t k = 0; k < operands.size(); ++k)
                text += "    input " + std::to_string(k) + ": " + operands[k] + "\n";
            for (std::size_t k = 0; k < i.outputs.size(); ++k)
                text += "    result " + std::to_string(k) + ": " + to_string(p.value(i.outputs[k]).type) + "\n";
        }
        if (std::any_of(i.inputs.begin(), i.inputs.end(), is_open) ||
            std::any_of(i.outputs.begin(), i.outputs.end(), is_open))
            text += "  its kernel is made when the step tells its sizes\n";
        else if (!i.op->is(op_flags::waits) && o.devices[static_cast<std::size_t>(i.device)]) {
            const kernel_pointer k = runtime::prepare_kernel(p, i, o);
            if (const auto* const shown = dynamic_cast<const shown_kernel*>(k.get()))
                text += "  run by\n" + indented(shown->shown());
        }
        std::set<std::pair<int, std::string>> said; // of each maker once, of those that run
        for (const runtime::apart& a : apart)
            if (a.reader == static_cast<int>(n) && !p.item(a.maker).removed && said.emplace(a.maker, a.why).second)
                text += "  " + p.item(a.maker).origin->name + " (" + p.item(a.maker).op->name +
                        ") is no part of this pass: " + a.why + "\n";
    }
    if (text.empty()) text = "no kernel runs: what is fetched is a variable, a constant, or what is fed\n";
    return text;
}

} // namespace tenon::detail
