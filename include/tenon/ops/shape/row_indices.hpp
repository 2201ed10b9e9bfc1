#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <tenon/core/fault.hpp>
#include <tenon/expr/steps.hpp>

/// Rows of a tensor that are named by indices: what the kernels of gather, its gradient, scatter and fused_rows share.

namespace tenon::detail {

/// A tensor of int32 or int64 in a step.
struct row_indices {
    extents sizes;
    element_type element;
    std::int64_t count;

    explicit row_indices(const tensor_type& t) : sizes(t.extents), element(t.element), count(t.extents.elements()) {}

    std::int64_t at(const void* indices, std::int64_t i) const {
        return element == element_type::int32 ? static_cast<const std::int32_t*>(indices)[i]
                                              : static_cast<const std::int64_t*>(indices)[i];
    }
    /// The place of the first that is not in 0 .. size - 1, or -1.
    std::int64_t first_outside(const void* indices, std::int64_t size) const {
        if (element == element_type::int32) return first_outside(static_cast<const std::int32_t*>(indices), size);
        return first_outside(static_cast<const std::int64_t*>(indices), size);
    }
    /// "7 at [2, 1]"
    std::string shown(const void* indices, std::int64_t i) const { return shown(at(indices, i), i); }
    /// Of index number i with this value.
    std::string shown(std::int64_t value, std::int64_t i) const {
        std::string place;
        for (int d = sizes.rank(); d-- > 0; i /= sizes[d].size)
            place = std::to_string(i % sizes[d].size) + (place.empty() ? "" : ", " + place);
        return std::to_string(value) + " at [" + place + "]";
    }
    /// Bits that are spread evenly, the high ones best.
    static std::uint64_t hash(std::int64_t index) { return static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u; }

private:
    template <class I> std::int64_t first_outside(const I* indices, std::int64_t size) const {
        for (std::int64_t i = 0; i < count; ++i)
            if (static_cast<std::uint64_t>(std::int64_t{indices[i]}) >= static_cast<std::uint64_t>(size)) return i;
        return -1;
    }
};

// What a step fails with that is given an index out of range, `shown` as above.
inline std::string outside_axis(const std::string& who, const std::string& shown, int axis, std::int64_t size) {
    return who + ": index " + shown + " is out of range for axis " + std::to_string(axis) + " of size " +
           std::to_string(size);
}
inline std::string outside_variable(const std::string& update, const std::string& shown, std::int64_t rows,
                                    const std::string& variable) {
    return update + ": index " + shown + " is out of range for the " + std::to_string(rows) + " rows of variable \"" +
           variable + "\"";
}
inline std::string changed_without_value(const std::string& update, const std::string& variable) {
    return update + ": variable \"" + variable +
           "\" is changed before it has a value; run initialize_variables() or its initializer() first";
}

/// Which of n indices are equal: chains of their places, each in order, in memory given. Takes time proportional to n.
class equal_indices {
public:
    static std::size_t bytes(std::int64_t n) {
        return static_cast<std::size_t>(2 * n + slots(n)) * sizeof(std::int64_t);
    }
    equal_indices(const row_indices& indices, const void* data, std::byte* memory) :
        next_(reinterpret_cast<std::int64_t*>(memory)), last_(next_ + indices.count) {
        const std::int64_t n = indices.count, size = slots(n);
        std::int64_t* const first = last_ + n; // a hash table of the places of the first
        for (std::int64_t s = 0; s < size; ++s) first[s] = -1;
        int shift = 64;
        for (std::int64_t s = size; s > 1; s /= 2) --shift;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t index = indices.at(data, i);
            auto s = static_cast<std::int64_t>(row_indices::hash(index) >> shift);
            while (first[s] >= 0 && indices.at(data, first[s]) != index) s = (s + 1) & (size - 1);
            next_[i] = last_[i] = -1;
            if (first[s] < 0) {
                first[s] = last_[i] = i;
                continue;
            }
            next_[last_[first[s]]] = i;
            last_[first[s]] = i;
        }
    }
    bool is_first(std::int64_t i) const { return last_[i] >= 0; }
    /// The place of the next equal index, or -1.
    std::int64_t after(std::int64_t i) const { return next_[i]; }

private:
    static std::int64_t slots(std::int64_t n) {
        std::int64_t size = 4;
        while (size < 2 * n) size *= 2;
        return size;
    }
    std::int64_t *next_, *last_; // last_: of a first, the place of the last; else -1
};

