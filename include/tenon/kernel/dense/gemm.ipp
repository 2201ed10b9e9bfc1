#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/kernel/dense/gemm.hpp>
#include <tenon/kernel/dense/gemm_implementation.hpp>
#include <tenon/kernel/dense/product.hpp>
#include <tenon/kernel/dense/scratch.hpp>
#include <tenon/kernel/thread_pool.hpp>

namespace tenon::dense {

namespace detail {

TENON_INLINE std::string describe(const gemm_description& d) {
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
        return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]" +
               (transposed ? " transposed" : "");
    };
    return "gemm of " + std::to_string(d.batch) + " x " +
           (d.transpose_a ? matrix(d.k, d.m, true) : matrix(d.m, d.k, false)) + " * " +
           (d.transpose_b ? matrix(d.n, d.k, true) : matrix(d.k, d.n, false)) + " " + name_of(d.element);
}

template <class T> class builtin_gemm final : public gemm::implementation {
public:
    explicit builtin_gemm(const gemm_description& d) : gemm::implementation(backend::builtin), d_(d) {
        for (std::int64_t i = 0; i < d.m; ++i) {
            p_.a_rows.push_back(d.transpose_a ? i : i * d.k);
            p_.c_rows.push_back(i * d.n);
        }
        std::int64_t longest = 0;
        p_.classes.resize(1);
        auto& all = p_.classes[0];
        all.row_end = d.m;
        // Offsets within a pass are 32 bits wide.
        const std::int64_t reach = std::numeric_limits<std::int32_t>::max() / std::max<std::int64_t>(1, d.m);
        all.passes = even_passes(d.k, d.transpose_a ? std::clamp<std::int64_t>(reach, 1, pass_terms<T>)
                                                    : pass_terms<T>);
        for (auto& pass : all.passes) {
            // One table does for all passes, each counted from its own beginning.
            pass.b = pass.first;
            pass.a = d.transpose_a ? pass.first * d.m : pass.first;
            pass.first = 0;
            longest = std::max(longest, pass.count);
        }
        for (std::int64_t t = 0; t < longest; ++t) {
            all.terms.push_back(
                {static_cast<std::int32_t>(d.transpose_a ? t * d.m : t), static_cast<std::int32_t>(t)});
        }
        p_.n = d.n;
        p_.k = d.k;
        p_.b_row = d.transpose_b ? 1 : d.n;
        p_.b_column = d.transpose_b ? d.k : 1;
        p_.scale = static_cast<T>(d.scale);
        p_.clip = clips(d.after);
        plan(p_);

        // A pass over k for a stretch of columns at a time: their copy stays in the cache.
        const std::int64_t columns = p_.copy_b ? 32 : std::max<std::int64_t>(1, p_.panel_count());
        std::int64_t most = 0;
        for (std::int64_t q = 0; q < p_.panel_count(); q += columns) {
            for (std::int64_t i = 0; i < all.pass_count(); ++i) {
                const auto& pass = all.passes[static_cast<std::size_t>(i)];
                parts_.push_back(
                    {{pass.b, pass.b + pass.count, q, std::min(p_.panel_count(), q + columns)}, i});
                most = std::max(most, packed_elements(p_, parts_.back().b));
            }
        }
        scratch_.resize(static_cast<std::size_t>(most) * sizeof(T), 1);
    }

    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const override {
        if (d_.m == 0 || d_.n == 0) return;
        const bool alone = pool == nullptr || pool->size() == 1 || d_.threads == 1;
        // A thread is worth waking for about four microseconds of work.
        constexpr std::int64_t least = 1 << 18;
        const std::int64_t work = std::max<std::int64_t>(1, d_.m * d_.n * std::max<std::int64_t>(d_.k, 16));
        if (alone || d_.batch * work < 2 * least) {
            for (std::int64_t i = 0; i < d_.batch; ++i) one(i, a, b, bias, c, nullptr);
        } else if (d_.batch >= 4 * d_.threads) {
            pool->parallel_for(d_.batch, std::max<std::int64_t>(1, least / work), [&](auto begin, auto end) {
                for (auto i = begin; i < end; ++i) one(i, a, b, bias, c, nullptr);
            });
        } else {
            for (std::int64_t i = 0; i < d_.batch; ++i) one(i, a, b, bias, c, pool);
        }
    }

    std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }

