#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/kernel/strided_copy.hpp>
#include <tenon/kernel/thread_pool.hpp>
#include <tenon/ops/indexing.hpp>
#include <tenon/ops/kernels/rows.hpp>

/// The CPU kernels of ops/indexing.hpp.

namespace tenon {

namespace detail {

inline void row_major_steps(const extents& sizes, std::int64_t* steps) {
    std::int64_t step = 1;
    for (int i = sizes.rank(); i-- > 0; step *= sizes[i].size) steps[i] = step;
}

/// The bits of a number in an element type, at the low end.
inline std::uint64_t bits_of_number(double value, element_type e) {
    std::uint64_t bits = 0;
    const auto set = [&](auto v) { std::memcpy(&bits, &v, sizeof v); };
    switch (e) {
    case element_type::float32: set(static_cast<float>(value)); break;
    case element_type::float64: set(value); break;
    case element_type::float16: set(half(value)); break;
    case element_type::bfloat16: set(bfloat16(value)); break;
    case element_type::boolean: set(value != 0); break;
    case element_type::uint64:
        set(value >= 9223372036854775808.0 ? static_cast<std::uint64_t>(value)
                                           : static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
        break;
    default: set(static_cast<std::int64_t>(value)); // the low bytes of an integer are the narrower one
    }
    return bits;
}

template <class T> void fill_elements(void* to, std::uint64_t bits, std::int64_t begin, std::int64_t end) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    T* p = static_cast<T*>(to);
    for (std::int64_t i = begin; i < end; ++i) p[i] = value;
}

inline void fill_memory(void* to, std::int64_t n, std::size_t element_bytes, std::uint64_t bits, thread_pool* pool) {
    const auto some = [&](std::int64_t begin, std::int64_t end) {
        std::byte* p = static_cast<std::byte*>(to) + static_cast<std::size_t>(begin) * element_bytes;
        if (bits == 0) std::memset(p, 0, static_cast<std::size_t>(end - begin) * element_bytes);
        else if (element_bytes == 1) fill_elements<std::uint8_t>(to, bits, begin, end);
        else if (element_bytes == 2) fill_elements<std::uint16_t>(to, bits, begin, end);
        else if (element_bytes == 4) fill_elements<std::uint32_t>(to, bits, begin, end);
        else fill_elements<std::uint64_t>(to, bits, begin, end);
    };
    if (pool) pool->parallel_for(n, 131072, some);
    else if (n > 0) some(0, n);
}

/// A copy between a part of one tensor and all of another, after the rest of the larger one has been filled.
class placed_copy_kernel final : public kernel {
public:
    placed_copy_kernel(strided_copy copy, std::size_t element_bytes, std::int64_t from_offset, std::int64_t to_offset,
                       std::int64_t filled, std::uint64_t bits) :
        copy_(copy),
        bytes_(element_bytes),
        from_offset_(from_offset),
        to_offset_(to_offset),
        filled_(filled),
        bits_(bits) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (filled_ > 0) fill_memory(r.out[0], filled_, bytes_, bits_, r.pool);
        copy_.run(r.input<std::byte>(0) + from_offset_ * static_cast<std::int64_t>(bytes_),
                  r.output<std::byte>(0) + to_offset_ * static_cast<std::int64_t>(bytes_), r.pool);
    }
    double cost() const override { return 40 + 0.2 * static_cast<double>(copy_.elements() + filled_); }

private:
    strided_copy copy_;
    std::size_t bytes_;
    std::int64_t from_offset_, to_offset_;
    std::int64_t filled_; // elements of the output, 0 where the copy writes them all
    std::uint64_t bits_;
};

/// x's slice and a tensor of the slice's sizes: copied from the slice, or into it (then the rest of x is zero).
inline kernel_pointer prepare_slice(const slice_op::attributes& a, const tensor_type& x, const extents& part,
                                    bool into) {
    std::int64_t x_steps[max_rank]{}, part_steps[max_rank]{}, offset = 0;
    row_major_steps(x.extents, x_steps);
    row_major_steps(part, part_steps);
    copied_dimension dims[max_rank];
    for (int i = 0; i < part.rank(); ++i) {
        const range r = a.of(i);
        const std::int64_t in_x = r.step * x_steps[i];
        if (part[i].size > 0) offset += bound_range(r, x.extents[i]).first * x_steps[i];
        dims[i] = {part[i].size, into ? part_steps[i] : in_x, into ? in_x : part_steps[i]};
    }
    const std::size_t bytes = size_of(x.element);
    return std::make_unique<placed_copy_kernel>(strided_copy(dims, part.rank(), bytes), bytes, into ? 0 : offset,
                                                into ? offset : 0, into ? x.extents.elements() : 0, 0);
}

/// What gather and its gradient share: x seen as [outer, size, inner].
struct gather_layout {
    std::int64_t outer = 1, size, inner = 1;
    row_indices indices;
    std::int64_t count;
    int axis;
    std::string node;

