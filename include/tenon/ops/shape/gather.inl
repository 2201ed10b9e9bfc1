#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/shape/row_indices.hpp>
#include <tenon/simd/ordered_sum.hpp>

/// The CPU kernels of ops/shape/gather.hpp.

namespace tenon {

namespace detail {

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
            throw invalid_argument_error(outside_axis("gather (" + node + ")", indices.shown(data, i), axis, size));
    }
};

class gather_kernel final : public kernel {
public:
    explicit gather_kernel(const kernel_setup& s) :
        l_(s, decode<gather_op::attributes>(s.attrs).axis, s.inputs[0].extents, s.inputs[1]),
        row_bytes_(static_cast<std::size_t>(l_.inner) * size_of(s.inputs[0].element)),
        texts_(s.inputs[0].element == element_type::string) {}
    void run(const kernel_run& r) override {
        l_.check(r.in[1]);
        if (!r.out[0] || l_.inner == 0 || l_.count == 0) return;
        if (texts_) {
            std::string* to = r.output<std::string>(0);
            for (std::int64_t o = 0; o < l_.outer; ++o)
                for (std::int64_t i = 0; i < l_.count; ++i)
                    to = std::copy_n(r.input<std::string>(0) + (o * l_.size + l_.index(r.in[1], i)) * l_.inner,
                                     l_.inner, to);
            return;
        }
        const std::byte* x = r.input<std::byte>(0);
        std::byte* out = r.output<std::byte>(0);
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t first = begin / l_.count;
            const std::byte* of = x + static_cast<std::size_t>(first * l_.size) * row_bytes_;
            for (std::int64_t i = begin, k = begin - first * l_.count; i < end; ++i, ++k) {
                if (k == l_.count) k = 0, of += static_cast<std::size_t>(l_.size) * row_bytes_;
                const std::byte* at = of + static_cast<std::size_t>(l_.index(r.in[1], k)) * row_bytes_;
                std::byte* to = out + static_cast<std::size_t>(i) * row_bytes_;
                // Single elements are too short for a call.
                if (row_bytes_ == 4) std::memcpy(to, at, 4);
                else if (row_bytes_ == 8) std::memcpy(to, at, 8);
                else std::memcpy(to, at, row_bytes_);
            }
        };
        const std::int64_t n = l_.outer * l_.count;
        parallel_for(r.pool, n, 1 + 131072 / static_cast<std::int64_t>(row_bytes_ + 8), rows);
    }
    double cost() const override {
        return 50 + static_cast<double>(l_.outer * l_.count) * (3 + 0.1 * static_cast<double>(row_bytes_));
    }

private:
    gather_layout l_;
    std::size_t row_bytes_;
    bool texts_;
};

/// Rows are added in the order of their indices, some at once. Each lies anywhere: those of the next sum are fetched meanwhile.
template <class T> class gather_sum_kernel final : public kernel {
public:
    explicit gather_sum_kernel(const kernel_setup& s) :
        l_(s, 0, s.inputs[0].extents, s.inputs[1]), a_(decode<gather_sum_op::attributes>(s.attrs)) {
        const extents& i = s.inputs[1].extents;
        for (int axis = i.rank() - a_.axes; axis < i.rank(); ++axis) rows_ *= i[axis].size;
    }
    void run(const kernel_run& r) override {
        l_.check(r.in[1]);
        if (!r.out[0] || l_.inner == 0 || rows_ == 0) return;
        const auto sums = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) sum(r, s * rows_, s + 1 < end, r.output<T>(0) + s * l_.inner);
        };
        const std::int64_t n = l_.count / rows_;
        parallel_for(r.pool, n, 1 + 32768 / (rows_ * (l_.inner + 8)), sums);
    }
    double cost() const override {
        return 50 + static_cast<double>(l_.count) * (5 + 0.1 * static_cast<double>(l_.inner));
    }

private:
    void sum(const kernel_run& r, std::int64_t first, bool has_next, T* to) const {
        constexpr std::int64_t most = 64; // at a time
        const scattered_rows<T> rows{r.input<T>(0), r.in[1], l_.indices.element == element_type::int64, l_.inner};
        for (std::int64_t i = 0; i < rows_; i += most)
            add_rows(rows, first + i, std::min(most, rows_ - i), has_next ? rows_ : 0, i > 0, to);
        if (!a_.mean) return;
        for (std::int64_t k = 0; k < l_.inner; ++k) to[k] /= static_cast<T>(rows_);
    }

    gather_layout l_;
    gather_sum_op::attributes a_;
    std::int64_t rows_ = 1; // of a sum
};