private:
    void one(std::int64_t i, const void* a, const void* b, const void* bias, void* c,
             thread_pool* pool) const {
        const auto lease = scratch_.borrow();
        T* packed = static_cast<T*>(lease.memory());
        operands<T> o{static_cast<const T*>(a) + i * d_.batch_stride_a,
                      static_cast<const T*>(b) + i * d_.batch_stride_b,
                      packed,
                      {},
                      adds_bias(d_.after) ? static_cast<const T*>(bias) : nullptr,
                      static_cast<T*>(c) + i * d_.m * d_.n,
                      d_.accumulate};
        for (const auto& [part, pass] : parts_) {
            o.part = part;
            if (pool == nullptr) {
                pack(p_, part, o.b, packed, part.first, part.end);
                multiply(p_, o, {&p_.classes[0], 0, d_.m, pass, pass + 1}, part.first, part.end);
            } else {
                share(o, pass, packed, *pool);
            }
        }
    }

    void share(const operands<T>& o, std::int64_t pass, T* packed, thread_pool& pool) const {
        const packed_part& part = o.part;
        const std::int64_t panels = part.end - part.first;
        if (p_.copy_b) {
            const std::int64_t elements = std::max<std::int64_t>(1, (part.k_end - part.k_begin) * 48);
            pool.parallel_for(panels, std::max<std::int64_t>(1, 8192 / elements), [&](auto begin, auto end) {
                pack(p_, part, o.b, packed, part.first + begin, part.first + end);
            });
        } else {
            pack(p_, part, o.b, packed, part.end - 1, part.end);
        }
        // Rows are dealt out in units of a tile's or more; with few of them columns are divided too.
        const std::int64_t wanted = 8 * std::min(d_.threads, pool.size());
        const std::int64_t unit_rows = std::clamp<std::int64_t>(d_.m / wanted / 8 * 8, 8, 128);
        const std::int64_t row_units = (d_.m + unit_rows - 1) / unit_rows;
        const std::int64_t column_units =
            row_units >= wanted ? 1 : std::min(panels, (wanted + row_units - 1) / row_units);
        pool.parallel_for(row_units * column_units, 1, [&](auto begin, auto end) {
            // Runs of units in one column are one call.
            for (auto u = begin; u < end;) {
                const auto column = u / row_units;
                const auto stop = std::min<std::int64_t>(end, (column + 1) * row_units);
                multiply(p_, o,
                         {&p_.classes[0], (u - column * row_units) * unit_rows,
                          std::min(d_.m, (stop - column * row_units) * unit_rows), pass, pass + 1},
                         part.first + panels * column / column_units,
                         part.first + panels * (column + 1) / column_units);
                u = stop;
            }
        });
    }

    struct step {
        packed_part b;
        std::int64_t pass;
    };

    gemm_description d_;
    product<T> p_;
    std::vector<step> parts_;
    mutable scratch_memory scratch_;
};

} // namespace detail

TENON_INLINE gemm::gemm(const gemm_description& d) {
    if (d.batch < 0 || d.m < 0 || d.n < 0 || d.k < 0 || d.batch_stride_a < 0 || d.batch_stride_b < 0) {
        throw invalid_argument_error(detail::describe(d) + ": a size is negative");
    }
    if (d.element != element_type::float32 && d.element != element_type::float64) {
        throw invalid_argument_error(detail::describe(d) + ": elements must be float or double");
    }
    if (d.accumulate && d.after != epilogue::none) {
        throw invalid_argument_error(detail::describe(d) +
                                     ": accumulate cannot be combined with bias or relu");
    }
    if (!has_backend(d.with)) {
        throw unimplemented_error(detail::describe(d) + ": this build has no backend " + name_of(d.with) +
                                  "; build with TENON_WITH_ONEDNN=1");
    }
    if (d.with == backend::onednn) {
        implementation_ = detail::make_onednn_gemm(d);
        if (implementation_ == nullptr) {
            throw unimplemented_error(detail::describe(d) +
                                      ": oneDNN has no such product; use backend::best");
        }
    } else if (d.element == element_type::float32) {
        implementation_ = std::make_unique<detail::builtin_gemm<float>>(d);
    } else {
        implementation_ = std::make_unique<detail::builtin_gemm<double>>(d);
    }
}

TENON_INLINE gemm::~gemm() = default;
TENON_INLINE gemm::gemm(gemm&&) noexcept = default;
TENON_INLINE gemm& gemm::operator=(gemm&&) noexcept = default;

TENON_INLINE void gemm::run(const void* a, const void* b, const void* bias, void* c,
                            thread_pool* pool) const {
    implementation_->run(a, b, bias, c, pool);
}
TENON_INLINE backend gemm::chosen() const noexcept { return implementation_->chosen; }
TENON_INLINE std::size_t gemm::scratch_bytes() const noexcept { return implementation_->scratch_bytes(); }

} // namespace tenon::dense
