#include <cuda/tapes/interpreted.hpp>

#include <utility>
#include <vector>

namespace tenon::cuda::tapes {

namespace {

// A literal as the bits that a register has.
std::uint64_t register_bits(const instruction& i) {
    const number n = i.literal();
    if (i.type == element_type::float32) return std::bit_cast<std::uint32_t>(n.to<float>());
    if (i.type == element_type::float64) return std::bit_cast<std::uint64_t>(n.to<double>());
    return i.bits;
}

// Each value is in a register from where it is computed to where it is last read; a register is used again from there on. Sets `to`, and makes
// registers of the operands, which are numbers of instructions.
void give_registers(const tape& t, interpreter_call& c) {
    std::vector<int> last(static_cast<std::size_t>(t.length), -1), of(static_cast<std::size_t>(t.length)), free;
    for (int r = 0; r < t.length; ++r)
        for (int k = 0; k < register_operands(t.code[r]); ++k)
            last[static_cast<std::size_t>(operand_of(t.code[r], k))] = r;
    for (int o = 0; o < t.output_count; ++o) last[static_cast<std::size_t>(t.outputs[o].reg)] = t.length;
    for (int r = 0; r < t.length; ++r) {
        interpreter_step& step = c.code[r];
        std::uint8_t* const operands[] = {&step.a, &step.b, &step.c};
        for (int k = 0; k < register_operands(t.code[r]); ++k) {
            const auto from = static_cast<std::size_t>(operand_of(t.code[r], k));
            *operands[k] = static_cast<std::uint8_t>(of[from]);
            if (std::exchange(last[from], last[from] == r ? -1 : last[from]) == r) free.push_back(of[from]);
        }
        int& to = of[static_cast<std::size_t>(r)];
        if (free.empty()) to = c.register_count++;
        else to = free.back(), free.pop_back();
        step.to = static_cast<std::uint8_t>(to);
        if (last[static_cast<std::size_t>(r)] < 0) free.push_back(to); // nobody reads it
    }
    for (int o = 0; o < t.output_count; ++o)
        c.output_registers[o] = static_cast<std::uint8_t>(of[static_cast<std::size_t>(t.outputs[o].reg)]);
}

} // namespace

interpreter_call interpret_pass(const pass& p, const schedule& s, const std::vector<std::int64_t>& constants) {
    const tape& t = p.code;
    const form& f = p.shape;
    interpreter_call c;
    c.kept = static_cast<std::uint64_t>(p.kept);
    c.summed = static_cast<std::uint64_t>(p.summed);
    c.lanes = static_cast<std::uint64_t>(s.lanes);
    c.chunks = static_cast<std::uint64_t>(s.chunks);
    for (int d = 0; d < f.dims; ++d) {
        const int at = d < f.kept ? max_rank - f.kept + d : interpreter_call::most_dims - f.dims + d;
        c.dims[at].size = static_cast<std::uint64_t>(p.sizes[static_cast<std::size_t>(d)]);
        for (int g = 0; g < f.groups; ++g)
            c.strides[g][at] = static_cast<std::uint64_t>(p.strides[static_cast<std::size_t>(g * f.dims + d)]);
    }
    for (int k = 0; k < t.constant_count; ++k)
        c.values[k] = static_cast<std::uint64_t>(constants[static_cast<std::size_t>(k)]);
    int next_value = t.constant_count;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        interpreter_step& step = c.code[r];
        step.op = static_cast<std::uint8_t>(i.op);
        step.result = static_cast<std::uint8_t>(i.type);
        element_type type = i.type;
        if (i.op == opcode::input) type = t.inputs[i.a];
        else if (register_operands(i) > 0)
            type = compute_type(t.code[operand_of(i, i.op == opcode::select ? 1 : 0)].type);
        step.type = static_cast<std::uint8_t>(type);
        step.a = static_cast<std::uint8_t>(i.a);
        step.b = static_cast<std::uint8_t>(i.b);
        step.c = static_cast<std::uint8_t>(i.c);
        if (i.op == opcode::literal) {
            step.a = static_cast<std::uint8_t>(next_value);
            c.values[next_value++] = register_bits(i);
        }
    }
    c.length = static_cast<std::uint8_t>(t.length);
    c.group_count = static_cast<std::uint8_t>(f.groups);
    c.output_count = static_cast<std::uint8_t>(t.output_count);
    c.sum_count = static_cast<std::uint8_t>(f.count(fate::summed, t));
    c.total_count = static_cast<std::uint8_t>(f.count(fate::totalled, t));
    for (int i = 0; i < t.input_count; ++i) c.group_of[i] = f.group_of[i];
    for (int o = 0; o < t.output_count; ++o) {
        c.output_types[o] = static_cast<std::uint8_t>(t.outputs[o].type);
        c.output_fates[o] = static_cast<std::uint8_t>(f.fates[o]);
    }
    give_registers(t, c);
    return c;
}

} // namespace tenon::cuda::tapes