    gather_layout(const kernel_setup& s, int given_axis, const extents& x, const tensor_type& index_type) :
        indices(index_type), count(indices.count), axis(axis_of(given_axis, x.rank())), node(s.node.name) {
        for (int i = 0; i < axis; ++i) outer *= x[i].size;
        size = x[axis].size;
        for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i].size;
    }
    std::int64_t index(const void* data, std::int64_t i) const { return indices.at(data, i); }
    void check(const void* data) const {
        if (const std::int64_t i = indices.first_outside(data, size); i >= 0)
            throw invalid_argument_error("gather (" + node + "): index " + indices.shown(data, i) +
                                         " is out of range for axis " + std::to_string(axis) + " of size " +
                                         std::to_string(size));
    }
};

class gather_kernel final : public kernel {
public:
    explicit gather_kernel(const kernel_setup& s) :
        l_(s, decode<gather_op::attributes>(s.attrs).axis, s.inputs[0].extents, s.inputs[1]),
        row_bytes_(static_cast<std::size_t>(l_.inner) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        l_.check(r.in[1]);
        if (!r.out[0] || row_bytes_ == 0) return;
        const std::byte* x = r.input<std::byte>(0);
        std::byte* out = r.output<std::byte>(0);
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t from = i / l_.count * l_.size + l_.index(r.in[1], i % l_.count);
                const std::byte* at = x + static_cast<std::size_t>(from) * row_bytes_;
                std::byte* to = out + static_cast<std::size_t>(i) * row_bytes_;
                // Single elements are too short for a call.
                if (row_bytes_ == 4) std::memcpy(to, at, 4);
                else if (row_bytes_ == 8) std::memcpy(to, at, 8);
                else std::memcpy(to, at, row_bytes_);
            }
        };
        const std::int64_t n = l_.outer * l_.count;
        if (r.pool) r.pool->parallel_for(n, 1 + 131072 / static_cast<std::int64_t>(row_bytes_ + 8), rows);
        else rows(0, n);
    }
    double cost() const override {
        return 50 + static_cast<double>(l_.outer * l_.count) * (3 + 0.1 * static_cast<double>(row_bytes_));
    }

private:
    gather_layout l_;
    std::size_t row_bytes_;
};

