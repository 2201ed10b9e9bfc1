#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <tenon/expr/tape_loop.hpp>
#include <tenon/tape/append_tape.hpp>

namespace tenon::detail {

// Bytes of something in working memory.
constexpr std::size_t loop_block(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

template <class Bits> void repeat_bits(std::byte* to, const std::byte* element, std::int64_t n) noexcept {
    Bits b;
    std::memcpy(&b, element, sizeof b);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<std::int64_t>(sizeof b), &b, sizeof b);
}
// As fill_elements(), for few.
inline void repeat_element(std::byte* to, const std::byte* element, std::size_t bytes, std::int64_t n) noexcept {
    switch (bytes) {
    case 4: return repeat_bits<std::uint32_t>(to, element, n);
    case 8: return repeat_bits<std::uint64_t>(to, element, n);
    case 2: return repeat_bits<std::uint16_t>(to, element, n);
    default: return repeat_bits<std::uint8_t>(to, element, n);
    }
}
inline void copy_run_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    switch (bytes) { // of one element, at once
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, bytes);
    }
}
constexpr std::int64_t whole_steps(std::int64_t n) noexcept { return (n + step_elements - 1) & -step_elements; }

TENON_INLINE std::size_t loop_part_kernel::block_bytes(std::size_t element) const noexcept {
    return loop_block(static_cast<std::size_t>(block_) * element);
}

TENON_INLINE const loop_part_kernel::output* loop_part_kernel::output_of(int result) const {
    for (const output& o : outputs_)
        if (o.result == result) return &o;
    return nullptr;
}

TENON_INLINE std::unique_ptr<const loop_part_kernel>
loop_part_kernel::make(const loop_program& loop, const loop_part& part, const loop_part* uniform) {
    const auto carried = static_cast<int>(loop.carried), sliced = static_cast<int>(loop.sliced);
    const tape& t = part.code;
    if (t.overfull || t.output_count == 0 || t.input_count >= max_tape_inputs) return nullptr;
    std::unique_ptr<loop_part_kernel> k(new loop_part_kernel(part));
    extents space;
    for (const int r : part.results) {
        k->asks_ = k->asks_ || r < 0;
        const element_type e = t.outputs[k->outputs_.size()].type;
        k->outputs_.push_back({r, r >= 0 && r < carried, size_of(e), 0});
        if (r < 0) continue;
        const merged_extents m = broadcast(space, loop.results[static_cast<std::size_t>(r)].extents);
        if (m.what != fault::none) return nullptr;
        space = m.extents;
    }
    for (const int r : part.results)
        if (r >= 0 && loop.results[static_cast<std::size_t>(r)].extents.elements() != space.elements()) return nullptr;
    std::vector<tensor_type> types;
    for (int i = 0; i < t.input_count; ++i) {
        tensor_type& x =
            types.emplace_back(loop.operands[static_cast<std::size_t>(part.operands[static_cast<std::size_t>(i)])]);
        if (!t.loads(i) || x.extents.elements() == 1) x.extents = {}; // of however many dimensions of 1
        const merged_extents m = broadcast(space, x.extents);
        if (m.what != fault::none || !(m.extents == space)) return nullptr;
    }
    types.push_back({element_type::boolean, space}); // which the others are repeated to
    k->layout_ = make_layout({types.data(), static_cast<int>(types.size())});
    k->block_ = std::min<std::int64_t>(whole_steps(std::max<std::int64_t>(k->count(), 1)), interpreter::block);
    if (!part.function) {
        k->interpreted_ =
            std::make_unique<interpreter>(t, part.constants.data(), 0, false, k->block_, simd::best_isa());
        k->block_ = std::min<std::int64_t>(k->block_, k->interpreted_->program()->block);
    }

    for (int i = 0; i < t.input_count; ++i) {
        input in;
        in.operand = part.operands[static_cast<std::size_t>(i)];
        in.bytes = size_of(t.inputs[i]);
        in.full = k->layout_.operands[i].full;
        const bool is_single = types[static_cast<std::size_t>(i)].extents.elements() == 1;
        if (t.loads(i)) {
            if (in.operand < carried) {
                const auto has = [&](const loop_part& p) {
                    return std::find(p.results.begin(), p.results.end(), in.operand) != p.results.end();
                };
                if (!has(part) && !(uniform && has(*uniform))) return nullptr;
                in.how = has(part) ? reading::carried : reading::one_each;
            } else if (in.operand < carried + sliced) in.how = is_single ? reading::one_each : reading::sliced;
            else in.how = reading::fixed;
        }
        in.buffer = k->scratch_bytes_;
        if (in.how != reading::carried) k->scratch_bytes_ += k->block_bytes(in.bytes);
        k->inputs_.push_back(in);
        k->moves_ = k->moves_ || in.how == reading::one_each || in.how == reading::sliced;
    }
    for (output& o : k->outputs_) {
        o.buffer = k->scratch_bytes_;
        k->scratch_bytes_ += k->block_bytes(o.bytes) * (o.carried ? 2 : 1);
    }
    if (k->interpreted_) {
        k->registers_ = k->scratch_bytes_;
        k->scratch_bytes_ += loop_block(k->interpreted_->scratch_bytes());
    }
    for (const output& o : k->outputs_)
        k->cost_ += 0.01 * static_cast<double>(o.bytes) * static_cast<double>(k->count());
    k->cost_ += 5 + 0.03 * t.length * static_cast<double>(k->count());
    return k;
}

