#pragma once

#include <algorithm>
#include <cmath>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/reduce/last_axis.hpp>

/// The CPU kernels of ops/reduce/top_k.hpp.

namespace tenon::detail {

/// The k best of the elements so far are a heap with the worst in front: most of the others are compared with that, and no more.
template <class T> class top_k_kernel final : public kernel {
public:
    explicit top_k_kernel(const kernel_setup& s) :
        l_(s.inputs[0].extents), k_(decode<top_k_op::attributes>(s.attrs).k) {}
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(l_.rows * k_) * sizeof(candidate); }
    double cost() const override { return 20 + static_cast<double>(l_.rows) * row_cost(); }
    void run(const kernel_run& r) override {
        l_.each(r.pool, row_cost(), [&](std::int64_t row) {
            const T* const x = r.input<T>(0) + row * l_.length;
            candidate* const best = reinterpret_cast<candidate*>(r.scratch) + row * k_;
            for (std::int64_t i = 0; i < k_; ++i) best[i] = {x[i], static_cast<std::int32_t>(i)};
            std::make_heap(best, best + k_, comes_first);
            for (std::int64_t i = k_; i < l_.length; ++i) {
                if (!is_above(x[i], best->value)) continue; // of equal ones those before it stay
                std::pop_heap(best, best + k_, comes_first);
                best[k_ - 1] = {x[i], static_cast<std::int32_t>(i)};
                std::push_heap(best, best + k_, comes_first);
            }
            std::sort_heap(best, best + k_, comes_first);
            for (std::int64_t j = 0; j < k_; ++j) {
                if (r.out[0]) r.output<T>(0)[row * k_ + j] = best[j].value;
                if (r.out[1]) r.output<std::int32_t>(1)[row * k_ + j] = best[j].place;
            }
        });
    }

private:
    struct candidate {
        T value;
        std::int32_t place;
    };
    static bool comes_first(const candidate& a, const candidate& b) {
        return is_above(a.value, b.value) || (!is_above(b.value, a.value) && a.place < b.place);
    }
    double row_cost() const {
        const auto k = static_cast<double>(k_);
        return static_cast<double>(l_.length) + 20 * k * std::log2(k + 1);
    }
    last_axis_rows l_;
    std::int64_t k_;
};

// What take_places and put_places share.
class places_kernel : public kernel {
protected:
    places_kernel(const kernel_setup& s, const extents& x) :
        l(x),
        count(s.inputs[1].extents[s.inputs[1].extents.rank() - 1].size),
        name(std::string(s.node.op->name) + " (" + s.node.name + ")") {}
    void check_places(const std::int32_t* places) const {
        for (std::int64_t i = 0; i < l.rows * count; ++i)
            if (places[i] < 0 || places[i] >= l.length)
                throw invalid_argument_error(refused_place(name, places[i], i / count, l.length));
    }
    last_axis_rows l;
    std::int64_t count; // places in a row
    std::string name;
};

template <class T> class take_places_kernel final : public places_kernel {
public:
    explicit take_places_kernel(const kernel_setup& s) : places_kernel(s, s.inputs[0].extents) {}
    double cost() const override { return 20 + 2 * static_cast<double>(l.rows * count); }
    void run(const kernel_run& r) override {
        check_places(r.input<std::int32_t>(1));
        l.each(r.pool, 2 * static_cast<double>(count), [&](std::int64_t row) {
            const std::int32_t* const places = r.input<std::int32_t>(1) + row * count;
            for (std::int64_t j = 0; j < count; ++j)
                r.output<T>(0)[row * count + j] = r.input<T>(0)[row * l.length + places[j]];
        });
    }
};

template <class T> class put_places_kernel final : public places_kernel {
public:
    explicit put_places_kernel(const kernel_setup& s) : places_kernel(s, s.inputs[2].extents) {}
    double cost() const override {
        return 20 + 2 * static_cast<double>(l.rows * count) + 0.1 * static_cast<double>(l.rows * l.length);
    }
    void run(const kernel_run& r) override {
        check_places(r.input<std::int32_t>(1));
        l.each(r.pool, row_cost(), [&](std::int64_t row) {
            T* const to = r.output<T>(0) + row * l.length;
            std::fill_n(to, l.length, T{});
            const std::int32_t* const places = r.input<std::int32_t>(1) + row * count;
            for (std::int64_t j = 0; j < count; ++j) {
                T& at = to[places[j]];
                at = wrapping_sum(at, r.input<T>(0)[row * count + j]);
            }
        });
    }

private:
    double row_cost() const { return 2 * static_cast<double>(count) + 0.1 * static_cast<double>(l.length); }
};

} // namespace tenon::detail
