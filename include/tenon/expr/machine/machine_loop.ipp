#pragma once

#include <bit>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>

#include <sys/mman.h>

#include <tenon/expr/machine/machine_loop.hpp>

namespace tenon::detail {

// Bytes of x86-64, as the manuals of Intel and AMD have them (vectors: "EVEX", 512 bits, float32).
class machine_code {
public:
    struct form {
        int map, prefix, opcode;
    };
    static constexpr form load{1, 0, 0x10}, store{1, 0, 0x11}, copy{1, 0, 0x28}, square_root{1, 0, 0x51},
        exclusive_or{1, 0, 0x57}, add{1, 0, 0x58}, multiply{1, 0, 0x59}, subtract{1, 0, 0x5C}, least{1, 0, 0x5D},
        divide{1, 0, 0x5E}, largest{1, 0, 0x5F}, compare{1, 0, 0xC2}, repeat_memory{2, 1, 0x18}, choose{2, 1, 0x65},
        repeat_integer{2, 1, 0x7C}, add_product{2, 1, 0xB8};
    // General registers by their numbers.
    static constexpr int rax = 0, rcx = 1, rbx = 3, rbp = 5, r12 = 12;

    std::vector<std::uint8_t> bytes;

    void put(std::initializer_list<int> more) {
        for (const int b : more) bytes.push_back(static_cast<std::uint8_t>(b));
    }
    void put_distance(std::size_t to) { // from behind it
        for (std::size_t d = to - (bytes.size() + 4), k = 0; k < 4; ++k) put({static_cast<int>(d >> 8 * k & 0xFF)});
    }
    /// to = f(a, b), of vector registers; where mask k is 0, `to` stays, or choose takes a.
    void vector(form f, int to, int a, int b, int k = 0) {
        put({0x62, off(to, 3) << 7 | off(b, 4) << 6 | off(b, 3) << 5 | off(to, 4) << 4 | f.map,
             (~a & 15) << 3 | 4 | f.prefix, 0x40 | off(a, 4) << 3 | k, f.opcode, 0xC0 | (to & 7) << 3 | (b & 7)});
    }
    /// A vector register from or to what lies at base + rcx.
    void memory(form f, int reg, int base) {
        put({0x62, off(reg, 3) << 7 | 1 << 6 | off(base, 3) << 5 | off(reg, 4) << 4 | f.map, 0x78 | 4 | f.prefix, 0x48,
             f.opcode, 0x44 | (reg & 7) << 3, rcx << 3 | (base & 7), 0});
    }
    /// A general register from the array of pointers that rdi points to.
    void pointer(int to, int index) { put({0x48 | (to >> 3) << 2, 0x8B, 0x47 | (to & 7) << 3, 8 * index}); }
    void push(int reg) {
        if (reg >= 8) put({0x41});
        put({0x50 | (reg & 7)});
    }
    void pop(int reg) {
        if (reg >= 8) put({0x41});
        put({0x58 | (reg & 7)});
    }

private:
    static constexpr int off(int number, int bit) noexcept { return ~number >> bit & 1; }
};

// The loop of some instructions of a tape.
class machine_loop_writer {
public:
    machine_loop_writer(const tape& t, const register_set& code, const register_set& wanted,
                        const register_set& constants) :
        t_(t), code_(code), wanted_(wanted) {
        for (int r = 0; r < t_.length; ++r) vector_[r] = mask_[r] = last_[r] = none;
        find_places(constants);
    }