/// 16-bit floats are added up in float, in scratch.
template <class T> class gather_gradient_kernel final : public kernel {
    static constexpr bool small = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
    using C = std::conditional_t<small, float, T>;

public:
    explicit gather_gradient_kernel(const kernel_setup& s) :
        l_(s, decode<gather_op::attributes>(s.attrs).axis, s.inputs[2].extents, s.inputs[1]) {}
    void run(const kernel_run& r) override {
        l_.check(r.in[1]);
        if (!r.out[0]) return;
        const T* g = r.input<T>(0);
        T* out = r.output<T>(0);
        C* sums;
        if constexpr (small) sums = reinterpret_cast<C*>(r.scratch);
        else sums = out;
        // Each thread has rows of its own and looks at all indices: the order of additions is always the same.
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin * l_.inner; i < end * l_.inner; ++i) sums[i] = C{};
            for (std::int64_t o = begin / (l_.size ? l_.size : 1); o * l_.size < end; ++o)
                for (std::int64_t i = 0; i < l_.count; ++i) {
                    const std::int64_t row = o * l_.size + l_.index(r.in[1], i);
                    if (row < begin || row >= end) continue;
                    const T* from = g + (o * l_.count + i) * l_.inner;
                    C* to = sums + row * l_.inner;
                    for (std::int64_t k = 0; k < l_.inner; ++k) to[k] = static_cast<C>(to[k] + static_cast<C>(from[k]));
                }
            if constexpr (small)
                for (std::int64_t i = begin * l_.inner; i < end * l_.inner; ++i) out[i] = T(sums[i]);
        };
        const std::int64_t n = l_.outer * l_.size;
        const std::int64_t work = l_.outer * (l_.size + l_.count) * l_.inner;
        if (r.pool && work > 65536) r.pool->parallel_for(n, 1 + n * 32768 / work, rows);
        else if (n > 0) rows(0, n);
    }
    std::size_t scratch_bytes() const override {
        return small ? static_cast<std::size_t>(l_.outer * l_.size * l_.inner) * sizeof(C) : 0;
    }
    double cost() const override { return 50 + 0.3 * static_cast<double>(l_.outer * (l_.size + l_.count) * l_.inner); }

private:
    gather_layout l_;
};

class sum_equal_rows_kernel final : public kernel {
public:
    explicit sum_equal_rows_kernel(const kernel_setup& s) :
        indices_(s.inputs[1]),
        once_(decode<sum_equal_rows_op::attributes>(s.attrs).once),
        inner_(indices_.count == 0 ? 0 : s.inputs[0].extents.elements() / indices_.count),
        bytes_(size_of(s.inputs[0].element)),
        add_(s.inputs[0].element, opcode::add) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || inner_ == 0) return;
        const equal_indices equal(indices_, r.in[1], r.scratch);
        const auto* in = r.input<std::byte>(0);
        auto* out = r.output<std::byte>(0);
        const std::size_t row_bytes = static_cast<std::size_t>(inner_) * bytes_;
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                if (equal.is_first(i)) sum(equal, i, in, out, row_bytes);
        };
        if (r.pool) r.pool->parallel_for(indices_.count, 1 + 131072 / static_cast<std::int64_t>(row_bytes + 8), rows);
        else rows(0, indices_.count);
    }
    std::size_t scratch_bytes() const override { return equal_indices::bytes(indices_.count); }
    double cost() const override {
        return 50 + static_cast<double>(indices_.count) * (8 + 0.3 * static_cast<double>(inner_));
    }
    bool may_share(int i, int) const override { return i == 0; }

private:
    // The rows of a chain lie where their sums go: a stretch of all is read before it is written.
    void sum(const equal_indices& equal, std::int64_t first, const std::byte* in, std::byte* out,
             std::size_t row_bytes) const {
        const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(row) * row_bytes; };
        if (equal.after(first) < 0) {
            if (in != out) std::memcpy(out + at(first), in + at(first), row_bytes);
            return;
        }
        alignas(64) std::byte sums[row_instruction::block * 8];
        for (std::int64_t col = 0; col < inner_; col += row_instruction::block) {
            const std::int64_t n = std::min(inner_ - col, row_instruction::block);
            const std::size_t begin = static_cast<std::size_t>(col) * bytes_;
            const std::size_t size = static_cast<std::size_t>(n) * bytes_;
            add_.load(sums, in + at(first) + begin, n);
            for (std::int64_t i = equal.after(first); i >= 0; i = equal.after(i))
                add_.apply_wide(sums, in + at(i) + begin, n);
            std::byte* const to = out + at(first) + begin;
            add_.store(to, sums, n);
            for (std::int64_t i = equal.after(first); i >= 0; i = equal.after(i)) {
                if (once_) std::memset(out + at(i) + begin, 0, size);
                else std::memcpy(out + at(i) + begin, to, size);
            }
        }
    }

    row_indices indices_;
    bool once_;
    std::int64_t inner_;
    std::size_t bytes_;
    row_instruction add_;
};

