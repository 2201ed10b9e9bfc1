#pragma once

// A part of plan/rewrite.ipp: what follows a product moves into its kernel.

#include <utility>

#include <tenon/tape/gelu.hpp>
#include <tenon/tape/vjp.hpp>

namespace tenon::runtime::detail {

// Whether a register is the sum of the tape's two inputs, which are a product and a bias in either order.
inline bool is_sum_of_inputs(const tape& t, int r, int& product, int& bias) {
    if (t.input_count != 2 || t.inputs[0] != t.outputs[0].type || t.code[r].op != opcode::add) return false;
    const instruction &x = t.code[t.code[r].a], &y = t.code[t.code[r].b];
    if (x.op != opcode::input || y.op != opcode::input || x.a == y.a) return false;
    product = x.a;
    bias = y.a;
    return true;
}

// What a fused item is, when it is `product + bias`, with or without relu: the product's input and the bias's.
inline bool is_bias_epilogue(const tape& t, int& product, int& bias, bool& relu) {
    if (t.output_count != 1 || t.outputs[0].like >= 0) return false;
    int r = t.outputs[0].reg;
    relu = t.code[r].op == opcode::relu;
    if (relu) r = t.code[r].a;
    return t.length == (relu ? 4 : 3) && is_sum_of_inputs(t, r, product, bias);
}

// The op of a product that makes `v` and can add `b` to its rows, for an item that does so on `device`; nullptr: there is none.
inline const op_definition* with_bias_of(const program& p, const uses_of& uses, int v, int b, int device) {
    const int producer = p.value(v).producer;
    if (producer < 0) return nullptr;
    const program_item& from = p.item(producer);
    const extents &out = p.value(v).type.extents, &shift = p.value(b).type.extents;
    if (!from.op->with_bias || !from.predecessors.empty() || uses.awaited[static_cast<std::size_t>(producer)] ||
        from.device != device || out.rank() < 2 || shift.rank() != 1 || !(shift[0] == out[out.rank() - 1]))
        return nullptr;
    // Of 16 bits, products of matrices alone.
    const element_type e = p.value(v).type.element;
    if (!is_floating(e) || (size_of(e) == 2 && !from.op->with_row_sums)) return nullptr;
    // Vectors take part in products of their own kind.
    if (p.value(from.inputs[0]).type.extents.rank() < 2 || p.value(from.inputs[1]).type.extents.rank() < 2)
        return nullptr;
    return find_op(from.op->with_bias);
}

// Bias and relu are applied by the kernel of the product they follow.
inline void fuse_epilogues(program& p) {
    const uses_of uses(p);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty()) continue;
        int product = 0, bias = 0;
        bool relu = false;
        if (!is_bias_epilogue(*tape_of(i), product, bias, relu)) continue;
        for (int turn = 0; turn < 2; ++turn, std::swap(product, bias)) {
            const int v = i.inputs[static_cast<std::size_t>(product)], b = i.inputs[static_cast<std::size_t>(bias)];
            const op_definition* const with_bias = uses[v] == 1 ? with_bias_of(p, uses, v, b, i.device) : nullptr;
            if (!with_bias || !(p.value(v).type.extents == p.value(i.outputs[0]).type.extents)) continue;
            program_item& from = p.item(p.value(v).producer);
            tenon::attributes made = from.attributes;
            made.set("relu", std::int64_t{relu});
            i.op = with_bias;
            i.attributes = std::move(made);
            i.inputs = {from.inputs[0], from.inputs[1], b};
            i.find_reads();
            from.removed = true;
            ++p.fused;
            break;
        }
    }
}

// What a fused item is, when it is `factor * product + addend`: the inputs, and the number.
inline bool is_scaled_sum(const tape& t, int& product, int& addend, double& factor) {
    if (t.output_count != 1 || t.outputs[0].like >= 0 || t.input_count != 2 || t.length != 4 ||
        t.inputs[0] != t.outputs[0].type || t.inputs[1] != t.outputs[0].type)
        return false;
    const instruction& sum = t.code[t.outputs[0].reg];
    if (sum.op != opcode::fma) return false;
    const instruction *x = &t.code[sum.a], *y = &t.code[sum.b], *z = &t.code[sum.c];
    if (x->op != opcode::literal) std::swap(x, y);
    if (x->op != opcode::literal || y->op != opcode::input || z->op != opcode::input || y->a == z->a) return false;
    product = y->a;
    addend = z->a;
    factor = x->literal().as_double();
    return true;
}

