#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/fault.hpp>
#include <tenon/op/op_definition.hpp>
#include <tenon/tape/tape.hpp>

/// The space that a fused kernel walks through: the broadcast shape of its operands with its dimensions merged.

namespace tenon::detail {

/// An operand that is read where it lies in a larger tensor.
struct operand_part {
    bool is_part = false;
    regular_part at; ///< strides by dimension of the operand
};

/// Neighbouring dimensions that every operand either has both or repeats both are one; dimensions of 1 are gone.
/// What is left is rows (all but the last dimension) of cols elements.
struct fused_layout {
    struct operand {
        std::int64_t strides[max_rank]{}; ///< in elements, were it dense; 0 where the operand is repeated
        std::int64_t elements = 1;
        bool full = true;              ///< has every dimension
        bool dense = true;             ///< is no part of another tensor
        std::int64_t first = 0;        ///< where it is read
        std::int64_t read[max_rank]{}; ///< the same of a part
    };
    operand operands[max_tape_inputs];
    std::int64_t sizes[max_rank]{1};
    std::int64_t rows = 1;
    std::int64_t cols = 1;
    int rank = 1;

    std::int64_t elements() const noexcept { return rows * cols; }
    bool repeats_cols(int i) const noexcept { return operands[i].strides[rank - 1] == 0; }

    /// Position of operand i's first element in row `row`.
    std::int64_t row_offset(int i, std::int64_t row) const noexcept { return along(operands[i].strides, row); }
    /// The same of where it is read.
    std::int64_t read_offset(int i, std::int64_t row) const noexcept {
        return operands[i].first + along(operands[i].read, row);
    }

private:
    std::int64_t along(const std::int64_t* strides, std::int64_t row) const noexcept {
        std::int64_t offset = 0;
        for (int d = rank - 2; d >= 0; --d) {
            offset += row % sizes[d] * strides[d];
            row /= sizes[d];
        }
        return offset;
    }
};

/// The operands' sizes are numbers that broadcast. `parts`: empty, or one for each operand.
inline fused_layout make_layout(type_list inputs, const std::vector<operand_part>& parts = {}) {
    fused_layout l;
    const auto is_part = [&](int i) { return !parts.empty() && parts[static_cast<std::size_t>(i)].is_part; };
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
        // A part has gaps between some dimensions.
        bool joins = l.rank > 0 && patterns[l.rank - 1] == repeated;
        std::int64_t read[max_tape_inputs]{};
        for (int i = 0; i < n; ++i) {
            if (!is_part(i) || (repeated >> i & 1U) != 0) continue;
            read[i] = parts[static_cast<std::size_t>(i)].at.strides[d - (shape.rank() - inputs[i].extents.rank())];
            joins = joins && l.operands[i].read[l.rank - 1] == read[i] * shape[d].size;
        }
        if (joins) {
            l.sizes[l.rank - 1] *= shape[d].size;
        } else {
            patterns[l.rank] = repeated;
            l.sizes[l.rank++] = shape[d].size;
        }
        for (int i = 0; i < n; ++i) l.operands[i].read[l.rank - 1] = read[i];
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
            if (!is_part(i)) o.read[d] = o.strides[d];
        }
        if (!is_part(i)) continue;
        o.dense = false;
        o.first = parts[static_cast<std::size_t>(i)].at.first;
    }
    l.cols = l.sizes[l.rank - 1];
    for (int d = 0; d + 1 < l.rank; ++d) l.rows *= l.sizes[d];
    return l;
}

/// Whether all parts are dense along the last dimension, or repeated there.
inline bool may_be_read_in_place(const fused_layout& l) {
    for (const fused_layout::operand& o : l.operands)
        if (!o.dense && o.strides[l.rank - 1] != 0 && o.read[l.rank - 1] != 1) return false;
    return true;
}

} // namespace tenon::detail
