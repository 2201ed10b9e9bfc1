#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/op/prepared_body.hpp>
#include <tenon/runtime/plan/program.hpp>
#include <tenon/tape/append_tape.hpp>

/// Bodies that are elementwise, as one tape.

namespace tenon::runtime::detail {

/// Joins what a program that was rewritten computes into one tape: as its items would, rounded where these store.
class body_tape_maker {
public:
    /// nullptr: it does more than elementwise work, or more than a tape holds.
    static std::unique_ptr<const body_tape> make(const program& p,
                                                 std::vector<std::shared_ptr<const any_array>>& held) {
        body_tape_maker m(p, held);
        if (p.fetches.empty() || p.items.size() > std::size_t{max_tape_length}) return nullptr;
        for (const int f : p.fetches) {
            const int r = m.register_of(f);
            if (r < 0) return nullptr;
            m.made_.code.add_output(r, p.value(f).type.element);
        }
        if (m.made_.code.overfull) return nullptr;
        return std::make_unique<const body_tape>(std::move(m.made_));
    }

private:
    body_tape_maker(const program& p, std::vector<std::shared_ptr<const any_array>>& held) : p_(p), held_(held) {}

    // Of a value; -1: none computes it.
    int register_of(int v) {
        if (const auto at = registers_.find(v); at != registers_.end()) return at->second;
        const program_value& x = p_.value(v);
        int r = -1;
        if (x.view_of >= 0) {
            if (differ_in_front(x.type.extents, p_.value(x.view_of).type.extents)) r = register_of(x.view_of);
        } else if (x.feed >= 0) {
            r = add_operand({x.feed, nullptr, x.type});
        } else if (x.constant) {
            held_.push_back(x.constant);
            r = add_operand({-1, x.constant->data(), x.type});
        } else if (x.producer >= 0) {
            add_item(p_.item(x.producer));
            if (const auto at = registers_.find(v); at != registers_.end()) return at->second;
        }
        registers_.emplace(v, r);
        return r;
    }

    // Whether the two are the same but for dimensions of 1 in front.
    static bool differ_in_front(const extents& a, const extents& b) {
        const extents &longer = a.rank() > b.rank() ? a : b, &shorter = a.rank() > b.rank() ? b : a;
        const int more = longer.rank() - shorter.rank();
        for (int d = 0; d < longer.rank(); ++d)
            if (longer[d].size != (d < more ? 1 : shorter[d - more].size)) return false;
        return true;
    }

    int add_operand(const body_tape::operand& o) {
        tape& t = made_.code;
        if (t.input_count == max_tape_inputs) return -1;
        made_.operands.push_back(o);
        return t.emit_input(t.add_input(o.type.element));
    }

    void add_item(const program_item& i) {
        if (i.op != &fused_definition || !i.predecessors.empty()) return;
        const auto a = decode<fused_attributes>(i.attributes);
        const tape from = a.merge.empty() ? *a.tape : tenon::detail::with_merged_outputs(*a.tape, a.merge);
        tape& t = made_.code;
        extents all;
        for (const int v : i.inputs) all = broadcast(all, p_.value(v).type.extents).extents;
        for (int r = 0; r < from.length; ++r)
            if (from.code[r].op == opcode::input && register_of(input_of(i, from.code[r].a)) < 0) return;
        const int before = t.constant_count; // of what was joined until here
        for (int c = 0; c < from.constant_count; ++c) t.add_constant(from.constants[c]);
        made_.constants.insert(made_.constants.end(), a.constants.begin(), a.constants.end());
        int reg[max_tape_length];
        tenon::detail::append_tape(
            t, from, reg, [&](int k) { return register_of(input_of(i, k)); }, [&](int c) { return c + before; });
        for (std::size_t o = 0; o < i.outputs.size(); ++o) {
            const tape_output& out = from.outputs[o];
            if (!(all == p_.value(i.outputs[o]).type.extents)) continue; // it is summed up
            registers_[i.outputs[o]] = tenon::detail::rounded_register(t, reg[out.reg], out.type);
        }
    }
    static int input_of(const program_item& i, int k) { return i.inputs[static_cast<std::size_t>(k)]; }

    const program& p_;
    std::vector<std::shared_ptr<const any_array>>& held_;
    body_tape made_;
    std::unordered_map<int, int> registers_; // by value
};

} // namespace tenon::runtime::detail