// Elements [begin, begin + n) of an input in the order of the space, and the first again up to whole steps.
TENON_INLINE void loop_part_kernel::gather(std::byte* to, int i, const std::byte* from, std::int64_t begin,
                                           std::int64_t n) const {
    const std::size_t bytes = inputs_[static_cast<std::size_t>(i)].bytes;
    const std::int64_t size = static_cast<std::int64_t>(bytes);
    std::byte* const first = to;
    const std::int64_t padded = whole_steps(n);
    for (std::int64_t at = begin, left = n; left > 0;) {
        const std::int64_t row = at / layout_.cols, col = at % layout_.cols, m = std::min(left, layout_.cols - col);
        const std::int64_t offset = layout_.read_offset(i, row);
        if (layout_.repeats_cols(i)) repeat_element(to, from + offset * size, bytes, m);
        else std::memcpy(to, from + (offset + col) * size, static_cast<std::size_t>(m) * bytes);
        at += m;
        left -= m;
        to += m * size;
    }
    repeat_element(to, first, bytes, padded - n);
}

TENON_INLINE std::int64_t loop_part_kernel::run(std::int64_t begin, std::int64_t n, std::int64_t runs,
                                                const run_source* operands, const run_carry* carries,
                                                const run_target* given, std::byte* scratch) const {
    const auto here = [&](std::size_t element) { return begin * static_cast<std::int64_t>(element); };
    const std::int64_t padded = whole_steps(n);
    for (const output& o : outputs_) {
        if (!o.carried) continue;
        std::byte* const state = scratch + o.buffer;
        const std::size_t bytes = static_cast<std::size_t>(n) * o.bytes;
        std::memcpy(state, carries[o.result].first + here(o.bytes), bytes);
        repeat_element(state + bytes, state, o.bytes, padded - n);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].how == reading::fixed)
            gather(scratch + inputs_[i].buffer, static_cast<int>(i), operands[inputs_[i].operand].at, begin, n);
    const bool compiled = part_.function && runs > 0;
    const std::int64_t done = compiled   ? run_compiled(runs, padded, operands, carries, scratch)
                              : runs > 0 ? run_steps(begin, n, runs, operands, carries, given, scratch)
                                         : 0;
    for (const output& o : outputs_) {
        if (!o.carried) continue;
        const std::size_t turn = compiled ? 1 : static_cast<std::size_t>(done % 2);
        std::memcpy(carries[o.result].last + here(o.bytes), scratch + o.buffer + turn * block_bytes(o.bytes),
                    static_cast<std::size_t>(n) * o.bytes);
    }
    return done;
}

// Of a carry a function for elements writes the last value; one for what is uniform that after each run.
TENON_INLINE std::int64_t loop_part_kernel::run_compiled(std::int64_t runs, std::int64_t padded,
                                                         const run_source* operands, const run_carry* carries,
                                                         std::byte* scratch) const {
    const void* in[max_tape_inputs];
    std::ptrdiff_t steps[max_tape_inputs];
    void* out[max_tape_outputs];
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const input& x = inputs_[i];
        const bool each = x.how == reading::one_each;
        in[i] = x.how == reading::carried ? scratch + output_of(x.operand)->buffer
                : each                    ? operands[x.operand].at
                                          : scratch + x.buffer;
        steps[i] = each ? operands[x.operand].step : 0;
    }
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
        const output& y = outputs_[o];
        out[o] = !y.carried ? nullptr : asks_ ? carries[y.result].each.at : scratch + y.buffer + block_bytes(y.bytes);
    }
    if (asks_)
        for (const output& y : outputs_)
            if (y.carried) std::memcpy(carries[y.result].each.at, scratch + y.buffer, y.bytes);
    const std::int64_t done = part_.function({in, steps, out, part_.constants.data(), runs, padded});
    if (asks_)
        for (const output& y : outputs_)
            if (y.carried)
                std::memcpy(scratch + y.buffer + block_bytes(y.bytes), carries[y.result].each.of(done), y.bytes);
    return done;
}

