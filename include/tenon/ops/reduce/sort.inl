#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/ordered_key.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/reduce/last_axis.hpp>

/// The CPU kernels of ops/reduce/sort.hpp.

namespace tenon::detail {

/// A stable sort of items by the digits of their keys, the lowest first: n times as many steps as a key has digits, whatever the numbers.
namespace radix {

// Of many items; of few, for which as many counts as these have would take longer than the items.
constexpr int wide_digit = 11, narrow_digit = 8;
template <class K> constexpr int passes(int digit) { return (8 * static_cast<int>(sizeof(K)) + digit - 1) / digit; }

// What is sorted: a key alone; a key of 32 bits above its place; a key and its place.
struct placed {
    std::uint64_t key;
    std::uint32_t place;
};
inline std::uint32_t key_of(std::uint32_t item, std::uint32_t*) { return item; }
inline std::uint64_t key_of(std::uint64_t item, std::uint64_t*) { return item; }
inline std::uint32_t key_of(std::uint64_t item, std::uint32_t*) { return static_cast<std::uint32_t>(item >> 32); }
inline std::uint64_t key_of(const placed& item, std::uint64_t*) { return item.key; }

/// Keys of type K, by digits of so many bits. `counts` holds passes<K>(Digit) << Digit numbers. Which of the two memories the sorted
/// items are in.
template <int Digit, class K, class Item> Item* sort(Item* from, Item* to, std::uint32_t n, std::uint32_t* counts) {
    constexpr int digits = 1 << Digit, count = passes<K>(Digit);
    const auto key = [](const Item& item) { return key_of(item, static_cast<K*>(nullptr)); };
    std::fill_n(counts, count * digits, 0U);
    for (std::uint32_t i = 0; i < n; ++i) {
        K k = key(from[i]);
        for (int p = 0; p < count; ++p, k >>= Digit) ++counts[p * digits + static_cast<int>(k & (digits - 1))];
    }
    for (int p = 0; p < count; ++p) {
        std::uint32_t* const at = counts + p * digits;
        const int shift = p * Digit;
        const auto digit = [&](const Item& item) { return static_cast<int>((key(item) >> shift) & (digits - 1)); };
        if (at[digit(from[0])] == n) continue; // all have one digit
        std::uint32_t sum = 0;
        for (int d = 0; d < digits; ++d) sum += std::exchange(at[d], sum);
        for (std::uint32_t i = 0; i < n; ++i) to[at[digit(from[i])]++] = from[i];
        std::swap(from, to);
    }
    return from;
}

/// Below so many items comparisons take less time than digits, and narrow digits less than wide ones.
constexpr std::uint32_t few = 64, many = 2000;

} // namespace radix

/// Lines along the axis are sorted as keys, alone where nobody asks for their places.
template <class T> class sort_kernel final : public kernel {
    using K = ordered_key_t<T>;
    using placed = std::conditional_t<sizeof(K) == 4, std::uint64_t, radix::placed>;

public:
    explicit sort_kernel(const kernel_setup& s) {
        const auto a = decode<sort_op::attributes>(s.attrs);
        const extents& x = s.inputs[0].extents;
        const int axis = axis_of(a.axis, x.rank());
        descending_ = a.descending;
        n_ = static_cast<std::uint32_t>(x[axis].size);
        for (int d = axis + 1; d < x.rank(); ++d) inner_ *= x[d].size;
        lines_ = n_ == 0 ? 0 : x.elements() / n_;
        pieces_ = std::max<std::int64_t>(
            1, std::min({lines_, static_cast<std::int64_t>(s.threads), 1 + static_cast<std::int64_t>(cost() / 50000)}));
    }
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(pieces_) * piece_bytes(); }
    double cost() const override {
        const double element =
            n_ < radix::few ? 3.0 * static_cast<double>(std::bit_width(n_)) : 4.0 * radix::passes<K>(radix::wide_digit);
        return 30 + element * static_cast<double>(lines_) * n_;
    }
    void run(const kernel_run& r) override {
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p) {
                std::byte* const memory = r.scratch + static_cast<std::size_t>(p) * piece_bytes();
                for (std::int64_t line = lines_ * p / pieces_; line < lines_ * (p + 1) / pieces_; ++line) {
                    const std::int64_t at = line / inner_ * inner_ * n_ + line % inner_;
                    if (r.out[1]) sort_places(r, at, memory);
                    else if (r.out[0]) sort_values(r.input<T>(0) + at, r.output<T>(0) + at, memory);
                }
            }
        };
        if (r.pool && pieces_ > 1) r.pool->parallel_for(pieces_, 1, some);
        else some(0, pieces_);
    }