/// Stretches of rows of any element type, computed with in their compute type: 16-bit floats in float.
class row_instruction {
public:
    static constexpr std::int64_t block = 256;

    row_instruction(element_type e, opcode op) :
        bytes_(size_of(compute_type(e))), step_(find_step(simd::best_isa(), op, compute_type(e))), copy_(find_copy(e)) {
        if (compute_type(e) == e) return;
        load_ = find_load(simd::best_isa(), e);
        store_ = find_store(simd::best_isa(), e);
    }
    /// to[k] = to[k] op from[k]
    void apply(std::byte* to, const std::byte* from, std::int64_t n) const {
        if (!load_) return apply_step(step_, to, bytes_, n, {to, bytes_}, {from, bytes_});
        alignas(64) std::byte values[block * 8];
        for (std::int64_t k = 0; k < n; k += block) {
            const std::int64_t some = n - k < block ? n - k : block;
            load(values, to + 2 * k, some);
            apply_wide(values, from + 2 * k, some);
            store(to + 2 * k, values, some);
        }
    }
    /// The same in parts, of at most `block` elements of `values` in the compute type.
    void load(std::byte* values, const std::byte* from, std::int64_t n) const {
        if (load_) apply_step(load_, values, bytes_, n, {from, 2});
        else copy_(values, from, nullptr, nullptr, nullptr, n);
    }
    void apply_wide(std::byte* values, const std::byte* from, std::int64_t n) const {
        if (!load_) return apply(values, from, n);
        alignas(64) float wide[block];
        apply_step(load_, wide, sizeof(float), n, {from, 2});
        apply_step(step_, values, bytes_, n, {values, bytes_}, {wide, sizeof(float)});
    }
    void store(std::byte* to, const std::byte* values, std::int64_t n) const {
        if (store_) apply_step(store_, to, 2, n, {values, bytes_});
        else copy_(to, values, nullptr, nullptr, nullptr, n);
    }

private:
    std::size_t bytes_; // of an element in its compute type
    step_function step_, copy_, load_ = nullptr, store_ = nullptr;
};

/// Sums of the rows whose indices are equal, in their order: in the compute type, floats some at a time and their sums in double.
class equal_row_sums {
public:
    equal_row_sums(element_type e, std::int64_t inner) :
        inner_(inner),
        bytes_(size_of(e)),
        add_(e, opcode::add),
        run_(compute_type(e) == element_type::float32 ? 128 : INT64_MAX) {}

    /// Of a chain of several, a stretch of all rows after another. `row_at(i)` is the row of index number i; when the bytes begin .. begin + size
    /// of the sum lie in `to`, which may be the first row, `stored(begin, size)` is called.
    template <class RowAt, class Stored>
    void add_up(const equal_indices& equal, std::int64_t first, RowAt row_at, std::byte* to, Stored stored) const {
        alignas(64) std::byte sums[row_instruction::block * 8];
        for (std::int64_t col = 0; col < inner_; col += row_instruction::block) {
            const std::int64_t n = std::min(inner_ - col, row_instruction::block);
            const std::size_t begin = static_cast<std::size_t>(col) * bytes_;
            double totals[row_instruction::block];
            for (std::int64_t i = first; i >= 0;) {
                const bool is_first = i == first;
                add_.load(sums, row_at(i) + begin, n);
                i = equal.after(i);
                for (std::int64_t k = 1; i >= 0 && k < run_; ++k, i = equal.after(i))
                    add_.apply_wide(sums, row_at(i) + begin, n);
                if (is_first && i < 0) break;
                if (is_first) std::fill_n(totals, n, 0.0);
                auto* const some = reinterpret_cast<float*>(sums);
                for (std::int64_t k = 0; k < n; ++k) totals[k] += static_cast<double>(some[k]);
                for (std::int64_t k = 0; i < 0 && k < n; ++k) some[k] = static_cast<float>(totals[k]);
            }
            add_.store(to + begin, sums, n);
            stored(begin, static_cast<std::size_t>(n) * bytes_);
        }
    }

private:
    std::int64_t inner_;
    std::size_t bytes_;
    row_instruction add_;
    std::int64_t run_; // rows that are added in float; sums of such in double
};

} // namespace tenon::detail
