#pragma once

#include <cstdint>

#include <tenon/core/fault.hpp>
#include <tenon/tape/tape.hpp>

/// The space that a fused kernel walks through: the broadcast shape of its operands with its dimensions merged.

namespace tenon::detail {

/// Neighbouring dimensions that every operand either has both or repeats both are one; dimensions of 1 are gone.
/// What is left is rows (all but the last dimension) of cols elements.
struct fused_layout {
    struct operand {
        std::int64_t strides[max_rank]{}; ///< in elements; 0 where the operand is repeated
        std::int64_t elements = 1;
        bool full = true; ///< has every dimension
    };
    operand operands[max_tape_inputs];
    std::int64_t sizes[max_rank]{1};
    std::int64_t rows = 1;
    std::int64_t cols = 1;
    int rank = 1;

    std::int64_t elements() const noexcept { return rows * cols; }
    bool repeats_cols(int i) const noexcept { return operands[i].strides[rank - 1] == 0; }

    /// Position of operand i's first element in row `row`.
    std::int64_t row_offset(int i, std::int64_t row) const noexcept {
        std::int64_t offset = 0;
        for (int d = rank - 2; d >= 0; --d) {
            offset += row % sizes[d] * operands[i].strides[d];
            row /= sizes[d];
        }
        return offset;
    }
};

/// The operands' sizes are numbers that broadcast.
inline fused_layout make_layout(type_list inputs) {
    fused_layout l;
    extents shape;
    for (const tensor_type& t : inputs) shape = broadcast(shape, t.extents).extents;
    const int n = inputs.size();
    std::uint32_t patterns[max_rank]{};
    l.rank = 0;
    for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d].size == 1) continue;
        std::uint32_t repeated = 0;
        for (int i = 0; i < n; ++i) {
            const extents& e = inputs[i].extents;
            const int at = d - (shape.rank() - e.rank());
            if (at < 0 || e[at].size == 1) repeated |= std::uint32_t{1} << i;
        }
        if (l.rank > 0 && patterns[l.rank - 1] == repeated) {
            l.sizes[l.rank - 1] *= shape[d].size;
        } else {
            patterns[l.rank] = repeated;
            l.sizes[l.rank++] = shape[d].size;
        }
    }
    if (l.rank == 0) {
        l.sizes[0] = 1;
        l.rank = 1;
    }
    for (int i = 0; i < n; ++i) {
        fused_layout::operand& o = l.operands[i];
        for (int d = l.rank - 1; d >= 0; --d) {
            const bool repeated = (patterns[d] >> i & 1U) != 0;
            o.strides[d] = repeated ? 0 : o.elements;
            if (repeated) o.full = false;
            else o.elements *= l.sizes[d];
        }
    }
    l.cols = l.sizes[l.rank - 1];
    for (int d = 0; d + 1 < l.rank; ++d) l.rows *= l.sizes[d];
    return l;
}

} // namespace tenon::detail
