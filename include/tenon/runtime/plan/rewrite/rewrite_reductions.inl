#pragma once

#include <tenon/ops/elementwise/fused_reductions.hpp>

// A part of runtime/plan/rewrite/rewrite.ipp: passes over the same elements, of which some end in sums and the like, become one.

namespace tenon::runtime::detail {

// What an item does in one pass over the elements of its operands: outputs of a tape, which are stored or combined.
struct element_pass {
    int item = -1;
    fused_reductions_op::attributes of;
    number_list inputs, outputs; // values
    extents sizes;               // of all operands together
    bool combines = false;       // some output
    int compiled = 0;            // instructions that a compiled kernel runs

    const tape_output& made(int r) const { return of.tape->outputs[of.result(r)[0]]; }
    bool is_stored(int r) const { return of.result(r)[1] < 0 && made(r).like < 0; }
    bool is_whole(const program& p, std::size_t k) const {
        return of.tape->loads(static_cast<int>(k)) && p.value(inputs[k]).type.extents == sizes;
    }
};

// Whether it may be such an item, of whose operands one is large. Asked of all items: undecoded.
inline bool reads_large(const program& p, const program_item& i) {
    if (i.removed || (i.op != &fused_definition && i.op != &fused_reductions_definition && !i.op->of_made))
        return false;
    return std::any_of(i.inputs.begin(), i.inputs.end(),
                       [&](int v) { return bytes_of(p.value(v).type) >= large_value; });
}

class pass_joiner {
public:
    pass_joiner(program& p, const plan_options& o) : p_(p), o_(o), uses_(p) {}

    void join() {
        std::vector<int> found;
        bool any = false; // that combines
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            element_pass a;
            if (!is_large(p_.items[n]) || !find_pass(static_cast<int>(n), a)) continue;
            any = any || a.combines;
            found.push_back(static_cast<int>(n));
        }
        if (!any || found.size() < 2 || !is_in_order(p_)) return;
        find_readers();
        for (const int n : found)
            while (join_one_with(n)) {
            }
    }

private:
    static constexpr int most_tried = 8;                                // readers of a value
    static constexpr std::int64_t is_stored_alone[] = {0, -1, 0, 0, 0}; // a result

    std::int64_t bytes(int value) const { return bytes_of(p_.value(value).type); }
    bool is_large(const program_item& i) const { return reads_large(p_, i); }

    bool find_pass(int n, element_pass& a) const {
        const program_item& i = p_.item(n);
        if (i.removed || !i.predecessors.empty() || uses_.awaited[static_cast<std::size_t>(n)] > 0 ||
            i.outputs.empty() ||
            !o_.device(i.device).kernel_of(fused_reductions_definition, p_.value(i.outputs[0]).type.element))
            return false;
        a.item = n;
        a.inputs = i.inputs;
        a.outputs = i.outputs;
        for (const int v : i.inputs) a.sizes = broadcast(a.sizes, p_.value(v).type.extents).extents;
        if (i.op == &fused_definition) {
            const auto of = decode<fused_attributes>(i.attributes);
            const bool merges = std::any_of(of.merge.begin(), of.merge.end(), [](std::int64_t m) { return m >= 0; });
            a.of = {merges ? share_tape(tenon::detail::with_merged_outputs(*of.tape, of.merge)) : of.tape,
                    of.constants,
                    {},
                    {}};
            for (std::size_t k = 0; k < i.outputs.size(); ++k)
                a.of.add(static_cast<int>(k), is_stored_alone, p_.value(i.outputs[k]).type);
            a.compiled = joined_tapes::compiled_instructions(*of.tape);
        } else if (i.op == &fused_reductions_definition) {
            a.of = decode<fused_reductions_op::attributes>(i.attributes);
            a.compiled = joined_tapes::compiled_instructions(*a.of.tape);
        } else {
            const tensor_type& x = p_.value(i.inputs[0]).type;
            tape same;
            same.add_output(same.emit_input(same.add_input(x.element)), x.element);
            const auto [op, made] = i.op->of_made(i.attributes, fused_definition,
                                                  encode(fused_attributes{share_tape(same), {}, {}}), {&x, 1});
            if (op != &fused_reductions_definition) return false;
            a.of = decode<fused_reductions_op::attributes>(made);
        }
        for (int r = 0; r < a.of.count(); ++r) a.combines = a.combines || !a.is_stored(r);
        return true;
    }