    /// Nothing where there are not enough registers.
    std::vector<std::uint8_t> write() {
        using m = machine_code;
        const auto count = static_cast<int>(places.size());
        out_.bytes.reserve(1024);
        if (count > machine_loop::most_places || count - constants_ > machine_loop::most_moving) return {};
        for (int p = constants_; p < count; ++p) {
            const int base = bases[p - constants_];
            if (base == m::rbx || base == m::rbp || base >= m::r12) out_.push(base);
        }
        out_.put({0x31, 0xC9}); // xor ecx, ecx
        for (int p = 0; p < constants_; ++p) {
            out_.pointer(m::rax, p);
            out_.memory(m::repeat_memory, vector_[places[at(p)]] = take(), m::rax);
        }
        if (uses(opcode::relu)) {
            zero_ = take();
            out_.vector(m::exclusive_or, zero_, zero_, zero_);
        }
        if (uses(opcode::negative)) {
            sign_ = take();
            out_.put({0xB8, 0, 0, 0, 0x80}); // mov eax, 1 << 31
            out_.vector(m::repeat_integer, sign_, 0, m::rax);
        }
        for (int p = constants_; p < count; ++p) out_.pointer(bases[p - constants_], p);
        out_.put({0x48, 0x83, 0xEE, 16, 0x48, 0xC1, 0xE6, 2}); // sub rsi, 16; shl rsi, 2: where the last pack lies
        const std::size_t top = out_.bytes.size();
        for (int r = 0; r < t_.length; ++r)
            if (code_[at(r)]) write_instruction(r);
        for (int p = count - results; p < count; ++p)
            out_.memory(m::store, vector_[places[at(p)]], bases[p - constants_]);
        out_.put({0x48, 0x83, 0xC1, 64, 0x48, 0x39, 0xF1, 0x0F, 0x86}); // add rcx, 64; cmp rcx, rsi; jbe top
        out_.put_distance(top);
        out_.put({0x48, 0x83, 0xE9, 64, 0x48, 0x39, 0xF1, 0x74, 8}); // sub rcx, 64; cmp rcx, rsi; je behind
        out_.put({0x48, 0x89, 0xF1, 0xE9});                          // mov rcx, rsi; jmp top
        out_.put_distance(top);
        out_.put({0xC5, 0xF8, 0x77}); // vzeroupper
        for (int p = count - 1; p >= constants_; --p) {
            const int base = bases[p - constants_];
            if (base == m::rbx || base == m::rbp || base >= m::r12) out_.pop(base);
        }
        out_.put({0xC3}); // ret
        return is_short_ ? std::vector<std::uint8_t>() : std::move(out_.bytes);
    }

    std::vector<std::int16_t> places;
    int results = 0;

private:
    static constexpr int none = -1;
    // Those that a function may change come first.
    static constexpr int bases[machine_loop::most_moving] = {0, 2, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};

    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
    bool uses(opcode op) const {
        for (int r = 0; r < t_.length; ++r)
            if (code_[at(r)] && t_.code[r].op == op) return true;
        return false;
    }

    void find_places(const register_set& constants) {
        register_set operands;
        for (int r = 0; r < t_.length; ++r) {
            if (!code_[at(r)]) continue;
            for (int k = 0; k < register_operands(t_.code[r]); ++k) {
                const int a = operand_of(t_.code[r], k);
                last_[a] = r;
                if (!code_[at(a)]) operands.set(at(a));
            }
        }
        const auto add = [&](const register_set& which) {
            for (int r = 0; r < t_.length; ++r)
                if (which[at(r)]) places.push_back(static_cast<std::int16_t>(r));
        };
        add(operands & constants);
        constants_ = static_cast<int>(places.size());
        add(operands & ~constants);
        const register_set stored = code_ & wanted_;
        add(stored);
        results = static_cast<int>(stored.count());
        for (int r = 0; r < t_.length; ++r)
            if (stored[at(r)] || constants[at(r)]) last_[r] = t_.length;
    }

    int take() {
        const int reg = std::countr_zero(free_);
        if (reg >= 32) is_short_ = true;
        free_ &= free_ - 1;
        return reg & 31;
    }
    int take_mask() {
        const int k = std::countr_zero(free_masks_);
        if (k >= 8) is_short_ = true;
        free_masks_ &= free_masks_ - 1;
        return k & 7;
    }
    // Register r of the tape, loaded where it is an operand that has not been yet.
    int value(int r) {
        if (vector_[r] == none) {
            std::size_t p = at(constants_);
            while (places[p] != r) ++p;
            out_.memory(machine_code::load, vector_[r] = take(), bases[p - at(constants_)]);
        }
        return vector_[r];
    }
    void free_after(int r) {
        const instruction& i = t_.code[r];
        for (int k = 0; k < register_operands(i); ++k) {
            const int a = operand_of(i, k);
            if (last_[a] != r) continue;
            if (mask_[a] >= 0) free_masks_ |= 1U << mask_[a];
            if (vector_[a] >= 0) free_ |= 1U << vector_[a];
            mask_[a] = vector_[a] = freed;
        }
    }

