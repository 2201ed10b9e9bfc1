#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/shape/indexed_rows.hpp>

/// The CPU kernels of ops/shape/indexed.hpp.

namespace tenon::detail {

class indexed_kernel : public kernel {
protected:
    indexed_kernel(const kernel_setup& s, const indexed_rows& rows) :
        rows_(rows), complaint_(s, rows), wide_(s.inputs[1].element == element_type::int64) {}
    // f(named row, row of x) for some of the named rows; those with an index out of range are left out, and seen.
    template <class F>
    void each(const void* indices, std::int64_t begin, std::int64_t end, std::atomic<bool>& bad, const F& f) const {
        const auto as = [&]<class I>(const I* list) {
            bool found = false;
            if (rows_.depth == 1 && begin < end) { // without divisions
                std::int64_t left = begin % rows_.beside, at = begin / rows_.per_batch * rows_.batch_rows;
                std::int64_t in_batch = begin % rows_.per_batch;
                for (std::int64_t i = begin; i < end; ++i) {
                    const auto index = static_cast<std::int64_t>(list[i]);
                    if (index < 0 || index >= rows_.sizes[0]) found = true;
                    else f(i, at + left + index * rows_.steps[0]);
                    if (++left == rows_.beside) left = 0;
                    if (++in_batch == rows_.per_batch) {
                        in_batch = 0;
                        at += rows_.batch_rows;
                    }
                }
            } else
                for (std::int64_t i = begin; i < end; ++i) {
                    if (const std::int64_t row = rows_.find(list, i); row < 0) found = true;
                    else f(i, row);
                }
            if (found) bad = true;
        };
        if (wide_) as(static_cast<const std::int64_t*>(indices));
        else as(static_cast<const std::int32_t*>(indices));
    }
    [[noreturn]] void complain(const void* indices) const {
        const row_indices& list = complaint_.indices();
        for (std::int64_t i = 0;; ++i)
            if (const std::int64_t k = list.at(indices, i); k < 0 || k >= rows_.sizes[i % rows_.depth])
                throw invalid_argument_error(complaint_.of(k, i));
    }

    indexed_rows rows_;

private:
    indexed_complaint complaint_;
    bool wide_;
};

class take_indexed_kernel final : public indexed_kernel {
public:
    take_indexed_kernel(const kernel_setup& s, const indexed_rows& rows) :
        indexed_kernel(s, rows), bytes_(static_cast<std::size_t>(rows.elements) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        std::atomic<bool> bad = false;
        const auto with = [&]<class U>(U) { // rows of one element, or of any number
            const std::byte* const x = r.input<std::byte>(0);
            std::byte* const out = r.output<std::byte>(0);
            const std::size_t bytes = std::is_same_v<U, std::byte> ? bytes_ : sizeof(U);
            parallel_for(r.pool, rows_.count, 1 + static_cast<std::int64_t>(20000 / row_cost()),
                         [&](std::int64_t begin, std::int64_t end) {
                             each(r.in[1], begin, end, bad, [&](std::int64_t i, std::int64_t row) {
                                 if (!out) return;
                                 if constexpr (std::is_same_v<U, std::byte>) {
                                     if (bytes > 0)
                                         std::memcpy(out + static_cast<std::size_t>(i) * bytes,
                                                     x + static_cast<std::size_t>(row) * bytes, bytes);
                                 } else reinterpret_cast<U*>(out)[i] = reinterpret_cast<const U*>(x)[row];
                             });
                         });
        };
        if (bytes_ == 4) with(std::uint32_t{});
        else if (bytes_ == 8) with(std::uint64_t{});
        else with(std::byte{});
        if (bad) complain(r.in[1]);
    }
    double cost() const override { return 30 + row_cost() * static_cast<double>(rows_.count); }

private:
    double row_cost() const { return 2.0 * rows_.depth + 0.1 * static_cast<double>(bytes_); }
    std::size_t bytes_;
};

/// Each row is one thread's, which looks at all indices: the updates of a row keep their order.
template <class T> class scatter_indexed_kernel final : public indexed_kernel {
public:
    scatter_indexed_kernel(const kernel_setup& s, const indexed_rows& rows, bool add) :
        indexed_kernel(s, rows), add_(add), bytes_(static_cast<std::size_t>(bytes_of(s.inputs[0]))) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (r.out[0] != r.in[0] && bytes_ > 0) std::memcpy(r.out[0], r.in[0], bytes_);
        const T* const updates = r.input<T>(2);
        T* const out = r.output<T>(0);
        const std::int64_t n = rows_.elements;
        const auto put = [&](std::int64_t i, std::int64_t row) {
            const T* const from = updates + i * n;
            T* const to = out + row * n;
            if (!add_)
                for (std::int64_t k = 0; k < n; ++k) to[k] = from[k];
            else if constexpr (!std::is_same_v<T, bool>)
                for (std::int64_t k = 0; k < n; ++k) to[k] = wrapping_sum(to[k], from[k]);
        };
        std::atomic<bool> bad = false;
        const std::int64_t parts = r.pool ? std::min<std::int64_t>(parts_, r.pool->size()) : 1;
        if (parts > 1)
            r.pool->parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
                each(r.in[1], 0, rows_.count, bad, [&](std::int64_t i, std::int64_t row) {
                    const auto part = static_cast<std::int64_t>(
                        (row_indices::hash(row) >> 32) * static_cast<std::uint64_t>(parts) >> 32);
                    if (part >= begin && part < end) put(i, row);
                });
            });
        else each(r.in[1], 0, rows_.count, bad, put);
        if (bad) complain(r.in[1]);
    }
    double cost() const override {
        const double row = 2.0 * rows_.depth + 0.2 * static_cast<double>(rows_.elements);
        return 30 + 0.05 * static_cast<double>(bytes_) + row * static_cast<double>(rows_.count);
    }
    bool may_share(int i, int) const override { return i == 0; }

private:
    bool add_;
    std::size_t bytes_;
    std::int64_t parts_ = 1 + static_cast<std::int64_t>(cost() / 50000);
};

// Of elements without signs, which are added and copied as those with signs are.
inline kernel_pointer prepare_scatter(const kernel_setup& s, const indexed_rows& rows, bool add) {
    const element_type e = s.inputs[0].element;
    if (e == element_type::boolean) return std::make_unique<scatter_indexed_kernel<bool>>(s, rows, add);
    return kernel_for<scatter_indexed_kernel>(signless_list{}, without_sign(e), s, rows, add);
}

} // namespace tenon::detail