// Whether a product gains by adding to what is there. On the host a pass of its own costs little beside a product of many terms, which would
// keep a variable locked for as long as it takes; small products, and those of doubles, have kernels that cannot; and what is not in a core's
// own cache comes faster in a pass than tile by tile (3136 x 256, 64 terms: 560 us beside 800).
inline bool gains_by_adding(const program& p, const plan_options& o, const program_item& product) {
    const tensor_type& c = p.value(product.outputs[0]).type;
    const op_definition& adds = product.op->with_addend();
    const kernel_factory found = o.device(product.device).kernel_of(adds, c.element);
    if (!found || found != adds.cpu) return found != nullptr;
    if (o.device(product.device).streams()) return false; // of a simulated card nodes are timed, to place them
    constexpr double most_terms = 64, least = 1 << 19, most_elements = 1 << 18;
    const tensor_type in[] = {p.value(product.inputs[0]).type, p.value(product.inputs[1]).type}, out[] = {c};
    if (c.element != element_type::float32 || in[0].extents.rank() != 2 || in[1].extents.rank() != 2) return false;
    const double operations = product.op->operations(product.attributes, {in, 2}, {out, 1});
    const auto elements = static_cast<double>(c.extents.elements());
    return elements <= most_elements && operations > least && operations <= 2 * most_terms * elements;
}

// A step down a gradient that is a product is taken by the product's kernel.
inline void fuse_steps(program& p, const plan_options& o) {
    const uses_of uses(p);
    for (program_item& i : p.items) {
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty()) continue;
        int product = 0, addend = 0;
        double factor = 0;
        if (!is_scaled_sum(*tape_of(i), product, addend, factor)) continue;
        const int v = i.inputs[static_cast<std::size_t>(product)], c = i.inputs[static_cast<std::size_t>(addend)];
        if (p.value(v).producer < 0 || uses[v] != 1) continue;
        program_item& from = p.item(p.value(v).producer);
        const tensor_type& type = p.value(i.outputs[0]).type;
        if (!from.op->with_addend || from.device != i.device || !from.predecessors.empty() ||
            uses.awaited[static_cast<std::size_t>(p.value(v).producer)] || p.value(v).type != type ||
            p.value(c).type != type ||
            (type.element != element_type::float32 && type.element != element_type::float64) ||
            p.root(from.inputs[0]) == p.root(c) ||
            p.root(from.inputs[1]) == p.root(c) || // its result may lie where c does
            !gains_by_adding(p, o, from))
            continue;
        tenon::attributes made = from.attributes;
        made.set("factor", factor);
        i.op = &from.op->with_addend();
        i.attributes = std::move(made);
        i.inputs = {from.inputs[0], from.inputs[1], c};
        i.find_reads();
        from.removed = true;
        ++p.fused;
    }
}

// Whether register r of a tape is what register s of a pattern is; `found`: the registers that those of the pattern are, -1 where none was met.
inline bool is_as(const tape& t, int r, const tape& pattern, int s, int (&found)[max_tape_length]) {
    if (found[s] >= 0) return found[s] == r;
    const instruction &i = t.code[r], &wanted = pattern.code[s];
    if (i.type != wanted.type) return false;
    found[s] = r;
    if (wanted.op == opcode::input) return true;
    if (i.op != wanted.op || (i.op == opcode::literal && i.bits != wanted.bits)) return false;
    for (int k = 0; k < register_operands(i); ++k)
        if (!is_as(t, operand_of(i, k), pattern, operand_of(wanted, k), found)) return false;
    return true;
}

// The inputs of a tape that its first result is a pattern of, whose inputs are these in turn; empty where it is something else.
inline std::vector<int> inputs_of_pattern(const tape& t, const tape& pattern) {
    int found[max_tape_length];
    std::fill(std::begin(found), std::end(found), -1);
    if (!is_as(t, t.outputs[0].reg, pattern, pattern.outputs[0].reg, found)) return {};
    std::vector<int> inputs(static_cast<std::size_t>(pattern.input_count), -1);
    for (int s = 0; s < pattern.length; ++s) {
        if (pattern.code[s].op != opcode::input) continue;
        if (t.code[found[s]].op != opcode::input) return {};
        inputs[static_cast<std::size_t>(pattern.code[s].a)] = t.code[found[s]].a;
    }
    return inputs;
}

