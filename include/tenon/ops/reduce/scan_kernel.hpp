#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/op/kernel.hpp>

/// Running operations along an axis: one kernel for all of them, and what each keeps from element to element.

namespace tenon::detail {

/// Floats are kept in double, half and bfloat16 in float; integers in their own type, where they wrap around.
template <class T>
using running_t = std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 2, float, double>>;

// An operation: its inputs, the state at the start, a step over the next element of each input, and the result that a
// state stands for. `cost`: nanoseconds a step.

template <class T> struct running_sum {
    using element = T;
    using state = running_t<T>;
    static constexpr int inputs = 1;
    static constexpr double cost = 1;
    static state start() { return 0; }
    static void step(state& s, T x) { s = static_cast<state>(s + static_cast<state>(x)); }
    static T value(state s) { return static_cast<T>(s); }
};

template <class T> struct running_product {
    using element = T;
    using state = running_t<T>;
    static constexpr int inputs = 1;
    static constexpr double cost = 1;
    static state start() { return 1; }
    static void step(state& s, T x) {
        // What is shorter than int would become one, which must not overflow.
        if constexpr (std::is_integral_v<T>) s = static_cast<T>(1U * s * x);
        else s *= static_cast<state>(x);
    }
    static T value(state s) { return static_cast<T>(s); }
};

/// The largest element, or the least; NaN from the first NaN on.
template <class T, bool Largest> struct running_extreme {
    using element = T;
    using state = std::conditional_t<std::is_integral_v<T>, T, running_t<T>>;
    static constexpr int inputs = 1;
    static constexpr double cost = 1;
    static state start() {
        using limits = std::numeric_limits<state>;
        if constexpr (limits::has_infinity) return Largest ? -limits::infinity() : limits::infinity();
        else return Largest ? limits::lowest() : limits::max();
    }
    static void step(state& s, T x) {
        const state v = static_cast<state>(x);
        s = (Largest ? v > s : v < s) || v != v ? v : s;
    }
    static T value(state s) { return static_cast<T>(s); }
};
template <class T> using running_max = running_extreme<T, true>;
template <class T> using running_min = running_extreme<T, false>;

/// log(e^x[0] + ... + e^x[i]), as the largest x and the sum of e^(x - largest).
template <class T> struct running_logsumexp {
    using element = T;
    struct state {
        double largest, sum;
    };
    static constexpr int inputs = 1;
    static constexpr double cost = 8;
    static state start() { return {-std::numeric_limits<double>::infinity(), 0}; }
    static void step(state& s, T x) {
        const double v = static_cast<double>(x);
        if (v > s.largest) s = {v, 1 + s.sum * std::exp(s.largest - v)};
        else if (v == s.largest) s.sum += v == start().largest ? 0 : 1; // infinity - infinity is no number
        else if (v < s.largest) s.sum += std::exp(v - s.largest);
        else s = {v + s.largest, 1}; // NaN
    }
    static T value(const state& s) { return static_cast<T>(static_cast<running_t<T>>(s.largest + std::log(s.sum))); }
};

/// y[i] = x[i] + w[i] y[i - 1].
template <class T> struct running_recurrence {
    using element = T;
    using state = running_t<T>;
    static constexpr int inputs = 2;
    static constexpr double cost = 1.5;
    static state start() { return 0; }
    static void step(state& s, T x, T w) { s = static_cast<state>(x) + static_cast<state>(w) * s; }
    static T value(state s) { return static_cast<T>(s); }
};
/// y[i] = x[i] + w[i - 1] y[i - 1].
template <class T> struct running_recurrence_later {
    using element = T;
    struct state {
        running_t<T> sum, weight;
    };
    static constexpr int inputs = 2;
    static constexpr double cost = 1.5;
    static state start() { return {0, 0}; }
    static void step(state& s, T x, T w) {
        s = {static_cast<running_t<T>>(x) + s.weight * s.sum, static_cast<running_t<T>>(w)};
    }
    static T value(const state& s) { return static_cast<T>(s.sum); }
};

/// How a scan runs over its operands' sizes.
struct scan_order {
    int axis = 0;           ///< from 0
    bool exclusive = false; ///< a result is that of the elements before it
    bool reversed = false;  ///< from the last element to the first
};

/// Each result is what an operation has come to along the axis.
template <class Operation> class scan_kernel final : public kernel {
    using T = typename Operation::element;
    using state = typename Operation::state;

public:
    scan_kernel(const kernel_setup& s, const scan_order& how) : how_(how) {
        const extents& x = s.inputs[0].extents;
        for (int i = 0; i < how.axis; ++i) outer_ *= x[i].size;
        count_ = x[how.axis].size;
        for (int i = how.axis + 1; i < x.rank(); ++i) inner_ *= x[i].size;
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t tiles = (inner_ + tile - 1) / tile, elements = outer_ * count_ * inner_;
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t at = i / tiles * count_ * inner_, j = i % tiles * tile;
                columns(r, at + j, inner_ - j < tile ? inner_ - j : tile);
            }
        };
        const std::int64_t units = outer_ * tiles, worth_a_thread = static_cast<std::int64_t>(32768 / Operation::cost);
        if (r.pool && elements > 2 * worth_a_thread)
            r.pool->parallel_for(units, 1 + units * worth_a_thread / elements, some);
        else if (elements > 0) some(0, units);
    }
    double cost() const override { return 50 + Operation::cost * static_cast<double>(outer_ * count_ * inner_); }
    bool may_share(int, int) const override { return true; }

private:
    static constexpr std::int64_t tile = 256;

    // Inputs and output may be the same memory: an element is read before it is written.
    void columns(const kernel_run& r, std::int64_t at, std::int64_t width) const {
        const T* const x = r.input<T>(0) + at;
        T* const out = r.output<T>(0) + at;
        state states[tile];
        for (std::int64_t j = 0; j < width; ++j) states[j] = Operation::start();
        for (std::int64_t k = 0; k < count_; ++k) {
            const std::int64_t row = (how_.reversed ? count_ - 1 - k : k) * inner_;
            for (std::int64_t j = 0; j < width; ++j) {
                const state before = states[j];
                if constexpr (Operation::inputs == 1) Operation::step(states[j], x[row + j]);
                else Operation::step(states[j], x[row + j], (r.input<T>(1) + at)[row + j]);
                out[row + j] = Operation::value(how_.exclusive ? before : states[j]);
            }
        }
    }

    scan_order how_;
    std::int64_t outer_ = 1, count_ = 0, inner_ = 1;
};

} // namespace tenon::detail