template <class T> class tile_gradient_kernel final : public kernel {
    using C = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

public:
    explicit tile_gradient_kernel(const kernel_setup& s) :
        sizes_(s.inputs[1].extents), counts_(decode<tile_op::attributes>(s.attrs).counts) {
        row_major_steps(s.inputs[0].extents, steps_);
        for (int i = 0; i < counts_.count; ++i) repetitions_ *= counts_[i];
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const T* g = r.input<T>(0);
        T* out = r.output<T>(0);
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                std::int64_t at = 0, rest = i;
                for (int d = sizes_.rank(); d-- > 0; rest /= sizes_[d].size) at += rest % sizes_[d].size * steps_[d];
                C sum{};
                for (std::int64_t k = 0; k < repetitions_; ++k) {
                    std::int64_t shift = 0;
                    rest = k;
                    for (int d = sizes_.rank(); d-- > 0; rest /= counts_[d])
                        shift += rest % counts_[d] * sizes_[d].size * steps_[d];
                    sum = static_cast<C>(sum + static_cast<C>(g[at + shift]));
                }
                out[i] = static_cast<T>(sum);
            }
        };
        const std::int64_t n = sizes_.elements();
        if (r.pool) r.pool->parallel_for(n, 1 + 8192 / (repetitions_ + 1), some);
        else if (n > 0) some(0, n);
    }
    double cost() const override { return 50 + 4.0 * static_cast<double>(sizes_.elements() * (1 + repetitions_)); }

private:
    extents sizes_;
    index_list counts_;
    std::int64_t steps_[max_rank]{};
    std::int64_t repetitions_ = 1;
};

template <class T> class one_hot_kernel final : public kernel {
public:
    explicit one_hot_kernel(const kernel_setup& s) : type_(s.outputs[0]) {
        const auto a = decode<one_hot_op::attributes>(s.attrs);
        const int axis = axis_of(a.axis, type_.extents.rank());
        depth_ = a.depth;
        for (int i = axis + 1; i < type_.extents.rank(); ++i) inner_ *= type_.extents[i].size;
        count_ = s.inputs[0].extents.elements();
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::size_t bytes = size_of(type_.element);
        fill_memory(r.out[0], type_.extents.elements(), bytes, 0, r.pool);
        const std::uint64_t unit = bits_of_number(1, type_.element);
        for (std::int64_t i = 0; i < count_; ++i) {
            const T k = r.input<T>(0)[i];
            if (!(k >= T{0} && static_cast<std::uint64_t>(k) < static_cast<std::uint64_t>(depth_))) continue;
            const std::int64_t at = (i / inner_ * depth_ + static_cast<std::int64_t>(k)) * inner_ + i % inner_;
            std::memcpy(r.output<std::byte>(0) + static_cast<std::size_t>(at) * bytes, &unit, bytes);
        }
    }
    double cost() const override {
        return 50 + 2 * static_cast<double>(count_) + 0.1 * static_cast<double>(count_ * depth_);
    }

private:
    tensor_type type_;
    std::int64_t depth_ = 0, inner_ = 1, count_ = 0;
};

template <template <class> class Kernel> kernel_pointer prepare_for_numbers(element_type e, const kernel_setup& s) {
    switch (e) {
    case element_type::float32: return std::make_unique<Kernel<float>>(s);
    case element_type::float64: return std::make_unique<Kernel<double>>(s);
    case element_type::float16: return std::make_unique<Kernel<half>>(s);
    case element_type::bfloat16: return std::make_unique<Kernel<bfloat16>>(s);
    // Sums of integers wrap around: signed and unsigned ones have the same bits.
    case element_type::int8:
    case element_type::uint8: return std::make_unique<Kernel<std::uint8_t>>(s);
    case element_type::int16:
    case element_type::uint16: return std::make_unique<Kernel<std::uint16_t>>(s);
    case element_type::int32:
    case element_type::uint32: return std::make_unique<Kernel<std::uint32_t>>(s);
    default: return std::make_unique<Kernel<std::uint64_t>>(s);
    }
}

} // namespace detail