// A tape that reads of its input `product` nothing but the sum with input `bias`, as one that reads the sum there; nullptr: it reads more.
inline std::shared_ptr<const tape> reading_sum(const tape& t, int product, int bias) {
    tape made = t;
    const auto is_input = [&](int r, int k) { return input_of(t, r) == k; };
    std::int16_t stands_for[max_tape_length];
    const auto replace = [&](std::int16_t& r) {
        if (is_input(r, product)) return false;
        r = stands_for[r];
        return true;
    };
    for (int r = 0; r < t.length; ++r) {
        instruction& i = made.code[r];
        stands_for[r] = static_cast<std::int16_t>(r);
        if (i.op == opcode::add &&
            ((is_input(i.a, product) && is_input(i.b, bias)) || (is_input(i.b, product) && is_input(i.a, bias)))) {
            stands_for[r] = is_input(i.a, product) ? i.a : i.b;
            i = instruction{}; // a number that nobody reads
            i.type = t.code[r].type;
            continue;
        }
        const int n = register_operands(i);
        if ((n > 0 && !replace(i.a)) || (n > 1 && !replace(i.b)) || (n > 2 && !replace(i.c))) return nullptr;
    }
    for (int o = 0; o < t.output_count; ++o)
        if (!replace(made.outputs[o].reg)) return nullptr;
    return share_tape(without_dead_code(made));
}

// Has an item run at another place. Only data orders it.
inline void move_item(program& p, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t n) { return p.items.begin() + static_cast<std::ptrdiff_t>(n); };
    if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
    else std::rotate(at(to), at(from), at(from + 1));
    const auto renumber = [&](int& item) {
        const auto n = static_cast<std::size_t>(item);
        if (item < 0 || n < std::min(from, to) || n > std::max(from, to)) return;
        item = n == from ? static_cast<int>(to) : from < to ? item - 1 : item + 1;
    };
    for (program_value& v : p.values) renumber(v.producer);
    for (program_item& i : p.items)
        for (int& a : i.predecessors) renumber(a);
}

// Whether the device's library does more in the pass of a product of 16 bits, which it rounds once, in the end.
inline bool has_passes(const program& p, const plan_options& o, const program_item& product) {
    if (!product.op->with_row_sums) return false;
    const element_type e = p.value(product.outputs[0]).type.element;
    return is_floating(e) && size_of(e) == 2 && o.device(product.device).kernel_of(product.op->with_row_sums(), e);
}

inline bool any_has_passes(const program& p, const plan_options& o) {
    return std::any_of(p.items.begin(), p.items.end(),
                       [&](const program_item& i) { return !i.removed && has_passes(p, o, i); });
}

// Where all that reads a product adds a bias to it first, as a layer and its gradient do, the product's pass does.
inline void share_sums(program& p, const plan_options& o) {
    if (!any_has_passes(p, o)) return;
    uses_of uses(p);
    const auto share = [&](std::size_t first, int v, int b) {
        const op_definition* const with_bias = with_bias_of(p, uses, v, b, p.items[first].device);
        if (!with_bias || !has_passes(p, o, p.item(p.value(v).producer))) return false;
        std::vector<std::pair<program_item*, std::shared_ptr<const tape>>> changed;
        for (program_item& i : p.items)
            for (std::size_t k = 0; k < i.inputs.size() && !i.removed; ++k) {
                if (i.inputs[k] != v || !i.read[k]) continue;
                const auto bias = std::find(i.inputs.begin(), i.inputs.end(), b);
                if (i.op != &fused_definition || bias == i.inputs.end()) return false;
                changed.emplace_back(
                    &i, reading_sum(*tape_of(i), static_cast<int>(k), static_cast<int>(bias - i.inputs.begin())));
                if (!changed.back().second) return false;
            }
        if (uses[v] != static_cast<int>(changed.size())) return false; // it is fetched, or viewed
        for (auto& [i, code] : changed) {
            i->attributes.set("tape", std::move(code));
            i->find_reads();
        }
        const int at = p.value(v).producer;
        program_item& product = p.item(at);
        product.op = with_bias;
        product.attributes.set("relu", std::int64_t{0});
        product.inputs.push_back(b);
        product.find_reads();
        if (p.value(p.root(b)).producer > at) move_item(p, static_cast<std::size_t>(at), first - 1);
        uses = uses_of(p);
        ++p.fused;
        return true;
    };
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        if (p.items[n].removed || p.items[n].op != &fused_definition) continue;
        const std::shared_ptr<const tape> t = tape_of(p.items[n]);
        for (int r = 0; r < t->length; ++r) {
            if (t->code[r].op != opcode::add) continue;
            const instruction &x = t->code[t->code[r].a], &y = t->code[t->code[r].b];
            if (x.op != opcode::input || y.op != opcode::input || x.a == y.a) continue;
            const number_list inputs = p.items[n].inputs;
            const int v = inputs[static_cast<std::size_t>(x.a)], w = inputs[static_cast<std::size_t>(y.a)];
            if (share(n, v, w) || share(n, w, v)) break;
        }
    }
}

