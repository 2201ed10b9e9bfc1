#pragma once

// A part of plan/rewrite.ipp: chains of elementwise items become one pass over memory.

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <tenon/tape/append_tape.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon::runtime {

namespace detail {

// What two items read once they are one, where a tape has no room for all of the consumer's inputs without k and then the producer's: each
// value once. Else empty.
struct joined_inputs {
    joined_inputs() = default;
    joined_inputs(const program& p, const number_list& consumer, std::size_t k, const number_list& producer) {
        if (consumer.size() + producer.size() <= static_cast<std::size_t>(max_tape_inputs) + 1) return;
        const auto add = [&](int v) {
            const auto is_it = [&](int known) {
                return known == v || (p.value(v).view_of >= 0 && p.value(known).view_of == p.value(v).view_of &&
                                      p.value(known).type == p.value(v).type);
            };
            const auto at = std::find_if(values.begin(), values.end(), is_it);
            places.push_back(static_cast<int>(at - values.begin()));
            if (at == values.end()) values.push_back(v);
        };
        for (std::size_t i = 0; i < consumer.size(); ++i)
            if (i != k) add(consumer[i]);
        for (const int v : producer) add(v);
    }
    int place(int i) const { return places.empty() ? i : places[static_cast<std::size_t>(i)]; }
    int count(int all) const { return places.empty() ? all : static_cast<int>(values.size()); }

    number_list values;
    std::vector<int> places; // where each lies among the values
};

// Appends the producer's tape to the consumer's, in place of the consumer's input `k`; nullptr: it would be too long. Its
// inputs are `in`, its constants the consumer's, then the producer's.
inline std::shared_ptr<const tape> join_tapes(const tape& a, const tape& b, int k, const joined_inputs& in) {
    const int inputs = in.count(a.input_count + b.input_count - 1);
    if (a.length + b.length > max_tape_length || inputs > max_tape_inputs ||
        a.constant_count + b.constant_count > max_tape_inputs)
        return nullptr;
    const auto of_consumer = [&](int i) { return in.place(i > k ? i - 1 : i); };
    const auto of_producer = [&](int i) { return in.place(b.input_count - 1 + i); };
    tape t{.input_count = inputs};
    for (int i = 0; i < b.input_count; ++i)
        if (i != k) t.inputs[of_consumer(i)] = b.inputs[i];
    for (int i = 0; i < a.input_count; ++i) t.inputs[of_producer(i)] = a.inputs[i];
    for (int i = 0; i < b.constant_count; ++i) t.add_constant(b.constants[i]);
    for (int i = 0; i < a.constant_count; ++i) t.add_constant(a.constants[i]);
    int reg[max_tape_length];
    using tenon::detail::append_tape;
    append_tape(
        t, a, reg, [&](int i) { return t.emit_input(of_producer(i)); }, [&](int c) { return c + b.constant_count; });
    // What would have been stored in 16 bits is rounded to them here too.
    const int value = tenon::detail::rounded_register(t, reg[a.outputs[0].reg], a.outputs[0].type);
    append_tape(
        t, b, reg, [&](int i) { return i == k ? value : t.emit_input(of_consumer(i)); }, [](int c) { return c; });
    for (int o = 0; o < b.output_count; ++o) {
        const int like = b.outputs[o].like;
        t.add_output(reg[b.outputs[o].reg], b.outputs[o].type, like < 0 || like == k ? -1 : of_consumer(like));
    }
    return t.overfull ? nullptr : share_tape(without_dead_code(t));
}

// Values of so many bytes are not in a core's own cache when they are read again.
inline constexpr std::int64_t large_value = std::int64_t{1} << 19;

// Large programs are many times the same: what joining two tapes gave is kept.
class joined_tapes {
public:
    /// nullptr: the two are better apart. `value`: what the one makes and the other reads.
    const std::shared_ptr<const tape>& of(const std::shared_ptr<const tape>& producer,
                                          const std::shared_ptr<const tape>& consumer, int k, const tensor_type& value,
                                          const joined_inputs& in) {
        const int most = worth(value);
        entry& e = made_[{producer.get(), consumer.get(), k, most, in.places}];
        if (!e.producer)
            e = {producer, consumer,
                 is_lost(most, *producer, *consumer) ? nullptr : join_tapes(*producer, *consumer, k, in)};
        return e.joined;
    }
    // A compiled kernel is worth about a memory pass for each four of its instructions, where memory is a cache.
    static constexpr int pass = 4;
    // Instructions for which a value is not written and read again, which is three times its bytes.
    static int worth(const tensor_type& value) {
        return bytes_of(value) < large_value ? pass : 6 * static_cast<int>(size_of(value.element));
    }
    static int compiled_instructions(const tape& t) {
        return tenon::detail::find_compiled_tape(t) ? t.length - t.input_count : 0;
    }
    template <class... Tape> static bool is_lost(int most, const Tape&... tapes) {
        return (compiled_instructions(tapes) + ...) > most;
    }

private:
    struct entry { // holds the tapes whose addresses are its key
        std::shared_ptr<const tape> producer, consumer, joined;
    };
    std::map<std::tuple<const tape*, const tape*, int, int, std::vector<int>>, entry> made_;
};

// What an item becomes that takes in what makes one of its inputs.
struct joined_pass {
    std::shared_ptr<const tape> code;
    joined_inputs inputs;
};

// Why what makes input k of an elementwise item does not become a part of it; nullptr: it does, and both are the tape `joined`. `tape`: the
// item's.
inline const char* why_apart(const program& p, const uses_of& uses, const program_item& c,
                             const std::shared_ptr<const tape>& tape, std::size_t k, joined_tapes& tapes,
                             joined_pass& joined) {
    const int v = c.inputs[k], maker = p.value(v).producer;
    if (maker < 0) return "it is there before the step";
    const program_item& from = p.item(maker);
    if (from.op != &fused_definition) return "it is no elementwise op";
    if (from.device != c.device) return "it is on another device";
    if (uses[v] != 1) return "it is read more than once";
    if (!tape->loads(static_cast<int>(k))) return "its sizes alone are asked for";
    if (from.outputs.size() != 1) return "it has several results";
    if (!c.predecessors.empty() || !from.predecessors.empty() || uses.awaited[static_cast<std::size_t>(maker)])
        return "one of the two is ordered by control dependencies, or asked for by itself";
    if (!(broadcast_of(p, c.inputs) == p.value(v).type.extents))
        return "it would be computed again for each repetition";
    const std::shared_ptr<const tenon::tape>& producer = tape_of(from);
    if (producer->output_count != 1 ||
        (producer->outputs[0].like >= 0 && !(broadcast_of(p, from.inputs) == p.value(v).type.extents)))
        return "it is summed up, which ends a pass";
    joined.inputs = joined_inputs(p, c.inputs, k, from.inputs);
    joined.code = tapes.of(producer, tape, static_cast<int>(k), p.value(v).type, joined.inputs);
    if (joined.code) return nullptr;
    return joined_tapes::is_lost(joined_tapes::worth(p.value(v).type), *producer, *tape)
               ? "a compiled kernel of the program runs one of the two, which is faster than both together interpreted"
               : "together they are longer than a tape, or have more operands";
}

// Chains of elementwise items become one pass over memory where a value between them is read once.
inline void fuse_elementwise(program& p) {
    const uses_of uses(p);
    joined_tapes tapes;
    joined_pass joined;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& c = p.items[n];
        if (c.removed || c.op != &fused_definition || !c.predecessors.empty()) continue;
        fused_op::attributes consumer; // as it becomes; written back at the end
        bool grown = false;
        for (std::size_t k = 0; k < c.inputs.size(); ++k) {
            const int maker = p.value(c.inputs[k]).producer;
            if (maker < 0 || p.item(maker).op != &fused_definition || uses[c.inputs[k]] != 1) continue;
            if (!consumer.tape) consumer = decode<fused_op::attributes>(c.attributes);
            if (why_apart(p, uses, c, consumer.tape, k, tapes, joined)) continue;
            program_item& from = p.item(maker);
            consumer.tape = joined.code;
            const auto& constants = from.attributes.get<std::vector<std::int64_t>>("constants");
            consumer.constants.insert(consumer.constants.end(), constants.begin(), constants.end());
            grown = true;
            if (joined.inputs.values.empty()) {
                c.inputs.erase(c.inputs.begin() + k);
                c.inputs.append(from.inputs.begin(), from.inputs.end());
                --k; // the input that moved to this place is looked at next
            } else {
                c.inputs = joined.inputs.values;
                k = std::size_t(-1); // all have
            }
            from.removed = true;
            ++p.fused;
        }
        if (!grown) continue;
        c.attributes = encode(consumer);
        c.find_reads();
    }
}

} // namespace detail

TENON_INLINE std::vector<apart> parts_of_passes(const program& p) {
    const detail::uses_of uses(p);
    detail::joined_tapes tapes;
    detail::joined_pass joined;
    std::vector<apart> all;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& c = p.items[n];
        if (c.removed || c.op != &fused_definition) continue;
        for (std::size_t k = 0; k < c.inputs.size(); ++k) {
            const int maker = p.value(c.inputs[k]).producer;
            if (maker < 0 || p.item(maker).op->is(op_flags::source)) continue;
            const char* const why = detail::why_apart(p, uses, c, detail::tape_of(c), k, tapes, joined);
            all.push_back({static_cast<int>(n), maker, why ? why : "fusing is switched off"});
        }
    }
    return all;
}

} // namespace tenon::runtime