TENON_INLINE std::int64_t loop_part_kernel::run_steps(std::int64_t begin, std::int64_t n, std::int64_t runs,
                                                      const run_source* operands, const run_carry* carries,
                                                      const run_target* given, std::byte* scratch) const {
    const auto here = [&](std::size_t element) { return begin * static_cast<std::int64_t>(element); };
    const std::int64_t padded = whole_steps(n);
    const bool whole = padded == n;
    const step_program& program = *interpreted_->program();
    auto* const steps = interpreted_->steps_function();
    const std::size_t ins = program.inputs.size();
    // Of runs of even and of odd numbers: from one place of a carry to the other.
    void* slots[2][step_program::max_slots];
    for (const std::size_t turn : {std::size_t{0}, std::size_t{1}}) {
        const auto state = [&](const output& o, std::size_t which) {
            return scratch + o.buffer + (which % 2) * block_bytes(o.bytes);
        };
        void** next = slots[turn];
        for (const step_program::moving_slot& m : program.inputs) {
            const input& x = inputs_[m.index];
            *next++ = x.how == reading::carried ? state(*output_of(x.operand), turn) : scratch + x.buffer;
        }
        for (const output& y : outputs_) *next++ = y.carried ? state(y, turn + 1) : scratch + y.buffer;
        for (void* c : program.constants) *next++ = c;
        for (int r = 0; r < program.registers; ++r)
            *next++ = scratch + registers_ + static_cast<std::size_t>(r) * program.register_bytes;
    }
    struct kept { // of a carry
        const std::byte* from[2];
        run_target to;
        std::size_t bytes;
    };
    kept keeps[max_tape_outputs];
    std::size_t kept_count = 0;
    bool gives = false;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
        const output& y = outputs_[o];
        gives = gives || (!y.carried && y.result >= 0 && given[y.result].at);
        if (!y.carried || !carries[y.result].each.at) continue;
        const auto place = [&](std::size_t turn) { return static_cast<const std::byte*>(slots[1 - turn][ins + o]); };
        run_target to = carries[y.result].each;
        to.at += here(y.bytes);
        keeps[kept_count++] = {{place(0), place(1)}, to, static_cast<std::size_t>(n) * y.bytes};
    }
    std::int64_t run = 0;
    for (; run < runs; ++run) {
        void** const now = slots[run % 2];
        for (std::size_t s = 0; moves_ && s < ins; ++s) {
            const std::uint32_t i = program.inputs[s].index;
            const input& x = inputs_[i];
            if (x.how == reading::one_each)
                repeat_element(scratch + x.buffer, operands[x.operand].of(run), x.bytes, padded);
            if (x.how != reading::sliced) continue;
            const std::byte* const slice = operands[x.operand].of(run);
            if (whole && x.full) now[s] = const_cast<std::byte*>(slice + here(x.bytes));
            else gather(scratch + x.buffer, static_cast<int>(i), slice, begin, n);
        }
        for (std::size_t k = 0; k < kept_count; ++k)
            copy_run_bytes(keeps[k].to.of(run), keeps[k].from[run % 2], keeps[k].bytes);
        const auto for_given = [&](auto&& f) {
            for (std::size_t o = 0; gives && o < outputs_.size(); ++o)
                if (const output& y = outputs_[o]; !y.carried && y.result >= 0 && given[y.result].at)
                    f(y, given[y.result].of(run) + here(y.bytes), now[ins + o]);
        };
        if (whole) for_given([](const output&, std::byte* to, void*& slot) { slot = to; });
        steps(program, now, padded);
        if (asks_ && !*static_cast<const bool*>(now[ins])) break;
        if (!whole)
            for_given([&](const output& y, std::byte* to, void*& slot) {
                copy_run_bytes(to, slot, static_cast<std::size_t>(n) * y.bytes);
            });
    }
    return run;
}