// gelu_tanh as a tape, of 16 bits, which are computed in float.
inline tape gelu_tape() {
    constexpr element_type in = element_type::float32;
    tape t;
    const int x = t.emit_input(t.add_input(element_type::bfloat16));
    const int cubic = t.emit(opcode::multiply, in, t.emit_literal(tenon::detail::gelu_cubic, in), x);
    const int slope = t.emit(opcode::fma, in, cubic, x, t.emit_literal(tenon::detail::gelu_linear, in));
    const int open = t.emit(opcode::sigmoid, in, t.emit(opcode::multiply, in, x, slope));
    t.add_output(t.emit(opcode::multiply, in, x, open), element_type::bfloat16);
    return t;
}

// What gives gelu_tanh of a product with its bias does so in the product's pass, and gives that as well where others read it, as gradients do.
inline void fuse_gelu(program& p, const plan_options& o) {
    static const tape gelu = gelu_tape();
    const uses_of uses(p);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        program_item& i = p.items[n];
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty()) continue;
        const tape& t = *tape_of(i);
        const tensor_type& type = p.value(i.outputs[0]).type;
        if (t.output_count != 1 || t.outputs[0].like >= 0) continue;
        const std::vector<int> x = inputs_of_pattern(t, gelu);
        if (x.empty()) continue;
        const int v = i.inputs[static_cast<std::size_t>(x[0])], producer = p.value(v).producer;
        if (producer < 0 || p.value(v).type != type || !is_floating(type.element) || size_of(type.element) != 2)
            continue;
        program_item& from = p.item(producer);
        if (!from.op->with_gelu || from.op->with_bias || from.attributes.get<std::int64_t>("relu") ||
            !from.predecessors.empty() || uses.awaited[static_cast<std::size_t>(producer)] || from.device != i.device ||
            !o.device(i.device).kernel_of(from.op->with_gelu(), type.element))
            continue;
        // The others that read it come later.
        const auto reads = [&](const program_item& other) {
            return !other.removed &&
                   std::any_of(other.inputs.begin(), other.inputs.end(), [&](int input) { return p.root(input) == v; });
        };
        if (std::any_of(p.items.begin(), p.items.begin() + static_cast<std::ptrdiff_t>(n), reads)) continue;
        i.op = &from.op->with_gelu();
        i.attributes = from.attributes;
        i.inputs = from.inputs;
        if (uses[v] > 1) {
            i.outputs.push_back(v);
            p.value(v).producer = static_cast<int>(n);
        }
        i.find_reads();
        from.removed = true;
        ++p.fused;
    }
}

// Output `o` of a fused item leaves it.
inline void drop_output(program_item& i, int o) {
    tape made = *tape_of(i);
    std::copy(made.outputs + o + 1, made.outputs + made.output_count, made.outputs + o);
    made.outputs[--made.output_count] = tape_output{};
    i.outputs.erase(i.outputs.begin() + o);
    i.removed = made.output_count == 0;
    if (i.removed) return;
    i.attributes.set("tape", share_tape(without_dead_code(made)));
    i.find_reads();
}

// The product, if there is one, whose kernel can sum the rows of what `v` shows, all but its last dimension; of_a: which operand that is.
inline int summing_product(const program& p, const uses_of& uses, const plan_options& o, int v, int device,
                           bool& of_a) {
    const tensor_type& type = p.value(v).type;
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        if (i.removed || !i.op->with_row_sums || i.device != device || !i.predecessors.empty() || uses.awaited[n] ||
            uses[i.outputs[0]] == 0 || !has_passes(p, o, i))
            continue;
        for (const bool first : {false, true}) {
            const int x = i.inputs[first ? 0 : 1], y = i.inputs[first ? 1 : 0];
            const extents& sizes = p.value(x).type.extents;
            const bool transposed = i.attributes.get<std::int64_t>(first ? "transpose_a" : "transpose_b") != 0;
            if (p.root(x) != p.root(v) || transposed != first || sizes.rank() != 2 ||
                p.value(y).type.extents.rank() != 2 || !(sizes[1] == type.extents[type.extents.rank() - 1]))
                continue;
            of_a = first;
            return static_cast<int>(n);
        }
    }
    return -1;
}