/// 16-bit floats are added up in float, in scratch; what many indices name is added up in double, so that it is as good as what few do.
template <class T> class gather_gradient_kernel final : public kernel {
    static constexpr bool small = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
    using C = std::conditional_t<small, float, T>;
    static constexpr bool widens = std::is_same_v<C, float>;
    static constexpr std::uint8_t many = 128;

public:
    explicit gather_gradient_kernel(const kernel_setup& s) :
        l_(s, decode<gather_op::attributes>(s.attrs).axis, s.inputs[2].extents, s.inputs[1]) {}
    void run(const kernel_run& r) override {
        l_.check(r.in[1]);
        if (!r.out[0]) return;
        std::atomic<std::int32_t> found = 0; // rows that many indices name
        // Each thread has rows of its own and looks at all indices: the order of additions is always the same.
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            const auto of = [&]<class I>(const I* indices) {
                if (l_.inner == 1) add_rows<true>(r, indices, begin, end, found);
                else add_rows<false>(r, indices, begin, end, found);
            };
            if (l_.indices.element == element_type::int32) of(r.input<std::int32_t>(1));
            else of(r.input<std::int64_t>(1));
        };
        const std::int64_t n = all_rows();
        const std::int64_t work = l_.outer * (l_.size + l_.count) * l_.inner;
        if (r.pool && work > 65536) r.pool->parallel_for(n, 1 + n * 32768 / work, rows);
        else if (n > 0) rows(0, n);
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(most_wide() * 8 + (small ? all_rows() * l_.inner * 4 : 0) +
                                        (most_wide() > 0 ? all_rows() : 0));
    }
    double cost() const override { return 50 + 0.3 * static_cast<double>(l_.outer * (l_.size + l_.count) * l_.inner); }

private:
    std::int64_t all_rows() const { return l_.outer * l_.size; }
    // Doubles of the rows that more than `many` indices name, at most.
    std::int64_t most_wide() const { return widens ? l_.outer * (l_.count / many) * l_.inner : 0; }

    // Whether no more than `many` name any 32 of the rows begin .. end - 1: counts of those are few enough for the first-level cache.
    template <class I>
    bool all_have_few(const I* indices, std::uint8_t* times, std::int64_t begin, std::int64_t end) const {
        constexpr std::int64_t together = 32;
        std::fill_n(times, (end - begin + together - 1) / together, std::uint8_t{0});
        for (std::int64_t o = begin / l_.size; o * l_.size < end; ++o)
            for (std::int64_t i = 0; i < l_.count; ++i)
                if (const std::int64_t row = o * l_.size + indices[i]; row >= begin && row < end)
                    if (times[(row - begin) / together]++ == many) return false;
        return true;
    }
    // Rows begin .. end - 1. How many indices name each is counted as they are added up; of one that more than `many` name the sum becomes
    // the number of its row of doubles, to which all are added in a second pass.
    template <bool Single, class I>
    void add_rows(const kernel_run& r, const I* indices, std::int64_t begin, std::int64_t end,
                  std::atomic<std::int32_t>& found) const {
        const std::int64_t inner = Single ? 1 : l_.inner;
        const T* const g = r.input<T>(0);
        T* const out = r.output<T>(0);
        auto* const wide = reinterpret_cast<double*>(r.scratch);
        C* sums;
        if constexpr (small) sums = reinterpret_cast<C*>(wide + most_wide());
        else sums = out;
        const auto for_each = [&](auto&& f) {
            for (std::int64_t o = begin / l_.size; o * l_.size < end; ++o) {
                const T* from = g + o * l_.count * inner;
                const std::int64_t rows = o * l_.size;
                for (std::int64_t i = 0; i < l_.count; ++i, from += inner)
                    if (const std::int64_t row = rows + indices[i]; row >= begin && row < end) f(row, from);
            }
        };
        const auto add = [&](auto* to, const T* from) {
            using S = std::remove_reference_t<decltype(*to)>;
            for (std::int64_t k = 0; k < inner; ++k) to[k] = static_cast<S>(to[k] + static_cast<S>(from[k]));
        };
        auto* const times = reinterpret_cast<std::uint8_t*>(wide + most_wide()) + small * all_rows() * inner * 4;
        std::fill(sums + begin * inner, sums + end * inner, C{});
        if (most_wide() == 0 || all_have_few(indices, times + begin, begin, end))
            for_each([&](std::int64_t row, const T* from) { add(sums + row * inner, from); });
        else if constexpr (widens) {
            const auto wide_row = [&](std::int64_t row) {
                std::int32_t number;
                std::memcpy(&number, sums + row * inner, sizeof number);
                return wide + number * inner;
            };
            std::fill(times + begin, times + end, std::uint8_t{0});
            bool any_wide = false;
            for_each([&](std::int64_t row, const T* from) {
                std::uint8_t& n = times[row];
                if (n < many) add(sums + row * inner, from);
                if (n > many || n++ < many) return;
                const std::int32_t number = found++;
                std::memcpy(sums + row * inner, &number, sizeof number);
                std::fill_n(wide_row(row), inner, 0.0);
                any_wide = true;
            });
            if (any_wide)
                for_each([&](std::int64_t row, const T* from) {
                    if (times[row] > many) add(wide_row(row), from);
                });
            for (std::int64_t row = begin; any_wide && row < end; ++row)
                if (times[row] > many)
                    std::transform(wide_row(row), wide_row(row) + inner, sums + row * inner,
                                   [](double sum) { return static_cast<C>(sum); });
        }
        if constexpr (small)
            for (std::int64_t i = begin * inner; i < end * inner; ++i) out[i] = T(sums[i]);
    }

    gather_layout l_;
};