TENON_INLINE std::unique_ptr<const tape_loop> tape_loop::make(loop_program&& p, int threads) {
    std::unique_ptr<tape_loop> l(new tape_loop);
    l->p_ = std::move(p);
    const loop_program& own = l->p_;
    if (!own.uniform.results.empty()) {
        l->uniform_ = loop_part_kernel::make(own, own.uniform, nullptr);
        if (!l->uniform_ || l->uniform_->count() != 1) return nullptr;
    }
    if (!own.elements.results.empty()) {
        l->elements_ = loop_part_kernel::make(own, own.elements, &own.uniform);
        if (!l->elements_) return nullptr;
    }
    // Between two times that it asks whether it is wanted, about a million elements go through a run.
    constexpr std::int64_t ahead = 256, fewest = 8, most_elements = std::int64_t{1} << 20;
    constexpr double chunk_cost = 2e4; // ns, worth a thread
    l->most_runs_ = ahead;
    const auto part = [&](std::size_t bytes) {
        const std::size_t at = l->scratch_bytes_;
        l->scratch_bytes_ += loop_block(bytes);
        return at;
    };
    l->operands_ = part(own.operands.size() * sizeof(run_source));
    l->carries_ = part(own.carried * sizeof(run_carry));
    l->ahead_ = part(own.carried * sizeof(run_carry));
    l->targets_ = part(own.results.size() * sizeof(run_target));
    if (l->uniform_) l->uniform_at_ = part(l->uniform_->scratch_bytes());
    if (l->elements_) {
        const loop_part_kernel& e = *l->elements_;
        l->most_runs_ = std::clamp(most_elements / std::max<std::int64_t>(e.count(), 1), fewest, ahead);
        const auto worth = static_cast<std::int64_t>(e.cost() * static_cast<double>(l->most_runs_) / chunk_cost);
        l->chunks_ = static_cast<int>(std::clamp<std::int64_t>(std::min(e.blocks(), worth), 1, std::max(threads, 1)));
        l->chunk_bytes_ = loop_block(e.scratch_bytes());
        l->chunk_ = part(l->chunk_bytes_ * static_cast<std::size_t>(l->chunks_));
    }
    l->history_ = part(own.carried * l->history_bytes());
    return l;
}

TENON_INLINE tape_loop::places tape_loop::begin(std::byte* scratch) const {
    auto* const operands = reinterpret_cast<run_source*>(scratch + operands_);
    auto* const carries = reinterpret_cast<run_carry*>(scratch + carries_);
    auto* const targets = reinterpret_cast<run_target*>(scratch + targets_);
    std::uninitialized_fill_n(operands, p_.operands.size(), run_source());
    std::uninitialized_fill_n(carries, p_.carried, run_carry());
    std::uninitialized_fill_n(targets, p_.results.size(), run_target());
    const std::size_t first = p_.operands.size() - p_.constants.size();
    for (std::size_t c = 0; c < p_.constants.size(); ++c)
        operands[first + c].at = static_cast<const std::byte*>(p_.constants[c]);
    return {operands, carries, targets + p_.carried};
}

TENON_INLINE std::int64_t tape_loop::run(std::int64_t runs, std::byte* scratch, thread_pool* pool,
                                         function_ref<void()> wanted) const {
    auto* const operands = reinterpret_cast<run_source*>(scratch + operands_);
    auto* const carries = reinterpret_cast<run_carry*>(scratch + carries_);
    auto* const ahead = reinterpret_cast<run_carry*>(scratch + ahead_);
    auto* const targets = reinterpret_cast<run_target*>(scratch + targets_);
    // What is uniform is kept, as each run is given it, in the history.
    std::uninitialized_fill_n(ahead, p_.carried, run_carry());
    for (const int r : p_.uniform.results) {
        if (r < 0 || r >= static_cast<int>(p_.carried)) continue;
        std::byte* const history = scratch + history_ + static_cast<std::size_t>(r) * history_bytes();
        const auto bytes = static_cast<std::ptrdiff_t>(size_of(p_.results[static_cast<std::size_t>(r)].element));
        ahead[r] = {carries[r].first, carries[r].last, {history, bytes}};
        operands[r] = {history, bytes};
    }
    std::int64_t done = 0;
    for (bool goes_on = true; goes_on;) {
        wanted();
        const std::int64_t most = runs < 0 ? most_runs_ : std::min(most_runs_, runs - done);
        const std::int64_t n =
            uniform_ ? uniform_->run(0, 1, most, operands, ahead, targets, scratch + uniform_at_) : most;
        goes_on = n == most && (runs < 0 || done + n < runs);
        for (std::size_t c = 0; c < p_.carried; ++c) {
            ahead[c].first = ahead[c].last;
            if (const run_target& each = carries[c].each, &kept = ahead[c].each; each.at && kept.at)
                for (std::int64_t k = 0; k < n; ++k)
                    std::memcpy(each.of(k), kept.of(k), size_of(p_.results[c].element));
        }
        if (elements_) {
            const auto run_chunk = [&](std::int64_t c) {
                const std::int64_t blocks = elements_->blocks(), block = elements_->block();
                std::byte* const own = scratch + chunk_ + chunk_bytes_ * static_cast<std::size_t>(c);
                for (std::int64_t b = blocks * c / chunks_, end = blocks * (c + 1) / chunks_; b < end; ++b)
                    elements_->run(b * block, std::min(block, elements_->count() - b * block), n, operands, carries,
                                   targets, own);
            };
            if (pool && chunks_ > 1)
                pool->parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t c = begin; c < end; ++c) run_chunk(c);
                });
            else
                for (std::int64_t c = 0; c < chunks_; ++c) run_chunk(c);
        }
        done += n;
        const auto go_on = [&](auto& place) {
            if (place.at) place.at = place.of(n);
        };
        for (std::size_t c = 0; c < p_.carried; ++c) {
            carries[c].first = carries[c].last;
            go_on(carries[c].each);
        }
        for (std::size_t k = p_.carried; k < p_.carried + p_.sliced; ++k) go_on(operands[k]);
        for (std::size_t r = 0; r < p_.results.size(); ++r) go_on(targets[r]);
    }
    return done;
}