// The gradient of a bias, which sums the rows of what flows into a layer, is made in the pass of the product that sums over the same rows:
// the gradient of the layer's weights.
inline void fuse_bias_gradients(program& p, const plan_options& o) {
    if (!any_has_passes(p, o)) return;
    uses_of uses(p);
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        if (p.items[n].removed || p.items[n].op != &fused_definition || !p.items[n].predecessors.empty() ||
            uses.awaited[n])
            continue;
        for (int k = 0; k < static_cast<int>(p.items[n].outputs.size()) && !p.items[n].removed; ++k) {
            program_item& i = p.items[n];
            const std::shared_ptr<const tape> t = tape_of(i);
            const int sum = i.outputs[static_cast<std::size_t>(k)];
            const tensor_type& type = p.value(sum).type;
            if (static_cast<int>(i.outputs.size()) != t->output_count) break; // some are merged
            if (t->outputs[k].like < 0 || type.extents.rank() != 1 || uses[sum] == 0) continue;
            const extents all = broadcast_of(p, i.inputs);
            if (all.rank() < 2 || !(all[all.rank() - 1] == type.extents[0])) continue;
            // What is summed: an operand, or another result.
            int v = -1;
            const instruction& summed = t->code[t->outputs[k].reg];
            if (summed.op == opcode::input) v = i.inputs[static_cast<std::size_t>(summed.a)];
            for (int other = 0; other < t->output_count && v < 0; ++other)
                if (other != k && t->outputs[other].reg == t->outputs[k].reg)
                    v = i.outputs[static_cast<std::size_t>(other)];
            if (v < 0 || p.value(v).type != tensor_type{type.element, all}) continue;
            bool of_a = false;
            int at = summing_product(p, uses, o, v, i.device, of_a);
            if (at < 0) continue;
            int first_reader = static_cast<int>(p.items.size()), last_maker = -1;
            for (std::size_t m = 0; m < p.items.size(); ++m)
                for (const int x : p.items[m].inputs)
                    if (!p.items[m].removed && p.root(x) == sum)
                        first_reader = std::min(first_reader, static_cast<int>(m));
            for (const int x : p.item(at).inputs) last_maker = std::max(last_maker, p.value(p.root(x)).producer);
            if (first_reader < at) {
                if (last_maker >= first_reader) continue;
                move_item(p, static_cast<std::size_t>(at), static_cast<std::size_t>(first_reader));
                at = first_reader;
            }
            program_item& product = p.item(at);
            product.op = &product.op->with_row_sums();
            product.attributes.set("of_a", std::int64_t{of_a});
            product.outputs.push_back(sum);
            p.value(sum).producer = at;
            drop_output(p.items[n], k--);
            uses = uses_of(p);
            ++p.fused;
        }
    }
}

// What flows back through gelu_tanh is made in the pass of the product that gives what flows into it: the layer's behind it.
inline void fuse_gelu_gradients(program& p, const plan_options& o) {
    static const tape slope = vjp(gelu_tape()).code;
    const uses_of uses(p);
    for (program_item& i : p.items) {
        if (i.removed || i.op != &fused_definition || !i.predecessors.empty() || i.outputs.size() != 1) continue;
        const std::vector<int> inputs = inputs_of_pattern(*tape_of(i), slope);
        if (inputs.empty()) continue;
        const int x = i.inputs[static_cast<std::size_t>(inputs[0])], v = i.inputs[static_cast<std::size_t>(inputs[1])];
        const tensor_type& type = p.value(i.outputs[0]).type;
        const int producer = p.value(v).producer;
        if (producer < 0 || uses[v] != 1 || p.value(v).type != type || p.value(x).type != type ||
            !(broadcast_of(p, i.inputs) == type.extents))
            continue;
        program_item& from = p.item(producer);
        if (!from.op->with_gelu || !from.op->with_bias || !from.predecessors.empty() || from.device != i.device ||
            uses.awaited[static_cast<std::size_t>(producer)] || !has_passes(p, o, from) ||
            !o.device(i.device).kernel_of(from.op->with_gelu(), type.element))
            continue;
        i.op = &from.op->with_gelu();
        i.attributes = from.attributes;
        i.inputs = {from.inputs[0], from.inputs[1], x};
        i.find_reads();
        from.removed = true;
        ++p.fused;
    }
}

} // namespace tenon::runtime::detail
