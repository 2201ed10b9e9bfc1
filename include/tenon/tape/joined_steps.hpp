#pragma once

#include <tenon/tape/vjp.hpp>

/// Which instructions the interpreter runs together, as one step: what is between them stays in a register. They are rounded as
/// they are one by one.

namespace tenon::detail {

/// A tree of instructions, as a tape has them, on float32 and all the same on float64; its root is the last.
struct joined_tree {
    static constexpr int most = 10, most_operands = 4;
    instruction code[most]{}; ///< first the operands, all of them
    int uses[most]{};         ///< by how many other instructions
    int length = 0;
    int operands = 0; ///< that are needed, the first ones

    constexpr int root() const noexcept { return length - 1; }
    /// True where one is a function that takes longer than a loop's own instructions.
    constexpr bool is_long() const noexcept {
        for (int r = 0; r < length; ++r)
            if (code[r].op == opcode::exp || code[r].op == opcode::sigmoid || code[r].op == opcode::tanh) return true;
        return false;
    }
};

/// All of them. Of several that fit, the first is taken.
class joined_tree_list {
public:
    static constexpr int most = 64;

    constexpr joined_tree_list() {
        using namespace slope;
        tape t;
        for (int k = 0; k < joined_tree::most_operands; ++k) t.emit_input(t.add_input(element_type::float32));
        const auto word = [&](int r) { return term{t, element_type::float32, r}; };
        const term a = word(0), b = word(1), c = word(2), d = word(3);
        // What flows through functions, also where that is a product.
        put(select(c > 0, a * b, 0));
        put(a * b * (c * (1 - c)));
        put(a * b * (1 - c * c));
        put(select(b > 0, a, 0));
        put(a * (b * (1 - b)));
        put(a * (1 - b * b));
        // A function of a sum, a difference or a product, and its product.
        constexpr opcode firsts[] = {opcode::add, opcode::subtract, opcode::multiply};
        for (const opcode f : {opcode::exp, opcode::sigmoid, opcode::tanh, opcode::relu}) {
            for (const opcode first : firsts) {
                if (f != opcode::relu) put(a.apply(first, b.reg).apply(f) * c);
                put(a.apply(first, b.reg).apply(f));
            }
            if (f != opcode::relu) put(fused(a, b, c).apply(f) * d);
            put(fused(a, b, c).apply(f));
            if (f != opcode::relu) put(a.apply(f) * b);
            if (f != opcode::relu) put(a.apply(f).apply(f)); // few elements wait for memory longer than for either
        }
        for (const opcode compared : {opcode::equal, opcode::not_equal, opcode::less, opcode::less_equal,
                                      opcode::greater, opcode::greater_equal})
            put(select(a.apply(compared, b.reg), c, d));
        // Two of + - *. The operands of + and * may change places.
        put((a - b) * (a - b));
        for (const opcode first : firsts) {
            for (const opcode second : firsts) put(a.apply(first, b.reg).apply(second, c.reg));
            put(c - a.apply(first, b.reg));
        }
        put(-(a * b));
    }

    constexpr int size() const noexcept { return size_; }
    constexpr const joined_tree& operator[](int n) const noexcept { return trees_[n]; }

private:
    static constexpr slope::term fused(slope::term a, slope::term b, slope::term c) {
        return {a.to, a.type, a.to.emit(opcode::fma, a.type, a.reg, b.reg, c.reg)};
    }
    // What has been written since the last one.
    constexpr void put(slope::term last) {
        tape& t = last.to;
        joined_tree& tree = trees_[size_++];
        tree.length = t.length;
        for (int r = 0; r < t.length; ++r) {
            tree.code[r] = t.code[r];
            for (int k = 0; k < register_operands(t.code[r]); ++k) ++tree.uses[operand_of(t.code[r], k)];
        }
        while (tree.operands < joined_tree::most_operands && tree.uses[tree.operands] > 0) ++tree.operands;
        t.length = joined_tree::most_operands;
    }

    joined_tree trees_[most]{};
    int size_ = 0;
};

inline constexpr joined_tree_list joined_trees;

} // namespace tenon::detail