class sum_equal_rows_kernel final : public kernel {
public:
    explicit sum_equal_rows_kernel(const kernel_setup& s) :
        indices_(s.inputs[1]),
        once_(decode<sum_equal_rows_op::attributes>(s.attrs).once),
        inner_(indices_.count == 0 ? 0 : s.inputs[0].extents.elements() / indices_.count),
        row_bytes_(static_cast<std::size_t>(inner_) * size_of(s.inputs[0].element)),
        sums_(s.inputs[0].element, inner_) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || inner_ == 0) return;
        const equal_indices equal(indices_, r.in[1], r.scratch);
        const auto* in = r.input<std::byte>(0);
        auto* out = r.output<std::byte>(0);
        parallel_for(r.pool, indices_.count, 1 + 131072 / static_cast<std::int64_t>(row_bytes_ + 8),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) // what is alone in its place is there
                             if ((in != out || equal.after(i) >= 0) && equal.is_first(i)) sum(equal, i, in, out);
                     });
    }
    std::size_t scratch_bytes() const override { return equal_indices::bytes(indices_.count); }
    double cost() const override {
        return 50 + static_cast<double>(indices_.count) * (8 + 0.3 * static_cast<double>(inner_));
    }
    bool may_share(int i, int) const override { return i == 0; }

private:
    void sum(const equal_indices& equal, std::int64_t first, const std::byte* in, std::byte* out) const {
        const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(row) * row_bytes_; };
        std::byte* const to = out + at(first);
        if (equal.after(first) < 0) {
            if (in != out) std::memcpy(to, in + at(first), row_bytes_);
            return;
        }
        sums_.add_up(
            equal, first, [&](std::int64_t i) { return in + at(i); }, to,
            [&](std::size_t begin, std::size_t size) {
                for (std::int64_t i = equal.after(first); i >= 0; i = equal.after(i)) {
                    if (once_) std::memset(out + at(i) + begin, 0, size);
                    else std::memcpy(out + at(i) + begin, to + begin, size);
                }
            });
    }

    row_indices indices_;
    bool once_;
    std::int64_t inner_;
    std::size_t row_bytes_;
    equal_row_sums sums_;
};

} // namespace detail

TENON_KERNEL(gather, detail::gather_kernel);
TENON_INLINE kernel_pointer gather_sum_op::prepare(const kernel_setup& s) {
    return detail::kernel_for<detail::gather_sum_kernel>(detail::element_list<float, double>{}, s.inputs[0].element, s);
}
TENON_INLINE const op_definition& gather_sum_op::definition() {
    static const op_definition made = detail::make_definition<gather_sum_op>();
    return made;
}
TENON_INLINE kernel_pointer gather_gradient_op::prepare(const kernel_setup& s) {
    const element_type e = detail::without_sign(s.inputs[0].element);
    return detail::kernel_for<detail::gather_gradient_kernel>(detail::signless_list{}, e, s);
}
TENON_KERNEL(sum_equal_rows, detail::sum_equal_rows_kernel);

} // namespace tenon