// Makes the tapes of a loop of those of its bodies.
class loop_part_maker {
public:
    loop_part_maker(loop_program& loop, loop_part& part, int arguments) :
        loop_(loop), part_(part), arguments_(arguments) {}

    // Result `output` of a body as the next output, which is `result` of the loop.
    void add(const body_tape& from, int output, int result) {
        tape needed = from.code;
        needed.output_count = 1;
        needed.outputs[0] = from.code.outputs[output];
        for (int o = 1; o < from.code.output_count; ++o) needed.outputs[o] = tape_output{};
        needed = without_dead_code(needed);
        tape& t = part_.code;
        int reg[max_tape_length];
        append_tape(
            t, needed, reg, [&](int i) { return input(from.operands[static_cast<std::size_t>(i)]); },
            [&](int c) { return constant(from, c); });
        t.add_output(reg[needed.outputs[0].reg], needed.outputs[0].type);
        part_.results.push_back(result);
    }

private:
    int input(const body_tape::operand& o) {
        int operand = o.argument;
        if (operand < 0) {
            const auto at = std::find(loop_.constants.begin(), loop_.constants.end(), o.constant);
            operand = arguments_ + static_cast<int>(at - loop_.constants.begin());
            if (at == loop_.constants.end()) {
                loop_.constants.push_back(o.constant);
                loop_.operands.push_back(o.type);
            }
        }
        const auto at = std::find(part_.operands.begin(), part_.operands.end(), operand);
        const auto known = static_cast<int>(at - part_.operands.begin());
        if (at != part_.operands.end()) return part_.code.emit_input(known);
        part_.operands.push_back(operand);
        return part_.code.emit_input(part_.code.add_input(o.type.element));
    }
    int constant(const body_tape& from, int c) {
        const auto [at, is_new] = constants_.try_emplace({&from, c}, 0);
        if (is_new) {
            at->second = part_.code.add_constant(from.code.constants[c]);
            part_.constants.push_back(from.constants[static_cast<std::size_t>(c)]);
        }
        return at->second;
    }

    loop_program& loop_;
    loop_part& part_;
    const int arguments_;
    std::map<std::pair<const body_tape*, int>, int> constants_;
};

TENON_INLINE std::unique_ptr<const tape_loop> tape_loop::make(const body_tape* condition, const body_tape* of,
                                                              type_list arguments,
                                                              const std::vector<tensor_type>& results,
                                                              std::size_t carried, std::size_t sliced, int threads) {
    if (!of) return nullptr;
    loop_program p;
    p.operands.assign(arguments.begin(), arguments.end());
    p.results = results;
    p.carried = carried;
    p.sliced = sliced;
    loop_part_maker uniform(p, p.uniform, arguments.size()), elements(p, p.elements, arguments.size());
    if (condition) uniform.add(*condition, 0, -1);
    for (std::size_t r = 0; r < results.size(); ++r)
        (results[r].extents.elements() == 1 ? uniform : elements).add(*of, static_cast<int>(r), static_cast<int>(r));
    for (loop_part* part : {&p.uniform, &p.elements}) {
        if (part->code.overfull) return nullptr;
        if (part->code.output_count > 0) part->code = without_dead_code(part->code);
    }
    return make(std::move(p), threads);
}

} // namespace tenon::detail