    // Who reads each large value, and who comes first of those that read what an item makes.
    void find_readers() {
        readers_.resize(p_.values.size());
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            const program_item& i = p_.items[n];
            if (i.removed) continue;
            for (const int v : i.inputs) {
                number_list& all = readers_[static_cast<std::size_t>(p_.root(v))];
                if (all.empty() || all.back() != static_cast<int>(n)) all.push_back(static_cast<int>(n));
            }
        }
    }
    // Whether all but `b` that read what `a` makes come after `b`: then nothing between the two needs one and is needed by the other.
    bool may_wait(const element_pass& a, int b) const {
        for (const int v : a.outputs)
            for (const int r : readers_[static_cast<std::size_t>(v)])
                if (r < b && !p_.item(r).removed && r != a.item) return false;
        return true;
    }

    bool join_one_with(int n) {
        element_pass b;
        if (!is_large(p_.item(n)) || !find_pass(n, b)) return false;
        for (std::size_t k = 0; k < b.inputs.size(); ++k) {
            const int v = b.inputs[k];
            if (!b.is_whole(p_, k) || bytes(v) < large_value) continue;
            if (const int maker = p_.value(v).producer; maker >= 0 && maker < n && try_join(maker, b)) return true;
            const number_list others = readers_[static_cast<std::size_t>(p_.root(v))];
            int left = most_tried;
            for (std::size_t other = others.size(); other-- > 0 && left > 0; --left)
                if (others[other] < n && try_join(others[other], b)) return true;
        }
        return false;
    }

    bool try_join(int n, const element_pass& b) {
        element_pass a;
        if (p_.item(n).device != p_.item(b.item).device || !is_large(p_.item(n)) || !find_pass(n, a)) return false;
        if (!(a.sizes == b.sizes) || !(a.combines || b.combines) || !may_wait(a, b.item)) return false;
        std::int64_t saved = 0; // bytes an element
        for (std::size_t k = 0; k < b.inputs.size(); ++k) {
            const int v = b.inputs[k];
            const auto made = std::find(a.outputs.begin(), a.outputs.end(), v);
            const std::int64_t each = static_cast<std::int64_t>(size_of(p_.value(v).type.element));
            if (made != a.outputs.end()) {
                if (!a.is_stored(static_cast<int>(made - a.outputs.begin()))) return false;
                saved += uses_[v] == reads(b, v) ? 3 * each : each; // what is written is read first
            } else if (b.is_whole(p_, k) && std::find(a.inputs.begin(), a.inputs.end(), v) != a.inputs.end()) {
                saved += each;
            }
        }
        // As long as an interpreted instruction takes, two bytes are moved.
        return saved > 0 && a.compiled + b.compiled <= 2 * saved && replace(a, b);
    }
    static int reads(const element_pass& b, int v) {
        int n = 0;
        for (std::size_t k = 0; k < b.inputs.size(); ++k)
            n += b.inputs[k] == v && b.of.tape->loads(static_cast<int>(k));
        return n;
    }

    // Two tapes as one, with the results that somebody needs. False: there is no room.
    struct joined_pass {
        tape t;
        fused_reductions_op::attributes of;
        number_list inputs, outputs, outputs_of_other;
        int registers[max_tape_length] = {}; // of the tape that was appended last
        bool is_full = false;

        int input(int value, element_type e) {
            const auto at = std::find(inputs.begin(), inputs.end(), value);
            const int k = static_cast<int>(at - inputs.begin());
            if (at == inputs.end()) {
                inputs.push_back(value);
                t.add_input(e);
            }
            return k;
        }
        // `known`: the register that an input is, or -1.
        template <class Known> void append(const element_pass& a, const Known& known) {
            const tape& from = *a.of.tape;
            const int first_constant = t.constant_count;
            for (int c = 0; c < from.constant_count; ++c) t.add_constant(from.constants[c]);
            of.constants.insert(of.constants.end(), a.of.constants.begin(), a.of.constants.end());
            std::vector<int> places; // of inputs
            for (int k = 0; k < from.input_count; ++k) {
                const int v = a.inputs[static_cast<std::size_t>(k)];
                places.push_back(known(v) >= 0 ? -1 : input(v, from.inputs[k]));
            }
            is_full = is_full || t.overfull;
            if (is_full) return;
            const auto input_at = [&](int k) {
                const int place = places[static_cast<std::size_t>(k)];
                return place < 0 ? known(a.inputs[static_cast<std::size_t>(k)]) : t.emit_input(place);
            };
            tenon::detail::append_tape(t, from, registers, input_at, [&](int c) { return first_constant + c; });
            is_full = t.overfull;
        }
        void add_result(const element_pass& a, int r, int value) {
            const tape_output& out = a.made(r);
            const std::int64_t* const given = a.of.result(r);
            const int like = out.like < 0 ? -1 : a.inputs[static_cast<std::size_t>(out.like)];
            tape_output made{static_cast<std::int16_t>(registers[out.reg]), -1, out.type};
            // What the other makes has the sizes of all.
            if (like >= 0 &&
                std::find(outputs_of_other.begin(), outputs_of_other.end(), like) == outputs_of_other.end())
                made.like = static_cast<std::int16_t>(input(like, a.of.tape->inputs[out.like]));
            // What is combined may be stored as well, where it is in the type that is computed in.
            int at = 0;
            while (at < t.output_count &&
                   (given[1] < 0 || compute_type(out.type) != out.type || !(t.outputs[at] == made)))
                ++at;
            if (at == t.output_count) t.add_output(made.reg, made.type, made.like);
            is_full = is_full || t.overfull;
            of.add(at, given, a.of.types[static_cast<std::size_t>(r)]);
            outputs.push_back(value);
        }
    };

    bool replace(const element_pass& a, const element_pass& b) {
        joined_pass made;
        made.append(a, [](int) { return -1; });
        if (made.is_full) return false;
        std::vector<std::pair<int, int>> known; // values of a that b reads, and their registers
        for (int r = 0; r < a.of.count(); ++r) {
            const int v = a.outputs[static_cast<std::size_t>(r)];
            if (a.is_stored(r) && reads(b, v) > 0)
                known.emplace_back(
                    v, tenon::detail::rounded_register(made.t, made.registers[a.made(r).reg], a.made(r).type));
        }
        for (int r = 0; r < a.of.count(); ++r) {
            const int v = a.outputs[static_cast<std::size_t>(r)];
            if (uses_[v] > (a.is_stored(r) ? reads(b, v) : 0)) made.add_result(a, r, v);
        }
        made.outputs_of_other = a.outputs;
        made.append(b, [&](int v) {
            for (const auto& [value, reg] : known)
                if (value == v) return reg;
            return -1;
        });
        if (made.is_full) return false;
        for (int r = 0; r < b.of.count(); ++r)
            if (uses_[b.outputs[static_cast<std::size_t>(r)]] > 0)
                made.add_result(b, r, b.outputs[static_cast<std::size_t>(r)]);
        if (made.is_full || made.t.input_count + made.of.count() > max_tape_inputs) return false;

        program_item &from = p_.item(a.item), &to = p_.item(b.item);
        for (const int v : made.inputs) {
            ++uses_.count[static_cast<std::size_t>(v)];
            readers_[static_cast<std::size_t>(p_.root(v))].push_back(b.item);
        }
        for (const program_item* i : {&from, &to})
            for (std::size_t k = 0; k < i->inputs.size(); ++k)
                if (i->read[k]) uses_.release(p_, i->inputs[k]);
        made.of.tape = share_tape(without_dead_code(made.t));
        bool combines = false;
        for (int r = 0; r < made.of.count(); ++r) combines = combines || made.of.result(r)[1] >= 0;
        if (combines) {
            to.op = &fused_reductions_definition;
            to.attributes = encode(made.of);
        } else {
            to.op = &fused_definition;
            to.attributes = encode(fused_attributes{made.of.tape, made.of.constants, {}});
        }
        to.inputs = std::move(made.inputs);
        to.outputs = std::move(made.outputs);
        to.find_reads();
        for (std::size_t k = 0; k < to.inputs.size(); ++k)
            if (!to.read[k]) --uses_.count[static_cast<std::size_t>(to.inputs[k])];
        for (const int v : to.outputs) p_.value(v).producer = b.item;
        from.removed = true;
        ++p_.fused;
        return true;
    }

    program& p_;
    const plan_options& o_;
    uses_of uses_;
    std::vector<number_list> readers_; // items, by value
};

inline void join_passes(program& p, const plan_options& o) {
    if (std::any_of(p.items.begin(), p.items.end(), [&](const program_item& i) { return reads_large(p, i); }))
        pass_joiner(p, o).join();
}

} // namespace tenon::runtime::detail