TENON_INLINE kernel_pointer slice_op::prepare(const kernel_setup& s) {
    return detail::prepare_slice(decode<attributes>(s.attrs), s.inputs[0], s.outputs[0].extents, false);
}
TENON_INLINE kernel_pointer slice_gradient_op::prepare(const kernel_setup& s) {
    return detail::prepare_slice(decode<attributes>(s.attrs), s.inputs[1], s.inputs[0].extents, true);
}
TENON_INLINE kernel_pointer reverse_op::prepare(const kernel_setup& s) {
    const extents& x = s.inputs[0].extents;
    const detail::axis_set axes = detail::axes_or_all(decode<attributes>(s.attrs).axes, x.rank());
    slice_op::attributes a;
    for (int i = 0; i < x.rank(); ++i) {
        a.begins.push_back(unbounded);
        a.ends.push_back(unbounded);
        a.steps.push_back(axes.has(i) ? -1 : 1);
    }
    return detail::prepare_slice(a, s.inputs[0], x, false);
}
TENON_INLINE kernel_pointer gather_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::gather_kernel>(s);
}
TENON_INLINE kernel_pointer gather_gradient_op::prepare(const kernel_setup& s) {
    return detail::prepare_for_numbers<detail::gather_gradient_kernel>(s.inputs[0].element, s);
}
TENON_INLINE kernel_pointer sum_equal_rows_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::sum_equal_rows_kernel>(s);
}
TENON_INLINE kernel_pointer pad_op::prepare(const kernel_setup& s) {
    const attributes a = decode<attributes>(s.attrs);
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    std::int64_t x_steps[max_rank]{}, out_steps[max_rank]{}, offset = 0;
    detail::row_major_steps(x, x_steps);
    detail::row_major_steps(out, out_steps);
    detail::copied_dimension dims[max_rank];
    for (int i = 0; i < x.rank(); ++i) {
        dims[i] = {x[i].size, x_steps[i], out_steps[i]};
        if (i < a.before.count) offset += a.before[i] * out_steps[i];
    }
    const element_type e = s.inputs[0].element;
    const bool changes = !(x == out);
    return std::make_unique<detail::placed_copy_kernel>(detail::strided_copy(dims, x.rank(), size_of(e)), size_of(e), 0,
                                                        x.elements() == 0 ? 0 : offset, changes ? out.elements() : 0,
                                                        detail::bits_of_number(a.value, e));
}
TENON_INLINE kernel_pointer tile_op::prepare(const kernel_setup& s) {
    const index_list counts = decode<attributes>(s.attrs).counts;
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    std::int64_t x_steps[max_rank]{}, out_steps[max_rank]{};
    detail::row_major_steps(x, x_steps);
    detail::row_major_steps(out, out_steps);
    detail::copied_dimension dims[2 * max_rank];
    for (int i = 0; i < x.rank(); ++i) {
        dims[2 * i] = {counts[i], 0, out_steps[i] * x[i].size};
        dims[2 * i + 1] = {x[i].size, x_steps[i], out_steps[i]};
    }
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<detail::placed_copy_kernel>(detail::strided_copy(dims, 2 * x.rank(), bytes), bytes, 0, 0, 0,
                                                        0);
}
TENON_INLINE kernel_pointer tile_gradient_op::prepare(const kernel_setup& s) {
    return detail::prepare_for_numbers<detail::tile_gradient_kernel>(s.inputs[0].element, s);
}
TENON_INLINE kernel_pointer one_hot_op::prepare(const kernel_setup& s) {
    using detail::one_hot_kernel;
    switch (s.inputs[0].element) {
    case element_type::int8: return std::make_unique<one_hot_kernel<std::int8_t>>(s);
    case element_type::int16: return std::make_unique<one_hot_kernel<std::int16_t>>(s);
    case element_type::int32: return std::make_unique<one_hot_kernel<std::int32_t>>(s);
    case element_type::int64: return std::make_unique<one_hot_kernel<std::int64_t>>(s);
    case element_type::uint8: return std::make_unique<one_hot_kernel<std::uint8_t>>(s);
    case element_type::uint16: return std::make_unique<one_hot_kernel<std::uint16_t>>(s);
    case element_type::uint32: return std::make_unique<one_hot_kernel<std::uint32_t>>(s);
    default: return std::make_unique<one_hot_kernel<std::uint64_t>>(s);
    }
}

} // namespace tenon