private:
    static constexpr std::size_t counts_bytes =
        (radix::passes<K>(radix::wide_digit) << radix::wide_digit) * sizeof(std::uint32_t);
    std::size_t piece_bytes() const { return (counts_bytes + 2 * n_ * sizeof(placed) + 63) / 64 * 64; }
    template <class Item> Item* sorted(Item* items, std::byte* counts) const {
        auto* const numbers = reinterpret_cast<std::uint32_t*>(counts);
        if (n_ >= radix::many) return radix::sort<radix::wide_digit, K>(items, items + n_, n_, numbers);
        if (n_ >= radix::few) return radix::sort<radix::narrow_digit, K>(items, items + n_, n_, numbers);
        std::sort(items, items + n_, [](const Item& a, const Item& b) { // equal items are the same
            if constexpr (std::is_same_v<Item, radix::placed>)
                return a.key < b.key || (a.key == b.key && a.place < b.place);
            else return a < b;
        });
        return items;
    }

    void sort_values(const T* x, T* out, std::byte* memory) const {
        K* const keys = reinterpret_cast<K*>(memory + counts_bytes);
        bool are_alike = false; // there are numbers that have the key of another
        for (std::uint32_t i = 0; i < n_; ++i) {
            keys[i] = ordered_key(x[i * inner_], descending_);
            if constexpr (!std::is_integral_v<T>) are_alike |= has_key_of_others(x[i * inner_]);
        }
        const K* const in_order = sorted(keys, memory);
        for (std::uint32_t i = 0; i < n_; ++i) out[i * inner_] = number_of_key<T>(in_order[i], descending_);
        if constexpr (!std::is_integral_v<T>) {
            if (!are_alike) return;
            // Zeros and NaNs, as they come.
            const auto first = [&](const T& of) {
                return std::lower_bound(in_order, in_order + n_, ordered_key(of, descending_)) - in_order;
            };
            std::int64_t next_zero = first(T(0.0F)), next_nan = first(T(std::numeric_limits<float>::quiet_NaN()));
            for (std::uint32_t i = 0; i < n_; ++i) {
                const T v = x[i * inner_];
                if (static_cast<float>(v) == 0 && ordered_key(v, false) == ordered_key(T(0.0F), false))
                    out[next_zero++ * inner_] = v;
                else if (v != v) out[next_nan++ * inner_] = v;
            }
        }
    }
    // -0, and NaNs.
    static bool has_key_of_others(const T& v) {
        using U = bits_of_size<T>;
        const U bits = std::bit_cast<U>(v),
                magnitude = static_cast<U>(bits & static_cast<U>(static_cast<U>(~U{}) >> 1));
        return magnitude > bits_of_infinity<T>() || (magnitude == 0 && bits != 0);
    }

    void sort_places(const kernel_run& r, std::int64_t at, std::byte* memory) const {
        const T* const x = r.input<T>(0) + at;
        T* const out = r.out[0] ? r.output<T>(0) + at : nullptr;
        std::int64_t* const places = r.output<std::int64_t>(1) + at;
        placed* const items = reinterpret_cast<placed*>(memory + counts_bytes);
        for (std::uint32_t i = 0; i < n_; ++i) {
            const K key = ordered_key(x[i * inner_], descending_);
            if constexpr (sizeof(K) == 4) items[i] = (static_cast<std::uint64_t>(key) << 32) | i;
            else items[i] = {key, i};
        }
        const placed* const in_order = sorted(items, memory);
        for (std::uint32_t i = 0; i < n_; ++i) {
            std::uint32_t place;
            if constexpr (sizeof(K) == 4) place = static_cast<std::uint32_t>(in_order[i]);
            else place = in_order[i].place;
            places[i * inner_] = place;
            if (out) out[i * inner_] = x[place * inner_];
        }
    }

    bool descending_ = false;
    std::uint32_t n_ = 0;
    std::int64_t inner_ = 1, lines_ = 0, pieces_ = 1;
};

template <class T> class searchsorted_kernel final : public kernel {
public:
    explicit searchsorted_kernel(const kernel_setup& s) :
        right_(decode<searchsorted_op::attributes>(s.attrs).right),
        count_(s.inputs[1].extents.elements()),
        n_(s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size) {
        const extents &rows = s.inputs[0].extents, &values = s.inputs[1].extents;
        per_row_ = rows.rank() == 1 ? std::max<std::int64_t>(1, count_) : values[values.rank() - 1].size;
    }
    double cost() const override { return 20 + value_cost() * static_cast<double>(count_); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        parallel_for(r.pool, count_, 1 + static_cast<std::int64_t>(20000 / value_cost()),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i)
                             r.output<std::int64_t>(0)[i] = place(r.input<T>(0) + i / per_row_ * n_, r.input<T>(1)[i]);
                     });
    }

private:
    double value_cost() const { return 4.0 * static_cast<double>(1 + std::bit_width(static_cast<std::uint64_t>(n_))); }
    std::int64_t place(const T* row, const T& value) const {
        std::int64_t first = 0;
        for (std::int64_t left = n_; left > 0;) {
            const std::int64_t half = left / 2;
            const bool is_before = right_ ? !is_above(row[first + half], value) : is_above(value, row[first + half]);
            first = is_before ? first + half + 1 : first;
            left = is_before ? left - half - 1 : half;
        }
        return first;
    }

    bool right_;
    std::int64_t count_, n_, per_row_;
};

} // namespace tenon::detail
