#pragma once

#include <memory>

#include <tenon/ops/reduce/reduce_kernel.hpp>

/// argmin and argmax: the position of the largest element, of elements turned around for argmin.

namespace tenon::reducing {

/// NaN is larger than any number, and nothing is larger than NaN.
template <class C> constexpr bool is_larger(C a, C b) {
    if (a != a || b != b) return b == b;
    return a > b;
}

template <class C> class arg_kernel final : public kernel {
    struct found {
        C value;
        std::int64_t position;
    };

public:
    arg_kernel(const reduction_layout& l, const reduction_source<C>& source) :
        l_(l),
        source_(source),
        loops_(TENON_SIMD_BEST(reduction_loops_of<C>(combination::largest))),
        search_(TENON_SIMD_BEST(search_loops_of<C>())) {
        const std::int64_t units = l_.outer_kept_count;
        if (!l_.inner_is_kept && units > 0 && units < most_parts) {
            parts_ = l_.outer_reduced_count * l_.n / worth_a_thread;
            if (parts_ > most_parts / units) parts_ = most_parts / units;
            if (parts_ < 1) parts_ = 1;
        }
    }
    void run(const kernel_run& r) override {
        std::int64_t* out = r.output<std::int64_t>(0);
        if (!out) return;
        const void* x = r.in[0];
        const std::int64_t elements = l_.outputs() * l_.reduced_count();
        if (l_.inner_is_kept) {
            const std::int64_t tiles = (l_.n + tile - 1) / tile;
            for_pieces(r.pool, l_.outer_kept_count * tiles, elements, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t unit = i / tiles, j = i % tiles * tile;
                    columns(x, l_.kept_offset(unit) + j, l_.n - j < tile ? l_.n - j : tile, out + unit * l_.n + j);
                }
            });
            return;
        }
        found* partial = reinterpret_cast<found*>(r.scratch);
        const std::int64_t lines = l_.outer_reduced_count * l_.n;
        for_pieces(r.pool, l_.outer_kept_count * parts_, elements, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t part = i % parts_, unit = i / parts_;
                const found best = stretch(x, l_.kept_offset(unit), lines * part / parts_, lines * (part + 1) / parts_);
                if (parts_ == 1) out[unit] = best.position;
                else partial[i] = best;
            }
        });
        for (std::int64_t unit = 0; parts_ > 1 && unit < l_.outer_kept_count; ++unit) {
            found best = partial[unit * parts_];
            for (std::int64_t part = 1; part < parts_; ++part)
                if (const found& next = partial[unit * parts_ + part]; is_larger(next.value, best.value)) best = next;
            out[unit] = best.position;
        }
    }
    std::size_t scratch_bytes() const override {
        return parts_ == 1 ? 0 : static_cast<std::size_t>(parts_ * l_.outer_kept_count) * sizeof(found);
    }
    double cost() const override { return 60 + 0.15 * static_cast<double>(l_.outputs() * l_.reduced_count()); }

private:
    static constexpr std::int64_t block = 4096; // elements looked at for their largest, then for where it is
    static constexpr std::int64_t tile = 512;   // columns
    static constexpr std::int64_t most_parts = 64;

    found stretch(const void* x, std::int64_t offset, std::int64_t begin, std::int64_t end) const {
        found best{};
        bool any_yet = false;
        C buffer[block];
        while (begin < end) {
            const std::int64_t row = begin / l_.n, at = begin % l_.n;
            std::int64_t count = end - begin < l_.n - at ? end - begin : l_.n - at;
            if (count > block) count = block;
            const C* values =
                source_.block(source_.at(x, offset + l_.reduced_offset(row) + at), count, nullptr, 0, buffer);
            C largest;
            loops_.rows(values, 1, count, &largest);
            if (!any_yet || is_larger(largest, best.value))
                best = {largest, begin + search_.position_of(values, count, largest)};
            any_yet = true;
            begin += count;
        }
        return best;
    }

    void columns(const void* x, std::int64_t offset, std::int64_t width, std::int64_t* positions) const {
        constexpr std::int64_t rows_at_once = 8;
        C values[tile], buffer[rows_at_once * tile];
        for (std::int64_t outer = 0; outer < l_.outer_reduced_count; ++outer)
            for (std::int64_t row = 0; row < l_.rows; row += rows_at_once) {
                const std::int64_t rows = l_.rows - row < rows_at_once ? l_.rows - row : rows_at_once;
                const std::byte* at = source_.at(x, offset + l_.reduced_offset(outer) + row * l_.n);
                const C* from = static_cast<const C*>(static_cast<const void*>(at));
                if (!source_.is_direct()) {
                    for (std::int64_t k = 0; k < rows; ++k)
                        source_.block(source_.at(at, k * l_.n), width, nullptr, 0, buffer + k * tile);
                    from = buffer;
                }
                const std::int64_t stride = source_.is_direct() ? l_.n : tile;
                if (outer == 0 && row == 0)
                    for (std::int64_t j = 0; j < width; ++j) {
                        values[j] = from[j];
                        positions[j] = 0;
                    }
                search_.improve_columns(from, rows, stride, width, outer * l_.rows + row, values, positions);
            }
    }

    reduction_layout l_;
    reduction_source<C> source_;
    reduction_loops<C> loops_;
    search_loops<C> search_;
    std::int64_t parts_ = 1;
};

template <class C> kernel_pointer make_arg(element_type e, const reduction_layout& l, combination how) {
    return std::make_unique<arg_kernel<C>>(
        l, reduction_source<C>(e, how == combination::least ? mapping::reversed : mapping::none, reading::ordered));
}

/// `how`: least or largest.
inline kernel_pointer make_arg_reduction(element_type e, const reduction_layout& l, combination how) {
    switch (e) {
    case element_type::float64: return make_arg<double>(e, l, how);
    case element_type::float32:
    case element_type::float16:
    case element_type::bfloat16: return make_arg<float>(e, l, how);
    case element_type::int64:
    case element_type::uint32:
    case element_type::uint64: return make_arg<std::int64_t>(e, l, how);
    default: return make_arg<std::int32_t>(e, l, how);
    }
}

} // namespace tenon::reducing