    void write_instruction(int r) {
        using m = machine_code;
        const instruction& i = t_.code[r];
        const int n = register_operands(i);
        const bool is_choice = i.op == opcode::select;
        const int a = is_choice ? mask_[i.a] : value(i.a), b = n > 1 ? value(i.b) : 0, c = n > 2 ? value(i.c) : 0;
        if (i.type == element_type::boolean) {
            out_.vector(m::compare, mask_[r] = take_mask(), a, b);
            out_.put({predicate(i.op)});
            free_after(r);
            return;
        }
        const bool onto_c = i.op == opcode::fma && last_[i.c] == r && c != a && c != b;
        const int to = onto_c ? c : take();
        switch (i.op) {
        case opcode::add: out_.vector(m::add, to, a, b); break;
        case opcode::subtract: out_.vector(m::subtract, to, a, b); break;
        case opcode::multiply: out_.vector(m::multiply, to, a, b); break;
        case opcode::divide: out_.vector(m::divide, to, a, b); break;
        case opcode::sqrt: out_.vector(m::square_root, to, 0, a); break;
        case opcode::negative: out_.vector(m::exclusive_or, to, sign_, a); break;
        case opcode::relu: out_.vector(m::largest, to, zero_, a); break;
        case opcode::fma:
            if (!onto_c) out_.vector(m::copy, to, 0, c);
            out_.vector(m::add_product, to, a, b);
            break;
        case opcode::select: out_.vector(m::choose, to, c, b, a); break;
        default: { // the least or the largest of two, which a NaN is
            const int is_number = take_mask();
            out_.vector(m::compare, is_number, a, a);
            out_.put({0});
            out_.vector(m::copy, to, 0, a);
            out_.vector(i.op == opcode::minimum ? m::least : m::largest, to, a, b, is_number);
            free_masks_ |= 1U << is_number;
        }
        }
        if (onto_c) vector_[i.c] = freed; // it is this one now
        free_after(r);
        vector_[r] = to;
    }
    static int predicate(opcode op) noexcept { // which raises no "invalid"; with a NaN only what differs is true
        switch (op) {
        case opcode::equal: return 0x00;
        case opcode::not_equal: return 0x04;
        case opcode::less: return 0x11;
        case opcode::less_equal: return 0x12;
        case opcode::greater: return 0x1E;
        default: return 0x1D;
        }
    }

    static constexpr int freed = -2;

    const tape& t_;
    const register_set code_, wanted_;
    machine_code out_;
    int constants_ = 0;
    int zero_ = 0, sign_ = 0;
    std::uint32_t free_ = ~0U, free_masks_ = 0xFE; // mask 0 is none
    bool is_short_ = false;                        // of registers
    int vector_[max_tape_length], mask_[max_tape_length];
    int last_[max_tape_length]; // the instruction that needs it last; none ends what is stored, and constants
};

// Kept for ever, each in a page of its own, since others may run what lies beside it. Nothing where the system refuses to run it.
inline machine_loop::function kept_machine_code(const std::vector<std::uint8_t>& code) {
    constexpr std::size_t most = 1024;
    static std::mutex mutex;
    static bool is_refused = false;
    static auto& known = *new std::map<std::vector<std::uint8_t>, machine_loop::function>;
    const std::lock_guard guard(mutex);
    if (const auto found = known.find(code); found != known.end()) return found->second;
    if (known.size() == most || is_refused) return nullptr;
    const auto made = known.emplace(code, nullptr).first;
    void* const page = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) std::memcpy(page, code.data(), code.size());
    is_refused = page == MAP_FAILED || ::mprotect(page, code.size(), PROT_READ | PROT_EXEC) != 0;
    if (!is_refused) made->second = reinterpret_cast<machine_loop::function>(page);
    else if (page != MAP_FAILED) (void)::munmap(page, code.size());
    return made->second;
}

TENON_INLINE bool has_machine_code(const tape& t, int r) noexcept {
    const instruction& i = t.code[r];
    const bool compares = info_of(i.op).group == opcode_group::comparison;
    if (compute_type(t.code[compares || i.op == opcode::select ? i.b : r].type) != element_type::float32) return false;
    switch (i.op) {
    case opcode::add:
    case opcode::subtract:
    case opcode::multiply:
    case opcode::divide:
    case opcode::fma:
    case opcode::sqrt:
    case opcode::negative:
    case opcode::relu:
    case opcode::minimum:
    case opcode::maximum:
    case opcode::select: return true;
    default: return compares;
    }
}

TENON_INLINE machine_loop write_machine_loop([[maybe_unused]] const tape& t, [[maybe_unused]] const register_set& code,
                                             [[maybe_unused]] const register_set& wanted,
                                             [[maybe_unused]] const register_set& constants) {
    machine_loop made;
#if defined(__x86_64__)
    machine_loop_writer writer(t, code, wanted, constants);
    if (const std::vector<std::uint8_t> bytes = writer.write(); !bytes.empty()) made.run = kept_machine_code(bytes);
    made.places = std::move(writer.places);
    made.results = static_cast<std::size_t>(writer.results);
#endif
    return made;
}

} // namespace tenon::detail
